"""Matrices of texts by features, and an inverted index that finds the nearest texts by them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign._parallel import map_chunks
from everalign.graph import IntArray
from everalign.literals.matches import FloatArray, LiteralMatches, merge_matches
from everalign.literals.ngrams import Hashes, Starts, TextFeatures

# Chunks of the left rows: one thread searches each, with its own lists for all right rows.
CHUNK_COUNT = 8
MAX_FREQUENCY = 0.05  # share of all texts: a feature of more texts tells nothing
MIN_COMMON_COUNT = 50  # texts; in small graphs no feature of fewer is taken for common
# In large graphs a feature of more texts is common: a share alone would let the search visit ever
# longer lists for each of ever more texts. From 200,000 texts on this is less than the share.
MAX_UNCOMMON_COUNT = 10_000


# For each row the similarities and the numbers of its nearest ones, best first.
_NearestLists = tuple[FloatArray, IntArray]


class SparseMatrix(NamedTuple):
    """A matrix in compressed sparse row form.

    Attributes:
        start: The entries of row n are at `start[n]` to `start[n + 1]`.
        column: The column of each entry.
        weight: The value of each entry.
    """

    start: Starts
    column: IntArray
    weight: FloatArray

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.start) - 1

    @staticmethod
    def zeros(row_count: int) -> SparseMatrix:
        """Build a matrix without entries.

        Args:
            row_count: The number of rows.

        Returns:
            The matrix.
        """
        start = np.zeros(row_count + 1, dtype=np.int64)
        return SparseMatrix(start, np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32))

    def shift_columns(self, offset: int) -> SparseMatrix:
        """Renumber the columns.

        Args:
            offset: What is added to each column.

        Returns:
            The same entries in the columns from `offset` on.
        """
        return self._replace(column=self.column + np.int32(offset))


class NearestRows(NamedTuple):
    """The pairs of rows in which either is among the nearest of the other.

    Attributes:
        pairs: Pairs of rows; the probability is their inner product.
        left_similarity: The inner products of each left row with its nearest right ones, from
            high to low; 0 where there are fewer.
        right_similarity: The same of each right row.
    """

    pairs: LiteralMatches
    left_similarity: FloatArray
    right_similarity: FloatArray


def number_features(
    left: TextFeatures, right: TextFeatures, row_counts: tuple[int, int]
) -> tuple[SparseMatrix, SparseMatrix, Hashes]:
    """Build matrices of texts by features, with the same columns on both sides.

    Args:
        left: The features of left texts.
        right: The features of right texts.
        row_counts: The number of left and of right texts.

    Returns:
        The left and the right matrix, with weights of 1 and each feature once per row, and the
        hash of the feature of each column, sorted.
    """
    hashes, column = _rank_values(np.concatenate([left.feature, right.feature]))
    split = len(left.feature)
    left_matrix = build_matrix(left.row, column[:split], row_counts[0], len(hashes))
    right_matrix = build_matrix(right.row, column[split:], row_counts[1], len(hashes))
    return left_matrix, right_matrix, hashes


def build_matrix(
    row: IntArray, column: NDArray[np.int64], row_count: int, column_count: int
) -> SparseMatrix:
    """Build a matrix of ones.

    Args:
        row: The row of each entry.
        column: The column of each entry.
        row_count: The number of rows.
        column_count: The number of columns.

    Returns:
        The matrix; entries that occur several times are there once.
    """
    # A cell as one number: sorting it sorts by row and then by column, and repeats fall together.
    cells, _ = _rank_values(row.astype(np.int64) * column_count + column)
    start = np.zeros(row_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(cells // max(column_count, 1), minlength=row_count), out=start[1:])
    columns = (cells % max(column_count, 1)).astype(np.int32)
    return SparseMatrix(start, columns, np.ones(len(cells), dtype=np.float32))


def select_rows(matrix: SparseMatrix, rows: NDArray[np.int64]) -> SparseMatrix:
    """Select some rows of a matrix.

    Args:
        matrix: Any matrix.
        rows: The rows wanted.

    Returns:
        A matrix of these rows, in their order.
    """
    count = np.diff(matrix.start)[rows]
    start = np.append(0, np.cumsum(count))
    entry = np.arange(start[-1]) + np.repeat(matrix.start[rows] - start[:-1], count)
    return SparseMatrix(start, matrix.column[entry], matrix.weight[entry])


def add_matrices(*matrices: SparseMatrix) -> SparseMatrix:
    """Add matrices with the same number of rows.

    Args:
        matrices: At least one.

    Returns:
        Their sum; a column that several have is several times in a row.
    """
    if len(matrices) == 1:
        return matrices[0]
    rows = np.arange(matrices[0].row_count, dtype=np.int32)
    owners = [np.repeat(rows, np.diff(matrix.start)) for matrix in matrices]
    order = np.argsort(np.concatenate(owners), kind="stable")
    return SparseMatrix(
        np.sum([matrix.start for matrix in matrices], axis=0),
        np.concatenate([matrix.column for matrix in matrices])[order],
        np.concatenate([matrix.weight for matrix in matrices])[order],
    )


def inverse_frequency(left: SparseMatrix, right: SparseMatrix, column_count: int) -> FloatArray:
    """Compute the weight of each feature: its inverse document frequency.

    Args:
        left: The features of left texts, each once per row.
        right: The same on the right.
        column_count: The number of features.

    Returns:
        log(1 + texts / texts with the feature); 0 for features of too many texts.
    """
    count = np.bincount(left.column, minlength=column_count)
    count += np.bincount(right.column, minlength=column_count)
    text_count = left.row_count + right.row_count
    weight = np.log1p(text_count / np.maximum(count, 1))
    # Weight 0 keeps them out of the index: their lists are the longest and cost most.
    most = min(max(MAX_FREQUENCY * text_count, MIN_COMMON_COUNT), MAX_UNCOMMON_COUNT)
    weight[count > most] = 0.0
    return weight.astype(np.float32)


def weight_columns(matrix: SparseMatrix, weight: FloatArray) -> SparseMatrix:
    """Multiply columns by weights and scale rows to length 1.

    Args:
        matrix: Any matrix.
        weight: A weight per column.

    Returns:
        The weighted matrix.
    """
    return scale_rows(matrix._replace(weight=matrix.weight * weight[matrix.column]))


def scale_rows(matrix: SparseMatrix) -> SparseMatrix:
    """Scale rows to length 1.

    Args:
        matrix: Any matrix.

    Returns:
        The scaled matrix; rows without entries or with zeros only stay zero.
    """
    # Differences of a running sum give the sums of rows, also of empty ones; in double precision,
    # since the difference of two large sums loses digits.
    squares = np.concatenate([[0.0], np.cumsum(np.square(matrix.weight, dtype=np.float64))])
    length = np.sqrt(np.maximum(squares[matrix.start[1:]] - squares[matrix.start[:-1]], 0))
    scale = np.where(length > 1e-6, 1 / np.maximum(length, 1e-6), 0)
    scale = np.repeat(scale, np.diff(matrix.start))
    return matrix._replace(weight=(matrix.weight * scale).astype(np.float32))


def search_nearest_rows(
    left: SparseMatrix, right: SparseMatrix, column_count: int, neighbours: int
) -> NearestRows:
    """Find the pairs of rows in which either is among the nearest of the other.

    Args:
        left: The left rows.
        right: The right rows.
        column_count: The number of columns of both.
        neighbours: How many of the nearest are kept for each row.

    Returns:
        The pairs, and how near the nearest of each row are.
    """
    if not (left.row_count and right.row_count and neighbours):
        nothing = (_empty_lists(side.row_count, neighbours)[0] for side in (left, right))
        return NearestRows(LiteralMatches.empty(), *nothing)
    index = invert_matrix(right, column_count)

    def search(first: int, end: int) -> tuple[_NearestLists, _NearestLists]:
        own = _empty_lists(end - first, neighbours)
        others = _empty_lists(right.row_count, neighbours)
        _search_rows(*left, *index, first, end, *own, *others)
        return own, others

    # Rounded up. A number of chunks, not a size: each needs lists for all right rows.
    chunks = map_chunks(search, left.row_count, -(-left.row_count // CHUNK_COUNT))
    similarity, nearest = (
        np.concatenate(lists) for lists in zip(*(own for own, _ in chunks), strict=True)
    )
    right_similarity, right_nearest = _merge_lists([others for _, others in chunks])
    backward = _list_pairs(right_similarity, right_nearest).swap_sides()
    pairs = merge_matches([_list_pairs(similarity, nearest), backward])
    return NearestRows(pairs, similarity, right_similarity)


def invert_matrix(matrix: SparseMatrix, column_count: int) -> SparseMatrix:
    """Build the inverted index.

    Args:
        matrix: Any matrix.
        column_count: The number of its columns.

    Returns:
        For each column, the rows with a weight in it.
    """
    owner = np.repeat(np.arange(matrix.row_count, dtype=np.int32), np.diff(matrix.start))
    weighted = np.flatnonzero(matrix.weight > 0)
    order = weighted[np.argsort(matrix.column[weighted], kind="stable")]
    start = np.zeros(column_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(matrix.column[weighted], minlength=column_count), out=start[1:])
    return SparseMatrix(start, owner[order], matrix.weight[order])


def compute_row_products(
    left: SparseMatrix, right: SparseMatrix, pairs: LiteralMatches, column_count: int
) -> FloatArray:
    """Compute the inner product of the rows of each pair.

    Args:
        left: The left rows.
        right: The right rows.
        pairs: Pairs of rows, sorted by their left rows.
        column_count: The number of columns of both.

    Returns:
        A product per pair.
    """
    product = np.zeros(len(pairs.left), dtype=np.float32)
    dense_row = np.zeros(column_count, dtype=np.float32)
    _multiply_rows(*left, *right, pairs.left, pairs.right, dense_row, product)
    return product


def _rank_values(values: Hashes) -> tuple[Hashes, NDArray[np.int64]]:
    """The distinct values in order, and the rank of each value among them.

    The same as `numpy.unique` with its inverse, by one sort: faster where most values differ.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    is_first = np.ones(len(values), dtype=np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.cumsum(is_first) - 1
    return ordered[is_first], rank


def _empty_lists(row_count: int, length: int) -> _NearestLists:
    shape = row_count, length
    return np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.int32)


