"""The SQLite database of a state directory: its tables, and how it is created and opened.

It uses SQLite's rollback journal and not the write-ahead log: at rest it is one file, which can be
copied as it is and read from a medium that cannot be written to. Transactions are few and short,
so readers and the writer hardly ever wait for each other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from everalign._platform import sync_directory
from everalign.errors import (
    StateDamagedError,
    StateError,
    StateFormatError,
    StateLockedError,
)
from everalign.state.files import StateLayout

# "EvAl" in ASCII, in the header of the file: tells our databases from those of other programs.
APPLICATION_ID = 0x4576416C
# Changes with every release that changes the tables or the files.
FORMAT = 1

# How long to wait for a transaction of another process; all of them are much shorter.
LOCK_TIMEOUT_SECONDS = 60.0

_TABLES = """
CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE version (
    number INTEGER PRIMARY KEY,
    made_at TEXT NOT NULL,     -- ISO 8601, UTC
    info TEXT NOT NULL,        -- JSON
    files TEXT NOT NULL,       -- JSON: array name -> SHA-256, in versions/<number>
    link_files TEXT            -- the same, in links/<number>; NULL if there are none
);

CREATE TABLE delta (
    number INTEGER PRIMARY KEY,
    digest TEXT NOT NULL,
    source TEXT NOT NULL,
    counts TEXT NOT NULL,      -- JSON
    files TEXT NOT NULL,       -- JSON: array name -> SHA-256, in deltas/<number>
    version INTEGER UNIQUE REFERENCES version(number),  -- NULL while the delta is pending
    rescore_all INTEGER NOT NULL,                       -- 1: all entities are scored again
    runs_method INTEGER NOT NULL                        -- 0: decisions of people only
);
CREATE UNIQUE INDEX at_most_one_pending ON delta (version IS NULL) WHERE version IS NULL;

CREATE TABLE name (
    key INTEGER PRIMARY KEY,   -- 2^32 times the number of the list (side and kind), plus the id
    hash INTEGER NOT NULL,     -- of the text, 64 bits
    checksum INTEGER NOT NULL, -- of key and text
    text TEXT NOT NULL
);
CREATE INDEX name_of_hash ON name (hash);

CREATE TABLE name_count (
    list INTEGER NOT NULL,
    delta INTEGER NOT NULL REFERENCES delta(number),
    count INTEGER NOT NULL,    -- the names of the list with those of this delta
    PRIMARY KEY (list, delta)
) WITHOUT ROWID;

CREATE TABLE event (
    number INTEGER PRIMARY KEY,
    version INTEGER NOT NULL REFERENCES version(number),
    kind TEXT NOT NULL,
    -- Without a check of the type, a numpy integer would be stored as its bytes.
    left_id INTEGER NOT NULL CHECK (typeof(left_id) = 'integer'),
    right_id INTEGER NOT NULL CHECK (typeof(right_id) = 'integer'),
    score REAL NOT NULL CHECK (typeof(score) = 'real'),
    reason TEXT NOT NULL,
    competing_left INTEGER,
    competing_right INTEGER
);
CREATE INDEX event_of_version ON event (version);
CREATE INDEX event_of_left ON event (left_id);
CREATE INDEX event_of_right ON event (right_id);
"""

# Rows are only ever added; that is what makes history and time travel plain reads. The triggers
# enforce it also for people who open the database by hand.
_TRIGGER = """
CREATE TRIGGER {table}_{action} BEFORE {action} ON {table} {condition}
BEGIN SELECT RAISE(ABORT, 'rows of table {table} cannot be changed'); END;
"""
_FORBIDDEN_CHANGES = [
    *((table, "DELETE", "") for table in ("version", "delta", "name", "name_count", "event")),
    *((table, "UPDATE", "") for table in ("version", "name", "name_count", "event")),
    # The one exception: the version of a pending delta is set when it has been applied.
    ("delta", "UPDATE", "WHEN old.version IS NOT NULL"),
]

SCHEMA = "\n".join(
    [
        _TABLES,
        *(
            _TRIGGER.format(table=table, action=action, condition=condition)
            for table, action, condition in _FORBIDDEN_CHANGES
        ),
        f"PRAGMA application_id = {APPLICATION_ID};",
        f"PRAGMA user_version = {FORMAT};",
    ]
)


class Database:
    """The open database of a state directory; SQLite's errors become a `StateError`.

    Args:
        layout: The paths of the state directory.
        connection: The connection, in autocommit mode.
    """

    def __init__(self, layout: StateLayout, connection: sqlite3.Connection) -> None:
        self._layout = layout
        self._connection = connection

    @property
    def path(self) -> Path:
        """The file of the database, for messages."""
        return self._layout.database

    def check_format(self) -> None:
        """Check that the database is one of ours and has the format of this release.

        Raises:
            StateError: The database was written by another program.
            StateFormatError: It has another format.
        """
        if self.fetch_value("PRAGMA application_id") != APPLICATION_ID:
            raise StateError(f"{self._layout.root} is not an EverAlign state directory")
        found = self.fetch_value("PRAGMA user_version")
        if found != FORMAT:
            raise StateFormatError(
                f"{self._layout.root} was written by another version of EverAlign"
                f" (format {found}, expected {FORMAT})"
            )

    def fetch_rows(self, sql: str, *values: Any) -> list[Any]:
        """Fetch the rows of a query, all at once: a slow reader must not block the writer.

        Args:
            sql: The query.
            values: The values of its placeholders.

        Returns:
            The rows as tuples.
        """
        with _convert_errors(self._layout.database):
            return self._connection.execute(sql, values).fetchall()

    def fetch_column(self, sql: str, *values: Any) -> list[Any]:
        """Fetch the only column of a query, without a list of tuples in between.

        Args:
            sql: The query.
            values: The values of its placeholders.

        Returns:
            The values of the column.
        """
        with _convert_errors(self._layout.database):
            return [value for (value,) in self._connection.execute(sql, values)]

    def fetch_value(self, sql: str, *values: Any) -> Any:
        """Fetch the first column of the first row.

        Args:
            sql: The query.
            values: The values of its placeholders.

        Returns:
            The value, or None if there is no row.
        """
        rows = self.fetch_rows(sql, *values)
        return rows[0][0] if rows else None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit all changes of the block, or none of them if it raises.

        Yields:
            The connection, inside of the transaction.

        Raises:
            StateError: The database is locked, damaged, or cannot be written.
        """
        with _convert_errors(self._layout.database):
            try:
                # Takes the write lock at once, so that waiting for another process can only happen
                # here.
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.rollback()
                raise


