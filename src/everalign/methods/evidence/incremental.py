"""Incremental computation: after a change, only affected entities are compared again.

Triples that are added or removed affect their two entities. Where the match probability of a pair
changes by it, its neighbours are affected in turn, and so on until nothing changes or the rounds
are over. Falling probabilities go on after that: nothing may outlive what it rested on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from everalign._numba import jit_cached
from everalign._progress import Progress
from everalign.graph import IntArray
from everalign.methods.base import AlignmentTask
from everalign.methods.evidence.adjacency import Adjacency, BoolArray, FloatArray, find_first
from everalign.methods.evidence.candidates import CandidateTable, MatchProbabilities
from everalign.methods.evidence.classifier import TrainedModels, classify_refreshed
from everalign.methods.evidence.dangling import MatchState
from everalign.methods.evidence.features import (
    ComparedCandidates,
    compare_all_literals,
    train_translations,
)
from everalign.methods.evidence.neighbourhood import (
    JOINT_FREQUENCY,
    LITERAL_WEIGHT,
    NEIGHBOUR_COLUMNS,
    SUPPORT,
    compare_neighbourhoods,
)
from everalign.methods.evidence.propagation import (
    GraphPair,
    find_candidates,
    select_matches,
)
from everalign.methods.evidence.relations import (
    Inclusion,
    Matches,
    RelationInclusions,
    align_relations,
    find_inclusion,
)
from everalign.methods.evidence.weights import compute_evidence_weight

Pairs = tuple[IntArray, IntArray]


class AffectedEntities(NamedTuple):
    """Which left and right entities have to be compared again."""

    left: BoolArray
    right: BoolArray

    @staticmethod
    def from_ids(sizes: tuple[int, int], left: IntArray, right: IntArray) -> AffectedEntities:
        """Mark the given entities.

        Args:
            sizes: Number of left and right entities.
            left: Ids of left entities.
            right: Ids of right entities.

        Returns:
            The marked entities.
        """
        masks = []
        for size, ids in zip(sizes, (left, right), strict=True):
            mask = np.zeros(size, dtype=np.bool_)
            mask[ids] = True
            masks.append(mask)
        return AffectedEntities(*masks)

    @staticmethod
    def from_neighbours(graphs: GraphPair, left: IntArray, right: IntArray) -> AffectedEntities:
        """Mark the neighbours of the given entities.

        Args:
            graphs: The graphs.
            left: Ids of left entities.
            right: Ids of right entities.

        Returns:
            The neighbours that these entities determine at least by `min_neighbour_functionality`.
        """
        return AffectedEntities(
            _mark_neighbours(graphs.left, left, graphs.config.min_neighbour_functionality),
            _mark_neighbours(graphs.right, right, graphs.config.min_neighbour_functionality),
        )

    def is_any(self) -> bool:
        """Tell whether any entity is affected.

        Returns:
            False if there is nothing left to compare.
        """
        return bool(self.left.any() or self.right.any())

    def union(self, other: AffectedEntities) -> AffectedEntities:
        """Unite two sets of entities.

        Args:
            other: Entities of the same graphs.

        Returns:
            The entities of either.
        """
        return AffectedEntities(self.left | other.left, self.right | other.right)

    def mark_rows(self, table: CandidateTable) -> BoolArray:
        """Mark the candidates with an affected entity.

        Args:
            table: The candidates.

        Returns:
            A mask over the rows.
        """
        return self.left[table.left] | self.right[table.right]


def _mark_neighbours(
    adjacency: Adjacency, entities: IntArray, min_functionality: float
) -> BoolArray:
    # Literals can be neighbours too; they are cut off below, since nobody compares them again.
    mask = np.zeros(adjacency.node_count, dtype=np.bool_)
    _fill_neighbours(adjacency, np.unique(entities), min_functionality, mask)
    return mask[: adjacency.entity_count]


@jit_cached()
def _fill_neighbours(
    adjacency: Adjacency, entities: IntArray, min_functionality: float, mask: BoolArray
) -> None:
    for entity in entities:
        for edge in range(adjacency.start[entity], adjacency.stop[entity]):
            if adjacency.functionality[edge] >= min_functionality:
                mask[adjacency.neighbour[edge]] = True


def find_changed_entities(
    task: AlignmentTask, old_triple_counts: tuple[int, int]
) -> AffectedEntities:
    """Find the entities whose facts have changed.

    Args:
        task: The task, which may name the changed entities.
        old_triple_counts: Number of left and right triples before.

    Returns:
        The changed entities that the task names. If it names none: those of added triples, or all
        entities if triples were removed.
    """
    graphs = task.left, task.right
    sizes = task.left.entity_count, task.right.entity_count
    if task.changed_entities is not None:
        return AffectedEntities.from_ids(sizes, *task.changed_entities)
    counts = list(zip(graphs, old_triple_counts, strict=True))
    # Triples are appended, so that the new ones are those after the old number.
    if any(len(graph.triples) < old_count for graph, old_count in counts):
        return AffectedEntities(*(np.ones(size, dtype=np.bool_) for size in sizes))
    left, right = (graph.triples[old_count:][:, [0, 2]].ravel() for graph, old_count in counts)
    return AffectedEntities.from_ids(sizes, left, right)


def find_relinked_entities(graphs: GraphPair, old_anchors: IntArray) -> AffectedEntities:
    """Find the entities of anchors that are new or gone, and their neighbours.

    Args:
        graphs: The graphs with their present anchors.
        old_anchors: The anchors before.

    Returns:
        The entities: they, or their neighbours, have gained or lost a certain match.
    """
    # Sorted, since the order of a set differs between runs.
    new, old = ({tuple(row) for row in rows.tolist()} for rows in (graphs.anchors, old_anchors))
    left, right = np.array(sorted(new ^ old), dtype=np.int32).reshape(-1, 2).T
    return AffectedEntities.from_neighbours(graphs, left, right).union(
        AffectedEntities.from_ids(graphs.sizes, left, right)
    )


def find_affected_neighbours(
    graphs: GraphPair, before: MatchProbabilities, after: MatchProbabilities
) -> AffectedEntities:
    """Find the neighbours of entities whose match probabilities have changed.

    Args:
        graphs: The graphs.
        before: Match probabilities before.
        after: Match probabilities now.

    Returns:
        The neighbours of pairs that have changed by `min_probability_change` or more.
    """
    table, change = after.table, after.probability - before.look_up(after.table)
    changed = np.abs(change) >= graphs.config.min_probability_change
    return AffectedEntities.from_neighbours(graphs, table.left[changed], table.right[changed])


def _find_weakened_neighbours(
    graphs: GraphPair, before: MatchProbabilities, after: MatchProbabilities
) -> AffectedEntities:
    """The same for pairs that have become less probable."""
    table, loss = after.table, before.look_up(after.table) - after.probability
    fallen = loss >= graphs.config.min_probability_change
    return AffectedEntities.from_neighbours(graphs, table.left[fallen], table.right[fallen])


def _find_neighbours_of_lost(graphs: GraphPair, before: MatchProbabilities) -> AffectedEntities:
    """The neighbours of matches that are no longer admissible.

    An entity was removed or got an anchor, or the pair was rejected. The entities of rejected
    pairs are affected themselves: they need another counterpart.
    """
    table = before.select_at_least(graphs.config.min_match_probability).table
    lost = ~graphs.mark_admissible(table.left, table.right)
    affected = AffectedEntities.from_neighbours(graphs, table.left[lost], table.right[lost])
    is_candidate = before.table.find_rows(*graphs.rejected.T) >= 0
    rejected = graphs.rejected[is_candidate]
    return affected.union(AffectedEntities.from_ids(graphs.sizes, *rejected.T))


def refresh_comparisons(
    old: ComparedCandidates,
    graphs: GraphPair,
    probabilities: MatchProbabilities,
    affected: AffectedEntities,
    relations: RelationInclusions | None = None,
) -> ComparedCandidates:
    """Search and compare the candidates of affected entities again.

    Args:
        old: The compared candidates so far.
        graphs: The graphs, perhaps with other anchors.
        probabilities: Current match probabilities.
        affected: Entities to be compared again.
        relations: Relation alignment to use; without it, relations are aligned again.

    Returns:
        The compared candidates of all entities. Of the affected ones, old candidates that are
        not found again stay if they are at all probable.
    """
    matches = select_matches(graphs, probabilities)
    relations = relations or align_relations(graphs.left, graphs.right, matches, graphs.config)
    wanted = affected.left & graphs.unlinked[0], affected.right & graphs.unlinked[1]
    found = find_candidates(graphs, matches, relations, *wanted)
    # The search keeps few candidates for each entity. One that is probable must not be lost
    # because others have gained support: the classifier decides between them.
    probable = probabilities.look_up(old.table) >= graphs.config.forget_probability
    keep = ~affected.mark_rows(old.table) | probable
    table = graphs.build_candidates(
        np.concatenate([old.table.left[keep], found.left]),
        np.concatenate([old.table.right[keep], found.right]),
    )
    old_rows = old.table.find_rows(table.left, table.right)
    rows = np.flatnonzero(affected.mark_rows(table) | (old_rows < 0))
    # New candidates have the old row -1, which is the appended one and is overwritten below.
    padding = np.zeros((1, len(NEIGHBOUR_COLUMNS)), np.float32)
    left, right = (np.concatenate([side, padding])[old_rows] for side in old.comparison)
    left[rows], right[rows] = compare_neighbourhoods(
        graphs, matches, relations, table.left[rows], table.right[rows]
    )
    literals = compare_all_literals(graphs, matches, relations, table, old)
    previous = probabilities.look_up(table)
    return ComparedCandidates(graphs, table, (left, right), previous, rows, literals)


def propagate_changes(
    graphs: GraphPair,
    models: TrainedModels,
    state: MatchState,
    affected: AffectedEntities,
    progress: Progress,
) -> MatchState:
    """Update the match probabilities after the facts of some entities have changed.

    Args:
        graphs: The graphs as they are now.
        models: The trained models, which stay as they are.
        state: The state before.
        affected: Entities whose facts or anchors have changed.
        progress: Called after each round.

    Returns:
        The state now.
    """
    probabilities = state.probabilities
    graphs = train_translations(graphs, probabilities)
    affected = affected.union(_find_neighbours_of_lost(graphs, probabilities))
    # A small delta changes no relation alignment: one serves all rounds.
    matches = select_matches(graphs, probabilities)
    relations = align_relations(graphs.left, graphs.right, matches, graphs.config)
    compared = ComparedCandidates(
        graphs,
        probabilities.table,
        _restore_comparison(state),
        probabilities.probability,
        np.empty(0, dtype=np.int64),
    )
    # Before the rounds: matches that rest on each other alone would keep each other alive.
    probabilities, ungrounded = drop_ungrounded(graphs, probabilities, relations)
    affected = affected.union(AffectedEntities.from_neighbours(graphs, *ungrounded))
    affected = affected.union(AffectedEntities.from_ids(graphs.sizes, *ungrounded))
    ever_affected = affected
    rounds = graphs.config.spreading_rounds
    for number in range(rounds + graphs.config.retraction_rounds):
        progress("spreading", min(number, rounds), rounds)
        if not affected.is_any():
            break
        ever_affected = ever_affected.union(affected)
        compared = refresh_comparisons(compared, graphs, probabilities, affected, relations)
        before = probabilities
        probabilities = _drop_unsupported(
            compared, classify_refreshed(compared, models.classifier)
        )
        # After these rounds only falling ones go on: nothing may outlive what it rested on.
        find_next = find_affected_neighbours if number + 1 < rounds else _find_weakened_neighbours
        affected = find_next(graphs, before, probabilities)
    # Once more: the rounds may have taken the last grounds of a group of matches.
    probabilities, _ = drop_ungrounded(graphs, probabilities, relations)
    dangling = _refresh_dangling(compared, models, state, ever_affected)
    return MatchState.from_comparison(probabilities, compared.comparison, dangling)


def _restore_comparison(state: MatchState) -> tuple[FloatArray, FloatArray]:
    """The columns that the features of competitors depend on; the others are compared again."""
    sides = []
    for joint_frequency in state.joint_frequency:
        comparison = np.zeros((len(joint_frequency), len(NEIGHBOUR_COLUMNS)), dtype=np.float32)
        comparison[:, SUPPORT] = state.support
        comparison[:, JOINT_FREQUENCY] = joint_frequency
        sides.append(comparison)
    return sides[0], sides[1]


def _drop_unsupported(
    compared: ComparedCandidates, probabilities: MatchProbabilities
) -> MatchProbabilities:
    """Set pairs without any evidence to 0: the classifier has never been trained on such."""
    unsupported = compared.comparison[0][:, SUPPORT] <= 0
    if compared.literals is not None:
        unsupported &= ~(compared.literals[:, LITERAL_WEIGHT] > 0)
    probability = np.where(unsupported, np.float32(0), probabilities.probability)
    return MatchProbabilities(probabilities.table, probability)


def _refresh_dangling(
    compared: ComparedCandidates,
    models: TrainedModels,
    state: MatchState,
    affected: AffectedEntities,
) -> FloatArray:
    """Predict again for the pairs that were compared in any round."""
    table = compared.table
    old_rows = state.probabilities.table.find_rows(table.left, table.right)
    rows = np.flatnonzero(affected.mark_rows(table) | (old_rows < 0))
    dangling = np.append(state.dangling, np.float32(0))[old_rows]
    dangling[rows] = models.dangling_classifier.predict(compared.compute_features(rows))
    return dangling


def drop_ungrounded(
    graphs: GraphPair, probabilities: MatchProbabilities, relations: RelationInclusions
) -> tuple[MatchProbabilities, Pairs]:
    """Set the matches to 0 that rest on one another alone.

    After anchors or triples have been removed, matches may be left that are evidence for each
    other and have no other evidence. A match is grounded if it is an anchor or a match of
    literals, or if a grounded match is evidence for it.

    Args:
        graphs: The graphs.
        probabilities: Match probabilities.
        relations: Relation alignment.

    Returns:
        The match probabilities without them, and the pairs set to 0.
    """
    matches = select_matches(graphs, probabilities).left
    left_nodes = np.repeat(np.arange(graphs.left.node_count), matches.stop - matches.start)
    left = left_nodes.astype(np.int32)
    # Only unlinked entities need grounds: anchors and literals are certain.
    grounded = ~graphs.searchable[0][left]
    # Until nothing is added. The result does not depend on the order, since marks are never taken
    # back.
    while _extend_grounded(
        graphs.left,
        graphs.right,
        matches,
        relations.left,
        graphs.config.min_evidence_weight,
        grounded,
    ):
        pass
    pairs = left[~grounded], matches.counterpart[~grounded]
    probability = probabilities.probability.copy()
    # No row is -1: what is not grounded is a pair of unlinked entities, and so from the table.
    probability[probabilities.table.find_rows(*pairs)] = 0
    return MatchProbabilities(probabilities.table, probability), pairs


@jit_cached()
def _extend_grounded(
    left: Adjacency,
    right: Adjacency,
    matches: Matches,
    inclusion: Inclusion,
    min_weight: float,
    grounded: BoolArray,
) -> bool:
    """Mark the matches that a grounded match is evidence for; whether there were any."""
    found = False
    for x in range(left.entity_count):
        for m in range(matches.start[x], matches.stop[x]):
            if not grounded[m] and _has_grounded_evidence(
                left, right, matches, inclusion, min_weight, grounded, x, matches.counterpart[m]
            ):
                grounded[m] = True
                found = True
    return found


@jit_cached()
def _has_grounded_evidence(
    left: Adjacency,
    right: Adjacency,
    matches: Matches,
    inclusion: Inclusion,
    min_weight: float,
    grounded: BoolArray,
    x: int,
    x2: int,
) -> bool:
    stop = right.stop[x2]
    for edge in range(left.start[x], left.stop[x]):
        y = left.neighbour[edge]
        for m in range(matches.start[y], matches.stop[y]):
            if not grounded[m]:
                continue
            y2 = matches.counterpart[m]
            edge2 = find_first(right.sorted_neighbour, right.start[x2], stop, y2)
            while edge2 < stop and right.sorted_neighbour[edge2] == y2:
                forward, backward = find_inclusion(
                    inclusion, left.relation[edge], right.sorted_relation[edge2]
                )
                weight = compute_evidence_weight(
                    matches.probability[m],
                    forward,
                    backward,
                    left.inverse_functionality[edge],
                    right.sorted_inverse_functionality[edge2],
                )
                if weight >= min_weight:
                    return True
                edge2 += 1
    return False
