"""Columns with free space after their last row, and blocks of rows by key.

The rows of a key are one block. A block that changes is written again after the last row, and the
start and stop of its key point there: the cost of a change is that of the blocks it touches. The
old rows stay where they are and nobody refers to them; building everything again drops them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached

Offsets: TypeAlias = NDArray[np.int64]
Ids: TypeAlias = NDArray[np.integer]

# Free rows per row, and at least. Methods start afresh after a tenth of the facts has changed,
# until when blocks rewritten once fit here.
FREE_SHARE = 0.25
MIN_FREE_ROWS = 1024


class GrowingColumns:
    """Parallel columns that grow together.

    Args:
        columns: Arrays of one length by name, with free space at the end.
        length: Number of rows in use.

    Example:
        >>> columns = GrowingColumns.from_arrays({"value": np.array([1.5, 2.5])})
        >>> first = columns.reserve(1)
        >>> columns["value"][first] = 3.5
        >>> columns.read()["value"].tolist()
        [1.5, 2.5, 3.5]
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]], length: int) -> None:
        self._columns = dict(columns)
        self.length = length

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> GrowingColumns:
        """Copy arrays into columns with free space.

        Args:
            arrays: Arrays of one length by name.

        Returns:
            The columns.
        """
        length = len(next(iter(arrays.values())))
        capacity = compute_capacity(length)
        return GrowingColumns(
            {name: _extend(array, capacity) for name, array in arrays.items()}, length
        )

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a whole column: rows in use, then free space."""
        return self._columns[name]

    def reserve(self, count: int) -> int:
        """Make rows at the end; arrays that were taken out before must be taken out again.

        Args:
            count: Number of new rows; their values are undefined.

        Returns:
            The first of them.
        """
        first = self.length
        self.length += count
        if any(self.length > len(column) for column in self._columns.values()):
            capacity = compute_capacity(self.length)
            self._columns = {
                name: _extend(column[:first], capacity) for name, column in self._columns.items()
            }
        return first

    def read(self) -> dict[str, NDArray[Any]]:
        """Return the rows in use.

        Returns:
            Views of the columns by name.
        """
        return {name: column[: self.length] for name, column in self._columns.items()}

    def save(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the columns as arrays to be stored.

        Args:
            prefix: Goes before the names of the arrays.

        Returns:
            Arrays by name, with their free space; the number of rows in use is one of them.
        """
        arrays = {f"{prefix}_{name}": column for name, column in self._columns.items()}
        return arrays | {f"{prefix}_length": np.array(self.length)}

    @staticmethod
    def load(
        prefix: str, names: Iterable[str], arrays: Mapping[str, NDArray[Any]]
    ) -> GrowingColumns:
        """Restore columns.

        Args:
            prefix: What was given to `save`.
            names: The names of the columns.
            arrays: The stored arrays, with their free space; the columns write to them.

        Returns:
            The columns.
        """
        columns = {name: arrays[f"{prefix}_{name}"] for name in names}
        return GrowingColumns(columns, int(arrays[f"{prefix}_length"]))

    def names(self) -> list[str]:
        """List the names of the columns.

        Returns:
            The names, in order.
        """
        return list(self._columns)


def compute_capacity(length: int) -> int:
    """Compute how many rows to make room for.

    Args:
        length: Rows in use.

    Returns:
        The length and some free rows.
    """
    return length + max(MIN_FREE_ROWS, int(length * FREE_SHARE))


def _extend(array: NDArray[Any], capacity: int) -> NDArray[Any]:
    # Zeros and not undefined values: the system gives pages of zeros when they are first used.
    out = np.zeros((capacity, *array.shape[1:]), dtype=array.dtype)
    out[: len(array)] = array
    return out


def list_block_rows(start: Offsets, stop: Offsets, keys: Ids) -> Offsets:
    """List the rows of some keys.

    Args:
        start: First row of each key.
        stop: Row after the last one of each key.
        keys: The keys.

    Returns:
        The rows of the first key, of the second key, and so on.

    Example:
        >>> list_block_rows(np.array([5, 0]), np.array([7, 1]), np.array([0, 1])).tolist()
        [5, 6, 0]
    """
    return _list_rows(start, stop, keys.astype(np.int64))


def repeat_keys(start: Offsets, stop: Offsets, keys: Ids) -> Offsets:
    """Repeat each key once for each of its rows.

    Args:
        start: First row of each key.
        stop: Row after the last one of each key.
        keys: The keys.

    Returns:
        The key of each row of `list_block_rows`.
    """
    return np.repeat(keys.astype(np.int64), stop[keys] - start[keys])


def place_blocks(start: Offsets, stop: Offsets, keys: Ids, sizes: Ids, first: int) -> None:
    """Let the blocks of some keys begin at new places, one after the other.

    Args:
        start: First row of each key; changed.
        stop: Row after the last one of each key; changed.
        keys: The keys.
        sizes: The number of rows of each.
        first: The first row of the first block.
    """
    end = first + np.cumsum(sizes)
    stop[keys] = end
    start[keys] = end - sizes


def pack_blocks(
    columns: GrowingColumns, start: Offsets, stop: Offsets
) -> tuple[GrowingColumns, Offsets, Offsets]:
    """Write all blocks again, without the rows that nobody refers to.

    Args:
        columns: The columns.
        start: First row of each key.
        stop: Row after the last one of each key.

    Returns:
        Columns with the blocks in the order of the keys, and where each block begins and ends.

    Example:
        >>> columns = GrowingColumns.from_arrays({"value": np.array([8, 9, 7])})
        >>> packed, start, stop = pack_blocks(columns, np.array([2, 0]), np.array([3, 1]))
        >>> packed.read()["value"].tolist(), start.tolist(), stop.tolist()
        ([7, 8], [0, 1], [1, 2])
    """
    rows = list_block_rows(start, stop, np.arange(len(start)))
    end = np.cumsum(stop - start)
    packed = {name: columns[name][rows] for name in columns.names()}
    return GrowingColumns.from_arrays(packed), end - (stop - start), end


@jit_cached()
def _list_rows(start: Offsets, stop: Offsets, keys: Offsets) -> Offsets:
    count = 0
    for key in keys:
        count += stop[key] - start[key]
    out = np.empty(count, dtype=np.int64)
    place = 0
    for key in keys:
        for row in range(start[key], stop[key]):
            out[place] = row
            place += 1
    return out
