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
from everalign.methods.evidence.adjacency import (
    Adjacency,
    BoolArray,
    FloatArray,
    OffsetArray,
)
from everalign.methods.evidence.hashing import EMPTY, create_keys, find_slot, number_distinct
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
        first: The entities with the other fact that can be found are `entity[first]` to
            `entity[end]`.
        end: See `first`.
        weight: The evidence weight.
        entity: Entities of the other side, those with one fact in one block.
    """

    start: OffsetArray
    stop: OffsetArray
    first: OffsetArray
    end: OffsetArray
    weight: NDArray[np.float64]
    entity: IntArray


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


class _OtherFacts(NamedTuple):
    """The facts (d', y') of the other side, for each y the facts of all its counterparts y'.

    Attributes:
        number: For each given fact the number of its y.
        start: The facts of the n-th y are those from `start[n]` to `start[n + 1]`, by counterpart
            and by relation.
        probability: Match probability of y and y'.
        relation: The directed relation d'.
        inverse_functionality: That of all edges (x', d', y').
        first: The searchable entities with the fact are `entity[first]` to `entity[end]`.
        end: See `first`.
        entity: Entities of the other side.
    """

    number: IntArray
    start: OffsetArray
    probability: FloatArray
    relation: IntArray
    inverse_functionality: FloatArray
    first: OffsetArray
    end: OffsetArray
    entity: IntArray


def find_fact_pairs(
    right: Adjacency,
    matches: Matches,
    inclusion: Inclusion,
    facts: Facts,
    searchable: BoolArray,
    min_weight: float,
) -> FactPairs:
    """Find the facts of the other side that each fact meets.

    Args:
        right: Graph of the other side.
        matches: Current matches of the nodes of this side.
        inclusion: Inclusion of the relations of this side in those of the other.
        facts: The facts.
        searchable: Which nodes of the other side can be found.
        min_weight: Pairs of facts that weigh less are left out.

    Returns:
        The pairs of each fact, by match and by relation.
    """
    others = _list_other_facts(right, matches, facts.neighbour, searchable)
    # By relation: the inclusions of a relation are spread once for all facts with it.
    order = sort_by_relation(facts.relation, len(inclusion.unseen_forward))

    def meet_chunk(first: int, end: int) -> FactPairs:
        return _meet_facts(others, inclusion, facts, order[first:end], min_weight)

    # The empty chunk gives the arrays their types where there is no fact.
    chunks = [meet_chunk(0, 0), *map_chunks(meet_chunk, len(order), CHUNK_SIZE)]
    shifts = np.cumsum([0, *(len(chunk.weight) for chunk in chunks[:-1])])
    start, stop = (np.empty(len(order), dtype=np.int64) for _ in range(2))
    start[order] = np.concatenate([c.start + n for c, n in zip(chunks, shifts, strict=True)])
    stop[order] = np.concatenate([c.stop + n for c, n in zip(chunks, shifts, strict=True)])
    first, end, weight = (
        np.concatenate(column) for column in zip(*(chunk[2:5] for chunk in chunks), strict=True)
    )
    return FactPairs(start, stop, first, end, weight, others.entity)


@jit_cached()
def _list_other_facts(
    right: Adjacency, matches: Matches, neighbours: IntArray, searchable: BoolArray
) -> _OtherFacts:
    """List what the neighbours meet: those with several relations would look for it each time.

    Entities that cannot be found, mostly linked ones, are left out here once: each of the others
    is met many times.
    """
    right_start, right_stop, right_relation = right.start, right.stop, right.relation
    group_end, functionalities = right.group_end, right.functionality
    neighbour = right.neighbour
    match_start, match_stop = matches.start, matches.stop
    counterpart, match_probability = matches.counterpart, matches.probability
    nodes, number = number_distinct(neighbours)
    start = np.zeros(nodes.size + 1, dtype=np.int64)
    room, entity_room = 0, 0
    for y in nodes:
        for m in range(match_start[y], match_stop[y]):
            group = right_start[counterpart[m]]
            while group < right_stop[counterpart[m]]:
                if functionalities[group] > 0:
                    room, entity_room = room + 1, entity_room + group_end[group] - group
                group = group_end[group]
    probability, functionality = np.empty(room, np.float32), np.empty(room, np.float32)
    relation, entities = np.empty(room, np.int32), np.empty(entity_room, np.int32)
    firsts, ends = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    count, entity_count = 0, 0
    for n in range(nodes.size):
        for m in range(match_start[nodes[n]], match_stop[nodes[n]]):
            y2 = counterpart[m]
            # The entities x' with (x', d', y') are a group of y', that of the inverse of d', and
            # its functionality is the inverse functionality of (x', d', y').
            group = right_start[y2]
            while group < right_stop[y2]:
                end = group_end[group]
                if functionalities[group] > 0:
                    firsts[count] = entity_count
                    for edge in range(group, end):
                        # Without a branch, since nobody could predict it.
                        entities[entity_count] = neighbour[edge]
                        entity_count += searchable[neighbour[edge]]
                    ends[count], relation[count] = entity_count, right_relation[group] ^ 1
                    probability[count] = match_probability[m]
                    functionality[count] = functionalities[group]
                    count += entity_count > firsts[count]
                group = end
        start[n + 1] = count
    return _OtherFacts(
        number, start, probability[:count], relation[:count], functionality[:count],
        firsts[:count], ends[:count], entities[:entity_count],
    )  # fmt: skip


@jit_cached()
def _meet_facts(
    others: _OtherFacts,
    inclusion: Inclusion,
    facts: Facts,
    order: IntArray,
    min_weight: float,
) -> FactPairs:
    """Find the pairs of some facts; facts and result are in the order of relations."""
    relations, inverse_functionalities = facts.relation, facts.inverse_functionality
    numbers, other_start, probability, other_relation, functionality = others[:5]
    other_first, other_end, entities = others[5:]
    seen_start, seen_other = inclusion.start, inclusion.other
    seen_forward, unseen_forward = inclusion.forward, inclusion.unseen_forward
    seen_backward, unseen_backward = inclusion.backward, inclusion.unseen_backward
    # Most facts that meet weigh too little. Their doubt says so without a logarithm; the factor
    # is for rounding, and the weight itself is compared in the end.
    max_doubt = math.exp(-min_weight) * (1 + 1e-12)
    entries = np.full(unseen_backward.size, UNSEEN, dtype=np.int32)
    start, stop = np.empty(order.size, dtype=np.int64), np.empty(order.size, dtype=np.int64)
    count, room = 0, max(64, 8 * order.size)
    firsts, ends = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    weights = np.empty(room, dtype=np.float64)
    last = UNSEEN
    for place in range(order.size):
        n = order[place]
        d, inverse_functionality = relations[n], inverse_functionalities[n]
        if d != last:
            spread_entries(seen_start, seen_other, last, d, entries)
            last = d
        start[place] = count
        for other in range(other_start[numbers[n]], other_start[numbers[n] + 1]):
            d2 = other_relation[other]
            entry = entries[d2]
            seen = entry != UNSEEN
            forward = seen_forward[entry] if seen else unseen_forward[d]
            backward = seen_backward[entry] if seen else unseen_backward[d2]
            doubt = compute_doubt(
                probability[other], forward, backward, inverse_functionality, functionality[other]
            )
            weight = -math.log(doubt) if doubt <= max_doubt else 0.0
            if weight >= min_weight and weight > 0:
                if count == room:
                    firsts = np.concatenate((firsts, np.empty_like(firsts)))
                    ends = np.concatenate((ends, np.empty_like(ends)))
                    weights = np.concatenate((weights, np.empty_like(weights)))
                    room *= 2
                firsts[count], ends[count] = other_first[other], other_end[other]
                weights[count] = weight
                count += 1
        stop[place] = count
    return FactPairs(start, stop, firsts[:count], ends[:count], weights[:count], entities)
