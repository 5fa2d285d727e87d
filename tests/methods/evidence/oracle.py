"""The update that looks at the whole graph in every step: slow, and simple enough to trust."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from everalign.graph import IntArray
from everalign.matching import mark_listed_pairs
from everalign.methods.evidence.adjacency import BoolArray, FloatArray, find_edge
from everalign.methods.evidence.alignment_state import AlignmentState
from everalign.methods.evidence.candidates import CandidateTable, MatchProbabilities
from everalign.methods.evidence.classifier import TrainedModels
from everalign.methods.evidence.features import ComparedCandidates
from everalign.methods.evidence.incremental_state import IncrementalState
from everalign.methods.evidence.neighbourhood import (
    JOINT_FREQUENCY,
    NEIGHBOUR_COLUMNS,
    SUPPORT,
    compare_neighbourhoods,
)
from everalign.methods.evidence.propagation import GraphPair, find_candidates, select_matches
from everalign.methods.evidence.relation_sums import RelationSums
from everalign.methods.evidence.relations import (
    Matches,
    RelationInclusions,
    find_inclusion,
)
from everalign.methods.evidence.rounds import AffectedEntities, find_affected_neighbours
from everalign.methods.evidence.weights import compute_evidence_weight

Ids = tuple[IntArray, IntArray]


@dataclass(frozen=True)
class Scores:
    """The candidates, and what is known of each of them."""

    probabilities: MatchProbabilities
    comparison: tuple[FloatArray, FloatArray]
    dangling: FloatArray


def read_graphs(state: IncrementalState) -> GraphPair:
    """The graphs of a state, with everything that keeps entities from being candidates."""
    graphs = state.graphs
    bare = [
        np.flatnonzero(side.start[:size] == side.stop[:size])
        for side, size in zip((graphs.left, graphs.right), graphs.sizes, strict=True)
    ]
    left, right = (
        np.union1d(bare[side], state.excluded[side]).astype(np.int32) for side in range(2)
    )
    return replace(graphs, removed=(left, right), rejected=state.rejected)


def read_scores(state: IncrementalState, sizes: tuple[int, int]) -> Scores:
    """The candidates of a state, as those of graphs of these sizes."""
    store = state.candidates
    pairs = store.list_all()
    table = CandidateTable.from_pairs(pairs.left, pairs.right, sizes)
    sides = []
    for name in ("joint_frequency_left", "joint_frequency_right"):
        rows = np.zeros((len(pairs.row), len(NEIGHBOUR_COLUMNS)), dtype=np.float32)
        rows[:, SUPPORT] = store.column("support")[pairs.row]
        rows[:, JOINT_FREQUENCY] = store.column(name)[pairs.row]
        sides.append(rows)
    return Scores(
        MatchProbabilities(table, store.column("probability")[pairs.row]),
        (sides[0], sides[1]),
        store.column("dangling")[pairs.row],
    )


def unite(*parts: AffectedEntities) -> AffectedEntities:
    return AffectedEntities(
        np.logical_or.reduce([part.left for part in parts]),
        np.logical_or.reduce([part.right for part in parts]),
    )


def differing(one: IntArray, two: IntArray) -> Ids:
    """The left and right ids of the pairs that are in one of two lists."""
    sets = [{tuple(pair) for pair in pairs.tolist()} for pairs in (one, two)]
    left, right = np.array(sorted(sets[0] ^ sets[1]), dtype=np.int32).reshape(-1, 2).T
    return left, right


def update_whole_graph(before: AlignmentState, after: AlignmentState, changed: Ids) -> Scores:
    """Score what a change affects.

    Graphs, trusted links and decisions are those of the state `after`, everything else is that of
    the state `before`; `changed` are the entities whose facts have changed.
    """
    assert before.models is not None
    config = before.blocks.config
    # The functions of a training, with the limits of an update.
    config = replace(
        config,
        min_probability_change=config.min_spreading_change,
        min_neighbour_functionality=config.min_spreading_functionality,
    )
    graphs = replace(read_graphs(after.blocks), config=config)
    scores = read_scores(before.blocks, graphs.sizes)
    affected = _find_affected(before.blocks, after.blocks, graphs, scores.probabilities, changed)
    matches = select_matches(graphs, scores.probabilities)
    # The sums of all edges, in fixed point as updates keep them: sums of floating point numbers
    # round differently, and a tree may have its limit in between.
    sums = RelationSums.from_graphs(graphs.left, graphs.right, matches)
    relations = sums.compute_inclusions(config)
    scores = _drop_inadmissible(graphs, scores)
    scores, ungrounded = _drop_ungrounded(graphs, scores, relations)
    affected = unite(
        affected,
        AffectedEntities.from_ids(graphs.sizes, *ungrounded),
        AffectedEntities.from_neighbours(graphs, *ungrounded),
    )
    for number in range(config.spreading_rounds + config.retraction_rounds):
        if not (affected.left.any() or affected.right.any()):
            break
        previous = scores.probabilities
        scores = _score_again(graphs, before.models, scores, affected, relations)
        if number + 1 < config.spreading_rounds:
            affected = find_affected_neighbours(graphs, previous, scores.probabilities)
        else:
            affected = _find_neighbours_of_fallen(graphs, previous, scores.probabilities)
    return _drop_ungrounded(graphs, scores, relations)[0]


def _find_affected(
    before: IncrementalState,
    after: IncrementalState,
    graphs: GraphPair,
    probabilities: MatchProbabilities,
    changed: Ids,
) -> AffectedEntities:
    sizes, config = graphs.sizes, graphs.config
    relinked = differing(before.anchors, after.anchors)
    excluded = [np.setxor1d(*ids) for ids in zip(before.excluded, after.excluded, strict=True)]
    matches = probabilities.select_at_least(config.min_match_probability).table
    lost = ~graphs.mark_admissible(matches.left, matches.right)
    is_candidate = probabilities.table.find_rows(*graphs.barred.T) >= 0
    rejected = graphs.barred[is_candidate]
    return unite(
        AffectedEntities.from_ids(sizes, *changed),
        AffectedEntities.from_ids(sizes, *relinked),
        AffectedEntities.from_neighbours(graphs, *relinked),
        AffectedEntities.from_ids(sizes, excluded[0], excluded[1]),
        AffectedEntities.from_neighbours(graphs, matches.left[lost], matches.right[lost]),
        AffectedEntities.from_ids(sizes, rejected[:, 0], rejected[:, 1]),
    )


def _drop_inadmissible(graphs: GraphPair, scores: Scores) -> Scores:
    table = scores.probabilities.table
    return _select(scores, graphs.mark_admissible(table.left, table.right))


def _select(scores: Scores, keep: BoolArray) -> Scores:
    table, probability = scores.probabilities.table, scores.probabilities.probability
    left, right = scores.comparison
    return Scores(
        MatchProbabilities(table.select_rows(keep), probability[keep]),
        (left[keep], right[keep]),
        scores.dangling[keep],
    )


def _find_neighbours_of_fallen(
    graphs: GraphPair, before: MatchProbabilities, after: MatchProbabilities
) -> AffectedEntities:
    loss = before.look_up(after.table) - after.probability
    fallen = loss >= graphs.config.min_probability_change
    table = after.table
    return AffectedEntities.from_neighbours(graphs, table.left[fallen], table.right[fallen])


def _score_again(
    graphs: GraphPair,
    models: TrainedModels,
    old: Scores,
    affected: AffectedEntities,
    relations: RelationInclusions,
) -> Scores:
    probabilities = old.probabilities
    matches = select_matches(graphs, probabilities)
    wanted = affected.left & graphs.unlinked[0], affected.right & graphs.unlinked[1]
    found = find_candidates(graphs, matches, relations, *wanted)
    keep = ~affected.mark_rows(probabilities.table)
    keep |= probabilities.probability >= graphs.config.forget_probability
    table = graphs.build_candidates(
        np.concatenate([probabilities.table.left[keep], found.left]),
        np.concatenate([probabilities.table.right[keep], found.right]),
    )
    old_rows = probabilities.table.find_rows(table.left, table.right)
    rows = np.flatnonzero(affected.mark_rows(table) | (old_rows < 0))
    # The old row of new candidates is -1, the appended one.
    padding = np.zeros((1, len(NEIGHBOUR_COLUMNS)), np.float32)
    left, right = (np.concatenate([side, padding])[old_rows] for side in old.comparison)
    left[rows], right[rows] = compare_neighbourhoods(
        graphs, matches, relations, table.left[rows], table.right[rows]
    )
    previous = probabilities.look_up(table)
    compared = ComparedCandidates(graphs, table, (left, right), previous, rows, None)
    features = compared.compute_features(rows)
    probability, dangling = previous.copy(), np.append(old.dangling, np.float32(0))[old_rows]
    probability[rows] = models.classifier.predict_matches(features)
    probability[rows[left[rows, SUPPORT] <= 0]] = 0
    dangling[rows] = models.dangling_classifier.predict(features)
    return Scores(MatchProbabilities(table, probability), (left, right), dangling)


def _drop_ungrounded(
    graphs: GraphPair, scores: Scores, relations: RelationInclusions
) -> tuple[Scores, Ids]:
    """Set the matches to 0 that rest on one another alone."""
    matches = select_matches(graphs, scores.probabilities).left
    nodes = np.repeat(np.arange(graphs.left.node_count), matches.stop - matches.start)
    # Only unlinked entities need grounds: anchors are certain.
    grounded = ~graphs.searchable[0][nodes]
    grounded |= mark_listed_pairs(nodes, matches.counterpart, graphs.anchors)
    grows = True
    while grows:
        grows = False
        for row in np.flatnonzero(~grounded).tolist():
            if _has_grounds(graphs, matches, relations, grounded, int(nodes[row]), row):
                grounded[row] = grows = True
    left, right = nodes[~grounded].astype(np.int32), matches.counterpart[~grounded]
    probability = scores.probabilities.probability.copy()
    probability[scores.probabilities.table.find_rows(left, right)] = 0
    dropped = replace(
        scores, probabilities=MatchProbabilities(scores.probabilities.table, probability)
    )
    return dropped, (left, right)


def _has_grounds(
    graphs: GraphPair,
    matches: Matches,
    relations: RelationInclusions,
    grounded: BoolArray,
    x: int,
    row: int,
) -> bool:
    """Whether a grounded match is evidence for the match of a row."""
    left, right, x2 = graphs.left, graphs.right, matches.counterpart[row]
    edges2 = range(right.start[x2], right.stop[x2])
    for edge in range(left.start[x], left.stop[x]):
        y = left.neighbour[edge]
        for m in range(matches.start[y], matches.stop[y]):
            if not grounded[m] or left.inverse_functionality[edge] == 0:
                continue
            for edge2 in edges2:
                if right.sorted_neighbour[edge2] != matches.counterpart[m]:
                    continue
                forward, backward = find_inclusion(
                    relations.left, left.relation[edge], right.sorted_relation[edge2]
                )
                weight = compute_evidence_weight(
                    matches.probability[m],
                    forward,
                    backward,
                    left.inverse_functionality[edge],
                    right.inverse_functionality[
                        find_edge(right, x2, right.sorted_relation[edge2], matches.counterpart[m])
                    ],
                )
                if weight >= graphs.config.min_evidence_weight:
                    return True
    return False
