"""How far relations include each other, against a count over all pairs of triples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.methods.evidence.naive import (
    Case,
    cases,
    count_comparable,
    count_cooccurrences,
    find_best,
)

from everalign.graph import Graph
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.relations import (
    RelationInclusions,
    align_relations,
    find_inclusion,
)

SETTINGS = EvidenceParameters(inclusion_prior=0.1, inclusion_prior_strength=2.0)
BASE = 0.1 * 2.0

# The left side says 0 for three pairs of people; the right one says 0 for the first pair, the
# same backwards as 1 for the second, and nothing of the third.
FAMILY = Case(
    Graph.from_triples([(0, 0, 1), (2, 0, 3), (4, 0, 5)]),
    Graph.from_triples([(0, 0, 1), (3, 1, 2), (4, 2, 6), (5, 2, 6)]),
    {(n, n): 1.0 for n in range(6)},
)


def aligned(case: Case) -> RelationInclusions:
    return align_relations(*case.adjacencies(SETTINGS), case.matches, SETTINGS)


def test_inclusion_by_hand() -> None:
    found = aligned(FAMILY).left
    one_of_three, one_of_one = (1 + BASE) / (3 + 2), (1 + BASE) / (1 + 2)
    assert find_inclusion(found, 0, 0) == pytest.approx((one_of_three, one_of_one))
    assert find_inclusion(found, 0, 3) == pytest.approx((one_of_three, one_of_one))
    # Never seen together; and what cannot be seen at all is as likely as the prior says.
    assert find_inclusion(found, 0, 2) == pytest.approx((BASE / (3 + 2), BASE / (1 + 2)))
    assert find_inclusion(found, 0, 4)[1] == pytest.approx(0.1)


def test_an_uncertain_match_counts_for_less() -> None:
    case = Case(FAMILY.left, FAMILY.right, FAMILY.pairs | {(0, 0): 0.5})
    forward, backward = find_inclusion(aligned(case).left, 0, 0)
    assert (forward, backward) == pytest.approx(
        ((0.5 + BASE) / (2.5 + 2), (0.5 + BASE) / (0.5 + 2))
    )


@pytest.mark.slow
@given(cases(one_to_one=True))
def test_inclusion_is_the_share_of_triples_found_again(case: Case) -> None:
    found, (left, right) = aligned(case), case.naive_graphs(SETTINGS)
    best = find_best(case.pairs, 0), find_best(case.pairs, 1)
    for d in range(2 * case.left.relation_count):
        for d2 in range(2 * case.right.relation_count):
            seen = count_cooccurrences(left, right, case.pairs, d, d2)
            forward = (seen + BASE) / (count_comparable(left, best[0], d) + 2)
            backward = (seen + BASE) / (count_comparable(right, best[1], d2) + 2)
            assert find_inclusion(found.left, d, d2) == pytest.approx((forward, backward))
            assert find_inclusion(found.right, d2, d) == pytest.approx((backward, forward))


@pytest.mark.slow
@given(cases())
def test_triples_are_counted_over_all_matches(case: Case) -> None:
    found, (left, right) = aligned(case).left, case.naive_graphs(SETTINGS)
    for d in range(2 * case.left.relation_count):
        rows = slice(*found.start[d : d + 2].tolist())
        counted = dict(
            zip(found.other[rows].tolist(), found.cooccurrence[rows].tolist(), strict=True)
        )
        for d2 in range(2 * case.right.relation_count):
            seen = count_cooccurrences(left, right, case.pairs, d, d2)
            assert counted.get(d2, 0.0) == pytest.approx(seen)


def test_inclusion_stays_a_probability_where_everyone_has_two_counterparts() -> None:
    """Sixty couples of the left, each held to be one of two couples of the right."""
    couples = range(60)
    left = Graph.from_triples([(2 * n, 0, 2 * n + 1) for n in couples])
    right = Graph.from_triples([(2 * n, 0, 2 * n + 1) for n in range(120)])
    either = {
        (2 * n + who, 4 * n + 2 * which + who): 0.5
        for n in couples
        for which in (0, 1)
        for who in (0, 1)
    }
    found = aligned(Case(left, right, either)).left
    assert np.all(found.forward < 1)
    assert np.all(found.backward < 1)
