"""The SQLite database of a state directory: its tables, and how it is created and opened.

It uses SQLite's rollback journal and not the write-ahead log: at rest it is one file, which can be
copied as it is and read from a medium that cannot be written to. Transactions are few and short,
so readers and the writer hardly ever wait for each other.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from everalign._platform import sync_directory
from everalign.errors import (
    StateDamagedError,
    StateError,
    StateFormatError,
    StateLockedError,
)
from everalign.state.checksums import add_checksum
from everalign.state.files import StateLayout

# "EvAl" in ASCII, in the header of the file: tells our databases from those of other programs.
APPLICATION_ID = 0x4576416C
# Changes with every release that changes the tables or the files.
FORMAT = 1

# How long to wait for a transaction of another process; all of them are much shorter.
LOCK_TIMEOUT_SECONDS = 60.0

# The row of a version is written last, with the digest of the others: hence deferred references.
_TABLES = """
CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    checksum INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE version (
    number INTEGER PRIMARY KEY,
    made_at TEXT NOT NULL,     -- ISO 8601, UTC
    info TEXT NOT NULL,        -- JSON
    files TEXT NOT NULL,       -- JSON: file name -> checksum, in versions/<number>
    method_state TEXT NOT NULL,       -- JSON: versions that make up what the method remembers
    given_links INTEGER NOT NULL,     -- in force at this version, so that nobody has to count
    found_links INTEGER NOT NULL,
    rejected_pairs INTEGER NOT NULL,
    inbox_upto INTEGER NOT NULL,      -- the last decision of the inbox that is part of it
    digest TEXT NOT NULL,             -- SHA-256 of its rows and of the digest before it
    checksum INTEGER NOT NULL
);

CREATE INDEX version_of_decision ON version (inbox_upto);

CREATE TABLE dropped_files (
    version INTEGER PRIMARY KEY,  -- the files of this version were removed
    reason TEXT NOT NULL,
    checksum INTEGER NOT NULL
);

CREATE TABLE delta (
    number INTEGER PRIMARY KEY,
    digest TEXT NOT NULL,
    source TEXT NOT NULL,
    counts TEXT NOT NULL,      -- JSON
    files TEXT NOT NULL,       -- JSON: file name -> checksum, in deltas/<number>
    version INTEGER UNIQUE     -- NULL while the delta is pending
        REFERENCES version(number) DEFERRABLE INITIALLY DEFERRED,
    rescore_all INTEGER NOT NULL,                       -- 1: all entities are scored again
    runs_method INTEGER NOT NULL,                       -- 0: decisions of people only
    inbox_upto INTEGER NOT NULL,      -- decisions of the inbox that its version takes up
    names_digest TEXT NOT NULL,       -- SHA-256 of its new names
    prefixes TEXT NOT NULL,           -- JSON: side -> prefix -> namespace
    checksum INTEGER NOT NULL         -- of all but `version`
);
CREATE UNIQUE INDEX at_most_one_pending ON delta (version IS NULL) WHERE version IS NULL;

CREATE TABLE name (
    key INTEGER PRIMARY KEY,   -- 2^32 times the number of the list (side and kind), plus the id
    hash INTEGER NOT NULL,     -- of the text, 64 bits
    checksum INTEGER NOT NULL, -- of key and text
    text TEXT NOT NULL
);
CREATE INDEX name_of_hash ON name (hash);

-- Many names that came at once are not in `name` but here: runs of names in the order of their
-- texts, in blocks of at most 32.
CREATE TABLE name_run (
    key INTEGER PRIMARY KEY,   -- of the first name
    count INTEGER NOT NULL,
    checksum INTEGER NOT NULL
);

CREATE TABLE name_block (
    key INTEGER PRIMARY KEY,   -- of the first name
    run INTEGER NOT NULL REFERENCES name_run(key),
    separator BLOB NOT NULL,   -- not after the first text, after those of blocks before
    checksum INTEGER NOT NULL, -- of all other columns
    texts BLOB NOT NULL        -- the length of each text in four bytes, then the texts
);
CREATE INDEX block_of_text ON name_block (run, separator);

