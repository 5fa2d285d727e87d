"""Rows of a table as statements about entities."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

from pyoxigraph import Literal

from everalign.errors import InputError
from everalign.io.filters import ReadContext, describe_known_rows
from everalign.io.streams import COMPRESSION_SUFFIXES
from everalign.io.table_source import ROW_NUMBER, check_header, make_id_error
from everalign.io.terms import Statements, Triple, shorten_text, strip_brackets

ROWS_PER_BATCH = 1000

_XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBER_STARTS = frozenset("+-0123456789")
# Leading zeros and many digits make an identifier, which is no number.
_TYPED_TEXT = re.compile(
    r"(?P<integer>[+-]?(?:0|[1-9]\d{0,14}))"
    r"|(?P<decimal>[+-]?(?:0|[1-9]\d{0,14})\.\d{1,15})"
    r"|(?P<date>\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))"
    r"|(?P<dateTime>\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T\d\d:\d\d:\d\d(?:\.\d+)?"
    r"(?:Z|[+-]\d\d:\d\d)?)",
    re.ASCII,
)
# In this order: a truth value is an int in Python, and a time stamp is a date.
_XSD_NAMES = {
    bool: "boolean",
    int: "integer",
    float: "double",
    Decimal: "decimal",
    datetime: "dateTime",
    date: "date",
    time: "time",
}


class RowConverter:
    """Turns the rows of one table into statements, batch by batch.

    Args:
        header: The names of the columns; a column without a name is left out.
        context: The file, how its columns are read, and where to report errors.

    Raises:
        InputError: Two columns have the same name, or no column names the rows.
    """

    def __init__(self, header: Sequence[str], context: ReadContext) -> None:
        self._context, self._table = context, context.table
        self._name = get_table_name(context.path)
        check_header(header, context.path)
        id_column = context.table.find_id_column(header)
        if id_column is None:
            raise make_id_error(header, context.path)
        self._header, self._id_column = header, id_column
        self._links = context.table.find_link_columns(header)
        self._first_rows: dict[str, int] = {}
        self._row_count = 0

    def convert(
        self, columns: Sequence[Sequence[Any]], places: Sequence[int], *, is_text: bool = True
    ) -> Statements:
        """Convert some rows.

        Args:
            columns: The cells of each column: text, or values of Python with None for no value.
            places: The number of the line or row of each, for messages.
            is_text: Whether all cells are text and the places are line numbers.

        Returns:
            The statements about these rows.

        Raises:
            InputError: A row has no id or that of another row, and errors are not skipped; or a
                column has values that cannot be read.
        """
        heads = self._name_rows(columns, places, is_text)
        statements = Statements([], [])
        for column, cells in zip(self._header, columns, strict=True):
            if not column or column == self._id_column:
                continue
            name = self._table.name_entity(column, self._name)
            separator = self._table.split.get(column)
            is_split = separator is not None or not is_text
            try:
                if column in self._links:
                    rows = _split_cells(heads, cells, separator)
                    target = self._links[column] or self._name
                    statements.triples.extend(self._iterate_links(name, target, rows))
                elif is_split:
                    statements.literals.extend(
                        (head, name, literal)
                        for head, cell in _split_cells(heads, cells, separator)
                        if (literal := format_value(cell))
                    )
                else:
                    # A list: most cells are converted here, and a generator is slower.
                    statements.literals.extend(
                        [
                            (head, name, literal)
                            for head, literal in zip(heads, format_texts(cells), strict=True)
                            if literal and head
                        ]
                    )
            except TypeError as error:
                problem = f"the column {column!r} cannot be read: {error}"
                raise InputError(problem, path=self._context.path) from None
        return statements

    def finish(self, kind: str) -> None:
        """Tell how the table was read, once all rows are converted.

        Args:
            kind: What was recognised of the file.
        """
        counts, header = self._context.counts, [column for column in self._header if column]
        attributes = [c for c in header if c not in self._links and c != self._id_column]
        by_number = self._id_column == ROW_NUMBER
        parts = [
            f"read as {kind}, {self._row_count} row{'' if self._row_count == 1 else 's'}",
            "rows named by their number" if by_number else f"id column {self._id_column!r}",
            f"attributes {shorten_text(', '.join(attributes), 100)}" if attributes else "",
            f"links {shorten_text(', '.join(self._links), 100)}" if self._links else "",
        ]
        if len(header) < len(self._header):
            parts.append(f"{len(self._header) - len(header)} without a name left out")
        if known := len(counts.row_names.intersection(self._first_rows)):
            parts.append(describe_known_rows(known))
        counts.row_names.update(self._first_rows)
        self._context.add_note(", ".join(filter(None, parts)))

    def _name_rows(
        self, columns: Sequence[Sequence[Any]], places: Sequence[int], is_text: bool
    ) -> list[str | None]:
        """Name the entity of each row; None for a row with an error that is skipped."""
        first_row = self._row_count + 1
        self._row_count += len(places)
        if self._id_column == ROW_NUMBER:
            ids = [str(number) for number in range(first_row, first_row + len(places))]
        else:
            ids = list(map(format_id, columns[self._header.index(self._id_column)]))
        names: list[str | None] = []
        for text, place in zip(ids, places, strict=True):
            row = self._table.name_entity(text, self._name) if text else ""
            first = self._first_rows.setdefault(row, place) if row else None
            if first == place:
                names.append(row)
                continue
            names.append(None)
            problem = f"the id (column {self._id_column!r}) is empty"
            if row:
                unit = "line" if is_text else "row"
                problem = f"the id {shorten_text(text)} is also that of {unit} {first}"
            if is_text:
                error = InputError(problem, path=self._context.path, line=place)
            else:
                error = InputError(f"row {place}: {problem}", path=self._context.path)
            self._context.report_error(error)
        return names

    def _iterate_links(
        self, name: str, target: str, rows: Iterable[tuple[str, Any]]
    ) -> Iterator[Triple]:
        for head, cell in rows:
            if text := format_id(cell):
                yield head, name, self._table.name_entity(text, target)


def check_triple_rows(
    rows: Iterable[tuple[Sequence[Any], int]],
    columns: Sequence[str],
    context: ReadContext,
    *,
    are_lines: bool = False,
) -> list[Triple]:
    """Check the rows of a table of triples, and remove the angle brackets of IRIs.

    Args:
        rows: The three cells of each row, and the number of its line or row.
        columns: The names of the columns.
        context: The file and where to report errors.
        are_lines: Whether the numbers are those of lines.

    Returns:
        The rows in which no cell is empty.

    Raises:
        InputError: A cell is empty, and errors are not skipped.
    """
    triples = []
    for fields, place in rows:
        head, relation, tail = fields
        if head and relation and tail:
            triples.append((strip_brackets(head), strip_brackets(relation), strip_brackets(tail)))
            continue
        problem = f"the {columns[[bool(field) for field in fields].index(False)]} is empty"
        if are_lines:
            context.report_error(InputError(problem, path=context.path, line=place))
        else:
            context.report_error(InputError(f"row {place}: {problem}", path=context.path))
    return triples


def format_id(value: Any) -> str:
    """Write a value of an id column, or of one that names other entities, as text.

    Args:
        value: The cell; None is no value.

    Returns:
        The text without spaces around it, empty if there is no value.

    >>> format_id(" Q42 "), format_id(7.0), format_id(None)
    ('Q42', '7', '')
    """
    if isinstance(value, str):
        return value.strip()
    # pandas turns whole numbers into floats where a column has empty cells.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if _is_missing(value) else str(value)


def format_text(cell: str) -> str:
    """Write the text of a cell as a literal; numbers and dates are recognised by their form.

    Args:
        cell: The text.

    Returns:
        The literal in canonical form, empty if the text is blank.

    >>> format_text(" Ada "), format_text("007"), format_text(" ")
    ('"Ada"', '"007"', '')
    >>> format_text("12.50")
    '"12.50"^^<http://www.w3.org/2001/XMLSchema#decimal>'
    """
    text = cell.strip()
    return _format_short(text) if len(text) <= _MAX_CACHED_LENGTH else _format_stripped(text)


def format_texts(cells: Sequence[str]) -> list[str]:
    """Write the cells of a column as `format_text` does, faster.

    Args:
        cells: The texts.

    Returns:
        A literal for each, empty where the text is blank.
    """
    texts = [cell.strip() for cell in cells]
    # What needs an escape is looked for in all cells at once.
    joined = "".join(texts)
    if not joined.isprintable() or '"' in joined or "\\" in joined:
        return [format_text(text) for text in texts]
    return [
        (f'"{text}"' if text[0] not in _NUMBER_STARTS else format_text(text)) if text else ""
        for text in texts
    ]


def format_value(value: Any) -> str:
    """Write a value of a typed column as a literal.

    Args:
        value: Text, a number, a truth value, a date or a time; None is no value.

    Returns:
        The literal in canonical form, empty if there is no value.

    Raises:
        TypeError: The value has another type.

    >>> format_value(True), format_value(float("nan"))
    ('"true"^^<http://www.w3.org/2001/XMLSchema#boolean>', '')
    """
    if isinstance(value, str):
        return format_text(value)
    if _is_missing(value):
        return ""
    if hasattr(value, "item"):  # a number of numpy
        value = value.item()
    for kind, name in _XSD_NAMES.items():
        if isinstance(value, kind):
            return f'"{_format_lexical(value)}"^^<{_XSD}{name}>'
    raise TypeError(f"values of type {type(value).__name__} are not supported")


def get_table_name(path: Path) -> str:
    """Get the name of the table in a file.

    Args:
        path: The file.

    Returns:
        The file name without its suffix and that of a compression.

    >>> get_table_name(Path("data/people.csv.gz"))
    'people'
    """
    name = path.with_suffix("") if path.suffix.lower() in COMPRESSION_SUFFIXES else path
    return name.stem


def _format_stripped(text: str) -> str:
    if not text:
        return ""
    if text[0] in _NUMBER_STARTS and (match := _TYPED_TEXT.fullmatch(text)):
        return f'"{text}"^^<{_XSD}{match.lastgroup}>'
    # Printable text has no control characters, which canonical form escapes.
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return str(Literal(text))


# Numbers, dates and categories come again and again.
_MAX_CACHED_LENGTH = 40
_format_short = lru_cache(maxsize=1 << 14)(_format_stripped)


def _split_cells(
    heads: Sequence[str | None], cells: Sequence[Any], separator: str | None
) -> Iterator[tuple[str, Any]]:
    for head, cell in zip(heads, cells, strict=True):
        if head is None:
            continue
        if separator is not None and isinstance(cell, str):
            for part in cell.split(separator):
                yield head, part
        elif isinstance(cell, list | tuple):
            yield from ((head, part) for part in cell)
        else:
            yield head, cell


def _is_missing(value: Any) -> bool:
    # Not a number and not a time are the only values that differ from themselves.
    return value is None or bool(value != value)  # noqa: PLR0124


def _format_lexical(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        # As N-Triples writes the infinities.
        return repr(value) if isfinite(value) else "INF" if value > 0 else "-INF"
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.isoformat() if isinstance(value, date | time) else str(value)
