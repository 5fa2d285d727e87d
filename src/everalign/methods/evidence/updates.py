"""Updates: after a change, only what it affects is compared and scored again.

Facts that are added or removed affect their entities. Where the match probability of a pair
changes by it, its neighbours are affected in turn, and so on until nothing changes or the rounds
are over. Falling probabilities go on after that: nothing may outlive what it rested on. Models,
threshold and the shares of entities that have a counterpart stay as the last training left them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._progress import Progress
from everalign.graph import IntArray
from everalign.graph.growing import Offsets, list_block_rows, repeat_keys
from everalign.methods.evidence.adjacency import BoolArray, FloatArray
from everalign.methods.evidence.assignment import refresh_selection
from everalign.methods.evidence.candidate_store import (
    LITERAL_ROW_COLUMNS,
    ROW_COLUMNS,
    Pairs,
    SideIndex,
    mark_members,
)
from everalign.methods.evidence.candidates import CandidateTable
from everalign.methods.evidence.classifier import TrainedModels
from everalign.methods.evidence.dangling import combine_confidence, estimate_new_share
from everalign.methods.evidence.features import FeatureInputs, count_edges
from everalign.methods.evidence.grounding import NO_LEVEL
from everalign.methods.evidence.incremental_state import (
    LEFT,
    RIGHT,
    EntityIds,
    FactChange,
    IncrementalState,
    PriorShares,
)
from everalign.methods.evidence.neighbourhood import (
    JOINT_FREQUENCY,
    NEIGHBOUR_COLUMNS,
    SUPPORT,
    compare_neighbourhoods,
)
from everalign.methods.evidence.propagation import search_candidates
from everalign.methods.evidence.relations import Matches, RelationInclusions

NO_IDS = np.empty(0, dtype=np.int64)
PAIR_WIDTH = 1 << 31  # more than any id: a pair as one number


@dataclass(frozen=True)
class AlignmentChange:
    """What an update brings.

    Attributes:
        facts: What the left and the right graph gain and lose.
        anchors: All trusted links, as rows of (left, right).
        rejected: All rejected pairs.
        excluded: All left and right entities that have no counterpart by decision.
    """

    facts: tuple[FactChange, FactChange]
    anchors: IntArray
    rejected: IntArray
    excluded: tuple[IntArray, IntArray]


class ScoredRows(NamedTuple):
    """Candidates after a round, with their match probabilities before and after it."""

    pairs: Pairs
    before: FloatArray
    after: FloatArray


def update_graphs(state: IncrementalState, change: AlignmentChange) -> EntityIds:
    """Bring graphs, trusted links and decisions in line with a change.

    Args:
        state: The alignment; changed, except for candidates and matches.
        change: What the update brings.

    Returns:
        Left and right entities whose facts, trusted links or decisions have changed.
    """
    nodes = state.change_facts(change.facts)
    relinked = _list_changed_pairs(state.anchors, change.anchors)
    excluded = [np.setxor1d(*ids) for ids in zip(state.excluded, change.excluded, strict=True)]
    state.change_links(change.anchors, change.rejected, change.excluded)
    left, right = (
        np.unique(
            np.concatenate(
                [
                    nodes[side][nodes[side] < state.adjacency[side].literal_offset],
                    relinked[:, side],
                    excluded[side],
                ]
            )
        )
        for side in (LEFT, RIGHT)
    )
    return left, right


def apply_change(state: IncrementalState, change: AlignmentChange) -> EntityIds:
    """Bring everything in line with a change, before anything is scored.

    Args:
        state: The alignment; changed.
        change: What the update brings.

    Returns:
        Left and right entities that have to be compared again.
    """
    relinked = _list_changed_pairs(state.anchors, change.anchors)
    rejected = _list_new_pairs(state.rejected, change.rejected)
    doubtful = update_graphs(state, change)
    lost = state.update_searchable(doubtful)
    is_candidate = state.candidates.find_rows(rejected[:, LEFT], rejected[:, RIGHT]) >= 0
    lost_matches = state.drop_candidates(lost, rejected)
    state.refresh_matches(
        np.concatenate([lost_matches[LEFT], doubtful[LEFT]]),
        np.concatenate([lost_matches[RIGHT], doubtful[RIGHT]]),
    )
    state.settle_sums()
    affected = []
    for side in (LEFT, RIGHT):
        # Neighbours of a pair that has begun or ceased to be a match see another match.
        centres = np.concatenate([relinked[:, side], lost_matches[side]])
        neighbours = state.find_neighbours(side, centres)
        parts = doubtful[side], neighbours, rejected[is_candidate, side]
        affected.append(np.unique(np.concatenate(parts)))
    return affected[LEFT], affected[RIGHT]


def spread_change(
    state: IncrementalState,
    models: TrainedModels,
    affected: EntityIds,
    progress: Progress,
) -> None:
    """Score affected entities again, and those that are affected by the result.

    Args:
        state: The alignment; changed.
        models: The trained models.
        affected: Left and right entities to begin with.
        progress: Called after each round.
    """
    config, inclusions = state.config, state.inclusions
    # Before the rounds: matches that rest on each other alone would keep each other alive.
    affected = _include_ungrounded(state, inclusions, affected)
    rounds = config.spreading_rounds
    moved: list[Offsets] = [NO_IDS]
    for number in range(rounds + config.retraction_rounds):
        progress("spreading", min(number, rounds), rounds)
        if not any(map(len, affected)):
            break
        scored = _score_again(state, models, inclusions, affected)
        change = scored.after - scored.before
        moved.append(scored.pairs.left[change != 0])
        # After these rounds only falling ones go on: nothing may outlive what it rested on.
        size = np.abs(change) if number + 1 < rounds else -change
        spreading = size >= config.min_probability_change
        affected = (
            state.find_neighbours(LEFT, scored.pairs.left[spreading]),
            state.find_neighbours(RIGHT, scored.pairs.right[spreading]),
        )
    # Once more: the rounds may have taken the last grounds of a group of matches.
    centres = np.unique(np.concatenate(moved))
    state.drop_ungrounded(inclusions, np.union1d(centres, state.find_neighbours(LEFT, centres)))
    state.settle_sums()


def _include_ungrounded(
    state: IncrementalState, inclusions: RelationInclusions, affected: EntityIds
) -> EntityIds:
    # Where a right entity has lost facts, it is the matches with it that may be lost.
    of_right = state.candidates.find_lefts(affected[RIGHT])
    ungrounded = state.drop_ungrounded(inclusions, np.union1d(affected[LEFT], of_right))
    if not len(ungrounded[LEFT]):
        return affected
    left, right = (
        np.unique(
            np.concatenate(
                [affected[side], ungrounded[side], state.find_neighbours(side, ungrounded[side])]
            )
        )
        for side in (LEFT, RIGHT)
    )
    return left, right


def _score_again(
    state: IncrementalState,
    models: TrainedModels,
    inclusions: RelationInclusions,
    affected: EntityIds,
) -> ScoredRows:
    """Search, compare and score the candidates of affected entities."""
    store = state.candidates
    found = _search_both_sides(state, inclusions, affected)
    width = len(store.by_right.start)
    owners = np.unique(
        np.concatenate([affected[LEFT], store.find_lefts(affected[RIGHT]), found // width])
    )
    old = store.list_pairs(owners)
    probability = store.column("probability")[old.row]
    # The search keeps few candidates for each entity. One that is probable must not be lost
    # because others have gained support: the classifier decides between them.
    is_hit = mark_members(affected[LEFT], old.left) | mark_members(affected[RIGHT], old.right)
    keep = ~is_hit | (probability >= state.config.forget_probability)
    old_keys = old.left * width + old.right
    keys = np.union1d(old_keys[keep], found)
    left, right = np.divmod(keys, width)
    place = np.searchsorted(old_keys, keys)
    is_old = mark_members(old_keys, keys)
    fresh = np.flatnonzero(
        mark_members(affected[LEFT], left) | mark_members(affected[RIGHT], right) | ~is_old
    )
    columns = _take_columns(state, old.row, place, is_old)
    comparison = compare_neighbourhoods(
        state.graphs,
        state.matches.view,
        inclusions,
        left[fresh].astype(np.int32),
        right[fresh].astype(np.int32),
    )
    columns["support"][fresh] = comparison[LEFT][:, SUPPORT]
    columns["joint_frequency_left"][fresh] = comparison[LEFT][:, JOINT_FREQUENCY]
    columns["joint_frequency_right"][fresh] = comparison[RIGHT][:, JOINT_FREQUENCY]
    new = store.replace_blocks(old, owners, left, right, columns)
    features = _compute_features(state, left[fresh], right[fresh], comparison)
    before = columns["probability"]
    after = before.copy()
    after[fresh] = models.classifier.predict(features)
    # Without any evidence: the classifier has never been trained on such pairs.
    after[fresh[comparison[LEFT][:, SUPPORT] <= 0]] = 0
    store.column("probability")[new.row] = after
    store.column("dangling")[new.row[fresh]] = models.dangling_classifier.predict(features)
    is_match = np.maximum(before, after) >= state.config.min_match_probability
    begins = (before < state.config.min_match_probability) & is_match
    store.column("level")[new.row[begins]] = NO_LEVEL
    changed = is_match & (before != after)
    state.refresh_matches(left[changed], right[changed])
    return ScoredRows(new, before, after)


def _search_both_sides(
    state: IncrementalState, inclusions: RelationInclusions, affected: EntityIds
) -> Offsets:
    """Search the candidates of affected entities; returns pairs as numbers, ascending."""
    graphs, matches, config = state.graphs, state.matches.view, state.config
    width = len(state.candidates.by_right.start)
    wanted = [
        ids[state.searchable[side][ids]].astype(np.int32) for side, ids in enumerate(affected)
    ]
    limits = config.max_candidates, config.min_evidence_weight
    rejected = [_index_rejected(state, side) for side in (LEFT, RIGHT)]
    left, right, _ = search_candidates(
        graphs.left, graphs.right, matches.left, inclusions.left, wanted[LEFT],
        state.searchable[RIGHT], rejected[LEFT], *limits,
    )  # fmt: skip
    right2, left2, _ = search_candidates(
        graphs.right, graphs.left, matches.right, inclusions.right, wanted[RIGHT],
        state.searchable[LEFT], rejected[RIGHT], *limits,
    )  # fmt: skip
    keys = np.concatenate([left, left2]).astype(np.int64) * width
    return np.unique(keys + np.concatenate([right, right2]))


def _index_rejected(state: IncrementalState, side: int) -> Matches:
    """The rejected counterparts of the nodes of one side."""
    pairs = state.rejected[np.argsort(state.rejected[:, side], kind="stable")]
    # Zeros that nobody looks at cost nothing.
    start, stop = (np.zeros(len(state.searchable[side]), dtype=np.int64) for _ in range(2))
    ids, first, count = np.unique(pairs[:, side], return_index=True, return_counts=True)
    start[ids], stop[ids] = first, first + count
    counterpart = np.ascontiguousarray(pairs[:, 1 - side], dtype=np.int32)
    return Matches(start, stop, counterpart, np.ones(len(pairs), dtype=np.float32))


def _take_columns(
    state: IncrementalState, rows: Offsets, place: Offsets, is_old: BoolArray
) -> dict[str, NDArray[Any]]:
    """What is known of old candidates, in the order of the new ones."""
    store = state.candidates
    columns = {}
    for name, dtype in {**ROW_COLUMNS, **LITERAL_ROW_COLUMNS}.items():
        if name in store.rows.names():
            columns[name] = np.zeros(len(is_old), dtype=dtype)
            columns[name][is_old] = store.column(name)[rows[place[is_old]]]
    columns["level"][~is_old] = NO_LEVEL
    return columns


def _compute_features(
    state: IncrementalState,
    left: Offsets,
    right: Offsets,
    comparison: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Compute the features of candidates from all candidates that share an entity with them."""
    store = state.candidates
    pairs = store.list_touching(np.unique(left), np.unique(right))
    width = len(store.by_right.start)
    chosen = np.searchsorted(pairs.left * width + pairs.right, left * width + right)
    # Numbered anew in the same order, so that ties break alike.
    left_ids, local_left = np.unique(pairs.left, return_inverse=True)
    right_ids, local_right = np.unique(pairs.right, return_inverse=True)
    sides = []
    for side, name in ((LEFT, "joint_frequency_left"), (RIGHT, "joint_frequency_right")):
        rows = np.zeros((len(pairs.row), len(NEIGHBOUR_COLUMNS)), dtype=np.float32)
        rows[:, SUPPORT] = store.column("support")[pairs.row]
        rows[:, JOINT_FREQUENCY] = store.column(name)[pairs.row]
        rows[chosen] = comparison[side]
        sides.append(rows)
    graphs = state.graphs
    inputs = FeatureInputs(
        CandidateTable.from_pairs(local_left, local_right, (len(left_ids), len(right_ids))),
        (sides[LEFT], sides[RIGHT]),
        store.column("probability")[pairs.row],
        (count_edges(graphs.left, pairs.left), count_edges(graphs.right, pairs.right)),
    )
    return inputs.compute_features(chosen)


