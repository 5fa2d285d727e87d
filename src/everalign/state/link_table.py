"""The queries of the table `link`: what was in force at a version, page by page.

Pages and not one long query: an open query would keep the writer from committing. A reader that
stays with one version gets the same pages whatever the writer does meanwhile, since intervals are
only ever added and closed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.state.checksums import add_checksum, check_all_rows, check_rows
from everalign.state.database import Database
from everalign.state.intervals import FOREVER, IntervalChanges, LinkInterval, PairStatus
from everalign.state.links import Pair

PAGE_SIZE = 2000
# If all rows are read in any case.
LARGE_PAGE_SIZE = 50_000
# Values in one query; SQLite allows some ten thousand.
CHUNK_SIZE = 500

_COLUMNS = "left_id, since, right_id, until, score, born, status, checksum"
_IN_FORCE = "since <= ? AND until > ?"


class LinkColumns(NamedTuple):
    """The links of a version with one status, best first.

    Attributes:
        left: Left ids.
        right: Right ids.
        score: Scores, descending.
    """

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    score: NDArray[np.float64]

    def count_scores(self, min_score: float, max_score: float) -> int:
        """Count the links whose score lies in a range.

        Args:
            min_score: The least score.
            max_score: The greatest score.

        Returns:
            The number of links.
        """
        ascending = self.score[::-1]
        first = np.searchsorted(ascending, min_score, "left")
        end = np.searchsorted(ascending, max_score, "right")
        return max(0, int(end - first))


class LinkTable:
    """Reads the intervals of pairs.

    Args:
        database: The open database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def read_page(
        self,
        version: int,
        after: LinkInterval | None = None,
        limit: int = PAGE_SIZE,
        status: PairStatus | None = None,
    ) -> list[LinkInterval]:
        """Read intervals in force at a version, in the order of left ids.

        Args:
            version: The version.
            after: The last interval of the page before; None for the first page.
            limit: The most intervals to read.
            status: Only pairs with this status; any if None.

        Returns:
            At most `limit` intervals; fewer at the end.
        """
        rows = self._fetch_page(version, after, limit, status)
        return [LinkInterval(*row) for row in check_rows(rows, "link")]

    def _fetch_page(
        self,
        version: int,
        after: Sequence[Any] | None,
        limit: int,
        status: PairStatus | None,
    ) -> list[Any]:
        key = (-1, -1, -1) if after is None else after[:3]
        # Written out and not bound: SQLite uses a partial index only if it sees its condition.
        wanted = "" if status is None else f"AND status = {int(status)}"
        sql = f"""
            SELECT {_COLUMNS} FROM link
            WHERE (left_id, since, right_id) > (?, ?, ?) AND {_IN_FORCE} {wanted}
            ORDER BY left_id, since, right_id LIMIT ?
        """
        return self._database.fetch_rows(sql, *key, version, version, limit)

    def iterate(self, version: int, status: PairStatus | None = None) -> Iterator[LinkInterval]:
        """Iterate over all intervals in force at a version, in the order of left ids.

        Args:
            version: The version.
            status: Only pairs with this status; any if None.

        Yields:
            The intervals; one page of them is in memory.
        """
        page = self.read_page(version, status=status)
        while page:
            yield from page
            page = (
                self.read_page(version, page[-1], status=status) if len(page) == PAGE_SIZE else []
            )

    def iterate_best(self, version: int, status: PairStatus) -> Iterator[LinkInterval]:
        """Iterate over the links in force at the last version, best first.

        Args:
            version: The last version that is visible.
            status: Given or found.

        Yields:
            The intervals by descending score, then by left and right id.
        """
        page = self.read_best_page(version, status)
        while page:
            yield from page
            after = page[-1].score, *page[-1].pair
            page = self.read_best_page(version, status, after)

    def read_best_page(
        self,
        version: int,
        status: PairStatus,
        after: tuple[float, int, int] | None = None,
        limit: int = PAGE_SIZE,
        min_score: float = -inf,
    ) -> list[LinkInterval]:
        """Read links in force at a version, best first.

        Args:
            version: The version.
            status: Given or found.
            after: Score, left and right id of the last link before the page; None for the first
                page.
            limit: The most links to read.
            min_score: Leave out links that score less.

        Returns:
            At most `limit` links by descending score, then by left and right id; fewer at the
            end.
        """
        if after is None:
            return self._read_best(version, status, "score >= ?", (min_score,), limit)
        # First the rest of those with the same score: two ranges of the index.
        page: list[LinkInterval] = []
        if after[0] >= min_score:
            condition = "score = ? AND (left_id, right_id) > (?, ?)"
            page = self._read_best(version, status, condition, after, limit)
        if len(page) < limit:
            values, missing = (after[0], min_score), limit - len(page)
            page += self._read_best(version, status, "score < ? AND score >= ?", values, missing)
        return page

    def read_columns(self, version: int, status: PairStatus) -> LinkColumns:
        """Read all links in force at a version, as arrays.

        Args:
            version: The version.
            status: Given or found.

        Returns:
            The links by descending score, then by left and right id.
        """
        pages = [_make_columns([])]
        last: Sequence[Any] | None = None
        while rows := self._fetch_page(version, last, LARGE_PAGE_SIZE, status):
            check_all_rows(rows, "link")
            pages.append(_make_columns(rows))
            last = rows[-1]
        columns = LinkColumns(*map(np.concatenate, zip(*pages, strict=True)))
        order = np.lexsort((columns.right, columns.left, -columns.score))
        return LinkColumns(columns.left[order], columns.right[order], columns.score[order])

    def list_linked(self, side: int, first: int, last: int, version: int) -> list[int]:
        """List the entities of a range of ids that have a link in force.

        Args:
            side: 0 for left entities, 1 for right ones.
            first: The first id.
            last: The last id.
            version: The version.

        Returns:
            Ids, in any order.
        """
        column = ("left_id", "right_id")[side]
        sql = f"""
            SELECT {column} FROM link WHERE {column} BETWEEN ? AND ? AND {_IN_FORCE}
            AND status != {int(PairStatus.REJECTED)}
        """
        return self._database.fetch_column(sql, first, last, version, version)

    def read_of_entities(
        self, lefts: Collection[int], rights: Collection[int], version: int
    ) -> list[LinkInterval]:
        """Read the intervals in force of some entities.

        Args:
            lefts: Left entities.
            rights: Right entities.
            version: The version.

        Returns:
            Each interval once, in the order of left ids.
        """
        found: set[LinkInterval] = set()
        for column, ids in (("left_id", lefts), ("right_id", rights)):
            for chunk in split_chunks(sorted(ids)):
                marks = ", ".join("?" * len(chunk))
                sql = f"SELECT {_COLUMNS} FROM link WHERE {column} IN ({marks}) AND {_IN_FORCE}"
                found.update(self._fetch(sql, *chunk, version, version))
        return sorted(found)

    def read_changed(self, start: int, end: int) -> tuple[list[LinkInterval], list[LinkInterval]]:
        """Read what differs between two versions.

        Args:
            start: A version.
            end: A later version.

        Returns:
            The intervals in force at `start` that ended since, and those in force at `end` that
            began since. A pair may be in both, even with the same score.
        """
        ended = f"""
            SELECT {_COLUMNS} FROM link
            WHERE until > ? AND until <= ? AND until < {FOREVER} AND since <= ?
        """
        begun = f"""
            SELECT {_COLUMNS} FROM link WHERE since > ? AND since <= ? AND since > 0 AND until > ?
        """
        return self._fetch(ended, start, end, start), self._fetch(begun, start, end, end)

    def _read_best(
        self,
        version: int,
        status: PairStatus,
        condition: str,
        values: Sequence[Any],
        limit: int,
    ) -> list[LinkInterval]:
        # The second part has the links that a writer has ended since this reader began.
        sql = f"""
            SELECT {_COLUMNS} FROM link WHERE status = ? AND {condition}
            AND until = {FOREVER} AND since <= ?
            UNION ALL
            SELECT {_COLUMNS} FROM link WHERE status = ? AND {condition}
            AND until > ? AND until < {FOREVER} AND since <= ?
            ORDER BY score DESC, left_id, right_id LIMIT ?
        """
        key = int(status), *values
        return self._fetch(sql, *key, version, *key, version, version, limit)

    def _fetch(self, sql: str, *values: Any) -> list[LinkInterval]:
        rows = self._database.fetch_rows(sql, *values)
        return [LinkInterval(*row) for row in check_rows(rows, "link")]


