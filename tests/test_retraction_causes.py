"""What ended a link: the cause in `history`, `diff` and `changes`, on graphs made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from tests import toy as toys

from everalign import Aligner, ChangeSet, Config
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.methods import METHODS
from everalign.types import LinkEvent


@pytest.fixture(autouse=True)
def _toy_method() -> Iterator[None]:
    toys.register_toy()
    yield
    del METHODS["toy"]


@pytest.fixture
def towns(tmp_path: Path) -> Aligner:
    """Towns whose method knows nothing of causes."""
    config = Config(method="toy")
    return Aligner.create(tmp_path / "state", toys.LEFT, toys.RIGHT, toys.SEEDS, config=config)


@pytest.fixture
def chain(tmp_path: Path) -> Aligner:
    """Two seeds, and a link that rests on them, on which another one rests."""
    left = [("a", "r", "seed1"), ("a", "s", "seed2"), ("a", "t", "b"), ("a", "u", "b")]
    right = [("A", "R", "SEED1"), ("A", "S", "SEED2"), ("A", "T", "B"), ("A", "U", "B")]
    seeds = [("seed1", "SEED1"), ("seed2", "SEED2"), ("b0", "B0"), ("a0", "A0")]
    left += [("a0", "t", "b0"), ("a0", "u", "b0")]
    right += [("A0", "T", "B0"), ("A0", "U", "B0")]
    config = Config(names_from_iris=False)
    return Aligner.create(tmp_path / "state", left, right, seeds, config=config)


def find_end(aligner: Aligner, entity: str) -> LinkEvent:
    """The last event that has ended a link of an entity."""
    ends = ("retracted", "rejected", "withdrawn")
    return [event for event in aligner.history(entity) if event.kind in ends][-1]


def test_only_what_ends_a_link_has_a_cause(towns: Aligner) -> None:
    assert {event.cause for event in towns.history()} == {""}


def test_a_link_whose_facts_went_away_has_lost_evidence(towns: Aligner) -> None:
    towns.update(change=ChangeSet(removed_left=[("Oslo", "by", "Sea"), ("Oslo", "in", "Norway")]))
    end = find_end(towns, "Oslo")
    assert end.cause == "lost evidence"
    assert end.reason.startswith("an entity was removed")


def test_a_better_rival_is_named(towns: Aligner) -> None:
    facts = [("Осло2", "в", "Норвегия"), ("Осло2", "у", "Море")]
    # The old one has a neighbour more that Oslo has not, and is second best.
    towns.update(right=[*facts, ("Осло", "у", "Океан")])
    end = find_end(towns, "Oslo")
    assert end.cause == "better rival"
    assert end.reason == "replaced by Oslo – Осло2"


def test_a_rival_that_is_a_proposal_is_named(towns: Aligner) -> None:
    towns.update(left=[("Milan", "in", "Italy")])
    # Rome has one of four neighbours in common with Рим, and Milan now has one of five.
    towns.update(left=[("Milan", "has", name) for name in ("Dome", "Canal", "Tram", "Fog")])
    end = find_end(towns, "Milan")
    assert end.cause == "better rival"
    assert end.reason == "less probable than Rome – Рим"


def test_a_method_that_cannot_tell_has_no_cause(towns: Aligner) -> None:
    towns.update(left=[("Milan", "in", "Italy")])
    towns.update(right=[("Рим", "имеет", name) for name in ("Форум", "Арка")])
    end = find_end(towns, "Milan")
    assert (end.cause, end.reason) == ("", "no longer found")


def test_decisions_are_causes(towns: Aligner) -> None:
    towns.reject([("Oslo", "Осло")])
    towns.update()
    assert find_end(towns, "Oslo").cause == "decision"
    towns.withdraw([("Italy", "Италия")])
    towns.update()
    assert find_end(towns, "Italy").cause == "decision"


def test_a_confirmed_rival_is_a_decision(towns: Aligner) -> None:
    towns.confirm([("Oslo", "Тронхейм")])
    towns.update()
    end = find_end(towns, "Осло")
    assert end.cause == "decision"
    assert "Oslo – Тронхейм" in end.reason


def test_a_trusted_link_of_a_removed_entity_has_lost_evidence(towns: Aligner) -> None:
    towns.update(change=ChangeSet(removed_left_entities=["Italy"]))
    end = find_end(towns, "Italy")
    assert (end.kind, end.cause) == ("withdrawn", "lost evidence")


def test_a_revert_is_a_cause(towns: Aligner) -> None:
    facts = [("Осло2", "в", "Норвегия"), ("Осло2", "у", "Море")]
    towns.update(right=[*facts, ("Осло", "у", "Океан")])
    towns.revert(0)
    assert find_end(towns, "Осло2").cause == "revert"


def test_differences_and_changes_have_the_cause(towns: Aligner) -> None:
    towns.reject([("Oslo", "Осло")])
    towns.update()
    (gone,) = [row for row in towns.diff(0, 1) if row.left == "Oslo" and row.right == "Осло"]
    assert gone.cause == "decision"
    stream = BytesIO()
    towns.write_changes(stream, "jsonl", since=0)
    assert json.loads(stream.getvalue().splitlines()[0])["cause"] == "decision"


def test_a_link_loses_evidence_where_its_neighbours_lose_theirs(chain: Aligner) -> None:
    assert {"a", "b"} <= {link.left for link in chain.links()}
    removed = [("a", "r", "seed1"), ("a", "s", "seed2")]
    chain.update(change=ChangeSet(removed_left=removed))
    # a has lost facts; b has all of its own, but they lead to nothing that is known.
    own, other = find_end(chain, "a"), find_end(chain, "b")
    assert own.cause == other.cause == "lost evidence"
    assert own.reason.startswith("facts of its entities were removed")


def test_a_local_update_tells_what_was_lost(tmp_path: Path) -> None:
    sample = generate_sample(SampleConfig(triples=3000, snapshots=1))
    aligner = Aligner.create(tmp_path / "a.state", sample.left(0), sample.right(0), sample.seeds)
    withdrawn = sample.seeds[:40]
    (report,) = aligner.update(change=ChangeSet(withdrawn=withdrawn)).reports
    assert not report.trained
    ends = [event for event in aligner.history(since=1) if event.kind == "retracted"]
    causes = {event.cause for event in ends}
    # No fact has changed: what was lost are the links that others rested on.
    assert "lost evidence" in causes
    assert causes <= {"lost evidence", "better rival", "new evidence"}
