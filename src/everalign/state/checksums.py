"""Checksums of database rows: a flipped bit is an error when the row is read, never a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

from everalign.errors import StateDamagedError

Row = tuple[Any, ...]


def compute_row_checksum(values: Row) -> int:
    """Compute the checksum of a row.

    >>> compute_row_checksum((1, "a")) == compute_row_checksum((1, "b"))
    False

    Args:
        values: What the row holds, as Python numbers, strings and None.

    Returns:
        32 bits.
    """
    # The text of Python values is exact, also for floats, and tells 1, 1.0 and "1" apart.
    return crc32(repr(values).encode())


def add_checksum(values: Row) -> Row:
    """Complete a row that is to be written.

    Args:
        values: All columns but the checksum.

    Returns:
        The row with its checksum as the last column.
    """
    return (*values, compute_row_checksum(values))


def check_rows(rows: Iterable[Row], table: str) -> Iterator[Row]:
    """Compare rows that were read with their checksums.

    Args:
        rows: Whole rows, with the checksum as the last column.
        table: The table, for the message.

    Yields:
        The rows without their checksums.

    Raises:
        StateDamagedError: A row is not as it was written.
    """
    for row in rows:
        values = row[:-1]
        if crc32(repr(values).encode()) != row[-1]:
            raise _report_damage(table)
        yield values


def check_all_rows(rows: Sequence[Row], table: str) -> None:
    """Compare many rows with their checksums, in less time.

    Args:
        rows: As in `check_rows`.
        table: The table, for the message.

    Raises:
        StateDamagedError: A row is not as it was written.
    """
    if [crc32(repr(row[:-1]).encode()) for row in rows] != [row[-1] for row in rows]:
        raise _report_damage(table)


def _report_damage(table: str) -> StateDamagedError:
    return StateDamagedError(f"a row of table {table} has changed since it was written")
