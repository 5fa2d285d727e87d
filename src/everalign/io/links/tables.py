"""Links as tables: tab-separated text, JSON lines and Parquet."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from everalign.errors import InputError
from everalign.io.arrow_errors import convert_arrow_errors
from everalign.io.csv_files import TableText, iterate_rows, strip_cells
from everalign.io.filters import ReadContext
from everalign.io.formats import OpenedFile
from everalign.io.links.records import ExportStyle, LinkLine, LinkRow
from everalign.io.streams import read_text_blocks, split_blocks
from everalign.io.tables import (
    check_fields,
    check_text_column,
    import_pyarrow,
    is_blank_line,
    read_columns,
)
from everalign.io.terms import shorten_text, strip_brackets

_COLUMNS = ("left", "right")
_FORMULA_STARTS = ("=", "+", "-", "@", "\r")
# How others name the two columns. Numbers but 1 and 2 are left to names of entities.
_KIND = r"(?:id|iri|uri|url|entity|name|key)s?"
_HEADERS = [
    tuple(
        re.compile(rf"(?i:(?:{_KIND}[ _-]?)?(?:{side})(?:[ _-]?{_KIND})?)")
        for side in (
            "left|source|src|subject|from|ltable",
            "right|target|tgt|object|to|rtable",
        )
    ),
    tuple(re.compile(rf"(?i:(?:{_KIND}|e|kg|graph|ont|onto)[ _-]?{n})") for n in (1, 2)),
    (re.compile(r"id[ _]?[A-Z][A-Za-z]*|[A-Za-z]+(?:[ _]id|[ _]ID|Id|ID)"),) * 2,
]
_SCORE_NAME = re.compile(r"(?i:score|confidence|similarity|measure|probability|weight)")


def write_tsv(rows: Sequence[LinkRow], style: ExportStyle) -> Iterator[bytes]:
    """Format links as a tab-separated table: left, right, score, and the labels if asked for.

    Args:
        rows: The links.
        style: Whether to write labels, and to protect spreadsheets.

    Yields:
        The lines of the file.

    Raises:
        InputError: A name cannot be written in a table.
    """
    for row in rows:
        # `repr` of a Python float reads back as the same number; that of numpy has its type in it.
        cells = [_check_cell(row.left), _check_cell(row.right), repr(float(row.score))]
        if style.labels:
            cells += [" ".join(label.split()) for label in (row.left_label, row.right_label)]
        if style.spreadsheet_safe:
            cells = [_protect_cell(cell) for cell in cells]
        yield ("\t".join(cells) + "\n").encode()


def read_link_table(file: OpenedFile, context: ReadContext) -> Iterator[LinkLine]:
    """Read a table: left, right, and optionally a score; with or without a header.

    Cells are separated by tabs, or by commas and the like if the file is CSV or its first line
    has no tab.

    Args:
        file: The open file.
        context: Where lines are reported that do not have these columns.

    Yields:
        Each link with its line number.

    Raises:
        InputError: A line does not have these columns, and errors are not skipped; or the header
            has columns that are not known.
    """
    text = TableText(file.stream, context)
    is_csv = file.format.name == "CSV" or (
        text.dialect.delimiter != "\t" and len(text.peek_header()) in (2, 3)
    )
    rows = iterate_rows(text, context) if is_csv else _split_lines(text, context)
    places = (0, 1)
    for count, (fields, number) in enumerate(rows):
        cells = strip_cells(fields) if is_csv else fields
        if count == 0 and (found := _find_columns(cells, file.path, number)):
            places = found
            header = shorten_text(", ".join(cells))
            context.add_note(f"skipped the header {header}")
            continue
        try:
            if is_csv and len(cells) not in (2, 3):
                problem = "expected 2 columns (left, right) and optionally a score, found"
                found_text = f"{len(cells)}: {shorten_text(text.dialect.delimiter.join(cells))}"
                raise InputError(f"{problem} {found_text}", path=file.path, line=number)
            left, right = _choose_cells(cells, places, file.path, number)
        except InputError as error:
            context.report_error(error)
            continue
        yield LinkLine(left, right, number)


def write_jsonl(rows: Sequence[LinkRow], style: ExportStyle) -> Iterator[bytes]:
    """Format links as JSON lines with the keys left, right, score, since and origin.

    Args:
        rows: The links.
        style: Whether to write labels: the keys left_label and right_label.

    Yields:
        The lines of the file.
    """
    for row in rows:
        yield format_json_line(dict(zip(_list_columns(style), row, strict=False)))


def format_json_line(value: dict[str, object]) -> bytes:
    """Format a JSON object as a line.

    Args:
        value: The object.

    Returns:
        The line with its line end, in UTF-8.
    """
    return f"{json.dumps(value, ensure_ascii=False)}\n".encode()


def read_jsonl(path: Path) -> Iterator[LinkLine]:
    """Read links from JSON lines; keys other than left and right are ignored.

    Args:
        path: The file, optionally compressed.

    Yields:
        Each link with its line number.

    Raises:
        InputError: A line is not an object with left and right.
    """
    for block in read_text_blocks(path):
        for number, line in block.lines():
            if line.strip():
                yield _make_link(_parse_json_line(line, path, number), path, number)


def write_parquet(rows: Sequence[LinkRow], style: ExportStyle) -> Iterator[bytes]:
    """Format links as Parquet with the columns left, right, score, since and origin.

    Args:
        rows: The links.
        style: Whether to write labels: the columns left_label and right_label.

    Yields:
        The content of the file.

    Raises:
        ConfigError: pyarrow is not installed.
    """
    arrow = import_pyarrow()
    other_types = {"score": arrow.float64(), "since": arrow.int64()}
    names = _list_columns(style)
    types = [other_types.get(name, arrow.string()) for name in names]
    schema = arrow.schema(list(zip(names, types, strict=True)))
    columns = [[getattr(row, name) for row in rows] for name in names]
    arrays = [arrow.array(values, kind) for values, kind in zip(columns, types, strict=True)]
    stream = BytesIO()
    arrow.parquet.write_table(arrow.Table.from_arrays(arrays, schema=schema), stream)
    yield stream.getvalue()


def read_parquet(path: Path) -> Iterator[LinkLine]:
    """Read links from the columns left and right of a Parquet file.

    Args:
        path: The file.

    Yields:
        Each link with the number of its row.

    Raises:
        InputError: The file is not Parquet, lacks the columns, or has empty fields.
        ConfigError: pyarrow is not installed.
    """
    arrow = import_pyarrow()
    number = 0
    with convert_arrow_errors(path):
        with arrow.parquet.ParquetFile(path) as file:
            _check_columns(file.schema_arrow, path)
        for rows in read_columns(_COLUMNS, path):
            for row in rows:
                number += 1
                yield _make_link(dict(zip(_COLUMNS, row, strict=True)), path, number)


def find_tsv_problem(row: LinkRow) -> str | None:
    """Find out why a link cannot be a line of a tab-separated table.

    Args:
        row: The link.

    Returns:
        The problem; None if there is none.
    """
    fits = _fits_cell(row.left) and _fits_cell(row.right)
    return None if fits else "a name has a tab, a line end or angle brackets, or is empty"


def _list_columns(style: ExportStyle) -> Sequence[str]:
    return LinkRow._fields if style.labels else LinkRow._fields[:-2]


def _fits_cell(name: str) -> bool:
    # Others would read back as another name, or as two.
    breaks_line = not name or "\t" in name or "\n" in name or name.startswith("\ufeff")
    return not breaks_line and strip_brackets(name) == name


def _split_lines(text: TableText, context: ReadContext) -> Iterator[tuple[list[str], int]]:
    # Not as CSV: a quotation mark is part of a name.
    for block in split_blocks(text.stream, context.path, context.error_handler):
        for number, line in block.lines():
            if not is_blank_line(line):
                yield line.split("\t"), number


def _choose_cells(cells: list[str], places: tuple[int, int], path: Path, number: int) -> list[str]:
    """Choose left and right of a row of two cells, or of three with a score."""
    if len(cells) == 3:
        _check_score(cells[3 - sum(places)], path, number)
    if len(cells) in (2, 3):
        # A row may be shorter than the header.
        cells = [cells[place] if place < len(cells) else "" for place in places]
    return check_fields(cells, _COLUMNS, path, number)


def _find_columns(cells: Sequence[str], path: Path, number: int) -> tuple[int, int] | None:
    """Find the columns of left and right if a row is a header."""
    for left, right in _HEADERS:
        lefts = [place for place, cell in enumerate(cells) if left.fullmatch(cell)]
        rights = [place for place, cell in enumerate(cells) if right.fullmatch(cell)]
        # The third pattern is the same for both columns.
        rights = [place for place in rights if place not in lefts[:1]]
        if lefts and rights:
            places = lefts[0], rights[0]
            others = [cell for place, cell in enumerate(cells) if place not in places]
            unknown = [cell for cell in others if not _SCORE_NAME.fullmatch(cell)]
            if unknown or len(others) > 1:
                name = (unknown or others)[0]
                problem = (
                    f"expected the columns left, right and optionally a score, found {name!r}"
                )
                raise InputError(f"{problem} as well: leave it out", path=path, line=number)
            return places
    return None


def _check_cell(name: str) -> str:
    if not _fits_cell(name):
        raise InputError(f"{shorten_text(name)} cannot be written in a tab-separated file")
    return name


def _protect_cell(cell: str) -> str:
    """Put an apostrophe before what a spreadsheet would take for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA_STARTS) and not _is_number(cell) else cell


