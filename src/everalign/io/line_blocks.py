"""Large blocks of whole lines of N-Triples as bytes, to be encoded without a text for each term.

What the encoder does not know is parsed here, by the same parsers as small files.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from everalign.errors import InputError
from everalign.io.ntriples import parse_ntriples_line, parse_ntriples_text
from everalign.io.streams import decode_line, read_whole_lines
from everalign.io.terms import Triple, rename_blank_nodes

# Enough that the names of a block occur several times in it, few enough that what belongs to a
# block fits the cache of a processor.
LINE_BLOCK_BYTES = 1 << 21


class LineBlock(NamedTuple):
    """Some whole lines of a file of N-Triples; every line, also the last, ends with ``\\n``.

    Attributes:
        content: The bytes of the lines.
        first_line: The number of the first line.
        blank_prefix: What replaces ``_:`` of all blank nodes; empty if they keep their names.
        skip_errors: Whether lines that cannot be read are all looked for, not only the first.
    """

    content: bytes
    first_line: int = 1
    blank_prefix: str = ""
    skip_errors: bool = False


class LineProblem(NamedTuple):
    """A line that cannot be read.

    Attributes:
        line: Its number in the file.
        problem: What is wrong with it.
    """

    line: int
    problem: str


def read_line_blocks(
    stream: io.BufferedReader, path: Path, blank_prefix: str = "", *, skip_errors: bool = False
) -> Iterator[LineBlock]:
    """Split a stream into blocks of whole lines.

    Args:
        stream: The bytes of a file of N-Triples.
        path: The file, for error messages.
        blank_prefix: See `LineBlock`.
        skip_errors: See `LineBlock`.

    Yields:
        The blocks in order.

    Raises:
        InputError: A line is too long.
    """
    first_line = 1
    while content := read_whole_lines(stream, path, first_line, LINE_BLOCK_BYTES):
        if not content.endswith(b"\n"):
            content += b"\n"
        yield LineBlock(content, first_line, blank_prefix, skip_errors)
        first_line += content.count(b"\n")


def parse_lines(
    lines: Sequence[tuple[int, bytes]], block: LineBlock
) -> tuple[list[tuple[int, Triple]], list[LineProblem]]:
    """Parse lines one by one; they define what is accepted.

    Args:
        lines: Number and content of each line, without its line end.
        block: What they are from.

    Returns:
        The statements with the numbers of their lines, and the lines that cannot be read; only
        the first of these unless errors are skipped.
    """
    rows, problems = _parse_together(lines), []
    if rows is None:
        rows = []
        for number, line in lines:
            try:
                text = decode_line(line, Path(), number)
                rows += [(number, row) for row in parse_ntriples_line(text, Path(), number)]
            except InputError as error:
                problems.append(LineProblem(number, error.problem))
                if not block.skip_errors:
                    break
    if block.blank_prefix:
        rows = [(number, rename_blank_nodes(row, block.blank_prefix)) for number, row in rows]
    return rows, problems


def _parse_together(lines: Sequence[tuple[int, bytes]]) -> list[tuple[int, Triple]] | None:
    """Parse many lines at once, None if they are few or not one statement each."""
    if len(lines) == 1:
        return None
    content = b"\n".join(line for _, line in lines)
    # A carriage return ends a line as well, and one line could have two statements.
    if b"\r" in content:
        return None
    try:
        rows = parse_ntriples_text(content.decode())
    except UnicodeDecodeError:
        return None
    if rows is None or len(rows) != len(lines):
        return None
    return [(number, row) for (number, _), row in zip(lines, rows, strict=True)]
