"""Comparison of a pair: what its neighbours and literals say for it and against it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign._parallel import fill_chunks
from everalign.graph import IntArray
from everalign.methods.evidence.adjacency import (
    Adjacency,
    BoolArray,
    FloatArray,
    OffsetArray,
    find_edge,
    find_first,
)
from everalign.methods.evidence.candidates import find_most
from everalign.methods.evidence.comparable import (
    MISSED_UNIT,
    ComparableEdges,
    list_comparable_edges,
    list_many_comparable_edges,
)
from everalign.methods.evidence.hashing import EMPTY, number_sorted
from everalign.methods.evidence.inclusions import (
    PairInclusions,
    count_values,
    find_pair_inclusions,
    find_run,
)
from everalign.methods.evidence.propagation import GraphPair
from everalign.methods.evidence.relations import (
    Inclusion,
    Matches,
    MatchIndex,
    RelationInclusions,
    find_inclusion,
)
from everalign.methods.evidence.shared_facts import (
    FactLimits,
    count_having_all,
    insert_fact,
)
from everalign.methods.evidence.weights import compute_evidence_weight

# Pairs of one parallel task.
NEIGHBOUR_CHUNK_SIZE = 32768
LITERAL_CHUNK_SIZE = 16384
# Pairs that are compared at once: what is known of them should stay in the processor's cache.
PART_SIZE = 4096

# Columns of the comparison of neighbours from one side.
NEIGHBOUR_COLUMNS = (
    "support",  # sum of the weights of all pieces of evidence; the same from both sides
    "best_weight",  # the greatest of them; the same from both sides
    "shared",  # edges to a neighbour matched to a neighbour of the other, by probability
    "comparable",  # edges to a neighbour that is matched at all, by probability
    "relation_overlap",  # how far the relations are included in those of the other
    "conflict",  # edges that the other should have, but has not
    "joint_frequency",  # logarithm of the number of entities that have all the shared facts
    "shared_count",  # number of shared facts
)
(
    SUPPORT, BEST_WEIGHT, SHARED, COMPARABLE, RELATION_OVERLAP, CONFLICT, JOINT_FREQUENCY,
    SHARED_COUNT,
) = range(len(NEIGHBOUR_COLUMNS))  # fmt: skip

# Columns of the comparison of literals; NaN where no attributes correspond.
LITERAL_COLUMNS = (
    "weight",  # sum of the weights of equal or similar literals
    "best",  # the greatest match probability of two literals
    "left_elsewhere",  # the greatest of a left literal with one that the right entity lacks
    "right_elsewhere",  # the same of a right literal
)
LITERAL_WEIGHT, BEST_LITERAL, LEFT_ELSEWHERE, RIGHT_ELSEWHERE = range(len(LITERAL_COLUMNS))


def compare_neighbourhoods(
    graphs: GraphPair,
    matches: MatchIndex,
    relations: RelationInclusions,
    left_ids: IntArray,
    right_ids: IntArray,
    out: tuple[FloatArray, FloatArray] | None = None,
    rows: NDArray[np.int64] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Compare the neighbours of each pair.

    Args:
        graphs: The graphs.
        matches: Current matches.
        relations: Their relation alignment.
        left_ids: Left entity of each pair.
        right_ids: Right entity of each pair.
        out: Where to write the rows, from the left and from the right; new arrays by default.
        rows: The row of each pair there; in order by default.

    Returns:
        Rows of NEIGHBOUR_COLUMNS as seen from the left, and as seen from the right.
    """
    # In order, so that their edges are read in the order in which they are stored.
    right_entities, right_numbers = number_sorted(right_ids)
    # Pairs come in the order of left entities: those of a chunk are listed with it. Right ones are
    # in many chunks.
    right = list_many_comparable_edges(
        graphs.right, graphs.sharing[1], matches.right, right_entities
    )
    limits, inclusion = FactLimits.from_config(graphs.config), relations.right
    sides = graphs.left, graphs.right
    left_sharing, left_matches = graphs.sharing[0], matches.left
    free_rooms: list[_FoundEdges] = []

    def compare_chunk(first: int, end: int) -> tuple[FloatArray, FloatArray]:
        from_left, from_right = _create_rows(end - first), _create_rows(end - first)
        left_entities, left_numbers = number_sorted(left_ids[first:end])
        left = list_comparable_edges(sides[0], left_sharing, left_matches, left_entities)
        counterparts = _list_counterparts(left, left_matches)
        # As long as the right graph: a chunk takes one that another chunk has left.
        try:
            found_edges = free_rooms.pop()
        except IndexError:
            found_edges = _FoundEdges.create(sides[1].node_count, right)
        for start in range(0, end - first, PART_SIZE):
            part = slice(start, start + PART_SIZE)
            _compare_pairs(
                sides, (left, right), counterparts, inclusion, limits, left_numbers[part],
                right_numbers[first:end][part], found_edges, from_left[part], from_right[part],
            )  # fmt: skip
        free_rooms.append(found_edges)
        return from_left, from_right

    out = out or (_create_rows(len(left_ids)), _create_rows(len(left_ids)))
    fill_chunks(compare_chunk, out, NEIGHBOUR_CHUNK_SIZE, rows)
    return out


