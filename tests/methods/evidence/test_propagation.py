"""Support from matched neighbours, against a sum over all pairs of edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from tests.methods.evidence.naive import Case, Pairs, cases, list_pieces

from everalign.graph import Graph
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.relations import align_relations, find_inclusion, index_matches
from everalign.methods.evidence.support import search_candidates
from everalign.methods.evidence.weights import compute_evidence_weight

# A limit that small graphs reach, and a prior that keeps inclusion low whatever the matches.
SETTINGS = EvidenceParameters(
    local_functionality_weight=0.3,
    max_fact_degree=2,
    inclusion_prior=0.1,
    inclusion_prior_strength=50.0,
    degree_discount=0.2,
)
MIN_WEIGHT = 0.0371
NO_IDS = np.empty(0, dtype=np.int32)
NO_MATCHES = index_matches(NO_IDS, NO_IDS, np.empty(0), (100, 100)).left


def found(
    case: Case, max_candidates: int, min_weight: float = MIN_WEIGHT, taken: tuple[int, ...] = ()
) -> list[tuple[int, int, float]]:
    """The best supported right entities of all left ones."""
    left, right = case.adjacencies(SETTINGS)
    relations = align_relations(left, right, case.matches, SETTINGS).left
    asked = np.arange(case.left.entity_count, dtype=np.int32)
    free = ~np.isin(np.arange(case.right.entity_count), taken)
    columns = search_candidates(
        left,
        right,
        case.matches.left,
        relations,
        asked,
        free,
        NO_MATCHES,
        max_candidates,
        min_weight,
    )
    return list(zip(*(column.tolist() for column in columns), strict=True))


def expected(case: Case) -> Pairs:
    """The support of all pairs: pieces that are heavy enough, of facts few enough share."""
    sides = case.adjacencies(SETTINGS)
    relations = align_relations(*sides, case.matches, SETTINGS).left
    support: Pairs = {}
    for x in range(case.left.entity_count):
        for x2 in range(case.right.entity_count):
            rows = list_pieces(
                *case.naive_graphs(SETTINGS),
                case.pairs,
                lambda d, d2: find_inclusion(relations, d, d2),
                (x, x2),
            )
            for weight, left_factor, right_factor in rows:
                assume(abs(weight - MIN_WEIGHT) > 1e-6)
                if weight >= MIN_WEIGHT and left_factor > 0 and right_factor > 0:
                    support[x, x2] = support.get((x, x2), 0) + weight
    return support


def discount(case: Case, x2: int) -> float:
    _, right = case.naive_graphs(SETTINGS)
    return float(max(len(right.edges_of(x2)), 1) ** -SETTINGS.degree_discount)


def test_evidence_weight_by_hand() -> None:
    # Match probability 0.5; inverse functionality 1 on the left and 0.5 on the right.
    weight = compute_evidence_weight(0.5, 0.4, 0.8, 1.0, 0.5)
    assert weight == pytest.approx(-math.log((1 - 0.5 * 0.8 * 1.0) * (1 - 0.5 * 0.4 * 0.5)))
    assert compute_evidence_weight(0.0, 0.4, 0.8, 1.0, 0.5) == 0


@pytest.mark.slow
@given(cases())
def test_all_that_have_support_are_found_with_it(case: Case) -> None:
    support = {(x, x2): s for x, x2, s in found(case, max_candidates=10)}
    assert support == pytest.approx(expected(case), rel=1e-4)


@pytest.mark.slow
@given(cases())
def test_candidates_are_those_with_most_discounted_support(case: Case) -> None:
    support, few = expected(case), found(case, max_candidates=2)
    for x in range(case.left.entity_count):
        score = {two: s * discount(case, two) for (one, two), s in support.items() if one == x}
        mine = [two for one, two, _ in few if one == x]
        best = sorted(score.values(), reverse=True)[:2]
        assert [score[two] for two in mine] == pytest.approx(best, rel=1e-4)


@pytest.mark.slow
@given(cases())
def test_linked_entities_take_no_place_among_candidates(case: Case) -> None:
    """The candidates are the best of all that are unlinked, however few are asked for."""
    everyone, few = found(case, max_candidates=10, taken=(0, 1)), found(case, 1, taken=(0, 1))
    assert everyone == [row for row in found(case, max_candidates=10) if row[1] not in (0, 1)]
    assert {one for one, _, _ in few} == {one for one, _, _ in everyone}


def test_the_lower_id_wins_a_tie() -> None:
    # Of four right entities that are joined to the seed alike, none is better than the others.
    case = Case(
        Graph.from_triples([(0, 0, 1)]),
        Graph.from_triples([(n, 0, 4) for n in (3, 1, 2, 0)]),
        {(1, 4): 1.0},
    )
    many = EvidenceParameters(max_fact_degree=9)
    left, right = case.adjacencies(many)
    relations = align_relations(left, right, case.matches, many).left
    asked = np.zeros(1, dtype=np.int32)
    free = np.ones(5, dtype=np.bool_)
    _, two, support = search_candidates(
        left, right, case.matches.left, relations, asked, free, NO_MATCHES, 2, 0.0
    )
    assert two.tolist() == [0, 1]
    assert support[0] == support[1]


def test_a_fact_that_too_many_share_is_no_evidence() -> None:
    case = Case(
        Graph.from_triples([(0, 0, 1)]),
        Graph.from_triples([(n, 0, 4) for n in range(4)]),
        {(1, 4): 1.0},
    )
    assert found(case, max_candidates=2, min_weight=0.0) == []
