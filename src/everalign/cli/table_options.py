"""The options that say how tables are read, of both sides or of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from everalign.cli.inputs import SIDES, Command, split_side

if TYPE_CHECKING:
    from everalign.cli.sources import SourceChoices
    from everalign.io import SourceOptions, Table

_SIDE = "[SIDE=]"
_COLUMN_OPTIONS = ("id_column", "link_columns", "split")
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

    def make_table(
        self, side: str, sources: Sequence[Path | str], opening: SourceOptions
    ) -> Table:
        """Say how the sources of a side are read if they are tables.

        Args:
            side: "left" or "right".
            sources: Files, patterns and URLs.
            opening: How they are opened.

        Returns:
            The sources with their options.

        Raises:
            ConfigError: A value is not valid.
            InputError: A file cannot be read.
        """
        from everalign.io import Table

        own, shared = self.values.get(side, {}), self.shared
        # A column that is named for both sides may be in the tables of one of them.
        columns = _list_columns(sources, opening) if self._names_shared_columns() else []
        known = {*columns, "#"}

        def choose(option: str) -> list[str]:
            common = shared.get(option, ())
            named = [value for value in common if _name_column(option, value, known) in known]
            return [*own.get(option, ()), *named]

        bases = [*shared.get("base", ()), *own.get("base", ())]
        return Table(
            list(sources),
            id_column=choose("id_column"),
            link_columns=choose("link_columns"),
            split=dict(map(_parse_split, choose("split"))),
            base=bases[-1] if bases else None,
        )

    def check(
        self, given: Mapping[str, Sequence[Path | str]], sources: SourceChoices, state: Path
    ) -> SourceChoices:
        """Check that each column that is named for both sides is in one of the tables.

        Args:
            given: Files, patterns and URLs of each side.
            sources: How they are opened.
            state: The state directory, beside which files from servers are kept.

        Returns:
            How they are opened from here on: what was fetched is not fetched again.

        Raises:
            InputError: No table has a column.
            ConfigError: A value is not valid.
        """
        from everalign.io import Table, check_columns

        if not self._names_shared_columns() or not any(given.values()):
            return sources
        shared = Table(
            id_column=self.shared.get("id_column", ()),
            link_columns=self.shared.get("link_columns", ()),
            split=dict(map(_parse_split, self.shared.get("split", ()))),
        )
        columns = [
            column
            for side, entries in given.items()
            if entries
            for column in _list_columns(entries, sources.build_options(side, state))
        ]
        check_columns(shared.list_missing_columns(columns), columns)
        return sources._replace(refresh=False)

    def _names_shared_columns(self) -> bool:
        return any(self.shared.get(option) for option in _COLUMN_OPTIONS)


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
            metavar=_SIDE + metavar,
            help=text,
        )(decorated)
    return decorated  # type: ignore[no-any-return]


def _sort_by_side(given: Mapping[str, Sequence[str]]) -> TableOptions:
    values: dict[str, dict[str, list[str]]] = {side: {} for side in SIDES}
    shared: dict[str, list[str]] = {}
    for option, texts in given.items():
        for text in texts:
            side, value = split_side(text)
            target = shared if side is None else values[side]
            parts = value.split(",") if option == "link_columns" else [value]
            target.setdefault(option, []).extend(parts)
    return TableOptions(values, shared)


def _list_columns(sources: Sequence[Path | str], opening: SourceOptions) -> list[str]:
    from everalign.io import list_parts

    parts = list_parts(list(sources), opening)
    return [column for part in parts for column in part.list_columns(opening.encoding)]


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
