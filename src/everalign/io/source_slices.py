"""Sources cut into slices that other processes can read, each by itself.

A slice is a file, or a part of a large file whose format can be cut. What cannot be read apart
from the rest (an archive, a patch, an object in memory) is not cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

from everalign.errors import InputError
from everalign.io.filters import ReadContext
from everalign.io.formats import OpenedFile, open_files
from everalign.io.line_ranges import Bound
from everalign.io.source_parts import SourcePart
from everalign.io.sources import SourceOptions
from everalign.io.wikidata import is_wikidata


class SourceSlice(NamedTuple):
    """A file of a source, or a part of it.

    Attributes:
        part: The file.
        part_number: The number of the file in its source, from 0.
        blank_prefix: What replaces ``_:`` of its blank nodes; empty if they keep their names.
        size: How many bytes the file has.
        modified: When it was changed last, in nanoseconds.
        bound: What is read of it, as its format has cut it; None for the whole file.
        cost: About how many bytes are read.
    """

    part: SourcePart
    part_number: int
    blank_prefix: str
    size: int
    modified: int
    bound: Bound | None
    cost: int

    def check_file(self) -> None:
        """Check that this machine has the same file.

        Raises:
            InputError: It has none, or another one.
        """
        try:
            found = self.part.path.stat()
        except OSError:
            raise InputError("no such file here", path=self.part.path) from None
        if (found.st_size, found.st_mtime_ns) != (self.size, self.modified):
            raise InputError("another file here", path=self.part.path)


def cut_parts(
    parts: Sequence[SourcePart], slice_bytes: int, opening: SourceOptions
) -> list[SourceSlice]:
    """Cut the files of a source.

    Args:
        parts: The files.
        slice_bytes: How many bytes a part of a file has at least.
        opening: How files are opened.

    Returns:
        The slices in the order of the files; nothing if they cannot be read one by one, or if
        there are not several.
    """
    slices: list[SourceSlice] = []
    for number, part in enumerate(parts):
        if part.held is not None or not part.path.is_file():
            return []
        prefix = "" if len(parts) == 1 else f"_:f{number + 1}."
        try:
            bounds = _cut_part(part, slice_bytes, opening)
        except InputError:
            # Whoever reads it here finds the same.
            return []
        if bounds is None:
            return []
        found = part.path.stat()
        # What the table was made of may be an object in memory.
        file = part._replace(table=replace(part.table, source=()))
        cost = max(1, found.st_size // max(1, len(bounds)))
        whole: list[Bound | None] = [None]
        slices += [
            SourceSlice(file, number, prefix, found.st_size, found.st_mtime_ns, bound, cost)
            for bound in bounds or whole
        ]
    return slices if len(slices) > 1 else []


def _cut_part(part: SourcePart, slice_bytes: int, opening: SourceOptions) -> list[Bound] | None:
    """Cut one file; None if it cannot be read apart from others, nothing if only as a whole."""
    # What is wrong with the file is told when it is read, not here.
    silent = ReadContext(part.path, skip_errors=True, sources=opening, table=part.table)
    with closing(open_files(part.path, opening.encoding)) as files:
        file = next(files)
        if file.is_member or file.format.is_patch:
            return None
        if file.format.cut is None:
            return []
        bounds = file.format.cut(file.stream, silent, slice_bytes)
    if not bounds or not opening.reduce_wikidata:
        return bounds
    with closing(open_files(part.path, opening.encoding)) as files:
        # Which labels are left out depends on the statements before them.
        return [] if _is_reduced(next(files), silent) else bounds


def _is_reduced(file: OpenedFile, context: ReadContext) -> bool:
    """Tell whether a file begins like a dump of Wikidata."""
    batches = file.format.read(file.stream, context)
    first = next((batch for batch in batches if batch.triples or batch.literals), None)
    return first is not None and is_wikidata(first)
