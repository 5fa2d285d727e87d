"""Ranges of a large text file, so that several processes can each read a part of it.

A range has the lines that begin in it, whatever bytes it was cut at.
"""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from everalign.errors import InputError
from everalign.io.filters import ReadContext, ReadCounts
from everalign.io.streams import BLOCK_BYTES, MAX_LINE_BYTES
from everalign.io.terms import Statements

Bound: TypeAlias = tuple[int, int]
LineReader: TypeAlias = Callable[[io.BufferedReader, ReadContext], Iterator[Statements]]


def cut_lines(stream: io.BufferedReader, context: ReadContext, slice_bytes: int) -> list[Bound]:
    """Cut a file of lines that do not depend on one another.

    Args:
        stream: The bytes of the file as UTF-8, decompressed.
        context: The file.
        slice_bytes: How many bytes a range has at least.

    Returns:
        Where each range begins and ends, for `open_line_range`. None if the file is small,
        compressed, or not in UTF-8.
    """
    size = context.path.stat().st_size
    with context.path.open("rb") as file:
        start = file.read(BLOCK_BYTES)
    if size < 2 * slice_bytes or stream.read(len(start)) != start:
        return []
    count = size // slice_bytes
    return list(pairwise(size * number // count for number in range(count + 1)))


def open_line_range(path: Path, start: int, stop: int, counts: ReadCounts) -> io.BufferedReader:
    """Open the lines that begin in a range of bytes.

    Where these are not the first lines of the file, an empty line comes before them. So line 1 is
    only ever the first line of the file, which may be a header.

    Args:
        path: A file of text, not compressed.
        start: The first byte.
        stop: The byte after the last.
        counts: Where lines are counted.

    Returns:
        The bytes of whole lines. Reading them raises an `InputError` if they are not UTF-8.

    Raises:
        InputError: A line is too long.
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        first = _find_line_end(file, start, path) if start else 0
        end = size if stop >= size else _find_line_end(file, stop, path) + 1
    return io.BufferedReader(_LineRange(path, first, min(end, size), counts), BLOCK_BYTES)


def read_line_range(
    read: LineReader, context: ReadContext, start: int, stop: int
) -> Iterator[Statements]:
    """Read the lines that begin in a range of bytes.

    Args:
        read: Reads lines.
        context: The file, the filter and where to report errors.
        start: The first byte.
        stop: The byte after the last.

    Yields:
        The statements of each block. Line numbers of errors are those of `open_line_range`.

    Raises:
        InputError: Something is wrong with a line, and errors are not skipped.
    """
    with open_line_range(context.path, start, stop, context.counts) as stream:
        yield from read(stream, context)


def _find_line_end(file: io.BufferedReader, position: int, path: Path) -> int:
    """Find the end of the line that the byte before a position belongs to."""
    file.seek(position - 1)
    line = file.readline(MAX_LINE_BYTES)
    if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
        raise InputError(f"a line is longer than {MAX_LINE_BYTES >> 20} MiB", path=path)
    # The last line of a file may have no end.
    return position - 2 + len(line) + (not line.endswith(b"\n"))


class _LineRange(io.RawIOBase):
    """Some bytes of a file, whose lines are counted and which must be UTF-8."""

    def __init__(self, path: Path, first: int, end: int, counts: ReadCounts) -> None:
        self._path, self._counts = path, counts
        self._file = path.open("rb", buffering=0)
        self._file.seek(first)
        self._left = end - first
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_inside = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        count = self._file.readinto(memoryview(buffer)[: max(0, self._left)]) or 0
        content = bytes(memoryview(buffer)[:count])
        self._left -= count
        self._counts.line_count += content.count(b"\n")
        if self._is_inside or not content.isascii():
            self._check_text(content)
        return count

    def close(self) -> None:
        self._file.close()
        super().close()

    def _check_text(self, content: bytes) -> None:
        # How a text is decoded that is not UTF-8 is decided by all that comes before.
        try:
            self._decoder.decode(content, final=not content)
        except UnicodeDecodeError:
            raise InputError("is not UTF-8", path=self._path) from None
        # A character may be cut off at the end of what was read.
        self._is_inside = bool(self._decoder.getstate()[0])
