"""Pairs of a left and a right entity that may be the same, with a score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Candidates:
    """Parallel arrays: `left[n]` and `right[n]` may be the same, by `score[n]`.

    >>> Candidates.of([3, 1], [5, 4], [0.5, 0.9]).best(1)
    Candidates(left=array([1]), right=array([4]), score=array([0.9]))
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    score: NDArray[np.float64]

    @staticmethod
    def of(left: ArrayLike, right: ArrayLike, score: ArrayLike) -> Candidates:
        return Candidates(
            np.asarray(left, dtype=np.int64),
            np.asarray(right, dtype=np.int64),
            np.asarray(score, dtype=np.float64),
        )

    @staticmethod
    def none() -> Candidates:
        return Candidates.of([], [], [])

    def __len__(self) -> int:
        return len(self.left)

    def best(self, count: int) -> Candidates:
        """The `count` pairs with the highest score, best first."""
        first = np.lexsort((self.right, self.left, -self.score))[:count]
        return Candidates(self.left[first], self.right[first], self.score[first])