def _make_columns(rows: Sequence[Any]) -> LinkColumns:
    left, _, right, _, score, *_ = zip(*rows, strict=True) if rows else [()] * 5
    return LinkColumns(
        np.array(left, np.int32), np.array(right, np.int32), np.array(score, np.float64)
    )


def write_interval_changes(
    connection: sqlite3.Connection, changes: IntervalChanges, version: int
) -> None:
    """Close and open intervals.

    Args:
        connection: The database, inside of a transaction.
        changes: The changes of the version.
        version: The version.
    """
    closed = (interval._replace(until=version) for interval in changes.closed)
    connection.executemany(
        """
        UPDATE link SET until = ?, checksum = ?
        WHERE left_id = ? AND since = ? AND right_id = ?
        """,
        ((version, add_checksum(tuple(row))[-1], *row[:3]) for row in closed),
    )
    connection.executemany(
        "INSERT INTO link VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (add_checksum(tuple(interval)) for interval in changes.opened),
    )


def list_entities(pairs: Collection[Pair]) -> tuple[set[int], set[int]]:
    """List the entities of pairs.

    Args:
        pairs: Pairs of ids; a negative id stands for no entity.

    Returns:
        Left and right ids.
    """
    lefts, rights = {left for left, _ in pairs}, {right for _, right in pairs}
    return lefts - {-1}, rights - {-1}


def split_chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """Split ids into lists that fit into one query.

    >>> [len(chunk) for chunk in split_chunks(range(1200))]
    [500, 500, 200]

    Args:
        ids: Any number of ids.

    Yields:
        At most `CHUNK_SIZE` of them.
    """
    for start in range(0, len(ids), CHUNK_SIZE):
        yield ids[start : start + CHUNK_SIZE]