class RowChanges(NamedTuple):
    """Which candidates an update has changed.

    Attributes:
        pairs: Candidates that are new or of which anything is new.
        dropped: Rows of (left, right) that are no longer candidates.
    """

    pairs: Pairs
    dropped: NDArray[np.int64]

    @staticmethod
    def compare(
        state: IncrementalState, owners: Offsets, old_blocks: SideIndex, new: Pairs
    ) -> RowChanges:
        """Compare rewritten blocks with what they were.

        Args:
            state: The alignment.
            owners: Left entities whose blocks were rewritten.
            old_blocks: Where the blocks were before.
            new: The candidates that they have now.

        Returns:
            What has changed.
        """
        store, numbers = state.candidates, np.arange(len(owners))
        row = list_block_rows(*old_blocks, numbers)
        left = owners[repeat_keys(*old_blocks, numbers)]
        right = store.rows["right"][row].astype(np.int64)
        width = len(store.by_right.start)
        old_keys, new_keys = left * width + right, new.left * width + new.right
        is_old = mark_members(old_keys, new_keys)
        same = np.flatnonzero(is_old)
        old_row, new_row = row[np.searchsorted(old_keys, new_keys[same])], new.row[same]
        is_changed = ~is_old
        for name in list_saved_columns(state):
            values = store.column(name)
            differs = values[old_row] != values[new_row]
            # What is missing stays missing: NaN differs from itself.
            is_changed[same] |= differs & ~(
                (values[old_row] != values[old_row]) & (values[new_row] != values[new_row])
            )
        gone = ~mark_members(new_keys, old_keys)
        return RowChanges(
            Pairs(*(column[is_changed] for column in new)),
            np.stack([left[gone], right[gone]], axis=1),
        )


