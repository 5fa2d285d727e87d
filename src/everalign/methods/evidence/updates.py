"""Updates: after a change, only what it affects is compared and scored again.

Facts that are added or removed affect their entities. Where the match probability of a pair
changes by it, its neighbours are affected in turn, and so on until nothing changes or the rounds
are over. Falling probabilities go on after that: nothing may outlive what it rested on. Models,
threshold and the shares of entities that have a counterpart stay as the last training left them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._progress import Progress
from everalign.graph import AttributeTriples, Graph, IntArray, select_new_rows
from everalign.graph.growing import Offsets, list_block_rows, repeat_keys
from everalign.graph.id_sets import mark_members, subtract_ids, union_ids, unique_ids
from everalign.literals import LiteralMatches
from everalign.literals.index import NewLiterals
from everalign.methods.base import AlignmentTask, GraphChange
from everalign.methods.evidence.adjacency import FloatArray
from everalign.methods.evidence.adjacency_updates import GrowingAdjacency
from everalign.methods.evidence.assignment import refresh_selection
from everalign.methods.evidence.candidate_store import CandidateStore, Pairs, SideIndex
from everalign.methods.evidence.candidates import CandidateTable, select_pairs
from everalign.methods.evidence.classifier import TrainedModels
from everalign.methods.evidence.dangling import (
    LinkConfidence,
    combine_confidence,
    compute_link_confidence,
    estimate_new_share,
    soften_fall,
)
from everalign.methods.evidence.grounding import NO_LEVEL
from everalign.methods.evidence.incremental_state import (
    LEFT,
    RIGHT,
    EntityIds,
    FactChange,
    IncrementalState,
    PriorShares,
)
from everalign.methods.evidence.link_rates import compute_link_rates
from everalign.methods.evidence.losses import LossCauses, explain_update
from everalign.methods.evidence.propagation import GraphPair, Vectors
from everalign.methods.evidence.relations import RelationInclusions
from everalign.methods.evidence.rescoring import Rescoring

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
        literals: Left and right literals of added facts.
    """

    facts: tuple[FactChange, FactChange]
    anchors: IntArray
    rejected: IntArray
    excluded: tuple[IntArray, IntArray]
    literals: tuple[NewLiterals, NewLiterals]


class ChangedEntities(NamedTuple):
    """The left and right entities that a change concerns.

    Attributes:
        affected: Those that have to be compared again.
        renamed: Those whose literals have changed.
    """

    affected: EntityIds
    renamed: EntityIds


def change_decisions(state: IncrementalState, change: AlignmentChange) -> EntityIds:
    """Bring trusted links and decisions in line with a change.

    Args:
        state: The alignment; changed, except for candidates and matches.
        change: What the update brings.

    Returns:
        Left and right entities whose trusted links or decisions have changed.
    """
    relinked = _list_changed_pairs(state.anchors, change.anchors)
    excluded = [np.setxor1d(*ids) for ids in zip(state.excluded, change.excluded, strict=True)]
    state.change_links(change.anchors, change.rejected, change.excluded)
    left, right = (
        unique_ids(np.concatenate([relinked[:, side], excluded[side]])) for side in (LEFT, RIGHT)
    )
    return left, right


def list_doubtful(state: IncrementalState, nodes: EntityIds, decided: EntityIds) -> EntityIds:
    """List the entities whose matches a change can have ended.

    Args:
        state: The alignment.
        nodes: Left and right nodes whose edges have changed.
        decided: Left and right entities whose trusted links or decisions have changed.

    Returns:
        Left and right entities of either kind.
    """
    left, right = (
        union_ids(nodes[side][nodes[side] < state.adjacency[side].literal_offset], decided[side])
        for side in (LEFT, RIGHT)
    )
    return left, right