CREATE TABLE name_count (
    list INTEGER NOT NULL,
    delta INTEGER NOT NULL REFERENCES delta(number),
    count INTEGER NOT NULL,    -- the names of the list with those of this delta
    checksum INTEGER NOT NULL,
    PRIMARY KEY (list, delta)
) WITHOUT ROWID;

CREATE TABLE event (
    number INTEGER PRIMARY KEY,
    version INTEGER NOT NULL REFERENCES version(number) DEFERRABLE INITIALLY DEFERRED,
    kind TEXT NOT NULL,
    -- Without a check of the type, a numpy integer would be stored as its bytes.
    left_id INTEGER NOT NULL CHECK (typeof(left_id) = 'integer'),
    right_id INTEGER NOT NULL CHECK (typeof(right_id) = 'integer'),
    score REAL NOT NULL CHECK (typeof(score) = 'real'),
    reason TEXT NOT NULL,
    competing_left INTEGER,
    competing_right INTEGER,
    decision INTEGER,          -- number of the decision in the inbox that caused it
    cause TEXT NOT NULL,       -- what ended the link; empty if nothing did
    checksum INTEGER NOT NULL
);
CREATE INDEX event_of_version ON event (version);
CREATE INDEX event_of_left ON event (left_id);
CREATE INDEX event_of_right ON event (right_id);

CREATE TABLE link (
    left_id INTEGER NOT NULL,
    since INTEGER NOT NULL REFERENCES version(number) DEFERRABLE INITIALLY DEFERRED,
    right_id INTEGER NOT NULL,
    until INTEGER NOT NULL,    -- 2147483647 while the interval is open
    score REAL NOT NULL,
    born INTEGER NOT NULL,
    status INTEGER NOT NULL,   -- 0 given, 1 found, 2 rejected
    checksum INTEGER NOT NULL,
    PRIMARY KEY (left_id, since, right_id)
) WITHOUT ROWID;
CREATE INDEX link_of_right ON link (right_id, since);
CREATE INDEX link_by_score ON link (status, score DESC, left_id, right_id)
    WHERE until = 2147483647;
CREATE INDEX link_rejected ON link (left_id, since) WHERE status = 2;
CREATE INDEX link_ended ON link (until) WHERE until < 2147483647;
-- Version 0 begins most of the links, and nobody asks which.
CREATE INDEX link_begun ON link (since) WHERE since > 0;

CREATE TABLE decision (
    number INTEGER PRIMARY KEY,
    left_id INTEGER NOT NULL,  -- -1: about the right entity alone
    right_id INTEGER NOT NULL, -- -1: about the left entity alone
    kind TEXT NOT NULL,
    since INTEGER NOT NULL REFERENCES version(number) DEFERRABLE INITIALLY DEFERRED,
    until INTEGER NOT NULL,    -- 2147483647 while it is in force
    request INTEGER,           -- its number in the inbox; NULL if it came with a delta
    checksum INTEGER NOT NULL
);
CREATE INDEX decision_of_left ON decision (left_id, right_id);
CREATE INDEX decision_of_right ON decision (right_id);
CREATE INDEX decision_ended ON decision (until) WHERE until < 2147483647;
CREATE INDEX decision_begun ON decision (since) WHERE since > 0;

