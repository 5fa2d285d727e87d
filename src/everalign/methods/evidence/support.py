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
from everalign._parallel import map_chunks, thread_count
from everalign.graph import IntArray
from everalign.methods.evidence.adjacency import Adjacency, BoolArray, FloatArray, OffsetArray
from everalign.methods.evidence.hashing import EMPTY, Keys, count_slots, create_keys, find_slot
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


class _BestCounterparts(NamedTuple):
    """The best counterparts so far of entities that are met, `max_candidates` rows for each.

    Attributes:
        ids: The counterparts; the rows of entity x are those from x · `max_candidates` on.
        score: Discounted support, best first.
        count: Number of counterparts of each entity.
        least_score: The score that is to be exceeded: that of the last row if all rows are taken,
            infinite for entities that nothing is searched for.
    """

    ids: IntArray
    score: FloatArray
    count: IntArray
    least_score: FloatArray

    @staticmethod
    def create(wanted: BoolArray, max_candidates: int) -> _BestCounterparts:
        """Create the empty rows of all entities."""
        return _BestCounterparts(
            np.empty(len(wanted) * max_candidates, dtype=np.int32),
            np.empty(len(wanted) * max_candidates, dtype=np.float32),
            np.zeros(len(wanted), dtype=np.int32),
            np.where(wanted, np.float32(-1), np.float32(np.inf)),
        )

    def list_rows(self, max_candidates: int, degree_discount: FloatArray) -> Support:
        """List entity, counterpart and support of all rows that are taken."""
        taken = (np.arange(max_candidates) < self.count[:, None]).ravel()
        entity = np.repeat(np.arange(len(self.count), dtype=np.int32), self.count)
        ids = self.ids[taken]
        return entity, ids, self.score[taken] / degree_discount[ids]


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
    all_wanted = np.ones(len(wanted), dtype=np.bool_)
    nobody = _BestCounterparts.create(all_wanted[:0], max_candidates)

    def search_chunk(first: int, end: int) -> Support:
        return _gather_support(
            left, right, facts.start[first : end + 1], facts.number, meetings,
            wanted[first:end], all_wanted[first:end], searchable, rejected, max_candidates, nobody,
        )  # fmt: skip

    # The empty chunk gives the arrays their types where nothing is wanted.
    chunks = [search_chunk(0, 0), *map_chunks(search_chunk, len(wanted), ENTITY_CHUNK_SIZE)]
    return _concatenate(chunks)


