"""Comparison of a pair: what its neighbours and literals say for it and against it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from everalign._numba import jit_cached
from everalign._parallel import map_chunks
from everalign.graph import IntArray
from everalign.methods.base import EvidencePiece
from everalign.methods.evidence.adjacency import Adjacency, FloatArray, find_first, has_edge
from everalign.methods.evidence.candidates import CandidateTable
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.propagation import GraphPair, compute_evidence_weight
from everalign.methods.evidence.relations import (
    Inclusion,
    Matches,
    MatchIndex,
    RelationInclusions,
    find_inclusion,
)

# Pairs of one parallel task; comparing literals is cheaper than comparing neighbours.
NEIGHBOUR_CHUNK_SIZE = 4096
LITERAL_CHUNK_SIZE = 16384

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


class FactLimits(NamedTuple):
    """The constants of `EvidenceParameters` about shared facts, for compiled code."""

    min_probability: float
    max_facts: int
    max_degree: int

    @staticmethod
    def from_config(config: EvidenceParameters) -> FactLimits:
        """Take the constants from the configuration.

        Args:
            config: Settings and constants of the method.

        Returns:
            The constants about shared facts.
        """
        return FactLimits(
            config.min_shared_fact_probability, config.max_joint_facts, config.max_joint_degree
        )


class SharedFacts(NamedTuple):
    """Shared facts of a pair, seen from one side: the most telling ones, most telling first."""

    neighbour: IntArray
    relation: IntArray
    inverse_functionality: FloatArray


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
    from_left, from_right = (
        np.empty((len(left_ids), len(NEIGHBOUR_COLUMNS)), dtype=np.float32) for _ in range(2)
    )
    limits = FactLimits.from_config(graphs.config)

    def compare_chunk(first: int, end: int) -> None:
        rows = slice(first, end)
        _compare_pairs(
            graphs.left, graphs.right, matches.left, matches.right, relations.left, limits,
            left_ids[rows], right_ids[rows], from_left[rows], from_right[rows],
        )  # fmt: skip

    map_chunks(compare_chunk, len(left_ids), NEIGHBOUR_CHUNK_SIZE)
    return from_left, from_right


@jit_cached()
def _compare_pairs(
    left: Adjacency,
    right: Adjacency,
    left_matches: Matches,
    right_matches: Matches,
    inclusion: Inclusion,
    limits: FactLimits,
    left_ids: IntArray,
    right_ids: IntArray,
    from_left: FloatArray,
    from_right: FloatArray,
) -> None:
    facts = SharedFacts(
        np.empty(limits.max_facts, dtype=np.int32),
        np.empty(limits.max_facts, dtype=np.int32),
        np.empty(limits.max_facts, dtype=np.float32),
    )
    # Allocated once: no entity has more edges than the graph.
    best_forward = np.empty(left.relation.size + 1, dtype=np.float32)
    best_backward = np.empty(right.relation.size + 1, dtype=np.float32)
    for row in range(left_ids.size):
        x, x2 = left_ids[row], right_ids[row]
        # Once for both sides: all pairs of relations are looked up here anyway.
        _find_best_inclusions(left, right, inclusion, x, x2, best_forward, best_backward)
        support, best_weight = _sum_support(left, right, left_matches, inclusion, x, x2)
        from_left[row, SUPPORT], from_left[row, BEST_WEIGHT] = support, best_weight
        from_right[row, SUPPORT], from_right[row, BEST_WEIGHT] = support, best_weight
        _compare_facts(
            left, right, left_matches, limits, x, x2, best_forward, facts, from_left[row]
        )
        _compare_facts(
            right, left, right_matches, limits, x2, x, best_backward, facts, from_right[row]
        )


@jit_cached()
def _find_best_inclusions(
    left: Adjacency,
    right: Adjacency,
    inclusion: Inclusion,
    x: int,
    x2: int,
    best_forward: FloatArray,
    best_backward: FloatArray,
) -> None:
    """For each relation of x find how far a relation of x' includes it; the same for x'.

    It is stored at the index of the first edge of its group, counted from the first edge of x.
    """
    start, start2 = left.start[x], right.start[x2]
    group2 = start2
    while group2 < right.literal_start[x2]:
        best_backward[group2 - start2] = 0
        group2 = right.group_end[group2]
    group = start
    while group < left.literal_start[x]:
        best = 0.0
        group2 = start2
        while group2 < right.literal_start[x2]:
            forward, backward = find_inclusion(
                inclusion, left.relation[group], right.relation[group2]
            )
            best = max(best, forward)
            best_backward[group2 - start2] = max(best_backward[group2 - start2], backward)
            group2 = right.group_end[group2]
        best_forward[group - start] = best
        group = left.group_end[group]


@jit_cached()
def _sum_support(
    left: Adjacency, right: Adjacency, matches: Matches, inclusion: Inclusion, x: int, x2: int
) -> tuple[float, float]:
    """Sum the weights of all pieces of evidence for a pair, and find the greatest."""
    support, best_weight = 0.0, 0.0
    # Literals are compared apart, so that these features are the same with and without them.
    stop = right.literal_start[x2]
    for edge in range(left.start[x], left.literal_start[x]):
        y = left.neighbour[edge]
        for m in range(matches.start[y], matches.stop[y]):
            y2 = matches.counterpart[m]
            edge2 = find_first(right.sorted_neighbour, right.start[x2], stop, y2)
            while edge2 < stop and right.sorted_neighbour[edge2] == y2:
                forward, backward = find_inclusion(
                    inclusion, left.relation[edge], right.sorted_relation[edge2]
                )
                weight = compute_evidence_weight(
                    matches.probability[m],
                    forward,
                    backward,
                    left.inverse_functionality[edge],
                    right.sorted_inverse_functionality[edge2],
                )
                support += weight
                best_weight = max(best_weight, weight)
                edge2 += 1
    return support, best_weight


@jit_cached()
def _compare_facts(
    left: Adjacency,
    right: Adjacency,
    matches: Matches,
    limits: FactLimits,
    x: int,
    x2: int,
    best_inclusion: FloatArray,
    facts: SharedFacts,
    out: FloatArray,
) -> None:
    """Compare the facts of x with those of x': which are shared, and which are in conflict."""
    shared, comparable, conflict, overlap, total_idf = 0.0, 0.0, 0.0, 0.0, 0.0
    fact_count, shared_count = 0, 0
    stop = right.literal_start[x2]
    group = left.start[x]
    while group < left.literal_start[x]:
        end, d = left.group_end[group], left.relation[group]
        included = best_inclusion[group - left.start[x]]
        overlap += included * left.relation_idf[d]
        total_idf += left.relation_idf[d]
        for edge in range(group, end):
            y = left.neighbour[edge]
            best_match, best_shared = 0.0, 0.0
            for m in range(matches.start[y], matches.stop[y]):
                p = matches.probability[m]
                best_match = max(best_match, p)
                edge2 = find_first(
                    right.sorted_neighbour, right.start[x2], stop, matches.counterpart[m]
                )
                if edge2 < stop and right.sorted_neighbour[edge2] == matches.counterpart[m]:
                    best_shared = max(best_shared, p)
            comparable += best_match
            shared += best_shared
            if best_shared >= limits.min_probability:
                shared_count += 1
                fact_count = _insert_fact(
                    facts, fact_count, y, d, left.inverse_functionality[edge]
                )
            # A weak match says neither that the fact is shared nor that it is missing.
            elif best_shared == 0:
                conflict += best_match * included * left.functionality[edge]
        group = end
    out[SHARED], out[COMPARABLE], out[CONFLICT] = shared, comparable, conflict
    out[RELATION_OVERLAP] = overlap / total_idf if total_idf > 0 else 0
    out[JOINT_FREQUENCY] = _count_having_all(left, facts, fact_count, limits.max_degree)
    out[SHARED_COUNT] = shared_count


