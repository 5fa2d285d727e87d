"""Mutual best pairs by CSLS, in bounded memory, with one pass over the similarities.

Cross-domain similarity local scaling discounts hubs: csls(x, y) = 2 s(x, y) − r(x) − r(y), where
s is the cosine and r(x) the mean s of the k nearest neighbours of x on the other side.
Similarities are computed tile by tile. Each tile serves both directions and is then overwritten;
of every row and column, only the K ≥ k nearest are kept.

Why one pass is exact: a pair that neither side has kept has s(x, y) ≤ the similarity of the K-th
nearest of x, and r(y) ≥ that of the K-th nearest of y ≥ s(x, y). So 2 s(x, y) − r(y) ≤ s(x, y) ≤
K-th nearest of x. If the best kept pair of x reaches that, no other pair can be better. The few
rows for which it does not are searched once more, against everything.

Rejected pairs count in r, which measures how dense a neighbourhood is, and are left out of the
choice. So a rejection changes the score of no other pair, and the bound holds for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign._progress import Progress, no_progress
from everalign.matching.candidates import NO_PAIRS, CandidatePairs, PairArray, find_positions

Floats = NDArray[np.float32]
Indexes = NDArray[np.int32]

# Rows and columns of a tile. It takes 4 MB however many vectors there are, and is large enough
# for the matrix product to use all cores.
TILE_SIZE = 1024
# Neighbours kept per row (K). More than CSLS needs (10 by default), so that the bound settles
# nearly all rows without a second search.
KEPT_NEIGHBOURS = 24
# Below any cosine, so that every first similarity replaces it.
NO_SIMILARITY = -2


class BestMatches(NamedTuple):
    """The best match of each row of one side on the other side.

    Attributes:
        row: The best row of the other side.
        score: Its CSLS; -inf if all pairs of the row are rejected.
    """

    row: Indexes
    score: Floats


def find_mutual_best(
    left: Floats,
    right: Floats,
    *,
    neighbours: int = 10,
    rejected: PairArray = NO_PAIRS,
    progress: Progress = no_progress,
) -> CandidatePairs:
    """Find the pairs of rows that are each other's best by CSLS.

    >>> eye = np.eye(3, dtype=np.float32)
    >>> find_mutual_best(eye, eye[[2, 0, 1]], neighbours=1).pairs()
    [(0, 1), (1, 2), (2, 0)]

    Args:
        left: A vector per row; need not be normalised.
        right: A vector per row, of the same width.
        neighbours: Number of nearest neighbours whose mean similarity is discounted (k).
        rejected: Pairs of rows that are never chosen; each row chooses among the others.
        progress: Called after each row of tiles.

    Returns:
        Pairs of row numbers with their CSLS as score, in the order of the left rows.
    """
    if len(left) == 0 or len(right) == 0:
        return CandidatePairs.empty()
    best_right, best_left = find_best_of_both_sides(
        left, right, neighbours=neighbours, rejected=rejected, progress=progress
    )
    is_mutual = best_left.row[best_right.row] == np.arange(len(left))
    # A row whose pairs are all rejected points to row 0 with -inf: it is nobody's match.
    mutual = np.flatnonzero(is_mutual & np.isfinite(best_right.score))
    return CandidatePairs.from_columns(mutual, best_right.row[mutual], best_right.score[mutual])


def find_best_of_both_sides(
    left: Floats,
    right: Floats,
    *,
    neighbours: int = 10,
    rejected: PairArray = NO_PAIRS,
    progress: Progress = no_progress,
) -> tuple[BestMatches, BestMatches]:
    """Find the best match of every row on either side by CSLS.

    Args:
        left: A vector per row, at least one; need not be normalised.
        right: A vector per row, at least one, of the same width.
        neighbours: Number of nearest neighbours whose mean similarity is discounted (k).
        rejected: Pairs of rows that are never chosen.
        progress: Called after each row of tiles.

    Returns:
        The best right row of each left row, and the best left row of each right row.
    """
    left, right = normalise_rows(left), normalise_rows(right)
    left_nearest, right_nearest = _find_nearest(
        left, right, max(neighbours, KEPT_NEIGHBOURS), progress
    )
    left_hubness = left_nearest.mean_similarity(neighbours)
    right_hubness = right_nearest.mean_similarity(neighbours)
    left_score, best_right = _find_best(
        left, right, left_nearest, right_nearest, right_hubness, rejected
    )
    right_score, best_left = _find_best(
        right, left, right_nearest, left_nearest, left_hubness, rejected[:, ::-1]
    )
    return (
        BestMatches(best_right, left_score - left_hubness),
        BestMatches(best_left, right_score - right_hubness),
    )


def normalise_rows(vectors: Floats) -> Floats:
    """Scale each row to length 1; a row of zeros stays as it is.

    Args:
        vectors: A vector per row.

    Returns:
        The scaled rows.
    """
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(length > 0, length, 1)).astype(np.float32)


@dataclass(frozen=True)
class _NearestRows:
    """The K nearest rows of the other side for each row, nearest first."""

    similarity: Floats
    index: Indexes

    @staticmethod
    def unknown(row_count: int, kept: int) -> _NearestRows:
        return _NearestRows(
            np.full((row_count, kept), NO_SIMILARITY, dtype=np.float32),
            np.zeros((row_count, kept), dtype=np.int32),
        )

    def mean_similarity(self, neighbours: int) -> Floats:
        """Return r of each row."""
        mean: Floats = self.similarity[:, :neighbours].mean(axis=1)
        return mean

    def exclude_pairs(self, rejected: PairArray) -> _NearestRows:
        """Return the same with the similarity of rejected pairs at -inf."""
        if not len(rejected):
            return self
        similarity = self.similarity.copy()
        pair, rank = np.nonzero(self.index[rejected[:, 0]] == rejected[:, 1:])
        # In a copy, since rejected pairs still count in r.
        similarity[rejected[pair, 0], rank] = -np.inf
        return _NearestRows(similarity, self.index)

    def __getitem__(self, rows: slice) -> tuple[Floats, Indexes]:
        return self.similarity[rows], self.index[rows]


def _find_nearest(
    left: Floats, right: Floats, kept: int, progress: Progress
) -> tuple[_NearestRows, _NearestRows]:
    """Find the nearest rows of either side, with one look at each tile."""
    left_nearest = _NearestRows.unknown(len(left), min(kept, len(right)))
    right_nearest = _NearestRows.unknown(len(right), min(kept, len(left)))
    for rows, columns, tile in _compute_tiles(left, right):
        _update_row_neighbours(tile, *left_nearest[rows], columns.start)
        _update_column_neighbours(tile, *right_nearest[columns], rows.start)
        if columns.stop == len(right):
            progress("matching", rows.stop, len(left))
    return left_nearest, right_nearest


def _find_best(
    vectors: Floats,
    other_vectors: Floats,
    nearest: _NearestRows,
    other_nearest: _NearestRows,
    other_hubness: Floats,
    rejected: PairArray,
) -> tuple[Floats, Indexes]:
    """Find the highest 2 s(x, y) − r(y) of each row x, and its y."""
    # r(x) is the same for all y, so it does not matter for the choice.
    best = np.full(len(vectors), -np.inf, dtype=np.float32)
    index = np.zeros(len(vectors), dtype=np.int32)
    _search_kept_pairs(
        nearest.exclude_pairs(rejected).similarity,
        nearest.index,
        other_nearest.exclude_pairs(rejected[:, ::-1]).similarity,
        other_nearest.index,
        other_hubness,
        best,
        index,
    )
    # The bound of the module docstring: below it, a pair that was not kept may be better.
    unsettled = np.flatnonzero(best < nearest.similarity[:, -1])
    if nearest.similarity.shape[1] < len(other_vectors) and len(unsettled):
        excluded = find_positions(rejected, unsettled, np.arange(len(other_vectors)))
        best[unsettled], index[unsettled] = _search_all_pairs(
            vectors[unsettled], other_vectors, other_hubness, excluded
        )
    return best, index


def _search_all_pairs(
    vectors: Floats, other_vectors: Floats, other_hubness: Floats, rejected: PairArray
) -> tuple[Floats, Indexes]:
    best = np.full(len(vectors), -np.inf, dtype=np.float32)
    index = np.zeros(len(vectors), dtype=np.int32)
    for rows, columns, tile in _compute_tiles(vectors, other_vectors):
        _exclude_from_tile(tile, rejected, rows, columns)
        _update_row_best(tile, other_hubness[columns], best[rows], index[rows], columns.start)
    return best, index


def _exclude_from_tile(tile: Floats, rejected: PairArray, rows: slice, columns: slice) -> None:
    """Set the similarity of the rejected pairs of a tile to -inf."""
    row, column = rejected[:, 0] - rows.start, rejected[:, 1] - columns.start
    inside = (row >= 0) & (row < tile.shape[0]) & (column >= 0) & (column < tile.shape[1])
    tile[row[inside], column[inside]] = -np.inf


def _compute_tiles(left: Floats, right: Floats) -> Iterator[tuple[slice, slice, Floats]]:
    """Compute the similarity matrix in tiles; each tile overwrites the one before it."""
    buffer = np.empty(TILE_SIZE * TILE_SIZE, dtype=np.float32)
    for top in range(0, len(left), TILE_SIZE):
        rows = slice(top, min(top + TILE_SIZE, len(left)))
        for first in range(0, len(right), TILE_SIZE):
            columns = slice(first, min(first + TILE_SIZE, len(right)))
            shape = (rows.stop - rows.start, columns.stop - columns.start)
            tile = buffer[: shape[0] * shape[1]].reshape(shape)
            # A tile at the edge is smaller, and a contiguous part of the buffer all the same.
            np.matmul(left[rows], right[columns].T, out=tile)
            yield rows, columns, tile


# The compiled loops below run on one core: more threads would get in the way of those of the
# matrix product before and after them (measured: twice as slow with two).


@jit_cached(inline="always")
def _insert_neighbour(similarity: Floats, index: Indexes, value: float, neighbour: int) -> None:
    """Insert into a list sorted in descending order; its last entry drops out."""
    position = len(similarity) - 1
    while position > 0 and similarity[position - 1] < value:
        similarity[position] = similarity[position - 1]
        index[position] = index[position - 1]
        position -= 1
    similarity[position] = value
    index[position] = neighbour


@jit_cached()
def _update_row_neighbours(
    tile: Floats, similarity: Floats, index: Indexes, first_column: int
) -> None:
    """Merge a tile into the nearest neighbours of its rows."""
    last = similarity.shape[1] - 1
    for row in range(tile.shape[0]):
        # In a local variable: nearly every comparison fails, and must be cheap.
        lowest_kept = similarity[row, last]
        for column in range(tile.shape[1]):
            if tile[row, column] > lowest_kept:
                _insert_neighbour(
                    similarity[row], index[row], tile[row, column], first_column + column
                )
                lowest_kept = similarity[row, last]


@jit_cached()
def _update_column_neighbours(
    tile: Floats, similarity: Floats, index: Indexes, first_row: int
) -> None:
    """Merge a tile into the nearest neighbours of its columns."""
    last = similarity.shape[1] - 1
    # Row by row, as the tile lies in memory, with the lowest kept value of each column.
    lowest_kept = similarity[:, last].copy()
    for row in range(tile.shape[0]):
        for column in range(tile.shape[1]):
            if tile[row, column] > lowest_kept[column]:
                _insert_neighbour(
                    similarity[column], index[column], tile[row, column], first_row + row
                )
                lowest_kept[column] = similarity[column, last]


@jit_cached()
def _update_row_best(
    tile: Floats, hubness: Floats, best: Floats, index: Indexes, first_column: int
) -> None:
    """Merge a tile into the highest 2 s − r of its rows."""
    for row in range(tile.shape[0]):
        for column in range(tile.shape[1]):
            value = np.float32(2.0) * tile[row, column] - hubness[column]
            if value > best[row]:
                best[row] = value
                index[row] = first_column + column


@jit_cached()
def _search_kept_pairs(
    similarity: Floats,
    neighbour: Indexes,
    other_similarity: Floats,
    other_neighbour: Indexes,
    other_hubness: Floats,
    best: Floats,
    index: Indexes,
) -> None:
    """Find the highest 2 s − r of each row among the pairs that either side has kept."""
    for row in range(similarity.shape[0]):
        for position in range(similarity.shape[1]):
            column = neighbour[row, position]
            value = np.float32(2.0) * similarity[row, position] - other_hubness[column]
            if value > best[row]:
                best[row] = value
                index[row] = column
    # The bound is about pairs that neither side has kept, so those of the other side count too.
    for column in range(other_similarity.shape[0]):
        for position in range(other_similarity.shape[1]):
            row = other_neighbour[column, position]
            value = np.float32(2.0) * other_similarity[column, position] - other_hubness[column]
            if value > best[row]:
                best[row] = value
                index[row] = column