def apply_change(
    state: IncrementalState, change: AlignmentChange
) -> tuple[ChangedEntities, LiteralMatches]:
    """Bring everything in line with a change, before anything is scored.

    Args:
        state: The alignment; changed.
        change: What the update brings.

    Returns:
        The entities that it concerns, and the matches of new literals.
    """
    relinked = _list_changed_pairs(state.anchors, change.anchors)
    rejected = _list_new_pairs(state.rejected, change.rejected)
    if not any(state.config.cardinality.unique_sides):
        # The entities of a trusted link stay candidates, the pair does not.
        trusted = _list_new_pairs(state.anchors, change.anchors)
        rejected = np.concatenate([rejected, trusted])
    nodes = state.change_facts(change.facts)
    decided = change_decisions(state, change)
    doubtful = list_doubtful(state, nodes, decided)
    literal_matches = _add_literals(state, change)
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
        hubs = _list_steady_hubs(state, change.facts[side], side)
        own = subtract_ids(doubtful[side], hubs)
        parts = own, decided[side], neighbours, rejected[is_candidate, side]
        affected.append(unique_ids(np.concatenate(parts)))
    renamed = [_list_renamed(state, change, side) for side in (LEFT, RIGHT)]
    changed = ChangedEntities((affected[LEFT], affected[RIGHT]), (renamed[LEFT], renamed[RIGHT]))
    return changed, literal_matches


def _add_literals(state: IncrementalState, change: AlignmentChange) -> LiteralMatches:
    """Match new literals; returns their matches."""
    if state.literals is None or not any(len(new.ids) for new in change.literals):
        return LiteralMatches.empty()
    added = state.literals.add_literals(*change.literals)
    state.literals = added.index
    state.add_literal_matches(added.matches)
    return added.matches


def _list_steady_hubs(state: IncrementalState, change: FactChange, side: int) -> Offsets:
    """The entities with so many facts that those which they gain hardly matter; they lose none."""
    nodes, gained = np.unique(change.added[:, [0, 2]], return_counts=True)
    start, stop = (state.adjacency[side].nodes[name][nodes] for name in ("start", "stop"))
    is_steady = gained < state.config.min_new_fact_share * (stop - start)
    return subtract_ids(nodes[is_steady], unique_ids(change.removed[:, [0, 2]].ravel()))


def _list_renamed(state: IncrementalState, change: AlignmentChange, side: int) -> Offsets:
    """The entities whose literals change."""
    rows = np.concatenate([change.facts[side].added, change.facts[side].removed])
    is_literal = rows[:, 2] >= state.adjacency[side].literal_offset
    return unique_ids(rows[is_literal, 0]).astype(np.int64)


def spread_change(
    state: IncrementalState,
    models: TrainedModels,
    changed: ChangedEntities,
    progress: Progress,
    vectors: Vectors | None = None,
) -> None:
    """Score affected entities again, and those that are affected by the result.

    Args:
        state: The alignment; changed.
        models: The trained models.
        changed: The entities to begin with.
        progress: Called after each round.
        vectors: Unit vectors of the entities, if there are any.
    """
    config, inclusions = state.config, state.inclusions
    rescoring = Rescoring(state, models, inclusions, changed.renamed, vectors)
    # Before the rounds: matches that rest on each other alone would keep each other alive.
    entities = _include_ungrounded(state, inclusions, changed.affected)
    rounds = config.spreading_rounds
    moved: list[Offsets] = [NO_IDS]
    for number in range(rounds + config.retraction_rounds):
        progress("spreading", min(number, rounds), rounds)
        if not any(map(len, entities)):
            break
        scored = rescoring.score_again(entities)
        change = scored.after - scored.before
        moved.append(scored.pairs.left[change != 0])
        # After these rounds only falling ones go on: nothing may outlive what it rested on.
        size = np.abs(change) if number + 1 < rounds else -change
        spreading = size >= config.min_spreading_change
        entities = (
            state.find_neighbours(LEFT, scored.pairs.left[spreading]),
            state.find_neighbours(RIGHT, scored.pairs.right[spreading]),
        )
    # Once more: the rounds may have taken the last grounds of a group of matches.
    centres = unique_ids(np.concatenate(moved))
    state.drop_ungrounded(inclusions, union_ids(centres, state.find_neighbours(LEFT, centres)))
    state.settle_sums()


