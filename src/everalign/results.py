"""Lists of results that show as tables in a notebook, and turn into data frames."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

from everalign.errors import ConfigError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Result = TypeVar("Result")

# Rows that a notebook shows; more would make it slow.
SHOWN_ROWS = 20


class ResultList(list[Result]):
    """A list of frozen dataclasses of one type, with a column for each of their fields.

    Args:
        rows: The results.
        row_type: Their type, which says what the columns are if there is no row.

    Example:
        >>> from everalign.types import Link
        >>> links = ResultList([Link("Oslo", "Осло", 0.97, since=0, origin="found")], Link)
        >>> links.to_dicts()[0]["right"], len(links)
        ('Осло', 1)
    """

    def __init__(self, rows: Iterable[Result], row_type: type[Result]) -> None:
        super().__init__(rows)
        self._row_type = row_type

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [field.name for field in fields(self._row_type)]  # type: ignore[arg-type]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Turn the rows into dictionaries.

        Returns:
            A dictionary for each row.
        """
        return [asdict(row) for row in self]  # type: ignore[call-overload]

    def to_columns(self) -> dict[str, list[Any]]:
        """Turn the rows into columns.

        Returns:
            The values of each column, in the order of the rows.
        """
        rows = self.to_dicts()
        return {name: [row[name] for row in rows] for name in self.columns}

    def to_pandas(self) -> pandas.DataFrame:
        """Turn the rows into a data frame of pandas.

        Returns:
            The data frame.

        Raises:
            ConfigError: pandas is not installed.
        """
        return _import_library("pandas").DataFrame(self.to_columns())

    def to_polars(self) -> polars.DataFrame:
        """Turn the rows into a data frame of Polars.

        Returns:
            The data frame.

        Raises:
            ConfigError: Polars is not installed.
        """
        frame: polars.DataFrame = _import_library("polars").DataFrame(
            self.to_columns(), strict=False
        )
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """Turn the rows into a table of Arrow.

        Returns:
            The table.

        Raises:
            ConfigError: pyarrow is not installed.
        """
        return _import_library("pyarrow").table(self.to_columns())

    def _repr_html_(self) -> str:
        """Show the first rows as a table; notebooks call this."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_format_cell(value)}</td>" for value in row.values()) + "</tr>"
            for row in (asdict(row) for row in self[:SHOWN_ROWS])  # type: ignore[call-overload]
        )
        more = len(self) - SHOWN_ROWS
        note = f"<p>and {more:,} more rows</p>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"


def _format_cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else escape(str(value))


def _import_library(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigError(f"this needs {name}: run `pip install {name}`") from error