def create_database(layout: StateLayout, settings: Mapping[str, str]) -> None:
    """Create the database of a state directory.

    Args:
        layout: The paths of the state directory.
        settings: The rows of the table `setting`.

    Raises:
        StateError: The database cannot be written.
    """
    # Under another name first, so that a database is there whole or not at all.
    layout.new_database.unlink(missing_ok=True)
    # SQLite would roll the journal of an interrupted creation back into the new file.
    layout.new_database_journal.unlink(missing_ok=True)
    uri = layout.new_database.resolve().as_uri()
    with (
        _convert_errors(layout.new_database),
        closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection,
    ):
        connection.executescript(f"PRAGMA synchronous = EXTRA; BEGIN; {SCHEMA}")
        connection.executemany("INSERT INTO setting VALUES (?, ?)", settings.items())
        connection.execute("COMMIT")
    layout.new_database.replace(layout.database)
    sync_directory(layout.root)


@contextmanager
def open_database(layout: StateLayout, *, write: bool) -> Iterator[Database]:
    """Open the database of a state directory for as long as the block runs.

    Args:
        layout: The paths of the state directory.
        write: Whether it may be changed.

    Yields:
        The open database.

    Raises:
        StateError: It cannot be read, or was written by another program.
        StateFormatError: It has another format.
        StateDamagedError: It is damaged.
    """
    # A reader, too, opens it for writing where it can: SQLite then rolls back what a killed
    # writer left half done. `query_only` prevents all other changes.
    uri = f"{layout.database.resolve().as_uri()}?mode=rw"
    with _convert_errors(layout.database):
        connection = sqlite3.connect(
            uri, uri=True, isolation_level=None, timeout=LOCK_TIMEOUT_SECONDS
        )
    with closing(connection):
        database = Database(layout, connection)
        database.check_format()
        database.fetch_rows("PRAGMA foreign_keys = ON")
        # Beyond FULL: the end of a transaction survives a power cut right after it.
        database.fetch_rows("PRAGMA synchronous = EXTRA")
        database.fetch_rows(f"PRAGMA query_only = {'OFF' if write else 'ON'}")
        yield database


@contextmanager
def _convert_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        # Mistakes in our own code; no user can act on them.
        raise
    except sqlite3.DatabaseError as error:
        raise _state_error(error, path) from error


def _state_error(error: sqlite3.DatabaseError, path: Path) -> StateError:
    # The low byte is the primary result code; the rest tells variants of it apart.
    primary_code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if primary_code == sqlite3.SQLITE_BUSY:
        return StateLockedError(f"{path} is in use by another process")
    if primary_code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StateDamagedError(f"{path} is damaged: {error}")
    return StateError(f"{path} cannot be used: {error}")
