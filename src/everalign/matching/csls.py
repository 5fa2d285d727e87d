"""Mutual best pairs by CSLS, in bounded memory, with one pass over the similarities.

CSLS discounts hubs: csls(x, y) = 2 s(x, y) − r(x) − r(y), with s the cosine and r(x) the mean s
of the k nearest of x on the other side. Similarities are computed tile by tile. Each tile serves
both directions and is then forgotten; of every row and column, only the K ≥ k nearest are kept.

Why one pass is enough, and exact: the best y for x is mostly among the kept pairs. A pair that
neither side has kept has s(x, y) ≤ K-th nearest of x, and r(y) ≥ K-th nearest of y ≥ s(x, y). So
2 s(x, y) − r(y) ≤ s(x, y) ≤ K-th nearest of x. If the best kept pair of x reaches that, no other
can be better; the few x for which it does not are searched once more, against everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from everalign.matching.candidates import Candidates
from everalign.matching.kernels import (
    Floats,
    Places,
    best_of_lists,
    best_of_rows,
    keep_nearest_of_columns,
    keep_nearest_of_rows,
)
from everalign.progress import Progress, silent

TILE = 1024
KEPT = 24


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
    there, back = best_either_way(left, right, neighbours=neighbours, progress=progress)
    mutual = np.flatnonzero(back.at[there.at] == np.arange(len(left)))
    return Candidates.of(mutual, there.at[mutual], there.score[mutual])


class Best(NamedTuple):
    """For each row of one side, its best row on the other side and their CSLS."""

    at: Places
    score: Floats


def best_either_way(
    left: Floats, right: Floats, *, neighbours: int = 10, progress: Progress = silent
) -> tuple[Best, Best]:
    """The best right row of each left row by CSLS, and the other way round; no side is empty."""
    left, right = unit(left), unit(right)
    near_left, near_right = _nearest(left, right, max(neighbours, KEPT), progress)
    left_hub, right_hub = near_left.hubness(neighbours), near_right.hubness(neighbours)
    score, chosen = _choices(left, right, near_left, near_right, right_hub)
    score_back, chosen_back = _choices(right, left, near_right, near_left, left_hub)
    return Best(chosen, score - left_hub), Best(chosen_back, score_back - right_hub)


@dataclass(frozen=True)
class _Nearest:
    """The nearest rows of the other side for each row, nearest first."""

    similarity: Floats
    at: Places

    @staticmethod
    def unknown(rows: int, kept: int) -> _Nearest:
        return _Nearest(
            np.full((rows, kept), -2, dtype=np.float32), np.zeros((rows, kept), dtype=np.int32)
        )

    def hubness(self, neighbours: int) -> Floats:
        mean: Floats = self.similarity[:, :neighbours].mean(axis=1)
        return mean

    def __getitem__(self, rows: slice) -> tuple[Floats, Places]:
        return self.similarity[rows], self.at[rows]


def _nearest(
    left: Floats, right: Floats, kept: int, progress: Progress
) -> tuple[_Nearest, _Nearest]:
    """The nearest of every row on either side, from one look at each tile."""
    near_left = _Nearest.unknown(len(left), min(kept, len(right)))
    near_right = _Nearest.unknown(len(right), min(kept, len(left)))
    for rows, columns, tile in _tiles(left, right):
        keep_nearest_of_rows(tile, *near_left[rows], columns.start)
        keep_nearest_of_columns(tile, *near_right[columns], rows.start)
        if columns.stop == len(right):
            progress("matching", rows.stop, len(left))
    return near_left, near_right


def _choices(
    mine: Floats, theirs: Floats, near_mine: _Nearest, near_theirs: _Nearest, their_hub: Floats
) -> tuple[Floats, Places]:
    """For each row of mine, its highest 2·similarity − hub, and with which row of theirs."""
    best = np.full(len(mine), -np.inf, dtype=np.float32)
    at = np.zeros(len(mine), dtype=np.int32)
    best_of_lists(
        near_mine.similarity,
        near_mine.at,
        near_theirs.similarity,
        near_theirs.at,
        their_hub,
        best,
        at,
    )
    open_rows = np.flatnonzero(best < near_mine.similarity[:, -1])
    if near_mine.similarity.shape[1] < len(theirs) and len(open_rows):
        best[open_rows], at[open_rows] = _search(mine[open_rows], theirs, their_hub)
    return best, at


def _search(rows: Floats, theirs: Floats, hub: Floats) -> tuple[Floats, Places]:
    """The same against everything."""
    best = np.full(len(rows), -np.inf, dtype=np.float32)
    at = np.zeros(len(rows), dtype=np.int32)
    for part, columns, tile in _tiles(rows, theirs):
        best_of_rows(tile, hub[columns], best[part], at[part], columns.start)
    return best, at


def _tiles(left: Floats, right: Floats) -> Iterator[tuple[slice, slice, Floats]]:
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


def unit(vectors: Floats) -> Floats:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(length > 0, length, 1)).astype(np.float32)
