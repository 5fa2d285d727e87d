"""What a table stands for: which column names its rows, and which columns name other entities."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from everalign.errors import ConfigError, InputError
from everalign.io.terms import is_absolute_iri, shorten_text, strip_brackets

ROW_NUMBER = "#"
"""In place of an id column: rows are named by their number."""

TRIPLE_COLUMNS = (("head", "relation", "tail"), ("subject", "predicate", "object"))
"""The names of the columns of a table of triples."""

# The part of a base that stands for the name of the table.
_TABLE_FIELD = "{table}"
_ID_NAMES = ("id", "@id", "_id", "iri", "uri", "identifier", "uuid", "key", "url")
# Such as product_id, idAbt, ProductID; only for the first column: others name other tables' rows.
_ID_LIKE = re.compile(r"(?i:.+[ _.-](?:id|iri|uri|key|identifier))|id[A-Z_ .-].*|.*[a-z]I[dD]")
MAX_SHOWN_DIGITS = 30  # of a number in an error message
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*")
# Allowed in a path segment of an IRI, beside letters, digits and what `quote` always keeps.
_SAFE_CHARACTERS = "!$&'()*+,;=:@"


@dataclass(frozen=True)
class Table:
    """A table whose rows are entities: files, or a data frame, and how its columns are read.

    Every column is an attribute but the one that names the rows and those that name other
    entities. An empty cell is no statement.

    Args:
        source: A file, a pattern, a list of both, or a data frame of any library that narwhals
            knows (pandas, polars, pyarrow and others).
        id_column: The column that names the rows, or several of which each table has one;
            ``#`` names rows by their number. By default a column that is called ``id`` or alike.
        link_columns: Columns whose cells name other entities, by the values in their id column.
            ``column=table`` says in which table, where names of tables are part of the base.
        split: Separators of the columns whose cells are lists.
        base: What IRIs of rows and columns begin with; ``{table}`` in it stands for the file
            name without suffixes. Without it, names are the values of the id column themselves.

    Raises:
        ConfigError: A value is not valid.

    >>> Table("people.csv", id_column="nr", link_columns=["city"], split={"tags": ","}).split
    {'tags': ','}
    """

    source: Any = ()
    id_column: str | Sequence[str] = ()
    link_columns: str | Sequence[str] = ()
    split: Mapping[str, str] = field(default_factory=dict)
    base: str | None = None

    def __post_init__(self) -> None:
        for column, separator in self.split.items():
            if not separator:
                raise ConfigError(f"the separator of the column {column!r} is empty")
        if self.base is not None and not is_absolute_iri(self._fill_base("x") + "x"):
            raise ConfigError(f"the base {shorten_text(self.base)} is not an absolute IRI")

    @property
    def id_columns(self) -> tuple[str, ...]:
        """The columns given as id columns."""
        given = self.id_column
        return (given,) if isinstance(given, str) else tuple(given)

    @property
    def uses_table_name(self) -> bool:
        """Whether the names of tables are part of the base."""
        return self.base is not None and _TABLE_FIELD in self.base

    def find_id_column(self, header: Sequence[str]) -> str | None:
        """Find the column that names the rows.

        Args:
            header: The names of the columns.

        Returns:
            The first of the columns given that the table has, `ROW_NUMBER` if that is given, else
            a column that is named like an id; None if there is none.

        >>> Table().find_id_column(["name", "ID"]), Table().find_id_column(["idAbt", "name"])
        ('ID', 'idAbt')
        """
        for column in self.id_columns:
            if column in header or column == ROW_NUMBER:
                return column
        lowered = [column.lower() for column in header]
        for name in _ID_NAMES:
            if name in lowered:
                return header[lowered.index(name)]
        return header[0] if header and _ID_LIKE.fullmatch(header[0]) else None

    def find_link_columns(self, header: Sequence[str]) -> dict[str, str | None]:
        """Find the columns of a table whose cells name other entities.

        Args:
            header: The names of the columns.

        Returns:
            For each, the table whose rows it names, None for any.
        """
        given = self.link_columns
        found: dict[str, str | None] = {}
        for entry in (given,) if isinstance(given, str) else given:
            column, equals, target = entry.rpartition("=")
            if entry in header:
                found[entry] = None
            elif equals and column in header:
                found[column] = target
        return found

    def list_missing_columns(self, columns: Iterable[str]) -> list[str]:
        """List the columns that were named but do not exist.

        Args:
            columns: The columns of all tables.

        Returns:
            The names that are not among them.
        """
        known = {*columns, ROW_NUMBER}
        links = self.link_columns
        linked = [links] if isinstance(links, str) else links
        missing = [name for name in (*self.id_columns, *self.split) if name not in known]
        return missing + [
            name for name in linked if name not in known and name.rpartition("=")[0] not in known
        ]

    def name_entity(self, text: str, table: str) -> str:
        """Name the entity of a row.

        Args:
            text: The value in the id column, or in a column that names other entities.
            table: The name of the table that has the row.

        Returns:
            The value itself if there is no base or it is an IRI, else an IRI.

        >>> Table(base="http://e.org/{table}/").name_entity("A 1", "part")
        'http://e.org/part/A%201'
        """
        text = strip_brackets(text)
        if self.base is None or ("://" in text and is_absolute_iri(text)):
            return text
        # Letters of all languages stay readable; an IRI may have them.
        return self._fill_base(table) + "".join(
            letter if letter.isalnum() else quote(letter, safe=_SAFE_CHARACTERS) for letter in text
        )

    def _fill_base(self, table: str) -> str:
        return (self.base or "").replace(_TABLE_FIELD, quote(table, safe=""))


def find_triple_columns(header: Sequence[str], *, exact: bool = False) -> tuple[str, ...] | None:
    """Tell whether a table is one of triples.

    Args:
        header: The names of the columns.
        exact: Whether there may be no other columns.

    Returns:
        The names of the three columns as the header has them, None if it is no such table.

    >>> find_triple_columns(["Subject", "predicate", "object", "graph"])
    ('Subject', 'predicate', 'object')
    """
    lowered = [column.lower() for column in header]
    if exact and len(header) != 3:
        return None
    for names in TRIPLE_COLUMNS:
        if set(names) <= set(lowered):
            return tuple(header[lowered.index(name)] for name in names)
    return None


def check_header(header: Sequence[str], path: Path | None, line: int | None = None) -> None:
    """Check that columns can be told apart.

    Args:
        header: The names of the columns, empty for those without a name.
        path: The file, for the error message.
        line: The line number, for the error message.

    Raises:
        InputError: Two columns have the same name, or none has one.
    """
    named = [column for column in header if column]
    if not named:
        raise InputError("has no header: no column has a name", path=path, line=line)
    repeated = next((column for column in named if named.count(column) > 1), None)
    if repeated is not None:
        problem = f"two columns are named {shorten_text(repeated)}"
        raise InputError(problem, path=path, line=line)


def make_id_error(header: Sequence[str], path: Path | None) -> InputError:
    """Make the error about a table in which no column names the rows.

    Args:
        header: The names of the columns.
        path: The file, for the error message.

    Returns:
        The error.
    """
    number = next((column for column in header if _NUMBER.fullmatch(column)), None)
    columns = shorten_text(", ".join(header), 200)
    if number is not None:
        shown = number if len(number) <= MAX_SHOWN_DIGITS else f"{number[:MAX_SHOWN_DIGITS]}…"
        problem = f"has no header: the first line has the number {shown}: {columns}"
        return InputError(f"{problem}; add a line with the names of the columns", path=path)
    problem = f"no column is named like an id: give the id column, of {columns}"
    return InputError(f"{problem}, or {ROW_NUMBER} for row numbers (--id-column)", path=path)
