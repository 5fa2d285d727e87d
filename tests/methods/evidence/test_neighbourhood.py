"""The comparison of neighbourhoods, against sums and counts over all edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from tests.methods.evidence.naive import (
    Case,
    Edge,
    NaiveGraph,
    Pairs,
    cases,
    find_best,
    list_pieces,
)
from tests.methods.evidence.samples import NO_LINKS

from everalign.graph import Graph
from everalign.methods.evidence.adjacency import FloatArray
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.neighbourhood import (
    BEST_WEIGHT,
    COMPARABLE,
    JOINT_FREQUENCY,
    SHARED,
    SHARED_COUNT,
    SUPPORT,
    compare_neighbourhoods,
)
from everalign.methods.evidence.propagation import GraphPair
from everalign.methods.evidence.relations import (
    RelationInclusions,
    align_relations,
    find_inclusion,
)

SETTINGS = EvidenceParameters(
    local_functionality_weight=0.3,
    max_fact_degree=2,
    inclusion_prior=0.1,
    inclusion_prior_strength=50.0,
)


def compared(
    case: Case,
) -> tuple[list[tuple[int, int]], tuple[FloatArray, FloatArray], RelationInclusions]:
    """The comparison of all possible pairs."""
    graphs = GraphPair(*case.adjacencies(SETTINGS), NO_LINKS, SETTINGS)
    relations = align_relations(graphs.left, graphs.right, case.matches, SETTINGS)
    pairs = [(x, y) for x in range(case.sizes[0]) for y in range(case.sizes[1])]
    left_ids, right_ids = np.array(pairs, dtype=np.int32).T.copy()
    rows = compare_neighbourhoods(graphs, case.matches, relations, left_ids, right_ids)
    return pairs, rows, relations


def shared_facts(
    left: NaiveGraph, right: NaiveGraph, pairs: Pairs, pair: tuple[int, int]
) -> list[tuple[Edge, float]]:
    """The edges of the left one that lead to a match of a neighbour of the right one."""
    near = {y2 for _, _, y2 in right.edges_of(pair[1])}
    rows = [
        (edge, max((p for (y, y2), p in pairs.items() if y == edge[2] and y2 in near), default=0))
        for edge in left.edges_of(pair[0])
    ]
    return [(edge, p) for edge, p in rows if p > 0]


def turned(pairs: Pairs) -> Pairs:
    return {(two, one): p for (one, two), p in pairs.items()}


@pytest.mark.slow
@given(cases())
def test_support_is_the_sum_of_all_pieces(case: Case) -> None:
    pairs, (from_left, from_right), relations = compared(case)
    for pair, row, row_back in zip(pairs, from_left, from_right, strict=True):
        found = list_pieces(
            *case.naive_graphs(SETTINGS),
            case.pairs,
            lambda d, d2: find_inclusion(relations.left, d, d2),
            pair,
        )
        weights = [weight for weight, _, _ in found]
        assert row[SUPPORT] == pytest.approx(sum(weights), rel=1e-4, abs=1e-6)
        assert row[BEST_WEIGHT] == pytest.approx(max(weights, default=0), rel=1e-4, abs=1e-6)
        assert row_back[SUPPORT] == row[SUPPORT]


@pytest.mark.slow
@given(cases())
def test_shared_and_comparable_facts(case: Case) -> None:
    pairs, sides, _ = compared(case)
    left, right = case.naive_graphs(SETTINGS)
    ways = ((left, right, case.pairs), (right, left, turned(case.pairs)))
    for number, (one, two, matched) in enumerate(ways):
        best = find_best(matched, 0)
        for pair, row in zip(pairs, sides[number], strict=True):
            facts = shared_facts(one, two, matched, pair if number == 0 else pair[::-1])
            comparable = sum(best.get(y, 0) for _, _, y in one.edges_of(pair[number]))
            assert row[SHARED] == pytest.approx(sum(p for _, p in facts))
            assert row[COMPARABLE] == pytest.approx(comparable)
            assert row[SHARED_COUNT] == sum(
                p >= SETTINGS.min_shared_fact_probability for _, p in facts
            )


@given(cases())
def test_joint_frequency_counts_the_entities_that_have_all_shared_facts(case: Case) -> None:
    pairs, (from_left, _), _ = compared(case)
    left, right = case.naive_graphs(SETTINGS)
    for pair, row in zip(pairs, from_left, strict=True):
        telling = shared_facts(left, right, case.pairs, pair)
        facts = [edge for edge, p in telling if p >= SETTINGS.min_shared_fact_probability]
        everyone = case.sizes[0] + 1
        if len(facts) <= SETTINGS.max_joint_facts:
            having = left.count_having(facts) if facts else everyone
            assert row[JOINT_FREQUENCY] == pytest.approx(math.log(having))


def test_five_entities_by_hand() -> None:
    """0 and 3 live in 1; 0 also reads 2, who writes to 4. On both sides; 1 and 2 are known."""
    graph = Graph.from_triples([(0, 0, 1), (3, 0, 1), (0, 1, 2), (2, 2, 4)])
    case = Case(graph, graph, {(1, 1): 1.0, (2, 2): 0.5})
    pairs, (from_left, _), _ = compared(case)
    rows = dict(zip(pairs, from_left, strict=True))
    # Nobody but 0 has both facts; 0 and 3 live in 1; four and five have nothing in common.
    assert [rows[0, 0][k] for k in (SHARED, COMPARABLE, SHARED_COUNT)] == [1.5, 1.5, 2]
    assert rows[0, 0][JOINT_FREQUENCY] == 0
    assert [rows[0, 3][k] for k in (SHARED, COMPARABLE, SHARED_COUNT)] == [1.0, 1.5, 1]
    assert rows[0, 3][JOINT_FREQUENCY] == pytest.approx(math.log(2))
    assert rows[3, 4][SHARED] == 0
    assert rows[3, 4][JOINT_FREQUENCY] == pytest.approx(math.log(5 + 1))
    # No relation could be seen: 0.1. Living in 1 is shared by two, reading 2 by nobody.
    lives = 0.7 * 1 / 2 + 0.3 / 2
    assert rows[3, 3][SUPPORT] == pytest.approx(-2 * math.log(1 - 0.1 * lives), rel=1e-4)
    reads = -2 * math.log(1 - 0.5 * 0.1)
    both = rows[3, 3][SUPPORT] + reads
    assert rows[0, 0][SUPPORT] == pytest.approx(both, rel=1e-4)
