"""JSON-LD on its way to the parser, which holds a context for every object that is open."""

from __future__ import annotations

import io
import re

from everalign.errors import InputError
from everalign.rdf.feeding import Feed

DEEPEST_OBJECT = 200
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
_END = b"\0"  # goes with a string that is cut off


class JsonFeed(Feed):
    """A stream of JSON-LD for a parser; what stands in quotes opens nothing."""

    def __init__(self, stream: io.BufferedIOBase, *, by_line: bool) -> None:
        super().__init__(stream, by_line=by_line)
        self._cut_off = b""

    def finished(self, *, at_top: bool) -> None:  # noqa: ARG002
        """A statement does not tell how many objects are open around it."""
        super().finished(at_top=False)

    def _count_open(self, chunk: bytes) -> None:
        text = self._cut_off + chunk
        marks = _STRING.sub(b"", text + _END)
        # A string that goes on in the next chunk is only remembered by its first mark.
        escape = (len(text) - len(text.rstrip(b"\\"))) % 2
        self._cut_off = b"" if marks.endswith(_END) else b'"' + b"\\" * escape
        self._open += marks.count(b"{") + marks.count(b"[")
        self._open -= marks.count(b"}") + marks.count(b"]")
        if self._open > DEEPEST_OBJECT:
            raise InputError("objects are nested too deeply", line=self._lines)