def _merge_lists(parts: list[_NearestLists]) -> _NearestLists:
    """The best of the lists of all chunks; of equal values, those of earlier chunks first."""
    length = parts[0][0].shape[1]
    values, rows = (np.concatenate(lists, axis=1) for lists in zip(*parts, strict=True))
    order = np.argsort(-values, axis=1, kind="stable")[:, :length]
    return np.take_along_axis(values, order, 1), np.take_along_axis(rows, order, 1)


def _list_pairs(similarity: FloatArray, nearest: IntArray) -> LiteralMatches:
    row, slot = np.nonzero(similarity > 0)
    return LiteralMatches.from_columns(row, nearest[row, slot], similarity[row, slot])


@jit_cached()
def _search_rows(
    start: Starts,
    column: IntArray,
    weight: FloatArray,
    index_start: Starts,
    index_row: IntArray,
    index_weight: FloatArray,
    first: int,
    end: int,
    left_similarity: FloatArray,
    left_nearest: IntArray,
    right_similarity: FloatArray,
    right_nearest: IntArray,
) -> None:
    row_count, last = right_similarity.shape[0], right_similarity.shape[1] - 1
    # Scores of all right rows for one left row; those in `met` are reset after it.
    score = np.zeros(row_count, dtype=np.float32)
    right_threshold = np.zeros(row_count, dtype=np.float32)
    met, all_rows = np.empty(row_count + 1, dtype=np.int32), np.arange(row_count)
    for left in range(first, end):
        row, visits, count = left - first, 0, 0
        for entry in range(start[left], start[left + 1]):
            visits += index_start[column[entry] + 1] - index_start[column[entry]]
        is_dense = visits > row_count // 2  # then recording the rows that are met costs more
        if is_dense:
            met[:row_count], count = all_rows, row_count
        for entry in range(start[left], start[left + 1]):
            value = weight[entry]
            postings = range(index_start[column[entry]], index_start[column[entry] + 1])
            if value == 0:
                continue
            if is_dense:
                for posting in postings:
                    score[index_row[posting]] += value * index_weight[posting]
            else:
                for posting in postings:
                    right = index_row[posting]
                    met[count] = right  # overwritten unless new: a branch would cost more
                    count += score[right] == 0
                    score[right] += value * index_weight[posting]
        left_threshold = np.float32(0)
        for k in range(count):
            right = met[k]
            value = score[right]
            score[right] = 0
            if value > left_threshold:
                insert_sorted(left_similarity[row], left_nearest[row], value, right)
                left_threshold = left_similarity[row, last]
            if value > right_threshold[right]:
                insert_sorted(right_similarity[right], right_nearest[right], value, left)
                right_threshold[right] = right_similarity[right, last]


