"""The search for candidates: the counterparts of an entity with most support.

The support of a pair is the sum of the weights of its evidence: for each x, what its facts meet is
added up (fact_pairs.py). The support is the same from both sides, so that one pass can serve both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign._parallel import map_chunks, split_by_cost, worker_count
from everalign.graph import IntArray
from everalign.methods.evidence.adjacency import Adjacency, BoolArray, FloatArray, OffsetArray
from everalign.methods.evidence.fact_pairs import (
    NO_SHARING,
    FactPairs,
    Facts,
    find_fact_pairs,
    list_facts,
)
from everalign.methods.evidence.hashing import EMPTY, Keys, count_slots, create_keys, find_slot
from everalign.methods.evidence.relations import Inclusion, Matches

# A score in single precision may be this much greater than the product that it stands for.
ROUNDING = 1 - 1e-6
MIN_CHUNK_SIZE = 1024  # entities that are worth a parallel task
# Entities whose facts are in memory at a time. Facts that entities of two chunks share are weighed
# twice, so that there are few.
BLOCK_SIZE = 1 << 20

Result = TypeVar("Result")
Support = tuple[IntArray, IntArray, FloatArray]  # entity, counterpart, support


class _BestCounterparts(NamedTuple):
    """The best counterparts so far of entities that are met, `max_candidates` rows for each.

    Attributes:
        ids: The counterparts; the rows of entity x are those from x · `max_candidates` on.
        score: Discounted support, best first.
        row_count: Number of counterparts of each entity.
        least_score: The score that is to be exceeded: that of the last row if all rows are taken,
            infinite for entities that nothing is searched for.
    """

    ids: IntArray
    score: FloatArray
    row_count: IntArray
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
        taken = (np.arange(max_candidates) < self.row_count[:, None]).ravel()
        entity = np.repeat(np.arange(len(self.row_count), dtype=np.int32), self.row_count)
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
    sharing: IntArray = NO_SHARING,
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
        sharing: For each left edge the first edge to an entity with the same fact, if that is
            known.

    Returns:
        Left entity, right entity and support of each pair, in the order of `wanted`, best first.
    """
    nobody = _BestCounterparts.create(np.empty(0, dtype=np.bool_), max_candidates)

    def search_range(entities: IntArray) -> Support:
        facts = list_facts(left, sharing, matches, entities)
        fact_pairs = find_fact_pairs(right, matches, inclusion, facts, searchable, min_weight)
        return _gather_support(
            left, right, facts, fact_pairs, entities, np.ones(len(entities), dtype=np.bool_),
            rejected, max_candidates, nobody,
        )  # fmt: skip

    found = []
    for block in _split_blocks(wanted):
        found += _map_ranges(search_range, left, block)
    return _concatenate(found)


def _split_blocks(entities: IntArray) -> list[IntArray]:
    """Split entities into blocks, one of them at least."""
    return [
        entities[first : first + BLOCK_SIZE] for first in range(0, len(entities) or 1, BLOCK_SIZE)
    ]


