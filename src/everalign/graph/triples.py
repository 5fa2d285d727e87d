"""Triples of one graph as immutable arrays of ids, and set operations on their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int32]
Mask: TypeAlias = NDArray[np.bool_]

NO_TRIPLES = np.empty((0, 3), dtype=np.int32)
# Shared by everything that is empty, so nobody may write to it.
NO_TRIPLES.setflags(write=False)


@dataclass(frozen=True)
class Graph:
    """A set of relation triples over dense ids.

    An entity that was removed keeps its id and has no triple, so ids never shift.

    >>> graph = Graph.from_triples([(0, 0, 1)])
    >>> graph = graph.with_triples(np.array([[0, 0, 1], [1, 0, 2]], dtype=np.int32))
    >>> graph.entity_count, graph.triples.tolist()
    (3, [[0, 0, 1], [1, 0, 2]])

    Attributes:
        triples: Distinct rows (head, relation, tail), in the order in which they were added.
        entity_count: One more than the highest entity id.
        relation_count: One more than the highest relation id.
    """

    triples: IntArray
    entity_count: int
    relation_count: int

    @staticmethod
    def empty() -> Graph:
        """Return a graph without triples.

        Returns:
            The empty graph.
        """
        return Graph(NO_TRIPLES, 0, 0)

    @staticmethod
    def from_triples(triples: Iterable[tuple[int, int, int]]) -> Graph:
        """Build a graph from tuples; duplicates are dropped.

        Args:
            triples: Tuples (head, relation, tail) of ids.

        Returns:
            The graph with these triples.
        """
        rows = np.array(list(triples), dtype=np.int32).reshape(-1, 3)
        return Graph.empty().with_triples(rows)

    @staticmethod
    def from_parts(parts: Iterable[IntArray]) -> Graph:
        """Build a graph from arrays without looking for duplicates.

        Args:
            parts: Arrays of rows (head, relation, tail) that are distinct across all arrays.

        Returns:
            The graph with the rows of all arrays, in their order.
        """
        return _graph_of_rows(np.concatenate([NO_TRIPLES, *parts]))

    def keep_entities(self, count: int) -> Graph:
        """Keep the triples between the entities with the lowest ids.

        Args:
            count: Number of entities to keep.

        Returns:
            The graph with these triples; the others keep their ids and have none.

        Example:
            >>> Graph.from_triples([(0, 0, 1), (1, 0, 2)]).keep_entities(2).triples.tolist()
            [[0, 0, 1]]
        """
        keep = (self.triples[:, [0, 2]] < count).all(axis=1)
        return Graph(self.triples[keep], self.entity_count, self.relation_count)

    def with_triples(self, triples: IntArray) -> Graph:
        """Add triples to a copy of this graph.

        Args:
            triples: Rows (head, relation, tail); those that the graph has already are ignored.

        Returns:
            The larger graph, or this graph if every triple is known.
        """
        added = select_new_rows(self.triples, triples)
        return _graph_of_rows(np.concatenate([self.triples, added])) if len(added) else self


@dataclass(frozen=True)
class AttributeTriples:
    """The attribute triples of one graph: facts whose object is a literal.

    >>> names = AttributeTriples(np.array([[0, 0, 0]], dtype=np.int32), ["label"], ['"Ada"@en'])
    >>> len(names.triples), names.literals[0]
    (1, '"Ada"@en')

    Attributes:
        triples: Rows (entity, attribute, literal).
        attributes: Attribute names in the order of their ids; some may have no row left.
        literals: Literals as N-Triples writes them (``"Paris"@fr``), in the order of their ids;
            some may have no row left.
    """

    triples: IntArray
    attributes: Sequence[str]
    literals: Sequence[str]

    @staticmethod
    def empty() -> AttributeTriples:
        """Return the attribute triples of a graph without literals.

        Returns:
            No rows and no names.
        """
        return AttributeTriples(NO_TRIPLES, (), ())


class LazyGraph(Graph):
    """A graph whose triples are loaded when somebody asks for them.

    Args:
        load: Returns the triples.
        entity_count: One more than the highest entity id.
        relation_count: One more than the highest relation id.
    """

    def __init__(
        self, load: Callable[[], IntArray], entity_count: int, relation_count: int
    ) -> None:
        # The fields of a frozen class are set in its dictionary.
        self.__dict__.update(_load=load, entity_count=entity_count, relation_count=relation_count)

    @cached_property
    def triples(self) -> IntArray:
        """The triples, loaded once."""
        rows: IntArray = self.__dict__["_load"]()
        return rows


def select_new_rows(known: IntArray, rows: IntArray) -> IntArray:
    """Select the rows that are not known yet.

    >>> known, rows = np.array([[0, 0, 1]]), np.array([[1, 0, 2], [0, 0, 1], [1, 0, 2]])
    >>> select_new_rows(known, rows).tolist()
    [[1, 0, 2]]

    Args:
        known: Rows of three ids.
        rows: Rows of three ids; duplicates are allowed.

    Returns:
        The rows that are not in `known`, each once, in the order of their first occurrence.
    """
    # Most graphs have no row twice, and one sort says so. To find which rows do takes longer.
    if not len(known) and are_rows_distinct(rows):
        return rows
    # `known` comes first, so that a known row has its first occurrence there.
    combined = np.concatenate([known, rows])
    _, first_occurrence = np.unique(_row_keys(combined), return_index=True)
    # `np.unique` orders by key; rows are kept in the order in which they came.
    first_occurrence.sort()
    return combined[first_occurrence[first_occurrence >= len(known)]]


def are_rows_distinct(rows: IntArray) -> bool:
    """Tell whether no row occurs twice.

    >>> are_rows_distinct(np.array([[1, 0, 2], [0, 0, 1], [1, 0, 2]]))
    False

    Args:
        rows: Rows of three ids.

    Returns:
        Whether all rows are different.
    """
    keys = np.sort(_row_keys(rows))
    return not bool((keys[1:] == keys[:-1]).any())


def mark_known_rows(rows: IntArray, others: IntArray) -> Mask:
    """Mark the rows that occur in another array.

    >>> mark_known_rows(np.array([[0, 0, 1], [1, 0, 2]]), np.array([[1, 0, 2]])).tolist()
    [False, True]

    Args:
        rows: Rows of three ids.
        others: The rows to look in.

    Returns:
        For each of `rows`, whether it is among `others`.
    """
    if not len(others):
        return np.zeros(len(rows), dtype=np.bool_)
    # Keys depend on the largest ids of the array, so only keys made together can be compared.
    keys = _row_keys(np.concatenate([rows, others]))
    return np.isin(keys[: len(rows)], keys[len(rows) :])


def find_last_occurrences(rows: IntArray) -> NDArray[np.int64]:
    """Find the last occurrence of each distinct row.

    >>> find_last_occurrences(np.array([[0, 0, 1], [1, 0, 2], [0, 0, 1]])).tolist()
    [1, 2]

    Args:
        rows: Rows of three ids; duplicates are allowed.

    Returns:
        The positions, ascending.
    """
    # `np.unique` finds first occurrences, so the rows are searched from the end.
    _, first_from_end = np.unique(_row_keys(rows)[::-1], return_index=True)
    positions: NDArray[np.int64] = np.sort(len(rows) - 1 - first_from_end)
    return positions


def _row_keys(rows: IntArray) -> NDArray[np.int64] | NDArray[np.void]:
    """Map each row to one comparable value."""
    sizes = rows.max(axis=0, initial=0).tolist() if len(rows) else [0, 0, 0]
    # One integer sorts faster than a structured value. It holds every row of a graph up to
    # about 50 million entities with 3,000 relations.
    if (sizes[0] + 1) * (sizes[1] + 1) * (sizes[2] + 1) < 2**63:
        # In place, since copies of the columns would take three times the memory of the rows.
        keys: NDArray[np.int64] = rows[:, 0].astype(np.int64)
        for column in (1, 2):
            keys *= sizes[column] + 1
            keys += rows[:, column]
        return keys
    contiguous = np.ascontiguousarray(rows)
    return contiguous.view([("", contiguous.dtype)] * 3).ravel()


def _graph_of_rows(rows: IntArray) -> Graph:
    if len(rows) == 0:
        return Graph.empty()
    # A frozen dataclass does not protect the content of its arrays.
    rows.setflags(write=False)
    return Graph(rows, int(rows[:, [0, 2]].max()) + 1, int(rows[:, 1].max()) + 1)