def settle_training(
    state: IncrementalState, models: TrainedModels, progress: Progress, vectors: Vectors | None
) -> None:
    """Drop the matches of a training that rest on one another alone, and what rested on them.

    Without it, the first update that comes near them would have to.

    Args:
        state: The alignment after a training; changed.
        models: The trained models.
        progress: Called after each round.
        vectors: Unit vectors of the entities, if there are any.
    """
    pairs = state.candidates.list_all()
    ungrounded = (state.candidates.column("level")[pairs.row] == NO_LEVEL) & (
        state.candidates.column("probability")[pairs.row] >= state.config.min_match_probability
    )
    nothing = NO_IDS, NO_IDS
    affected = unique_ids(pairs.left[ungrounded]), NO_IDS
    spread_change(state, models, ChangedEntities(affected, nothing), progress, vectors)


def _include_ungrounded(
    state: IncrementalState, inclusions: RelationInclusions, affected: EntityIds
) -> EntityIds:
    # Where a right entity has lost facts, it is the matches with it that may be lost.
    of_right = state.candidates.find_lefts(affected[RIGHT])
    ungrounded = state.drop_ungrounded(inclusions, union_ids(affected[LEFT], of_right))
    if not len(ungrounded[LEFT]):
        return affected
    left, right = (
        unique_ids(
            np.concatenate(
                [affected[side], ungrounded[side], state.find_neighbours(side, ungrounded[side])]
            )
        )
        for side in (LEFT, RIGHT)
    )
    return left, right


def conclude_training(
    state: IncrementalState,
    models: TrainedModels | None,
    entity_counts: NDArray[np.int64],
    graphs: GraphPair,
    before: CandidateStore | None,
    *,
    is_full: bool,
) -> LinkConfidence:
    """Compute the confidence of all candidates, and select by the cardinality.

    Args:
        state: The alignment after a training; changed.
        models: The trained models; None if match probabilities come from propagation alone.
        entity_counts: Numbers of left and right entities at each training so far.
        graphs: The graphs of the training.
        before: The candidates before the training, if there were any.
        is_full: Whether this is a full pass.

    Returns:
        Confidence, threshold and shares; the confidence is that of the training alone.
    """
    store = state.candidates
    if before is not None:
        store.keep_earlier(before, state.config.min_kept_evidence, is_full=is_full)
    pairs = store.list_all()
    table = CandidateTable.from_pairs(pairs.left, pairs.right, graphs.sizes)
    result = compute_link_confidence(
        graphs,
        table,
        store.column("probability")[pairs.row],
        store.column("dangling")[pairs.row],
        entity_counts,
        models,
    )
    earlier = store.get_earlier_confidence(pairs.row)
    confidence = soften_fall(result.confidence, earlier, state.config)
    store.column("confidence")[pairs.row] = confidence
    selected = select_pairs(table, confidence, graphs.config.cardinality)
    store.column("selected")[pairs.row[selected]] = True
    return result


def compare_facts(
    adjacency: GrowingAdjacency, graph: Graph, attributes: AttributeTriples
) -> GraphChange:
    """Find out what a graph has gained and lost by comparing all its facts.

    Args:
        adjacency: The graph before.
        graph: The graph now.
        attributes: Its literals now.

    Returns:
        The difference.
    """
    before = adjacency.list_facts(np.arange(adjacency.entity_count))
    is_literal = before[:, 2] >= adjacency.literal_offset
    literals_before = adjacency.unnumber_literals(before[is_literal])
    added_literals = select_new_rows(literals_before, attributes.triples)
    return GraphChange(
        select_new_rows(before[~is_literal], graph.triples),
        select_new_rows(graph.triples, before[~is_literal]),
        added_literals,
        select_new_rows(attributes.triples, literals_before),
        {literal: attributes.literals[literal] for literal in added_literals[:, 2].tolist()},
    )