def _map_ranges(
    search_range: Callable[[IntArray], Result], graph: Adjacency, entities: IntArray
) -> list[Result]:
    """Search for the entities of a block in parallel, in one range for each worker.

    What is found does not depend on the ranges. They have about as many facts each: entities with
    many are often numbered one after the other.
    """
    count = min(worker_count(), -(-len(entities) // MIN_CHUNK_SIZE))
    if count <= 1:
        return [search_range(entities)]
    ends = split_by_cost(graph.stop[entities] - graph.start[entities], count)
    return map_chunks(
        lambda number, _: search_range(entities[ends[number] : ends[number + 1]]),
        len(ends) - 1,
        1,
        np.diff(ends),
    )


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
    sharing: IntArray = NO_SHARING,
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
        sharing: For each left edge the first edge to an entity with the same fact, if that is
            known.

    Returns:
        Entity, counterpart and support of each pair: those of wanted left entities, and those of
        wanted right entities; in the order of entities, best first.
    """
    # Rows for all right entities, as in each range.
    best = _BestCounterparts.create(wanted[1], max_candidates)

    def search_range(entities: IntArray) -> tuple[Support, _BestCounterparts]:
        facts = list_facts(left, sharing, matches, entities)
        fact_pairs = find_fact_pairs(right, matches, inclusion, facts, searchable[1], min_weight)
        best_of_range = _BestCounterparts.create(wanted[1], max_candidates)
        found = _gather_support(
            left, right, facts, fact_pairs, entities, wanted[0][entities], rejected,
            max_candidates, best_of_range,
        )  # fmt: skip
        return found, best_of_range

    found = []
    for block in _split_blocks(np.flatnonzero(searchable[0]).astype(np.int32)):
        for found_in_range, best_of_range in _map_ranges(search_range, left, block):
            # The best of the best do not depend on the ranges.
            _merge_best(best, best_of_range, max_candidates)
            found.append(found_in_range)
    from_right = best.list_rows(max_candidates, left.degree_discount)
    return _concatenate(found), from_right


def drop_weak(found: Support, min_share: float) -> Support:
    """Leave out counterparts with far less support than the best one of their entity.

    Args:
        found: What a search has found.
        min_share: Share of the support of the best one from which a counterpart stays.

    Returns:
        The other pairs, in the same order.
    """
    entity, _, support = found
    first = np.flatnonzero(np.append(True, entity[1:] != entity[:-1])[: len(entity)])
    counts = np.diff(np.append(first, len(entity)))
    best = np.repeat(np.maximum.reduceat(support, first), counts) if len(first) else support
    keep = support >= min_share * best
    return entity[keep], found[1][keep], support[keep]


def _concatenate(chunks: list[Support]) -> Support:
    left_ids, right_ids, support = (np.concatenate(column) for column in zip(*chunks, strict=True))
    return left_ids, right_ids, support


@jit_cached()
def _gather_support(
    left: Adjacency,
    right: Adjacency,
    facts: Facts,
    fact_pairs: FactPairs,
    entities: IntArray,
    wanted: BoolArray,
    rejected: Matches,
    max_candidates: int,
    best: _BestCounterparts,
) -> Support:
    """Sum the weights for each pair of some left entities.

    Returns the best right entities of those that are wanted. Also keeps the best left entities of
    right ones, if `best` has rows for these.
    """
    fact_start, fact_number = facts.start, facts.number
    left_discount, right_discount = left.degree_discount, right.degree_discount
    best_ids, best_score, best_count, least_score = best
    right_count = least_score.size
    room = np.count_nonzero(wanted) * max_candidates
    left_ids, right_ids = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    score = np.empty(room, dtype=np.float32)
    # A map of the entities that are met: x meets few, whatever the size of the graph. Between two
    # entities, all keys are EMPTY and all sums 0.
    keys = create_keys(512)
    sums, met = np.zeros(keys.size, dtype=np.float64), np.empty(keys.size, dtype=np.int64)
    count = 0
    for n in range(entities.size):
        x, x_facts = entities[n], fact_number[fact_start[n] : fact_start[n + 1]]
        x_rejected = rejected.counterpart[rejected.start[x] : rejected.stop[x]]
        most = x_rejected.size + _count_met(x_facts, fact_pairs)
        if 2 * most > keys.size:
            keys = create_keys(most)
            sums, met = np.zeros(keys.size, dtype=np.float64), np.empty(keys.size, dtype=np.int64)
        x_keys = keys[: count_slots(most)]
        met_count = _sum_weights(x_facts, fact_pairs, x_rejected, x_keys, sums, met)
        first, is_wanted, discount = count, wanted[n], left_discount[x]
        # What support must exceed to be among the best of x, whatever its discount of 1 at most.
        least_support = 0.0 if is_wanted else np.inf
        for k in range(met_count):
            slot = met[k]
            x2, support = x_keys[slot], sums[slot]
            x_keys[slot], sums[slot] = EMPTY, 0
            # Most are worse than the last one of a full list.
            if support > least_support:
                # In single precision, as it is stored: equal scores must be equal in both places.
                s = np.float32(support * right_discount[x2])
                count = _keep_best(right_ids, score, first, count, max_candidates, x2, s)
                if count - first == max_candidates:
                    least_support = score[count - 1] * ROUNDING
            if x2 < right_count:
                s = np.float32(support * discount)
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
def _count_met(facts: IntArray, fact_pairs: FactPairs) -> int:
    """Count the entities that an entity meets, as often as it does."""
    start, stop, block = fact_pairs.start, fact_pairs.stop, fact_pairs.block
    count = 0
    for fact in facts:
        for fact_pair in range(start[fact], stop[fact]):
            count += block[fact_pair, 1] - block[fact_pair, 0]
    return count


@jit_cached()
def _sum_weights(
    facts: IntArray,
    fact_pairs: FactPairs,
    rejected: IntArray,
    keys: Keys,
    sums: NDArray[np.float64],
    met: OffsetArray,
) -> int:
    """Sum the weights for each entity that is met, in the order of facts.

    Entities and sums are put into the map; `met` lists the slots. Returns their number.
    """
    start, stop, block = fact_pairs.start, fact_pairs.stop, fact_pairs.block
    weights, entity = fact_pairs.weight, fact_pairs.entity
    count = 0
    for x2 in rejected:
        slot = find_slot(keys, x2)
        # Whatever is added to -inf, it stays.
        keys[slot], sums[slot], met[count] = x2, -np.inf, slot
        count += 1
    for fact in facts:
        for fact_pair in range(start[fact], stop[fact]):
            weight = weights[fact_pair]
            # Unsigned as in `find_slot`.
            for edge in range(np.uint64(block[fact_pair, 0]), np.uint64(block[fact_pair, 1])):
                slot = find_slot(keys, entity[edge])
                # Without a branch, since nobody could predict it.
                met[count] = slot
                count += keys[slot] == EMPTY
                keys[slot] = entity[edge]
                sums[slot] += weight
    return count


@jit_cached()
def _merge_best(best: _BestCounterparts, other: _BestCounterparts, max_candidates: int) -> None:
    """Add the best counterparts of another chunk."""
    ids, score, row_count, _ = best
    other_ids, other_score, other_count, _ = other
    for x in range(row_count.size):
        first = x * max_candidates
        end = first + row_count[x]
        for row in range(first, first + other_count[x]):
            end = _keep_best(
                ids, score, first, end, max_candidates, other_ids[row], other_score[row]
            )
        row_count[x] = end - first


@jit_cached()
def _keep_best(
    ids: IntArray,
    score: FloatArray,
    first: int,
    end: int,
    max_candidates: int,
    entity: int,
    entity_score: np.float32,
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
