"""A closer look at a pair, against sums and counts over all edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from tests.methods.evidence.naive import Case, Edge, Naive, Pairs, best_of, cases, pieces

from everalign.graph import Graph
from everalign.methods.evidence.relations import Relations, align_relations, included
from everalign.methods.evidence.settings import EvidenceSettings
from everalign.methods.evidence.side import Floats
from everalign.methods.evidence.support import (
    ALIKE,
    COULD,
    ENOUGH,
    FACTS,
    HEAVIEST,
    NUMBER,
    SHARED,
    SUPPORT,
    look,
)

SETTINGS = EvidenceSettings(local=0.3, crowd=2, prior=0.1, doubt=50.0)


def seen(case: Case) -> tuple[list[tuple[int, int]], tuple[Floats, Floats], Relations]:
    """A look at every pair there is."""
    sides = case.sides(SETTINGS)
    relations = align_relations(*sides, case.matches, SETTINGS)
    pairs = [(x, y) for x in range(case.sizes[0]) for y in range(case.sizes[1])]
    one, two = np.array(pairs, dtype=np.int32).T.copy()
    return pairs, look(*sides, case.matches, relations, one, two), relations


def shared_facts(
    left: Naive, right: Naive, pairs: Pairs, pair: tuple[int, int]
) -> list[tuple[Edge, float]]:
    """The edges of the left one that lead to a match of a neighbour of the right one."""
    near = {y2 for _, _, y2 in right.of(pair[1])}
    rows = [
        (edge, max((p for (y, y2), p in pairs.items() if y == edge[2] and y2 in near), default=0))
        for edge in left.of(pair[0])
    ]
    return [(edge, p) for edge, p in rows if p > 0]


def turned(pairs: Pairs) -> Pairs:
    return {(two, one): p for (one, two), p in pairs.items()}


@settings(deadline=None)
@given(cases())
def test_support_is_the_sum_of_all_pieces(case: Case) -> None:
    pairs, (there, back), relations = seen(case)
    for pair, row, row_back in zip(pairs, there, back, strict=True):
        found = pieces(
            *case.naive(SETTINGS),
            case.pairs,
            lambda d, d2: included(relations.left, d, d2),
            pair,
        )
        weights = [weight for weight, _, _ in found]
        assert row[SUPPORT] == pytest.approx(sum(weights), rel=1e-4, abs=1e-6)
        assert row[HEAVIEST] == pytest.approx(max(weights, default=0), rel=1e-4, abs=1e-6)
        assert row_back[SUPPORT] == row[SUPPORT]


@settings(deadline=None)
@given(cases())
def test_what_is_shared_and_what_could_be(case: Case) -> None:
    pairs, looks, _ = seen(case)
    left, right = case.naive(SETTINGS)
    ways = ((left, right, case.pairs), (right, left, turned(case.pairs)))
    for number, (one, two, matched) in enumerate(ways):
        best = best_of(matched, 0)
        for pair, row in zip(pairs, looks[number], strict=True):
            facts = shared_facts(one, two, matched, pair if number == 0 else pair[::-1])
            could = sum(best.get(y, 0) for _, _, y in one.of(pair[number]))
            assert row[SHARED] == pytest.approx(sum(p for _, p in facts))
            assert row[COULD] == pytest.approx(could)
            assert row[NUMBER] == sum(p >= ENOUGH for _, p in facts)


@settings(deadline=None)
@given(cases())
def test_alike_counts_the_entities_that_have_all_shared_facts(case: Case) -> None:
    pairs, (there, _), _ = seen(case)
    left, right = case.naive(SETTINGS)
    for pair, row in zip(pairs, there, strict=True):
        telling = shared_facts(left, right, case.pairs, pair)
        facts = [edge for edge, p in telling if p >= ENOUGH]
        everyone = case.sizes[0] + 1
        if len(facts) <= FACTS:
            alike = left.having(facts) if facts else everyone
            assert row[ALIKE] == pytest.approx(math.log(alike))


def test_five_entities_by_hand() -> None:
    """0 and 3 live in 1; 0 also reads 2, who writes to 4. On both sides; 1 and 2 are known."""
    graph = Graph.of([(0, 0, 1), (3, 0, 1), (0, 1, 2), (2, 2, 4)])
    case = Case(graph, graph, {(1, 1): 1.0, (2, 2): 0.5})
    pairs, (there, _), _ = seen(case)
    rows = dict(zip(pairs, there, strict=True))
    # Nobody but 0 has both facts; 0 and 3 live in 1; four and five have nothing in common.
    assert [rows[0, 0][k] for k in (SHARED, COULD, NUMBER)] == [1.5, 1.5, 2]
    assert rows[0, 0][ALIKE] == 0
    assert [rows[0, 3][k] for k in (SHARED, COULD, NUMBER)] == [1.0, 1.5, 1]
    assert rows[0, 3][ALIKE] == pytest.approx(math.log(2))
    assert rows[3, 4][SHARED] == 0
    assert rows[3, 4][ALIKE] == pytest.approx(math.log(5 + 1))
    # No relation could be seen: 0.1. Living in 1 is shared by two, reading 2 by nobody.
    lives = 0.7 * 1 / 2 + 0.3 / 2
    assert rows[3, 3][SUPPORT] == pytest.approx(-2 * math.log(1 - 0.1 * lives), rel=1e-4)
    reads = -2 * math.log(1 - 0.5 * 0.1)
    both = rows[3, 3][SUPPORT] + reads
    assert rows[0, 0][SUPPORT] == pytest.approx(both, rel=1e-4)
