"""Candidate pairs: what a matching method returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Rows of (left, right).
PairArray: TypeAlias = NDArray[np.integer]
NO_PAIRS: NDArray[np.int32] = np.empty((0, 2), dtype=np.int32)


def mark_listed_pairs(
    left: NDArray[np.integer], right: NDArray[np.integer], pairs: PairArray
) -> NDArray[np.bool_]:
    """Mark the pairs of two columns that are in a list of pairs.

    >>> mark_listed_pairs(np.array([1, 2]), np.array([5, 5]), np.array([[2, 5]])).tolist()
    [False, True]

    Args:
        left: Left ids.
        right: Right ids, as many.
        pairs: The list: rows of (left, right).

    Returns:
        A mask over the columns.
    """
    # A pair as one number, which is distinct as long as no right id reaches the width.
    width = 1 + max(right.max(initial=0), pairs[:, 1].max(initial=0)).astype(np.int64)
    keys, listed = (
        column.astype(np.int64) * width + other for column, other in ((left, right), pairs.T)
    )
    return np.isin(keys, listed)


def find_positions(
    pairs: PairArray, left_ids: NDArray[np.integer], right_ids: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Express pairs of ids as positions in two ascending arrays of ids.

    >>> find_positions(np.array([[4, 7], [5, 7]]), np.array([2, 4]), np.array([7])).tolist()
    [[1, 0]]

    Args:
        pairs: Rows of (left id, right id).
        left_ids: Left ids, ascending.
        right_ids: Right ids, ascending.

    Returns:
        Rows of (left position, right position); pairs with an id that is not there are left out.
    """
    if not len(pairs) or not len(left_ids) or not len(right_ids):
        return np.empty((0, 2), dtype=np.int64)
    columns = []
    for ids, column in zip((left_ids, right_ids), pairs.T, strict=True):
        # An id greater than all others has no position: any will do, since the test below fails.
        position = np.minimum(np.searchsorted(ids, column), len(ids) - 1)
        columns.append(np.where(ids[position] == column, position, -1))
    rows = np.stack(columns, axis=1)
    return rows[(rows >= 0).all(axis=1)]


@dataclass(frozen=True)
class CandidatePairs:
    """Pairs of a left and a right entity with a score, as parallel arrays.

    >>> CandidatePairs.from_columns([3, 1], [5, 4], [0.5, 0.9]).best(1).pairs()
    [(1, 4)]

    Attributes:
        left: Left entity ids.
        right: Right entity ids.
        score: Scores; higher is better.
        threshold: Pairs that score less become proposals and not links.
        notes: Sentences for people about all of the pairs.
        calibrated: Whether there was enough to calibrate scores of a method that calibrates them.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    score: NDArray[np.float64]
    # Without a threshold every pair becomes a link.
    threshold: float = -np.inf
    notes: tuple[str, ...] = ()
    calibrated: bool = True

    @staticmethod
    def from_columns(
        left: ArrayLike, right: ArrayLike, score: ArrayLike, **rest: Any
    ) -> CandidatePairs:
        """Build candidate pairs from columns of any numeric type.

        Args:
            left: Left entity ids.
            right: Right entity ids.
            score: Scores.
            rest: `threshold`, `notes` and `calibrated`, if any.

        Returns:
            The candidate pairs.
        """
        return CandidatePairs(
            np.asarray(left, dtype=np.int64),
            np.asarray(right, dtype=np.int64),
            np.asarray(score, dtype=np.float64),
            **rest,
        )

    @staticmethod
    def empty(*notes: str) -> CandidatePairs:
        """Return no pairs.

        Args:
            notes: Sentences for people, such as why there are none.

        Returns:
            Candidate pairs of length 0.
        """
        return CandidatePairs.from_columns([], [], [], notes=notes)

    def __len__(self) -> int:
        return len(self.left)

    def pairs(self) -> list[tuple[int, int]]:
        """List the pairs without their scores.

        Returns:
            Tuples of left and right entity, in the order of the arrays.
        """
        return list(zip(self.left.tolist(), self.right.tolist(), strict=True))

    def best(self, count: int) -> CandidatePairs:
        """Select the pairs with the highest scores.

        Args:
            count: How many pairs to select.

        Returns:
            The selected pairs, best first; pairs with the same score in the order of their ids.
        """
        return self._select_rows(np.lexsort((self.right, self.left, -self.score))[:count])

    def accepted(self) -> CandidatePairs:
        """Select the pairs that reach the threshold: they become links.

        Returns:
            The selected pairs, in the same order.

        Example:
            >>> pairs = CandidatePairs.from_columns([3, 1], [5, 4], [0.5, 0.9], threshold=0.6)
            >>> pairs.accepted().pairs(), pairs.proposed().pairs()
            ([(1, 4)], [(3, 5)])
        """
        return self._select_rows(np.flatnonzero(self.score >= self.threshold))

    def proposed(self) -> CandidatePairs:
        """Select the pairs that do not reach the threshold: they stay proposals.

        Returns:
            The selected pairs; those whose score is not a number are among them.
        """
        # Not `score < threshold`: a score that is not a number would be in neither.
        return self._select_rows(np.flatnonzero(~(self.score >= self.threshold)))

    def _select_rows(self, rows: NDArray[np.intp]) -> CandidatePairs:
        return replace(self, left=self.left[rows], right=self.right[rows], score=self.score[rows])
