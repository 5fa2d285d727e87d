"""Support from matched neighbours, against a sum over all pairs of edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from tests.methods.evidence.naive import Case, Pairs, cases, pieces

from everalign.graph import Graph
from everalign.methods.evidence.propagation import nearest, piece_weight
from everalign.methods.evidence.relations import align_relations, included
from everalign.methods.evidence.settings import EvidenceSettings

# A crowd that small graphs reach, and doubt enough to keep inclusion low whatever the matches.
SETTINGS = EvidenceSettings(local=0.3, crowd=2, prior=0.1, doubt=50.0, discount=0.2)
FAINT = 0.0371


def found(
    case: Case, considered: int, faint: float = FAINT, taken: tuple[int, ...] = ()
) -> list[tuple[int, int, float]]:
    """The nearest right entities of all left ones."""
    left, right = case.sides(SETTINGS)
    relations = align_relations(left, right, case.matches, SETTINGS).left
    asked = np.arange(case.left.entities, dtype=np.int32)
    free = ~np.isin(np.arange(case.right.entities), taken)
    columns = nearest(left, right, case.matches.left, relations, asked, free, considered, faint)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def expected(case: Case) -> Pairs:
    """The support of all pairs: pieces that are heavy enough, of facts few enough share."""
    sides = case.sides(SETTINGS)
    relations = align_relations(*sides, case.matches, SETTINGS).left
    support: Pairs = {}
    for x in range(case.left.entities):
        for x2 in range(case.right.entities):
            rows = pieces(
                *case.naive(SETTINGS),
                case.pairs,
                lambda d, d2: included(relations, d, d2),
                (x, x2),
            )
            for weight, pinned, pinned2 in rows:
                assume(abs(weight - FAINT) > 1e-6)
                if weight >= FAINT and pinned > 0 and pinned2 > 0:
                    support[x, x2] = support.get((x, x2), 0) + weight
    return support


def discount(case: Case, x2: int) -> float:
    _, right = case.naive(SETTINGS)
    return float(max(len(right.of(x2)), 1) ** -SETTINGS.discount)


def test_a_piece_by_hand() -> None:
    # Half sure of the neighbours; one side pins down fully, the other to one in two.
    weight = piece_weight(0.5, 0.4, 0.8, 1.0, 0.5)
    assert weight == pytest.approx(-math.log((1 - 0.5 * 0.8 * 1.0) * (1 - 0.5 * 0.4 * 0.5)))
    assert piece_weight(0.0, 0.4, 0.8, 1.0, 0.5) == 0


@settings(deadline=None)
@given(cases())
def test_all_that_have_support_are_found_with_it(case: Case) -> None:
    support = {(x, x2): s for x, x2, s in found(case, considered=10)}
    assert support == pytest.approx(expected(case), rel=1e-4)


@settings(deadline=None)
@given(cases())
def test_the_nearest_are_those_with_most_support_at_a_discount(case: Case) -> None:
    support, few = expected(case), found(case, considered=2)
    for x in range(case.left.entities):
        score = {two: s * discount(case, two) for (one, two), s in support.items() if one == x}
        mine = [two for one, two, _ in few if one == x]
        best = sorted(score.values(), reverse=True)[:2]
        assert [score[two] for two in mine] == pytest.approx(best, rel=1e-4)


@settings(deadline=None)
@given(cases())
def test_who_is_taken_takes_no_place(case: Case) -> None:
    """The best are those of all that are free, however few are asked for."""
    everyone, few = found(case, considered=10, taken=(0, 1)), found(case, 1, taken=(0, 1))
    assert everyone == [row for row in found(case, considered=10) if row[1] not in (0, 1)]
    assert {one for one, _, _ in few} == {one for one, _, _ in everyone}


def test_the_lower_id_wins_a_tie() -> None:
    # Of four right entities that are joined to the seed alike, none is better than the others.
    case = Case(Graph.of([(0, 0, 1)]), Graph.of([(n, 0, 4) for n in (3, 1, 2, 0)]), {(1, 4): 1.0})
    many = EvidenceSettings(crowd=9)
    left, right = case.sides(many)
    relations = align_relations(left, right, case.matches, many).left
    asked = np.zeros(1, dtype=np.int32)
    free = np.ones(5, dtype=np.bool_)
    _, two, support = nearest(left, right, case.matches.left, relations, asked, free, 2, 0.0)
    assert two.tolist() == [0, 1]
    assert support[0] == support[1]


def test_a_fact_that_too_many_share_says_nothing() -> None:
    case = Case(Graph.of([(0, 0, 1)]), Graph.of([(n, 0, 4) for n in range(4)]), {(1, 4): 1.0})
    assert found(case, considered=2, faint=0.0) == []
