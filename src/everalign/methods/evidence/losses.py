"""What ended links: candidates that were links before an update, and are none now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from everalign.causes import RetractionCause
from everalign.graph.growing import Offsets, list_block_rows, repeat_keys
from everalign.methods.evidence.adjacency import BoolArray, FloatArray
from everalign.methods.evidence.candidate_store import (
    CandidateStore,
    Pairs,
    Row,
    SideIndex,
    mark_kept_evidence,
)
from everalign.methods.evidence.incremental_state import LEFT, RIGHT, IncrementalState

# Evidence and scores that have this share of what they were have not fallen.
KEPT_SHARE = 0.9

# The cause by pair of ids.
LossCauses: TypeAlias = Mapping[tuple[int, int], RetractionCause]


class _LostRows(NamedTuple):
    """Candidates that were links and are none now, and the row of each now; -1 without one."""

    pairs: Pairs
    row: Row


def explain_training(
    before: IncrementalState, after: IncrementalState, thresholds: tuple[float, float]
) -> LossCauses:
    """Find out why a training has ended links.

    Args:
        before: The alignment before the training.
        after: The alignment after it.
        thresholds: The confidence from which candidates were links, and from which they are.

    Returns:
        The cause for each pair that was a link and is none now.
    """
    old, new = before.candidates, after.candidates
    lost = _find_lost(old, old.list_all(), new, thresholds)
    has_gained = [
        _count_facts(after, side, lost.pairs) > _count_facts(before, side, lost.pairs)
        for side in (LEFT, RIGHT)
    ]
    # The models say as much for the pair as before: only what is expected of all pairs changed.
    similarity_before, similarity = (
        _measure_similarity(store, row) for store, row in ((old, lost.pairs.row), (new, lost.row))
    )
    is_as_similar = similarity >= KEPT_SHARE * similarity_before
    return _name_causes(
        lost.pairs,
        [
            (~_mark_kept(old, new, lost), RetractionCause.LOST_EVIDENCE),
            (is_as_similar, RetractionCause.NEW_SHARES),
            (has_gained[LEFT] | has_gained[RIGHT], RetractionCause.NEW_EVIDENCE),
        ],
        RetractionCause.RELEARNED_MODELS,
    )


def explain_update(
    state: IncrementalState, owners: Offsets, old_blocks: SideIndex, threshold: float
) -> LossCauses:
    """Find out why an update without a training has ended links.

    Args:
        state: The alignment after the update.
        owners: Left entities whose blocks of candidates were rewritten.
        old_blocks: Where the blocks were before.
        threshold: The confidence from which candidates are links.

    Returns:
        The cause for each pair of a rewritten block that was a link and is none now.
    """
    store, numbers = state.candidates, np.arange(len(owners))
    row = list_block_rows(*old_blocks, numbers)
    left = owners[repeat_keys(*old_blocks, numbers)]
    old = Pairs(row, left, store.rows["right"][row].astype(np.int64))
    lost = _find_lost(store, old, store, (threshold, threshold))
    is_lost = ~_mark_kept(store, store, lost)
    return _name_causes(
        lost.pairs, [(is_lost, RetractionCause.LOST_EVIDENCE)], RetractionCause.NEW_EVIDENCE
    )


def _find_lost(
    before: CandidateStore, old: Pairs, after: CandidateStore, thresholds: tuple[float, float]
) -> _LostRows:
    was_link = _mark_links(before, old.row, thresholds[0])
    old = Pairs(*(column[was_link] for column in old))
    row = after.find_rows(old.left, old.right)
    is_lost = ~((row >= 0) & _mark_links(after, row, thresholds[1]))
    return _LostRows(Pairs(*(column[is_lost] for column in old)), row[is_lost])


def _mark_links(store: CandidateStore, row: Row, threshold: float) -> BoolArray:
    is_link: BoolArray = store.column("selected")[row] & (
        store.column("confidence")[row] >= threshold
    )
    return is_link


def _mark_kept(before: CandidateStore, after: CandidateStore, lost: _LostRows) -> BoolArray:
    """Mark the lost links whose evidence is still there; without a candidate there is none."""
    is_candidate = lost.row >= 0
    kept = mark_kept_evidence(
        (before, lost.pairs.row[is_candidate]),
        (after, lost.row[is_candidate]),
        KEPT_SHARE,
    )
    is_candidate[is_candidate] = kept
    return is_candidate


def _measure_similarity(store: CandidateStore, row: Row) -> FloatArray:
    """How probable the models take a pair to be a match, and its entities not to be dangling."""
    similarity: FloatArray = store.column("probability")[row] * (1 - store.column("dangling")[row])
    return similarity


def _count_facts(state: IncrementalState, side: int, pairs: Pairs) -> Offsets:
    view, entities = state.adjacency[side].view, pairs[1 + side]
    return view.stop[entities] - view.start[entities]


def _name_causes(
    pairs: Pairs, causes: Sequence[tuple[BoolArray, RetractionCause]], other: RetractionCause
) -> LossCauses:
    """Name the first cause of each pair that holds."""
    masks, names = zip(*causes, strict=True)
    number = np.select(masks, range(len(names)), default=len(names))
    chosen = [(*names, other)[n] for n in number.tolist()]
    lost = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
    return dict(zip(lost, chosen, strict=True))
