"""Rows of two sparse matrices that are nearest to each other, by an inverted index."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign.compiled import compiled
from everalign.graph import IntArray
from everalign.literals.grams import Sparse
from everalign.literals.matches import Floats32, ValueMatches, best_of
from everalign.parallel import in_parts

PARTS = 8  # of the rows: each is looked for by one thread, with lists of its own for all others
COMMON = 0.05  # of all texts: a feature of more than that tells nothing


def rarity(left: Sparse, right: Sparse, columns: int) -> Floats32:
    """How much each feature tells: the rarer, the more; too common ones nothing."""
    count = np.bincount(left.column, minlength=columns)
    count += np.bincount(right.column, minlength=columns)
    texts = left.rows + right.rows
    weight = np.log1p(texts / np.maximum(count, 1))
    weight[count > max(COMMON * texts, 50)] = 0.0
    return weight.astype(np.float32)


def weighed(matrix: Sparse, weight: Floats32) -> Sparse:
    """The rows with weighted columns, each of length 1."""
    return lengthened(matrix._replace(weight=matrix.weight * weight[matrix.column]))


def lengthened(matrix: Sparse) -> Sparse:
    """The rows, each of length 1 (or 0, if there is nothing in it)."""
    values = matrix.weight
    squares = np.concatenate([[0.0], np.cumsum(np.square(values, dtype=np.float64))])
    length = np.sqrt(np.maximum(squares[matrix.start[1:]] - squares[matrix.start[:-1]], 0))
    scale = np.repeat(np.where(length > 1e-6, 1 / np.maximum(length, 1e-6), 0), _counts(matrix))
    return matrix._replace(weight=(values * scale).astype(np.float32))


def nearest_rows(left: Sparse, right: Sparse, columns: int, kept: int) -> ValueMatches:
    """The pairs of rows in which one is among the `kept` nearest of the other.

    Their probability is the sum of products of what they have in common.
    """
    owner = np.repeat(np.arange(right.rows, dtype=np.int32), _counts(right))
    telling = np.flatnonzero(right.weight > 0)
    order = telling[np.argsort(right.column[telling], kind="stable")]
    start = np.zeros(columns + 1, dtype=np.int64)
    np.cumsum(np.bincount(right.column[telling], minlength=columns), out=start[1:])
    index = Sparse(start, owner[order], right.weight[order])
    if not (left.rows and right.rows and kept):
        return ValueMatches.none()
    near, at = _empty(left.rows, kept)

    def search(first: int, end: int) -> tuple[Floats32, IntArray]:
        back, back_at = _empty(right.rows, kept)
        _search(*left, *index, first, end, near, at, back, back_at)
        return back, back_at

    back = _joined(in_parts(search, left.rows, -(-left.rows // PARTS)))
    return best_of([_pairs(near, at), _pairs(*back).turned()])


def _joined(parts: list[tuple[Floats32, IntArray]]) -> tuple[Floats32, IntArray]:
    """The lists of all parts as one; of equal values, those of earlier parts come first."""
    kept = parts[0][0].shape[1]
    values, places = (np.concatenate(lists, axis=1) for lists in zip(*parts, strict=True))
    order = np.argsort(-values, axis=1, kind="stable")[:, :kept]
    return np.take_along_axis(values, order, 1), np.take_along_axis(places, order, 1)


def products(left: Sparse, right: Sparse, pairs: ValueMatches, columns: int) -> Floats32:
    """The product of the two rows of each pair; the pairs are in the order of their left rows."""
    found = np.zeros(len(pairs.left), dtype=np.float32)
    _multiply(*left, *right, pairs.left, pairs.right, np.zeros(columns, dtype=np.float32), found)
    return found


def _counts(matrix: Sparse) -> NDArray[np.int64]:
    return np.diff(matrix.start)


def _empty(rows: int, kept: int) -> tuple[Floats32, IntArray]:
    return np.zeros((rows, kept), dtype=np.float32), np.zeros((rows, kept), dtype=np.int32)


def _pairs(near: Floats32, at: IntArray) -> ValueMatches:
    row, place = np.nonzero(near > 0)
    return ValueMatches.of(row, at[row, place], near[row, place])


@compiled()
def _search(
    start: NDArray[np.int64],
    column: IntArray,
    weight: Floats32,
    index_start: NDArray[np.int64],
    index_row: IntArray,
    index_weight: Floats32,
    first: int,
    end: int,
    near: Floats32,
    at: IntArray,
    back: Floats32,
    back_at: IntArray,
) -> None:
    rows, last = back.shape[0], back.shape[1] - 1
    score, least = np.zeros(rows, dtype=np.float32), np.zeros(rows, dtype=np.float32)
    met, everyone = np.empty(rows + 1, dtype=np.int32), np.arange(rows)
    for mine in range(first, end):
        visits, count = 0, 0
        for spot in range(start[mine], start[mine + 1]):
            visits += index_start[column[spot] + 1] - index_start[column[spot]]
        many = visits > rows // 2  # then it does not pay to note who was met
        if many:
            met[:rows], count = everyone, rows
        for spot in range(start[mine], start[mine + 1]):
            value = weight[spot]
            entries = range(index_start[column[spot]], index_start[column[spot] + 1])
            if value == 0:
                continue
            if many:
                for entry in entries:
                    score[index_row[entry]] += value * index_weight[entry]
            else:
                for entry in entries:
                    theirs = index_row[entry]
                    met[count] = theirs  # overwritten unless new: a branch would cost more
                    count += score[theirs] == 0
                    score[theirs] += value * index_weight[entry]
        enough = np.float32(0)
        for spot in range(count):
            theirs = met[spot]
            value = score[theirs]
            score[theirs] = 0
            if value > enough:
                _keep(near[mine], at[mine], value, theirs)
                enough = near[mine, last]
            if value > least[theirs]:
                _keep(back[theirs], back_at[theirs], value, mine)
                least[theirs] = back[theirs, last]


@compiled()
def _multiply(
    left_start: NDArray[np.int64],
    left_column: IntArray,
    left_weight: Floats32,
    right_start: NDArray[np.int64],
    right_column: IntArray,
    right_weight: Floats32,
    one: IntArray,
    two: IntArray,
    row: Floats32,
    found: Floats32,
) -> None:
    for pair in range(len(one)):
        first, last = left_start[one[pair]], left_start[one[pair] + 1]
        for spot in range(first, last):
            row[left_column[spot]] += left_weight[spot]
        for spot in range(right_start[two[pair]], right_start[two[pair] + 1]):
            found[pair] += row[right_column[spot]] * right_weight[spot]
        for spot in range(first, last):
            row[left_column[spot]] = 0


@compiled(inline="always")
def _keep(values: Floats32, places: IntArray, value: float, place: int) -> None:
    """Put a value into a list that falls from its first to its last entry; it must be above
    the last."""
    spot = len(values) - 1
    while spot > 0 and values[spot - 1] < value:
        values[spot] = values[spot - 1]
        places[spot] = places[spot - 1]
        spot -= 1
    values[spot] = value
    places[spot] = place
