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

# Facts that are met at once: what they meet should stay in the processor's cache.
CHUNK_SIZE = 16384
NO_SHARING = np.empty(0, dtype=np.int32)


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
        block: Rows of (first, end): the entities with the other fact that can be found are
            `entity[first]` to `entity[end]`.
        weight: The evidence weight.
        entity: Entities of the other side, those with one fact in one block.
    """

    start: OffsetArray
    stop: OffsetArray
    block: IntArray
    weight: NDArray[np.float64]
    entity: IntArray


@jit_cached()
def list_facts(left: Adjacency, sharing: IntArray, matches: Matches, wanted: IntArray) -> Facts:
    """List the facts of some entities that can meet others.

    Args:
        left: Graph of the entities.
        sharing: For each of its edges the first edge to an entity with the same fact; if it is
            empty, facts are told apart by a hash map.
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
    # A fact has a slot of its own: the first edge of its group, or one of the map.
    is_grouped = sharing.size > 0
    keys = create_keys(0 if is_grouped else room)
    number_of_slot = np.full(sharing.size if is_grouped else keys.size, EMPTY, dtype=np.int32)
    fact_start = np.zeros(wanted.size + 1, dtype=np.int64)
    number = np.empty(room, dtype=np.int32)
    edge_of_fact = np.empty(room, dtype=np.int32)
    count, fact_count = 0, 0
    for n in range(wanted.size):
        for edge in range(start[wanted[n]], stop[wanted[n]]):
            y = neighbour[edge]
            if inverse_functionality[edge] > 0 and match_start[y] < match_stop[y]:
                if is_grouped:
                    slot = np.uint64(sharing[edge])
                else:
                    key = (np.int64(y) << 32) | relation[edge]
                    slot = find_slot(keys, key)
                    keys[slot] = key
                if number_of_slot[slot] == EMPTY:
                    number_of_slot[slot], edge_of_fact[fact_count] = fact_count, edge
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
        numbers: Rows of (directed relation d', first, end): the searchable entities with the fact
            are `entity[first]` to `entity[end]`.
        values: Rows of (match probability of y and y', inverse functionality of all edges
            (x', d', y')).
        entity: Entities of the other side.
    """

    # What is read together is in one row: facts are met in no order.
    number: IntArray
    start: OffsetArray
    numbers: IntArray
    values: FloatArray
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

    fact_count = len(facts.relation)
    chunks = [
        _meet_facts(
            others, inclusion, facts, first, min(first + CHUNK_SIZE, fact_count), min_weight
        )
        # One chunk at least: it gives the arrays their types where there is no fact.
        for first in range(0, fact_count or 1, CHUNK_SIZE)
    ]
    shifts = np.cumsum([0, *(len(chunk.weight) for chunk in chunks[:-1])])
    return FactPairs(
        np.concatenate([c.start + n for c, n in zip(chunks, shifts, strict=True)]),
        np.concatenate([c.stop + n for c, n in zip(chunks, shifts, strict=True)]),
        np.concatenate([chunk.block for chunk in chunks]),
        np.concatenate([chunk.weight for chunk in chunks]),
        others.entity,
    )


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
    numbers, values = np.empty((room, 3), np.int32), np.empty((room, 2), np.float32)
    entities = np.empty(entity_room, np.int32)
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
                    first = entity_count
                    for edge in range(group, end):
                        # Without a branch, since nobody could predict it.
                        entities[entity_count] = neighbour[edge]
                        entity_count += searchable[neighbour[edge]]
                    numbers[count, 0] = right_relation[group] ^ 1
                    numbers[count, 1], numbers[count, 2] = first, entity_count
                    values[count, 0] = match_probability[m]
                    values[count, 1] = functionalities[group]
                    count += entity_count > first
                group = end
        start[n + 1] = count
    return _OtherFacts(number, start, numbers[:count], values[:count], entities[:entity_count])


@jit_cached()
def _meet_facts(
    others: _OtherFacts,
    inclusion: Inclusion,
    facts: Facts,
    first_fact: int,
    end_fact: int,
    min_weight: float,
) -> FactPairs:
    """Find the pairs of some facts."""
    relations, inverse_functionalities = facts.relation, facts.inverse_functionality
    number_of_fact, other_start, numbers, values, entities = others
    seen_start, seen_other = inclusion.start, inclusion.other
    seen_forward, unseen_forward = inclusion.forward, inclusion.unseen_forward
    seen_backward, unseen_backward = inclusion.backward, inclusion.unseen_backward
    # Most facts that meet weigh too little. Their doubt says so without a logarithm; the factor
    # is for rounding, and the weight itself is compared in the end.
    max_doubt = math.exp(-min_weight) * (1 + 1e-12)
    entries = np.full(unseen_backward.size, UNSEEN, dtype=np.int32)
    size = end_fact - first_fact
    start, stop = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    count, room = 0, max(64, 4 * size)
    blocks, weights = np.empty((room, 2), dtype=np.int32), np.empty(room, dtype=np.float64)
    last = UNSEEN
    # By relation: the inclusions of a relation are spread once for all facts with it.
    for place in sort_by_relation(relations[first_fact:end_fact], unseen_forward.size):
        n = first_fact + place
        d, inverse_functionality = relations[n], inverse_functionalities[n]
        if d != last:
            spread_entries(seen_start, seen_other, last, d, entries)
            last = d
        start[place] = count
        first, end = other_start[number_of_fact[n]], other_start[number_of_fact[n] + 1]
        if count + end - first > room:
            room = max(2 * room, count + end - first)
            blocks, weights = _extend_rows(blocks, room), _extend_values(weights, room)
        for other in range(first, end):
            d2 = numbers[other, 0]
            entry = entries[d2]
            seen = entry != UNSEEN
            forward = seen_forward[entry] if seen else unseen_forward[d]
            backward = seen_backward[entry] if seen else unseen_backward[d2]
            doubt = compute_doubt(
                values[other, 0], forward, backward, inverse_functionality, values[other, 1]
            )
            weight = -math.log(doubt) if doubt <= max_doubt else 0.0
            if weight >= min_weight and weight > 0:
                blocks[count, 0], blocks[count, 1] = numbers[other, 1], numbers[other, 2]
                weights[count] = weight
                count += 1
        stop[place] = count
    return FactPairs(start, stop, blocks[:count].copy(), weights[:count].copy(), entities)


@jit_cached()
def _extend_rows(rows: IntArray, room: int) -> IntArray:
    out = np.empty((room, rows.shape[1]), dtype=np.int32)
    out[: len(rows)] = rows
    return out


@jit_cached()
def _extend_values(values: NDArray[np.float64], room: int) -> NDArray[np.float64]:
    out = np.empty(room, dtype=np.float64)
    out[: values.size] = values
    return out
