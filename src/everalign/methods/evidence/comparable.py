"""Comparable edges: those to a matched neighbour. Only they can be shared or in conflict.

All that depends on one entity alone is computed here once, and serves all of its pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.graph import IntArray
from everalign.methods.evidence.adjacency import Adjacency, FloatArray, OffsetArray, find_first
from everalign.methods.evidence.relations import Matches


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
            to the conflict if it is missed and its relation is included for certain.
        sharing_first: The entities that have the same relation to this neighbour are
            `neighbour[sharing_first]` to `neighbour[sharing_end]` of the adjacency lists.
        sharing_end: See `sharing_first`.
        group_start: The groups of the n-th entity are those from `group_start[n]` on.
        group_relation: Directed relation of a group.
        group_idf: Its idf.
        comparable: Sum of the best match probabilities of the neighbours of an entity.
        total_idf: Sum of the idf of its groups.
    """

    start: OffsetArray
    neighbour: IntArray
    group: IntArray
    inverse_functionality: FloatArray
    missed: NDArray[np.float64]
    sharing_first: OffsetArray
    sharing_end: OffsetArray
    group_start: OffsetArray
    group_relation: IntArray
    group_idf: FloatArray
    comparable: NDArray[np.float64]
    total_idf: NDArray[np.float64]


@jit_cached()
def list_comparable_edges(
    adjacency: Adjacency, matches: Matches, entities: IntArray
) -> ComparableEdges:
    """List the comparable edges of some entities.

    Args:
        adjacency: The graph.
        matches: Current matches of its nodes.
        entities: The entities, each once.

    Returns:
        Their edges.
    """
    room = 0
    for x in entities:
        room += adjacency.literal_start[x] - adjacency.start[x]
    out = ComparableEdges(
        np.zeros(entities.size + 1, dtype=np.int64),
        np.empty(room, dtype=np.int32),
        np.empty(room, dtype=np.int32),
        np.empty(room, dtype=np.float32),
        np.empty(room, dtype=np.float64),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.zeros(entities.size + 1, dtype=np.int64),
        np.empty(room, dtype=np.int32),
        np.empty(room, dtype=np.float32),
        np.zeros(entities.size, dtype=np.float64),
        np.zeros(entities.size, dtype=np.float64),
    )
    edge_count, group_count = 0, 0
    for n in range(entities.size):
        group = adjacency.start[entities[n]]
        while group < adjacency.literal_start[entities[n]]:
            d = adjacency.relation[group]
            out.group_relation[group_count] = d
            out.group_idf[group_count] = adjacency.relation_idf[d]
            out.total_idf[n] += adjacency.relation_idf[d]
            for edge in range(group, adjacency.group_end[group]):
                best = _find_best_match(matches, adjacency.neighbour[edge])
                if best > 0:
                    out.group[edge_count] = group_count - out.group_start[n]
                    out.comparable[n] += best
                    _describe_edge(adjacency, edge, best, out, edge_count)
                    edge_count += 1
            group_count += 1
            group = adjacency.group_end[group]
        out.start[n + 1], out.group_start[n + 1] = edge_count, group_count
    return out


@jit_cached()
def _find_best_match(matches: Matches, node: int) -> float:
    best = np.float32(0)
    for m in range(matches.start[node], matches.stop[node]):
        best = max(best, matches.probability[m])
    return best


@jit_cached()
def _describe_edge(
    adjacency: Adjacency, edge: int, best_match: float, out: ComparableEdges, place: int
) -> None:
    y = adjacency.neighbour[edge]
    out.neighbour[place] = y
    out.inverse_functionality[place] = adjacency.inverse_functionality[edge]
    # In double precision, where the product of two single ones is exact: the order of the factors
    # does not matter.
    out.missed[place] = np.float64(best_match) * adjacency.functionality[edge]
    # The inverses of the edges with this relation to y are a group of y.
    first = find_first(
        adjacency.relation, adjacency.start[y], adjacency.stop[y], adjacency.relation[edge] ^ 1
    )
    out.sharing_first[place], out.sharing_end[place] = first, adjacency.group_end[first]