def change_lists(
    state: IncrementalState, task: AlignmentTask
) -> tuple[IntArray, IntArray, tuple[IntArray, IntArray]]:
    """Bring the lists of trusted links and decisions up to date.

    Args:
        state: The alignment, with the lists as they were.
        task: Says what has changed, or has all of them.

    Returns:
        All trusted links, all rejected pairs, and all left and right entities that have no
        counterpart by decision.
    """
    change = task.decision_changes
    if change is None:
        anchors = np.concatenate([task.seeds, task.validation])
        return anchors, task.rejected, task.unaligned_entities
    left, right = (
        union_ids(
            subtract_ids(state.excluded[side], change.alignable[side]), change.unaligned[side]
        )
        for side in (LEFT, RIGHT)
    )
    return (
        _replace_pairs(state.anchors, change.untrusted, change.trusted),
        _replace_pairs(state.rejected, change.admitted, change.rejected),
        (left.astype(np.int32), right.astype(np.int32)),
    )


def _replace_pairs(pairs: IntArray, removed: IntArray, added: IntArray) -> IntArray:
    if not len(removed) and not len(added):
        return pairs
    gone = np.concatenate([_number_pairs(removed), _number_pairs(added)])
    # Those that are added and known are moved to the end, which makes no difference.
    return np.concatenate([pairs[~np.isin(_number_pairs(pairs), gone)], added]).astype(np.int32)


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

    def include(self, pairs: Pairs) -> RowChanges:
        """Add candidates that have changed as well.

        Args:
            pairs: Candidates, also more than once.

        Returns:
            All changes.
        """
        row, place = np.unique(np.concatenate([self.pairs.row, pairs.row]), return_index=True)
        left, right = (np.concatenate([self.pairs[side], pairs[side]])[place] for side in (1, 2))
        return RowChanges(Pairs(row, left, right), self.dropped)


def list_saved_columns(state: IncrementalState) -> list[str]:
    """List the columns of candidates that are saved when one of them has changed.

    Args:
        state: The alignment.

    Returns:
        Their names.
    """
    return [name for name in state.candidates.rows.names() if name != "right"]


class LinkChanges(NamedTuple):
    """The entities whose links may have changed, and all pairs that are selected for them.

    Attributes:
        left: Left entities, ascending.
        right: Right entities, ascending.
        pairs: The selected candidates with one of them.
        confidence: Confidence of each.
        losses: The causes of links that the update has ended.
    """

    left: Offsets
    right: Offsets
    pairs: Pairs
    confidence: FloatArray
    losses: LossCauses


def conclude_update(
    state: IncrementalState, models: TrainedModels, shares: PriorShares, threshold: float
) -> tuple[LinkChanges, PriorShares, RowChanges]:
    """Compute confidence where candidates have changed, and select again.

    Args:
        state: The alignment; changed.
        models: Gives what is known of entities without a candidate.
        shares: The prior of each group of entities.
        threshold: The confidence from which candidates are links.

    Returns:
        What has changed for links, the prior with a group for the new entities, and the candidates
        that have changed.
    """
    store = state.candidates
    owners, old_blocks = store.history.collect()
    if any(
        state.known_counts[side] < state.adjacency[side].entity_count for side in (LEFT, RIGHT)
    ):
        # On both sides, even if it is empty on one: numbers of groups are the order of arrival.
        for side in (LEFT, RIGHT):
            shares = _add_share(state, models, shares, side)
    new = store.list_pairs(owners)
    left_share, left_group = shares.look_up(LEFT, new.left)
    right_share, right_group = shares.look_up(RIGHT, new.right)
    left_rate, right_rate = (
        compute_link_rates(state.adjacency[side].view, models.relation_rates[side], new[1 + side])
        for side in (LEFT, RIGHT)
    )
    confidence = combine_confidence(
        models.calibration.apply(store.column("probability")[new.row]),
        store.column("dangling")[new.row],
        (left_share, right_share),
        (left_rate, right_rate),
        np.sign(left_group - right_group),
    )
    earlier = store.get_earlier_confidence(new.row)
    store.column("confidence")[new.row] = soften_fall(confidence, earlier, state.config)
    changes = RowChanges.compare(state, owners, old_blocks, new)
    chosen, flipped = _select_changed(state, changes)
    losses = explain_update(state, owners, old_blocks, threshold)
    links = LinkChanges(*chosen, losses)
    return links, shares, changes.include(flipped)


