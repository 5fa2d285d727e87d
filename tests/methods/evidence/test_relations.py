"""How far relations include each other, against a count over all pairs of triples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.methods.evidence.naive import Case, best_of, cases, could_be_seen, seen_together

from everalign.graph import Graph
from everalign.methods.evidence.relations import Relations, align_relations, included
from everalign.methods.evidence.settings import EvidenceSettings

SETTINGS = EvidenceSettings(prior=0.1, doubt=2.0)
BASE = 0.1 * 2.0

# The left side says 0 for three pairs of people; the right one says 0 for the first pair, the
# same backwards as 1 for the second, and nothing of the third.
FAMILY = Case(
    Graph.of([(0, 0, 1), (2, 0, 3), (4, 0, 5)]),
    Graph.of([(0, 0, 1), (3, 1, 2), (4, 2, 6), (5, 2, 6)]),
    {(n, n): 1.0 for n in range(6)},
)


def aligned(case: Case) -> Relations:
    return align_relations(*case.sides(SETTINGS), case.matches, SETTINGS)


def test_inclusion_by_hand() -> None:
    found = aligned(FAMILY).left
    one_of_three, one_of_one = (1 + BASE) / (3 + 2), (1 + BASE) / (1 + 2)
    assert included(found, 0, 0) == pytest.approx((one_of_three, one_of_one))
    assert included(found, 0, 3) == pytest.approx((one_of_three, one_of_one))
    # Never seen together; and what cannot be seen at all is as likely as the prior says.
    assert included(found, 0, 2) == pytest.approx((BASE / (3 + 2), BASE / (1 + 2)))
    assert included(found, 0, 4)[1] == pytest.approx(0.1)


def test_an_uncertain_match_counts_for_less() -> None:
    case = Case(FAMILY.left, FAMILY.right, FAMILY.pairs | {(0, 0): 0.5})
    there, back = included(aligned(case).left, 0, 0)
    assert (there, back) == pytest.approx(((0.5 + BASE) / (2.5 + 2), (0.5 + BASE) / (0.5 + 2)))


@settings(deadline=None)
@given(cases(one_to_one=True))
def test_inclusion_is_the_share_of_triples_found_again(case: Case) -> None:
    found, (left, right) = aligned(case), case.naive(SETTINGS)
    best = best_of(case.pairs, 0), best_of(case.pairs, 1)
    for d in range(2 * case.left.relations):
        for d2 in range(2 * case.right.relations):
            seen = seen_together(left, right, case.pairs, d, d2)
            there = (seen + BASE) / (could_be_seen(left, best[0], d) + 2)
            back = (seen + BASE) / (could_be_seen(right, best[1], d2) + 2)
            assert included(found.left, d, d2) == pytest.approx((there, back))
            assert included(found.right, d2, d) == pytest.approx((back, there))


@settings(deadline=None)
@given(cases())
def test_triples_are_counted_over_all_matches(case: Case) -> None:
    found, (left, right) = aligned(case).left, case.naive(SETTINGS)
    for d in range(2 * case.left.relations):
        rows = slice(*found.start[d : d + 2].tolist())
        counted = dict(zip(found.other[rows].tolist(), found.seen[rows].tolist(), strict=True))
        for d2 in range(2 * case.right.relations):
            seen = seen_together(left, right, case.pairs, d, d2)
            assert counted.get(d2, 0.0) == pytest.approx(seen)


def test_inclusion_stays_a_probability_where_everyone_has_two_counterparts() -> None:
    """Sixty couples of the left, each held to be one of two couples of the right."""
    couples = range(60)
    left = Graph.of([(2 * n, 0, 2 * n + 1) for n in couples])
    right = Graph.of([(2 * n, 0, 2 * n + 1) for n in range(120)])
    either = {
        (2 * n + who, 4 * n + 2 * which + who): 0.5
        for n in couples
        for which in (0, 1)
        for who in (0, 1)
    }
    found = aligned(Case(left, right, either)).left
    assert np.all(found.there < 1)
    assert np.all(found.back < 1)