@jit_cached()
def _insert_fact(
    facts: SharedFacts, count: int, neighbour: int, relation: int, inverse_functionality: float
) -> int:
    """Insert a fact among the most telling ones; returns their number."""
    capacity = facts.neighbour.size
    # Strictly less: of equally telling facts the first one stays first, in every run.
    place = count
    while place > 0 and facts.inverse_functionality[place - 1] < inverse_functionality:
        place -= 1
    if place == capacity:
        return count
    for moved in range(min(count, capacity - 1), place, -1):
        facts.neighbour[moved] = facts.neighbour[moved - 1]
        facts.relation[moved] = facts.relation[moved - 1]
        facts.inverse_functionality[moved] = facts.inverse_functionality[moved - 1]
    facts.neighbour[place] = neighbour
    facts.relation[place] = relation
    facts.inverse_functionality[place] = inverse_functionality
    return min(count + 1, capacity)


@jit_cached()
def _count_having_all(
    adjacency: Adjacency, facts: SharedFacts, fact_count: int, max_degree: int
) -> float:
    """Compute the logarithm of the number of entities that have all these facts."""
    if fact_count == 0:
        # No fact: all entities, and one more to tell it from a fact that all have.
        return math.log(adjacency.entity_count + 1)
    # The entities with the most telling fact are a group of edges; the others are tried on them.
    y, inverse = facts.neighbour[0], facts.relation[0] ^ 1
    first = find_first(adjacency.relation, adjacency.start[y], adjacency.stop[y], inverse)
    end = adjacency.group_end[first]
    if end - first > max_degree:
        return math.log(end - first)
    count = 0
    for edge in range(first, end):
        entity = adjacency.neighbour[edge]
        has_all = True
        for k in range(1, fact_count):
            if not has_edge(adjacency, entity, facts.relation[k], facts.neighbour[k]):
                has_all = False
                break
        if has_all:
            count += 1
    return math.log(count)


