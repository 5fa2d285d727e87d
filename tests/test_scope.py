"""Which entities are linked: instances, and of given classes only if asked for."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Run

from everalign import Aligner, ChangeSet, Config
from everalign.errors import ConfigError
from everalign.graph import IntArray
from everalign.scope import OWL, RDFS, SUBCLASS, TYPE, GraphScope
from everalign.state import StateStore

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
CLASS = f"{OWL}Class"
Triples = list[tuple[str, str, str]]


def build_graph(side: str, people: range, towns: range = range(10)) -> Triples:
    """People who live in towns; all names are equal on both sides, those of classes too."""
    triples = [(f"urn:{side}:Person", TYPE, CLASS), (f"urn:{side}:Town", TYPE, CLASS)]
    triples += [(f"urn:{side}:Person", SUBCLASS, f"urn:{side}:Agent")]
    triples += [(f"urn:{side}:Person", LABEL, '"thing of a kind"')]
    for n in towns:
        triples += [(f"urn:{side}:t{n}", TYPE, f"urn:{side}:Town")]
        triples += [(f"urn:{side}:t{n}", LABEL, f'"Town {n * 7919} hill"')]
    for n in people:
        triples += [
            (f"urn:{side}:p{n}", TYPE, f"urn:{side}:Person"),
            (f"urn:{side}:p{n}", f"urn:{side}:lives", f"urn:{side}:t{n % 10}"),
            (f"urn:{side}:p{n}", LABEL, f'"Ada {n * 104729} Miller"'),
        ]
    return triples


def create(state: Path, config: Config | None = None, people: range = range(40)) -> Aligner:
    seeds = [(f"urn:l:p{n}", f"urn:r:p{n}") for n in range(24)]
    return Aligner.create(
        state, build_graph("l", people), build_graph("r", people), seeds, config=config or Config()
    )


def list_kinds(aligner: Aligner) -> set[str]:
    """The first letters of the names of linked entities, without those of trusted links."""
    links = [link for link in aligner.links() if link.origin != "given"]
    return {link.left.rsplit(":", 1)[1][0] for link in links}


@pytest.fixture(scope="module")
def aligned(tmp_path_factory: pytest.TempPathFactory) -> Aligner:
    return create(tmp_path_factory.mktemp("scope") / "state")


def test_classes_are_no_candidates(aligned: Aligner) -> None:
    assert list_kinds(aligned) == {"p", "t"}
    assert not aligned.explain("urn:l:Person").sides[0].candidates


def test_classes_are_aligned_by_their_instances(aligned: Aligner) -> None:
    best = aligned.classes(min_inclusion=0.5)
    assert {(pair.left, pair.right) for pair in best} == {
        ("urn:l:Person", "urn:r:Person"),
        ("urn:l:Town", "urn:r:Town"),
    }
    assert all(0.7 < pair.left_in_right < 1 for pair in best)


def test_classes_are_written_as_statements(aligned: Aligner, everalign: Run) -> None:
    text = everalign("classes", aligned.state, "--format", "nt").stdout
    assert "<urn:l:Town> <http://www.w3.org/2002/07/owl#equivalentClass> <urn:r:Town> ." in text
    assert "sameAs" not in text
    assert "urn:l:Person" in everalign("classes", aligned.state).stdout


def test_only_instances_of_given_classes_are_linked(tmp_path: Path) -> None:
    config = Config(classes=("urn:l:Agent", "urn:r:Agent"))
    assert list_kinds(create(tmp_path / "agents", config)) == {"p"}
    config = Config(other_classes=("urn:l:Agent", "urn:r:Agent"))
    assert list_kinds(create(tmp_path / "others", config)) == {"t"}


def test_a_class_can_be_given_by_the_end_of_its_iri(tmp_path: Path) -> None:
    assert list_kinds(create(tmp_path / "agents", Config(classes=("Agent",)))) == {"p"}
    settings = StateStore.open(tmp_path / "agents", write=False).read_settings()
    assert Config.parse(settings["config"]).classes == ("urn:l:Agent", "urn:r:Agent")


def test_a_class_can_be_given_as_a_curie(tmp_path: Path) -> None:
    prefixes = "@prefix l: <urn:l:> . @prefix foaf: <http://xmlns.com/foaf/0.1/> ."
    for side in "lr":
        (tmp_path / f"{side}.ttl").write_text(f"{prefixes} l:a a foaf:Person . l:b a l:Person .")
    files = tmp_path / "l.ttl", tmp_path / "r.ttl"
    create_state = partial(Aligner.create, tmp_path / "state", *files)
    with pytest.raises(ConfigError, match=r"Person is ambiguous: it can be http://xmlns.com/foaf"):
        create_state(config=Config(classes=("Person",)))
    with pytest.raises(ConfigError, match=r"no graph has the class Town; classes are http"):
        create_state(config=Config(classes=("Town",)))
    create_state(config=Config(classes=("foaf:Person",)))
    settings = StateStore.open(tmp_path / "state", write=False).read_settings()
    assert Config.parse(settings["config"]).classes == ("http://xmlns.com/foaf/0.1/Person",)


def test_a_class_that_no_graph_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no graph has the class urn:Nobody"):
        create(tmp_path / "state", Config(classes=("urn:Nobody",)))
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("classes", [(), ("urn:l:Person", "urn:r:Person")])
def test_an_update_keeps_the_scope(tmp_path: Path, classes: tuple[str, ...]) -> None:
    aligner = create(tmp_path / "state", Config(classes=classes))
    new = [
        (f"urn:{side}:p99", relation, value)
        for side in "lr"
        for relation, value in (
            (TYPE, f"urn:{side}:Pilot"),
            (f"urn:{side}:lives", f"urn:{side}:t1"),
            (LABEL, '"Zoe Quartz 55"'),
        )
    ]
    new += [(f"urn:{side}:Pilot", LABEL, '"Pilot of planes"') for side in "lr"]
    left, right = ([row for row in new if row[0].startswith(f"urn:{s}:")] for s in "lr")
    (report,) = aligner.update(left=left, right=right).reports
    # With people alone there is no wrong candidate to learn from.
    assert report.trained == bool(classes)
    linked = {link.left for link in aligner.links()}
    assert "urn:l:Pilot" not in linked
    assert ("urn:l:p99" in linked) == (not classes)
    # Typed later on: in scope from then on.
    more = [[(f"urn:{s}:p99", TYPE, f"urn:{s}:Person")] for s in "lr"]
    aligner.update(left=more[0], right=more[1])
    assert "urn:l:p99" in {link.left for link in aligner.links()}
    aligner.update(change=ChangeSet(removed_left=more[0], removed_right=more[1]))
    assert ("urn:l:p99" in {link.left for link in aligner.links()}) == (not classes)
    aligner.update(full=True)
    linked = {link.left for link in aligner.links()}
    assert "urn:l:Pilot" not in linked
    assert ("urn:l:p99" in linked) == (not classes)


ENTITIES, TYPE_ID, SUBCLASS_ID = 8, 0, 1
ROWS = st.sets(
    st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, 2), st.integers(0, ENTITIES - 1)),
    max_size=14,
)


def encode(rows: set[tuple[int, int, int]]) -> IntArray:
    return np.array(sorted(rows), dtype=np.int32).reshape(-1, 3)


@given(ROWS, ROWS, ROWS, st.sampled_from([(), (5,), (5, 6)]), st.sampled_from([(), (7,)]))
def test_a_change_is_judged_as_everything_is(
    before: set[tuple[int, int, int]],
    added: set[tuple[int, int, int]],
    removed: set[tuple[int, int, int]],
    classes: tuple[int, ...],
    others: tuple[int, ...],
) -> None:
    added, removed = added - before, {row for row in before & removed if row[1] != SUBCLASS_ID}
    added = {row for row in added if row[1] != SUBCLASS_ID}
    values = (4,), (SUBCLASS_ID,), classes, others
    ids = (np.array(numbers, dtype=np.int32) for numbers in values)
    scope = GraphScope(TYPE_ID, SUBCLASS_ID, *ids)
    new = np.arange(ENTITIES, dtype=np.int32)
    outside, inside = scope.find_outside_changed(
        encode(added),
        encode(removed),
        new,
        lambda ids: encode({row for row in before if {row[0], row[2]} & set(ids)}),
    )
    expected = set(scope.find_outside(encode((before | added) - removed), ENTITIES).tolist())
    assert set(outside.tolist()) == expected
    assert set(inside.tolist()) == set(range(ENTITIES)) - expected


def list_events(aligner: Aligner, entity: str) -> list[str]:
    return [event.kind for event in aligner.history(entity)]


@pytest.mark.parametrize(
    "row",
    [
        ("urn:l:p31", TYPE, "urn:l:p30"),
        ("urn:l:p30", TYPE, CLASS),
        ("urn:l:p30", f"{RDFS}domain", "urn:l:Person"),
    ],
)
def test_what_becomes_schema_in_an_update_loses_its_link(
    tmp_path: Path, row: tuple[str, str, str]
) -> None:
    aligner = create(tmp_path / "state")
    (report,) = aligner.update(left=[row]).reports
    assert not report.trained
    assert list_events(aligner, "urn:l:p30") == ["added", "retracted"]
    # And has one again when it is an instance like others.
    (report,) = aligner.update(change=ChangeSet(removed_left=[row])).reports
    assert not report.trained
    assert list_events(aligner, "urn:l:p30") == ["added", "retracted", "added"]


def test_what_becomes_a_predicate_in_an_update_loses_its_link(tmp_path: Path) -> None:
    aligner = create(tmp_path / "state")
    aligner.update(left=[("urn:l:p31", "urn:l:p30", "urn:l:t1")])
    assert list_events(aligner, "urn:l:p30") == ["added", "retracted"]
    aligner.update(left=[("urn:l:p31", "urn:l:p33", '"a text"')])
    assert list_events(aligner, "urn:l:p33") == ["added", "retracted"]


def test_a_class_that_loses_one_of_its_instances_stays_one(tmp_path: Path) -> None:
    aligner = create(tmp_path / "state")
    rows = [[(f"urn:{side}:t3", TYPE, f"urn:{side}:Town")] for side in "lr"]
    aligner.update(change=ChangeSet(removed_left=rows[0], removed_right=rows[1]))
    assert list_kinds(aligner) == {"p", "t"}
