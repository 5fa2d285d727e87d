"""Which facts the graphs have: asked for some rows and entities, not for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray, mark_known_rows
from everalign.graph.id_sets import mark_members
from everalign.state.snapshots import FACT_KINDS, GraphSnapshot

Mask = NDArray[np.bool_]


class FactIndex(Protocol):
    """The facts of both graphs at a version."""

    def mark_known(self, side: int, kind: str, rows: IntArray) -> Mask:
        """Mark the rows that a graph has.

        Args:
            side: 0 for the left graph, 1 for the right.
            kind: "triples" or "literals".
            rows: Rows of three ids.

        Returns:
            A mask over the rows.
        """
        ...

    def list_facts(self, side: int, kind: str, entities: Sequence[int]) -> IntArray:
        """List the facts of entities.

        Args:
            side: 0 for the left graph, 1 for the right.
            kind: "triples" or "literals".
            entities: Ids of entities.

        Returns:
            All rows that have one of them as head or tail, each once.
        """
        ...

    def list_all_facts(self, side: int, entities: Sequence[int]) -> tuple[IntArray, IntArray]:
        """List the facts of entities, of both kinds.

        Args:
            side: 0 for the left graph, 1 for the right.
            entities: Ids of entities.

        Returns:
            What `list_facts` lists of triples and of literals.
        """
        ...

    def count_facts(self, side: int, entities: IntArray, limit: int) -> NDArray[np.int64]:
        """Count the facts of entities.

        Args:
            side: 0 for the left graph, 1 for the right.
            entities: Ids, ascending and distinct.
            limit: Numbers above it need not be exact.

        Returns:
            How often each is head or tail of a fact.
        """
        ...


@dataclass(frozen=True)
class SnapshotFacts:
    """The facts of a snapshot.

    Args:
        snapshot: The snapshot.
    """

    snapshot: GraphSnapshot

    def mark_known(self, side: int, kind: str, rows: IntArray) -> Mask:
        """Mark the rows that a graph has.

        Args:
            side: 0 for the left graph, 1 for the right.
            kind: "triples" or "literals".
            rows: Rows of three ids.

        Returns:
            A mask over the rows.
        """
        return mark_known_rows(rows, self._get_rows(side, kind))

    def list_facts(self, side: int, kind: str, entities: Sequence[int]) -> IntArray:
        """List the facts of entities.

        Args:
            side: 0 for the left graph, 1 for the right.
            kind: "triples" or "literals".
            entities: Ids of entities.

        Returns:
            All rows that have one of them as head or tail, each once.
        """
        rows, columns = self._get_rows(side, kind), list(ENTITY_COLUMNS[kind])
        return rows[np.isin(rows[:, columns], entities).any(axis=1)]

    def list_all_facts(self, side: int, entities: Sequence[int]) -> tuple[IntArray, IntArray]:
        """List the facts of entities, of both kinds.

        Args:
            side: 0 for the left graph, 1 for the right.
            entities: Ids of entities.

        Returns:
            What `list_facts` lists of triples and of literals.
        """
        triples, literals = (self.list_facts(side, kind, entities) for kind in FACT_KINDS)
        return triples, literals

    def count_facts(self, side: int, entities: IntArray, limit: int) -> NDArray[np.int64]:  # noqa: ARG002
        """Count the facts of entities.

        Args:
            side: 0 for the left graph, 1 for the right.
            entities: Ids, ascending and distinct.
            limit: Not used.

        Returns:
            How often each is head or tail of a fact.
        """
        counts = np.zeros(len(entities), dtype=np.int64)
        for kind in FACT_KINDS:
            counts += count_occurrences(self._get_rows(side, kind), kind, entities)
        return counts

    def _get_rows(self, side: int, kind: str) -> IntArray:
        facts = self.snapshot.triples if kind == FACT_KINDS[0] else self.snapshot.literals
        return facts[side]


_DENSE_FACTOR = 4
# The columns of a fact that hold entities.
ENTITY_COLUMNS = {"triples": (0, 2), "literals": (0,)}


def count_occurrences(rows: IntArray, kind: str, entities: IntArray) -> NDArray[np.int64]:
    """Count how often entities occur in facts.

    Args:
        rows: Rows of three ids.
        kind: "triples" or "literals".
        entities: Ids, ascending and distinct.

    Returns:
        A number for each.

    Example:
        >>> rows = np.array([[1, 0, 2], [2, 0, 2]])
        >>> count_occurrences(rows, "triples", np.array([1, 2])).tolist()
        [1, 3]
    """
    counts = np.zeros(len(entities), dtype=np.int64)
    id_count = int(entities[-1]) + 1 if len(entities) else 0
    # Of nearly all entities, as in a first version, occurrences are counted by id.
    is_dense = id_count <= _DENSE_FACTOR * len(entities)
    for column in ENTITY_COLUMNS[kind]:
        ids = rows[:, column]
        if is_dense:
            counts += np.bincount(ids[ids < id_count], minlength=id_count)[entities]
        else:
            ids = ids[mark_members(entities, ids)]
            counts += np.bincount(np.searchsorted(entities, ids), minlength=len(entities))
    return counts
