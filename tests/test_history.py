"""Looking back: what differs between two versions, and feeds that another system applies."""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ledgers import LEFT, RIGHT, Step, aligner_of

from everalign import Aligner
from everalign.errors import ConfigError, StateError
from everalign.state.ledger import EventKind
from everalign.types import LinkDifference

IDS = st.integers(0, len(LEFT) - 1)
STEPS = st.tuples(st.sampled_from(EventKind), IDS, IDS, st.sampled_from([0.2, 0.5, 0.9]))
LEDGERS = st.lists(st.lists(STEPS, max_size=8), min_size=1, max_size=4)

ADDED, REVISED, RETRACTED = EventKind.ADDED, EventKind.REVISED, EventKind.RETRACTED
STORY: list[list[Step]] = [
    [(EventKind.CONFIRMED, 0, 0, 1.0), (ADDED, 1, 1, 0.8), (ADDED, 2, 2, 0.6), (ADDED, 3, 3, 0.7)],
    [(RETRACTED, 2, 2, 0.6), (REVISED, 2, 4, 0.9), (EventKind.RESCORED, 1, 1, 0.85)],
    [(EventKind.REJECTED, 3, 3, 0.7), (EventKind.CONFIRMED, 1, 1, 1.0), (ADDED, 4, 2, 0.5)],
]


@pytest.fixture
def story(tmp_path: Path) -> Aligner:
    return aligner_of(tmp_path / "state", STORY)


def fed(aligner: Aligner, format: str, since: int | None, until: int | None = None) -> str:
    stream = BytesIO()
    aligner.write_changes(stream, format, since=since, until=until)
    return stream.getvalue().decode()


def row(what: str, left: int, right: int, *rest: object) -> LinkDifference:
    return LinkDifference(what, LEFT[left], RIGHT[right], *rest)  # type: ignore[arg-type]


def test_the_net_difference_of_two_versions(story: Aligner) -> None:
    assert story.diff(0, 2) == [
        row("retracted", 2, 2, 0.6, None, 1, "as said in version 1", ""),
        row("rejected", 3, 3, 0.7, None, 2, "as said in version 2", ""),
        row("revised", 2, 4, None, 0.9, 1, "as said in version 1", ""),
        # Its right entity was the one of 2 before.
        row("revised", 4, 2, None, 0.5, 2, "as said in version 2", ""),
        row("confirmed", 1, 1, 0.8, 1.0, 2, "as said in version 2", ""),
    ]
    assert [each.kind for each in story.diff(0, 1)] == ["retracted", "revised", "rescored"]
    assert story.diff(1, 1) == []


def test_backwards_it_is_the_inverse(story: Aligner) -> None:
    assert [(each.kind, each.left, each.before, each.after) for each in story.diff(2, 0)] == [
        ("retracted", LEFT[2], 0.9, None),
        ("retracted", LEFT[4], 0.5, None),
        ("withdrawn", LEFT[1], 1.0, 0.8),
        ("revised", LEFT[2], None, 0.6),
        ("added", LEFT[3], None, 0.7),
    ]


def test_a_rejection_of_what_was_no_link_is_a_difference(tmp_path: Path) -> None:
    aligner = aligner_of(tmp_path / "state", [[], [(EventKind.REJECTED, 0, 1, 0.0)]])
    assert aligner.diff(0, 1) == [row("rejected", 0, 1, None, None, 1, "as said in version 1", "")]
    assert aligner.diff(1, 0)[0].kind == "withdrawn"
    assert aligner.changes(0) == []


def test_a_link_that_made_way_without_a_word_has_a_reason(tmp_path: Path) -> None:
    steps: list[list[Step]] = [[(ADDED, 0, 0, 0.5)], [(EventKind.CONFIRMED, 0, 1, 1.0)]]
    gone, _ = aligner_of(tmp_path / "state", steps).diff(0, 1)
    assert (gone.kind, gone.version) == ("retracted", 1)
    assert gone.reason == f"replaced by {LEFT[0]} – {RIGHT[1]}"
    assert gone.cause == "better rival"


def test_the_history_from_a_version_on(story: Aligner) -> None:
    assert {each.version for each in story.history(since=1)} == {1, 2}
    assert [each.kind for each in story.history(LEFT[1], since=2)] == ["confirmed"]
    assert story.history(since=3) == []


def test_a_feed_removes_before_it_adds(story: Aligner) -> None:
    lines = [json.loads(line) for line in fed(story, "jsonl", 1).splitlines()]
    assert [(line["op"], line["left"], line["score"]) for line in lines] == [
        ("remove", LEFT[3], 0.7), ("add", LEFT[1], 1.0), ("add", LEFT[4], 0.5)
    ]  # fmt: skip
    assert lines[0] == {
        "op": "remove", "left": LEFT[3], "right": RIGHT[3], "score": 0.7, "origin": "found",
        "version": 2, "reason": "as said in version 2", "cause": "",
    }  # fmt: skip


def test_patches_follow_upon_each_other(story: Aligner) -> None:
    first, second, third = (
        fed(story, "patch", since, until) for since, until in ((None, 0), (0, 1), (1, 2))
    )
    urn = "<(urn:uuid:[0-9a-f-]{36})>"
    assert "H prev" not in first
    for before, after in ((first, second), (second, third)):
        assert re.search(f"H prev {urn}", after)[1] == re.search(f"H id {urn}", before)[1]  # type: ignore[index]
    assert second.splitlines()[2:] == [
        "TX .",
        f"D <{LEFT[2]}> <http://www.w3.org/2002/07/owl#sameAs> <{RIGHT[2]}> .",
        f"A <{LEFT[2]}> <http://www.w3.org/2002/07/owl#sameAs> <{RIGHT[4]}> .",
        "TC .",
    ]
    assert fed(story, "patch", 1, 2) == third  # the same each time
    assert fed(story, "patch", 2, 2) == ""