def _create_rows(count: int) -> FloatArray:
    return np.empty((count, len(NEIGHBOUR_COLUMNS)), dtype=np.float32)


@jit_cached()
def _compare_pairs(
    graphs: tuple[Adjacency, Adjacency],
    edges: tuple[ComparableEdges, ComparableEdges],
    counterparts: _Counterparts,
    inclusion: Inclusion,
    limits: FactLimits,
    left_ids: IntArray,
    right_ids: IntArray,
    found_edges: _FoundEdges,
    from_left: FloatArray,
    from_right: FloatArray,
) -> None:
    """Compare pairs; ids are the numbers of the entities in `edges`.

    Each step fills a value for all rows: taking arrays out of tuples once for each row would cost
    more than the comparison.
    """
    left, right = edges
    found = find_pair_inclusions(left, right, inclusion, left_ids, right_ids)
    left_shared, right_shared = _sum_support(
        left, right, counterparts, found, left_ids, right_ids, found_edges, from_left, from_right
    )
    _compare_facts(graphs[0], left, left_ids, left_shared, found.best_forward, limits, from_left)
    _compare_facts(
        graphs[1], right, right_ids, right_shared, found.best_backward, limits, from_right
    )


class _Counterparts(NamedTuple):
    """The counterparts of the neighbours of left entities.

    An entry is a comparable left edge with one of the matches of its neighbour. Entries are in the
    order of edges, then of counterparts.
    """

    start: OffsetArray  # the entries of a left edge are those from `start[edge]` on
    node: IntArray  # the counterpart
    edge: IntArray
    probability: FloatArray


@jit_cached()
def _list_counterparts(left: ComparableEdges, matches: Matches) -> _Counterparts:
    """List the counterparts of the neighbours of left entities."""
    neighbour, start, stop = left.neighbour, matches.start, matches.stop
    counterpart, match_probability = matches.counterpart, matches.probability
    entry_start = np.zeros(neighbour.size + 1, dtype=np.int64)
    for edge in range(neighbour.size):
        y = neighbour[edge]
        entry_start[edge + 1] = entry_start[edge] + stop[y] - start[y]
    count = entry_start[neighbour.size]
    node, edges = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
    probability = np.empty(count, dtype=np.float32)
    for edge in range(neighbour.size):
        shift = start[neighbour[edge]] - entry_start[edge]
        for entry in range(entry_start[edge], entry_start[edge + 1]):
            node[entry], edges[entry] = counterpart[entry + shift], edge
            probability[entry] = match_probability[entry + shift]
    return _Counterparts(entry_start, node, edges, probability)


