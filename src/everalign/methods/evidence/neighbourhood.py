"""Comparison of a pair: what its neighbours and literals say for it and against it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from everalign._numba import jit_cached
from everalign._parallel import map_chunks
from everalign.graph import IntArray
from everalign.methods.evidence.adjacency import (
    Adjacency,
    FloatArray,
    find_first,
)
from everalign.methods.evidence.comparable import ComparableEdges, list_comparable_edges
from everalign.methods.evidence.hashing import (
    EMPTY,
    Keys,
    create_keys,
    find_slot,
    number_distinct,
)
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
from everalign.methods.evidence.sorting import sort_stably
from everalign.methods.evidence.weights import compute_evidence_weight

# Pairs of one parallel task; comparing literals is cheaper than comparing neighbours.
NEIGHBOUR_CHUNK_SIZE = 4096
LITERAL_CHUNK_SIZE = 16384
# Up to this many pieces of evidence, an insertion sort is faster than a merge sort.
MAX_INSERTION_SORT = 32

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
) -> tuple[FloatArray, FloatArray]:
    """Compare the neighbours of each pair.

    Args:
        graphs: The graphs.
        matches: Current matches.
        relations: Their relation alignment.
        left_ids: Left entity of each pair.
        right_ids: Right entity of each pair.

    Returns:
        Rows of NEIGHBOUR_COLUMNS as seen from the left, and as seen from the right.
    """
    left_entities, left_numbers = number_distinct(left_ids)
    right_entities, right_numbers = number_distinct(right_ids)
    sides = graphs.left, graphs.right
    edges = (
        list_comparable_edges(graphs.left, matches.left, left_entities),
        list_comparable_edges(graphs.right, matches.right, right_entities),
    )
    from_left, from_right = (
        np.empty((len(left_ids), len(NEIGHBOUR_COLUMNS)), dtype=np.float32) for _ in range(2)
    )
    limits = FactLimits.from_config(graphs.config)

    def compare_chunk(first: int, end: int) -> None:
        rows = slice(first, end)
        _compare_pairs(
            sides, edges, matches.left, relations.right, limits,
            left_numbers[rows], right_numbers[rows], from_left[rows], from_right[rows],
        )  # fmt: skip

    map_chunks(compare_chunk, len(left_ids), NEIGHBOUR_CHUNK_SIZE)
    return from_left, from_right


@jit_cached()
def _compare_pairs(
    graphs: tuple[Adjacency, Adjacency],
    edges: tuple[ComparableEdges, ComparableEdges],
    matches: Matches,
    inclusion: Inclusion,
    limits: FactLimits,
    left_ids: IntArray,
    right_ids: IntArray,
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
        left, right, matches, found, left_ids, right_ids, from_left, from_right
    )
    _compare_facts(graphs[0], left, left_ids, left_shared, found.best_forward, limits, from_left)
    _compare_facts(
        graphs[1], right, right_ids, right_shared, found.best_backward, limits, from_right
    )


class _Counterparts(NamedTuple):
    """The counterparts of the neighbours of x: where each of them is among the edges of x.

    An entry is a comparable edge of x with one of the matches of its neighbour. Entries are in the
    order of edges, then of counterparts.
    """

    keys: Keys  # hash map of counterparts
    last_entry: IntArray  # of each slot of the map
    previous_entry: IntArray  # the entry before with the same counterpart, EMPTY if there is none
    edge: IntArray
    probability: FloatArray


@jit_cached()
def _index_counterparts(left: ComparableEdges, matches: Matches, x: int) -> _Counterparts:
    neighbour, start, stop = left.neighbour, matches.start, matches.stop
    counterpart, match_probability = matches.counterpart, matches.probability
    count = 0
    for edge in range(left.start[x], left.start[x + 1]):
        count += stop[neighbour[edge]] - start[neighbour[edge]]
    keys = create_keys(count)
    last_entry = np.full(keys.size, EMPTY, dtype=np.int32)
    previous_entry = np.empty(count, dtype=np.int32)
    edges = np.empty(count, dtype=np.int32)
    probability = np.empty(count, dtype=np.float32)
    entry = 0
    for edge in range(left.start[x], left.start[x + 1]):
        for m in range(start[neighbour[edge]], stop[neighbour[edge]]):
            slot = find_slot(keys, counterpart[m])
            keys[slot] = counterpart[m]
            previous_entry[entry], last_entry[slot] = last_entry[slot], entry
            edges[entry], probability[entry] = edge, match_probability[m]
            entry += 1
    return _Counterparts(keys, last_entry, previous_entry, edges, probability)


@jit_cached()
def _sum_support(
    left: ComparableEdges,
    right: ComparableEdges,
    matches: Matches,
    found: PairInclusions,
    left_ids: IntArray,
    right_ids: IntArray,
    from_left: FloatArray,
    from_right: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Sum the weights of all pieces of evidence for each pair, and find the greatest.

    Returns for each comparable edge of x in each row the greatest probability of a match of its
    neighbour with a neighbour of x', and the same for x'; 0 where there is no match.
    """
    left_start, right_start, right_neighbour = left.start, right.start, right.neighbour
    left_group, right_group, group_start = left.group, right.group, right.group_start
    left_inverse, right_inverse = left.inverse_functionality, right.inverse_functionality
    first_inclusion, forward, backward = found.entry, found.forward, found.backward
    left_shared = np.zeros(count_values(left_start, left_ids), dtype=np.float32)
    right_shared = np.zeros(count_values(right_start, right_ids), dtype=np.float32)
    piece_entry, piece_edge = np.empty(64, dtype=np.int32), np.empty(64, dtype=np.int32)
    place, place2, group_place, first = 0, 0, 0, 0
    while first < left_ids.size:
        x, end = left_ids[first], find_run(left_ids, first)
        keys, last_entry, previous_entry, entry_edge, probability = _index_counterparts(
            left, matches, x
        )
        for row in range(first, end):
            x2, count = right_ids[row], 0
            for edge2 in range(right_start[x2], right_start[x2 + 1]):
                entry = last_entry[find_slot(keys, right_neighbour[edge2])]
                while entry != EMPTY:
                    p, shared = probability[entry], place + entry_edge[entry] - left_start[x]
                    left_shared[shared] = max(left_shared[shared], p)
                    right_shared[place2] = max(right_shared[place2], p)
                    if count == piece_entry.size:
                        piece_entry = np.concatenate((piece_entry, np.empty_like(piece_entry)))
                        piece_edge = np.concatenate((piece_edge, np.empty_like(piece_edge)))
                    piece_entry[count], piece_edge[count] = entry, edge2
                    count += 1
                    entry = previous_entry[entry]
                place2 += 1
            # In the order of the edges of x: a sum of floats depends on its order.
            _sort_pieces(piece_entry, piece_edge, count)
            support, best_weight = 0.0, 0.0
            for piece in range(count):
                entry, edge2 = piece_entry[piece], piece_edge[piece]
                edge = entry_edge[entry]
                at = first_inclusion[group_place + right_group[edge2]] + left_group[edge]
                weight = compute_evidence_weight(
                    probability[entry], forward[at], backward[at],
                    left_inverse[edge], right_inverse[edge2],
                )  # fmt: skip
                support += weight
                best_weight = max(best_weight, weight)
            from_left[row, SUPPORT], from_left[row, BEST_WEIGHT] = support, best_weight
            from_right[row, SUPPORT], from_right[row, BEST_WEIGHT] = support, best_weight
            place += left_start[x + 1] - left_start[x]
            group_place += group_start[x2 + 1] - group_start[x2]
        first = end
    return left_shared, right_shared


