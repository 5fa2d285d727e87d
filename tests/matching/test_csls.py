"""Tile by tile, the search finds what a dense similarity matrix gives."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from everalign.matching import NO_PAIRS
from everalign.matching.csls import Floats, find_mutual_best

Rows = NDArray[np.integer]


def compute_dense(
    left: Floats, right: Floats, neighbours: int, rejected: Rows = NO_PAIRS
) -> list[tuple[int, int, float]]:
    """Mutual best by the definition of CSLS."""
    unit_left = left / np.maximum(np.linalg.norm(left, axis=1, keepdims=True), 1e-30)
    unit_right = right / np.maximum(np.linalg.norm(right, axis=1, keepdims=True), 1e-30)
    cosine = unit_left.astype(float) @ unit_right.astype(float).T
    left_hubness = -np.sort(-cosine, axis=1)[:, :neighbours].mean(axis=1)
    right_hubness = -np.sort(-cosine, axis=0)[:neighbours].mean(axis=0)
    csls = 2 * cosine - left_hubness[:, None] - right_hubness
    csls[rejected[:, 0], rejected[:, 1]] = -np.inf
    best_right, best_left = csls.argmax(axis=1), csls.argmax(axis=0)
    return [
        (i, j, csls[i, j])
        for i, j in enumerate(best_right.tolist())
        if best_left[j] == i and np.isfinite(csls[i, j])
    ]


def check_against_dense(
    left: Floats, right: Floats, neighbours: int, rejected: Rows = NO_PAIRS
) -> None:
    found = find_mutual_best(left, right, neighbours=neighbours, rejected=rejected)
    expected = compute_dense(left, right, neighbours, rejected)
    assert found.pairs() == [(i, j) for i, j, _ in expected]
    np.testing.assert_allclose(found.score, [score for *_, score in expected], atol=1e-4)


@settings(max_examples=30)
@given(
    st.integers(1, 60), st.integers(1, 60), st.integers(1, 12), st.integers(1, 40), st.integers(0)
)
def test_small_sides_of_any_shape(m: int, n: int, k: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left = rng.normal(size=(m, width)).astype(np.float32)
    right = rng.normal(size=(n, width)).astype(np.float32)
    if width > 1:  # on a line all cosines are ±1 and every choice is a tie
        check_against_dense(left, right, k)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.floats(0, 1), st.integers(0))
def test_rejected_pairs_are_left_out_of_the_choice(m: int, n: int, p: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = (rng.normal(size=(size, 5)).astype(np.float32) for size in (m, n))
    check_against_dense(left, right, 3, np.argwhere(rng.random((m, n)) < p))


def test_every_found_pair_may_be_rejected_among_several_tiles() -> None:
    rng = np.random.default_rng(6)
    left, right = (rng.normal(size=(size, 24)).astype(np.float32) for size in (1300, 1100))
    found = find_mutual_best(left, right)
    check_against_dense(left, right, 10, np.stack([found.left, found.right], axis=1))
    # All that is near to the first row: it has to be searched for among what was not kept.
    similar = np.argsort(-(left[:1] @ right.T)[0])[:60]
    check_against_dense(left, right, 10, np.stack([np.zeros_like(similar), similar], axis=1))


@pytest.mark.slow
def test_sides_of_several_tiles_with_a_common_core() -> None:
    rng = np.random.default_rng(3)
    core = rng.normal(size=(2300, 20)) @ rng.normal(size=(20, 120))
    left = (core + 0.1 * rng.normal(size=core.shape)).astype(np.float32)
    right = (core[:1700] + 0.1 * rng.normal(size=(1700, 120))).astype(np.float32)
    check_against_dense(left, right, 10)


def test_sides_without_structure() -> None:
    rng = np.random.default_rng(4)
    check_against_dense(
        rng.normal(size=(1500, 64)).astype(np.float32),
        rng.normal(size=(2100, 64)).astype(np.float32),
        10,
    )


def test_an_empty_side_has_no_candidate_pairs() -> None:
    assert len(find_mutual_best(np.zeros((0, 4), np.float32), np.ones((3, 4), np.float32))) == 0


def test_a_vector_of_zeros_does_not_disturb_others() -> None:
    left = np.eye(4, dtype=np.float32)
    left[3] = 0
    found = find_mutual_best(left, np.eye(4, dtype=np.float32), neighbours=1)
    assert {(0, 0), (1, 1), (2, 2)} <= set(found.pairs())


def test_memory_stays_far_below_that_of_the_matrix() -> None:
    rng = np.random.default_rng(5)
    left = rng.normal(size=(6000, 16)).astype(np.float32)
    right = rng.normal(size=(6000, 16)).astype(np.float32)
    find_mutual_best(left[:50], right[:50])  # compile first
    tracemalloc.start()
    find_mutual_best(left, right)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000 * 6000 * 4 / 4
