"""SQLite, opened so that what is committed stays, and with errors that a user can act on.

The rollback journal, not the write-ahead log: a state at rest is one database file without
companions, which can be copied, and read from media that cannot be written to. Transactions
are few and short, so readers and the writer hardly ever wait for each other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from everalign.errors import (
    StateDamagedError,
    StateError,
    StateFormatError,
    StateLockedError,
)
from everalign.store.arrays import sync_folder
from everalign.store.layout import Layout
from everalign.store.schema import APPLICATION_ID, FORMAT, MIGRATIONS, SCHEMA

LONGEST_WAIT_SECONDS = 60.0


def create(layout: Layout, settings: Mapping[str, str]) -> None:
    """Make the database under another name first: it is there whole, or not at all."""
    layout.draft.unlink(missing_ok=True)
    layout.draft_journal.unlink(missing_ok=True)
    uri = layout.draft.resolve().as_uri()
    with (
        _plain_errors(layout.draft),
        closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection,
    ):
        connection.executescript(f"PRAGMA synchronous = EXTRA; BEGIN; {SCHEMA}")
        connection.executemany("INSERT INTO setting VALUES (?, ?)", settings.items())
        connection.execute("COMMIT")
    layout.draft.replace(layout.catalogue)
    sync_folder(layout.root)


@contextmanager
def opened(layout: Layout, *, write: bool) -> Iterator[Database]:
    """The database for as long as the block runs, after a look at whether it is one of ours."""
    # Also a reader opens it for writing where it can: SQLite then rolls back what a killed
    # writer left half done. `query_only` keeps the reader from anything else.
    uri = f"{layout.catalogue.resolve().as_uri()}?mode=rw"
    with _plain_errors(layout.catalogue):
        connection = sqlite3.connect(
            uri, uri=True, isolation_level=None, timeout=LONGEST_WAIT_SECONDS
        )
    with closing(connection):
        database = Database(layout, connection)
        database.check_format()
        database.rows("PRAGMA foreign_keys = ON")
        # Beyond FULL: the end of a transaction survives a power cut right after it.
        database.rows("PRAGMA synchronous = EXTRA")
        database.rows(f"PRAGMA query_only = {'OFF' if write else 'ON'}")
        if write:
            database.migrate()
        yield database


class Database:
    """The open database of a state directory."""

    def __init__(self, layout: Layout, connection: sqlite3.Connection) -> None:
        self._layout = layout
        self._connection = connection

    def check_format(self) -> None:
        """Refuse a database that is not ours, or newer than this program."""
        if self.value("PRAGMA application_id") != APPLICATION_ID:
            raise StateError(f"{self._layout.root} is not an EverAlign state directory")
        if self.format > FORMAT:
            raise StateFormatError(
                f"{self._layout.root} was written by a newer EverAlign"
                f" (format {self.format}; this one reads up to {FORMAT})"
            )

    @property
    def format(self) -> int:
        """The format of the tables; a reader may find one that is older than its own."""
        written: int = self.value("PRAGMA user_version")
        return written

    def migrate(self) -> None:
        """Bring tables of an earlier release to the format of this one, in one step."""
        if self.format == FORMAT:
            return
        with self.transaction() as connection:
            for older in range(self.format, FORMAT):
                for statement in MIGRATIONS[older]:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {FORMAT}")

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """All rows at once: a reader must not keep the writer waiting while it thinks."""
        with _plain_errors(self._layout.catalogue):
            return self._connection.execute(sql, values).fetchall()

    def column(self, sql: str, *values: Any) -> list[Any]:
        """The only column of all rows."""
        with _plain_errors(self._layout.catalogue):
            return [value for (value,) in self._connection.execute(sql, values)]

    def value(self, sql: str, *values: Any) -> Any:
        """The first column of the first row, or None."""
        rows = self.rows(sql, *values)
        return rows[0][0] if rows else None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of the block's changes, or none of them."""
        with _plain_errors(self._layout.catalogue):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.rollback()
                raise


@contextmanager
def _plain_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise
    except sqlite3.DatabaseError as error:
        raise _plain(error, path) from error


def _plain(error: sqlite3.DatabaseError, path: Path) -> StateError:
    primary_code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if primary_code == sqlite3.SQLITE_BUSY:
        return StateLockedError(f"{path} is being used by another process")
    if primary_code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StateDamagedError(f"{path} is damaged: {error}")
    return StateError(f"{path} cannot be used: {error}")