def _check_score(field: str, path: Path, number: int) -> None:
    # An integer is an id: then these are triples, not links.
    if field.isdigit() or not _is_number(field):
        expected = "expected 2 tab-separated columns (left, right) and optionally a score"
        problem = f"{expected} such as 0.93, found {shorten_text(field)} in column 3"
        raise InputError(problem, path=path, line=number)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _parse_json_line(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        problem = f"not a line of JSON ({error}): {shorten_text(line)}"
        raise InputError(problem, path=path, line=number) from None
    if not isinstance(value, dict):
        problem = f"expected an object with left and right, found {shorten_text(line)}"
        raise InputError(problem, path=path, line=number)
    return value


def _make_link(record: dict[str, Any], path: Path, number: int) -> LinkLine:
    for key in _COLUMNS:
        name = record.get(key)
        if not isinstance(name, str) or not name:
            found = "nothing" if name is None else shorten_text(str(name))
            problem = f"expected a name as {key!r}, found {found}"
            raise InputError(problem, path=path, line=number)
    return LinkLine(record["left"], record["right"], number)


def _check_columns(schema: Any, path: Path) -> None:
    for name in _COLUMNS:
        if name not in schema.names:
            found = shorten_text(", ".join(schema.names))
            raise InputError(f"has no column {name!r}, only {found}", path=path)
        check_text_column(schema, name, path)
