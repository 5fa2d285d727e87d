"""Dangling entities, which have no counterpart: how many there are, and what follows for pairs.

No link tells which entities are dangling. But training pairs show what the best candidate of an
entity with a counterpart looks like and, with the correct pair left out, that of a dangling one.
So a model learns how likely an entity is dangling if half of all were. How many really are follows
by expectation maximisation, apart for the entities that each version added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from everalign._parallel import fill_chunks
from everalign.cardinality import Cardinality
from everalign.graph import IntArray
from everalign.methods.evidence.adjacency import BoolArray, FloatArray
from everalign.methods.evidence.candidates import (
    LEFT,
    RIGHT,
    CandidateTable,
    MatchProbabilities,
    mark_best,
    select_pairs,
)
from everalign.methods.evidence.classifier import (
    ModelSize,
    PairClassifier,
    TrainedModels,
    TrainingLabels,
    TrainingRows,
)
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.contributions import GROUP_NAMES, RIVALS
from everalign.methods.evidence.features import (
    CHUNK_SIZE,
    ComparedCandidates,
    list_literal_scores,
)
from everalign.methods.evidence.neighbourhood import JOINT_FREQUENCY, SUPPORT
from everalign.methods.evidence.propagation import GraphPair

# What the dangling classifier must not see. The search lists a limited number of candidates: an
# entity that is really dangling has another one in place of the correct pair. In training its list
# is shorter by one instead, which would give it away.
COUNT_FEATURES = frozenset({"candidate_count_left", "candidate_count_right"})
# Shares of entities with a counterpart in each group, left and right.
MatchedShares = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class MatchState:
    """What is known of each candidate after a version.

    Attributes:
        probabilities: The candidates and their match probabilities.
        support: Support of each.
        joint_frequency: NEIGHBOUR_COLUMNS' `joint_frequency` from the left and from the right.
        dangling: Probability that an entity of the pair is dangling, if half of all were.
        contributions: What each group of features adds to each match probability.
        literal_scores: The scores of literals and names by name, if there are literals.
    """

    probabilities: MatchProbabilities
    support: FloatArray
    joint_frequency: tuple[FloatArray, FloatArray]
    dangling: FloatArray
    contributions: FloatArray
    literal_scores: Mapping[str, FloatArray] = field(default_factory=dict)

    @staticmethod
    def from_propagation(probabilities: MatchProbabilities) -> MatchState:
        """Build the state of propagation without the classifier.

        Args:
            probabilities: The match probabilities.

        Returns:
            The state, with zeros for what only a comparison can tell.
        """
        zeros = np.zeros_like(probabilities.probability)
        no_contributions = np.zeros((len(zeros), len(GROUP_NAMES)), dtype=np.float32)
        return MatchState(probabilities, zeros, (zeros, zeros), zeros, no_contributions)

    @staticmethod
    def from_comparison(
        probabilities: MatchProbabilities, compared: ComparedCandidates, models: TrainedModels
    ) -> MatchState:
        """Build the state of compared candidates.

        Args:
            probabilities: Their match probabilities.
            compared: The compared candidates.
            models: The models that score them.

        Returns:
            The state, with those columns of the comparison that updates need.
        """
        left, right = compared.comparison
        probability, features = probabilities.probability, compared.prepare_features()

        def score_chunk(first: int, end: int) -> tuple[FloatArray, FloatArray]:
            rows = features.compute_rows(np.arange(first, end))
            added = models.classifier.compute_contributions(rows)
            # A candidate that was not compared in the last rounds has the probability of an
            # earlier one: its rivals have changed since.
            added[:, RIVALS] += probability[first:end] - models.classifier.predict_matches(rows)
            return models.dangling_classifier.predict(rows), added

        dangling = np.empty_like(probability)
        contributions = np.empty((len(probability), len(GROUP_NAMES)), dtype=np.float32)
        fill_chunks(score_chunk, (dangling, contributions), CHUNK_SIZE)
        return MatchState(
            probabilities,
            left[:, SUPPORT].copy(),
            (left[:, JOINT_FREQUENCY].copy(), right[:, JOINT_FREQUENCY].copy()),
            dangling,
            contributions,
            {} if compared.literals is None else list_literal_scores(compared.literals),
        )


def train_dangling_classifier(
    compared: ComparedCandidates, labels: TrainingLabels, probability: FloatArray, seed: int
) -> PairClassifier:
    """Train a model to tell the best candidate of a dangling entity from that of a matched one.

    Args:
        compared: All candidates.
        labels: The training pairs.
        probability: Match probability of each candidate.
        seed: Random seed.

    Returns:
        The classifier. Both kinds of entities count the same in training.
    """
    correct = labels.mark_correct(compared.table)
    # Without their correct pairs, labelled entities look as if they were dangling.
    correct |= labels.mark_doubtful(compared.table)
    dangling = compared.drop_rows(correct)
    matched_rows, matched_weight = _find_best_of_labelled(compared.table, labels, probability)
    dangling_rows, dangling_weight = _find_best_of_labelled(
        dangling.table, labels, probability[~correct]
    )
    # Half of the weight for either kind, which the prediction then assumes as the share.
    balance = matched_weight.sum() / max(1, dangling_weight.sum())
    weight = np.concatenate([matched_weight, dangling_weight * balance])
    folds = (
        labels.find_folds(compared.table)[matched_rows],
        labels.find_folds(dangling.table)[dangling_rows],
    )
    rows = TrainingRows(
        np.concatenate(
            [compared.compute_features(matched_rows), dangling.compute_features(dangling_rows)]
        ),
        np.repeat([False, True], [len(matched_rows), len(dangling_rows)]),
        weight.astype(np.float32),
        np.concatenate(folds),
    )
    config = compared.graphs.config
    return PairClassifier.train(
        rows,
        compared.feature_names,
        ModelSize(config.dangling_tree_count, config.dangling_leaf_count, fold_count=0),
        config,
        seed,
        self_trained=compared.graphs.self_trained,
        hidden=COUNT_FEATURES,
    )


def _find_best_of_labelled(
    table: CandidateTable, labels: TrainingLabels, score: FloatArray
) -> tuple[NDArray[np.int64], FloatArray]:
    """Find the rows that are the best of a labelled entity, and the weight of these entities."""
    weight = np.zeros(len(score), dtype=np.float32)
    for side, entity_weight in (
        (LEFT, labels.left_weight[table.left]),
        (RIGHT, labels.right_weight[table.right]),
    ):
        weight += entity_weight * mark_best(table, score, side)
    rows = np.flatnonzero(weight)
    return rows, weight[rows]


def estimate_no_candidate_dangling(
    compared: ComparedCandidates, labels: TrainingLabels, pairs: IntArray
) -> float:
    """Estimate how likely an entity without any candidate is dangling, if half of all were.

    Args:
        compared: All candidates.
        labels: The training pairs.
        pairs: The same as rows of (left, right).

    Returns:
        The share of dangling ones among the left entities without a candidate.
    """
    table = compared.table
    dangling = compared.drop_rows(labels.mark_correct(table) | labels.mark_doubtful(table))
    without_candidate = [
        1 + np.count_nonzero(~np.isin(pairs[:, 0], table.left))  # 1: never quite certain
        for table in (dangling.table, compared.table)
    ]
    return without_candidate[0] / sum(without_candidate)


@dataclass(frozen=True)
class EntityGroups:
    """The group of every entity: the number of the version that added it."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]

    @staticmethod
    def from_entity_counts(entity_counts: NDArray[np.int64]) -> EntityGroups:
        """Build the groups from the sizes of the graphs.

        Args:
            entity_counts: Rows of the numbers of left and right entities after each version.

        Returns:
            The group of each entity.

        Example:
            >>> EntityGroups.from_entity_counts(np.array([[2, 1], [3, 1]])).left.tolist()
            [0, 0, 1]
        """
        # Ids are given in order of arrival and never again: a version added a range of them.
        added = np.diff(entity_counts, axis=0, prepend=0)
        versions = np.arange(len(entity_counts))
        return EntityGroups(np.repeat(versions, added[:, 0]), np.repeat(versions, added[:, 1]))