class _FoundEdges(NamedTuple):
    """Room to find the right edges of a pair by the neighbour that they lead to.

    An array by node is faster than a map. Between two pairs it is as it was created.

    Attributes:
        is_counterpart: Which right nodes are counterparts of neighbours of x.
        first: For each right node the first edge of x' that leads to it and is found; EMPTY if
            there is none.
        next: For each edge that is found the next one that leads to the same node.
    """

    is_counterpart: BoolArray
    first: IntArray
    next: IntArray

    @staticmethod
    def create(node_count: int, right: ComparableEdges) -> _FoundEdges:
        """Make room for the edges of any right entity."""
        most = find_most(right.start)
        return _FoundEdges(
            np.zeros(node_count, dtype=np.bool_),
            np.full(node_count, EMPTY, dtype=np.int32),
            np.empty(max(1, most), dtype=np.int32),
        )


class _SharedEdges(NamedTuple):
    """The edges of the entities of one side in each row that the other entity shares.

    Attributes:
        start: Those of a row are those from `start[row]` to `start[row + 1]`, in order.
        edge: A comparable edge whose neighbour is matched to a neighbour of the other entity.
        probability: The greatest probability of such a match.
    """

    start: OffsetArray
    edge: IntArray
    probability: FloatArray


@jit_cached()
def _create_shared(start: OffsetArray, ids: IntArray) -> _SharedEdges:
    """Make room for all comparable edges of some entities."""
    room = count_values(start, ids)
    return _SharedEdges(
        np.zeros(ids.size + 1, dtype=np.int64),
        np.empty(room, dtype=np.int32),
        np.empty(room, dtype=np.float32),
    )


@jit_cached()
def _sum_support(
    left: ComparableEdges,
    right: ComparableEdges,
    counterparts: _Counterparts,
    found: PairInclusions,
    left_ids: IntArray,
    right_ids: IntArray,
    found_edges: _FoundEdges,
    from_left: FloatArray,
    from_right: FloatArray,
) -> tuple[_SharedEdges, _SharedEdges]:
    """Sum the weights of all pieces of evidence for each pair, and find the greatest.

    Returns the edges of x that x' shares in each row, and those of x' that x shares.
    """
    left_start, right_start = left.start, right.start
    left_group, right_group, group_start = left.group, right.group, right.group_start
    left_inverse, right_inverse = left.inverse_functionality, right.inverse_functionality
    first_inclusion, forward, backward = found.entry, found.forward, found.backward
    right_neighbour = right.neighbour
    entry_start, entry_node, entry_edge, probability = counterparts
    left_shared = _create_shared(left_start, left_ids)
    right_shared = _create_shared(right_start, right_ids)
    shared_start, shared_edge, shared_probability = left_shared
    shared_start2, shared_edge2, shared_probability2 = right_shared
    is_counterpart, first_hit, next_hit = found_edges
    count, count2, group_place, first = 0, 0, 0, 0
    while first < left_ids.size:
        x, end = left_ids[first], find_run(left_ids, first)
        first_entry, end_entry = entry_start[left_start[x]], entry_start[left_start[x + 1]]
        for entry in range(first_entry, end_entry):
            is_counterpart[entry_node[entry]] = True
        for row in range(first, end):
            x2, end2 = right_ids[row], count2
            for edge2 in range(right_start[x2], right_start[x2 + 1]):
                # Without a branch, since nobody could predict it.
                shared_edge2[end2] = edge2
                end2 += is_counterpart[right_neighbour[edge2]]
            # The edges to one neighbour in a chain, the first one first.
            for hit in range(end2 - count2 - 1, -1, -1):
                neighbour = right_neighbour[shared_edge2[count2 + hit]]
                next_hit[hit], first_hit[neighbour] = first_hit[neighbour], hit
                shared_probability2[count2 + hit] = 0
            support, best_weight, last_edge = 0.0, 0.0, EMPTY
            # In the order of the edges of x: a sum of floats depends on its order.
            for entry in range(first_entry, end_entry if end2 > count2 else first_entry):
                hit, p, edge = first_hit[entry_node[entry]], probability[entry], entry_edge[entry]
                if hit == EMPTY:
                    continue
                if edge != last_edge:
                    shared_edge[count], shared_probability[count], last_edge = edge, p, edge
                    count += 1
                shared_probability[count - 1] = max(shared_probability[count - 1], p)
                while hit != EMPTY:
                    place2 = count2 + hit
                    edge2 = shared_edge2[place2]
                    shared_probability2[place2] = max(shared_probability2[place2], p)
                    at = first_inclusion[group_place + right_group[edge2]] + left_group[edge]
                    weight = compute_evidence_weight(
                        p, forward[at], backward[at], left_inverse[edge], right_inverse[edge2]
                    )
                    support += weight
                    best_weight = max(best_weight, weight)
                    hit = next_hit[hit]
            for place2 in range(count2, end2):
                first_hit[right_neighbour[shared_edge2[place2]]] = EMPTY
            from_left[row, SUPPORT], from_left[row, BEST_WEIGHT] = support, best_weight
            from_right[row, SUPPORT], from_right[row, BEST_WEIGHT] = support, best_weight
            count2 = end2
            shared_start[row + 1], shared_start2[row + 1] = count, count2
            group_place += group_start[x2 + 1] - group_start[x2]
        for entry in range(first_entry, end_entry):
            is_counterpart[entry_node[entry]] = False
        first = end
    return left_shared, right_shared


