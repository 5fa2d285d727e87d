"""Digests of versions: each covers all rows of its version and the digest before it.

So one digest vouches for the whole history up to its version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from everalign.graph.packed_names import pack_names
from everalign.state.checksums import Row, check_rows
from everalign.state.database import Database
from everalign.state.deltas import NameList
from everalign.state.inbox import DecisionInbox
from everalign.state.intervals import FOREVER

# Rows of each kind that came with a version. An interval counts when it begins, without its end,
# and again when it ends.
_EVENTS = """
    SELECT number, version, kind, left_id, right_id, score, reason, competing_left,
        competing_right, decision, cause, checksum FROM event WHERE version = ? ORDER BY number
"""
_INTERVALS = {
    "link": ("left_id, since, right_id, until, score, born, status, checksum", 3),
    "decision": ("number, left_id, right_id, kind, since, until, request, checksum", 5),
    "removed_entity": ("side, id, since, until, checksum", 3),
}
_DELTA = """
    SELECT number, digest, source, counts, files, rescore_all, runs_method, inbox_upto,
        names_digest, prefixes FROM delta WHERE version = ?
"""


def compute_version_digest(
    database: Database, inbox: DecisionInbox, version: Row, before: tuple[int, str]
) -> str:
    """Compute the digest of a version from its rows in the database.

    Args:
        database: The open database.
        inbox: The open inbox, for the decisions that the version has taken up.
        version: The row of the version up to `inbox_upto`; its first value is its number.
        before: `inbox_upto` and the digest of the version before; for the first, 0 and that of
            the settings.

    Returns:
        A SHA-256 checksum in hexadecimal.

    Raises:
        StateDamagedError: A row is not as it was written.
    """
    number, upto = version[0], version[-1]
    digest = hashlib.sha256(before[1].encode())
    _add_rows(digest, "version", [version])
    _add_rows(digest, "delta", database.iterate_rows(_DELTA, number))
    _add_rows(digest, "event", check_rows(database.iterate_rows(_EVENTS, number), "event"))
    for table in _INTERVALS:
        _add_rows(digest, f"{table} begun", _list_begun(database, table, number))
        _add_rows(digest, f"{table} ended", _list_ended(database, table, number))
    _add_rows(digest, "inbox", map(tuple, inbox.read_range(before[0], upto)))
    return digest.hexdigest()


def compute_settings_digest(settings: Mapping[str, str]) -> str:
    """Compute the digest of the settings.

    Args:
        settings: Values by name.

    Returns:
        A SHA-256 checksum in hexadecimal.
    """
    digest = hashlib.sha256()
    _add_rows(digest, "setting", sorted(settings.items()))
    return digest.hexdigest()


def compute_names_digest(names: Mapping[NameList, Sequence[str]]) -> str:
    """Compute the digest of the names that came with a delta.

    Args:
        names: Names by side and kind, in the order of their ids.

    Returns:
        A SHA-256 checksum in hexadecimal.
    """
    digest = hashlib.sha256()
    for side, kind in sorted(names):
        # A list that is empty is no different from one that is missing.
        if len(names[side, kind]):
            packed = pack_names(names[side, kind])
            # The lengths tell where each name ends.
            digest.update(f"{side} {kind} {len(packed)}\n".encode())
            digest.update(np.diff(packed.offsets).astype("<i8").tobytes())
            digest.update(packed.heap.data)
    return digest.hexdigest()


def _add_rows(digest: hashlib._Hash, title: str, rows: Iterable[Row]) -> None:
    # The title marks where one kind of rows ends and the next begins.
    digest.update(f"{title}\n".encode())
    for row in rows:
        digest.update(repr(row).encode())


def _list_begun(database: Database, table: str, version: int) -> Iterator[Row]:
    columns, until = _INTERVALS[table]
    # The index has no intervals of version 0, which are most of the table.
    condition = "since = ? AND since > 0" if version else "since = ?"
    sql = f"SELECT {columns} FROM {table} WHERE {condition} ORDER BY 1, 2, 3"
    for row in check_rows(database.iterate_rows(sql, version), table):
        yield *row[:until], *row[until + 1 :]


def _list_ended(database: Database, table: str, version: int) -> Iterator[Row]:
    columns, _ = _INTERVALS[table]
    sql = f"SELECT {columns} FROM {table} WHERE until = ? AND until < {FOREVER} ORDER BY 1, 2, 3"
    return check_rows(database.iterate_rows(sql, version), table)
