"""Compiled loops over one tile of a similarity matrix.

They run on one core: the threads of the matrix product before and after them would be in the
way of more (measured: twice as slow with two).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign.compiled import compiled

Floats = NDArray[np.float32]
Places = NDArray[np.int32]


@compiled(inline="always")
def _insert(values: Floats, places: Places, value: float, place: int) -> None:
    """Put a value and its place into a list that falls from its first to its last entry."""
    spot = len(values) - 1
    while spot > 0 and values[spot - 1] < value:
        values[spot] = values[spot - 1]
        places[spot] = places[spot - 1]
        spot -= 1
    values[spot] = value
    places[spot] = place


@compiled()
def keep_nearest_of_rows(tile: Floats, values: Floats, places: Places, shift: int) -> None:
    """Keep the highest values of each row and their columns, highest first."""
    last = values.shape[1] - 1
    for row in range(tile.shape[0]):
        bar = values[row, last]
        for column in range(tile.shape[1]):
            if tile[row, column] > bar:
                _insert(values[row], places[row], tile[row, column], shift + column)
                bar = values[row, last]


@compiled()
def keep_nearest_of_columns(tile: Floats, values: Floats, places: Places, shift: int) -> None:
    """Keep the highest values of each column and their rows, highest first."""
    last = values.shape[1] - 1
    bar = values[:, last].copy()
    for row in range(tile.shape[0]):
        for column in range(tile.shape[1]):
            if tile[row, column] > bar[column]:
                _insert(values[column], places[column], tile[row, column], shift + row)
                bar[column] = values[column, last]


@compiled()
def best_of_rows(tile: Floats, hub: Floats, best: Floats, at: Places, shift: int) -> None:
    """The highest 2·similarity − hub of each row so far, and the column where it stands."""
    for row in range(tile.shape[0]):
        for column in range(tile.shape[1]):
            value = np.float32(2.0) * tile[row, column] - hub[column]
            if value > best[row]:
                best[row] = value
                at[row] = shift + column


@compiled()
def best_of_lists(
    mine: Floats,
    my_places: Places,
    theirs: Floats,
    their_places: Places,
    their_hub: Floats,
    best: Floats,
    at: Places,
) -> None:
    """The highest 2·similarity − hub of each row among the pairs that either side has kept."""
    for row in range(mine.shape[0]):
        for spot in range(mine.shape[1]):
            column = my_places[row, spot]
            value = np.float32(2.0) * mine[row, spot] - their_hub[column]
            if value > best[row]:
                best[row] = value
                at[row] = column
    for column in range(theirs.shape[0]):
        for spot in range(theirs.shape[1]):
            row = their_places[column, spot]
            value = np.float32(2.0) * theirs[column, spot] - their_hub[column]
            if value > best[row]:
                best[row] = value
                at[row] = column
