"""Mutual best pairs by CSLS, in bounded memory.

CSLS discounts hubs: csls(x, y) = 2 cos(x, y) − r(x) − r(y), with r the mean cosine to the k
nearest entities of the other side. Similarities are computed tile by tile; each tile serves
both directions and is then forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from everalign.matching.candidates import Candidates
from everalign.matching.kernels import (
    best_of_columns,
    best_of_rows,
    keep_top_of_columns,
    keep_top_of_rows,
)
from everalign.progress import Progress, silent

Floats = NDArray[np.float32]
TILE = 1024


def mutual_best(
    left: Floats, right: Floats, *, neighbours: int = 10, progress: Progress = silent
) -> Candidates:
    """The pairs of rows that are each other's best by CSLS, with their CSLS as score.

    >>> eye = np.eye(3, dtype=np.float32)
    >>> found = mutual_best(eye, eye[[2, 0, 1]], neighbours=1)
    >>> list(zip(found.left.tolist(), found.right.tolist()))
    [(0, 1), (1, 2), (2, 0)]
    """
    if len(left) == 0 or len(right) == 0:
        return Candidates.none()
    left, right = _unit(left), _unit(right)
    left_hub, right_hub = _hubness(left, right, neighbours, progress)
    left_best, left_at = _nothing_yet(len(left))
    right_best, right_at = _nothing_yet(len(right))
    for rows, columns, tile in _tiles(left, right, "choosing links", progress):
        best_of_rows(tile, right_hub[columns], left_best[rows], left_at[rows], columns.start)
        best_of_columns(tile, left_hub[rows], right_best[columns], right_at[columns], rows.start)
    mutual = np.flatnonzero(right_at[left_at] == np.arange(len(left)))
    return Candidates.of(mutual, left_at[mutual], left_best[mutual] - left_hub[mutual])


def _hubness(
    left: Floats, right: Floats, neighbours: int, progress: Progress
) -> tuple[Floats, Floats]:
    """The mean cosine of every row to its nearest rows of the other side."""
    left_top = np.full((len(left), min(neighbours, len(right))), -2, dtype=np.float32)
    right_top = np.full((len(right), min(neighbours, len(left))), -2, dtype=np.float32)
    for rows, columns, tile in _tiles(left, right, "measuring hubs", progress):
        keep_top_of_rows(tile, left_top[rows])
        keep_top_of_columns(tile, right_top[columns])
    return left_top.mean(axis=1), right_top.mean(axis=1)


def _tiles(
    left: Floats, right: Floats, step: str, progress: Progress
) -> Iterator[tuple[slice, slice, Floats]]:
    """The similarity matrix in pieces; the array of a piece is used again for the next."""
    space = np.empty(TILE * TILE, dtype=np.float32)
    for top in range(0, len(left), TILE):
        rows = slice(top, min(top + TILE, len(left)))
        for first in range(0, len(right), TILE):
            columns = slice(first, min(first + TILE, len(right)))
            shape = (rows.stop - rows.start, columns.stop - columns.start)
            tile = space[: shape[0] * shape[1]].reshape(shape)
            np.matmul(left[rows], right[columns].T, out=tile)
            yield rows, columns, tile
        progress(step, rows.stop, len(left))


def _unit(vectors: Floats) -> Floats:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(length > 0, length, 1)).astype(np.float32)


def _nothing_yet(count: int) -> tuple[Floats, NDArray[np.int64]]:
    return np.full(count, -np.inf, dtype=np.float32), np.full(count, -1, dtype=np.int64)
