"""The pairs that are worth a closer look, and how each stands against the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.compiled import compiled
from everalign.graph import IntArray
from everalign.methods.evidence.side import Floats, Starts

BEST_OTHER, SHARE, RANK, COUNT = range(4)
STANDINGS = 4
MANY = 32  # rows from which on sorting is faster than counting


class Table(NamedTuple):
    """Pairs in order of their ids. The rows of a left entity x are those from `left_start[x]`
    to `left_start[x + 1]`; those of a right one are found in the same way in `by_right`."""

    left: IntArray
    right: IntArray
    left_start: Starts
    right_start: Starts
    by_right: Starts

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of entities on either side."""
        return len(self.left_start) - 1, len(self.right_start) - 1

    def keys(self) -> NDArray[np.int64]:
        """Each pair as one number, in order."""
        return self.left.astype(np.int64) * self.sizes[1] + self.right

    def find(self, left: NDArray[np.integer], right: NDArray[np.integer]) -> Starts:
        """The row of each pair, or -1."""
        keys, asked = self.keys(), left.astype(np.int64) * self.sizes[1] + right
        if len(keys) == 0:
            return np.full(len(asked), -1)
        at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        return np.where(keys[at] == asked, at, -1)

    def only(self, keep: NDArray[np.bool_]) -> Table:
        """The table of some of the rows."""
        return table_of(self.left[keep], self.right[keep], self.sizes)


def table_of(
    left: NDArray[np.integer], right: NDArray[np.integer], sizes: tuple[int, int]
) -> Table:
    """The table of pairs in any order, each once.

    >>> table = table_of(np.array([1, 0, 1]), np.array([0, 2, 0]), (2, 3))
    >>> table.left.tolist(), table.right.tolist()
    ([0, 1], [2, 0])
    """
    keys = np.sort(left.astype(np.int64) * sizes[1] + right)
    keys = keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
    one, two = np.divmod(keys, max(sizes[1], 1))
    right_start = _starts(two, sizes[1])
    return Table(
        one.astype(np.int32),
        two.astype(np.int32),
        _starts(one, sizes[0]),
        right_start,
        _in_order(two, right_start),
    )


@compiled()
def _in_order(entity: Starts, start: Starts) -> Starts:
    """The rows in order of their entities."""
    order = np.empty(entity.size, dtype=np.int64)
    place = start.copy()
    for row in range(entity.size):
        order[place[entity[row]]] = row
        place[entity[row]] += 1
    return order


def _starts(entity: NDArray[np.integer], entities: int) -> Starts:
    start = np.zeros(entities + 1, dtype=np.int64)
    np.cumsum(np.bincount(entity, minlength=entities), out=start[1:])
    return start


def standings(table: Table, score: Floats) -> tuple[Floats, Floats]:
    """How each row stands among those of its left, and of its right entity: the best other
    score, its share of the total, its rank from 0 on, and the number of rows.

    >>> table = table_of(np.array([0, 0, 1]), np.array([0, 1, 1]), (2, 2))
    >>> standings(table, np.array([3, 1, 2], dtype=np.float32))[0].tolist()
    [[1.0, 0.75, 0.0, 2.0], [3.0, 0.25, 1.0, 2.0], [0.0, 1.0, 0.0, 1.0]]
    """
    left, right = (standing(table, score, side) for side in range(2))
    return left, right


def standing(table: Table, score: Floats, side: int) -> Floats:
    """The same on the left (0) or on the right (1) alone."""
    out = np.empty((len(score), STANDINGS), dtype=np.float32)
    _stand(*_grouping(table, side), score, out)
    return out


def best_other(table: Table, score: Floats, side: int) -> Floats:
    """Only the best other score; 0 where there is no other."""
    out = np.empty(len(score), dtype=np.float32)
    _best_other(*_grouping(table, side), score, out)
    return out


def _grouping(table: Table, side: int) -> tuple[Starts, Starts]:
    if side == 0:
        return table.left_start, np.arange(len(table.left))
    return table.right_start, table.by_right


@compiled()
def _best_other(start: Starts, order: Starts, score: Floats, out: Floats) -> None:
    for entity in range(start.size - 1):
        rows = order[start[entity] : start[entity + 1]]
        best, second = -np.inf, -np.inf
        for row in rows:
            if score[row] > best:
                best, second = score[row], best
            elif score[row] > second:
                second = score[row]
        for row in rows:
            other = second if score[row] == best else best
            out[row] = other if rows.size > 1 else 0


@compiled()
def _stand(start: Starts, order: Starts, score: Floats, out: Floats) -> None:
    for entity in range(start.size - 1):
        rows = order[start[entity] : start[entity + 1]]
        total = np.float32(0)
        for row in rows:
            total += score[row]
        _rank(rows, score, out)
        first, second = -1, -1
        for row in rows:
            if out[row, RANK] == 0:
                first = row
            elif out[row, RANK] == 1:
                second = row
        for row in rows:
            other = second if row == first else first
            out[row, BEST_OTHER] = score[other] if other >= 0 else 0
            out[row, SHARE] = score[row] / total if total != 0 else 0
            out[row, COUNT] = rows.size


@compiled()
def _rank(rows: Starts, score: Floats, out: Floats) -> None:
    if rows.size > MANY:
        ranked = np.argsort(-score[rows], kind="mergesort")
        for rank in range(rows.size):
            out[rows[ranked[rank]], RANK] = rank
        return
    for k in range(rows.size):
        mine, better = score[rows[k]], 0
        for other in range(rows.size):
            theirs = score[rows[other]]
            if theirs > mine or (theirs == mine and other < k):
                better += 1
        out[rows[k], RANK] = better


def one_to_one(table: Table, score: Floats) -> NDArray[np.int64]:
    """The rows left when the best pair is taken, then the best of the others, and so on."""
    order = np.lexsort((np.arange(len(score)), -score))
    return np.sort(_greedy(table.left, table.right, order, *table.sizes))


@compiled()
def _greedy(left: IntArray, right: IntArray, order: Starts, lefts: int, rights: int) -> Starts:
    left_free = np.ones(lefts, dtype=np.bool_)
    right_free = np.ones(rights, dtype=np.bool_)
    kept = np.empty(min(lefts, rights), dtype=np.int64)
    count = 0
    for row in order:
        if left_free[left[row]] and right_free[right[row]]:
            left_free[left[row]] = False
            right_free[right[row]] = False
            kept[count] = row
            count += 1
    return kept[:count]
