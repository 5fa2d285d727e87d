"""A graph as adjacency lists in both directions, with the functionality of its edges.

A relation r read forwards is the directed relation 2r, read backwards 2r + 1: the inverse of d is
d ^ 1, also after relations have been added. An edge (x, d, y) says that d leads from x to y; every
triple makes two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.graph import AttributeTriples, Graph, IntArray
from everalign.methods.evidence.config import EvidenceParameters

FloatArray = NDArray[np.float32]
OffsetArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


MORE_ATTRIBUTES = 256  # that an update can add before everything is numbered anew


class Adjacency(NamedTuple):
    """The edges of all nodes, each node's in one block.

    Literals are nodes after the last entity that there is room for, attributes are relations after
    the last such relation. So the edges of an entity to its literals come last, in both orders.

    Attributes:
        start: The edges of node x are those from `start[x]` to `stop[x]`. After an update the
            edges of a node need not follow those of the node before it.
        stop: See `start`.
        relation: Directed relation of each edge; the edges of a node are sorted by relation, then
            by neighbour. Edges of one node with one relation are a group.
        neighbour: Node that the edge leads to.
        group_end: Index after the last edge of the group of an edge.
        functionality: How well the node and the relation determine the neighbour: 1 where there
            is only one possibility, near 0 where there are many.
        inverse_functionality: How well the neighbour and the inverse relation determine the node.
        sorted_relation: The relations once more, with the edges of a node sorted by neighbour,
            then by relation.
        sorted_neighbour: The neighbours in that order.
        relation_idf: How rare it is that an entity has a directed relation at all.
        degree_discount: What support for an entity counts when candidates are searched.
        literal_start: The edges of entity x to literals are those from `literal_start[x]` on.
            As long as there is room for entities: literals are numbered from there on.
        entity_count: Number of entities.
        attribute_offset: Attributes are numbered from here on.
    """

    start: OffsetArray
    stop: OffsetArray
    relation: IntArray
    neighbour: IntArray
    group_end: IntArray
    functionality: FloatArray
    inverse_functionality: FloatArray
    sorted_relation: IntArray
    sorted_neighbour: IntArray
    relation_idf: FloatArray
    degree_discount: FloatArray
    literal_start: OffsetArray
    entity_count: int
    attribute_offset: int

    @property
    def literal_offset(self) -> int:
        """Literals are numbered from here on."""
        return len(self.literal_start)

    @property
    def node_count(self) -> int:
        """Number of entities and literals."""
        return len(self.start)


class GraphCapacity(NamedTuple):
    """How many entities and relations there is room for, before literals and attributes begin.

    Numbers of literals and attributes must not change when entities and relations are added.
    """

    entities: int
    relations: int

    @staticmethod
    def from_graph(graph: Graph) -> GraphCapacity:
        """Make room for what a graph has, and for some more.

        Args:
            graph: The graph.

        Returns:
            The capacity.
        """
        return GraphCapacity(
            *(count + count // 4 + 64 for count in (graph.entity_count, graph.relation_count))
        )


def build_adjacency(
    graph: Graph,
    config: EvidenceParameters,
    attributes: AttributeTriples | None = None,
    capacity: GraphCapacity | None = None,
) -> Adjacency:
    """Build the adjacency lists of a graph.

    Args:
        graph: The graph.
        config: Gives the constants of functionality and discount.
        attributes: Attribute triples of its entities, to be added as edges to literals.
        capacity: Entities and relations to make room for; just those that there are by default.

    Returns:
        The adjacency lists.

    Example:
        >>> graph = Graph.from_triples([(0, 0, 2), (1, 0, 2)])
        >>> adjacency = build_adjacency(graph, EvidenceParameters())
        >>> adjacency.start.tolist(), adjacency.relation.tolist(), adjacency.neighbour.tolist()
        ([0, 1, 2], [0, 0, 1, 1], [2, 2, 0, 1])
    """
    return build_with_sharing(graph, config, attributes, capacity)[0]


def build_with_sharing(
    graph: Graph,
    config: EvidenceParameters,
    attributes: AttributeTriples | None = None,
    capacity: GraphCapacity | None = None,
) -> tuple[Adjacency, IntArray]:
    """Build the adjacency lists of a graph, and find the entities that share a fact.

    Args:
        graph: See `build_adjacency`.
        config: See `build_adjacency`.
        attributes: See `build_adjacency`.
        capacity: See `build_adjacency`.

    Returns:
        The adjacency lists, and for each edge (x, d, y) the first edge of the group of y that
        leads to all entities with the same relation d to y.
    """
    entity_count = graph.entity_count
    has_room = capacity is not None
    capacity = capacity or GraphCapacity(entity_count, graph.relation_count)
    entity_capacity, relation_count = capacity
    graph = Graph(graph.triples, *capacity)
    if attributes is not None:
        graph = _add_literals(graph, attributes, MORE_ATTRIBUTES if has_room else 0)
    head, relation, tail = graph.triples.T
    node = np.concatenate([head, tail])
    neighbour = np.concatenate([tail, head])
    directed = np.concatenate([2 * relation, 2 * relation + 1])
    node_count, directed_count = graph.entity_count, 2 * graph.relation_count
    # Stable counting sorts, the most important key last.
    order = np.arange(len(node), dtype=np.int32)
    order = _sort_by_key(_sort_by_key(order, directed, directed_count), neighbour, node_count)
    by_neighbour = _sort_by_key(order, node, node_count)
    order = _sort_by_key(_sort_by_key(by_neighbour, directed, directed_count), node, node_count)
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=np.int32)
    # The inverses of the edges are the other half: first come those of the triples as they are.
    inverse = place[np.roll(np.arange(len(order)), len(head))[order]]
    by_neighbour = place[by_neighbour]
    node, neighbour, directed = node[order], neighbour[order], directed[order]
    start = np.zeros(graph.entity_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(node, minlength=graph.entity_count), out=start[1:])
    is_first = _mark_group_starts(node, directed)
    group_end = _find_group_ends(is_first)
    functionality = _compute_functionality(
        directed, is_first, group_end, 2 * graph.relation_count, config
    )
    sharing = _find_group_starts(is_first)[inverse]
    literal_edges = np.bincount(node[directed >= 2 * relation_count], minlength=graph.entity_count)
    # Attributes and literals have the highest ids, so that their edges are last in both orders.
    literal_start = (start[1:] - literal_edges)[:entity_capacity]
    # Literals do not count: many labels must not cost an entity its place among candidates.
    degree = np.maximum(literal_start - start[:entity_capacity], 1.0)
    adjacency = Adjacency(
        start[:-1].copy(),
        start[1:].copy(),
        directed,
        neighbour,
        group_end,
        functionality,
        # All edges of a group have the same.
        functionality[sharing],
        # The second order serves binary searches for the edges between two nodes.
        directed[by_neighbour],
        neighbour[by_neighbour],
        _compute_idf(directed[is_first], entity_count, 2 * graph.relation_count),
        (degree**-config.degree_discount).astype(np.float32),
        literal_start,
        entity_count,
        relation_count,
    )
    return adjacency, sharing


def _add_literals(graph: Graph, attributes: AttributeTriples, more_attributes: int) -> Graph:
    shift = np.array([0, graph.relation_count, graph.entity_count], dtype=np.int32)
    return Graph(
        np.concatenate([graph.triples, attributes.triples + shift]),
        graph.entity_count + len(attributes.literals),
        graph.relation_count + len(attributes.attributes) + more_attributes,
    )


@jit_cached()
def _sort_by_key(order: IntArray, key: IntArray, key_count: int) -> IntArray:
    """Sort indices by their keys, from 0 on; those with equal keys stay in order."""
    place = np.zeros(key_count + 1, dtype=np.int64)
    for k in key:
        place[k + 1] += 1
    for k in range(key_count):
        place[k + 1] += place[k]
    out = np.empty_like(order)
    for index in order:
        out[place[key[index]]] = index
        place[key[index]] += 1
    return out


def _mark_group_starts(node: IntArray, directed: IntArray) -> BoolArray:
    """Mark the edges whose node or relation differs from that of the edge before."""
    is_first = np.ones(len(node), dtype=bool)
    is_first[1:] = (node[1:] != node[:-1]) | (directed[1:] != directed[:-1])
    return is_first


@jit_cached()
def _find_group_starts(is_first: BoolArray) -> IntArray:
    starts = np.empty(is_first.size, dtype=np.int32)
    first = 0
    for edge in range(is_first.size):
        first = edge if is_first[edge] else first
        starts[edge] = first
    return starts


@jit_cached()
def _find_group_ends(is_first: BoolArray) -> IntArray:
    # In 32 bits, as all edges of a graph are numbered: 8 bytes would be a tenth of its memory.
    ends = np.empty(is_first.size, dtype=np.int32)
    end = is_first.size
    for edge in range(is_first.size - 1, -1, -1):
        ends[edge] = end
        if is_first[edge]:
            end = edge
    return ends


def _compute_functionality(
    directed: IntArray,
    is_first: BoolArray,
    group_end: IntArray,
    relation_count: int,
    config: EvidenceParameters,
) -> FloatArray:
    """Mix the functionality of the relation as a whole with 1 / size of the group of the edge."""
    groups = np.bincount(directed[is_first], minlength=relation_count)
    edges = np.bincount(directed, minlength=relation_count)
    relation_functionality = groups / np.maximum(edges, 1)
    size = np.diff(np.append(0, group_end[is_first]))
    size = np.repeat(size, size)
    local = config.local_functionality_weight
    mixed = (1 - local) * relation_functionality[directed] + local / size
    # Functionality 0 is skipped by the candidate search: it bounds the cost of a hub.
    mixed[size > config.max_fact_degree] = 0
    return mixed.astype(np.float32)


def _compute_idf(
    relation_of_group: IntArray, entity_count: int, relation_count: int
) -> FloatArray:
    # The 1 keeps the idf of a relation that no entity has finite.
    having = np.bincount(relation_of_group, minlength=relation_count)
    return np.log((1 + entity_count) / (1 + having)).astype(np.float32)


@jit_cached()
def find_edge(adjacency: Adjacency, node: int, relation: int, neighbour: int) -> int:
    """Find the edge of a node with a relation and a neighbour.

    Args:
        adjacency: The graph.
        node: A node.
        relation: A directed relation that it has.
        neighbour: Where the edge leads to.

    Returns:
        The index of the edge; if there is none, of the first one behind it.
    """
    first = find_first(adjacency.relation, adjacency.start[node], adjacency.stop[node], relation)
    return find_first(adjacency.neighbour, first, adjacency.group_end[first], neighbour)


@jit_cached()
def find_first(sorted_values: IntArray, first: int, end: int, value: int) -> int:
    """Find the first index in a sorted range whose value is not less than a given one.

    Args:
        sorted_values: Values, ascending from `first` to `end`.
        first: First index of the range.
        end: Index after the last one of the range.
        value: The value to search for.

    Returns:
        The index; `end` if all values of the range are less.
    """
    # The number of steps depends on the size alone, and each is a choice between two values: the
    # processor need not guess where the search goes on.
    size = end - first
    while size > 1:
        half = size >> 1
        first = first + half if sorted_values[first + half - 1] < value else first
        size -= half
    return first + 1 if size == 1 and sorted_values[first] < value else first
