"""The queries of the database: settings, names, deltas, versions and events.

Every row has the version it came with, and rows are only ever added. So a reader that ignores what
is newer than the version it started with sees one consistent state, whatever a writer does.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

from everalign.cardinality import Cardinality
from everalign.causes import RetractionCause
from everalign.config import Config
from everalign.state.checksums import add_checksum, check_rows
from everalign.state.database import Database, build_indexes_after
from everalign.state.decision_table import (
    DecisionChanges,
    DecisionTable,
    write_decision_changes,
)
from everalign.state.deltas import Delta, Json, MethodState, NameList, Side, Version
from everalign.state.digests import (
    compute_names_digest,
    compute_settings_digest,
    compute_version_digest,
)
from everalign.state.inbox import DecisionInbox
from everalign.state.intervals import IntervalChanges, PairStatus, plan_interval_changes
from everalign.state.ledger import EventKind, LedgerEvent
from everalign.state.link_table import (
    LinkTable,
    list_entities,
    write_interval_changes,
)
from everalign.state.names import (
    StoredNames,
    count_names,
    count_names_with,
    insert_names,
    open_names,
    read_delta_names,
)

# Looking a kind up here is faster than calling the enum, once for each event of a long history.
_EVENT_KINDS = {kind.value: kind for kind in EventKind}
_CAUSES = {cause.value: cause for cause in RetractionCause}

# To write the whole database again is worth it for more free pages than this.
MAX_FREE_SHARE = 0.1

_VERSION_COLUMNS = (
    "version.number, made_at, info, version.files, method_state, given_links, found_links,"
    " rejected_pairs, version.inbox_upto, version.digest, version.checksum"
)
_EVENT_COLUMNS = (
    "number, version, kind, left_id, right_id, score, reason, competing_left, competing_right,"
    " decision, cause, checksum"
)


class DeltaRow(NamedTuple):
    """A row of the table `delta`: a delta without its arrays and names."""

    number: int
    digest: str
    source: str
    counts: dict[str, int]
    files: dict[str, str]
    rescore_all: bool
    runs_method: bool
    inbox_upto: int
    names_digest: str
    prefixes: dict[Side, dict[str, str]]


class Catalogue:
    """Reads and adds rows; a reader sees them as they were when it started.

    Args:
        database: The open database.
        write: Whether rows may be added.
    """

    def __init__(self, database: Database, *, write: bool) -> None:
        self._database = database
        self.links = LinkTable(database)
        self.decisions = DecisionTable(database)
        self._pinned_version = None if write else self.read_newest_version()

    @property
    def last_version(self) -> int:
        """The last version that is visible; -1 before the first."""
        return self.read_newest_version() if self._pinned_version is None else self._pinned_version

    @cached_property
    def cardinality(self) -> Cardinality:
        """How many links an entity may have; part of the configuration, which never changes."""
        return Config.parse(self.read_settings().get("config", "")).cardinality

    def read_settings(self) -> dict[str, str]:
        """Read the settings that the state directory was created with.

        Returns:
            The values by name.
        """
        rows = self._database.fetch_rows("SELECT name, value, checksum FROM setting")
        return {row[0]: row[1] for row in check_rows(rows, "setting")}

    def read_versions(self, first: int = 0) -> list[Version]:
        """Read versions.

        Args:
            first: The first of them.

        Returns:
            The visible versions from there on, oldest first.
        """
        # A left join, since a version need not have applied a delta.
        sql = f"""
            SELECT {_VERSION_COLUMNS}, delta.digest
            FROM version LEFT JOIN delta ON delta.version = version.number
            WHERE version.number BETWEEN ? AND ? ORDER BY version.number
        """
        rows = self._database.fetch_rows(sql, first, self.last_version)
        checked = check_rows((row[:-1] for row in rows), "version")
        return [
            Version(row[0], row[1], delta, json.loads(row[2]), MethodState.parse(row[4]), *row[5:])
            for row, (*_, delta) in zip(checked, rows, strict=True)
        ]

    def read_version(self, number: int) -> Version | None:
        """Read one version.

        Args:
            number: Its number.

        Returns:
            The version, or None if there is no such version.
        """
        sql = f"SELECT {_VERSION_COLUMNS} FROM version WHERE number = ?"
        rows = self._database.fetch_rows(sql, number) if number <= self.last_version else []
        versions = [
            Version(row[0], row[1], None, json.loads(row[2]), MethodState.parse(row[4]), *row[5:])
            for row in check_rows(rows, "version")
        ]
        return versions[0] if versions else None

    def find_folding_version(self, decision: int) -> int | None:
        """Find the version that has taken up a decision of the inbox.

        Args:
            decision: The number of the decision.

        Returns:
            The version, or None if the decision is waiting.
        """
        sql = (
            "SELECT number FROM version WHERE inbox_upto >= ? ORDER BY inbox_upto, number LIMIT 1"
        )
        number = self._database.fetch_value(sql, decision)
        return None if number is None or number > self.last_version else int(number)

    def read_files(self, version: int) -> dict[str, str]:
        """Read which files a version has.

        Args:
            version: A visible version.

        Returns:
            The checksums of its files by name.
        """
        sql = f"SELECT {_VERSION_COLUMNS} FROM version WHERE number = ?"
        (row,) = check_rows(self._database.fetch_rows(sql, version), "version")
        files: dict[str, str] = json.loads(row[3])
        return files

    def iterate_files(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Iterate over the files of all versions.

        Yields:
            Each version with the checksums of its files by name.
        """
        sql = f"SELECT {_VERSION_COLUMNS} FROM version WHERE number <= ? ORDER BY number"
        rows = self._database.fetch_rows(sql, self.last_version)
        yield from ((row[0], json.loads(row[3])) for row in check_rows(rows, "version"))

    def find_dropped(self, versions: Collection[int]) -> list[int]:
        """Find versions whose files were removed.

        Args:
            versions: The versions to look at.

        Returns:
            Those among them whose files are gone.
        """
        marks = ", ".join("?" * len(versions))
        sql = f"SELECT version, reason, checksum FROM dropped_files WHERE version IN ({marks})"
        rows = self._database.fetch_rows(sql, *versions)
        return [row[0] for row in check_rows(rows, "dropped_files")]

    def list_dropped(self) -> list[int]:
        """List all versions whose files were removed.

        Returns:
            The versions, ascending.
        """
        sql = "SELECT version, reason, checksum FROM dropped_files ORDER BY version"
        return [row[0] for row in check_rows(self._database.fetch_rows(sql), "dropped_files")]

    def insert_dropped(self, versions: Collection[int], reason: str) -> None:
        """Note that the files of versions are removed.

        Args:
            versions: The versions; some may be noted already.
            reason: Why, for people.
        """
        new = sorted(set(versions) - set(self.find_dropped(versions)))
        with self._database.transaction() as connection:
            connection.executemany(
                "INSERT INTO dropped_files VALUES (?, ?, ?)",
                (add_checksum((version, reason)) for version in new),
            )

    def free_pages(self) -> None:
        """Give pages that the database does not use back to the system, if they are many."""
        free = self._database.fetch_value("PRAGMA freelist_count")
        if free > MAX_FREE_SHARE * self._database.fetch_value("PRAGMA page_count"):
            self._database.execute_outside("VACUUM")

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

    def count_names_with(self, name_list: NameList, delta: int) -> int:
        """Count the names of one side and kind with those of a delta.

        Args:
            name_list: Side and kind.
            delta: The number of the delta.

        Returns:
            The number of names.
        """
        return count_names_with(self._database, name_list, delta)

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
        self,
        first: int,
        last: int,
        left: int | None = None,
        right: int | None = None,
        *,
        after: int = 0,
        limit: int = -1,
    ) -> list[tuple[int, LedgerEvent]]:
        """Read the events of a range of versions.

        Args:
            first: The first version.
            last: The last version.
            left: A left entity; None stands for any.
            right: A right entity; None stands for any.
            after: The number of the last event of the page before, which is of version `first`.
            limit: The most events to read; -1 for all.

        Returns:
            Number and event, oldest first.
        """
        wanted = {"left_id": left, "right_id": right}
        ids = {column: entity for column, entity in wanted.items() if entity is not None}
        # Within a version, events apply in the order of their numbers. Only names of columns
        # become part of the text; values are bound.
        sql = f"""
            SELECT {_EVENT_COLUMNS} FROM event WHERE (version, number) > (?, ?) AND version <= ?
            {" ".join(f"AND {column} = ?" for column in ids)} ORDER BY version, number LIMIT ?
        """
        rows = self._database.fetch_rows(
            sql, first, after, min(last, self.last_version), *ids.values(), limit
        )
        return [
            (
                number,
                LedgerEvent(version, _EVENT_KINDS[kind], *rest)._replace(cause=_CAUSES[cause]),
            )
            for number, version, kind, *rest, cause in check_rows(rows, "event")
        ]

    def find_last_event(self, version: int) -> int:
        """Find the last event up to a version.

        Args:
            version: The version.

        Returns:
            The number of the event; 0 if there is none.
        """
        # By number and not by the index on versions, which may be damaged.
        low, high = 0, self._database.fetch_value("SELECT coalesce(max(number), 0) FROM event")
        while low < high:
            middle = (low + high + 1) // 2
            at = self._database.fetch_value("SELECT version FROM event WHERE number = ?", middle)
            low, high = (middle, high) if at is not None and at <= version else (low, middle - 1)
        return int(low)

    def insert_delta(self, number: int, delta: Delta, files: Mapping[str, str]) -> None:
        """Add a pending delta with its new names.

        Args:
            number: Its number.
            delta: The delta.
            files: The checksums of its arrays by name.
        """
        # One transaction, so that ids never exist without their names.
        with self._database.transaction() as connection:
            self._insert_delta_row(connection, number, delta, files)
            insert_names(connection, delta.new_names, number)

    @staticmethod
    def _insert_delta_row(
        connection: sqlite3.Connection, number: int, delta: Delta, files: Mapping[str, str]
    ) -> None:
        values = (
            number,
            delta.digest,
            delta.source,
            json.dumps(dict(delta.counts)),
            json.dumps(files),
            int(delta.rescore_all),
            int(delta.runs_method),
            delta.inbox_upto,
            compute_names_digest(delta.new_names),
            json.dumps({side: dict(names) for side, names in delta.prefixes.items()}),
        )
        connection.execute(
            """
            INSERT INTO delta (number, digest, source, counts, files, rescore_all, runs_method,
                inbox_upto, names_digest, prefixes, checksum)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            add_checksum(values),
        )

    def insert_version(
        self,
        inbox: DecisionInbox,
        files: Mapping[str, str],
        method_state: MethodState,
        events: Sequence[LedgerEvent],
        info: Mapping[str, Json],
        decisions: DecisionChanges,
        delta: Delta | None = None,
    ) -> None:
        """Add the next version with its rows, and mark the pending delta as applied.

        Args:
            inbox: The open inbox, for the decisions that the version takes up.
            files: The checksums of the files of the version by name.
            method_state: The versions that make up what the method remembers.
            events: The events of the version.
            info: Facts about the version, for people.
            decisions: How decisions in force change.
            delta: A delta without arrays that is journalled and applied at once.
        """
        number = self.last_version + 1
        # One transaction: the version, its rows and the end of its delta take effect together.
        with self._database.transaction() as connection:
            if delta is not None:
                self._insert_delta_row(connection, self.next_delta_number(), delta, {})
            upto = self._find_inbox_end(decisions.inbox_upto)
            # At most one delta is pending, so it needs no number here.
            connection.execute("UPDATE delta SET version = ? WHERE version IS NULL", (number,))
            changes = self._plan_intervals(events, number)
            with build_indexes_after(connection, "event", "link"):
                insert_events(connection, events)
                write_interval_changes(connection, changes, number)
            write_decision_changes(connection, decisions, number)
            contents = json.dumps(info), json.dumps(files), method_state.to_json()
            self._insert_version_row(connection, inbox, contents, changes, upto)

    def compute_digest_of(self, version: int, inbox: DecisionInbox) -> str:
        """Compute the digest of a version from its rows.

        Args:
            version: A version that exists.
            inbox: The open inbox.

        Returns:
            The digest.
        """
        sql = f"SELECT {_VERSION_COLUMNS} FROM version WHERE number = ?"
        ((*values, _, _),) = self._database.fetch_rows(sql, version)
        before = self.read_version(version - 1)
        last = self._start_digests() if before is None else (before.inbox_upto, before.digest)
        return compute_version_digest(self._database, inbox, tuple(values), last)

    def _start_digests(self) -> tuple[int, str]:
        """What the digest of the first version goes on from: the settings."""
        return 0, compute_settings_digest(self.read_settings())

    def _insert_version_row(
        self,
        connection: sqlite3.Connection,
        inbox: DecisionInbox,
        contents: tuple[str, str, str],
        changes: IntervalChanges,
        upto: int,
    ) -> None:
        before = self.read_version(self.last_version)
        counts = (0, 0, 0) if before is None else before.counts
        values = (
            self.last_version + 1,
            datetime.now(UTC).isoformat(timespec="seconds"),
            *contents,
            *(
                count + changes.count_change(status)
                for count, status in zip(counts, PairStatus, strict=True)
            ),
            upto,
        )
        last = self._start_digests() if before is None else (before.inbox_upto, before.digest)
        digest = compute_version_digest(self._database, inbox, values, last)
        connection.execute(
            "INSERT INTO version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            add_checksum((*values, digest)),
        )

    def _plan_intervals(self, events: Sequence[LedgerEvent], version: int) -> IntervalChanges:
        lefts, rights = list_entities([event.pair for event in events])
        # The first version finds nothing: not one query for each of its entities.
        before = self.links.read_of_entities(lefts, rights, version - 1) if version else []
        return plan_interval_changes(before, events, version, self.cardinality)

    def _find_inbox_end(self, given: int | None) -> int:
        """Find how far the next version takes decisions of the inbox up."""
        if given is not None:
            return given
        pending = self.read_pending_delta()
        if pending is not None:
            return pending.inbox_upto
        before = self.read_version(self.last_version)
        return 0 if before is None else before.inbox_upto

    def read_newest_version(self) -> int:
        """Read the number of the last version, also of one that is not visible here.

        Returns:
            The number; -1 before the first version.
        """
        # A writer asks each time: a remembered number would be wrong after an interrupt between
        # the end of the transaction and the assignment.
        number: int = self._database.fetch_value("SELECT coalesce(max(number), -1) FROM version")
        return number

    def _read_deltas(self, condition: str, *values: int) -> list[DeltaRow]:
        sql = f"""
            SELECT number, digest, source, counts, files, rescore_all, runs_method, inbox_upto,
                names_digest, prefixes, checksum FROM delta
            WHERE {condition} ORDER BY number
        """
        rows = check_rows(self._database.fetch_rows(sql, *values), "delta")
        return [
            DeltaRow(
                number,
                digest,
                source,
                json.loads(counts),
                json.loads(files),
                bool(rescore_all),
                bool(runs_method),
                inbox_upto,
                names_digest,
                json.loads(prefixes),
            )
            for (
                number,
                digest,
                source,
                counts,
                files,
                rescore_all,
                runs_method,
                inbox_upto,
                names_digest,
                prefixes,
            ) in rows
        ]


def insert_events(connection: sqlite3.Connection, events: Iterable[LedgerEvent]) -> None:
    """Add events.

    Args:
        connection: The database, inside of a transaction.
        events: The events, in the order in which they apply.
    """
    first = connection.execute("SELECT coalesce(max(number), 0) + 1 FROM event").fetchone()[0]
    connection.executemany(
        "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            # The score as a plain float: its text is part of the checksum.
            add_checksum(
                (
                    *(number, event.version, event.kind.value, *event.pair, float(event.score)),
                    *event[5:-1],
                    event.cause.value,
                )
            )
            for number, event in enumerate(events, first)
        ),
    )