@dataclass(frozen=True)
class LinkConfidence:
    """The confidence of every candidate.

    Attributes:
        confidence: Confidence of each.
        threshold: Confidence from which candidates are links.
        shares: Share of entities with a counterpart in each group, left and right.
    """

    confidence: FloatArray
    threshold: float
    shares: MatchedShares


def compute_link_confidence(
    graphs: GraphPair,
    table: CandidateTable,
    probability: FloatArray,
    dangling: FloatArray,
    entity_counts: NDArray[np.int64],
    models: TrainedModels | None,
) -> LinkConfidence:
    """Compute confidence and threshold, given that entities may be dangling.

    Args:
        graphs: The graphs.
        table: The candidates.
        probability: Match probability of each.
        dangling: Probability that an entity of the pair is dangling, if half of all were.
        entity_counts: Numbers of left and right entities at each training so far.
        models: The trained models; None if the probabilities come from propagation alone.

    Returns:
        Confidence, threshold and shares.
    """
    config = graphs.config
    if models is None:
        factor = config.untrained_factor
        no_shares = np.full(len(entity_counts), factor, dtype=np.float32)
        # The threshold is a match probability of one half.
        confidence = probability * np.float32(factor)
        return LinkConfidence(confidence, factor / 2, (no_shares, no_shares))
    groups = EntityGroups.from_entity_counts(entity_counts)
    shares = estimate_matched_shares(
        table,
        dangling,
        probability,
        groups,
        graphs.unanchored,
        models.no_candidate_dangling,
        config,
    )
    confidence = compute_confidence(table, probability, dangling, shares, groups)
    link_count = count_expected_links(shares, groups, graphs.unanchored, config.cardinality)
    selected = confidence[select_pairs(table, confidence, config.cardinality)]
    if not any(config.cardinality.unique_sides):
        # An entity may have several: their confidences tell how many links there are.
        link_count = max(link_count, float(selected.sum(dtype=np.float64)))
    threshold = find_threshold(selected, link_count)
    return LinkConfidence(confidence, max(config.min_link_confidence, threshold), shares)


