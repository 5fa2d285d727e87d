"""Adjacency lists that follow added and removed triples, at the cost of the blocks they touch.

The edges of an entity are a block. An update writes the blocks of the changed nodes again at the
end of the columns. Where a group of edges has another size, the functionality of its edges is
another one, and so is the inverse functionality of the edges that lead back.

The functionality of a relation as a whole and its idf stay as they were when the lists were built:
they change little, and with them every edge of the relation would change. A relation that has come
since has the functionality of all edges taken together and the idf of the rarest relation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.graph import IntArray
from everalign.graph.growing import (
    GrowingColumns,
    compute_capacity,
    list_block_rows,
    pack_blocks,
    place_blocks,
    repeat_keys,
)
from everalign.graph.id_sets import unique_ids
from everalign.methods.evidence.adjacency import (
    Adjacency,
    FloatArray,
    OffsetArray,
    find_edge,
    find_first,
)
from everalign.methods.evidence.config import EvidenceParameters

EDGE_COLUMNS = (
    "relation",
    "neighbour",
    "group_end",
    "functionality",
    "inverse_functionality",
    "sorted_relation",
    "sorted_neighbour",
)
NODE_COLUMNS = ("start", "stop", "literal_start", "degree_discount", "relation_idf")

# Neighbours have 32 bits: a key sorts by relation and then by neighbour, or the other way round.
KEY_SHIFT = 32


class GrowingAdjacency:
    """The adjacency lists of one graph, with room for more nodes and edges.

    Args:
        edges: The columns of the edges.
        nodes: The arrays of the nodes and relations, by name; they have room for more of both.
        entity_count: Number of entities.
        attribute_offset: The number of the first attribute among the relations.
        config: Constants of functionality and discount.
    """

    def __init__(
        self,
        edges: GrowingColumns,
        nodes: Mapping[str, NDArray[Any]],
        entity_count: int,
        attribute_offset: int,
        config: EvidenceParameters,
    ) -> None:
        self.edges = edges
        self.nodes = dict(nodes)
        self.entity_count = entity_count
        self.attribute_offset = attribute_offset
        self._config = config

    @staticmethod
    def from_adjacency(adjacency: Adjacency, config: EvidenceParameters) -> GrowingAdjacency:
        """Make adjacency lists follow updates.

        Args:
            adjacency: The adjacency lists of a graph.
            config: Constants of functionality and discount.

        Returns:
            A copy with room for more nodes and edges.
        """
        nodes = {name: getattr(adjacency, name) for name in NODE_COLUMNS}
        nodes |= {name: _add_literal_room(nodes[name]) for name in ("start", "stop")}
        nodes["relation_functionality"] = _measure_functionality(adjacency)
        nodes["relation_idf"] = _fill_idf(adjacency)
        return GrowingAdjacency(
            GrowingColumns.from_arrays({name: getattr(adjacency, name) for name in EDGE_COLUMNS}),
            nodes,
            adjacency.entity_count,
            adjacency.attribute_offset,
            config,
        )

    def pack(self) -> GrowingAdjacency:
        """Build the lists again without edges that are no longer in use.

        Returns:
            The same adjacency lists.
        """
        old_start, old_stop = self.nodes["start"], self.nodes["stop"]
        edges, start, stop = pack_blocks(self.edges, old_start, old_stop)
        # What refers to rows of the block of a node moves with it.
        moved = start - old_start
        literal_start = self.nodes["literal_start"] + moved[: self.literal_offset]
        edges["group_end"][: edges.length] += np.repeat(moved, old_stop - old_start).astype(
            np.int32
        )
        nodes = {**self.nodes, "start": start, "stop": stop, "literal_start": literal_start}
        return GrowingAdjacency(
            edges, nodes, self.entity_count, self.attribute_offset, self._config
        )

    @property
    def view(self) -> Adjacency:
        """The adjacency lists as they are now; not valid after the next update."""
        return Adjacency(
            **{name: self.nodes[name] for name in NODE_COLUMNS},
            **{name: self.edges[name] for name in EDGE_COLUMNS},
            entity_count=self.entity_count,
            attribute_offset=self.attribute_offset,
        )

    @property
    def literal_offset(self) -> int:
        """The number of the first literal among the nodes."""
        return len(self.nodes["literal_start"])

    @property
    def node_capacity(self) -> int:
        """How many nodes there is room for."""
        return len(self.nodes["start"])

    def number_literals(self, rows: IntArray) -> IntArray:
        """Turn attribute triples into edges.

        Args:
            rows: Rows of (entity, attribute, literal).

        Returns:
            Rows of (node, relation, node).
        """
        shift = np.array([0, self.attribute_offset, self.literal_offset], dtype=np.int32)
        return rows + shift

    def has_room(self, rows: IntArray, entity_count: int) -> bool:
        """Tell whether facts can be added.

        Args:
            rows: Rows of (node, relation, node).
            entity_count: Number of entities with them.

        Returns:
            False if there are too many entities, literals, relations or attributes.
        """
        is_literal = rows[:, 2] >= self.literal_offset
        relations, attributes = rows[~is_literal, 1], rows[is_literal, 1]
        return (
            entity_count <= self.literal_offset
            and int(rows[:, [0, 2]].max(initial=0)) < len(self.nodes["start"])
            and int(relations.max(initial=0)) < self.attribute_offset
            and 2 * int(attributes.max(initial=0)) < len(self.nodes["relation_idf"])
        )

    def unnumber_literals(self, rows: IntArray) -> IntArray:
        """Turn edges to literals back into attribute triples.

        Args:
            rows: Rows of (node, relation, node).

        Returns:
            Rows of (entity, attribute, literal).
        """
        return rows - self.number_literals(np.zeros((1, 3), dtype=np.int32))

    def list_facts(self, entities: NDArray[np.integer]) -> IntArray:
        """List the facts of entities.

        Args:
            entities: Entities, distinct.

        Returns:
            Rows of (node, relation, node) that have one of them as head or tail, each once.
        """
        view = self.view
        rows = list_block_rows(view.start, view.stop, entities)
        node = repeat_keys(view.start, view.stop, entities)
        relation, neighbour = view.relation[rows].astype(np.int64), view.neighbour[rows]
        is_inverse = relation & 1 == 1
        facts = np.stack(
            [
                np.where(is_inverse, neighbour, node),
                relation >> 1,
                np.where(is_inverse, node, neighbour),
            ],
            axis=1,
        ).astype(np.int32)
        # A fact between two of them is met from both.
        twice = is_inverse & np.isin(neighbour, entities)
        distinct: IntArray = facts[~twice]
        return distinct

    def has_edges(self, rows: IntArray) -> NDArray[np.bool_]:
        """Tell which triples are in the graph.

        Args:
            rows: Rows of (head, relation, tail) in numbers of nodes.

        Returns:
            A mask over the rows.
        """
        return _mark_edges(self.view, rows.astype(np.int64))

    def update(self, added: IntArray, removed: IntArray) -> OffsetArray:
        """Add and remove triples.

        Args:
            added: Distinct rows of (head, relation, tail) that are not there.
            removed: Distinct rows that are there and not among the added ones.

        Returns:
            The nodes whose edges have changed, ascending.
        """
        changes = _EdgeChanges.from_rows(added, removed)
        nodes = changes.nodes
        if not len(nodes):
            return nodes
        start, stop = self.nodes["start"], self.nodes["stop"]
        old_start, old_stop = start[nodes], stop[nodes]
        sizes = (
            old_stop - old_start + np.diff(changes.added_start) - np.diff(changes.removed_start)
        )
        first = self.edges.reserve(int(sizes.sum()))
        place_blocks(start, stop, nodes, sizes, first)
        view = self.view
        _rewrite_blocks(view, changes, old_start, old_stop)
        _measure_blocks(
            view,
            nodes,
            self.nodes["relation_functionality"],
            2 * self.attribute_offset,
            self._config.local_functionality_weight,
            self._config.max_fact_degree,
            self._config.degree_discount,
        )
        _measure_inverses(view, changes, old_start, old_stop, self._config.max_fact_degree)
        return nodes


class _EdgeChanges(NamedTuple):
    """The changed nodes, and the keys of the edges that each of them gains and loses.

    Keys are sorted for each node: once by relation and neighbour, once the other way round.
    """

    nodes: OffsetArray
    added_start: OffsetArray
    added: OffsetArray
    added_by_neighbour: OffsetArray
    removed_start: OffsetArray
    removed: OffsetArray
    removed_by_neighbour: OffsetArray

    @staticmethod
    def from_rows(added: IntArray, removed: IntArray) -> _EdgeChanges:
        parts = [_list_directed(rows) for rows in (added, removed)]
        nodes = unique_ids(np.concatenate([node for node, _, _ in parts]))
        columns = []
        for node, directed, neighbour in parts:
            by_relation = directed << KEY_SHIFT | neighbour
            by_neighbour = neighbour << KEY_SHIFT | directed
            # Of a row that is added and removed twice there is one edge.
            start = np.searchsorted(np.sort(node), np.append(nodes, np.iinfo(np.int64).max))
            columns += [
                start,
                by_relation[np.lexsort((by_relation, node))],
                by_neighbour[np.lexsort((by_neighbour, node))],
            ]
        return _EdgeChanges(nodes, *columns)


def _list_directed(rows: IntArray) -> tuple[OffsetArray, OffsetArray, OffsetArray]:
    head, relation, tail = rows.astype(np.int64).T
    return (
        np.concatenate([head, tail]),
        np.concatenate([2 * relation, 2 * relation + 1]),
        np.concatenate([tail, head]),
    )


def _add_literal_room(offsets: OffsetArray) -> OffsetArray:
    """Make room for literals that are not there yet: their blocks are empty."""
    return np.append(offsets, np.zeros(compute_capacity(len(offsets)) - len(offsets), np.int64))


def _fill_idf(adjacency: Adjacency) -> FloatArray:
    """Give relations that are not there yet the idf of the rarest one."""
    idf = adjacency.relation_idf.copy()
    is_used = np.bincount(adjacency.relation, minlength=len(idf)) > 0
    idf[~is_used] = idf[is_used].max(initial=0)
    return idf


def _measure_functionality(adjacency: Adjacency) -> NDArray[np.float64]:
    """The functionality of each directed relation as a whole."""
    relation_count = len(adjacency.relation_idf)
    is_first = np.ones(len(adjacency.relation), dtype=np.bool_)
    is_first[1:] = adjacency.group_end[1:] != adjacency.group_end[:-1]
    groups = np.bincount(adjacency.relation[is_first], minlength=relation_count)
    edges = np.bincount(adjacency.relation, minlength=relation_count)
    # What is not known of a relation is taken from all of them together.
    mean = groups.sum() / max(1, edges.sum())
    return np.where(edges > 0, groups / np.maximum(edges, 1), mean)


@jit_cached()
def _mark_edges(adjacency: Adjacency, rows: OffsetArray) -> NDArray[np.bool_]:
    out = np.zeros(len(rows), dtype=np.bool_)
    for row in range(len(rows)):
        node, relation, neighbour = rows[row]
        if max(node, neighbour) < adjacency.start.size:
            end = adjacency.stop[node]
            group = find_first(adjacency.relation, adjacency.start[node], end, 2 * relation)
            if group < end and adjacency.relation[group] == 2 * relation:
                group_end = adjacency.group_end[group]
                edge = find_first(adjacency.neighbour, group, group_end, neighbour)
                out[row] = edge < group_end and adjacency.neighbour[edge] == neighbour
    return out


@jit_cached()
def _rewrite_blocks(
    adjacency: Adjacency, changes: _EdgeChanges, old_start: OffsetArray, old_stop: OffsetArray
) -> None:
    """Merge the old edges of each changed node with its changes, in both orders."""
    for i in range(changes.nodes.size):
        out = adjacency.start[changes.nodes[i]]
        added = slice(changes.added_start[i], changes.added_start[i + 1])
        removed = slice(changes.removed_start[i], changes.removed_start[i + 1])
        _merge_block(
            adjacency.relation,
            adjacency.neighbour,
            adjacency.inverse_functionality,
            old_start[i],
            old_stop[i],
            changes.added[added],
            changes.removed[removed],
            out,
        )
        _merge_block(
            adjacency.sorted_neighbour,
            adjacency.sorted_relation,
            adjacency.inverse_functionality[:0],
            old_start[i],
            old_stop[i],
            changes.added_by_neighbour[added],
            changes.removed_by_neighbour[removed],
            out,
        )


@jit_cached()
def _merge_block(
    major: IntArray,
    minor: IntArray,
    value: FloatArray,
    old: int,
    old_end: int,
    added: OffsetArray,
    removed: OffsetArray,
    out: int,
) -> None:
    """Merge sorted edges into a new block; the value of an added edge is 0 until it is known.

    There need not be any values.
    """
    has_values = value.size > 0
    i, j = 0, 0
    while old < old_end or i < added.size:
        old_key = np.int64(np.iinfo(np.int64).max)
        if old < old_end:
            old_key = np.int64(major[old]) << KEY_SHIFT | minor[old]
            if j < removed.size and removed[j] == old_key:
                j += 1
                old += 1
                continue
        if i < added.size and added[i] < old_key:
            major[out] = added[i] >> KEY_SHIFT
            minor[out] = added[i] & 0xFFFFFFFF
            if has_values:
                value[out] = 0
            i += 1
        else:
            major[out], minor[out] = major[old], minor[old]
            if has_values:
                value[out] = value[old]
            old += 1
        out += 1


@jit_cached()
def _measure_blocks(
    adjacency: Adjacency,
    nodes: OffsetArray,
    relation_functionality: NDArray[np.float64],
    first_attribute: int,
    local_weight: float,
    max_fact_degree: int,
    discount: float,
) -> None:
    """Find groups, functionality, literals and degree of rewritten blocks."""
    for x in nodes:
        end = adjacency.stop[x]
        group_end, literal_start = end, end
        for edge in range(end - 1, adjacency.start[x] - 1, -1):
            relation = adjacency.relation[edge]
            if edge + 1 < end and relation != adjacency.relation[edge + 1]:
                group_end = edge + 1
            adjacency.group_end[edge] = group_end
            if relation >= first_attribute and relation & 1 == 0:
                literal_start = edge
        group = adjacency.start[x]
        while group < end:
            size = adjacency.group_end[group] - group
            relation = adjacency.relation[group]
            functionality = (1 - local_weight) * relation_functionality[
                relation
            ] + local_weight / size
            # Functionality 0 is skipped by the candidate search: it bounds the cost of a hub.
            value = np.float32(0 if size > max_fact_degree else functionality)
            for edge in range(group, adjacency.group_end[group]):
                adjacency.functionality[edge] = value
            group = adjacency.group_end[group]
        if x < adjacency.literal_start.size:
            adjacency.literal_start[x] = literal_start
            degree = max(literal_start - adjacency.start[x], 1)
            adjacency.degree_discount[x] = degree**-discount


@jit_cached()
def _measure_inverses(
    adjacency: Adjacency,
    changes: _EdgeChanges,
    old_start: OffsetArray,
    old_stop: OffsetArray,
    max_fact_degree: int,
) -> None:
    """Set the inverse functionality of the edges that lead back to groups of another size."""
    for i in range(changes.nodes.size):
        x = changes.nodes[i]
        added = changes.added[changes.added_start[i] : changes.added_start[i + 1]]
        removed = changes.removed[changes.removed_start[i] : changes.removed_start[i + 1]]
        for part in (added, removed):
            last = -1
            for key in part:
                relation = key >> KEY_SHIFT
                if relation != last:
                    last = relation
                    old_size = _measure_group(adjacency, old_start[i], old_stop[i], relation)
                    _set_inverses(adjacency, x, relation, old_size, max_fact_degree)


@jit_cached()
def _measure_group(adjacency: Adjacency, first: int, end: int, relation: int) -> int:
    """The number of edges of a relation in a block that need not be in use any more."""
    group = find_first(adjacency.relation, first, end, relation)
    return find_first(adjacency.relation, group, end, relation + 1) - group


@jit_cached()
def _set_inverses(
    adjacency: Adjacency, x: int, relation: int, old_size: int, max_fact_degree: int
) -> None:
    end = adjacency.stop[x]
    group = find_first(adjacency.relation, adjacency.start[x], end, relation)
    if group == end or adjacency.relation[group] != relation:
        return
    # Of a hub that stays one all values are 0 before and after.
    if min(old_size, adjacency.group_end[group] - group) > max_fact_degree:
        return
    value = adjacency.functionality[group]
    for edge in range(group, adjacency.group_end[group]):
        back = find_edge(adjacency, adjacency.neighbour[edge], relation ^ 1, x)
        adjacency.inverse_functionality[back] = value
