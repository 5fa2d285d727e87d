"""A file of names, one in each line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from everalign.rdf.names import without_brackets
from everalign.rdf.opening import text_blocks
from everalign.rdf.tabular import is_blank


def read_names(path: str | Path) -> Iterator[tuple[int, str]]:
    """The names in a file, with or without angle brackets, each with its line."""
    for block in text_blocks(Path(path)):
        for number, line in block.lines():
            if not is_blank(line):
                yield number, without_brackets(line.strip(" "))
