"""The names in the database: written in bulk, looked up by text or by id, a few at a time.

A name has one number as its key, made of side, kind and id. It is found by a 64-bit hash of its
text, and has a checksum of key and text: where a bit has flipped, the state is reported as
damaged. Where many names come at once, they are stored in blocks; see `name_blocks`.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import TypeAlias, TypeVar

import numpy as np

from everalign.errors import StateDamagedError
from everalign.state.checksums import add_checksum, check_rows
from everalign.state.database import Database
from everalign.state.deltas import NAME_LISTS, NameList
from everalign.state.name_blocks import BlockReader, insert_blocks

Entry = TypeVar("Entry")
_Row: TypeAlias = tuple[int, int, bytes]  # key, checksum, text

# The list is in the upper bits of a key; ids are 32-bit integers.
_ID_BITS = 32
_LIST_NUMBERS = {name_list: number for number, name_list in enumerate(NAME_LISTS)}
# Placeholders in one query; every SQLite allows as many.
_LOOKUP_BATCH = 500
# Enough that the number of queries does not matter, few enough that their rows fit in memory.
_READ_BATCH = 50_000

# As bytes, so that a text that is no longer valid UTF-8 is compared with its checksum, too.
_COLUMNS = "key, checksum, CAST(text AS BLOB)"


class StoredNames:
    """The names of one side and kind, as they are in the database.

    Args:
        database: The open database.
        name_list: Side and kind.
        count: How many names are visible: later ones belong to a version that is not.
    """

    def __init__(self, database: Database, name_list: NameList, count: int) -> None:
        self._database = database
        self._first_key = _first_key(name_list)
        self._count = count

    @cached_property
    def _blocks(self) -> BlockReader:
        return BlockReader(self._database, self._first_key, self._first_key + self._count)

    def __len__(self) -> int:
        return self._count

    def find_ids(self, names: Sequence[str]) -> dict[str, int]:
        """Look up names.

        Args:
            names: Distinct names.

        Returns:
            The ids of those that are stored.

        Raises:
            StateDamagedError: A name is not as it was written.
        """
        keys = self._blocks.find_keys(names)
        found = {name: key - self._first_key for name, key in keys.items()}
        if self._blocks.name_count < self._count:
            self._find_single([name for name in names if name not in found], found)
        return found

    def _find_single(self, names: Sequence[str], found: dict[str, int]) -> None:
        """Look up names that are not in blocks."""
        for batch in _split(names, _LOOKUP_BATCH):
            # SQLite might prefer the range of keys, which is all names.
            sql = f"""
                SELECT {_COLUMNS}, hash FROM name INDEXED BY name_of_hash
                WHERE hash IN ({_list_placeholders(batch)}) AND key BETWEEN ? AND ?
            """
            keys = self._first_key, self._first_key + self._count - 1
            rows = self._database.fetch_rows(sql, *_hash_names(batch), *keys)
            texts = self._check_rows([row[:3] for row in rows])
            # Otherwise a damaged index has led to the name of another hash.
            if _hash_names(texts) != [row[3] for row in rows]:
                raise self._report_damage("the index of names leads to another name")
            wanted = set(batch)
            for text, row in zip(texts, rows, strict=True):
                # Two names may have the same hash.
                if text in wanted:
                    found[text] = row[0] - self._first_key

    def read_names(self, ids: Sequence[int]) -> dict[int, str]:
        """Read names.

        Args:
            ids: Distinct ids of stored names.

        Returns:
            The name of each id.

        Raises:
            StateDamagedError: A name is not as it was written.
        """
        texts = self._blocks.read_names([self._first_key + number for number in ids])
        found = {key - self._first_key: text for key, text in texts.items()}
        single = [number for number in ids if number not in found] if len(found) < len(ids) else []
        for batch in _split(single, _LOOKUP_BATCH):
            sql = f"SELECT {_COLUMNS} FROM name WHERE key IN ({_list_placeholders(batch)})"
            rows = self._database.fetch_rows(sql, *(self._first_key + number for number in batch))
            keys = (row[0] - self._first_key for row in rows)
            found.update(zip(keys, self._check_rows(rows), strict=True))
        if len(found) != len(ids):
            raise self._report_damage("names are missing")
        return found

    def read_range(self, start: int, stop: int) -> list[str]:
        """Read consecutive names.

        Args:
            start: The first id.
            stop: One more than the last id.

        Returns:
            The names in the order of their ids.

        Raises:
            StateDamagedError: A name is not as it was written.
        """
        sql = f"SELECT {_COLUMNS} FROM name WHERE key BETWEEN ? AND ? ORDER BY key"
        names: list[str] = []
        keys = range(self._first_key + start, self._first_key + stop)
        for part, in_blocks in self._blocks.split_keys(keys):
            for batch in _split(part, _READ_BATCH):
                if in_blocks:
                    names += self._blocks.read_range(batch[0], batch[-1] + 1)
                    continue
                rows = self._database.fetch_rows(sql, batch[0], batch[-1])
                if [row[0] for row in rows] != list(batch):
                    raise self._report_damage("names are missing")
                names += self._check_rows(rows)
        return names

    def check_hashes(self) -> str | None:
        """Compare the names with their checksums, hashes and order.

        Returns:
            What is wrong; None if nothing is.
        """
        sql = "SELECT hash FROM name NOT INDEXED WHERE key BETWEEN ? AND ? ORDER BY key"
        keys = range(self._first_key, self._first_key + self._count)
        for part, in_blocks in self._blocks.split_keys(keys):
            if in_blocks:
                continue
            for batch in _split(part, _READ_BATCH):
                texts = self.read_range(
                    batch[0] - self._first_key, batch[-1] + 1 - self._first_key
                )
                if self._database.fetch_column(sql, batch[0], batch[-1]) != _hash_names(texts):
                    return "a hash is not that of its name"
        return self._blocks.check_order()

    def _check_rows(self, rows: Sequence[_Row]) -> list[str]:
        """Compare names with their checksums, and return their texts."""
        # A text that has become NULL differs from its checksum as well.
        texts = [row[2] or b"" for row in rows]
        if _compute_checksums([row[0] for row in rows], texts) != [row[1] for row in rows]:
            raise self._report_damage("a name has changed since it was written")
        return [text.decode() for text in texts]

    def _report_damage(self, problem: str) -> StateDamagedError:
        return StateDamagedError(f"{self._database.path} is damaged: {problem}")


def open_names(database: Database, name_list: NameList, version: int) -> StoredNames:
    """Open the names of one side and kind that were known at a version.

    Args:
        database: The open database.
        name_list: Side and kind.
        version: The version.

    Returns:
        The names; none of them is read yet.

    Raises:
        StateDamagedError: There are fewer or more names than were written.
    """
    first_key = _first_key(name_list)
    # In one query, so that no writer can add names in between.
    sql = """
        SELECT (SELECT max(key) + 1 FROM name WHERE key BETWEEN ?1 AND ?2),
            (SELECT max(key + count) FROM name_run WHERE key BETWEEN ?1 AND ?2),
            (SELECT count FROM name_count WHERE list = ?3 ORDER BY delta DESC LIMIT 1)
    """
    single_stop, run_stop, count = database.fetch_rows(
        sql, first_key, first_key + 2**_ID_BITS - 1, _LIST_NUMBERS[name_list]
    )[0]
    if max(single_stop or first_key, run_stop or first_key) - first_key != (count or 0):
        raise StateDamagedError(f"{database.path} is damaged: names are missing")
    return StoredNames(database, name_list, count_names(database, name_list, version))


def count_names(database: Database, name_list: NameList, version: int) -> int:
    """Count the names of one side and kind that were known at a version.

    Args:
        database: The open database.
        name_list: Side and kind.
        version: The version.

    Returns:
        The number of names.
    """
    # A pending delta has its names in the table already; they are visible once a version has
    # applied it.
    delta = database.fetch_value(
        "SELECT number FROM delta WHERE version <= ? ORDER BY version DESC LIMIT 1", version
    )
    return 0 if delta is None else _count_at_delta(database, name_list, delta)


def read_delta_names(database: Database, name_list: NameList, delta: int) -> list[str]:
    """Read the names of one side and kind that came with a delta.

    Args:
        database: The open database.
        name_list: Side and kind.
        delta: The number of the delta.

    Returns:
        The names in the order of their ids.
    """
    start, stop = (_count_at_delta(database, name_list, number) for number in (delta - 1, delta))
    return StoredNames(database, name_list, stop).read_range(start, stop)


def count_names_with(database: Database, name_list: NameList, delta: int) -> int:
    """Count the names of one side and kind with those of a delta.

    Args:
        database: The open database.
        name_list: Side and kind.
        delta: The number of the delta.

    Returns:
        The number of names.
    """
    return _count_at_delta(database, name_list, delta)


def check_hashes(database: Database, name_list: NameList, count: int) -> str | None:
    """Compare the names of one side and kind with their checksums and hashes.

    Args:
        database: The open database.
        name_list: Side and kind.
        count: How many names there are.

    Returns:
        What is wrong; None if nothing is.
    """
    return StoredNames(database, name_list, count).check_hashes()


def insert_names(
    connection: sqlite3.Connection, new_names: Mapping[NameList, Sequence[str]], delta: int
) -> None:
    """Add the names that came with a delta.

    Args:
        connection: A connection inside of a transaction.
        new_names: The names by side and kind. Their ids go on where those before have ended.
        delta: The number of the delta.
    """
    single = {}
    for name_list, names in new_names.items():
        if not len(names):
            continue
        first_key = _first_key(name_list) + _count_stored(connection, name_list)
        if not insert_blocks(connection, first_key, names):
            single[name_list] = names
            continue
        _insert_count(connection, name_list, len(names), delta)
    # Of all lists together, since they share an index.
    known_count = connection.execute("SELECT count(*) FROM name").fetchone()[0] if single else 0
    # To sort all hashes once is faster than to insert most of them one by one.
    builds_index = sum(map(len, single.values())) > known_count
    if builds_index:
        connection.execute("DROP INDEX name_of_hash")
    for name_list, names in single.items():
        _insert_list(connection, name_list, names, delta)
    if builds_index:
        connection.execute("CREATE INDEX name_of_hash ON name (hash)")


def _insert_list(
    connection: sqlite3.Connection, name_list: NameList, names: Sequence[str], delta: int
) -> None:
    count = _count_stored(connection, name_list)
    first_key = _first_key(name_list) + count
    for some in _split(names, _READ_BATCH):
        batch = list(some)
        keys = range(first_key, first_key + len(batch))
        checksums = _compute_checksums(keys, [name.encode() for name in batch])
        connection.executemany(
            "INSERT INTO name VALUES (?, ?, ?, ?)",
            zip(keys, _hash_names(batch), checksums, batch, strict=True),
        )
        first_key += len(batch)
    _insert_count(connection, name_list, len(names), delta)


def _insert_count(
    connection: sqlite3.Connection, name_list: NameList, added: int, delta: int
) -> None:
    count = _count_stored(connection, name_list) + added
    values = add_checksum((_LIST_NUMBERS[name_list], delta, count))
    connection.execute("INSERT INTO name_count VALUES (?, ?, ?, ?)", values)


def _count_stored(connection: sqlite3.Connection, name_list: NameList) -> int:
    """Count all names, including those of a pending delta."""
    sql = "SELECT coalesce(max(count), 0) FROM name_count WHERE list = ?"
    count: int = connection.execute(sql, (_LIST_NUMBERS[name_list],)).fetchone()[0]
    return count


def _count_at_delta(database: Database, name_list: NameList, delta: int) -> int:
    sql = """
        SELECT list, delta, count, checksum FROM name_count WHERE list = ? AND delta <= ?
        ORDER BY delta DESC LIMIT 1
    """
    rows = database.fetch_rows(sql, _LIST_NUMBERS[name_list], delta)
    return sum(row[2] for row in check_rows(rows, "name_count"))


def _first_key(name_list: NameList) -> int:
    return _LIST_NUMBERS[name_list] << _ID_BITS


def _hash_names(names: Sequence[str]) -> list[int]:
    """Hash names to 64 bits, as the signed integers of SQLite."""
    # Names that are only looked up may have surrogates, which no stored name has.
    digests = [
        blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest() for name in names
    ]
    hashes: list[int] = np.frombuffer(b"".join(digests), dtype="<i8").tolist()
    return hashes


def _compute_checksums(keys: Sequence[int], texts: Sequence[bytes]) -> list[int]:
    # The key is the start of the checksum: a name that has got the key of another is noticed. All
    # keys of less than 2^29 names in a list lead to another start.
    numbers = np.array(keys, dtype=np.int64)
    starts = (numbers & (2**_ID_BITS - 1)) ^ (numbers >> _ID_BITS << (_ID_BITS - 3))
    return list(map(zlib.crc32, texts, starts.tolist()))


def _split(entries: Sequence[Entry], size: int) -> Iterator[Sequence[Entry]]:
    return (entries[start : start + size] for start in range(0, len(entries), size))


def _list_placeholders(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
