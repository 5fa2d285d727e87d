"""The queries of the database: settings, names, deltas, versions and events.

Every row has the version it came with, and rows are only ever added. So a reader that ignores what
is newer than the version it started with sees one consistent state, whatever a writer does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from everalign.state.database import Database
from everalign.state.deltas import Delta, Json, NameList, Version
from everalign.state.ledger import EventKind, LedgerEvent
from everalign.state.names import (
    StoredNames,
    count_names,
    insert_names,
    open_names,
    read_delta_names,
)

# Looking a kind up here is faster than calling the enum, once for each event of a long history.
_EVENT_KINDS = {kind.value: kind for kind in EventKind}


class DeltaRow(NamedTuple):
    """A row of the table `delta`: a delta without its arrays and names."""

    number: int
    digest: str
    source: str
    counts: dict[str, int]
    files: dict[str, str]
    rescore_all: bool
    runs_method: bool


class Catalogue:
    """Reads and adds rows; a reader sees them as they were when it started.

    Args:
        database: The open database.
        write: Whether rows may be added.
    """

    def __init__(self, database: Database, *, write: bool) -> None:
        self._database = database
        self._pinned_version = None if write else self._read_last_version()

    @property
    def last_version(self) -> int:
        """The last version that is visible; -1 before the first."""
        return self._read_last_version() if self._pinned_version is None else self._pinned_version

    def read_settings(self) -> dict[str, str]:
        """Read the settings that the state directory was created with.

        Returns:
            The values by name.
        """
        return dict(self._database.fetch_rows("SELECT name, value FROM setting"))

    def read_versions(self) -> list[Version]:
        """Read all versions.

        Returns:
            The visible versions, oldest first.
        """
        # A left join, since a version need not have applied a delta.
        sql = """
            SELECT version.number, made_at, digest, info
            FROM version LEFT JOIN delta ON delta.version = version.number
            WHERE version.number <= ? ORDER BY version.number
        """
        return [
            Version(number, made_at, digest, json.loads(info))
            for number, made_at, digest, info in self._database.fetch_rows(sql, self.last_version)
        ]

    def find_version_files(self, version: int) -> tuple[int, dict[str, str]] | None:
        """Find the arrays that the method had stored at a version.

        Args:
            version: The version.

        Returns:
            The last version up to this one that has arrays, and their checksums by name.
        """
        return self._find_last_files("files", version)

    def find_link_files(self, version: int) -> tuple[int, dict[str, str]] | None:
        """Find the stored links in force that are nearest to a version.

        Args:
            version: The version.

        Returns:
            The last version up to this one whose links were stored, and the checksums by name.
        """
        return self._find_last_files("link_files", version)

    def open_names(self, name_list: NameList) -> StoredNames:
        """Open the names of one side and kind.

        Args:
            name_list: Side and kind.

        Returns:
            The names that the last visible version has; none of them is read yet.

        Raises:
            StateDamagedError: There are fewer or more names than were written.
        """
        return open_names(self._database, name_list, self.last_version)

    def count_names(self, name_list: NameList, version: int) -> int:
        """Count the names of one side and kind that were known at a version.

        Args:
            name_list: Side and kind.
            version: The version.

        Returns:
            The number of names.
        """
        return count_names(self._database, name_list, version)

    def read_delta_names(self, name_list: NameList, delta: int) -> list[str]:
        """Read the names of one side and kind that came with a delta.

        Args:
            name_list: Side and kind.
            delta: The number of the delta.

        Returns:
            The names in the order of their ids.
        """
        return read_delta_names(self._database, name_list, delta)

    def next_delta_number(self) -> int:
        """Return the number that the next delta will have.

        Returns:
            The number; the first delta has 0.
        """
        number: int = self._database.fetch_value("SELECT coalesce(max(number) + 1, 0) FROM delta")
        return number

    def read_pending_delta(self) -> DeltaRow | None:
        """Read the delta that is not yet applied.

        Returns:
            Its row, or None if every delta is applied.
        """
        rows = self._read_deltas("version IS NULL")
        return rows[0] if rows else None

    def read_applied_deltas(self) -> list[DeltaRow]:
        """Read the applied deltas.

        Returns:
            Their rows, oldest first.
        """
        return self._read_deltas("version <= ?", self.last_version)

    def read_events(
        self, first: int, last: int, left: int | None = None, right: int | None = None
    ) -> list[LedgerEvent]:
        """Read the events of a range of versions.

        Args:
            first: The first version.
            last: The last version.
            left: A left entity; None stands for any.
            right: A right entity; None stands for any.

        Returns:
            The events, oldest first.
        """
        wanted = {"left_id": left, "right_id": right}
        ids = {column: entity for column, entity in wanted.items() if entity is not None}
        # By number and not by version: within a version, events apply in the order of their
        # numbers. Only names of columns become part of the text; values are bound.
        sql = f"""
            SELECT version, kind, left_id, right_id, score, reason, competing_left, competing_right
            FROM event WHERE version BETWEEN ? AND ?
            {" ".join(f"AND {column} = ?" for column in ids)} ORDER BY number
        """
        rows = self._database.fetch_rows(sql, first, min(last, self.last_version), *ids.values())
        return [LedgerEvent(version, _EVENT_KINDS[kind], *rest) for version, kind, *rest in rows]

    def insert_delta(self, number: int, delta: Delta, files: Mapping[str, str]) -> None:
        """Add a pending delta with its new names.

        Args:
            number: Its number.
            delta: The delta.
            files: The checksums of its arrays by name.
        """
        values = (
            number,
            delta.digest,
            delta.source,
            json.dumps(dict(delta.counts)),
            json.dumps(files),
            None,
            delta.rescore_all,
            delta.runs_method,
        )
        # One transaction, so that ids never exist without their names.
        with self._database.transaction() as connection:
            connection.execute("INSERT INTO delta VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
            insert_names(connection, delta.new_names, number)

    def insert_version(
        self,
        files: Mapping[str, str],
        link_files: Mapping[str, str] | None,
        events: Iterable[LedgerEvent],
        info: Mapping[str, Json],
    ) -> None:
        """Add the next version with its events, and mark the pending delta as applied.

        Args:
            files: The checksums of the arrays of the method by name.
            link_files: The checksums of the links in force by name, if they were stored.
            events: The events of the version.
            info: Facts about the version, for people.
        """
        number = self.last_version + 1
        values = (
            number,
            datetime.now(UTC).isoformat(timespec="seconds"),
            json.dumps(info),
            json.dumps(files),
            None if link_files is None else json.dumps(link_files),
        )
        # One transaction: the version, its events and the end of its delta take effect together.
        # At most one delta is pending, so it needs no number here, and NULL lets SQLite number the
        # events in the order in which they are given.
        with self._database.transaction() as connection:
            connection.execute("INSERT INTO version VALUES (?, ?, ?, ?, ?)", values)
            connection.execute("UPDATE delta SET version = ? WHERE version IS NULL", (number,))
            connection.executemany("INSERT INTO event VALUES (NULL, ?,?,?,?,?,?,?,?)", events)

    def _read_last_version(self) -> int:
        # A writer asks each time: a remembered number would be wrong after an interrupt between
        # the end of the transaction and the assignment.
        number: int = self._database.fetch_value("SELECT coalesce(max(number), -1) FROM version")
        return number

    def _find_last_files(self, column: str, version: int) -> tuple[int, dict[str, str]] | None:
        # Neither NULL nor the empty object of a version without arrays.
        sql = f"""
            SELECT number, {column} FROM version
            WHERE number <= ? AND {column} <> '{{}}' ORDER BY number DESC LIMIT 1
        """
        rows = self._database.fetch_rows(sql, min(version, self.last_version))
        return (rows[0][0], json.loads(rows[0][1])) if rows else None

    def _read_deltas(self, condition: str, *values: int) -> list[DeltaRow]:
        sql = f"""
            SELECT number, digest, source, counts, files, rescore_all, runs_method FROM delta
            WHERE {condition} ORDER BY number
        """
        return [
            DeltaRow(
                number,
                digest,
                source,
                json.loads(counts),
                json.loads(files),
                bool(rescore_all),
                bool(runs_method),
            )
            for number, digest, source, counts, files, rescore_all, runs_method in (
                self._database.fetch_rows(sql, *values)
            )
        ]