@jit_cached()
def _multiply_rows(
    left_start: Starts,
    left_column: IntArray,
    left_weight: FloatArray,
    right_start: Starts,
    right_column: IntArray,
    right_weight: FloatArray,
    left_rows: IntArray,
    right_rows: IntArray,
    dense_row: FloatArray,
    product: FloatArray,
) -> None:
    for pair in range(len(left_rows)):
        left, right = left_rows[pair], right_rows[pair]
        for entry in range(left_start[left], left_start[left + 1]):
            dense_row[left_column[entry]] += left_weight[entry]
        for entry in range(right_start[right], right_start[right + 1]):
            product[pair] += dense_row[right_column[entry]] * right_weight[entry]
        # Only what was set is reset: the row has a place for each feature of all texts.
        for entry in range(left_start[left], left_start[left + 1]):
            dense_row[left_column[entry]] = 0


@jit_cached(inline="always")
def insert_sorted(values: FloatArray, rows: IntArray, value: float, row: int) -> None:
    """Insert into a list sorted from high to low.

    Args:
        values: The sorted values; the last one falls out.
        rows: The row of each value.
        value: A value above the last one.
        row: Its row.
    """
    slot = len(values) - 1
    while slot > 0 and values[slot - 1] < value:
        values[slot] = values[slot - 1]
        rows[slot] = rows[slot - 1]
        slot -= 1
    values[slot] = value
    rows[slot] = row
