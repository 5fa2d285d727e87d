"""Many names that came at once, in blocks: a row of the database holds the texts of up to 32.

To insert a row for each name takes ten times longer. New names are numbered in the order of their
texts, so no index over all names is needed either: the names of a delta are a few runs in sorted
order, and the separators of its blocks lead to the only block that can have a text.
"""

from __future__ import annotations

import sqlite3
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from everalign.errors import StateDamagedError
from everalign.graph.packed_names import PackedNames, pack_names
from everalign.state.checksums import add_checksum, check_rows
from everalign.state.database import Database

# To find a text in a block takes no longer than to find its row.
BLOCK_NAMES = 32
# Fewer names are stored one by one, which can be found faster.
MIN_NAMES = 10_000
# Each run is looked at when a text is looked up.
MAX_RUNS = 4
# Placeholders in one query; every SQLite allows as many.
_LOOKUP_BATCH = 500
_LENGTH_BYTES = 4

_COLUMNS = "key, run, separator, checksum, texts"


class NameRun(NamedTuple):
    """Names with consecutive keys, in the order of their texts.

    Attributes:
        key: The key of the first.
        length: How many there are.
    """

    key: int
    length: int

    @property
    def stop(self) -> int:
        """The key after the last one."""
        return self.key + self.length

    def find_block(self, key: int) -> int:
        """Find the block of a name.

        Args:
            key: The key of a name of the run.

        Returns:
            The key of the block.
        """
        # Blocks begin at multiples, but for the first.
        return max(self.key, key - key % BLOCK_NAMES)


class NameBlock(NamedTuple):
    """The names of one row.

    Attributes:
        key: The key of the first.
        separator: Not after the first text, and after the texts of blocks before.
        texts: The names as UTF-8.
    """

    key: int
    separator: bytes
    texts: list[bytes]


class BlockReader:
    """The names of one side and kind that are in blocks.

    Args:
        database: The open database.
        start: The first key of the list.
        stop: The key after the last one that is visible.
    """

    def __init__(self, database: Database, start: int, stop: int) -> None:
        self._database = database
        sql = "SELECT key, count, checksum FROM name_run WHERE key >= ? AND key < ? ORDER BY key"
        rows = check_rows(database.fetch_rows(sql, start, stop), "name_run")
        self._runs = [NameRun(key, count) for key, count in rows]
        self._run_keys = [run.key for run in self._runs]

    @property
    def name_count(self) -> int:
        """How many names are in blocks."""
        return sum(run.length for run in self._runs)

    def find_keys(self, names: Sequence[str]) -> dict[str, int]:
        """Look up names.

        Args:
            names: Distinct names.

        Returns:
            The keys of those that are in blocks.

        Raises:
            StateDamagedError: A name is not as it was written.
        """
        found: dict[str, int] = {}
        if not self._runs:
            return found
        # Names that are only looked up may have surrogates, which no stored name has.
        texts = sorted((name.encode(errors="surrogatepass"), name) for name in names)
        sql = f"""
            SELECT {_COLUMNS} FROM name_block INDEXED BY block_of_text
            WHERE run = ? AND separator <= ? ORDER BY separator DESC LIMIT 1
        """
        for run in self._runs:
            block: NameBlock | None = None
            for text, name in texts:
                # In the order of the texts, several may be in one block.
                if block is None or not block.texts[0] <= text <= block.texts[-1]:
                    rows = self._database.fetch_rows(sql, run.key, text)
                    if not rows:
                        continue
                    block = self._parse_block(rows[0], run)
                place = bisect_left(block.texts, text)
                if place < len(block.texts) and block.texts[place] == text:
                    found[name] = block.key + place
        return found

    def read_names(self, keys: Sequence[int]) -> dict[int, str]:
        """Read names.

        Args:
            keys: Distinct keys.

        Returns:
            The names of those that are in blocks.

        Raises:
            StateDamagedError: A name is not as it was written.
        """
        blocks: dict[int, list[int]] = {}
        for key in keys if self._runs else ():
            run = self._find_run(key)
            if run is not None:
                blocks.setdefault(run.find_block(key), []).append(key)
        wanted = list(blocks)
        found: dict[int, str] = {}
        for start in range(0, len(wanted), _LOOKUP_BATCH):
            batch = wanted[start : start + _LOOKUP_BATCH]
            marks = ", ".join("?" * len(batch))
            sql = f"SELECT {_COLUMNS} FROM name_block WHERE key IN ({marks})"
            rows = self._database.fetch_rows(sql, *batch)
            if len(rows) != len(batch):
                raise self._report_damage("names are missing")
            for row in rows:
                block = self._parse_block(row)
                for key in blocks[block.key]:
                    found[key] = block.texts[key - block.key].decode()
        return found

    def read_range(self, start: int, stop: int) -> list[str]:
        """Read consecutive names of one run.

        Args:
            start: The first key.
            stop: The key after the last one.

        Returns:
            The names in the order of their keys.

        Raises:
            StateDamagedError: A name is not as it was written.
        """
        run = self._find_run(start)
        assert run is not None
        first = run.find_block(start)
        texts = [text for block in self._iterate_blocks(first, stop) for text in block.texts]
        return [text.decode() for text in texts[start - first : stop - first]]

    def split_keys(self, keys: range) -> Iterator[tuple[range, bool]]:
        """Split keys into those that are in one run and those that are in none.

        Args:
            keys: Consecutive keys.

        Yields:
            Consecutive keys, and whether they are in blocks.
        """
        place = keys.start
        for run in self._runs:
            start, stop = max(place, run.key), min(keys.stop, run.stop)
            if start < stop:
                if place < start:
                    yield range(place, start), False
                yield range(start, stop), True
                place = stop
        if place < keys.stop:
            yield range(place, keys.stop), False

    def check_order(self) -> str | None:
        """Check that separators lead to the right blocks.

        Returns:
            What is wrong; None if nothing is.
        """
        for run in self._runs:
            last: bytes | None = None
            for block in self._iterate_blocks(run.key, run.stop):
                texts = block.texts if last is None else [last, *block.texts]
                is_sorted = all(a < b for a, b in pairwise(texts))
                follows = last is None or last < block.separator
                if not is_sorted or not follows or block.separator > block.texts[0]:
                    return "names are not in their order"
                last = block.texts[-1]
        return None

    def _find_run(self, key: int) -> NameRun | None:
        place = bisect_right(self._run_keys, key) - 1
        run = self._runs[place] if place >= 0 else None
        return run if run is not None and key < run.stop else None

    def _iterate_blocks(self, start: int, stop: int) -> Iterator[NameBlock]:
        """Read the blocks of one run, from the key of a block on."""
        sql = f"SELECT {_COLUMNS} FROM name_block WHERE key >= ? AND key < ? ORDER BY key"
        place = start
        for row in self._database.fetch_rows(sql, start, stop):
            block = self._parse_block(row)
            if block.key != place:
                break
            place += len(block.texts)
            yield block
        if place < stop:
            raise self._report_damage("names are missing")

    def _parse_block(
        self, row: tuple[int, int, bytes, int, bytes], run: NameRun | None = None
    ) -> NameBlock:
        key, run_key, separator, checksum, texts = row
        if run is None:
            run = self._find_run(key)
        is_whole = isinstance(separator, bytes) and isinstance(texts, bytes)
        if not is_whole or _compute_checksum(key, run_key, separator, texts) != checksum:
            raise self._report_damage("a name has changed since it was written")
        if run is None or run.key != run_key or run.find_block(key) != key:
            raise self._report_damage("the index of names leads to another name")
        # The number of names follows from the key, so that no other row can take its place.
        stop = min(run.stop, key - key % BLOCK_NAMES + BLOCK_NAMES)
        lengths = np.frombuffer(texts, "<u4", stop - key).tolist()
        place, parts = _LENGTH_BYTES * (stop - key), []
        for length in lengths:
            parts.append(texts[place : place + length])
            place += length
        return NameBlock(key, separator, parts)

    def _report_damage(self, problem: str) -> StateDamagedError:
        return StateDamagedError(f"{self._database.path} is damaged: {problem}")


