"""Candidates with far less support than the best one of their entity are left out."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everalign.methods.evidence.support import Support, drop_weak

Found = list[tuple[int, int, float]]

# A list of supports for each entity, the best one first.
supports = st.lists(
    st.lists(st.integers(1, 64).map(float), max_size=5).map(lambda x: sorted(x, reverse=True)),
    max_size=5,
)


def build_support(rows: Found) -> Support:
    entity, counterpart, support = zip(*rows, strict=True) if rows else ((), (), ())
    return (
        np.array(entity, dtype=np.int32),
        np.array(counterpart, dtype=np.int32),
        np.array(support, dtype=np.float32),
    )


def list_rows(found: Support) -> Found:
    return list(zip(*(column.tolist() for column in found), strict=True))


def test_a_candidate_with_less_than_the_share_of_the_best_one_is_left_out() -> None:
    rows = [(0, 7, 8.0), (0, 3, 2.0), (0, 5, 1.5), (2, 1, 0.5)]
    assert list_rows(drop_weak(build_support(rows), 0.25)) == [rows[0], rows[1], rows[3]]


@given(supports, st.sampled_from([0.0, 0.125, 0.5, 1.0]))
def test_each_entity_is_judged_by_its_own_best_candidate(
    lists: list[list[float]], share: float
) -> None:
    rows = [(x, n, value) for x, values in enumerate(lists) for n, value in enumerate(values)]
    expected = [row for row in rows if row[2] >= share * lists[row[0]][0]]
    assert list_rows(drop_weak(build_support(rows), share)) == expected