CREATE TABLE removed_entity (
    side TEXT NOT NULL CHECK (side IN ('left', 'right')),
    id INTEGER NOT NULL,
    since INTEGER NOT NULL REFERENCES version(number) DEFERRABLE INITIALLY DEFERRED,
    until INTEGER NOT NULL,    -- 2147483647 while the entity has no facts
    checksum INTEGER NOT NULL,
    PRIMARY KEY (side, id, since)
) WITHOUT ROWID;
CREATE INDEX removal_ended ON removed_entity (until) WHERE until < 2147483647;
CREATE INDEX removal_begun ON removed_entity (since) WHERE since > 0;
"""

_LIST_SCHEMA = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"

# Rows are only ever added; that is what makes history and time travel plain reads. The triggers
# enforce it also for people who open the database by hand.
_TRIGGER = """
CREATE TRIGGER {table}_{action} BEFORE {action} ON {table} {condition}
BEGIN SELECT RAISE(ABORT, 'rows of table {table} cannot be changed'); END;
"""
_FIXED_TABLES = (
    "setting",
    "version",
    "dropped_files",
    "name",
    "name_run",
    "name_block",
    "name_count",
    "event",
)
_INTERVAL_TABLES = ("link", "decision", "removed_entity")
_FORBIDDEN_CHANGES = [
    *((table, "DELETE", "") for table in (*_FIXED_TABLES, "delta", *_INTERVAL_TABLES)),
    *((table, "UPDATE", "") for table in _FIXED_TABLES),
    # The exceptions: the version of a pending delta is set when it has been applied, and an
    # interval that is open can be closed.
    ("delta", "UPDATE", "WHEN old.version IS NOT NULL"),
    *((table, "UPDATE", "WHEN old.until < 2147483647") for table in _INTERVAL_TABLES),
]


def build_schema(tables: str, forbidden_changes: Sequence[tuple[str, str, str]]) -> str:
    """Build the statements that create a database of ours.

    Args:
        tables: Statements that create tables and indexes.
        forbidden_changes: Table, "UPDATE" or "DELETE", and the rows for which it is forbidden.

    Returns:
        SQL statements.
    """
    triggers = (
        _TRIGGER.format(table=table, action=action, condition=condition)
        for table, action, condition in forbidden_changes
    )
    marks = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT};"
    return "\n".join([tables, *triggers, marks])


def build_tables(schema: str) -> set[str]:
    """List what a schema creates.

    Args:
        schema: SQL statements.

    Returns:
        The statements as SQLite keeps them.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema)
        return {row[0] for row in connection.execute(_LIST_SCHEMA)}


SCHEMA = build_schema(_TABLES, _FORBIDDEN_CHANGES)


