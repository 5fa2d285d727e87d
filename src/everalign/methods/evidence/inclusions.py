"""Inclusions between all relations of the two entities of pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from everalign._numba import jit_cached
from everalign.graph import IntArray
from everalign.methods.evidence.adjacency import FloatArray, OffsetArray
from everalign.methods.evidence.comparable import ComparableEdges
from everalign.methods.evidence.relations import (
    UNSEEN,
    Inclusion,
    sort_by_relation,
    spread_entries,
)


class PairInclusions(NamedTuple):
    """Inclusions between the relations of x and x' in each row.

    Attributes:
        best_forward: For each group of x in each row, how far a relation of x' includes it.
        best_backward: The same for each group of x'.
        entry: For each group of x' in each row, where its inclusions start in the next two. They
            follow each other in the order of the groups of x.
        forward: P(d ⊆ d') of two relations.
        backward: P(d' ⊆ d).
    """

    best_forward: FloatArray
    best_backward: FloatArray
    entry: OffsetArray
    forward: FloatArray
    backward: FloatArray


@jit_cached()
def count_values(start: OffsetArray, ids: IntArray) -> int:
    """Count the values that some entities have in all.

    Args:
        start: The values of entity n are those from `start[n]` to `start[n + 1]`.
        ids: The entities, with repetitions.

    Returns:
        The sum.
    """
    count = 0
    for n in ids:
        count += start[n + 1] - start[n]
    return count


@jit_cached()
def find_run(ids: IntArray, first: int) -> int:
    """Find the end of the rows that have the same id as the first one.

    Args:
        ids: An id for each row.
        first: The first row.

    Returns:
        The index after the last row.
    """
    end = first + 1
    while end < ids.size and ids[end] == ids[first]:
        end += 1
    return end


@jit_cached()
def find_pair_inclusions(
    left: ComparableEdges,
    right: ComparableEdges,
    inclusion: Inclusion,
    left_ids: IntArray,
    right_ids: IntArray,
) -> PairInclusions:
    """Find how far the relations of the two entities of each pair include each other.

    Args:
        left: Groups of the left entities.
        right: Groups of the right entities.
        inclusion: Inclusion of right in left relations.
        left_ids: Left entity of each pair; pairs of one follow each other.
        right_ids: Right entity of each pair.

    Returns:
        The inclusions.
    """
    left_start, right_start = left.group_start, right.group_start
    entry, lookups, count = _list_lookups(
        left, right, inclusion.unseen_forward.size, left_ids, right_ids
    )
    forward, backward = np.empty(count, dtype=np.float32), np.empty(count, dtype=np.float32)
    _look_up_inclusions(inclusion, left.group_relation, lookups, forward, backward)
    best_forward = np.zeros(count_values(left_start, left_ids), dtype=np.float32)
    best_backward = np.zeros(entry.size, dtype=np.float32)
    place, place2 = 0, 0
    for row in range(left_ids.size):
        x, x2 = left_ids[row], right_ids[row]
        group_count = left_start[x + 1] - left_start[x]
        for _ in range(right_start[x2], right_start[x2 + 1]):
            first = entry[place2]
            for k in range(group_count):
                best_forward[place + k] = max(best_forward[place + k], forward[first + k])
                best_backward[place2] = max(best_backward[place2], backward[first + k])
            place2 += 1
        place += group_count
    return PairInclusions(best_forward, best_backward, entry, forward, backward)


@jit_cached()
def _list_lookups(
    left: ComparableEdges,
    right: ComparableEdges,
    right_relation_count: int,
    left_ids: IntArray,
    right_ids: IntArray,
) -> tuple[OffsetArray, OffsetArray, int]:
    """List what to look up: the candidates of x have relations in common, each counts once.

    Returns the `entry` of PairInclusions; rows of (first group of x, end of its groups, relation
    of x', first entry); and the number of entries.
    """
    left_start, right_start = left.group_start, right.group_start
    right_relation = right.group_relation
    entry = np.empty(count_values(right_start, right_ids), dtype=np.int64)
    lookups = np.empty((entry.size, 4), dtype=np.int64)
    # Lookups of another x are before the first one of this x.
    lookup_of_relation = np.full(right_relation_count, UNSEEN, dtype=np.int32)
    lookup_count, count, place2, first = 0, 0, 0, 0
    while first < left_ids.size:
        x, end, first_lookup = left_ids[first], find_run(left_ids, first), lookup_count
        for row in range(first, end):
            x2 = right_ids[row]
            for group2 in range(right_start[x2], right_start[x2 + 1]):
                d2 = right_relation[group2]
                if lookup_of_relation[d2] < first_lookup:
                    lookup_of_relation[d2] = lookup_count
                    lookups[lookup_count, 0] = left_start[x]
                    lookups[lookup_count, 1] = left_start[x + 1]
                    lookups[lookup_count, 2], lookups[lookup_count, 3] = d2, count
                    lookup_count += 1
                    count += left_start[x + 1] - left_start[x]
                entry[place2] = lookups[lookup_of_relation[d2], 3]
                place2 += 1
        first = end
    return entry, lookups[:lookup_count], count


@jit_cached()
def _look_up_inclusions(
    inclusion: Inclusion,
    group_relation: IntArray,
    lookups: OffsetArray,
    forward: FloatArray,
    backward: FloatArray,
) -> None:
    """Look up P(d ⊆ d') and P(d' ⊆ d); `inclusion` is that of right in left relations."""
    start, other = inclusion.start, inclusion.other
    # Seen from the right, forward and backward change places.
    seen_forward, unseen_forward = inclusion.backward, inclusion.unseen_backward
    seen_backward, unseen_backward = inclusion.forward, inclusion.unseen_forward
    entries = np.full(unseen_forward.size, UNSEEN, dtype=np.int32)
    last = UNSEEN
    for n in sort_by_relation(lookups[:, 2], unseen_backward.size):
        d2, place = lookups[n, 2], lookups[n, 3]
        if d2 != last:
            spread_entries(start, other, last, d2, entries)
            last = d2
        for group in range(lookups[n, 0], lookups[n, 1]):
            d = group_relation[group]
            seen = entries[d] != UNSEEN
            forward[place] = seen_forward[entries[d]] if seen else unseen_forward[d]
            backward[place] = seen_backward[entries[d]] if seen else unseen_backward[d2]
            place += 1
