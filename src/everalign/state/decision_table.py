"""The queries of the tables `decision` and `removed_entity`: intervals as those of links."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from everalign.state.checksums import add_checksum, check_rows
from everalign.state.database import Database
from everalign.state.decisions import DecisionKind
from everalign.state.deltas import Side
from everalign.state.intervals import FOREVER
from everalign.state.link_table import split_chunks
from everalign.state.links import Pair

EntityOfSide = tuple[Side, int]

_COLUMNS = "number, left_id, right_id, kind, since, until, request, checksum"
_IN_FORCE = "since <= ? AND until > ?"


class StoredDecision(NamedTuple):
    """A decision and the versions during which it was in force.

    Attributes:
        number: Its number; decisions are listed in this order.
        left: The left entity, or -1.
        right: The right entity, or -1.
        kind: What was decided.
        since: The first version.
        until: The version that ended it; `FOREVER` if none has.
        request: Its number in the inbox; None if it came with a delta.
    """

    number: int
    left: int
    right: int
    kind: DecisionKind
    since: int
    until: int
    request: int | None

    @property
    def pair(self) -> Pair:
        """The two ids."""
        return self.left, self.right


@dataclass(frozen=True)
class DecisionChanges:
    """How a version changes the decisions in force.

    Attributes:
        ended: Decisions that are no longer in force.
        begun: Pair, kind and number in the inbox of the decisions that are now.
        removed: Entities that have lost all facts.
        restored: Entities that have facts again.
        inbox_upto: The last decision of the inbox that the version takes up; None keeps that of
            the pending delta, or of the version before.
    """

    ended: Collection[Pair] = ()
    begun: Collection[tuple[Pair, DecisionKind, int | None]] = ()
    removed: Collection[EntityOfSide] = field(default_factory=tuple)
    restored: Collection[EntityOfSide] = field(default_factory=tuple)
    inbox_upto: int | None = None


class DecisionTable:
    """Reads decisions, and which entities have no facts.

    Args:
        database: The open database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def read_all(self, version: int) -> list[StoredDecision]:
        """Read the decisions in force at a version.

        Args:
            version: The version.

        Returns:
            The decisions, oldest first.
        """
        sql = f"SELECT {_COLUMNS} FROM decision WHERE {_IN_FORCE} ORDER BY number"
        return self._fetch(sql, version, version)

    def read_of_entities(
        self, lefts: Collection[int], rights: Collection[int], version: int
    ) -> list[StoredDecision]:
        """Read the decisions in force about some entities.

        Args:
            lefts: Left entities.
            rights: Right entities.
            version: The version.

        Returns:
            The decisions, oldest first.
        """
        found: set[StoredDecision] = set()
        for column, ids in (("left_id", lefts), ("right_id", rights)):
            for chunk in split_chunks(sorted(ids)):
                marks = ", ".join("?" * len(chunk))
                sql = (
                    f"SELECT {_COLUMNS} FROM decision WHERE {column} IN ({marks}) AND {_IN_FORCE}"
                )
                found.update(self._fetch(sql, *chunk, version, version))
        return sorted(found)

    def was_decided(self, pair: Pair) -> bool:
        """Tell whether there ever was a decision about a pair.

        Args:
            pair: Two ids.

        Returns:
            Whether there was, also if it was withdrawn.
        """
        sql = f"SELECT {_COLUMNS} FROM decision WHERE left_id = ? AND right_id = ? LIMIT 1"
        return bool(self._fetch(sql, *pair))

    def list_changed_pairs(self, start: int, end: int) -> set[Pair]:
        """List the pairs about which decisions began or ended between two versions.

        Args:
            start: A version.
            end: A later version.

        Returns:
            Pairs of ids.
        """
        begun = f"SELECT {_COLUMNS} FROM decision WHERE since > ? AND since <= ? AND since > 0"
        ended = f"""
            SELECT {_COLUMNS} FROM decision WHERE until > ? AND until <= ? AND until < {FOREVER}
        """
        return {row.pair for sql in (begun, ended) for row in self._fetch(sql, start, end)}

    def read_removed(self, version: int) -> set[EntityOfSide]:
        """Read the entities that had no facts at a version.

        Args:
            version: The version.

        Returns:
            Side and id of each.
        """
        sql = f"SELECT side, id, since, until, checksum FROM removed_entity WHERE {_IN_FORCE}"
        rows = self._database.fetch_rows(sql, version, version)
        return {(row[0], row[1]) for row in check_rows(rows, "removed_entity")}

    def iterate_pairs(self) -> Iterator[Pair]:
        """Iterate over the pairs of all decisions that were ever in force.

        Yields:
            Pairs of ids; -1 stands for no entity.
        """
        rows = self._database.iterate_rows(f"SELECT {_COLUMNS} FROM decision")
        yield from ((row[1], row[2]) for row in check_rows(rows, "decision"))

    def iterate_removed(self) -> Iterator[EntityOfSide]:
        """Iterate over all entities that ever had no facts.

        Yields:
            Side and id of each.
        """
        sql = "SELECT side, id, since, until, checksum FROM removed_entity"
        rows = check_rows(self._database.iterate_rows(sql), "removed_entity")
        yield from ((row[0], row[1]) for row in rows)

    def _fetch(self, sql: str, *values: Any) -> list[StoredDecision]:
        rows = check_rows(self._database.fetch_rows(sql, *values), "decision")
        return [
            StoredDecision(number, left, right, DecisionKind(kind), *rest)
            for number, left, right, kind, *rest in rows
        ]


def write_decision_changes(
    connection: sqlite3.Connection, changes: DecisionChanges, version: int
) -> None:
    """Close and open decisions and removals of entities.

    Args:
        connection: The database, inside of a transaction.
        changes: The changes of the version.
        version: The version.
    """
    for pair in changes.ended:
        _close(connection, "decision", "left_id = ? AND right_id = ?", pair, version)
    sql = "SELECT coalesce(max(number) + 1, 0) FROM decision"
    first = connection.execute(sql).fetchone()[0]
    connection.executemany(
        "INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            add_checksum((number, *pair, kind.value, version, FOREVER, request))
            for number, (pair, kind, request) in enumerate(changes.begun, first)
        ),
    )
    for entity in changes.restored:
        _close(connection, "removed_entity", "side = ? AND id = ?", entity, version)
    connection.executemany(
        "INSERT INTO removed_entity VALUES (?, ?, ?, ?, ?)",
        (add_checksum((*entity, version, FOREVER)) for entity in sorted(changes.removed)),
    )


def _close(
    connection: sqlite3.Connection,
    table: str,
    condition: str,
    values: tuple[Any, ...],
    version: int,
) -> None:
    """Close the open interval of a pair or an entity."""
    cursor = connection.execute(
        f"SELECT * FROM {table} WHERE {condition} AND until = {FOREVER}", values
    )
    until = [column[0] for column in cursor.description].index("until")
    for row in check_rows(cursor.fetchall(), table):
        closed = add_checksum((*row[:until], version, *row[until + 1 :]))
        connection.execute(
            f"UPDATE {table} SET until = ?, checksum = ? WHERE {condition} AND until = {FOREVER}",
            (version, closed[-1], *values),
        )
