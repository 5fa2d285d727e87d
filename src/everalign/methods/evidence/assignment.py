"""Selection that follows changes: greedy, from the best pair down.

A pair is selected if neither of its entities has a better pair that is selected, where an entity
may have one link only. So a change concerns pairs of the same entities, and of those only worse
ones: looking at them from the best down gives exactly what a selection of all pairs would give.
"""

from __future__ import annotations

import heapq

import numpy as np

from everalign._numba import jit_cached
from everalign.cardinality import Cardinality
from everalign.graph import IntArray
from everalign.graph.growing import Offsets
from everalign.methods.evidence.adjacency import BoolArray, FloatArray, find_first
from everalign.methods.evidence.candidate_store import CandidateStore, Pairs

# (-score, left, right, row): sorts pairs, best first, and equal ones by their ids.
PairKey = tuple[np.float32, np.int64, np.int64, np.int64]


def refresh_selection(
    store: CandidateStore, changed: Pairs, cardinality: Cardinality = Cardinality.ONE_TO_ONE
) -> Pairs:
    """Select again after the confidence of some candidates has changed.

    Args:
        store: The candidates; their column `selected` is changed.
        changed: Candidates that are new or have another confidence, and any candidate of each
            entity that has lost one.
        cardinality: On which sides an entity may have one link only.

    Returns:
        The candidates that are selected and were not, or the other way round.
    """
    row, left = _select_again(
        *store.by_left,
        store.rows["right"],
        *store.by_right,
        store.lefts["left"],
        store.column("confidence"),
        store.column("selected"),
        changed.row,
        changed.left,
        *cardinality.unique_sides,
    )
    return Pairs(row, left, store.rows["right"][row].astype(np.int64))


@jit_cached()
def _select_again(
    left_start: Offsets,
    left_stop: Offsets,
    row_right: IntArray,
    right_start: Offsets,
    right_stop: Offsets,
    row_left: IntArray,
    score: FloatArray,
    selected: BoolArray,
    rows: Offsets,
    lefts: Offsets,
    unique_left: bool,
    unique_right: bool,
) -> tuple[Offsets, Offsets]:
    heap = [(np.float32(0), np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    waiting = {np.int64(-1)}
    flipped = [np.int64(0) for _ in range(0)]
    flipped_left = [np.int64(0) for _ in range(0)]
    for i in range(rows.size):
        if rows[i] not in waiting:
            waiting.add(rows[i])
            heap.append((-score[rows[i]], lefts[i], np.int64(row_right[rows[i]]), rows[i]))
    heapq.heapify(heap)
    # The best selected pair of right entities, which may have very many. What is better than the
    # pair at hand no longer changes, so that it stays valid until that very pair is dropped.
    best_of_right = {np.int64(-1): (np.float32(0), np.int64(0), np.int64(0), np.int64(0))}
    while heap:
        key = heapq.heappop(heap)
        x, x2, row = key[1], key[2], key[3]
        waiting.discard(row)
        if x2 not in best_of_right:
            best_of_right[x2] = _find_best_selected(
                left_start,
                left_stop,
                row_right,
                row_left[right_start[x2] : right_stop[x2]],
                score,
                selected,
                x2,
            )
        is_free = not (unique_right and best_of_right[x2] < key)
        for k in range(left_start[x], left_stop[x] if unique_left else left_start[x]):
            better = selected[k] and (-score[k], x, np.int64(row_right[k]), k) < key
            is_free = is_free and not better
        if is_free == selected[row]:
            continue
        selected[row] = is_free
        if is_free:
            best_of_right[x2] = key
        elif best_of_right[x2][3] == row:
            best_of_right.pop(x2)
        flipped.append(row)
        flipped_left.append(x)
        # Only worse pairs of the two entities depend on this one.
        for k in range(left_start[x], left_stop[x] if unique_left else left_start[x]):
            worse = (-score[k], x, np.int64(row_right[k]), np.int64(k))
            if worse > key and worse[3] not in waiting:
                waiting.add(worse[3])
                heapq.heappush(heap, worse)
        for k in range(right_start[x2], right_stop[x2] if unique_right else right_start[x2]):
            other = np.int64(row_left[k])
            m = find_first(row_right, left_start[other], left_stop[other], row_right[row])
            worse = (-score[m], other, x2, np.int64(m))
            if worse > key and worse[3] not in waiting:
                waiting.add(worse[3])
                heapq.heappush(heap, worse)
    return np.array(flipped), np.array(flipped_left)


@jit_cached()
def _find_best_selected(
    left_start: Offsets,
    left_stop: Offsets,
    row_right: IntArray,
    lefts: IntArray,
    score: FloatArray,
    selected: BoolArray,
    right: np.int64,
) -> PairKey:
    """The best selected pair of a right entity; one worse than all if there is none."""
    best = (np.float32(np.inf), np.int64(0), np.int64(0), np.int64(-1))
    for k in range(lefts.size):
        left = np.int64(lefts[k])
        m = np.int64(find_first(row_right, left_start[left], left_stop[left], int(right)))
        if selected[m] and (-score[m], left, right, m) < best:
            best = (-score[m], left, right, m)
    return best
