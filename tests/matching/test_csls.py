"""Blockwise search gives what a dense matrix gives."""

from __future__ import annotations

import tracemalloc

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from everalign.matching import mutual_best
from everalign.matching.kernels import Floats


def dense(left: Floats, right: Floats, neighbours: int) -> list[tuple[int, int, float]]:
    """Mutual best by CSLS, by the book."""
    a = left / np.maximum(np.linalg.norm(left, axis=1, keepdims=True), 1e-30)
    b = right / np.maximum(np.linalg.norm(right, axis=1, keepdims=True), 1e-30)
    cosine = a.astype(float) @ b.astype(float).T
    left_hub = -np.sort(-cosine, axis=1)[:, :neighbours].mean(axis=1)
    right_hub = -np.sort(-cosine, axis=0)[:neighbours].mean(axis=0)
    csls = 2 * cosine - left_hub[:, None] - right_hub
    best_right, best_left = csls.argmax(axis=1), csls.argmax(axis=0)
    return [(i, j, csls[i, j]) for i, j in enumerate(best_right.tolist()) if best_left[j] == i]


def check(left: Floats, right: Floats, neighbours: int) -> None:
    found = mutual_best(left, right, neighbours=neighbours)
    expected = dense(left, right, neighbours)
    pairs = list(zip(found.left.tolist(), found.right.tolist(), strict=True))
    assert pairs == [(i, j) for i, j, _ in expected]
    np.testing.assert_allclose(found.score, [score for *_, score in expected], atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 60), st.integers(1, 60), st.integers(1, 12), st.integers(1, 40), st.integers(0)
)
def test_small_sides_of_any_shape(m: int, n: int, k: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left = rng.normal(size=(m, width)).astype(np.float32)
    right = rng.normal(size=(n, width)).astype(np.float32)
    if width > 1:  # on a line all cosines are ±1 and every choice is a tie
        check(left, right, k)


def test_sides_of_several_tiles_with_a_common_core() -> None:
    rng = np.random.default_rng(3)
    core = rng.normal(size=(2300, 20)) @ rng.normal(size=(20, 120))
    left = (core + 0.1 * rng.normal(size=core.shape)).astype(np.float32)
    right = (core[:1700] + 0.1 * rng.normal(size=(1700, 120))).astype(np.float32)
    check(left, right, 10)


def test_sides_without_structure() -> None:
    rng = np.random.default_rng(4)
    check(
        rng.normal(size=(1500, 64)).astype(np.float32),
        rng.normal(size=(2100, 64)).astype(np.float32),
        10,
    )


def test_an_empty_side_has_no_candidates() -> None:
    assert len(mutual_best(np.zeros((0, 4), np.float32), np.ones((3, 4), np.float32))) == 0


def test_a_vector_of_zeros_is_no_disturbance() -> None:
    left = np.eye(4, dtype=np.float32)
    left[3] = 0
    found = mutual_best(left, np.eye(4, dtype=np.float32), neighbours=1)
    pairs = set(zip(found.left.tolist(), found.right.tolist(), strict=True))
    assert {(0, 0), (1, 1), (2, 2)} <= pairs


def test_memory_stays_far_below_that_of_the_matrix() -> None:
    rng = np.random.default_rng(5)
    left = rng.normal(size=(6000, 16)).astype(np.float32)
    right = rng.normal(size=(6000, 16)).astype(np.float32)
    mutual_best(left[:50], right[:50])  # compile first
    tracemalloc.start()
    mutual_best(left, right)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000 * 6000 * 4 / 4
