"""Dangling entities, which have no counterpart: how many there are, and what follows for pairs.

No link tells which entities are dangling. But training pairs show what the best candidate of an
entity with a counterpart looks like and, with the correct pair left out, that of a dangling one.
So a model learns how likely an entity is dangling if half of all were. How many really are follows
by expectation maximisation, apart for the entities that each version added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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
from everalign.methods.evidence.link_rates import (
    LinkRates,
    RelationRates,
    compute_link_rates,
    estimate_relation_rates,
)
from everalign.methods.evidence.neighbourhood import JOINT_FREQUENCY, SUPPORT
from everalign.methods.evidence.propagation import GraphPair

# What the dangling classifier must not see. The search lists a limited number of candidates: an
# entity that is really dangling has another one in place of the correct pair. In training its list
# is shorter by one instead, which would give it away.
COUNT_FEATURES = frozenset({"candidate_count_left", "candidate_count_right"})
# Match probability of two literals from which a pair of entities counts as known.
LITERAL_LINK_PROBABILITY = 0.5
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


class DanglingExample(NamedTuple):
    """Candidates that show what matched and dangling entities look like.

    Attributes:
        compared: All candidates.
        probability: Match probability of each.
    """

    compared: ComparedCandidates
    probability: FloatArray


def train_dangling_classifier(
    examples: Sequence[DanglingExample], labels: TrainingLabels, seed: int
) -> PairClassifier:
    """Train a model to tell the best candidate of a dangling entity from that of a matched one.

    Args:
        examples: The candidates as they are, and as if the labelled entities had come late. Each
            counts the same in training.
        labels: The training pairs.
        seed: Random seed.

    Returns:
        The classifier. Both kinds of entities count the same in training.
    """
    parts = [_list_dangling_rows(*example, labels) for example in examples]
    rows = TrainingRows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    compared = examples[0].compared
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


def _list_dangling_rows(
    compared: ComparedCandidates, probability: FloatArray, labels: TrainingLabels
) -> tuple[FloatArray, BoolArray, FloatArray, NDArray[np.int64]]:
    """List the fields of training rows: best candidates with and without the correct pairs."""
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
    return (
        np.concatenate(
            [compared.compute_features(matched_rows), dangling.compute_features(dangling_rows)]
        ),
        np.repeat([False, True], [len(matched_rows), len(dangling_rows)]),
        weight.astype(np.float32),
        np.concatenate(folds),
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


def learn_relation_rates(
    graphs: GraphPair, state: MatchState, entity_counts: NDArray[np.int64]
) -> RelationRates:
    """Learn how often entities with each relation have a known link.

    Args:
        graphs: The graphs; their anchors are all trusted links.
        state: The candidates.
        entity_counts: Numbers of left and right entities at each training so far.

    Returns:
        The rates of left and right relations; all alike if there are no trusted links, or if they
        are no sample of all links.
    """
    config, sides = graphs.config, (graphs.left, graphs.right)
    if not len(graphs.anchors) or not config.representative_links:
        left, right = (np.zeros(2 * side.attribute_offset, dtype=np.float32) for side in sides)
        return left, right
    table, groups = state.probabilities.table, EntityGroups.from_entity_counts(entity_counts)
    # What literals say is known as well: trusted links may be of other classes.
    by_literal = np.zeros(len(table.left), dtype=np.bool_)
    if "best_literal" in state.literal_scores:
        is_sure = state.probabilities.probability >= config.min_sure_probability
        by_literal = is_sure & (state.literal_scores["best_literal"] >= LITERAL_LINK_PROBABILITY)
    rates = []
    for side, adjacency, ids, group in (
        (LEFT, graphs.left, table.left, groups.left),
        (RIGHT, graphs.right, table.right, groups.right),
    ):
        is_linked = np.zeros(adjacency.entity_count, dtype=np.bool_)
        is_linked[graphs.anchors[:, side]] = True
        is_linked[ids[by_literal]] = True
        # Nobody has linked what came after the trusted links.
        is_counted = np.bincount(group, is_linked, minlength=int(group.max()) + 1)[group] > 0
        is_counted[graphs.removed[side]] = False
        rates.append(estimate_relation_rates(adjacency, is_linked, is_counted))
    return rates[0], rates[1]


class CountedEntities(NamedTuple):
    """What the prior of each entity depends on.

    Attributes:
        groups: The group of each entity.
        unlinked: Which left and right entities have no trusted link.
        rates: Link rate of each left and right entity.
    """

    groups: EntityGroups
    unlinked: tuple[BoolArray, BoolArray]
    rates: LinkRates


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
    left_rate, right_rate = (
        compute_link_rates(side, rates, np.arange(side.entity_count))
        for side, rates in zip((graphs.left, graphs.right), models.relation_rates, strict=True)
    )
    entities = CountedEntities(groups, graphs.unanchored, (left_rate, right_rate))
    shares = estimate_matched_shares(
        table, dangling, probability, entities, models.no_candidate_dangling, config
    )
    confidence = compute_confidence(table, probability, dangling, shares, entities)
    link_count = count_expected_links(shares, entities, config.cardinality)
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
    entities: CountedEntities,
    no_candidate_dangling: tuple[float, float],
    config: EvidenceParameters,
) -> MatchedShares:
    """Estimate the share of entities with a counterpart in each group.

    Args:
        table: The candidates.
        dangling: Probability of being dangling, if half of all were, by candidate.
        probability: Match probability of each; the best candidate stands for its entity.
        entities: Group and link rate of each entity.
        no_candidate_dangling: The probability for an entity of the first version without any
            candidate, and for a later one.
        config: Gives the constants of expectation maximisation.

    Returns:
        A share for each group, left and right: that of entities with a link rate of 1.
    """
    shares = []
    groups, unlinked, rates = entities
    for side, entity, group, counted, rate in (
        (LEFT, table.left, groups.left, unlinked[0], rates[0]),
        (RIGHT, table.right, groups.right, unlinked[1], rates[1]),
    ):
        best = mark_best(table, probability, side)
        # Entities without any candidate count too, or the share would be too high.
        first, later = np.array(no_candidate_dangling, dtype=np.float32)
        entity_dangling = np.where(group > 0, later, first)
        entity_dangling[entity[best]] = dangling[best]
        group_count = int(group.max()) + 1
        shares.append(
            _maximise_expectation(
                entity_dangling[counted], rate[counted], group[counted], group_count, config
            )
        )
    return shares[0], shares[1]


def _maximise_expectation(
    dangling: FloatArray,
    rate: FloatArray,
    group: NDArray[np.int64],
    group_count: int,
    config: EvidenceParameters,
) -> FloatArray:
    # An entity that is hardly ever linked counts as little as that: by its link rate.
    size = np.maximum(np.bincount(group, rate, minlength=group_count), 1)
    # From one half, which is what `dangling` assumes.
    share = np.full(group_count, 0.5)
    limits = config.min_matched_share, config.max_matched_share
    for _ in range(config.max_em_steps):
        # Expectation by Bayes' rule: `dangling` was predicted for a share of one half, so that its
        # odds only have to be multiplied by those of the share.
        matched = share[group] * (1 - dangling)
        matched /= matched + (1 - share[group]) * dangling
        matched *= rate
        share = np.clip(np.bincount(group, matched, minlength=group_count) / size, *limits)
    # Features of entities with few triples tell little, and the share ends near 0 or 1.
    shrinkage = config.share_shrinkage
    return ((1 - shrinkage) * share + shrinkage / 2).astype(np.float32)


def compute_confidence(
    table: CandidateTable,
    probability: FloatArray,
    dangling: FloatArray,
    shares: MatchedShares,
    entities: CountedEntities,
) -> FloatArray:
    """Compute the probability of each pair, given that its entities may be dangling.

    Args:
        table: The candidates.
        probability: Match probability of each, if there is a counterpart.
        dangling: Probability of being dangling, if half of all entities were.
        shares: Share of entities with a counterpart in each group.
        entities: Group and link rate of each entity.

    Returns:
        The confidence of each pair.
    """
    groups, _, rates = entities
    left_group, right_group = groups.left[table.left], groups.right[table.right]
    pair_shares = shares[0][left_group], shares[1][right_group]
    pair_rates = rates[0][table.left], rates[1][table.right]
    order = np.sign(left_group - right_group)
    return combine_confidence(probability, dangling, pair_shares, pair_rates, order)


def combine_confidence(
    probability: FloatArray,
    dangling: FloatArray,
    shares: tuple[FloatArray, FloatArray],
    rates: tuple[FloatArray, FloatArray],
    order: NDArray[np.integer],
) -> FloatArray:
    """Combine what is known of pairs to their confidence.

    With match probability p, prior s and dangling a it is p · s(1 − a) / (s(1 − a) + (1 − s)a).
    The prior is the share of entities with a counterpart, times the lesser of the link rates.

    Args:
        probability: Match probability of each pair, if there is a counterpart.
        dangling: Probability of being dangling, if half of all entities were.
        shares: Share of entities with a counterpart, of the left and the right entity's group.
        rates: Link rate of the left and of the right entity.
        order: -1 if the left entity came before the right one, 1 if after it, 0 with it.

    Returns:
        The confidence of each pair.
    """
    prior = combine_shares(*shares, order) * np.minimum(*rates)
    # The match probability holds if there is a counterpart; the other factor is that there is one.
    matched = prior * (1 - dangling)
    return (probability * matched / (matched + (1 - prior) * dangling)).astype(np.float32)


def combine_shares(
    left_share: FloatArray, right_share: FloatArray, order: NDArray[np.integer]
) -> FloatArray:
    """Combine the shares of the groups of two entities to the prior of the pair.

    Args:
        left_share: Share of entities with a counterpart in the left entity's group.
        right_share: The same of the right entity.
        order: -1 if the left entity came before the right one, 1 if after it, 0 with it.

    Returns:
        The prior of each pair.

    Example:
        >>> shares = np.array([0.9]), np.array([0.5])
        >>> [round(float(combine_shares(*shares, np.array([order]))[0]), 2) for order in (0, -1)]
        [0.9, 0.05]
    """
    # Both sides estimate the same links, of which the larger graph has a smaller share: the
    # greater one counts. Otherwise the later entity has to have a counterpart, and the earlier one
    # must not have found its own among those that were there before.
    later = np.where(order > 0, left_share, right_share)
    earlier = np.where(order > 0, right_share, left_share)
    return np.where(order == 0, np.maximum(left_share, right_share), later * (1 - earlier))


def soften_fall(
    confidence: FloatArray, earlier: FloatArray, config: EvidenceParameters
) -> FloatArray:
    """Let the confidence of pairs fall by a part only of what a training takes from it.

    Args:
        confidence: Confidence of each pair.
        earlier: Its confidence before the training; 0 if it has lost evidence since.
        config: Gives the weight of the earlier one.

    Returns:
        The mean of both where the earlier one was higher.
    """
    weight = np.float32(config.earlier_weight)
    return np.maximum(confidence, (1 - weight) * confidence + weight * earlier)


def restore_fall(
    confidence: FloatArray, earlier: FloatArray, config: EvidenceParameters
) -> FloatArray:
    """Compute the confidence by the last training alone: what `soften_fall` was given.

    Args:
        confidence: What it has returned.
        earlier: See there.
        config: See there.

    Returns:
        The confidence of each pair.
    """
    weight = np.float32(config.earlier_weight)
    return np.where(
        earlier > confidence, (confidence - weight * earlier) / (1 - weight), confidence
    )


def estimate_new_share(
    dangling: FloatArray, rate: FloatArray, previous_share: float, config: EvidenceParameters
) -> float:
    """Estimate the share of new entities with a counterpart.

    Args:
        dangling: Probability of being dangling of each new entity, if half of all were.
        rate: Link rate of each.
        previous_share: The share of those that came before them.
        config: Gives the constants of expectation maximisation.

    Returns:
        The share; few entities tell little, so that it stays near the previous one.
    """
    group = np.zeros(len(dangling), dtype=np.int64)
    estimate = float(_maximise_expectation(dangling, rate, group, 1, config)[0])
    strength = config.new_share_strength
    return (len(dangling) * estimate + strength * previous_share) / (len(dangling) + strength)


def count_expected_links(
    shares: MatchedShares,
    entities: CountedEntities,
    cardinality: Cardinality = Cardinality.ONE_TO_ONE,
) -> float:
    """Estimate how many links there are to find.

    Args:
        shares: Share of entities with a counterpart in each group.
        entities: Group and link rate of each entity.
        cardinality: Says on which sides an entity with a counterpart has one link.

    Returns:
        The sum of the shares times link rates, on the side where it is greater. If entities of
        one side may have several links, the other side counts.
    """
    groups, unlinked, rates = entities
    # Both sides estimate the same number, and too low for entities with few triples.
    return max(
        float((share[group[counted]] * rate[counted]).sum())
        for share, group, counted, rate, is_counted in zip(
            shares,
            (groups.left, groups.right),
            unlinked,
            rates,
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
