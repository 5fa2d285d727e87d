"""Texts → features: whole words, and pieces of words of a few characters each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.compiled import compiled
from everalign.graph import IntArray

Hashes = NDArray[np.int64]
WORDS = 0  # in place of a length: whole words


class Found(NamedTuple):
    """Parallel arrays: the text at `row` has the feature with this hash."""

    row: IntArray
    hash: Hashes

    @staticmethod
    def none() -> Found:
        return Found(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64))


class Sparse(NamedTuple):
    """A matrix by rows: those of row n are at `start[n]` up to `start[n + 1]`."""

    start: NDArray[np.int64]
    column: IntArray
    weight: NDArray[np.float32]

    @property
    def rows(self) -> int:
        return len(self.start) - 1

    def shifted(self, columns: int) -> Sparse:
        """The same with so many empty columns before it."""
        return self._replace(column=self.column + np.int32(columns))


def pieces(texts: Sequence[str], length: int, salt: int) -> Found:
    """The pieces of `length` characters of each word, with a space before and after it.

    `salt` keeps features of different kinds apart.

    >>> found = pieces(["ab b", "b"], 2, salt=1)
    >>> found.row.tolist(), len(set(found.hash.tolist()))  # " a", "ab", "b ", " b", "b "; …
    ([0, 0, 0, 0, 0, 1, 1], 4)
    """
    padded = [f" {text} " for text in texts]
    codes = np.frombuffer("".join(padded).encode("utf-32-le", "replace"), dtype=np.uint32)
    start = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in padded], out=start[1:])
    row, hashes = np.empty(len(codes), dtype=np.int32), np.empty(len(codes), dtype=np.int64)
    count = _hash_pieces(codes, start, length, salt, row, hashes)
    return Found(row[:count], hashes[:count])


def joined(parts: Sequence[Found]) -> Found:
    """Features of several kinds as one."""
    return Found(
        np.concatenate([part.row for part in parts]), np.concatenate([part.hash for part in parts])
    )


def numbered(left: Found, right: Found, rows: tuple[int, int]) -> tuple[Sparse, Sparse, int]:
    """The features of two sides over the same columns, each once per row, and their number."""
    hashes, column = places(np.concatenate([left.hash, right.hash]))
    cut = len(left.hash)
    one = _matrix(left.row, column[:cut], rows[0], len(hashes))
    return one, _matrix(right.row, column[cut:], rows[1], len(hashes)), len(hashes)


def places(values: Hashes) -> tuple[Hashes, NDArray[np.int64]]:
    """The different values in order, and where each value stands among them.

    The same as `numpy.unique` does, by sorting: faster where most values differ.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.ones(len(values), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.cumsum(first) - 1
    return ordered[first], place


def beside(*parts: Sparse) -> Sparse:
    """The rows of some matrices added up: what is in several stands there several times."""
    if len(parts) == 1:
        return parts[0]
    rows = np.arange(parts[0].rows, dtype=np.int32)
    order = np.argsort(
        np.concatenate([np.repeat(rows, np.diff(part.start)) for part in parts]), kind="stable"
    )
    return Sparse(
        np.sum([part.start for part in parts], axis=0),
        np.concatenate([part.column for part in parts])[order],
        np.concatenate([part.weight for part in parts])[order],
    )


def _matrix(row: IntArray, column: NDArray[np.int64], rows: int, columns: int) -> Sparse:
    keys, _ = places(row.astype(np.int64) * columns + column)
    start = np.zeros(rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(keys // max(columns, 1), minlength=rows), out=start[1:])
    ones = np.ones(len(keys), dtype=np.float32)
    return Sparse(start, (keys % max(columns, 1)).astype(np.int32), ones)


@compiled()
def _hash_pieces(
    codes: NDArray[np.uint32],
    start: NDArray[np.int64],
    length: int,
    salt: int,
    row: IntArray,
    hashes: Hashes,
) -> int:
    count = 0
    for text in range(len(start) - 1):
        end = start[text + 1]
        for first in range(start[text], end):
            last = _end_of_piece(codes, first, end, length)
            if last > first:
                value = np.int64(salt + 1)
                for at in range(first, last):
                    value = (value ^ np.int64(codes[at])) * np.int64(1099511628211)
                    value ^= value >> np.int64(29)
                row[count], hashes[count] = text, value
                count += 1
    return count


@compiled(inline="always")
def _end_of_piece(codes: NDArray[np.uint32], first: int, end: int, length: int) -> int:
    """Where the piece that starts here ends; here itself, if there is none."""
    if length == 0:  # a word, from the space before it on
        last = first + 1
        while last < end and codes[last] != 32:
            last += 1
        return last if codes[first] == 32 and last > first + 1 else first
    last = first + length
    if last > end or (codes[first] == 32 and (length == 1 or codes[first + 1] == 32)):
        return first
    for at in range(first + 1, last - 1):
        if codes[at] == 32:
            return first
    return last
