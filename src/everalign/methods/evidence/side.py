"""One graph laid out for reading from every entity: its edges in both directions.

A relation r is read forwards as the directed relation 2r and backwards as 2r + 1, so the inverse
of d is d ^ 1, also after more relations have come. An edge (x, d, y) says that d leads from x
to y; every triple makes two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.compiled import compiled
from everalign.graph import Graph, IntArray, Values
from everalign.methods.evidence.settings import EvidenceSettings

Floats = NDArray[np.float32]
Starts = NDArray[np.int64]


class Side(NamedTuple):
    """The edges of entity x are those from `start[x]` to `start[x + 1]`.

    They are sorted by relation and then by neighbour (`relation`, `other`), and once more by
    neighbour and then by relation (`near_relation`, `near_other`, `near_pinned`). Edges of one
    entity with one relation are a group; `end` is where the group of an edge ends. `pins` tells
    how well the entity and the relation together pin down the neighbour, `pinned` how well the
    neighbour and the inverse pin down the entity: 1 where there is only one possibility, near 0
    where many. `weight` is how much it tells that an entity has a relation at all (its idf).
    `discount` is what support for an entity counts when candidates are picked: one with many
    edges meets support by chance.

    Literals are nodes after the last entity, attributes are relations after the last relation.
    So the edges of an entity to its literals come last in either order: from `bound[x]` on.
    """

    start: Starts
    relation: IntArray
    other: IntArray
    end: Starts
    pins: Floats
    pinned: Floats
    near_relation: IntArray
    near_other: IntArray
    near_pinned: Floats
    weight: Floats
    discount: Floats
    bound: Starts

    @property
    def entities(self) -> int:
        return len(self.bound)

    @property
    def nodes(self) -> int:
        """Entities and literals."""
        return len(self.start) - 1


def lay_out(graph: Graph, settings: EvidenceSettings, values: Values | None = None) -> Side:
    """The layout of a graph, with the literals that its entities have.

    >>> side = lay_out(Graph.of([(0, 0, 2), (1, 0, 2)]), EvidenceSettings())
    >>> side.start.tolist(), side.relation.tolist(), side.other.tolist()
    ([0, 1, 2, 4], [0, 0, 1, 1], [2, 2, 0, 1])
    """
    entities, relations = graph.entities, graph.relations
    if values is not None:
        graph = _with_literals(graph, values)
    head, relation, tail = graph.triples.T
    one = np.concatenate([head, tail])
    other = np.concatenate([tail, head])
    directed = np.concatenate([2 * relation, 2 * relation + 1])
    order = np.lexsort((other, directed, one))
    one, other, directed = one[order], other[order], directed[order]
    start = np.zeros(graph.entities + 1, dtype=np.int64)
    np.cumsum(np.bincount(one, minlength=graph.entities), out=start[1:])
    end = _group_ends(one, directed)
    pins = _pins(one, directed, end, 2 * graph.relations, settings)
    pinned = np.empty_like(pins)
    pinned[np.lexsort((one, directed ^ 1, other))] = pins
    near = np.lexsort((directed, other, one))
    to_literals = np.bincount(one[directed >= 2 * relations], minlength=graph.entities)
    bound = (start[1:] - to_literals)[:entities]
    return Side(
        start,
        directed,
        other,
        end,
        pins,
        pinned,
        directed[near],
        other[near],
        pinned[near],
        _weights(one, directed, entities, 2 * graph.relations),
        (np.maximum(bound - start[:entities], 1.0) ** -settings.discount).astype(np.float32),
        bound,
    )


def _with_literals(graph: Graph, values: Values) -> Graph:
    more = values.rows + np.array([0, graph.relations, graph.entities], dtype=np.int32)
    return Graph(
        np.concatenate([graph.triples, more]),
        graph.entities + len(values.literals),
        graph.relations + len(values.attributes),
    )


def _group_ends(one: IntArray, directed: IntArray) -> Starts:
    """For each edge the place after the last edge with the same entity and relation."""
    if len(one) == 0:
        return np.empty(0, dtype=np.int64)
    new = np.flatnonzero((np.diff(one) != 0) | (np.diff(directed) != 0)) + 1
    ends = np.append(new, len(one))
    sizes = np.diff(np.append(0, ends))
    return np.repeat(ends, sizes)


def _pins(
    one: IntArray, directed: IntArray, end: Starts, relations: int, settings: EvidenceSettings
) -> Floats:
    """Part how functional the relation is as a whole, part how many share this very fact.

    A fact that too many share tells nothing, and would cost as much as all the others together.
    """
    first = np.ones(len(one), dtype=bool)
    first[1:] = (one[1:] != one[:-1]) | (directed[1:] != directed[:-1])
    groups = np.bincount(directed[first], minlength=relations)
    edges = np.bincount(directed, minlength=relations)
    functional = groups / np.maximum(edges, 1)
    size = np.repeat(np.diff(np.append(0, end[first])), np.diff(np.append(0, end[first])))
    mixed = (1 - settings.local) * functional[directed] + settings.local / size
    mixed[size > settings.crowd] = 0
    return mixed.astype(np.float32)


def _weights(one: IntArray, directed: IntArray, entities: int, relations: int) -> Floats:
    """The idf of every directed relation: rare ones tell more."""
    first = np.ones(len(one), dtype=bool)
    first[1:] = (one[1:] != one[:-1]) | (directed[1:] != directed[:-1])
    having = np.bincount(directed[first], minlength=relations)
    return np.log((1 + entities) / (1 + having)).astype(np.float32)


@compiled()
def place_of(sorted_values: IntArray, first: int, end: int, value: int) -> int:
    """The first place from `first` to `end` whose value is not less than the given one."""
    while first < end:
        middle = (first + end) >> 1
        if sorted_values[middle] < value:
            first = middle + 1
        else:
            end = middle
    return first


@compiled()
def has_edge(side: Side, x: int, d: int, y: int) -> bool:
    """Whether d leads from x to y."""
    end = side.start[x + 1]
    at = place_of(side.near_other, side.start[x], end, y)
    while at < end and side.near_other[at] == y:
        if side.near_relation[at] == d:
            return True
        at += 1
    return False