def list_saved_columns(state: IncrementalState) -> list[str]:
    """List the columns of candidates that cannot be derived from others.

    Args:
        state: The alignment.

    Returns:
        Their names.
    """
    return [name for name in state.candidates.rows.names() if name not in ("right", "selected")]


class LinkChanges(NamedTuple):
    """The entities whose links may have changed, and all pairs that are selected for them.

    Attributes:
        left: Left entities, ascending.
        right: Right entities, ascending.
        pairs: The selected candidates with one of them.
        confidence: Confidence of each.
    """

    left: Offsets
    right: Offsets
    pairs: Pairs
    confidence: FloatArray


def conclude_update(
    state: IncrementalState, models: TrainedModels, shares: PriorShares
) -> tuple[LinkChanges, PriorShares, RowChanges]:
    """Compute confidence where candidates have changed, and select one-to-one again.

    Args:
        state: The alignment; changed.
        models: Gives what is known of entities without a candidate.
        shares: The prior of each group of entities.

    Returns:
        What has changed for links, the prior with a group for the new entities, and the candidates
        that have changed.
    """
    store = state.candidates
    owners, old_blocks = store.history.collect()
    for side in (LEFT, RIGHT):
        shares = _add_share(state, models, shares, side)
    new = store.list_pairs(owners)
    left_share, left_later = shares.look_up(LEFT, new.left)
    right_share, right_later = shares.look_up(RIGHT, new.right)
    store.column("confidence")[new.row] = combine_confidence(
        store.column("probability")[new.row],
        store.column("dangling")[new.row],
        (left_share, right_share),
        left_later & right_later,
    )
    changes = RowChanges.compare(state, owners, old_blocks, new)
    return select_changed(state, changes), shares, changes


