"""A knowledge graph as immutable arrays, and what a delta adds to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from everalign.graph.names import Names
from everalign.graph.rows import missing
from everalign.graph.values import IntArray


@dataclass(frozen=True)
class Graph:
    """A set of triples between `entities` entities over `relations` relations.

    Rows of `triples` are (head, relation, tail), in the order in which they came. Ids run from
    0 without gaps, so an entity that came later has a higher id; one that was removed keeps its
    id and has no triple.

    >>> graph = Graph.of([(0, 0, 1)]).grown(np.array([[0, 0, 1], [1, 0, 2]], dtype=np.int32))
    >>> graph.entities, graph.triples.tolist()
    (3, [[0, 0, 1], [1, 0, 2]])
    """

    triples: IntArray
    entities: int
    relations: int

    @staticmethod
    def empty() -> Graph:
        """The graph to start from."""
        return Graph(np.empty((0, 3), dtype=np.int32), 0, 0)

    @staticmethod
    def of(triples: Iterable[tuple[int, int, int]]) -> Graph:
        """A graph from a few triples written by hand."""
        rows = np.array(list(triples), dtype=np.int32).reshape(-1, 3)
        return Graph.empty().grown(rows)

    @staticmethod
    def assembled(parts: Iterable[IntArray]) -> Graph:
        """The graph of triples that came in parts and are known to be distinct."""
        return _graph(np.concatenate([np.empty((0, 3), dtype=np.int32), *parts]))

    def grown(self, triples: IntArray) -> Graph:
        """This graph with more triples; those it already has change nothing."""
        new = self.missing(triples)
        if len(new) == 0:
            return self
        return _graph(np.concatenate([self.triples, new]))

    def missing(self, triples: IntArray) -> IntArray:
        """Those of the triples that this graph does not have, each once, in their order."""
        return missing(self.triples, triples)


def intern(
    triples: Iterable[tuple[str, str, str]], heads: Names, relations: Names, tails: Names
) -> IntArray:
    """Triples of names as rows of ids; names never seen before are added.

    >>> entities, relations = Names(), Names()
    >>> rows = [("Oslo", "in", "Norway"), ("Rome", "in", "Italy")]
    >>> intern(rows, entities, relations, entities).tolist()
    [[0, 0, 1], [2, 0, 3]]
    """
    head_id, relation_id, tail_id = heads.id, relations.id, tails.id
    # One number after the other, so that no list of them is ever held.
    ids = (
        number
        for head, relation, tail in triples
        for number in (head_id(head), relation_id(relation), tail_id(tail))
    )
    return np.fromiter(ids, dtype=np.int32).reshape(-1, 3)


def _graph(rows: IntArray) -> Graph:
    if len(rows) == 0:
        return Graph.empty()
    rows.setflags(write=False)
    return Graph(rows, int(rows[:, [0, 2]].max()) + 1, int(rows[:, 1].max()) + 1)
