"""Compiled loops over one tile of a similarity matrix.

Columns are walked row by row, each thread with its own range of them, so that memory is read
in order and no two threads write to the same place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Places = NDArray[np.int64]
STRIPE = 128  # columns that one thread takes at a time

_compiled: Any = njit(parallel=True, cache=True, nogil=True)
_helper: Any = njit(cache=True, nogil=True, inline="always")


@_helper  # type: ignore[untyped-decorator,unused-ignore]
def _insert(top: Floats, value: float) -> None:
    """Put a value into a list that falls from its first to its last place."""
    place = len(top) - 1
    while place > 0 and top[place - 1] < value:
        top[place] = top[place - 1]
        place -= 1
    top[place] = value


@_compiled  # type: ignore[untyped-decorator,unused-ignore]
def keep_top_of_rows(tile: Floats, top: Floats) -> None:
    """Keep the highest values of each row of the tile in `top`, highest first."""
    last = top.shape[1] - 1
    for row in prange(tile.shape[0]):
        for column in range(tile.shape[1]):
            if tile[row, column] > top[row, last]:
                _insert(top[row], tile[row, column])


@_compiled  # type: ignore[untyped-decorator,unused-ignore]
def keep_top_of_columns(tile: Floats, top: Floats) -> None:
    """Keep the highest values of each column of the tile in `top`, highest first."""
    last = top.shape[1] - 1
    width = tile.shape[1]
    for stripe in prange((width + STRIPE - 1) // STRIPE):
        first = stripe * STRIPE
        stop = min(first + STRIPE, width)
        bar = top[first:stop, last].copy()
        for row in range(tile.shape[0]):
            for column in range(first, stop):
                if tile[row, column] > bar[column - first]:
                    _insert(top[column], tile[row, column])
                    bar[column - first] = top[column, last]


@_compiled  # type: ignore[untyped-decorator,unused-ignore]
def best_of_rows(tile: Floats, hub: Floats, best: Floats, at: Places, shift: int) -> None:
    """The highest 2·similarity − hub of each row so far, and the column where it stands."""
    for row in prange(tile.shape[0]):
        for column in range(tile.shape[1]):
            value = np.float32(2.0) * tile[row, column] - hub[column]
            if value > best[row]:
                best[row] = value
                at[row] = shift + column


@_compiled  # type: ignore[untyped-decorator,unused-ignore]
def best_of_columns(tile: Floats, hub: Floats, best: Floats, at: Places, shift: int) -> None:
    """The highest 2·similarity − hub of each column so far, and the row where it stands."""
    width = tile.shape[1]
    for stripe in prange((width + STRIPE - 1) // STRIPE):
        first = stripe * STRIPE
        stop = min(first + STRIPE, width)
        for row in range(tile.shape[0]):
            for column in range(first, stop):
                value = np.float32(2.0) * tile[row, column] - hub[row]
                if value > best[column]:
                    best[column] = value
                    at[column] = shift + row
