"""The façade from end to end, on graphs small enough to check by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from everalign import Aligner, Config
from everalign.errors import StateError
from everalign.matching import Candidates
from everalign.methods import METHODS, Arrays, Entry, Problem, register
from everalign.progress import Progress

LEFT = [("Oslo", "in", "Norway"), ("Bergen", "in", "Norway"), ("Rome", "in", "Italy")]
RIGHT = [("Осло", "в", "Норвегия"), ("Берген", "в", "Норвегия"), ("Рим", "в", "Италия")]
SEEDS = [("Norway", "Норвегия")]


class Fickle:
    """Links the n-th free entities, and other ones at each update, ever more sure of it."""

    def __init__(self) -> None:
        self.calls = 0

    def fit(self, problem: Problem, progress: Progress) -> None:
        self.calls = 1

    def update(self, problem: Problem, progress: Progress) -> None:
        self.calls += 1

    def candidates(self, problem: Problem, progress: Progress) -> Candidates:
        left, right = problem.free()
        count = min(len(left), len(right))
        shift = self.calls - 1  # another version, another opinion
        return Candidates.of(
            left[:count], np.roll(right[:count], shift), np.full(count, 0.5 + 0.1 * shift)
        )

    def save(self) -> Arrays:
        return {"calls": np.array(self.calls)}

    def load(self, arrays: Arrays) -> None:
        self.calls = int(arrays["calls"])


@pytest.fixture(autouse=True)
def _fickle_method() -> Iterator[None]:
    register(Entry("fickle", "changes its mind", lambda settings, seed: Fickle()))
    yield
    del METHODS["fickle"]


@pytest.fixture
def aligner(tmp_path: Path) -> Aligner:
    return Aligner.create(tmp_path / "state", LEFT, RIGHT, SEEDS, config=Config(method="fickle"))


def pairs(aligner: Aligner, at: int | None = None) -> set[tuple[str, str]]:
    return {(link.left, link.right) for link in aligner.links(at=at) if link.origin == "found"}


def test_trusted_links_are_in_force_and_free_entities_are_linked(aligner: Aligner) -> None:
    trusted = [link for link in aligner.links() if link.origin == "given"]
    assert [(link.left, link.right, link.score) for link in trusted] == [
        ("Norway", "Норвегия", 1.0)
    ]
    assert pairs(aligner) == {
        ("Oslo", "Осло"), ("Bergen", "Берген"), ("Rome", "Рим"), ("Italy", "Италия")
    }  # fmt: skip


def test_a_better_link_replaces_a_worse_one_and_the_history_says_so(aligner: Aligner) -> None:
    aligner.update(left=[("Milan", "in", "Italy")])
    history = [(h.version, h.what, h.left, h.right, h.reason) for h in aligner.history("Oslo")]
    assert history[0] == (0, "added", "Oslo", "Осло", "mutual best match")
    assert history[1][:4] == (1, "retracted", "Oslo", "Осло")
    assert history[1][4].startswith("replaced by ")
    assert history[2][:2] == (1, "revised")
    assert ("Oslo", "Осло") in pairs(aligner, at=0)
    assert ("Oslo", "Осло") not in pairs(aligner)


def test_reports_add_up(aligner: Aligner) -> None:
    (report,) = aligner.update(
        left=[("Milan", "in", "Italy")], right=[("Милан", "в", "Италия")]
    ).reports
    assert (report.left_triples, report.right_triples) == (1, 1)
    assert (report.left_entities, report.right_entities) == (1, 1)
    first = aligner.status().reports[0]
    assert report.links == first.links + report.added + report.revised - report.retracted


def test_the_same_delta_in_another_order_is_the_same(aligner: Aligner) -> None:
    delta = [("Milan", "in", "Italy"), ("Turin", "in", "Italy")]
    assert len(aligner.update(left=delta).reports) == 1
    again = aligner.update(left=delta[::-1])
    assert (again.reports, again.message) == ((), "this delta was applied as version 1")


def test_a_state_is_not_made_twice(aligner: Aligner) -> None:
    with pytest.raises(StateError, match="is an alignment already"):
        Aligner.create(aligner.state, LEFT, RIGHT, SEEDS, config=Config(method="fickle"))


def test_a_broken_off_beginning_is_not_mixed_with_another(tmp_path: Path) -> None:
    class BrokenError(Exception):
        pass

    class Broken(Fickle):
        def fit(self, problem: Problem, progress: Progress) -> None:
            raise BrokenError

    register(Entry("broken", "breaks", lambda settings, seed: Broken()))
    config, state = Config(method="broken"), tmp_path / "state"
    with pytest.raises(BrokenError):
        Aligner.create(state, LEFT, RIGHT, SEEDS, config=config)
    assert Aligner.open(state).status().pending == "memory"
    with pytest.raises(StateError, match="other input or settings"):
        Aligner.create(state, LEFT[:2], RIGHT, SEEDS, config=config)
    with pytest.raises(BrokenError):
        Aligner.create(state, LEFT, RIGHT, SEEDS, config=config)
    register(Entry("broken", "works", lambda settings, seed: Fickle()))
    Aligner.create(state, LEFT, RIGHT, SEEDS, config=config)
    assert len(pairs(Aligner.open(state))) == 4
    del METHODS["broken"]


def test_evaluation_leaves_out_what_is_trusted(aligner: Aligner) -> None:
    gold = [("Norway", "Норвегия"), ("Oslo", "Осло"), ("Bergen", "Рим")]
    scores = aligner.evaluate(gold)
    assert (scores.predicted, scores.gold, scores.correct) == (4, 2, 1)
