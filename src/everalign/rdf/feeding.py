"""Bytes for a parser that reads a document as a whole, with a limit to what it must hold.

A parser of Turtle, RDF/XML or JSON-LD holds what it has read of a statement, and the brackets
that are still open. A graph needs little of both; a file made to do harm is stopped here.
"""

from __future__ import annotations

import io

from everalign.errors import InputError
from everalign.rdf.opening import LONGEST_LINE_BYTES

DEEPEST_BRACKET = 100_000
DEEPEST_TRIPLE = 100
_LONG_BYTES = 1 << 12


class Feed:
    """A stream that a parser reads from; it knows the line and counts what is unfinished."""

    def __init__(self, stream: io.BufferedIOBase, *, by_line: bool) -> None:
        """With `by_line` the parser gets a line at a time, so that its line is known exactly."""
        self._stream = stream
        self._by_line = by_line
        self._lines = 1
        self._line_ends = 0
        self._unfinished = 0
        self._open = 0
        self._quoted = 0
        self._last = b""

    @property
    def line(self) -> int | None:
        """The line that the parser is at, if that is known."""
        return self._lines if self._by_line else None

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes for the parser."""
        # The parser begins a word anew with each piece it gets: long ones come in large pieces.
        by_line = self._by_line and self._unfinished < _LONG_BYTES
        chunk = self._stream.readline(size) if by_line else self._stream.read(size)
        self._lines += self._line_ends
        self._line_ends = chunk.count(b"\n")
        self._check(chunk)
        return chunk

    def finished(self, *, at_top: bool) -> None:
        """The parser gave a statement; at the top, no bracket is open around it."""
        self._unfinished = 0
        if at_top:
            self._open = self._quoted = 0

    def _check(self, chunk: bytes) -> None:
        self._unfinished += self._weight(chunk)
        if self._unfinished > LONGEST_LINE_BYTES:
            raise self.too_long()
        self._count_open(chunk)

    def _weight(self, chunk: bytes) -> int:
        return len(chunk)

    def _count_open(self, chunk: bytes) -> None:
        opened = chunk.count(b"(") + chunk.count(b"[")
        closed = chunk.count(b")") + chunk.count(b"]")
        self._open = max(0, self._open + opened - closed)
        # The mark may be cut by the end of a chunk.
        self._quoted += (self._last + chunk).count(b"<<(")
        self._last = chunk[-2:]
        if self._open > DEEPEST_BRACKET or self._quoted > DEEPEST_TRIPLE:
            raise InputError("statements are nested too deeply", line=self._lines)

    def too_long(self) -> InputError:
        """The error for a statement that is too long to be held."""
        problem = f"a statement is longer than {LONGEST_LINE_BYTES >> 20} MiB"
        return InputError(problem, line=self._lines)
