"""Tables as text: CSV and TSV with a header. The dialect is detected."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from everalign.errors import InputError
from everalign.io.entity_tables import ROWS_PER_BATCH, RowConverter, check_triple_rows
from everalign.io.filters import ReadContext
from everalign.io.streams import BLOCK_BYTES, TextBlock, split_blocks
from everalign.io.table_source import find_triple_columns
from everalign.io.terms import Statements, shorten_text, split_literals

# Longer cells are most likely the rest of the file after a quotation mark that is not closed.
MAX_CELL_CHARACTERS = 1 << 22
_DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "vertical bar"}
_SAMPLE_ROWS = 100
# A quotation over more lines than this was most likely never closed.
_MAX_CELL_LINES = 50
# How the standard library begins to say that the file ends inside of a quotation.
_END_INSIDE = "unexpected end of data"


@dataclass(frozen=True)
class CsvDialect:
    """How the cells of a table are separated and quoted."""

    delimiter: str = ","
    escape: str = '"'
    """What stands before a quotation mark inside of quotation marks; empty if quotation marks
    have no meaning."""

    @property
    def description(self) -> str:
        """The dialect in words, for messages."""
        quotes = {"": ", no quotation", "\\": ", backslashes"}.get(self.escape, "")
        return _DELIMITERS[self.delimiter] + quotes

    def read_rows(self, lines: Iterator[str]) -> Any:
        """Read rows of cells.

        Args:
            lines: The lines of the file, with their ends.

        Returns:
            A reader of the standard library; it raises `csv.Error` and can go on after it.
        """
        # For the whole process, but all that a user could notice is that longer cells are read.
        csv.field_size_limit(MAX_CELL_CHARACTERS)
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quoting=csv.QUOTE_MINIMAL if self.escape else csv.QUOTE_NONE,
            doublequote=self.escape == '"',
            escapechar="\\" if self.escape == "\\" else None,
            strict=True,
        )


class TableText:
    """The text of a table, and what its first lines tell.

    Args:
        stream: The bytes of the file as UTF-8, from the beginning.
        context: The file and where to report lines that are not UTF-8.
    """

    def __init__(self, stream: io.BufferedReader, context: ReadContext) -> None:
        self._context = context
        start = stream.peek(BLOCK_BYTES)
        self.stream = stream
        # Of whole lines, unless it is the whole file or one long line.
        is_whole = len(start) < BLOCK_BYTES // 2
        sample = start if is_whole else start[: start.rfind(b"\n") + 1] or start
        self._sample = sample.decode("utf-8", "replace").replace("\r\n", "\n")
        if "\r" in self._sample and "\n" not in self._sample:
            problem = "its lines end with carriage returns alone: save it with line feeds"
            raise InputError(problem, path=context.path)
        self._dialect: CsvDialect | None = None

    @property
    def dialect(self) -> CsvDialect:
        """How cells are separated, as the first lines show."""
        if self._dialect is None:
            self._dialect = detect_dialect(self._sample)
        return self._dialect

    def peek_header(self) -> list[str]:
        """Read the first row that is not blank, without moving on.

        Returns:
            The names of the columns, without spaces around them; nothing if there are none.
        """
        rows = self.dialect.read_rows(io.StringIO(self._sample, newline="\n"))
        try:
            return next((strip_cells(row) for row in rows if row), [])
        except csv.Error:
            return []

    def iterate_lines(self) -> Iterator[str]:
        """Read the lines, with their ends.

        Returns:
            The lines of the file.

        Raises:
            InputError: The file is not text (when iterating).
        """
        path = self._context.path
        blocks = split_blocks(self.stream, path, self._context.error_handler)
        # StringIO splits at line feeds only, as fast as C can.
        return chain.from_iterable(
            io.StringIO(_check_text(block, path), newline="\n") for block in blocks
        )


def detect_dialect(sample: str) -> CsvDialect:
    """Detect how the cells of a table are separated and quoted.

    Args:
        sample: The first lines of the file.

    Returns:
        The dialect in which most rows have as many cells as the first one, which has several.

    >>> detect_dialect("id;name, first\\n1;Ada\\n").delimiter
    ';'
    """
    best, best_score = CsvDialect(), (0.0, 1)
    for delimiter in _DELIMITERS:
        dialect, rows = _choose_quotes(delimiter, sample)
        if rows and len(rows[0]) > 1:
            equal = sum(len(row) == len(rows[0]) for row in rows)
            score = equal / len(rows), len(rows[0])
            if score > best_score:
                best, best_score = dialect, score
    return best


def _choose_quotes(delimiter: str, sample: str) -> tuple[CsvDialect, list[list[str]]]:
    # Files with tabs often do without quotation, so that quotation marks are part of the text.
    escapes = ['"', *(["\\"] if '\\"' in sample else []), *([""] if delimiter == "\t" else [])]
    parsed = []
    for escape in escapes:
        dialect = CsvDialect(delimiter, escape)
        rows, is_right = _parse_sample(dialect, sample)
        if is_right:
            return dialect, rows
        parsed.append((dialect, rows))
    return parsed[0]


def _parse_sample(dialect: CsvDialect, sample: str) -> tuple[list[list[str]], bool]:
    """Parse the first rows, and tell whether there was no error."""
    rows: list[list[str]] = []
    reader = dialect.read_rows(io.StringIO(sample, newline="\n"))
    last_line = 0
    try:
        for row in reader:
            if row:
                rows.append(row)
            if len(rows) == _SAMPLE_ROWS:
                break
            last_line = reader.line_num
    except csv.Error as error:
        # The sample may end inside of a quotation; one over many lines was never closed.
        is_cut = _END_INSIDE in str(error) and reader.line_num - last_line < _MAX_CELL_LINES
        return rows, is_cut and len(rows) > 1
    return rows, True


def read_csv(stream: io.BufferedReader, context: ReadContext) -> Iterator[Statements]:
    """Read a table with a header: of entities, or of triples if its columns are named so.

    Args:
        stream: The bytes of the file.
        context: The file, how its columns are read, and where to report errors.

    Yields:
        The statements of each batch of rows.

    Raises:
        InputError: The file is not text or not such a table, or a row does not fit and errors
            are not skipped.
    """
    return read_table_text(TableText(stream, context), context)


def read_csv_header(stream: io.BufferedReader, context: ReadContext) -> list[str]:
    """Read the names of the columns.

    Args:
        stream: The bytes of the file.
        context: The file.

    Returns:
        The cells of the first row.

    Raises:
        InputError: The file is not text.
    """
    return TableText(stream, context).peek_header()


def read_table_text(text: TableText, context: ReadContext) -> Iterator[Statements]:
    """Read the rows of a table with a header.

    Args:
        text: The text from its beginning.
        context: The file, how its columns are read, and where to report errors.

    Yields:
        The statements of each batch of rows.

    Raises:
        InputError: As `read_csv`.
    """
    header = text.peek_header()
    columns = find_triple_columns(header, exact=True)
    if columns is not None:
        for rows, lines in read_rows(text, context):
            found = zip(rows, lines, strict=True)
            yield split_literals(check_triple_rows(found, columns, context, are_lines=True))
        context.add_note(f"read as triples ({text.dialect.description}), header skipped")
        return
    if not header:
        return
    if len(header) == 1:
        problem = f"has one column, {shorten_text(header[0])}: cells are separated by comma, "
        raise InputError(f"{problem}semicolon, tab or vertical bar", path=context.path)
    converter: RowConverter | None = None
    for rows, lines in read_rows(text, context):
        if converter is None:
            converter = RowConverter(header, context)
        yield converter.convert(list(zip(*rows, strict=True)), lines)
    if converter is None:
        raise InputError("has a header but no rows", path=context.path)
    converter.finish(f"a table ({text.dialect.description})")


def read_rows(
    text: TableText, context: ReadContext
) -> Iterator[tuple[list[list[str]], list[int]]]:
    """Read the rows behind the header.

    Args:
        text: The text of the table, from its beginning.
        context: Where to report errors.

    Yields:
        Some rows with as many cells as the header, and the numbers of the lines where they begin.

    Raises:
        InputError: A row has another number of cells or wrong quotation, and errors are not
            skipped.
    """
    header = text.peek_header()
    width = 0
    rows: list[list[str]] = []
    lines: list[int] = []
    for row, line in iterate_rows(text, context):
        if len(row) == width:
            rows.append(row)
            lines.append(line)
        elif not width:
            width = len(row)
            if strip_cells(row) != header:
                # Errors that are skipped may not change what the columns are.
                problem = "the header cannot be read; is it in another encoding?"
                raise InputError(problem, path=context.path)
        else:
            problem = f"expected {width} cells as in the header, found {len(row)}"
            problem += f": {shorten_text(text.dialect.delimiter.join(row))}"
            context.report_error(InputError(problem, path=context.path, line=line))
        if len(rows) == ROWS_PER_BATCH:
            yield rows, lines
            rows, lines = [], []
    if rows:
        yield rows, lines


def iterate_rows(text: TableText, context: ReadContext) -> Iterator[tuple[list[str], int]]:
    """Read all rows, the first one as well.

    Args:
        text: The text of the table, from its beginning.
        context: Where to report errors.

    Yields:
        The cells of each row that is not blank, and the number of the line where it begins.

    Raises:
        InputError: A row has wrong quotation, and errors are not skipped.
    """
    reader = text.dialect.read_rows(text.iterate_lines())
    while True:
        # A row begins behind the last line of the one before.
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            context.report_error(_describe_csv_error(error, context.path, line))
            continue
        if row is None:
            return
        if row:
            yield row, line


def strip_cells(row: Sequence[str]) -> list[str]:
    """Remove the spaces around the cells of a row.

    Args:
        row: The cells.

    Returns:
        The cells without them.
    """
    return [cell.strip() for cell in row]


def _check_text(block: TextBlock, path: Path) -> str:
    if "\0" in block.text:
        line = block.first_line + block.text[: block.text.index("\0")].count("\n")
        problem = "has a NUL character: a binary file, or text in another encoding"
        raise InputError(problem, path=path, line=line)
    return block.text


def _describe_csv_error(error: csv.Error, path: Path, line: int) -> InputError:
    if "field limit" in str(error):
        limit = f"{MAX_CELL_CHARACTERS >> 20} MiB"
        problem = f"a cell is longer than {limit} (is a quotation mark missing?)"
    elif _END_INSIDE in str(error):
        problem = "a quotation mark that is opened here is never closed"
    else:
        problem = f"not CSV ({error})"
    return InputError(problem, path=path, line=line)