class Database:
    """The open database of a state directory; SQLite's errors become a `StateError`.

    Args:
        root: The state directory.
        path: The file.
        connection: The connection, in autocommit mode.
    """

    def __init__(self, root: Path, path: Path, connection: sqlite3.Connection) -> None:
        self._root = root
        self._path = path
        self._connection = connection

    @property
    def path(self) -> Path:
        """The file of the database, for messages."""
        return self._path

    def check_format(self) -> None:
        """Check that the database is one of ours and has the format of this release.

        Raises:
            StateError: The database was written by another program.
            StateFormatError: It has another format.
        """
        if self.fetch_value("PRAGMA application_id") != APPLICATION_ID:
            raise StateError(f"{self._root} is not an EverAlign state directory")
        found = self.fetch_value("PRAGMA user_version")
        if found != FORMAT:
            raise StateFormatError(
                f"{self._root} was written by another version of EverAlign"
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
        with convert_errors(self._path):
            return self._connection.execute(sql, values).fetchall()

    def iterate_rows(self, sql: str, *values: Any) -> Iterator[Any]:
        """Iterate over the rows of a query; until the end of it, no other process can commit.

        Args:
            sql: The query.
            values: The values of its placeholders.

        Yields:
            The rows as tuples.
        """
        with convert_errors(self._path):
            yield from self._connection.execute(sql, values)

    def fetch_column(self, sql: str, *values: Any) -> list[Any]:
        """Fetch the only column of a query, without a list of tuples in between.

        Args:
            sql: The query.
            values: The values of its placeholders.

        Returns:
            The values of the column.
        """
        with convert_errors(self._path):
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

    def list_schema(self) -> set[str]:
        """List the statements that created tables, indexes and triggers.

        Returns:
            The statements as SQLite keeps them.
        """
        return set(self.fetch_column(_LIST_SCHEMA))

    def execute_outside(self, sql: str) -> None:
        """Execute a statement that cannot be part of a transaction, such as VACUUM.

        Args:
            sql: The statement.
        """
        with convert_errors(self._path):
            self._connection.execute(sql)

    def copy_to(self, path: Path, pages: int = -1) -> None:
        """Copy the database as it is at one moment, also while another process writes.

        Args:
            path: The file to write.
            pages: How many pages to copy before other processes can write again; -1 for all.
        """
        with convert_errors(self._path), closing(sqlite3.connect(path)) as target:
            self._connection.backup(target, pages=pages, sleep=0.001)

    def _begin(self) -> None:
        """Begin to write; try often, since SQLite itself would sleep for up to 0.1 s."""
        deadline = monotonic() + LOCK_TIMEOUT_SECONDS
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            while True:
                try:
                    self._connection.execute("BEGIN IMMEDIATE")
                    return
                except sqlite3.OperationalError as error:
                    if _primary_code(error) != sqlite3.SQLITE_BUSY or monotonic() > deadline:
                        raise
                # By chance, so that several processes do not keep time with each other.
                sleep(random.uniform(0.001, 0.003))
        finally:
            milliseconds = int(LOCK_TIMEOUT_SECONDS * 1000)
            self._connection.execute(f"PRAGMA busy_timeout = {milliseconds}")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit all changes of the block, or none of them if it raises.

        Yields:
            The connection, inside of the transaction.

        Raises:
            StateError: The database is locked, damaged, or cannot be written.
        """
        with convert_errors(self._path):
            try:
                # Takes the write lock at once, so that waiting for another process can only happen
                # here.
                self._begin()
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
    with (
        convert_errors(layout.new_database),
        closing(connect_database(layout.new_database, "rwc")) as connection,
    ):
        connection.executescript(f"PRAGMA synchronous = EXTRA; BEGIN; {SCHEMA}")
        connection.executemany(
            "INSERT INTO setting VALUES (?, ?, ?)", map(add_checksum, settings.items())
        )
        connection.execute("COMMIT")
    layout.new_database.replace(layout.database)
    sync_directory(layout.root)


@contextmanager
def build_indexes_after(connection: sqlite3.Connection, *tables: str) -> Iterator[None]:
    """Build the indexes of tables that are empty only after the block has filled them.

    That is a sort for each index, and not a place in a tree on the disk for each row.

    Args:
        connection: The database, inside of a transaction.
        tables: The tables; one that has rows keeps its indexes.

    Yields:
        Nothing.
    """
    statements = []
    for table in tables:
        if connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():
            continue
        sql = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql"
        for name, statement in connection.execute(f"{sql} IS NOT NULL", (table,)).fetchall():
            connection.execute(f"DROP INDEX {name}")
            statements.append(statement)
    yield
    for statement in statements:
        connection.execute(statement)


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
    with convert_errors(layout.database):
        connection = connect_database(layout.database, "rw", LOCK_TIMEOUT_SECONDS)
    with closing(connection):
        database = Database(layout.root, layout.database, connection)
        database.check_format()
        database.fetch_rows("PRAGMA foreign_keys = ON")
        # Beyond FULL: the end of a transaction survives a power cut right after it.
        database.fetch_rows("PRAGMA synchronous = EXTRA")
        database.fetch_rows(f"PRAGMA query_only = {'OFF' if write else 'ON'}")
        yield database


def connect_database(path: Path, mode: str, timeout: float = 5.0) -> sqlite3.Connection:
    """Connect to a database file.

    Args:
        path: The file.
        mode: "rw", or "rwc" to create it.
        timeout: Seconds to wait for a transaction of another process.

    Returns:
        The connection, in autocommit mode.
    """
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    # A view is asked by several threads, one at a time.
    return sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=timeout, check_same_thread=False
    )


@contextmanager
def convert_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into those of a state directory.

    Args:
        path: The database file, for messages.

    Yields:
        Nothing: errors inside of the block are converted.

    Raises:
        StateError: The database is locked, damaged, or cannot be used.
    """
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        # Mistakes in our own code; no user can act on them.
        raise
    except sqlite3.DatabaseError as error:
        raise _state_error(error, path) from error


def _primary_code(error: sqlite3.Error) -> int:
    # The low byte is the primary result code; the rest tells variants of it apart.
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def _state_error(error: sqlite3.DatabaseError, path: Path) -> StateError:
    primary_code = _primary_code(error)
    if primary_code == sqlite3.SQLITE_BUSY:
        return StateLockedError(f"{path} is in use by another process")
    # A text that is no longer UTF-8 is an error of Python's module, without a code of SQLite.
    is_undecodable = "Could not decode to UTF-8" in str(error)
    if primary_code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or is_undecodable:
        return StateDamagedError(f"{path} is damaged: {error}")
    return StateError(f"{path} cannot be used: {error}")
