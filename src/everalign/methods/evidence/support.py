"""Support from matched neighbours, and the search for the best supported candidates.

Given a match (y, y') with probability p, the edges (x, d, y) and (x', d', y') add to the support
of the pair (x, x')

    − log[(1 − p · P(d' ⊆ d) · inverse_functionality(x, d, y))
          · (1 − p · P(d ⊆ d') · inverse_functionality(x', d', y'))]

The inverse functionality of (x, d, y) is the same for all x that have this fact. So is the weight
for all pairs of an x with the fact (d, y) and an x' with the fact (d', y'): the search weighs each
pair of facts once, and then adds up for each x what its facts meet.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign._parallel import map_chunks
from everalign.graph import IntArray
from everalign.methods.evidence.adjacency import Adjacency, BoolArray, FloatArray, OffsetArray
from everalign.methods.evidence.hashing import EMPTY, count_slots, create_keys, find_slot
from everalign.methods.evidence.relations import (
    UNSEEN,
    Inclusion,
    Matches,
    sort_by_relation,
    spread_entries,
)

FACT_CHUNK_SIZE = 4096  # facts of one parallel task
ENTITY_CHUNK_SIZE = 1024  # entities of one parallel task: few, since their cost differs widely

Support = tuple[IntArray, IntArray, FloatArray]  # entity, counterpart, support


@jit_cached()
def compute_evidence_weight(
    probability: float,
    forward: float,
    backward: float,
    inverse_functionality: float,
    inverse_functionality2: float,
) -> float:
    """Compute what one pair of matched neighbours adds to the support of a pair (x, x').

    Args:
        probability: Match probability of the neighbours.
        forward: P(d ⊆ d') of the relations that lead to them.
        backward: P(d' ⊆ d).
        inverse_functionality: Of the edge of x.
        inverse_functionality2: Of the edge of x'.

    Returns:
        The weight, from 0 on.
    """
    return -math.log(
        compute_doubt(
            probability, forward, backward, inverse_functionality, inverse_functionality2
        )
    )


@jit_cached()
def compute_doubt(
    probability: float,
    forward: float,
    backward: float,
    inverse_functionality: float,
    inverse_functionality2: float,
) -> float:
    """Compute the probability that a pair of matched neighbours says nothing of a pair (x, x').

    Args:
        probability: Match probability of the neighbours.
        forward: P(d ⊆ d') of the relations that lead to them.
        backward: P(d' ⊆ d).
        inverse_functionality: Of the edge of x.
        inverse_functionality2: Of the edge of x'.

    Returns:
        The probability, of which the evidence weight is the negative logarithm.
    """
    return (1 - probability * backward * inverse_functionality) * (
        1 - probability * forward * inverse_functionality2
    )


class _Facts(NamedTuple):
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


class _Meetings(NamedTuple):
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


def search_candidates(
    left: Adjacency,
    right: Adjacency,
    matches: Matches,
    inclusion: Inclusion,
    wanted: IntArray,
    searchable: BoolArray,
    rejected: Matches,
    max_candidates: int,
    min_weight: float,
) -> Support:
    """Search the best supported right entities of left ones.

    Args:
        left: Graph of the wanted entities.
        right: Graph to search in.
        matches: Current matches of left nodes.
        inclusion: Inclusion of left in right relations.
        wanted: Left entities.
        searchable: Which right nodes can be found.
        rejected: Right entities that are not to be found for a left one.
        max_candidates: Number of right entities for each, by discounted support.
        min_weight: Lighter pieces of evidence are left out.

    Returns:
        Left entity, right entity and support of each pair, in the order of `wanted`, best first.
    """
    facts = _list_facts(left, matches, wanted)
    meetings = _find_meetings(right, matches, inclusion, facts, min_weight)

    def search_chunk(first: int, end: int) -> Support:
        return _gather_support(
            right, facts.start[first : end + 1], facts.number, meetings, wanted[first:end],
            searchable, rejected, max_candidates,
        )  # fmt: skip

    # The empty chunk gives the arrays their types where nothing is wanted.
    chunks = [search_chunk(0, 0), *map_chunks(search_chunk, len(wanted), ENTITY_CHUNK_SIZE)]
    left_ids, right_ids, support = (np.concatenate(column) for column in zip(*chunks, strict=True))
    return left_ids, right_ids, support


@jit_cached()
def _list_facts(left: Adjacency, matches: Matches, wanted: IntArray) -> _Facts:
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
    return _Facts(
        fact_start, number, relation[edges], neighbour[edges], inverse_functionality[edges]
    )


def _find_meetings(
    right: Adjacency, matches: Matches, inclusion: Inclusion, facts: _Facts, min_weight: float
) -> _Meetings:
    def meet_chunk(first: int, end: int) -> _Meetings:
        columns = (column[first:end] for column in facts[2:])
        return _meet_facts(right, matches, inclusion, *columns, min_weight)

    # The empty chunk gives the arrays their types where there is no fact.
    chunks = [meet_chunk(0, 0), *map_chunks(meet_chunk, len(facts.relation), FACT_CHUNK_SIZE)]
    shifts = np.cumsum([0, *(len(chunk.weight) for chunk in chunks[:-1])])
    shifted = [
        chunk._replace(start=chunk.start + shift, stop=chunk.stop + shift)
        for chunk, shift in zip(chunks, shifts, strict=True)
    ]
    return _Meetings(*(np.concatenate(column) for column in zip(*shifted, strict=True)))


@jit_cached()
def _meet_facts(
    right: Adjacency,
    matches: Matches,
    inclusion: Inclusion,
    relations: IntArray,
    neighbours: IntArray,
    inverse_functionalities: FloatArray,
    min_weight: float,
) -> _Meetings:
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
    return _Meetings(start, stop, firsts[:count], ends[:count], weights[:count])


@jit_cached()
def _gather_support(
    right: Adjacency,
    fact_start: OffsetArray,
    fact: IntArray,
    meetings: _Meetings,
    wanted: IntArray,
    searchable: BoolArray,
    rejected: Matches,
    max_candidates: int,
) -> Support:
    """Sum the weights for each pair of a wanted entity, and keep the best."""
    neighbour, degree_discount = right.neighbour, right.degree_discount
    meeting_start, meeting_stop, firsts, ends, weights = meetings
    left_ids = np.empty(wanted.size * max_candidates, dtype=np.int32)
    right_ids = np.empty(wanted.size * max_candidates, dtype=np.int32)
    score = np.empty(wanted.size * max_candidates, dtype=np.float32)
    rejected_start, rejected_stop = rejected.start, rejected.stop
    # A map of the entities that are met: x meets few, whatever the size of the graph. Between two
    # entities, all keys are EMPTY and all sums 0.
    all_keys = create_keys(512)
    sums = np.zeros(all_keys.size, dtype=np.float64)
    met = np.empty(all_keys.size, dtype=np.int64)
    count = 0
    for n in range(wanted.size):
        x = wanted[n]
        room = rejected_stop[x] - rejected_start[x]
        for k in range(fact_start[n], fact_start[n + 1]):
            for meeting in range(meeting_start[fact[k]], meeting_stop[fact[k]]):
                room += ends[meeting] - firsts[meeting]
        if 2 * room > all_keys.size:
            all_keys = create_keys(room)
            sums = np.zeros(all_keys.size, dtype=np.float64)
            met = np.empty(all_keys.size, dtype=np.int64)
        keys, met_count = all_keys[: count_slots(room)], 0
        for m in range(rejected_start[x], rejected_stop[x]):
            slot = find_slot(keys, rejected.counterpart[m])
            # Whatever is added to -inf, it stays.
            keys[slot], sums[slot] = rejected.counterpart[m], -np.inf
            met[met_count] = slot
            met_count += 1
        for k in range(fact_start[n], fact_start[n + 1]):
            for meeting in range(meeting_start[fact[k]], meeting_stop[fact[k]]):
                weight = weights[meeting]
                for edge in range(firsts[meeting], ends[meeting]):
                    slot = find_slot(keys, neighbour[edge])
                    # Without a branch, since nobody could predict it.
                    met[met_count] = slot
                    met_count += keys[slot] == EMPTY
                    keys[slot] = neighbour[edge]
                    sums[slot] += weight
        first = count
        for k in range(met_count):
            slot = met[k]
            x2 = keys[slot]
            # In single precision, as it is stored: equal scores must be equal in both places.
            s = np.float32(sums[slot] * degree_discount[x2])
            keys[slot], sums[slot] = EMPTY, 0
            # Most are worse than the last one of a full list.
            is_better = count - first < max_candidates or s >= score[count - 1]
            if is_better and s > 0 and searchable[x2]:
                count = _keep_best(right_ids, score, first, count, max_candidates, x2, s)
        left_ids[first:count] = x
    # The discount is for ranking only; the support that is returned is without it.
    for row in range(count):
        score[row] /= degree_discount[right_ids[row]]
    return left_ids[:count], right_ids[:count], score[:count]


@jit_cached()
def _keep_best(
    ids: IntArray,
    score: FloatArray,
    first: int,
    end: int,
    max_candidates: int,
    entity: int,
    entity_score: float,
) -> int:
    """Insert an entity into the best ones, which are in rows `first` to `end`, best first.

    The lower id wins a tie. Returns the new end.
    """
    row = end
    while row > first and (
        score[row - 1] < entity_score or (score[row - 1] == entity_score and ids[row - 1] > entity)
    ):
        row -= 1
    if row - first >= max_candidates:
        return end
    last = min(end, first + max_candidates - 1)
    for moved in range(last, row, -1):
        score[moved], ids[moved] = score[moved - 1], ids[moved - 1]
    score[row], ids[row] = entity_score, entity
    return max(end, last + 1)
