"""The decision inbox: decisions of people, recorded at any time, also while an update runs.

It is a database of its own, so that nobody waits for the writer of the alignment. A decision is
on the disk when `append_decisions` returns. The versions that take decisions up say how far they
have come: `version.inbox_upto` is the number of the last one. Decisions with higher numbers are
waiting. Nothing is ever removed: who decided what, and when, can always be read.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

from everalign._platform import sync_directory
from everalign.errors import StateDamagedError
from everalign.state.checksums import add_checksum, check_rows
from everalign.state.database import (
    LOCK_TIMEOUT_SECONDS,
    Database,
    build_schema,
    connect_database,
    convert_errors,
)
from everalign.state.decisions import DecisionKind
from everalign.state.files import StateLayout
from everalign.state.links import Pair

_COLUMNS = (
    "number, key, left_id, right_id, kind, author, decided_at, comment, seen_version, checksum"
)

_TABLE = """
CREATE TABLE decision (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,  -- chosen by the client: a repeated request is recorded once
    left_id INTEGER NOT NULL CHECK (typeof(left_id) = 'integer'),    -- -1: none
    right_id INTEGER NOT NULL CHECK (typeof(right_id) = 'integer'),  -- -1: none
    kind TEXT NOT NULL,
    author TEXT NOT NULL,
    decided_at TEXT NOT NULL,  -- ISO 8601, UTC
    comment TEXT NOT NULL,
    seen_version INTEGER NOT NULL,  -- the last version when it was given
    checksum INTEGER NOT NULL
);
CREATE INDEX decision_of_left ON decision (left_id);
CREATE INDEX decision_of_right ON decision (right_id);
"""
INBOX_SCHEMA = build_schema(_TABLE, [("decision", "DELETE", ""), ("decision", "UPDATE", "")])


class RecordedDecision(NamedTuple):
    """A decision in the inbox.

    Attributes:
        number: Its number, from 1; decisions take effect in this order.
        key: The key of the request.
        left: The left entity, or -1.
        right: The right entity, or -1.
        kind: What was decided.
        author: Who decided.
        decided_at: When it was recorded, as ISO 8601 in UTC.
        comment: Why, in words.
        seen_version: The last version when it was given.
    """

    number: int
    key: str
    left: int
    right: int
    kind: DecisionKind
    author: str
    decided_at: str
    comment: str
    seen_version: int

    @property
    def pair(self) -> Pair:
        """The two ids."""
        return self.left, self.right


class DecisionRequest(NamedTuple):
    """A decision that is to be recorded.

    Attributes:
        pair: The two ids; one of them may be -1.
        kind: What is decided.
        author: Who decides.
        comment: Why, in words.
        key: Makes a repeated request harmless; None for a key that no other request has.
        decided_at: When it was decided (ISO 8601), if that was earlier; empty for now.
    """

    pair: Pair
    kind: DecisionKind
    author: str = ""
    comment: str = ""
    key: str | None = None
    decided_at: str = ""


class DecisionInbox:
    """The open inbox of a state directory.

    Args:
        database: The open database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def database(self) -> Database:
        """The open database."""
        return self._database

    def append_decisions(
        self, requests: Sequence[DecisionRequest], seen_version: int
    ) -> list[RecordedDecision]:
        """Record decisions, all or none. When this returns, they are on the disk.

        Args:
            requests: The decisions, in the order in which they take effect.
            seen_version: The last version that their author could see.

        Returns:
            What is recorded; for a key that was used before, the decision of then.
        """
        decided_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._database.transaction() as connection:
            return [
                self._append(connection, request, decided_at, seen_version) for request in requests
            ]

    def last_number(self) -> int:
        """Return the number of the last decision.

        Returns:
            The number; 0 if there is none.
        """
        sql = "SELECT coalesce(max(number), 0) FROM decision"
        number: int = self._database.fetch_value(sql)
        return number

    def read_range(self, after: int, upto: int | None = None) -> list[RecordedDecision]:
        """Read the decisions with numbers of a range.

        Args:
            after: The number before the first.
            upto: The last number; None for all.

        Returns:
            The decisions, oldest first.

        Raises:
            StateDamagedError: A decision is missing.
        """
        last = self.last_number() if upto is None else upto
        sql = f"SELECT {_COLUMNS} FROM decision WHERE number > ? AND number <= ? ORDER BY number"
        rows = _parse_rows(self._database.fetch_rows(sql, after, last))
        # Numbers have no gaps. An inbox that ends before a version says is not the one it was.
        if len(rows) != max(0, last - after):
            raise StateDamagedError("inbox.sqlite lacks decisions that a version has taken up")
        return rows

    def read_of_entity(
        self, left: int | None = None, right: int | None = None
    ) -> list[RecordedDecision]:
        """Read all decisions about an entity or a pair.

        Args:
            left: A left entity; None for any.
            right: A right entity; None for any.

        Returns:
            The decisions, oldest first.
        """
        wanted = {"left_id": left, "right_id": right}
        ids = {column: entity for column, entity in wanted.items() if entity is not None}
        condition = " AND ".join(f"{column} = ?" for column in ids)
        sql = f"SELECT {_COLUMNS} FROM decision WHERE {condition} ORDER BY number"
        return _parse_rows(self._database.fetch_rows(sql, *ids.values()))

    def read_of_request(self, key: str) -> list[RecordedDecision]:
        """Read the decisions that one request has recorded.

        Args:
            key: The key of the request.

        Returns:
            The decisions with this key, or with this key, a slash and a number; oldest first.
        """
        sql = f"SELECT {_COLUMNS} FROM decision WHERE key = ? OR (key >= ? AND key < ?)"
        # "0" is the character after the slash.
        rows = _parse_rows(self._database.fetch_rows(sql, key, f"{key}/", f"{key}0"))
        return sorted(
            row for row in rows if row.key == key or row.key.removeprefix(f"{key}/").isdecimal()
        )

    @staticmethod
    def _append(
        connection: sqlite3.Connection,
        request: DecisionRequest,
        decided_at: str,
        seen_version: int,
    ) -> RecordedDecision:
        if request.key is not None:
            sql = f"SELECT {_COLUMNS} FROM decision WHERE key = ?"
            if known := _parse_rows(connection.execute(sql, (request.key,)).fetchall()):
                return known[0]
        sql = "SELECT coalesce(max(number), 0) + 1 FROM decision"
        number = connection.execute(sql).fetchone()[0]
        row = RecordedDecision(
            number,
            request.key or uuid4().hex,
            *request.pair,
            request.kind,
            request.author,
            request.decided_at or decided_at,
            request.comment,
            seen_version,
        )
        values = add_checksum((*row[:4], row.kind.value, *row[5:]))
        connection.execute("INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        return row


def create_inbox(layout: StateLayout) -> None:
    """Create the inbox of a state directory.

    Args:
        layout: The paths of the state directory.

    Raises:
        StateError: It cannot be written.
    """
    for path in layout.inbox_files:
        # What an interrupted creation left behind; nobody can have decided anything yet.
        path.unlink(missing_ok=True)
    with convert_errors(layout.inbox), closing(connect_database(layout.inbox, "rwc")) as new:
        # The log lets people decide while others read, and a decision waits for one write only.
        new.execute("PRAGMA journal_mode = WAL")
        new.executescript(f"PRAGMA synchronous = FULL; BEGIN; {INBOX_SCHEMA} COMMIT;")
    sync_directory(layout.root)


@contextmanager
def open_inbox(layout: StateLayout) -> Iterator[DecisionInbox]:
    """Open the inbox of a state directory for as long as the block runs; it needs no lock.

    Args:
        layout: The paths of the state directory.

    Yields:
        The inbox.

    Raises:
        StateError: It cannot be read.
        StateDamagedError: It is missing or damaged.
    """
    if not layout.inbox.is_file():
        raise StateDamagedError(f"{layout.inbox} is missing")
    # Where nothing can be written, nobody else writes, and SQLite needs no files beside it.
    mode = "rw" if os.access(layout.root, os.W_OK) else "ro&immutable=1"
    with convert_errors(layout.inbox):
        connection = connect_database(layout.inbox, mode, LOCK_TIMEOUT_SECONDS)
    with closing(connection):
        database = Database(layout.root, layout.inbox, connection)
        database.check_format()
        database.fetch_rows("PRAGMA synchronous = FULL")
        yield DecisionInbox(database)


def _parse_rows(rows: Sequence[tuple[Any, ...]]) -> list[RecordedDecision]:
    return [
        RecordedDecision._make((*row[:4], DecisionKind(row[4]), *row[5:]))
        for row in check_rows(rows, "decision of inbox.sqlite")
    ]
