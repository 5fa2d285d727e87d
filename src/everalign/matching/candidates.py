"""Pairs of a left and a right entity that may be the same, with a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Candidates:
    """Parallel arrays: `left[n]` and `right[n]` may be the same, by `score[n]`.

    Pairs that score less than `threshold` are proposals: worth keeping, not worth a link.
    `notes` are what the method has to say to people about all of them.

    >>> Candidates.of([3, 1], [5, 4], [0.5, 0.9]).best(1).pairs()
    [(1, 4)]
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    score: NDArray[np.float64]
    threshold: float = -np.inf
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(left: ArrayLike, right: ArrayLike, score: ArrayLike, **rest: Any) -> Candidates:
        return Candidates(
            np.asarray(left, dtype=np.int64),
            np.asarray(right, dtype=np.int64),
            np.asarray(score, dtype=np.float64),
            **rest,
        )

    @staticmethod
    def none(*notes: str) -> Candidates:
        return Candidates.of([], [], [], notes=notes)

    def __len__(self) -> int:
        return len(self.left)

    def pairs(self) -> list[tuple[int, int]]:
        """The pairs without their scores."""
        return list(zip(self.left.tolist(), self.right.tolist(), strict=True))

    def best(self, count: int) -> Candidates:
        """The `count` pairs with the highest score, best first."""
        return self._chosen(np.lexsort((self.right, self.left, -self.score))[:count])

    def accepted(self) -> Candidates:
        """The pairs that reach the threshold: they become links.

        >>> Candidates.of([3, 1], [5, 4], [0.5, 0.9], threshold=0.6).accepted().pairs()
        [(1, 4)]
        """
        return self._chosen(np.flatnonzero(self.score >= self.threshold))

    def proposed(self) -> Candidates:
        """The pairs that do not."""
        return self._chosen(np.flatnonzero(~(self.score >= self.threshold)))

    def _chosen(self, rows: NDArray[np.intp]) -> Candidates:
        return Candidates(
            self.left[rows], self.right[rows], self.score[rows], self.threshold, self.notes
        )