def select_changed(state: IncrementalState, changes: RowChanges) -> LinkChanges:
    """Select one-to-one again after candidates have changed.

    Args:
        state: The alignment; its column `selected` is changed.
        changes: The candidates that have changed.

    Returns:
        What has changed for links.
    """
    store, dropped = state.candidates, changes.dropped
    # All candidates of these entities: a better or a lost rival decides about the others.
    left, right = (
        np.unique(np.concatenate([changes.pairs[1 + side], dropped[:, side]]))
        for side in (LEFT, RIGHT)
    )
    flipped = refresh_selection(store, store.list_touching(left, right))
    is_selected = store.column("selected")
    kept = is_selected[changes.pairs.row]
    left, right = (
        np.unique(
            np.concatenate([flipped[1 + side], changes.pairs[1 + side][kept], dropped[:, side]])
        )
        for side in (LEFT, RIGHT)
    )
    pairs = store.list_touching(left, right)
    pairs = Pairs(*(column[is_selected[pairs.row]] for column in pairs))
    return LinkChanges(left, right, pairs, store.column("confidence")[pairs.row])


def _add_share(
    state: IncrementalState, models: TrainedModels, shares: PriorShares, side: int
) -> PriorShares:
    """Estimate how many of the entities that came with this update have a counterpart."""
    first, end = state.known_counts[side], state.adjacency[side].entity_count
    if first == end:
        return shares
    store, entities = state.candidates, np.arange(first, end)
    entities = entities[state.searchable[side][entities]]
    pairs = store.list_touching(*((entities, NO_IDS) if side == LEFT else (NO_IDS, entities)))
    entity, probability = pairs[1 + side], store.column("probability")[pairs.row]
    # The best candidate stands for its entity; the first one of several.
    order = np.lexsort((-probability, entity))
    best = order[np.searchsorted(entity[order], np.unique(entity))]
    dangling = np.full(end - first, models.no_candidate_dangling, dtype=np.float32)
    dangling[entity[best] - first] = store.column("dangling")[pairs.row[best]]
    dangling = dangling[entities - first]
    share = estimate_new_share(dangling, float(shares.share[side][-1]), state.config)
    return shares.append(side, first, share)


def _list_changed_pairs(before: IntArray, after: IntArray) -> NDArray[np.int64]:
    """The pairs that are in one of two lists."""
    keys = np.setxor1d(_number_pairs(before), _number_pairs(after))
    return np.stack(np.divmod(keys, PAIR_WIDTH), axis=1)


def _list_new_pairs(before: IntArray, after: IntArray) -> NDArray[np.int64]:
    """The pairs that are in the second list only."""
    keys = np.setdiff1d(_number_pairs(after), _number_pairs(before))
    return np.stack(np.divmod(keys, PAIR_WIDTH), axis=1)


def _number_pairs(pairs: IntArray) -> Offsets:
    return pairs[:, 0].astype(np.int64) * PAIR_WIDTH + pairs[:, 1]