@jit_cached()
def _sort_pieces(entry: IntArray, edge: IntArray, count: int) -> None:
    """Sort by entry; pieces of one entry stay in order."""
    if count > MAX_INSERTION_SORT:
        order = sort_stably(entry[:count].astype(np.float64))
        # Loops: numba takes long to compile an assignment by an array of positions.
        unsorted_entry, unsorted_edge = entry[:count].copy(), edge[:count].copy()
        for piece in range(count):
            entry[piece] = unsorted_entry[order[piece]]
            edge[piece] = unsorted_edge[order[piece]]
        return
    for piece in range(1, count):
        e, f, place = entry[piece], edge[piece], piece
        while place > 0 and entry[place - 1] > e:
            entry[place], edge[place] = entry[place - 1], edge[place - 1]
            place -= 1
        entry[place], edge[place] = e, f


@jit_cached()
def _compare_facts(
    adjacency: Adjacency,
    edges: ComparableEdges,
    ids: IntArray,
    best_shared: FloatArray,
    best_inclusion: FloatArray,
    limits: FactLimits,
    out: FloatArray,
) -> None:
    """Compare the facts of x with those of x': which are shared, and which are in conflict."""
    start, group, group_start, group_idf = (
        edges.start, edges.group, edges.group_start, edges.group_idf,
    )  # fmt: skip
    missed, inverse_functionality = edges.missed, edges.inverse_functionality
    sharing_first, sharing_end, neighbour = (
        edges.sharing_first, edges.sharing_end, adjacency.neighbour,
    )  # fmt: skip
    facts = np.empty(limits.max_facts, dtype=np.int32)
    room = np.empty(limits.max_facts, dtype=np.int64)
    place, group_place = 0, 0
    for row in range(ids.size):
        x = ids[row]
        overlap, shared, conflict, total_idf = 0.0, 0.0, 0.0, edges.total_idf[x]
        for k in range(group_start[x + 1] - group_start[x]):
            overlap += best_inclusion[group_place + k] * group_idf[group_start[x] + k]
        fact_count, shared_count = 0, 0
        for edge in range(start[x], start[x + 1]):
            p = best_shared[place]
            place += 1
            shared += p
            if p >= limits.min_probability:
                shared_count += 1
                fact_count = insert_fact(facts, fact_count, inverse_functionality, edge)
            # A weak match says neither that the fact is shared nor that it is missing.
            elif p == 0:
                conflict += missed[edge] * best_inclusion[group_place + group[edge]]
        group_place += group_start[x + 1] - group_start[x]
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

    def compare_chunk(first: int, end: int) -> None:
        rows = slice(first, end)
        _compare_literals(
            graphs.left, graphs.right, matches.left, matches.right, relations.left,
            left_ids[rows], right_ids[rows], graphs.config.inclusion_prior, out[rows],
        )  # fmt: skip

    map_chunks(compare_chunk, len(out), LITERAL_CHUNK_SIZE)
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
                            right.sorted_inverse_functionality[edge2],
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
