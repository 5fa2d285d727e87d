"""The options that say how tables are read, of both sides or of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from everalign.io import Table

Command = TypeVar("Command", bound=Callable[..., Any])

_SIDES = ("left", "right")
_PREFIX = "[left:|right:]"
_OPTIONS = {
    "id_column": (
        "COLUMN",
        "Column that names the rows of a table; # for row numbers. Default: a column named id or "
        "alike. Each table takes the first it has. May be repeated.",
    ),
    "link_columns": (
        "COLUMNS",
        "Columns, separated by commas, whose cells name other rows by their ids. Others are "
        "attributes. May be repeated.",
    ),
    "split": (
        "COLUMN=TEXT",
        "Column whose cells are lists, and the text between the items. May be repeated.",
    ),
    "base": (
        "IRI",
        "What IRIs of rows and columns begin with; {table} in it is the file name without "
        "suffixes. Default: the id itself is the name. May be repeated.",
    ),
    "encoding": ("NAME", "Encoding of tables. Default: detected. May be repeated."),
}


@dataclass(frozen=True)
class TableOptions:
    """The values of the table options, for each side.

    Args:
        values: For each side and option, the values that were given for this side.
        shared: For each option, the values that were given for both sides.
    """

    values: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    shared: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def make_table(self, side: str, paths: Sequence[Path]) -> Table:
        """Say how the files of a side are read if they are tables.

        Args:
            side: "left" or "right".
            paths: The files.

        Returns:
            The files with their options.

        Raises:
            ConfigError: A value is not valid.
        """
        from everalign.io import Table, list_parts

        own, shared = self.values.get(side, {}), self.shared
        if not any(own.values()) and not any(shared.values()):
            return Table(list(paths))
        # A column that is named for both sides may be in the tables of one of them.
        columns = {name for part in list_parts(list(paths)) for name in part.list_columns()}
        known = {*columns, "#"}

        def choose(option: str) -> list[str]:
            common = shared.get(option, ())
            named = [value for value in common if _name_column(option, value, known) in known]
            return [*own.get(option, ()), *named]

        return Table(
            list(paths),
            id_column=choose("id_column"),
            link_columns=choose("link_columns"),
            split=dict(map(_parse_split, choose("split"))),
            base=_get_last(own, shared, "base"),
            encoding=_get_last(own, shared, "encoding"),
        )

    def check(self, paths: Sequence[Path]) -> None:
        """Check that each column that is named for both sides is in one of the tables.

        Args:
            paths: The files of both sides.

        Raises:
            InputError: No table has a column.
            ConfigError: A value is not valid.
        """
        from everalign.io import Table, check_columns, list_parts

        shared = Table(
            id_column=self.shared.get("id_column", ()),
            link_columns=self.shared.get("link_columns", ()),
            split=dict(map(_parse_split, self.shared.get("split", ()))),
        )
        if paths and shared.list_missing_columns(()):
            columns = [name for part in list_parts(list(paths)) for name in part.list_columns()]
            check_columns(shared.list_missing_columns(columns), columns)


def add_table_options(command: Command) -> Command:
    """Add the table options to a command, which is given them as ``tables``.

    Args:
        command: A function with a parameter ``tables`` of type `TableOptions`.

    Returns:
        The function with the options in its place.
    """

    @wraps(command)
    def run(*arguments: Any, **parameters: Any) -> Any:
        given = {option: parameters.pop(option) for option in _OPTIONS}
        return command(*arguments, tables=_sort_by_side(given), **parameters)

    decorated: Any = run
    for option, (metavar, text) in reversed(_OPTIONS.items()):
        decorated = click.option(
            f"--{option.replace('_', '-')}",
            multiple=True,
            metavar=_PREFIX + metavar,
            help=text,
        )(decorated)
    return decorated  # type: ignore[no-any-return]


def _sort_by_side(given: Mapping[str, Sequence[str]]) -> TableOptions:
    values: dict[str, dict[str, list[str]]] = {side: {} for side in _SIDES}
    shared: dict[str, list[str]] = {}
    for option, texts in given.items():
        for text in texts:
            side, colon, rest = text.partition(":")
            is_sided = bool(colon) and side in _SIDES
            target = values[side] if is_sided else shared
            value = rest if is_sided else text
            parts = value.split(",") if option == "link_columns" else [value]
            target.setdefault(option, []).extend(parts)
    return TableOptions(values, shared)


def _get_last(
    own: Mapping[str, Sequence[str]], shared: Mapping[str, Sequence[str]], option: str
) -> str | None:
    given = own.get(option) or shared.get(option)
    return given[-1] if given else None


def _name_column(option: str, value: str, known: set[str]) -> str:
    """Get the column that a value is about."""
    if option == "id_column" or value in known:
        return value
    # A separator may be an equals sign, the name of a table is not.
    return value.partition("=")[0] if option == "split" else value.rpartition("=")[0]


def _parse_split(text: str) -> tuple[str, str]:
    column, equals, separator = text.partition("=")
    if not column or not equals or not separator:
        raise click.UsageError(
            f"expected --split COLUMN=TEXT, such as authors=',', found {text!r}"
        )
    return column, separator.replace("\\t", "\t").replace("\\n", "\n")
