"""Explanations of a pair, by hand.

Left and right have the same five people. Three of them live in 1; 2 is known to be one of the
three, so that living somewhere is seen on both sides once. 0 also has a 4, which nobody else has.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.methods.evidence.samples import fitted

from everalign.graph import Graph
from everalign.methods import AlignmentTask, EvidencePiece, ExplainableMethod

LIVES, HAS = 0, 1
FIVE = Graph.from_triples([(0, LIVES, 1), (2, LIVES, 1), (3, LIVES, 1), (0, HAS, 4)])
SEEDS = np.array([(1, 1), (2, 2), (4, 4)], dtype=np.int32)
PROBLEM = AlignmentTask(FIVE, FIVE, SEEDS, SEEDS[:0])
# Only seeds count as matches, so that one round is all there is.
SETTINGS = {"min_match_probability": 1.0}

INCLUDED = (1 + 0.1 * 2) / (1 + 2)  # living: seen once of once
NEVER_SEEN = 0.1  # having: 0 has no match, so it could not be seen
ONE_OF_THREE = 0.7 * 1 / 3 + 0.3 / 3  # who lives in 1 is one of three
LIVES_WEIGHT = -2 * math.log(1 - INCLUDED * ONE_OF_THREE)
HAS_WEIGHT = -2 * math.log(1 - NEVER_SEEN)


@pytest.fixture(scope="module")
def method() -> ExplainableMethod:
    fit = fitted(PROBLEM, SETTINGS)
    assert isinstance(fit, ExplainableMethod)
    return fit


def test_the_pieces_of_a_pair(method: ExplainableMethod) -> None:
    (pair,) = method.explain(PROBLEM, 0, None)
    assert (pair.left, pair.right) == (0, 0)
    lives, has = pair.pieces
    assert lives == EvidencePiece(LIVES, False, 1, LIVES, False, 1, 1.0, lives.weight)
    assert has == EvidencePiece(HAS, False, 4, HAS, False, 4, 1.0, has.weight)
    assert (lives.weight, has.weight) == pytest.approx((LIVES_WEIGHT, HAS_WEIGHT))
    assert pair.support == pytest.approx(LIVES_WEIGHT + HAS_WEIGHT)


def test_without_training_confidence_is_half_the_probability_at_most(
    method: ExplainableMethod,
) -> None:
    (pair,) = method.explain(PROBLEM, None, 0)
    assert 0 < pair.confidence <= (1 - math.exp(-pair.support)) / 2 + 1e-6


def test_a_trusted_link_is_shown_with_its_evidence(method: ExplainableMethod) -> None:
    (pair,) = method.explain(PROBLEM, 2, None)
    assert (pair.right, pair.confidence) == (2, 1.0)
    assert [piece.left_neighbour for piece in pair.pieces] == [1]


def test_a_relation_read_backwards_is_marked(method: ExplainableMethod) -> None:
    (pair,) = method.explain(PROBLEM, 1, None)
    assert [(piece.left_inverse, piece.left_neighbour) for piece in pair.pieces] == [(True, 2)]


def test_relations_that_were_seen_together(method: ExplainableMethod) -> None:
    (match,) = method.relations(PROBLEM)
    assert (match.left, match.right, match.inverse) == (LIVES, LIVES, False)
    assert (match.left_in_right, match.right_in_left) == pytest.approx((INCLUDED, INCLUDED))
    assert match.support == 1


def test_an_entity_without_evidence_has_no_candidate() -> None:
    alone = Graph.from_triples([(0, LIVES, 1), (2, LIVES, 1), (3, HAS, 4)])
    problem = AlignmentTask(alone, alone, SEEDS[:2], SEEDS[:0])
    fit = fitted(problem, SETTINGS)
    assert isinstance(fit, ExplainableMethod)
    assert fit.explain(problem, 3, None) == []
