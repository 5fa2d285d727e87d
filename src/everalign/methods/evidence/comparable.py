"""Comparable edges: those to a matched neighbour. Only they can be shared or in conflict.

All that depends on one entity alone is computed here once, and serves all of its pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign._parallel import map_threads
from everalign.graph import IntArray
from everalign.methods.evidence.adjacency import Adjacency, FloatArray, OffsetArray, find_first
from everalign.methods.evidence.relations import Matches

CHUNK_SIZE = 1 << 17  # entities of one parallel task
MISSED_UNIT = 2.0**-30  # a product of two probabilities has 30 bits


class ComparableEdges(NamedTuple):
    """The comparable edges of some entities, and the groups of all their edges.

    Edges to literals are left out: they are compared apart. Edges and groups are in the order of
    the adjacency lists: by relation, then by neighbour.

    Attributes:
        start: The comparable edges of the n-th entity are those from `start[n]` to `start[n + 1]`.
        neighbour: Node that the edge leads to.
        group: Which of the groups of its entity the edge is in, from 0 on.
        inverse_functionality: That of the edge.
        missed: Best match probability of the neighbour × functionality of the edge: what it adds
            to the conflict if it is missed and its relation is included for certain. In units of
            MISSED_UNIT, so that what is left of a group when edges are taken from it is exact.
        sharing_first: The entities that have the same relation to this neighbour are
            `neighbour[sharing_first]` to `neighbour[sharing_end]` of the adjacency lists.
        sharing_end: See `sharing_first`.
        group_start: The groups of the n-th entity are those from `group_start[n]` on.
        group_relation: Directed relation of a group.
        group_idf: Its idf.
        group_missed: The sum of `missed` over its comparable edges.
        comparable: Sum of the best match probabilities of the neighbours of an entity.
        total_idf: Sum of the idf of its groups.
    """

    start: OffsetArray
    neighbour: IntArray
    group: IntArray
    inverse_functionality: FloatArray
    missed: IntArray
    sharing_first: IntArray
    sharing_end: IntArray
    group_start: OffsetArray
    group_relation: IntArray
    group_idf: FloatArray
    group_missed: OffsetArray
    comparable: NDArray[np.float64]
    total_idf: NDArray[np.float64]


def list_many_comparable_edges(
    adjacency: Adjacency, sharing: IntArray, matches: Matches, entities: IntArray
) -> ComparableEdges:
    """List the comparable edges of many entities, in threads.

    Args:
        adjacency: See `list_comparable_edges`.
        sharing: See there.
        matches: See there.
        entities: See there.

    Returns:
        Their edges.
    """
    parts = map_threads(
        lambda first, end: list_comparable_edges(adjacency, sharing, matches, entities[first:end]),
        len(entities),
        CHUNK_SIZE,
    )
    if len(parts) <= 1:
        return parts[0] if parts else list_comparable_edges(adjacency, sharing, matches, entities)
    columns = dict(zip(ComparableEdges._fields, zip(*parts, strict=True), strict=True))
    for name in ("start", "group_start"):
        columns[name] = _shift_offsets(columns[name])
    return ComparableEdges(
        *(np.concatenate(columns.pop(name)) for name in ComparableEdges._fields)
    )


def _shift_offsets(parts: tuple[OffsetArray, ...]) -> tuple[OffsetArray, ...]:
    """Offsets of several parts as offsets of all: each part begins where the last one ends."""
    shifts = np.cumsum([0, *(offsets[-1] for offsets in parts[:-1])])
    first, *others = zip(parts, shifts, strict=True)
    return (first[0], *(offsets[1:] + shift for offsets, shift in others))


@jit_cached()
def list_comparable_edges(
    adjacency: Adjacency, sharing: IntArray, matches: Matches, entities: IntArray
) -> ComparableEdges:
    """List the comparable edges of some entities.

    Args:
        adjacency: The graph.
        sharing: For each of its edges the first edge to an entity with the same fact; if it is
            empty, these are searched for.
        matches: Current matches of its nodes.
        entities: The entities, each once.

    Returns:
        Their edges.
    """
    # Taking an array out of a tuple costs more than a step of these loops: once for all.
    first_edge, literal_start = adjacency.start, adjacency.literal_start
    relation, neighbour, group_end = adjacency.relation, adjacency.neighbour, adjacency.group_end
    relation_idf = adjacency.relation_idf
    match_start, match_stop, probability = matches.start, matches.stop, matches.probability
    room = 0
    for x in entities:
        room += literal_start[x] - first_edge[x]
    start = np.zeros(entities.size + 1, dtype=np.int64)
    group_start = np.zeros(entities.size + 1, dtype=np.int64)
    edges, best_match = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.float32)
    group_of_edge, group_relation = np.empty(room, np.int32), np.empty(room, np.int32)
    comparable, total_idf = np.zeros(entities.size), np.zeros(entities.size)
    count, group_count = 0, 0
    for n in range(entities.size):
        group = first_edge[entities[n]]
        while group < literal_start[entities[n]]:
            group_relation[group_count] = relation[group]
            total_idf[n] += relation_idf[relation[group]]
            for edge in range(group, group_end[group]):
                best = _find_best_match(match_start, match_stop, probability, neighbour[edge])
                if best > 0:
                    edges[count], best_match[count] = edge, best
                    group_of_edge[count] = group_count - group_start[n]
                    comparable[n] += best
                    count += 1
            group_count += 1
            group = group_end[group]
        start[n + 1], group_start[n + 1] = count, group_count
    edges, group_relation = edges[:count], group_relation[:group_count]
    sharing_first, sharing_end = _find_sharing(adjacency, sharing, edges)
    group_of_edge = group_of_edge[:count]
    missed, functionality = np.empty(count, dtype=np.int32), adjacency.functionality
    group_missed = np.zeros(group_count, dtype=np.int64)
    for n in range(entities.size):
        for edge in range(start[n], start[n + 1]):
            # In double precision, where the product of two single ones is exact: the order of the
            # factors does not matter.
            product = np.float64(best_match[edge]) * functionality[edges[edge]]
            missed[edge] = np.int32(product / MISSED_UNIT)
            group_missed[group_start[n] + group_of_edge[edge]] += missed[edge]
    return ComparableEdges(
        start,
        neighbour[edges],
        group_of_edge,
        adjacency.inverse_functionality[edges],
        missed,
        sharing_first,
        sharing_end,
        group_start,
        group_relation,
        relation_idf[group_relation],
        group_missed,
        comparable,
        total_idf,
    )


@jit_cached()
def _find_best_match(
    start: OffsetArray, stop: OffsetArray, probability: FloatArray, node: int
) -> np.float32:
    best = np.float32(0)
    for m in range(start[node], stop[node]):
        best = max(best, probability[m])
    return best


@jit_cached()
def _find_sharing(
    adjacency: Adjacency, sharing: IntArray, edges: IntArray
) -> tuple[IntArray, IntArray]:
    """For each edge (x, d, y) find the group of the edges (y, d⁻¹, ·), which lead to all x."""
    start, stop, relation, neighbour, group_end = (
        adjacency.start,
        adjacency.stop,
        adjacency.relation,
        adjacency.neighbour,
        adjacency.group_end,
    )
    first, end = np.empty_like(edges), np.empty_like(edges)
    for n in range(edges.size):
        if sharing.size > 0:
            first[n] = sharing[edges[n]]
        else:
            y = neighbour[edges[n]]
            first[n] = find_first(relation, start[y], stop[y], relation[edges[n]] ^ 1)
        end[n] = group_end[first[n]]
    return first, end
