"""What holds for evidence whatever the graphs and the seeds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.evidence.naive import Case, cases
from tests.methods.evidence.samples import NO_LINKS, found, grown

from everalign.config import Config
from everalign.matching import Candidates
from everalign.methods import Explaining, Problem, make_method
from everalign.methods.evidence.matches import Both
from everalign.methods.evidence.relations import align_relations
from everalign.methods.evidence.settings import EvidenceSettings
from everalign.methods.evidence.support import SUPPORT, look
from everalign.progress import silent

NEWS = st.integers(0, 7)
DELTAS = st.lists(st.tuples(NEWS, st.integers(0, 3), NEWS), max_size=4)
SMALL = {"trees": 5, "leaves": 3}


def problem_of(case: Case) -> Problem:
    """Half of the matches of the case as seeds, the others to judge by."""
    rows = np.array(list(case.pairs), dtype=np.int32).reshape(-1, 2)
    return Problem(case.left, case.right, rows[::2], rows[1::2])


def check(problem: Problem, candidates: Candidates) -> None:
    """One-to-one, between free entities, with probabilities."""
    left, right = (set(side.tolist()) for side in problem.free())
    lefts, rights = candidates.left.tolist(), candidates.right.tolist()
    assert len(set(lefts)) == len(lefts) == len(set(rights))
    assert set(lefts) <= left
    assert set(rights) <= right
    assert np.all((candidates.score >= 0) & (candidates.score <= 1))
    assert np.isfinite(candidates.threshold)


@settings(deadline=None, max_examples=60)
@given(cases(one_to_one=True), DELTAS, DELTAS)
def test_a_fit_and_an_update_of_anything(
    case: Case, left: list[tuple[int, int, int]], right: list[tuple[int, int, int]]
) -> None:
    first = problem_of(case)
    method = make_method(Config(method="evidence", settings=SMALL))
    method.fit(first, silent)
    check(first, found(method, first))
    second = grown(first, left, right)
    method.update(second, silent)
    check(second, found(method, second))


@settings(deadline=None, max_examples=60)
@given(cases(one_to_one=True))
def test_what_is_found_is_explained(case: Case) -> None:
    problem = problem_of(case)
    method = make_method(Config(method="evidence", settings=SMALL))
    method.fit(problem, silent)
    assert isinstance(method, Explaining)
    candidates = found(method, problem)
    for left, right in candidates.pairs():
        rows = method.explain(problem, left, None)
        (pair,) = (row for row in rows if row.right == right)
        assert pair.support == pytest.approx(sum(piece.weight for piece in pair.pieces))
        assert pair.support > 0


@settings(deadline=None)
@given(cases())
def test_support_is_the_same_with_the_sides_swapped(case: Case) -> None:
    s = EvidenceSettings(doubt=50.0)  # so much that inclusion stays low whatever the matches
    left, right = case.sides(s)
    relations = align_relations(left, right, case.matches, s)
    swapped = align_relations(right, left, Both(*reversed(case.matches)), s)
    pairs = np.indices(case.sizes, dtype=np.int32).reshape(2, -1)
    one, two = pairs[0].copy(), pairs[1].copy()
    there, _ = look(left, right, case.matches, relations, one, two)
    back, _ = look(right, left, Both(*reversed(case.matches)), swapped, two, one)
    assert there[:, SUPPORT].tolist() == pytest.approx(back[:, SUPPORT].tolist(), rel=1e-4)


@settings(deadline=None)
@given(cases())
def test_without_seeds_there_is_nothing_to_go_by(case: Case) -> None:
    problem = Problem(case.left, case.right, NO_LINKS, NO_LINKS)
    method = make_method(Config(method="evidence", settings=SMALL))
    method.fit(problem, silent)
    assert len(found(method, problem)) == 0