def compare_literals(
    graphs: GraphPair, matches: MatchIndex, relations: RelationInclusions, table: CandidateTable
) -> FloatArray:
    """Compare the literals of each candidate pair.

    Args:
        graphs: The graphs, with literals.
        matches: Current matches, those of literals included.
        relations: Their relation alignment, attributes included.
        table: The candidates.

    Returns:
        Rows of LITERAL_COLUMNS. Attributes correspond if one is included in the other by more
        than the prior; others are not compared.
    """
    out = np.empty((len(table.left), len(LITERAL_COLUMNS)), dtype=np.float32)

    def compare_chunk(first: int, end: int) -> None:
        rows = slice(first, end)
        _compare_literals(
            graphs.left, graphs.right, matches.left, matches.right, relations.left,
            table.left[rows], table.right[rows], graphs.config.inclusion_prior, out[rows],
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


def list_evidence(
    graphs: GraphPair, matches: MatchIndex, relations: RelationInclusions, left: int, right: int
) -> list[EvidencePiece]:
    """List the pieces of evidence for one pair, those from literals included.

    Args:
        graphs: The graphs.
        matches: Current matches.
        relations: Their relation alignment.
        left: Left entity.
        right: Right entity.

    Returns:
        The pieces, heaviest first. Their weights sum to the support of the pair.
    """
    # Plain Python, for clarity: one pair is explained at a time, so that speed matters little.
    right_edges: dict[int, list[tuple[int, float]]] = {}
    for relation, neighbour, inverse_functionality in _iterate_edges(graphs.right, right):
        right_edges.setdefault(neighbour, []).append((relation, inverse_functionality))
    pieces = []
    for d, y, inverse_functionality in _iterate_edges(graphs.left, left):
        for m in range(int(matches.left.start[y]), int(matches.left.stop[y])):
            y2, p = int(matches.left.counterpart[m]), float(matches.left.probability[m])
            for d2, inverse_functionality2 in right_edges.get(y2, []):
                inclusions = find_inclusion(relations.left, d, d2)
                weight = compute_evidence_weight(
                    p, *inclusions, inverse_functionality, inverse_functionality2
                )
                pieces.append(_describe_piece(graphs, (d, y), (d2, y2), p, weight))
    # The sort is stable: equal weights stay in the order of edges.
    return sorted(pieces, key=lambda piece: -piece.weight)


def _iterate_edges(adjacency: Adjacency, node: int) -> Iterator[tuple[int, int, float]]:
    edges = slice(int(adjacency.start[node]), int(adjacency.stop[node]))
    return zip(
        adjacency.relation[edges].tolist(),
        adjacency.neighbour[edges].tolist(),
        adjacency.inverse_functionality[edges].tolist(),
        strict=True,
    )


def _describe_piece(
    graphs: GraphPair,
    left_edge: tuple[int, int],
    right_edge: tuple[int, int],
    probability: float,
    weight: float,
) -> EvidencePiece:
    (d, y), (d2, y2) = left_edge, right_edge
    if y < graphs.sizes[0]:
        ends = d >> 1, bool(d & 1), y, d2 >> 1, bool(d2 & 1), y2
        return EvidencePiece(*ends, probability, weight)
    # Outside the method, attributes and literals are counted from 0.
    (relations, relations2), (entities, entities2) = graphs.relation_counts, graphs.sizes
    ends = (d >> 1) - relations, False, y - entities, (d2 >> 1) - relations2, False, y2 - entities2
    return EvidencePiece(*ends, probability, weight, literal=True)
