"""Tables as text: CSV and TSV with a header. Encoding and dialect are detected."""

from __future__ import annotations

import codecs
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
from everalign.io.streams import BLOCK_BYTES, split_blocks
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
_UTF_16_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


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
        stream: The bytes of the file, from the beginning.
        path: The file, for error messages.
        encoding: The encoding if it is known. Otherwise it is UTF-16 if the file begins with the
            mark of it, or UTF-8, or windows-1252 if the first bytes that are not ASCII are not
            UTF-8. Text in ISO-8859-1 is the same in windows-1252.

    Raises:
        InputError: The file is not text.
    """

    def __init__(self, stream: io.BufferedReader, path: Path, encoding: str | None = None) -> None:
        self._path = path
        start = stream.peek(BLOCK_BYTES)
        for mark, name in _UTF_16_MARKS.items():
            if start.startswith(mark) and encoding in (None, "utf-16"):
                stream.read(len(mark))
                encoding = name
        self.encoding = codecs.lookup(encoding or "utf-8").name
        self._detects = encoding is None
        if self.encoding != "utf-8":
            transcoded = _TranscodedStream(stream, self.encoding, path)
            stream = io.BufferedReader(transcoded, BLOCK_BYTES)
            start = stream.peek(BLOCK_BYTES)
        self._stream, self._is_ascii = stream, True
        # Of whole lines, unless it is the whole file or one long line.
        is_whole = len(start) < BLOCK_BYTES // 2
        self._sample = start if is_whole else start[: start.rfind(b"\n") + 1] or start
        self._dialect: CsvDialect | None = None

    @property
    def stream(self) -> io.BufferedReader:
        """The bytes, which are UTF-8 unless the encoding was detected while reading."""
        return self._stream

    @property
    def dialect(self) -> CsvDialect:
        """How cells are separated, as the first lines show."""
        if self._dialect is None:
            self._dialect = detect_dialect(self._decode_sample())
        return self._dialect

    def peek_header(self) -> list[str]:
        """Read the first row that is not blank, without moving on.

        Returns:
            The names of the columns, without spaces around them; nothing if there are none.
        """
        rows = self.dialect.read_rows(io.StringIO(self._decode_sample(), newline="\n"))
        try:
            return next((strip_cells(row) for row in rows if row), [])
        except csv.Error:
            return []

    def iterate_lines(self) -> Iterator[str]:
        """Read the lines, with their ends.

        Returns:
            The lines of the file.
        """
        # StringIO splits at line feeds only, as fast as C can.
        blocks = split_blocks(self._stream, self._path, decode=self._decode)
        return chain.from_iterable(io.StringIO(block.text, newline="\n") for block in blocks)

    def _decode_sample(self) -> str:
        try:
            return self._sample.decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError:
            return self._sample.decode("cp1252", "replace").replace("\r\n", "\n")

    def _decode(self, raw: bytes, first_line: int) -> str:
        try:
            text = raw.decode(self.encoding if self._detects else "utf-8")
        except UnicodeDecodeError as error:
            text = self._decode_otherwise(raw, error, first_line)
        self._is_ascii = self._is_ascii and raw.isascii()
        if "\0" in text:
            line = first_line + text[: text.index("\0")].count("\n")
            problem = "has a NUL character: a binary file, or text in another encoding"
            raise InputError(problem, path=self._path, line=line)
        return text

    def _decode_otherwise(self, raw: bytes, error: UnicodeDecodeError, first_line: int) -> str:
        """Decode a block as windows-1252 if nothing before contradicts that."""
        line = first_line + raw.count(b"\n", 0, error.start)
        byte = f"byte 0x{raw[error.start]:02x}"
        letters = [letter for letter in raw.decode("utf-8", "replace") if letter > "\x7f"]
        # A damaged byte between letters of UTF-8 is no sign of another encoding.
        is_utf_8 = not self._is_ascii or letters.count("\ufffd") * 2 < len(letters)
        if self.encoding != "utf-8" or is_utf_8:
            name = "UTF-8" if self.encoding == "utf-8" else "windows-1252"
            raise InputError(f"{byte} is not {name}", path=self._path, line=line)
        try:
            text = raw.decode("cp1252")
        except UnicodeDecodeError:
            problem = f"{byte} is neither UTF-8 nor windows-1252: give the encoding (--encoding)"
            raise InputError(problem, path=self._path, line=line) from None
        self.encoding = "cp1252"
        return text


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
    text = TableText(stream, context.path, context.table.encoding)
    return read_table_text(text, context)


def read_csv_header(stream: io.BufferedReader, context: ReadContext) -> list[str]:
    """Read the names of the columns.

    Args:
        stream: The bytes of the file.
        context: The file, and its encoding if it is known.

    Returns:
        The cells of the first row.

    Raises:
        InputError: The file is not text.
    """
    return TableText(stream, context.path, context.table.encoding).peek_header()


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
        note = f"read as triples ({text.dialect.description}), header skipped"
        context.counts.notes.append(f"{context.path.name}: {note}")
        return
    if not header:
        return
    converter: RowConverter | None = None
    for rows, lines in read_rows(text, context):
        if converter is None:
            converter = RowConverter(header, context)
        yield converter.convert(list(zip(*rows, strict=True)), lines)
    if converter is None:
        raise InputError("has a header but no rows", path=context.path)
    converter.finish(f"a table ({text.dialect.description}, {describe_encoding(text.encoding)})")


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
    width = 0
    rows: list[list[str]] = []
    lines: list[int] = []
    for row, line in iterate_rows(text, context):
        if len(row) == width:
            rows.append(row)
            lines.append(line)
        elif not width:
            width = len(row)
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


def describe_encoding(encoding: str) -> str:
    """Name an encoding as people do.

    Args:
        encoding: The name in Python.

    Returns:
        The name for messages.

    >>> describe_encoding("cp1252"), describe_encoding("utf-16-le")
    ('windows-1252', 'UTF-16-LE')
    """
    return "windows-1252" if encoding == "cp1252" else encoding.upper()


def strip_cells(row: Sequence[str]) -> list[str]:
    """Remove the spaces around the cells of a row.

    Args:
        row: The cells.

    Returns:
        The cells without them.
    """
    return [cell.strip() for cell in row]


def _describe_csv_error(error: csv.Error, path: Path, line: int) -> InputError:
    if "field limit" in str(error):
        limit = f"{MAX_CELL_CHARACTERS >> 20} MiB"
        problem = f"a cell is longer than {limit} (is a quotation mark missing?)"
    elif _END_INSIDE in str(error):
        problem = "a quotation mark that is opened here is never closed"
    else:
        problem = f"not CSV ({error})"
    return InputError(problem, path=path, line=line)


class _TranscodedStream(io.RawIOBase):
    """The bytes of a text in UTF-8."""

    def __init__(self, stream: io.BufferedReader, encoding: str, path: Path) -> None:
        self._stream, self._encoding, self._path = stream, encoding, path
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._left, self._line = memoryview(b""), 1

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        while not self._left:
            raw = self._stream.read(BLOCK_BYTES)
            try:
                text = self._decoder.decode(raw, final=not raw)
            except UnicodeDecodeError as error:
                problem = f"is not {describe_encoding(self._encoding)} ({error.reason})"
                raise InputError(problem, path=self._path, line=self._line) from None
            self._line += text.count("\n")
            # A surrogate that stands alone is no text.
            self._left = memoryview(text.encode("utf-8", "replace"))
            if not raw:
                break
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count