@jit_cached()
def _compare_facts(
    adjacency: Adjacency,
    edges: ComparableEdges,
    ids: IntArray,
    shared_edges: _SharedEdges,
    best_inclusion: FloatArray,
    limits: FactLimits,
    out: FloatArray,
) -> None:
    """Compare the facts of x with those of x': which are shared, and which are in conflict."""
    group, group_start, group_idf, group_missed = (
        edges.group, edges.group_start, edges.group_idf, edges.group_missed,
    )  # fmt: skip
    missed, inverse_functionality = edges.missed, edges.inverse_functionality
    sharing_first, sharing_end, neighbour = (
        edges.sharing_first, edges.sharing_end, adjacency.neighbour,
    )  # fmt: skip
    start, shared_edge, probability = shared_edges
    facts = np.empty(limits.max_facts, dtype=np.int32)
    room = np.empty(limits.max_facts, dtype=np.int64)
    # What the edges of each group of x that are not shared add to the conflict.
    remaining = np.empty(max(1, find_most(group_start)), dtype=np.int64)
    group_place = 0
    for row in range(ids.size):
        x = ids[row]
        first_group, group_count = group_start[x], group_start[x + 1] - group_start[x]
        remaining[:group_count] = group_missed[first_group : first_group + group_count]
        fact_count, shared_count, shared = 0, 0, 0.0
        for place in range(start[row], start[row + 1]):
            edge, p = shared_edge[place], probability[place]
            shared += p
            # A weak match says neither that the fact is shared nor that it is missing.
            remaining[group[edge]] -= missed[edge]
            if p >= limits.min_probability:
                shared_count += 1
                fact_count = insert_fact(facts, fact_count, inverse_functionality, edge)
        overlap, conflict, total_idf = 0.0, 0.0, edges.total_idf[x]
        for k in range(group_count):
            inclusion = best_inclusion[group_place + k]
            overlap += inclusion * group_idf[first_group + k]
            conflict += remaining[k] * MISSED_UNIT * inclusion
        group_place += group_count
        out[row, SHARED], out[row, COMPARABLE] = shared, edges.comparable[x]
        out[row, CONFLICT], out[row, SHARED_COUNT] = conflict, shared_count
        out[row, RELATION_OVERLAP] = overlap / total_idf if total_idf > 0 else 0
        # No fact: all entities have it, and one more to tell it from a fact that all have.
        having = adjacency.entity_count + 1
        if fact_count > 0:
            having = count_having_all(
                facts, fact_count, sharing_first, sharing_end, neighbour, limits.max_degree, room
            )
        out[row, JOINT_FREQUENCY] = math.log(having)