def estimate_matched_shares(
    table: CandidateTable,
    dangling: FloatArray,
    probability: FloatArray,
    groups: EntityGroups,
    unlinked: tuple[BoolArray, BoolArray],
    no_candidate_dangling: float,
    config: EvidenceParameters,
) -> MatchedShares:
    """Estimate the share of entities with a counterpart in each group.

    Args:
        table: The candidates.
        dangling: Probability of being dangling, if half of all were, by candidate.
        probability: Match probability of each; the best candidate stands for its entity.
        groups: The group of each entity.
        unlinked: Which entities count.
        no_candidate_dangling: The probability for an entity without any candidate.
        config: Gives the constants of expectation maximisation.

    Returns:
        A share for each group, left and right.
    """
    shares = []
    for side, entity, group, counted in (
        (LEFT, table.left, groups.left, unlinked[0]),
        (RIGHT, table.right, groups.right, unlinked[1]),
    ):
        best = mark_best(table, probability, side)
        # Entities without any candidate count too, or the share would be too high.
        entity_dangling = np.full(len(group), no_candidate_dangling, dtype=np.float32)
        entity_dangling[entity[best]] = dangling[best]
        group_count = int(group.max()) + 1
        shares.append(
            _maximise_expectation(entity_dangling[counted], group[counted], group_count, config)
        )
    return shares[0], shares[1]


def _maximise_expectation(
    dangling: FloatArray, group: NDArray[np.int64], group_count: int, config: EvidenceParameters
) -> FloatArray:
    size = np.maximum(1, np.bincount(group, minlength=group_count))
    # From one half, which is what `dangling` assumes.
    share = np.full(group_count, 0.5)
    limits = config.min_matched_share, config.max_matched_share
    for _ in range(config.max_em_steps):
        # Expectation by Bayes' rule: `dangling` was predicted for a share of one half, so that its
        # odds only have to be multiplied by those of the share.
        matched = share[group] * (1 - dangling)
        matched /= matched + (1 - share[group]) * dangling
        share = np.clip(np.bincount(group, matched, minlength=group_count) / size, *limits)
    # Features of entities with few triples tell little, and the share ends near 0 or 1.
    shrinkage = config.share_shrinkage
    return ((1 - shrinkage) * share + shrinkage / 2).astype(np.float32)


