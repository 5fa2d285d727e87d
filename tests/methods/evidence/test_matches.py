"""Matches: anchors are certain, the others share a probability of 1 at most."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everalign.graph import Graph
from everalign.methods.evidence.candidates import MatchProbabilities
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.propagation import GraphPair, select_matches

Pair = tuple[int, int]

IDS = st.integers(0, 5)
SIZES = (6, 6)
PROBABILITIES = st.dictionaries(st.tuples(IDS, IDS), st.floats(0, 1, width=32), max_size=30)
ANCHORS = st.lists(st.tuples(IDS, IDS), unique_by=(lambda p: p[0], lambda p: p[1]), max_size=3)


def ring_pair(anchors: list[Pair]) -> GraphPair:
    ring = Graph.from_triples([(n, 0, (n + 1) % 6) for n in range(6)])
    rows = np.array(anchors, dtype=np.int32).reshape(-1, 2)
    return GraphPair.from_graphs(ring, ring, rows, EvidenceParameters(min_match_probability=0.1))


def probabilities(pairs: dict[Pair, float]) -> MatchProbabilities:
    rows = np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2)
    probability = np.array([pairs[pair] for pair in sorted(pairs)], dtype=np.float32)
    return MatchProbabilities.from_pairs(rows[:, 0], rows[:, 1], probability, SIZES)


def matched(graphs: GraphPair, pairs: dict[Pair, float]) -> dict[Pair, float]:
    """The matches from the left; those from the right must be the same."""
    both = select_matches(graphs, probabilities(pairs))
    left, right = (
        {
            (x, int(side.counterpart[m])): float(side.probability[m])
            for x in range(6)
            for m in range(side.start[x], side.stop[x])
        }
        for side in both
    )
    assert left == {(one, two): p for (two, one), p in right.items()}
    return left


@given(ANCHORS, PROBABILITIES)
def test_the_probabilities_of_an_entity_sum_to_one_at_most(
    anchors: list[Pair], pairs: dict[Pair, float]
) -> None:
    found = matched(ring_pair(anchors), pairs)
    for side in (0, 1):
        totals = [sum(p for pair, p in found.items() if pair[side] == x) for x in range(6)]
        assert max(totals) <= 1 + 1e-6


@given(ANCHORS, PROBABILITIES)
def test_anchors_are_certain_and_have_no_competitors(
    anchors: list[Pair], pairs: dict[Pair, float]
) -> None:
    found = matched(ring_pair(anchors), pairs)
    lefts, rights = {left for left, _ in anchors}, {right for _, right in anchors}
    certain = {pair: p for pair, p in found.items() if pair[0] in lefts or pair[1] in rights}
    assert certain == dict.fromkeys(anchors, 1.0)


def test_matches_by_hand() -> None:
    # 0 is 1 or 2 with 1.5 in all, so each counts two thirds; 3 is 3, and 0.05 is too little.
    pairs = {(0, 1): 1.0, (0, 2): 0.5, (3, 3): 0.6, (4, 4): 0.05}
    found = matched(ring_pair([(5, 5)]), pairs)
    assert found == pytest.approx({(5, 5): 1.0, (0, 1): 2 / 3, (0, 2): 1 / 3, (3, 3): 0.6})


def test_probabilities_of_other_pairs() -> None:
    known = probabilities({(0, 1): 0.5, (2, 2): 0.25})
    asked = probabilities({(0, 0): 1.0, (0, 1): 1.0, (2, 2): 1.0}).table
    assert known.look_up(asked).tolist() == [0, 0.5, 0.25]
    assert known.select_at_least(0.5).probability.tolist() == [0.5]
    assert probabilities({}).look_up(asked).tolist() == [0, 0, 0]
