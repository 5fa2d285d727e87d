"""Pairs of literals that say the same, more or less."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everalign.graph import IntArray

Floats32: TypeAlias = NDArray[np.float32]


class ValueMatches(NamedTuple):
    """Parallel arrays: ids of left and right literals, and how far the two say the same.

    The probability is 1 for equal values; pairs with hardly any are not listed. Pairs are in
    the order of their left, then their right ids, and each is listed once.
    """

    left: IntArray
    right: IntArray
    probability: Floats32

    @staticmethod
    def of(left: ArrayLike, right: ArrayLike, probability: ArrayLike) -> ValueMatches:
        return ValueMatches(
            np.asarray(left, dtype=np.int32),
            np.asarray(right, dtype=np.int32),
            np.asarray(probability, dtype=np.float32),
        )

    @staticmethod
    def none() -> ValueMatches:
        return ValueMatches.of([], [], [])

    def rows(self) -> list[tuple[int, int, float]]:
        """The pairs one by one, rounded for reading.

        >>> ValueMatches.of([0], [4], [0.5]).rows()
        [(0, 4, 0.5)]
        """
        probability = self.probability.astype(np.float64).round(4)
        columns = self.left.tolist(), self.right.tolist(), probability.tolist()
        return list(zip(*columns, strict=True))

    def turned(self) -> ValueMatches:
        """The same with the sides swapped."""
        return ValueMatches(self.right, self.left, self.probability)


def best_of(parts: Iterable[ValueMatches], least: float = 0.0) -> ValueMatches:
    """All pairs of several sets, each with the highest probability that any gives it.

    >>> one, two = ValueMatches.of([1], [2], [0.5]), ValueMatches.of([1, 0], [2, 0], [0.7, 1])
    >>> best_of([one, two]).rows()
    [(0, 0, 1.0), (1, 2, 0.7)]
    """
    columns = list(zip(*parts, strict=True))
    if not columns:
        return ValueMatches.none()
    left, right, probability = (np.concatenate(column) for column in columns)
    order = np.lexsort((-probability, right, left))
    left, right, probability = left[order], right[order], probability[order]
    first = np.ones(len(left), dtype=np.bool_)
    first[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
    keep = first & (probability >= least)
    return ValueMatches(left[keep], right[keep], probability[keep])


def expanded(pairs: ValueMatches, left: IntArray, right: IntArray, most: int) -> ValueMatches:
    """Pairs of groups as pairs of their members; −1 is no group.

    Of large groups, each member is paired with the first `most` of the other group: so many
    equal ones tell nothing, and all pairs of them would be too many.

    >>> groups = ValueMatches.of([0], [1], [0.5])
    >>> expanded(groups, np.array([0, -1, 0]), np.array([1, 0]), 9).rows()
    [(0, 0, 0.5), (2, 0, 0.5)]
    """
    everyone = max(len(left), len(right))
    sizes = (np.bincount(side[side >= 0], minlength=1).max() for side in (left, right))
    if max(sizes) <= most:
        return _paired(pairs, left, right, (everyone, everyone))
    limits = (everyone, most), (most, everyone)
    return best_of([_paired(pairs, left, right, limit) for limit in limits])


def _paired(
    pairs: ValueMatches, left: IntArray, right: IntArray, most: tuple[int, int]
) -> ValueMatches:
    row, one = _members(pairs.left, left, most[0])
    again, two = _members(pairs.right[row], right, most[1])
    return ValueMatches.of(one[again], two, pairs.probability[row[again]])


def _members(
    groups: IntArray, member_of: IntArray, most: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each entry of `groups` and each of its first members: the entry's place, the member."""
    order = np.argsort(member_of, kind="stable")
    ordered = member_of[order]
    first = np.searchsorted(ordered, groups)
    count = np.minimum(np.searchsorted(ordered, groups, side="right") - first, most)
    row = np.repeat(np.arange(len(groups)), count)
    within = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    return row, order[first[row] + within]
