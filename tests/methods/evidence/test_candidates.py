"""Candidate tables, competitors and the one-to-one choice, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everalign.methods.evidence.adjacency import FloatArray
from everalign.methods.evidence.candidates import (
    BEST_OTHER,
    COUNT,
    LEFT,
    MIN_SORTED_ROWS,
    RANK,
    RIGHT,
    SHARE,
    CandidateTable,
    find_best_other,
    mark_best,
    rank_competitors,
    select_pairs,
)

Pair = tuple[int, int]

IDS = st.integers(0, 5)
PAIRS = st.lists(st.tuples(IDS, IDS), max_size=20)
# Few distinct scores, so that ties are common.
SCORES = st.sampled_from([0.125, 0.25, 0.5, 0.75])


def table(pairs: list[Pair]) -> CandidateTable:
    rows = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return CandidateTable.from_pairs(rows[:, 0], rows[:, 1], (6, 6))


@st.composite
def scored(draw: st.DrawFn) -> dict[Pair, float]:
    """Pairs with a score, in order of their ids."""
    return {pair: draw(SCORES) for pair in sorted(set(draw(PAIRS)))}


def scores(pairs: dict[Pair, float]) -> FloatArray:
    return np.array(list(pairs.values()), dtype=np.float32)


@pytest.mark.slow
@given(PAIRS)
def test_a_table_has_each_pair_once_and_finds_it(pairs: list[Pair]) -> None:
    found = table(pairs)
    rows = list(zip(found.left.tolist(), found.right.tolist(), strict=True))
    assert rows == sorted(set(pairs))
    for entity in range(6):
        mine = slice(*found.left_start[entity : entity + 2].tolist())
        assert rows[mine] == [pair for pair in rows if pair[0] == entity]
        theirs = found.right_order[slice(*found.right_start[entity : entity + 2].tolist())]
        assert [rows[n] for n in theirs] == [pair for pair in rows if pair[1] == entity]
    everyone = np.arange(36)
    places = found.find_rows(everyone // 6, everyone % 6).tolist()
    assert [rows[n] if n >= 0 else None for n in places] == [
        pair if pair in rows else None for pair in zip(everyone // 6, everyone % 6, strict=True)
    ]


def test_many_pairs_of_one_entity_are_sorted_and_kept_once() -> None:
    count = 2 * MIN_SORTED_ROWS
    # Backwards, each twice, with pairs of another entity between them.
    right = np.repeat(np.arange(count)[::-1], 2)
    left = np.tile([1, 0], count)
    found = CandidateTable.from_pairs(left, right, (2, count))
    assert found.left.tolist() == [0] * count + [1] * count
    assert found.right.tolist() == [*range(count)] * 2
    found = CandidateTable.from_pairs(np.ones(2 * count, dtype=np.int32), right, (2, count))
    assert found.right.tolist() == [*range(count)]
    kept = found.select_rows(found.right % 2 == 0)
    assert kept.right.tolist() == [*range(0, count, 2)]
    assert kept.left_start.tolist() == [0, 0, count // 2]


def check_ranks(pairs: dict[Pair, float], side: int, ranks: FloatArray) -> None:
    """Every row against the others of its left (side 0) or right (side 1) entity."""
    for (pair, score), row in zip(pairs.items(), ranks, strict=True):
        competitors = [other for other in pairs if other[side] == pair[side]]
        better = [other for other in competitors if pairs[other] > score]
        others = [pairs[other] for other in competitors if other != pair]
        assert row[RANK] == len(better)
        assert row[COUNT] == len(competitors)
        assert row[BEST_OTHER] == max(others, default=0)
        assert row[SHARE] == pytest.approx(score / sum(pairs[other] for other in competitors))


@pytest.mark.slow
@given(scored())
def test_each_pair_is_compared_with_its_competitors(pairs: dict[Pair, float]) -> None:
    left, right = (
        rank_competitors(table(list(pairs)), scores(pairs), side) for side in (LEFT, RIGHT)
    )
    check_ranks(pairs, 0, left)
    check_ranks(pairs, 1, right)
    for side, ranks in enumerate((left, right)):
        other = find_best_other(table(list(pairs)), scores(pairs), side)
        assert other.tolist() == ranks[:, BEST_OTHER].tolist()
        # If only some entities are wanted, their rows are the same.
        entities = np.array([1, 4])
        some = rank_competitors(table(list(pairs)), scores(pairs), side, entities)
        rows = np.flatnonzero([pair[side] in entities for pair in pairs])
        assert some[rows].tolist() == ranks[rows].tolist()
        other = find_best_other(table(list(pairs)), scores(pairs), side, entities)
        assert other[rows].tolist() == ranks[rows, BEST_OTHER].tolist()


@pytest.mark.slow
@given(scored())
def test_one_row_of_each_entity_is_the_best(pairs: dict[Pair, float]) -> None:
    for side in (LEFT, RIGHT):
        marked = mark_best(table(list(pairs)), scores(pairs), side)
        found = [pair for pair, is_best in zip(pairs, marked, strict=True) if is_best]
        groups: dict[int, list[Pair]] = {}
        for pair in pairs:
            groups.setdefault(pair[side], []).append(pair)
        # Of equal ones the first.
        best = [min(group, key=lambda pair: (-pairs[pair], pair)) for group in groups.values()]
        assert sorted(found) == sorted(best)


def test_ranks_among_many_competitors() -> None:
    count = 2 * MIN_SORTED_ROWS
    pairs = {(0, n): float(1 + n * 7 % 10) for n in range(count)}
    ids = np.arange(count)
    crowd = CandidateTable.from_pairs(np.zeros(count, dtype=np.int32), ids, (1, count))
    left = rank_competitors(crowd, scores(pairs), LEFT)
    check_ranks(pairs, 0, left)


@pytest.mark.slow
@given(scored())
def test_one_to_one_takes_the_best_pair_then_the_best_of_the_others(
    pairs: dict[Pair, float],
) -> None:
    left_over, taken = dict(pairs), []
    while left_over:
        best = min(left_over, key=lambda pair: (-left_over[pair], pair))
        taken.append(best)
        left_over = {
            pair: score
            for pair, score in left_over.items()
            if pair[0] != best[0] and pair[1] != best[1]
        }
    rows = select_pairs(table(list(pairs)), scores(pairs))
    assert [list(pairs)[n] for n in rows] == sorted(taken)
