"""Relation alignment: how far a relation of one graph is included in one of the other.

A left edge whose two nodes are matched could be found again on the right. Where a right edge joins
the counterparts, the two relations co-occur. The share of such edges is the inclusion (the
subrelation probability of PARIS), smoothed by a prior:

    P(d ⊆ d') = (co-occurrences + prior · strength) / (comparable edges + strength)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign._parallel import map_chunks, map_parallel
from everalign.graph import IntArray
from everalign.methods.base import RelationMatch
from everalign.methods.evidence.adjacency import Adjacency, FloatArray, OffsetArray, find_first
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.hashing import EMPTY, create_keys, find_slot

# Entities of one parallel task. Results do not depend on it: co-occurrences are summed in order.
CHUNK_SIZE = 4096

UNSEEN = -1


class Matches(NamedTuple):
    """The counterparts of the nodes of one side, those of each node in one block.

    Attributes:
        start: The counterparts of node x are those from `start[x]` to `stop[x]`.
        stop: See `start`.
        counterpart: Node of the other side.
        probability: Match probability.
    """

    start: OffsetArray
    stop: OffsetArray
    counterpart: IntArray
    probability: FloatArray


class MatchIndex(NamedTuple):
    """The same matches, indexed by left and by right nodes."""

    left: Matches
    right: Matches


def index_matches(
    left: NDArray[np.integer],
    right: NDArray[np.integer],
    probability: NDArray[np.floating],
    node_counts: tuple[int, int],
) -> MatchIndex:
    """Index matches that are given in any order.

    Args:
        left: Left nodes.
        right: Right nodes.
        probability: Match probabilities.
        node_counts: Number of left and right nodes.

    Returns:
        The matches by left and by right node.

    Example:
        >>> pairs = np.array([2, 0]), np.array([0, 1])
        >>> index = index_matches(*pairs, np.array([0.5, 1]), (3, 2))
        >>> index.left.counterpart.tolist(), index.right.counterpart.tolist()
        ([1, 0], [2, 0])
    """
    return MatchIndex(
        _index_side(left, right, probability, node_counts[0]),
        _index_side(right, left, probability, node_counts[1]),
    )


def _index_side(
    node: NDArray[np.integer],
    counterpart: NDArray[np.integer],
    probability: NDArray[np.floating],
    node_count: int,
) -> Matches:
    # Counterparts ascend for each node: sums over them are made in one order in every run.
    order = np.lexsort((counterpart, node))
    start = np.zeros(node_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(node, minlength=node_count), out=start[1:])
    columns = counterpart[order].astype(np.int32), probability[order].astype(np.float32)
    return Matches(start[:-1].copy(), start[1:].copy(), *columns)


class Inclusion(NamedTuple):
    """Inclusion of the directed relations of one side in those of the other, and back.

    Attributes:
        start: The relations that co-occur with d are those from `start[d]` to `start[d + 1]`.
        other: The co-occurring relation d' of the other side.
        forward: P(d ⊆ d').
        backward: P(d' ⊆ d).
        cooccurrence: Number of co-occurrences, weighted by match probability.
        unseen_forward: P(d ⊆ d') for each d, where d and d' never co-occur.
        unseen_backward: P(d' ⊆ d) for each d', where d and d' never co-occur.
    """

    start: OffsetArray
    other: IntArray
    forward: FloatArray
    backward: FloatArray
    cooccurrence: FloatArray
    unseen_forward: FloatArray
    unseen_backward: FloatArray


class RelationInclusions(NamedTuple):
    """The inclusion of left in right relations, and the same seen from the right."""

    left: Inclusion
    right: Inclusion


def align_relations(
    left: Adjacency, right: Adjacency, matches: MatchIndex, config: EvidenceParameters
) -> RelationInclusions:
    """Estimate the inclusion of all pairs of directed relations under the given matches.

    Args:
        left: Left graph.
        right: Right graph.
        matches: Current matches of entities and literals.
        config: Gives the prior and its strength.

    Returns:
        The inclusions.
    """

    def count_chunk(first: int, end: int) -> tuple[IntArray, IntArray, FloatArray]:
        return _find_cooccurrences(left, right, matches.left, first, end)

    # The empty chunk gives the arrays their types where there is no entity at all.
    chunks = [count_chunk(0, 0), *map_chunks(count_chunk, left.entity_count, CHUNK_SIZE)]
    left_relation, right_relation, amount = _sum_cooccurrences(
        *(np.concatenate(column) for column in zip(*chunks, strict=True))
    )
    sides = (left, matches.left), (right, matches.right)
    left_comparable, right_comparable = map_parallel(
        lambda side: _count_comparable(*sides[side]), 2
    )
    return compute_inclusions(
        left_relation, right_relation, amount, (left_comparable, right_comparable), config
    )


def compute_inclusions(
    left_relation: IntArray,
    right_relation: IntArray,
    cooccurrence: NDArray[np.float64],
    comparable: tuple[NDArray[np.float64], NDArray[np.float64]],
    config: EvidenceParameters,
) -> RelationInclusions:
    """Compute inclusions from the sums of co-occurrences and comparable edges.

    Args:
        left_relation: Left directed relation of each pair that co-occurs.
        right_relation: Right directed relation of each.
        cooccurrence: Sum of the co-occurrences of each.
        comparable: Sum of the comparable edges of each left and each right directed relation.
        config: Gives the prior and its strength.

    Returns:
        The inclusions.
    """
    left, right = comparable
    return RelationInclusions(
        _compute_inclusion(left_relation, right_relation, cooccurrence, left, right, config),
        _compute_inclusion(right_relation, left_relation, cooccurrence, right, left, config),
    )


def _sum_cooccurrences(
    left: IntArray, right: IntArray, amount: FloatArray
) -> tuple[IntArray, IntArray, NDArray[np.float64]]:
    """Sum up each pair of directed relations; what holds of two holds of their inverses."""
    left, right, total = _sum_by_pair(left, right, amount)
    return (
        np.concatenate([left, left ^ 1]),
        np.concatenate([right, right ^ 1]),
        np.concatenate([total, total]),
    )


@jit_cached()
def _sum_by_pair(
    left: IntArray, right: IntArray, amount: FloatArray
) -> tuple[IntArray, IntArray, NDArray[np.float64]]:
    """Sum the amounts of equal pairs, in double precision and in the order that they have."""
    keys = create_keys(512)
    number_of_slot = np.empty(keys.size, dtype=np.int32)
    room = keys.size // 2
    pair, total = np.empty(room, dtype=np.int64), np.zeros(room, dtype=np.float64)
    count = 0
    for n in range(left.size):
        key = (np.int64(left[n]) << 32) | right[n]
        slot = find_slot(keys, key)
        if keys[slot] == EMPTY:
            if count == room:
                pair = np.concatenate((pair, np.empty_like(pair)))
                total = np.concatenate((total, np.zeros_like(total)))
                room *= 2
                keys = create_keys(room)
                number_of_slot = np.empty(keys.size, dtype=np.int32)
                for k in range(count):
                    slot = find_slot(keys, pair[k])
                    keys[slot], number_of_slot[slot] = pair[k], k
                slot = find_slot(keys, key)
            keys[slot], number_of_slot[slot], pair[count] = key, count, key
            count += 1
        total[number_of_slot[slot]] += amount[n]
    pair = pair[:count]
    return (pair >> 32).astype(np.int32), pair.astype(np.int32), total[:count]


def _compute_inclusion(
    relation: IntArray,
    other: IntArray,
    cooccurrence: NDArray[np.float64],
    comparable: NDArray[np.float64],
    other_comparable: NDArray[np.float64],
    config: EvidenceParameters,
) -> Inclusion:
    order = np.lexsort((other, relation))
    relation, other, cooccurrence = relation[order], other[order], cooccurrence[order]
    start = np.zeros(len(comparable) + 1, dtype=np.int64)
    np.cumsum(np.bincount(relation, minlength=len(comparable)), out=start[1:])
    strength = config.inclusion_prior_strength
    base = config.inclusion_prior * strength

    def smooth(count: NDArray[np.float64]) -> FloatArray:
        # Co-occurrences may exceed the comparable edges: an entity can have several matches.
        share = (np.minimum(cooccurrence, count) + base) / (count + strength)
        return share.astype(np.float32)

    return Inclusion(
        start,
        other,
        smooth(comparable[relation]),
        smooth(other_comparable[other]),
        cooccurrence.astype(np.float32),
        (base / (comparable + strength)).astype(np.float32),
        (base / (other_comparable + strength)).astype(np.float32),
    )


def _count_comparable(adjacency: Adjacency, matches: Matches) -> NDArray[np.float64]:
    """Count for each directed relation the edges with two matched nodes, by best probability."""
    count = np.zeros(len(adjacency.relation_idf))
    _add_comparable(adjacency, matches, count)
    return count


@jit_cached()
def _add_comparable(adjacency: Adjacency, matches: Matches, count: NDArray[np.float64]) -> None:
    start, stop, relation, neighbour = (
        adjacency.start,
        adjacency.stop,
        adjacency.relation,
        adjacency.neighbour,
    )
    best = np.zeros(start.size, dtype=np.float32)
    for node in range(start.size):
        for m in range(matches.start[node], matches.stop[node]):
            best[node] = max(best[node], matches.probability[m])
    for node in range(start.size):
        if best[node] > 0:
            for edge in range(start[node], stop[node]):
                count[relation[edge]] += np.float64(best[node]) * best[neighbour[edge]]


@jit_cached()
def _find_cooccurrences(
    left: Adjacency, right: Adjacency, matches: Matches, first: int, end: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """List the relations that join matched nodes, left ones forwards, once per occurrence."""
    left_start, left_stop, relation, neighbour = (
        left.start,
        left.stop,
        left.relation,
        left.neighbour,
    )
    right_start, right_stop = right.start, right.stop
    right_neighbour, right_relation = right.sorted_neighbour, right.sorted_relation
    match_start, match_stop = matches.start, matches.stop
    counterpart, probability = matches.counterpart, matches.probability
    # The number of co-occurrences is not known: the arrays are doubled when they are full.
    pairs = np.empty((1024, 2), dtype=np.int32)
    amount = np.empty(1024, dtype=np.float32)
    count = 0
    for x in range(first, end):
        for m in range(match_start[x], match_stop[x]):
            x2 = counterpart[m]
            stop = right_stop[x2]
            for edge in range(left_start[x], left_stop[x]):
                # Inverse relations are added by _sum_cooccurrences.
                if relation[edge] & 1:
                    continue
                y = neighbour[edge]
                for n in range(match_start[y], match_stop[y]):
                    y2 = counterpart[n]
                    edge2 = find_first(right_neighbour, right_start[x2], stop, y2)
                    # Parallel edges: each relation that joins the counterparts co-occurs.
                    while edge2 < stop and right_neighbour[edge2] == y2:
                        if count == amount.size:
                            pairs = np.concatenate((pairs, np.empty_like(pairs)))
                            amount = np.concatenate((amount, np.empty_like(amount)))
                        pairs[count, 0], pairs[count, 1] = relation[edge], right_relation[edge2]
                        amount[count] = probability[m] * probability[n]
                        count += 1
                        edge2 += 1
    return pairs[:count, 0], pairs[:count, 1], amount[:count]


@jit_cached()
def find_inclusion(inclusion: Inclusion, relation: int, other: int) -> tuple[float, float]:
    """Look up the inclusion of two directed relations in each other.

    Args:
        inclusion: Inclusion of the relations of one side in those of the other.
        relation: Directed relation d of the one side.
        other: Directed relation d' of the other side.

    Returns:
        P(d ⊆ d') and P(d' ⊆ d).
    """
    end = inclusion.start[relation + 1]
    entry = find_first(inclusion.other, inclusion.start[relation], end, other)
    if entry < end and inclusion.other[entry] == other:
        return inclusion.forward[entry], inclusion.backward[entry]
    return inclusion.unseen_forward[relation], inclusion.unseen_backward[other]


@jit_cached()
def spread_entries(
    start: OffsetArray, other: IntArray, old: int, new: int, entries: IntArray
) -> None:
    """Spread where the inclusions of a directed relation are stored, to look up many of them.

    Args:
        start: The field of `Inclusion`.
        other: The field of `Inclusion`.
        old: The relation that was spread before; UNSEEN if there was none.
        new: The relation.
        entries: For each relation of the other side the index of the inclusion of `new` in it;
            UNSEEN if the two never co-occur. If nothing was spread before, it is UNSEEN for all.
    """
    if old != UNSEEN:
        for entry in range(start[old], start[old + 1]):
            entries[other[entry]] = UNSEEN
    for entry in range(start[new], start[new + 1]):
        entries[other[entry]] = entry


@jit_cached()
def sort_by_relation(relation: NDArray[np.integer], relation_count: int) -> IntArray:
    """Sort by directed relation, so that `spread_entries` is called once for each.

    Args:
        relation: Directed relations.
        relation_count: Number of directed relations.

    Returns:
        The indices in the order of relations; equal ones stay in order.
    """
    place = np.zeros(relation_count + 1, dtype=np.int32)
    for d in relation:
        place[d + 1] += 1
    for d in range(relation_count):
        place[d + 1] += place[d]
    order = np.empty(relation.size, dtype=np.int32)
    for n in range(relation.size):
        order[place[relation[n]]] = n
        place[relation[n]] += 1
    return order


def list_relation_matches(
    inclusion: Inclusion, attribute_offsets: tuple[int, int]
) -> list[RelationMatch]:
    """List the pairs of relations and of attributes that co-occur, best inclusion first.

    Args:
        inclusion: Inclusion of left in right relations.
        attribute_offsets: The numbers of the first left and right attribute.

    Returns:
        The pairs, each left relation read forwards.
    """
    relation = np.repeat(np.arange(len(inclusion.start) - 1), np.diff(inclusion.start))
    values = zip(
        inclusion.forward.tolist(),
        inclusion.backward.tolist(),
        inclusion.cooccurrence.tolist(),
        strict=True,
    )
    rows = zip(relation.tolist(), inclusion.other.tolist(), values, strict=True)
    found = [
        _describe_match(left, right, numbers, attribute_offsets)
        for left, right, numbers in rows
        if not left & 1
    ]
    # By the product: only relations that include each other mean the same. Ids break ties.
    return sorted(
        found, key=lambda m: (-m.left_in_right * m.right_in_left, -m.support, m.left, m.right)
    )


def _describe_match(
    left: int, right: int, values: tuple[float, float, float], attribute_offsets: tuple[int, int]
) -> RelationMatch:
    left_id, right_id = left >> 1, right >> 1
    if left_id < attribute_offsets[0]:
        return RelationMatch(left_id, right_id, bool(right & 1), *values)
    attribute_ids = left_id - attribute_offsets[0], right_id - attribute_offsets[1]
    return RelationMatch(*attribute_ids, False, *values, attributes=True)