def compare_literals(
    graphs: GraphPair,
    matches: MatchIndex,
    relations: RelationInclusions,
    left_ids: IntArray,
    right_ids: IntArray,
) -> FloatArray:
    """Compare the literals of each pair.

    Args:
        graphs: The graphs, with literals.
        matches: Current matches, those of literals included.
        relations: Their relation alignment, attributes included.
        left_ids: Left entity of each pair.
        right_ids: Right entity of each pair.

    Returns:
        Rows of LITERAL_COLUMNS. Attributes correspond if one is included in the other by more
        than the prior; others are not compared.
    """
    out = np.empty((len(left_ids), len(LITERAL_COLUMNS)), dtype=np.float32)

    left, right, prior = graphs.left, graphs.right, graphs.config.inclusion_prior
    inclusion = relations.left

    def compare_chunk(first: int, end: int) -> FloatArray:
        rows = slice(first, end)
        chunk = np.empty((end - first, len(LITERAL_COLUMNS)), dtype=np.float32)
        _compare_literals(
            left, right, matches.left, matches.right, inclusion,
            left_ids[rows], right_ids[rows], prior, chunk,
        )  # fmt: skip
        return chunk

    fill_chunks(compare_chunk, out, LITERAL_CHUNK_SIZE)
    return out


@jit_cached()
def _compare_literals(
    left: Adjacency,
    right: Adjacency,
    left_matches: Matches,
    right_matches: Matches,
    inclusion: Inclusion,
    left_ids: IntArray,
    right_ids: IntArray,
    min_inclusion: float,
    out: FloatArray,
) -> None:
    for row in range(left_ids.size):
        x, x2 = left_ids[row], right_ids[row]
        out[row] = np.nan
        if not _have_common_attribute(left, right, inclusion, x, x2, min_inclusion):
            continue
        total, best = 0.0, 0.0
        # Edges to literals are the last ones of an entity in both orders.
        stop = right.stop[x2]
        for edge in range(left.literal_start[x], left.stop[x]):
            y = left.neighbour[edge]
            for m in range(left_matches.start[y], left_matches.stop[y]):
                y2, p = left_matches.counterpart[m], left_matches.probability[m]
                edge2 = find_first(right.sorted_neighbour, right.literal_start[x2], stop, y2)
                while edge2 < stop and right.sorted_neighbour[edge2] == y2:
                    forward, backward = find_inclusion(
                        inclusion, left.relation[edge], right.sorted_relation[edge2]
                    )
                    if max(forward, backward) > min_inclusion:
                        total += compute_evidence_weight(
                            p,
                            forward,
                            backward,
                            left.inverse_functionality[edge],
                            right.inverse_functionality[
                                find_edge(right, x2, right.sorted_relation[edge2], y2)
                            ],
                        )
                        best = max(best, p)
                    edge2 += 1
        out[row, LITERAL_WEIGHT], out[row, BEST_LITERAL] = total, best
        out[row, LEFT_ELSEWHERE] = _find_match_elsewhere(left, right, left_matches, x, x2)
        out[row, RIGHT_ELSEWHERE] = _find_match_elsewhere(right, left, right_matches, x2, x)


@jit_cached()
def _have_common_attribute(
    left: Adjacency, right: Adjacency, inclusion: Inclusion, x: int, x2: int, min_inclusion: float
) -> bool:
    group = left.literal_start[x]
    while group < left.stop[x]:
        group2 = right.literal_start[x2]
        while group2 < right.stop[x2]:
            forward, backward = find_inclusion(
                inclusion, left.relation[group], right.relation[group2]
            )
            if max(forward, backward) > min_inclusion:
                return True
            group2 = right.group_end[group2]
        group = left.group_end[group]
    return False


@jit_cached()
def _find_match_elsewhere(
    left: Adjacency, right: Adjacency, matches: Matches, x: int, x2: int
) -> float:
    """Find the best match of a literal of x with one that x' does not have."""
    best, stop = 0.0, right.stop[x2]
    for edge in range(left.literal_start[x], left.stop[x]):
        y = left.neighbour[edge]
        for m in range(matches.start[y], matches.stop[y]):
            y2 = matches.counterpart[m]
            edge2 = find_first(right.sorted_neighbour, right.literal_start[x2], stop, y2)
            if not (edge2 < stop and right.sorted_neighbour[edge2] == y2):
                best = max(best, matches.probability[m])
    return best