def compute_confidence(
    table: CandidateTable,
    probability: FloatArray,
    dangling: FloatArray,
    shares: MatchedShares,
    groups: EntityGroups,
) -> FloatArray:
    """Compute the probability of each pair, given that its entities may be dangling.

    Args:
        table: The candidates.
        probability: Match probability of each, if there is a counterpart.
        dangling: Probability of being dangling, if half of all entities were.
        shares: Share of entities with a counterpart in each group.
        groups: The group of each entity.

    Returns:
        The confidence of each pair.
    """
    left_group, right_group = groups.left[table.left], groups.right[table.right]
    pair_shares = shares[0][left_group], shares[1][right_group]
    together = (left_group > 0) == (right_group > 0)
    return combine_confidence(probability, dangling, pair_shares, together)


def combine_confidence(
    probability: FloatArray,
    dangling: FloatArray,
    shares: tuple[FloatArray, FloatArray],
    together: BoolArray,
) -> FloatArray:
    """Combine what is known of pairs to their confidence.

    With match probability p, share s and dangling a it is p · s(1 − a) / (s(1 − a) + (1 − s)a).

    Args:
        probability: Match probability of each pair, if there is a counterpart.
        dangling: Probability of being dangling, if half of all entities were.
        shares: Share of entities with a counterpart, of the left and the right entity's group.
        together: Whether both entities came with the first version, or both after it.

    Returns:
        The confidence of each pair.
    """
    # Both sides estimate the same links, of which the larger graph has a smaller share: the
    # greater one counts. But an entity added later is rarely the counterpart of one that was there
    # from the beginning: for such a pair the lesser one counts.
    prior = np.where(together, np.maximum(*shares), np.minimum(*shares))
    # The match probability holds if there is a counterpart; the other factor is that there is one.
    matched = prior * (1 - dangling)
    return (probability * matched / (matched + (1 - prior) * dangling)).astype(np.float32)


def estimate_new_share(
    dangling: FloatArray, previous_share: float, config: EvidenceParameters
) -> float:
    """Estimate the share of new entities with a counterpart.

    Args:
        dangling: Probability of being dangling of each new entity, if half of all were.
        previous_share: The share of those that came before them.
        config: Gives the constants of expectation maximisation.

    Returns:
        The share; few entities tell little, so that it stays near the previous one.
    """
    group = np.zeros(len(dangling), dtype=np.int64)
    estimate = float(_maximise_expectation(dangling, group, 1, config)[0])
    strength = config.new_share_strength
    return (len(dangling) * estimate + strength * previous_share) / (len(dangling) + strength)


def count_expected_links(
    shares: MatchedShares,
    groups: EntityGroups,
    unlinked: tuple[BoolArray, BoolArray],
    cardinality: Cardinality = Cardinality.ONE_TO_ONE,
) -> float:
    """Estimate how many links there are to find.

    Args:
        shares: Share of entities with a counterpart in each group.
        groups: The group of each entity.
        unlinked: Which entities count.
        cardinality: Says on which sides an entity with a counterpart has one link.

    Returns:
        The sum of the shares, on the side where it is greater. If entities of one side may have
        several links, the other side counts.
    """
    # Both sides estimate the same number, and too low for entities with few triples.
    return max(
        float(share[group[counted]].sum())
        for share, group, counted, is_counted in zip(
            shares,
            (groups.left, groups.right),
            unlinked,
            cardinality.labelled_sides,
            strict=True,
        )
        if is_counted
    )


def find_threshold(confidence: FloatArray, link_count: float) -> float:
    """Find the confidence from which on taking pairs gives the best expected F1.

    Args:
        confidence: Of pairs that satisfy the cardinality.
        link_count: Expected number of links.

    Returns:
        The threshold; 0.5 if there are no pairs.

    Example:
        >>> find_threshold(np.array([0.9, 0.8, 0.2], dtype=np.float32), link_count=2.0) > 0.2
        True
    """
    if len(confidence) == 0:
        return 0.5
    # Taking the first k pairs, the sum of their confidences is the expected number of correct
    # ones, and k + link_count the denominator of F1. The sum is in double precision: it is long.
    best_first = np.sort(confidence)[::-1].astype(np.float64)
    f1 = 2 * np.cumsum(best_first) / (np.arange(1, len(best_first) + 1) + link_count)
    return float(best_first[np.argmax(f1)])