def _select_changed(
    state: IncrementalState, changes: RowChanges
) -> tuple[tuple[Offsets, Offsets, Pairs, FloatArray], Pairs]:
    """Select again; returns what has changed for links, and for the selection."""
    store, dropped = state.candidates, changes.dropped
    # All candidates of these entities: a better or a lost rival decides about the others.
    left, right = (
        unique_ids(np.concatenate([changes.pairs[1 + side], dropped[:, side]]))
        for side in (LEFT, RIGHT)
    )
    flipped = refresh_selection(store, store.list_touching(left, right), state.config.cardinality)
    is_selected = store.column("selected")
    kept = is_selected[changes.pairs.row]
    left, right = (
        unique_ids(
            np.concatenate([flipped[1 + side], changes.pairs[1 + side][kept], dropped[:, side]])
        )
        for side in (LEFT, RIGHT)
    )
    pairs = store.list_touching(left, right)
    pairs = Pairs(*(column[is_selected[pairs.row]] for column in pairs))
    return (left, right, pairs, store.column("confidence")[pairs.row]), flipped


def _add_share(
    state: IncrementalState, models: TrainedModels, shares: PriorShares, side: int
) -> PriorShares:
    """Estimate how many of the entities that came with this update have a counterpart."""
    first, end = state.known_counts[side], state.adjacency[side].entity_count
    previous_share = float(shares.share[side][-1])
    if first == end:
        return shares.append(side, first, previous_share)
    store, entities = state.candidates, np.arange(first, end)
    entities = entities[state.searchable[side][entities]]
    pairs = store.list_touching(*((entities, NO_IDS) if side == LEFT else (NO_IDS, entities)))
    entity, probability = pairs[1 + side], store.column("probability")[pairs.row]
    # The best candidate stands for its entity; the first one of several.
    order = np.lexsort((-probability, entity))
    best = order[np.searchsorted(entity[order], unique_ids(entity))]
    dangling = np.full(end - first, models.no_candidate_dangling[1], dtype=np.float32)
    dangling[entity[best] - first] = store.column("dangling")[pairs.row[best]]
    dangling = dangling[entities - first]
    rate = compute_link_rates(state.adjacency[side].view, models.relation_rates[side], entities)
    share = estimate_new_share(dangling, rate, previous_share, state.config)
    return shares.append(side, first, share)


def _list_changed_pairs(before: IntArray, after: IntArray) -> NDArray[np.int64]:
    """The pairs that are in one of two lists."""
    if after is before:
        # There may be very many trusted links, and most updates change none.
        return np.empty((0, 2), dtype=np.int64)
    keys = np.setxor1d(_number_pairs(before), _number_pairs(after))
    return np.stack(np.divmod(keys, PAIR_WIDTH), axis=1)


def _list_new_pairs(before: IntArray, after: IntArray) -> NDArray[np.int64]:
    """The pairs that are in the second list only."""
    if after is before:
        return np.empty((0, 2), dtype=np.int64)
    keys = subtract_ids(_number_pairs(after), _number_pairs(before))
    return np.stack(np.divmod(keys, PAIR_WIDTH), axis=1)


def _number_pairs(pairs: IntArray) -> Offsets:
    return pairs[:, 0].astype(np.int64) * PAIR_WIDTH + pairs[:, 1]