def test_two_states_have_other_patches(story: Aligner, tmp_path: Path) -> None:
    other = aligner_of(tmp_path / "other", STORY, method="contea")
    assert fed(story, "patch", 0).splitlines()[0] != fed(other, "patch", 0).splitlines()[0]


def test_n_triples_cannot_say_what_goes(story: Aligner) -> None:
    with pytest.raises(ConfigError, match=r"\(1 links\): use --format patch, or --rem"):
        fed(story, "nt", 1)
    stream, gone = BytesIO(), BytesIO()
    assert story.write_changes(stream, "nt", since=1, removals=gone).written == 3
    # That 1 is confirmed now is nothing new to RDF.
    assert [line.split()[0] for line in stream.getvalue().decode().splitlines()] == [
        f"<{LEFT[4]}>"
    ]
    assert gone.getvalue().decode().startswith(f"<{LEFT[3]}>")
    assert len(fed(story, "nt", None, 0).splitlines()) == 4


@pytest.mark.parametrize("format", ["nt", "patch"])
def test_what_is_no_iri_is_left_out_of_rdf_and_counted(tmp_path: Path, format: str) -> None:
    names = ["Oslo", "_:b0", "urn:l"], ["Q585", "urn:s", "urn:r"]
    events = [[(ADDED, number, number, 0.5) for number in range(3)]]
    aligner = aligner_of(tmp_path / "state", events, names=names)
    stream = BytesIO()
    result = aligner.write_changes(stream, format)
    assert result.written == 1
    assert result.skipped == {
        "a name is not a valid absolute IRI": 1, "an entity is a blank node": 1
    }  # fmt: skip
    assert "<urn:l> <http://www.w3.org/2002/07/owl#sameAs> <urn:r> ." in stream.getvalue().decode()
    assert json.loads(fed(aligner, "jsonl", None).splitlines()[0])["left"] == "Oslo"


def test_versions_that_are_not_there_are_refused(story: Aligner) -> None:
    for ask in (
        lambda: story.diff(0, 3), lambda: story.diff(-1, 0), lambda: story.changes(7),
        lambda: story.changes(0, 7),
    ):  # fmt: skip
        with pytest.raises(StateError, match="has no version"):
            ask()


def test_what_cannot_be_fed(story: Aligner) -> None:
    with pytest.raises(ConfigError, match="cannot be written as 'ttl'"):
        fed(story, "ttl", 0)
    with pytest.raises(ConfigError, match="patch holds removals itself"):
        story.write_changes(BytesIO(), "patch", since=0, removals=BytesIO())


@pytest.mark.slow
@settings(max_examples=40)
@given(LEDGERS)
def test_whoever_applies_the_feed_has_the_links(ledger: list[list[Step]]) -> None:
    with TemporaryDirectory() as directory:
        aligner = aligner_of(Path(directory, "state"), ledger)
        versions = range(len(ledger))
        held = {version: links_at(aligner, version) for version in versions}
        for since in (None, *versions):
            for until in versions:
                start = {} if since is None else held[since]
                assert after_json(start, fed(aligner, "jsonl", since, until)) == held[until]
                patch = fed(aligner, "patch", since, until)
                assert after_patch(set(start), patch) == set(held[until])


@pytest.mark.slow
@settings(max_examples=40)
@given(LEDGERS)
def test_a_difference_says_what_each_end_says(ledger: list[list[Step]]) -> None:
    with TemporaryDirectory() as directory:
        aligner = aligner_of(Path(directory, "state"), ledger)
        last = len(ledger) - 1
        there, back = aligner.diff(0, last), aligner.diff(last, 0)
        ends = {(each.left, each.right): (each.before, each.after) for each in there}
        assert ends == {(each.left, each.right): (each.after, each.before) for each in back}
        start, end = links_at(aligner, 0), links_at(aligner, last)
        for pair, (before, after) in ends.items():
            assert before == (start[pair][0] if pair in start else None)
            assert after == (end[pair][0] if pair in end else None)
        same = {pair for pair in {*start, *end} if start.get(pair) == end.get(pair)}
        assert not same & ends.keys()
        assert {*start, *end} - same <= ends.keys()


def links_at(aligner: Aligner, version: int) -> dict[tuple[str, str], tuple[float, str]]:
    links = aligner.links(at=version)
    return {(link.left, link.right): (link.score, link.origin) for link in links}


def after_json(
    links: dict[tuple[str, str], tuple[float, str]], feed: str
) -> dict[tuple[str, str], tuple[float, str]]:
    links = dict(links)
    for line in feed.splitlines():
        change = json.loads(line)
        pair = change["left"], change["right"]
        if change["op"] == "remove":
            del links[pair]
        else:
            links[pair] = change["score"], change["origin"]
        assert len({left for left, _ in links}) == len({right for _, right in links}) == len(links)
    return links


def after_patch(links: set[tuple[str, str]], patch: str) -> set[tuple[str, str]]:
    for line in patch.splitlines():
        code, *terms = line.split()
        if code in ("A", "D"):
            pair = terms[0][1:-1], terms[2][1:-1]
            assert (pair in links) == (code == "D")
            links = links | {pair} if code == "A" else links - {pair}
    return links