def insert_blocks(connection: sqlite3.Connection, first_key: int, names: Sequence[str]) -> bool:
    """Add names as blocks, if they are many and in few runs of sorted order.

    Args:
        connection: A connection inside of a transaction.
        first_key: The key of the first name.
        names: The names in the order of their keys.

    Returns:
        Whether they were added.
    """
    if len(names) < MIN_NAMES:
        return False
    # Imported here, since few updates bring so many names.
    from everalign.graph.name_kernels import find_descents

    packed = pack_names(names)
    starts = [0, *find_descents(packed.heap, packed.offsets).tolist()]
    if len(starts) > MAX_RUNS:
        return False
    for start, stop in zip(starts, [*starts[1:], len(packed)], strict=True):
        values = add_checksum((first_key + start, stop - start))
        connection.execute("INSERT INTO name_run VALUES (?, ?, ?)", values)
        connection.executemany(
            "INSERT INTO name_block VALUES (?, ?, ?, ?, ?)",
            _build_rows(packed, first_key, start, stop),
        )
    return True


def _build_rows(
    names: PackedNames, first_key: int, start: int, stop: int
) -> Iterator[tuple[int, int, bytes, int, bytes]]:
    """Build the rows of one run: the names from `start` up to `stop`."""
    from everalign.graph.name_kernels import measure_separators

    run = first_key + start
    aligned = run - run % BLOCK_NAMES + BLOCK_NAMES
    starts = np.arange(aligned - first_key, stop, BLOCK_NAMES, dtype=np.int64)
    separators = measure_separators(names.heap, names.offsets, starts)
    starts = np.concatenate([np.array([start]), starts])
    bounds = np.append(starts, stop)
    lengths = np.diff(names.offsets).astype("<u4").tobytes()
    heap, places = names.heap.data, names.offsets[bounds].tolist()
    # The first block is that of everything before the second.
    for number, (first, separator) in enumerate(
        zip(starts.tolist(), [0, *separators.tolist()], strict=True)
    ):
        last = int(bounds[number + 1])
        begin, end = places[number], places[number + 1]
        texts = lengths[_LENGTH_BYTES * first : _LENGTH_BYTES * last] + heap[begin:end]
        mark = bytes(heap[begin : begin + separator])
        key = first_key + first
        yield key, run, mark, _compute_checksum(key, run, mark, texts), texts


def _compute_checksum(key: int, run: int, separator: bytes, texts: bytes) -> int:
    place = key.to_bytes(8, "little") + run.to_bytes(8, "little")
    place += len(separator).to_bytes(8, "little")
    return zlib.crc32(texts, zlib.crc32(separator, zlib.crc32(place)))