def search_both_sides(
    left: Adjacency,
    right: Adjacency,
    matches: Matches,
    inclusion: Inclusion,
    wanted: tuple[BoolArray, BoolArray],
    searchable: tuple[BoolArray, BoolArray],
    rejected: Matches,
    max_candidates: int,
    min_weight: float,
) -> tuple[Support, Support]:
    """Search the best supported counterparts of entities of both sides, in one pass.

    The support of a pair is the same from both sides. All searchable left entities are gone
    through, and rows are kept for all right ones: this is worth it where most are wanted.

    Args:
        left: Left graph.
        right: Right graph.
        matches: Current matches of left nodes.
        inclusion: Inclusion of left in right relations.
        wanted: Which left and right entities to search counterparts for.
        searchable: Which left and right nodes can be found.
        rejected: Right entities that are not to be found for a left one, and the other way round.
        max_candidates: Number of counterparts for each, by discounted support.
        min_weight: Lighter pieces of evidence are left out.

    Returns:
        Entity, counterpart and support of each pair: those of wanted left entities, and those of
        wanted right entities; in the order of entities, best first.
    """
    entities = np.flatnonzero(searchable[0]).astype(np.int32)
    left_wanted = wanted[0][entities]
    facts = _list_facts(left, matches, entities)
    meetings = _find_meetings(right, matches, inclusion, facts, min_weight)

    def search_chunk(first: int, end: int) -> tuple[Support, _BestCounterparts]:
        best = _BestCounterparts.create(wanted[1], max_candidates)
        found = _gather_support(
            left, right, facts.start[first : end + 1], facts.number, meetings,
            entities[first:end], left_wanted[first:end], searchable[1], rejected, max_candidates,
            best,
        )  # fmt: skip
        return found, best

    # As many chunks as threads: each has rows for all right entities. The best of the best do not
    # depend on it.
    chunk_size = max(1, -(-len(entities) // thread_count()))
    chunks = [search_chunk(0, 0), *map_chunks(search_chunk, len(entities), chunk_size)]
    best = chunks[-1][1]
    for _, other in chunks[:-1]:
        _merge_best(best, other, max_candidates)
    from_right = best.list_rows(max_candidates, left.degree_discount)
    return _concatenate([found for found, _ in chunks]), from_right


def _concatenate(chunks: list[Support]) -> Support:
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
    left: Adjacency,
    right: Adjacency,
    fact_start: OffsetArray,
    facts: IntArray,
    meetings: _Meetings,
    entities: IntArray,
    wanted: BoolArray,
    searchable: BoolArray,
    rejected: Matches,
    max_candidates: int,
    best: _BestCounterparts,
) -> Support:
    """Sum the weights for each pair of some left entities.

    Returns the best right entities of those that are wanted. Also keeps the best left entities of
    right ones, if `best` has rows for these.
    """
    left_discount, right_discount = left.degree_discount, right.degree_discount
    best_ids, best_score, best_count, least_score = best
    room = np.count_nonzero(wanted) * max_candidates
    left_ids, right_ids = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    score = np.empty(room, dtype=np.float32)
    # A map of the entities that are met: x meets few, whatever the size of the graph. Between two
    # entities, all keys are EMPTY and all sums 0.
    keys = create_keys(512)
    sums, met = np.zeros(keys.size, dtype=np.float64), np.empty(keys.size, dtype=np.int64)
    count = 0
    for n in range(entities.size):
        x, x_facts = entities[n], facts[fact_start[n] : fact_start[n + 1]]
        x_rejected = rejected.counterpart[rejected.start[x] : rejected.stop[x]]
        most = x_rejected.size + _count_met(x_facts, meetings)
        if 2 * most > keys.size:
            keys = create_keys(most)
            sums, met = np.zeros(keys.size, dtype=np.float64), np.empty(keys.size, dtype=np.int64)
        x_keys = keys[: count_slots(most)]
        met_count = _sum_weights(x_facts, meetings, right.neighbour, x_rejected, x_keys, sums, met)
        first = count
        for k in range(met_count):
            x2, support = x_keys[met[k]], sums[met[k]]
            x_keys[met[k]], sums[met[k]] = EMPTY, 0
            if wanted[n]:
                # In single precision, as it is stored: equal scores must be equal in both places.
                s = np.float32(support * right_discount[x2])
                # Most are worse than the last one of a full list.
                is_good = count - first < max_candidates or s >= score[count - 1]
                if is_good and s > 0 and searchable[x2]:
                    count = _keep_best(right_ids, score, first, count, max_candidates, x2, s)
            if x2 < least_score.size:
                s = np.float32(support * left_discount[x])
                # Strictly: left entities ascend, and the lower id wins a tie.
                if s > least_score[x2] and s > 0:
                    row = x2 * max_candidates
                    end = row + best_count[x2]
                    end = _keep_best(best_ids, best_score, row, end, max_candidates, x, s)
                    best_count[x2] = end - row
                    if end - row == max_candidates:
                        least_score[x2] = best_score[end - 1]
        left_ids[first:count] = x
    # The discount is for ranking only; the support that is returned is without it.
    for row in range(count):
        score[row] /= right_discount[right_ids[row]]
    return left_ids[:count], right_ids[:count], score[:count]


@jit_cached()
def _count_met(facts: IntArray, meetings: _Meetings) -> int:
    """Count the entities that an entity meets, as often as it does."""
    start, stop, first, end = meetings.start, meetings.stop, meetings.first, meetings.end
    count = 0
    for fact in facts:
        for meeting in range(start[fact], stop[fact]):
            count += end[meeting] - first[meeting]
    return count


@jit_cached()
def _sum_weights(
    facts: IntArray,
    meetings: _Meetings,
    neighbour: IntArray,
    rejected: IntArray,
    keys: Keys,
    sums: NDArray[np.float64],
    met: OffsetArray,
) -> int:
    """Sum the weights for each entity that is met, in the order of facts.

    Entities and sums are put into the map; `met` lists the slots. Returns their number.
    """
    start, stop, first, end = meetings.start, meetings.stop, meetings.first, meetings.end
    weights = meetings.weight
    count = 0
    for x2 in rejected:
        slot = find_slot(keys, x2)
        # Whatever is added to -inf, it stays.
        keys[slot], sums[slot], met[count] = x2, -np.inf, slot
        count += 1
    for fact in facts:
        for meeting in range(start[fact], stop[fact]):
            weight = weights[meeting]
            for edge in range(first[meeting], end[meeting]):
                slot = find_slot(keys, neighbour[edge])
                # Without a branch, since nobody could predict it.
                met[count] = slot
                count += keys[slot] == EMPTY
                keys[slot] = neighbour[edge]
                sums[slot] += weight
    return count


@jit_cached()
def _merge_best(best: _BestCounterparts, other: _BestCounterparts, max_candidates: int) -> None:
    """Add the best counterparts of another chunk."""
    ids, score, count = best.ids, best.score, best.count
    for x in range(count.size):
        first = x * max_candidates
        for row in range(first, first + other.count[x]):
            end = first + count[x]
            end = _keep_best(
                ids, score, first, end, max_candidates, other.ids[row], other.score[row]
            )
            count[x] = end - first


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
