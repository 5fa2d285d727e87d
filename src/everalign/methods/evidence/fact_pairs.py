"""Facts that meet: what a fact of one side weighs together with one of the other.

The inverse functionality of (x, d, y) is the same for all x that have this fact. So is the weight
for all pairs of an x with the fact (d, y) and an x' with the fact (d', y'), where y and y' are
matched. Each pair of facts is weighed once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign._parallel import map_chunks
from everalign.graph import IntArray
from everalign.methods.evidence.adjacency import Adjacency, FloatArray, OffsetArray
from everalign.methods.evidence.hashing import EMPTY, create_keys, find_slot
from everalign.methods.evidence.relations import (
    UNSEEN,
    Inclusion,
    Matches,
    sort_by_relation,
    spread_entries,
)
from everalign.methods.evidence.weights import compute_doubt

CHUNK_SIZE = 4096  # facts of one parallel task


class Facts(NamedTuple):
    """The facts (d, y) of some entities whose neighbour is matched, each fact once.

    Attributes:
        start: The n-th entity has the facts from `number[start[n]]` to `number[start[n + 1]]`.
        number: Number of a fact, in the order of the edges of the entity.
        relation: For each number the directed relation d.
        neighbour: The neighbour y.
        inverse_functionality: That of all edges (x, d, y).
    """

    start: OffsetArray
    number: IntArray
    relation: IntArray
    neighbour: IntArray
    inverse_functionality: FloatArray


class FactPairs(NamedTuple):
    """The facts of the other side that each fact meets, and what this weighs.

    Attributes:
        start: Those of the fact with number n are those from `start[n]` to `stop[n]`.
        stop: See `start`.
        first: The entities with the other fact are `neighbour[first]` to `neighbour[end]` of the
            adjacency lists of the other side.
        end: See `first`.
        weight: The evidence weight.
    """

    start: OffsetArray
    stop: OffsetArray
    first: OffsetArray
    end: OffsetArray
    weight: NDArray[np.float64]


@jit_cached()
def list_facts(left: Adjacency, matches: Matches, wanted: IntArray) -> Facts:
    """List the facts of some entities that can meet others.

    Args:
        left: Graph of the entities.
        matches: Current matches of its nodes.
        wanted: The entities.

    Returns:
        Their facts, without those that too many share.
    """
    start, stop, relation, neighbour = left.start, left.stop, left.relation, left.neighbour
    inverse_functionality = left.inverse_functionality
    match_start, match_stop = matches.start, matches.stop
    room = 0
    for x in wanted:
        for edge in range(start[x], stop[x]):
            y = neighbour[edge]
            if inverse_functionality[edge] > 0 and match_start[y] < match_stop[y]:
                room += 1
    keys = create_keys(room)
    number_of_slot = np.empty(keys.size, dtype=np.int32)
    fact_start = np.zeros(wanted.size + 1, dtype=np.int64)
    number = np.empty(room, dtype=np.int32)
    edge_of_fact = np.empty(room, dtype=np.int64)
    count, fact_count = 0, 0
    for n in range(wanted.size):
        for edge in range(start[wanted[n]], stop[wanted[n]]):
            y = neighbour[edge]
            if inverse_functionality[edge] > 0 and match_start[y] < match_stop[y]:
                key = (np.int64(y) << 32) | relation[edge]
                slot = find_slot(keys, key)
                if keys[slot] == EMPTY:
                    keys[slot], number_of_slot[slot] = key, fact_count
                    edge_of_fact[fact_count] = edge
                    fact_count += 1
                number[count] = number_of_slot[slot]
                count += 1
        fact_start[n + 1] = count
    edges = edge_of_fact[:fact_count]
    return Facts(
        fact_start, number, relation[edges], neighbour[edges], inverse_functionality[edges]
    )


def find_fact_pairs(
    right: Adjacency, matches: Matches, inclusion: Inclusion, facts: Facts, min_weight: float
) -> FactPairs:
    """Find the facts of the other side that each fact meets.

    Args:
        right: Graph of the other side.
        matches: Current matches of the nodes of this side.
        inclusion: Inclusion of the relations of this side in those of the other.
        facts: The facts.
        min_weight: Pairs of facts that weigh less are left out.

    Returns:
        The pairs of each fact, by match and by relation.
    """

    def meet_chunk(first: int, end: int) -> FactPairs:
        return _meet_facts(
            right, matches, inclusion, facts.relation[first:end], facts.neighbour[first:end],
            facts.inverse_functionality[first:end], min_weight,
        )  # fmt: skip

    # The empty chunk gives the arrays their types where there is no fact.
    chunks = [meet_chunk(0, 0), *map_chunks(meet_chunk, len(facts.relation), CHUNK_SIZE)]
    shifts = np.cumsum([0, *(len(chunk.weight) for chunk in chunks[:-1])])
    shifted = [
        chunk._replace(start=chunk.start + shift, stop=chunk.stop + shift)
        for chunk, shift in zip(chunks, shifts, strict=True)
    ]
    return FactPairs(*(np.concatenate(column) for column in zip(*shifted, strict=True)))


@jit_cached()
def _meet_facts(
    right: Adjacency,
    matches: Matches,
    inclusion: Inclusion,
    relations: IntArray,
    neighbours: IntArray,
    inverse_functionalities: FloatArray,
    min_weight: float,
) -> FactPairs:
    right_start, right_stop, right_relation = right.start, right.stop, right.relation
    group_end, functionalities = right.group_end, right.functionality
    match_start, match_stop = matches.start, matches.stop
    counterpart, probability = matches.counterpart, matches.probability
    seen_start, seen_other = inclusion.start, inclusion.other
    seen_forward, unseen_forward = inclusion.forward, inclusion.unseen_forward
    seen_backward, unseen_backward = inclusion.backward, inclusion.unseen_backward
    # Most facts that meet weigh too little. Their doubt says so without a logarithm; the factor
    # is for rounding, and the weight itself is compared in the end.
    max_doubt = math.exp(-min_weight) * (1 + 1e-12)
    entries = np.full(unseen_backward.size, UNSEEN, dtype=np.int32)
    start = np.empty(relations.size, dtype=np.int64)
    stop = np.empty(relations.size, dtype=np.int64)
    count, room = 0, max(64, 2 * relations.size)
    firsts, ends = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    weights = np.empty(room, dtype=np.float64)
    last = UNSEEN
    for n in sort_by_relation(relations, unseen_forward.size):
        d, y = relations[n], neighbours[n]
        if d != last:
            spread_entries(seen_start, seen_other, last, d, entries)
            last = d
        start[n] = count
        for m in range(match_start[y], match_stop[y]):
            y2, p = counterpart[m], probability[m]
            # The entities x' with (x', d', y') are a group of y', that of the inverse of d', and
            # its functionality is the inverse functionality of (x', d', y').
            group = right_start[y2]
            while group < right_stop[y2]:
                end, functionality = group_end[group], functionalities[group]
                if functionality > 0:
                    d2 = right_relation[group] ^ 1
                    entry = entries[d2]
                    seen = entry != UNSEEN
                    forward = seen_forward[entry] if seen else unseen_forward[d]
                    backward = seen_backward[entry] if seen else unseen_backward[d2]
                    doubt = compute_doubt(
                        p, forward, backward, inverse_functionalities[n], functionality
                    )
                    weight = -math.log(doubt) if doubt <= max_doubt else 0.0
                    if weight >= min_weight and weight > 0:
                        if count == room:
                            firsts = np.concatenate((firsts, np.empty_like(firsts)))
                            ends = np.concatenate((ends, np.empty_like(ends)))
                            weights = np.concatenate((weights, np.empty_like(weights)))
                            room *= 2
                        firsts[count], ends[count], weights[count] = group, end, weight
                        count += 1
                group = end
        stop[n] = count
    return FactPairs(start, stop, firsts[:count], ends[:count], weights[:count])
