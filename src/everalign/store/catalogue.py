"""What the store asks of its database and writes to it.

Rows are only ever added, each with the version that it came with. So a reader that leaves out
what is newer than the version it began with sees one state of things, whatever a writer does.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from everalign.ledger import Event, Kind
from everalign.store.database import Database
from everalign.store.records import Delta, Json, Roll, Version

_KINDS = {kind.value: kind for kind in Kind}


class DeltaRow(NamedTuple):
    """A delta as the catalogue knows it: all but its arrays and names."""

    number: int
    digest: str
    source: str
    counts: dict[str, int]
    files: dict[str, str]
    full: bool
    asks_method: bool


class Catalogue:
    """The tables; for a reader as they were when it opened them."""

    def __init__(self, database: Database, *, write: bool) -> None:
        self._database = database
        self._pinned = None if write else self._last_version()

    @property
    def horizon(self) -> int:
        """The last version to be seen; -1 before the first."""
        return self._last_version() if self._pinned is None else self._pinned

    def settings(self) -> dict[str, str]:
        """What was set when the state was made."""
        return dict(self._database.rows("SELECT name, value FROM setting"))

    def versions(self) -> list[Version]:
        """All versions, oldest first."""
        sql = """
            SELECT version.number, made_at, digest, info
            FROM version LEFT JOIN delta ON delta.version = version.number
            WHERE version.number <= ? ORDER BY version.number
        """
        rows = self._database.rows(sql, self.horizon)
        return [
            Version(number, made_at, digest, json.loads(info))
            for number, made_at, digest, info in rows
        ]

    def version_files(self, version: int) -> tuple[int, dict[str, str]] | None:
        """The last version up to this one that brought arrays, and their checksums."""
        return self._last_files("files", version)

    def view_files(self, version: int) -> tuple[int, dict[str, str]] | None:
        """The last version up to this one whose view was kept, and its checksums."""
        return self._last_files("view_files", version)

    def names(self, roll: Roll) -> list[str]:
        """The names of one side and sort, in the order of their ids."""
        sql = """
            SELECT text FROM name WHERE side = ? AND sort = ?
            AND delta <= (SELECT max(number) FROM delta WHERE version <= ?) ORDER BY id
        """
        return self._database.column(sql, *roll, self.horizon)

    def count_names(self, roll: Roll, version: int) -> int:
        """How many names of one side and sort were known at a version."""
        sql = """
            SELECT count(*) FROM name WHERE side = ? AND sort = ?
            AND delta <= (SELECT max(number) FROM delta WHERE version <= ?)
        """
        count: int = self._database.value(sql, *roll, version)
        return count

    def names_of_delta(self, roll: Roll, delta: int) -> list[str]:
        """The names of one side and sort that a delta brought."""
        sql = "SELECT text FROM name WHERE side = ? AND sort = ? AND delta = ? ORDER BY id"
        return self._database.column(sql, *roll, delta)

    def next_delta(self) -> int:
        """The number that the next delta will have."""
        number: int = self._database.value("SELECT coalesce(max(number) + 1, 0) FROM delta")
        return number

    def pending(self) -> DeltaRow | None:
        """The delta that is journaled and not yet applied."""
        rows = self._deltas("version IS NULL")
        return rows[0] if rows else None

    def deltas(self) -> list[DeltaRow]:
        """The applied deltas, in the order they were applied."""
        return self._deltas("version <= ?", self.horizon)

    def applied(self, digest: str) -> int | None:
        """The version that applied the delta with this content."""
        sql = "SELECT version FROM delta WHERE digest = ? AND version <= ?"
        version: int | None = self._database.value(sql, digest, self.horizon)
        return version

    def events(
        self, first: int, last: int, left: int | None = None, right: int | None = None
    ) -> list[Event]:
        """The events of a range of versions, of any or of one entity on either side."""
        chosen = {"left_id": left, "right_id": right}
        ids = {column: entity for column, entity in chosen.items() if entity is not None}
        sql = f"""
            SELECT version, kind, left_id, right_id, score, reason, other_left, other_right
            FROM event WHERE version BETWEEN ? AND ?
            {" ".join(f"AND {column} = ?" for column in ids)} ORDER BY number
        """
        rows = self._database.rows(sql, first, min(last, self.horizon), *ids.values())
        return [Event(version, _KINDS[kind], *rest) for version, kind, *rest in rows]

    def add_delta(self, number: int, delta: Delta, files: Mapping[str, str]) -> None:
        """Enter a delta as pending, with its names."""
        counts, checksums = json.dumps(dict(delta.counts)), json.dumps(files)
        with self._database.transaction() as connection:
            connection.execute(
                """INSERT INTO delta
                (number, digest, source, counts, files, is_full, asks_method)
                VALUES (?, ?, ?, ?, ?, ?, ?)""",
                (
                    number,
                    delta.digest,
                    delta.source,
                    counts,
                    checksums,
                    delta.full,
                    delta.asks_method,
                ),
            )
            for roll, names in delta.new_names.items():
                _add_names(connection, roll, names, number)

    def add_version(
        self,
        files: Mapping[str, str],
        view_files: Mapping[str, str] | None,
        events: Iterable[Event],
        info: Mapping[str, Json],
    ) -> None:
        """Enter the next version, its events, and that it has applied the pending delta."""
        number = self.horizon + 1
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        view = None if view_files is None else json.dumps(view_files)
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO version VALUES (?, ?, ?, ?, ?)",
                (number, made_at, json.dumps(info), json.dumps(files), view),
            )
            connection.execute("UPDATE delta SET version = ? WHERE version IS NULL", (number,))
            connection.executemany("INSERT INTO event VALUES (NULL, ?,?,?,?,?,?,?,?)", events)

    def _last_version(self) -> int:
        # A writer asks each time: a number remembered would be wrong after an interrupt that
        # came between the end of the transaction and the remembering.
        number: int = self._database.value("SELECT coalesce(max(number), -1) FROM version")
        return number

    def _last_files(self, column: str, version: int) -> tuple[int, dict[str, str]] | None:
        sql = f"""
            SELECT number, {column} FROM version
            WHERE number <= ? AND {column} <> '{{}}' ORDER BY number DESC LIMIT 1
        """
        rows = self._database.rows(sql, min(version, self.horizon))
        return (rows[0][0], json.loads(rows[0][1])) if rows else None

    def _deltas(self, condition: str, *values: int) -> list[DeltaRow]:
        is_full = "is_full" if self._database.format > 1 else "0"
        asks_method = "asks_method" if self._database.format > 2 else "1"
        sql = f"""
            SELECT number, digest, source, counts, files, {is_full}, {asks_method} FROM delta
            WHERE {condition} ORDER BY number
        """
        rows = self._database.rows(sql, *values)
        return [
            DeltaRow(
                number,
                digest,
                source,
                json.loads(counts),
                json.loads(files),
                bool(full),
                bool(asks),
            )
            for number, digest, source, counts, files, full, asks in rows
        ]


def _add_names(
    connection: sqlite3.Connection, roll: Roll, names: Sequence[str], delta: int
) -> None:
    sql = "SELECT coalesce(max(id) + 1, 0) FROM name WHERE side = ? AND sort = ?"
    first = connection.execute(sql, roll).fetchone()[0]
    connection.executemany(
        "INSERT INTO name VALUES (?, ?, ?, ?, ?)",
        ((*roll, number, text, delta) for number, text in enumerate(names, first)),
    )
