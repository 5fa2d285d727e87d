"""What holds for evidence whatever the graphs and the seeds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.evidence.naive import Case, cases
from tests.methods.evidence.samples import NO_LINKS, found, grown

from everalign._progress import no_progress
from everalign.matching import CandidatePairs
from everalign.methods import AlignmentTask, ExplainableMethod
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.method import Evidence
from everalign.methods.evidence.neighbourhood import SUPPORT, compare_neighbourhoods
from everalign.methods.evidence.propagation import GraphPair
from everalign.methods.evidence.relations import MatchIndex, align_relations

NEWS = st.integers(0, 7)
DELTAS = st.lists(st.tuples(NEWS, st.integers(0, 3), NEWS), max_size=4)
SMALL = EvidenceParameters(tree_count=5, leaf_count=3)


def problem_of(case: Case) -> AlignmentTask:
    """Half of the matches of the case as seeds, the others to judge by."""
    rows = np.array(list(case.pairs), dtype=np.int32).reshape(-1, 2)
    return AlignmentTask(case.left, case.right, rows[::2], rows[1::2])


def check(problem: AlignmentTask, candidates: CandidatePairs) -> None:
    """One-to-one, between free entities, with probabilities."""
    left, right = (set(side.tolist()) for side in problem.unlinked_entities())
    lefts, rights = candidates.left.tolist(), candidates.right.tolist()
    assert len(set(lefts)) == len(lefts) == len(set(rights))
    assert set(lefts) <= left
    assert set(rights) <= right
    assert np.all((candidates.score >= 0) & (candidates.score <= 1))
    assert np.isfinite(candidates.threshold)


@pytest.mark.slow
@settings(max_examples=60)
@given(cases(one_to_one=True), DELTAS, DELTAS)
def test_a_fit_and_an_update_of_anything(
    case: Case, left: list[tuple[int, int, int]], right: list[tuple[int, int, int]]
) -> None:
    first = problem_of(case)
    method = Evidence(SMALL, seed=0)
    method.fit(first, no_progress)
    check(first, found(method, first))
    second = grown(first, left, right)
    method.update(second, no_progress)
    check(second, found(method, second))


@pytest.mark.slow
@settings(max_examples=60)
@given(cases(one_to_one=True))
def test_what_is_found_is_explained(case: Case) -> None:
    problem = problem_of(case)
    method = Evidence(SMALL, seed=0)
    method.fit(problem, no_progress)
    assert isinstance(method, ExplainableMethod)
    candidates = found(method, problem)
    for left, right in candidates.pairs():
        rows = method.explain(problem, left, None)
        (pair,) = (row for row in rows if row.right == right)
        assert pair.support == pytest.approx(sum(piece.weight for piece in pair.pieces))
        assert pair.support > 0


@pytest.mark.slow
@given(cases())
def test_support_is_the_same_with_the_sides_swapped(case: Case) -> None:
    # A strong prior, so that inclusion stays low whatever the matches.
    config = EvidenceParameters(inclusion_prior_strength=50.0)
    left, right = case.adjacencies(config)
    swapped_matches = MatchIndex(*reversed(case.matches))
    relations = align_relations(left, right, case.matches, config)
    swapped = align_relations(right, left, swapped_matches, config)
    pairs = np.indices(case.sizes, dtype=np.int32).reshape(2, -1)
    left_ids, right_ids = pairs[0].copy(), pairs[1].copy()
    graphs = GraphPair(left, right, NO_LINKS, config)
    rows, _ = compare_neighbourhoods(graphs, case.matches, relations, left_ids, right_ids)
    graphs = GraphPair(right, left, NO_LINKS, config)
    back, _ = compare_neighbourhoods(graphs, swapped_matches, swapped, right_ids, left_ids)
    assert rows[:, SUPPORT].tolist() == pytest.approx(back[:, SUPPORT].tolist(), rel=1e-4)


@pytest.mark.slow
@given(cases())
def test_without_seeds_there_is_nothing_to_go_by(case: Case) -> None:
    problem = AlignmentTask(case.left, case.right, NO_LINKS, NO_LINKS)
    method = Evidence(SMALL, seed=0)
    method.fit(problem, no_progress)
    assert len(found(method, problem)) == 0
