"""The classifier: gradient-boosted trees that turn the features of a candidate into a probability.

It is trained on the candidates of entities whose counterpart is known. These candidates themselves
are scored by models that were not trained on them (cross-fitting).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._parallel import fill_chunks, map_chunks, map_parallel
from everalign.cardinality import Cardinality
from everalign.graph import IntArray
from everalign.matching import NO_PAIRS, mark_listed_pairs
from everalign.methods.evidence.adjacency import BoolArray, FloatArray
from everalign.methods.evidence.candidates import CandidateTable, MatchProbabilities
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.contributions import (
    GROUP_NAMES,
    NEIGHBOURS,
    GroupContributions,
)
from everalign.methods.evidence.features import CHUNK_SIZE as FEATURE_CHUNK_SIZE
from everalign.methods.evidence.features import (
    LITERAL_FEATURES,
    PROBABILITY_FEATURES,
    ComparedCandidates,
    list_competitor_columns,
)
from everalign.methods.evidence.link_rates import RelationRates
from everalign.methods.evidence.trees import TreeModel, average_models, parse_trees

CHUNK_SIZE = 20_000  # rows of one parallel prediction
NO_FOLD = -1
# Columns whose sum decides between pairs of the same leaves, and how much it counts.
SUPPORT_COLUMNS = ("support", "literal_weight")
TIE_WEIGHT = np.float32(1e-5)
# One thread per model, since several are trained in parallel; the same trees in every run.
LIGHTGBM_PARAMETERS = {
    "objective": "binary",
    "force_row_wise": True,
    "deterministic": True,
    "num_threads": 1,
    "verbosity": -1,
}


class TrainingPairs(NamedTuple):
    """Pairs that are taken for correct in training.

    Attributes:
        pairs: Rows of (left, right), one-to-one.
        weight: How sure each is; 1 for trusted links.
    """

    pairs: IntArray
    weight: FloatArray


@dataclass(frozen=True)
class TrainingLabels:
    """Training pairs: pairs of which the right counterpart is known but not used as evidence.

    A pair with one entity of a training pair is wrong, if this entity has one link at most. In a
    many-to-many alignment no entity has: there it is wrong unless it is likely to be another link.

    Attributes:
        pairs: Rows of (left, right).
        left_fold: Fold of each left entity, NO_FOLD if it tells which pairs are wrong.
        right_fold: Fold of each right entity.
        left_weight: How surely each left entity is labelled; 0 if it is not.
        right_weight: The same of each right entity.
        cardinality: Says on which sides entities have one link at most.
        doubtful: Rows of (left, right) that may be links as well; they are not trained on.
    """

    pairs: IntArray
    left_fold: IntArray
    right_fold: IntArray
    left_weight: FloatArray
    right_weight: FloatArray
    cardinality: Cardinality = Cardinality.ONE_TO_ONE
    doubtful: IntArray = field(default_factory=lambda: NO_PAIRS)

    @staticmethod
    def from_pairs(
        training_pairs: TrainingPairs,
        sizes: tuple[int, int],
        fold_count: int,
        cardinality: Cardinality = Cardinality.ONE_TO_ONE,
    ) -> TrainingLabels:
        """Build labels from pairs, which go to the folds in turn.

        Args:
            training_pairs: The training pairs.
            sizes: Number of left and right entities.
            fold_count: Number of folds.
            cardinality: Says on which sides entities have one link at most.

        Returns:
            The labels of all entities.
        """
        pairs, weight = training_pairs
        # Both entities of a pair are in one fold: its candidates are left out together.
        fold = _number_groups(pairs, sizes) % fold_count
        folds = [np.full(size, NO_FOLD, dtype=np.int32) for size in sizes]
        weights = [np.zeros(size, dtype=np.float32) for size in sizes]
        for side, is_labelled in enumerate(cardinality.labelled_sides):
            if is_labelled:
                folds[side][pairs[:, side]] = fold
                np.maximum.at(weights[side], pairs[:, side], weight)
        return TrainingLabels(pairs, folds[0], folds[1], weights[0], weights[1], cardinality)

    def with_doubtful(self, likely: CandidateTable) -> TrainingLabels:
        """Leave likely pairs out of training, if entities may have further links.

        Args:
            likely: Pairs that are more likely right than wrong.

        Returns:
            The labels; the same where one side at least says which pairs are wrong.
        """
        if any(self.cardinality.unique_sides):
            return self
        rows = np.stack([likely.left, likely.right], axis=1)
        return replace(
            self, doubtful=rows[~mark_listed_pairs(likely.left, likely.right, self.pairs)]
        )

    def find_folds(self, table: CandidateTable) -> NDArray[np.int64]:
        """Find the fold of each candidate.

        Args:
            table: The candidates.

        Returns:
            The fold of its left entity, or else of its right one; NO_FOLD if neither is labelled,
            or if it is doubtful.
        """
        left, right = self.left_fold[table.left], self.right_fold[table.right]
        fold = np.where(left != NO_FOLD, left, right).astype(np.int64)
        fold[self.mark_doubtful(table)] = NO_FOLD
        return fold

    def mark_correct(self, table: CandidateTable) -> BoolArray:
        """Mark the candidates that are training pairs.

        Args:
            table: The candidates.

        Returns:
            A mask over the rows.
        """
        return mark_listed_pairs(table.left, table.right, self.pairs)

    def mark_doubtful(self, table: CandidateTable) -> BoolArray:
        """Mark the candidates that may be correct as well.

        Args:
            table: The candidates.

        Returns:
            A mask over the rows.
        """
        return mark_listed_pairs(table.left, table.right, self.doubtful)

    def can_train(self, table: CandidateTable) -> bool:
        """Tell whether a model can be trained without each of the folds.

        Args:
            table: The candidates.

        Returns:
            Whether there are several folds, and outside each one correct and wrong candidates.
        """
        fold, correct = self.find_folds(table), self.mark_correct(table)
        fold_count = int(fold.max(initial=NO_FOLD)) + 1
        labels = [
            correct[(fold != NO_FOLD) & (fold != left_out)] for left_out in range(fold_count)
        ]
        return fold_count > 1 and all(rows.any() and not rows.all() for rows in labels)

    def weigh_rows(self, table: CandidateTable) -> FloatArray:
        """Weigh each candidate by how surely its two entities are labelled, on average.

        Args:
            table: The candidates.

        Returns:
            A weight from 0 to 1 for each row; a row of one labelled entity counts half, unless one
            side alone is labelled.
        """
        # A correct pair is met from both of its entities at once, a wrong one from either: without
        # this weight wrong pairs would count twice, and all confidences would be too low.
        weight = self.left_weight[table.left] + self.right_weight[table.right]
        return weight / np.float32(sum(self.cardinality.labelled_sides))


def _number_groups(pairs: IntArray, sizes: tuple[int, int]) -> NDArray[np.int64]:
    """Number the pairs from 0 on; those that are connected by shared entities are one group."""
    # Imported here: it takes long, and only a training needs it.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    nodes = pairs[:, 0], pairs[:, 1].astype(np.int64) + sizes[0]
    links = coo_array((np.ones(len(pairs)), nodes), shape=(sum(sizes), sum(sizes)))
    group = connected_components(links, directed=False)[1][pairs[:, 0]]
    # In the order of their first pairs, so that the folds do not depend on how groups are found.
    _, first, place = np.unique(group, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place]


@dataclass(frozen=True)
class TrainingRows:
    """Rows of features to train a model on.

    Attributes:
        features: A row for each candidate.
        label: What the model is to predict.
        weight: How much each row counts.
        fold: Rows that are left out together in cross-fitting.
    """

    features: FloatArray
    label: BoolArray
    weight: FloatArray
    fold: NDArray[np.int64]

    def select_rows(self, rows: BoolArray) -> TrainingRows:
        """Select some rows.

        Args:
            rows: Which rows to keep.

        Returns:
            These rows.
        """
        return TrainingRows(
            self.features[rows], self.label[rows], self.weight[rows], self.fold[rows]
        )


@dataclass(frozen=True)
class ModelSize:
    """Size of a model, and the number of folds for cross-fitting (0: none)."""

    tree_count: int
    leaf_count: int
    fold_count: int


class CrossFittedModel:
    """For each fold a LightGBM model that was trained without it, and one for all other rows."""

    def __init__(self, models: list[TreeModel]) -> None:
        """Put the models together.

        Args:
            models: The model for rows of no fold first; those of the folds are needed in training
                only.
        """
        self._models = models

    @staticmethod
    def from_folds(models: Mapping[int, TreeModel]) -> CrossFittedModel:
        """Put together the models of all folds.

        Args:
            models: For each fold a model that was trained without it. For rows of no fold, the one
                that was trained on all rows (NO_FOLD), or else the mean of those of the folds.

        Returns:
            The models.
        """
        of_folds = [models[fold] for fold in sorted(models) if fold != NO_FOLD]
        whole = models[NO_FOLD] if NO_FOLD in models else average_models(of_folds)
        return CrossFittedModel([whole, *of_folds])

    @property
    def model(self) -> TreeModel:
        """The model for rows that none was trained on."""
        return self._models[0]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features that it was trained on, in order."""
        return self.model.feature_names

    def predict(self, rows: FloatArray, fold: NDArray[np.int64]) -> FloatArray:
        """Predict the probability of each row.

        Args:
            rows: Rows of features, with the columns `feature_names`.
            fold: Fold of the rows that it was trained on, NO_FOLD for others.

        Returns:
            A probability for each row.
        """
        if len(fold) and (fold == fold[0]).all():
            return self._predict_with(int(fold[0]) + 1, rows)
        out = np.empty(len(rows), dtype=np.float32)
        # Model 0 serves NO_FOLD, which is -1; fold n has model n + 1.
        for left_out in range(NO_FOLD, len(self._models) - 1):
            chosen = np.flatnonzero(fold == left_out)
            out[chosen] = self._predict_with(left_out + 1, rows[chosen])
        return out

    @cached_property
    def contributions(self) -> GroupContributions:
        """Computes what each group of features adds to the predictions of `model`."""
        return GroupContributions(self.model)

    def _predict_with(self, number: int, rows: FloatArray) -> FloatArray:
        model = self._models[number]

        def predict_chunk(first: int, end: int) -> FloatArray:
            return model.predict(rows[first:end])

        chunks = map_chunks(predict_chunk, len(rows), CHUNK_SIZE)
        # The empty array gives the type where there are no rows.
        return np.concatenate([np.empty(0, np.float32), *chunks])


@dataclass(frozen=True)
class PairClassifier:
    """One model for pairs whose literals can be compared, another for all other pairs.

    The second one scores pairs as if no entity had literals.

    Attributes:
        feature_names: Columns of the rows that it scores. Each model sees some of them.
        neighbour_model: Sees no literals.
        literal_model: None if there are no literals, or too few to train on.
    """

    feature_names: tuple[str, ...]
    neighbour_model: CrossFittedModel
    literal_model: CrossFittedModel | None

    @staticmethod
    def train(
        rows: TrainingRows,
        feature_names: tuple[str, ...],
        size: ModelSize,
        config: EvidenceParameters,
        seed: int,
        *,
        self_trained: bool = False,
        hidden: frozenset[str] = frozenset(),
    ) -> PairClassifier:
        """Train the models.

        Args:
            rows: Rows to train on.
            feature_names: Names of their columns.
            size: Size of the models.
            config: Gives the numbers of pairs that suffice, and parameters of LightGBM.
            seed: Random seed.
            self_trained: Whether the rows were chosen by match probability: then no model sees
                features that show match probabilities.
            hidden: Other features that no model is to see.

        Returns:
            The classifier.
        """
        # Features are hidden in one way only: their columns are left out of the training rows.
        if self_trained:
            # Sure pairs have no rival: a model that saw rivals would take duplicates for wrong.
            hidden |= PROBABILITY_FEATURES | list_competitor_columns(config.cardinality)
        # Two models, since the trees of a single one split by neighbours first and made too little
        # of literals (docs/decisions/0015-literal-evidence.md).
        neighbour_hidden = hidden | LITERAL_FEATURES
        neighbour_rows, literal_rows = rows, None
        comparable = _mark_comparable(rows.features, feature_names)
        if comparable.any() and _suffice(rows.select_rows(comparable), size, config):
            literal_rows, others = rows.select_rows(comparable), rows.select_rows(~comparable)
            if np.bincount(others.label, minlength=2).min() >= config.min_unnamed_training_pairs:
                neighbour_rows = others
            else:
                # Literals have decided what is known of the competitors of these pairs. A model
                # trained on that would expect as much for pairs without literals.
                neighbour_hidden |= PROBABILITY_FEATURES
        jobs = [(neighbour_rows, neighbour_hidden)]
        jobs += [(literal_rows, hidden)] if literal_rows is not None else []
        neighbour_model, *literal_models = _train_models(jobs, feature_names, size, config, seed)
        return PairClassifier(
            feature_names, neighbour_model, literal_models[0] if literal_models else None
        )

    def predict(self, rows: FloatArray, fold: NDArray[np.int64] | None = None) -> FloatArray:
        """Predict the probability of each row.

        Args:
            rows: Rows of features, with the columns `feature_names`.
            fold: Fold of the rows that it was trained on, NO_FOLD for others; without it, it was
                trained on none of them.

        Returns:
            A probability for each row.
        """
        folds = np.full(len(rows), NO_FOLD) if fold is None else fold
        if self.literal_model is None:
            return self._predict_with(self.neighbour_model, rows, folds)
        out = np.empty(len(rows), dtype=np.float32)
        for model, chosen in self._share_out(rows):
            out[chosen] = self._predict_with(model, rows[chosen], folds[chosen])
        return out

    def _share_out(self, rows: FloatArray) -> list[tuple[CrossFittedModel, NDArray[np.int64]]]:
        if self.literal_model is None:
            return [(self.neighbour_model, np.arange(len(rows)))]
        comparable = _mark_comparable(rows, self.feature_names)
        return [
            (self.neighbour_model, np.flatnonzero(~comparable)),
            (self.literal_model, np.flatnonzero(comparable)),
        ]

    def predict_matches(
        self, rows: FloatArray, fold: NDArray[np.int64] | None = None
    ) -> FloatArray:
        """Predict the match probability of each row; of equal ones, more support is more probable.

        Args:
            rows: Rows of features, with the columns `feature_names`.
            fold: See `predict`.

        Returns:
            A probability for each row.
        """
        # Trees have few leaves: with little to train on, right and wrong pairs share one.
        return (1 - TIE_WEIGHT) * self.predict(rows, fold) + self._weigh_support(rows)

    def compute_contributions(self, rows: FloatArray) -> FloatArray:
        """Compute what each group of features adds to the match probability of each row.

        Args:
            rows: Rows of features, with the columns `feature_names`; it was trained on none of
                them.

        Returns:
            A row of `GROUP_NAMES` for each. What `predict_matches` gives a row for its support is
            from the neighbours.
        """
        out = np.empty((len(rows), len(GROUP_NAMES)), dtype=np.float32)
        for model, chosen in self._share_out(rows):
            seen = _take_columns(rows[chosen], self.feature_names, model.feature_names)
            out[chosen] = model.contributions.compute(seen)
        out *= 1 - TIE_WEIGHT
        out[:, NEIGHBOURS] += self._weigh_support(rows)
        return out

    def _weigh_support(self, rows: FloatArray) -> FloatArray:
        """What decides between rows that the trees cannot tell apart."""
        support = np.zeros(len(rows), dtype=np.float32)
        for name in SUPPORT_COLUMNS:
            if name in self.feature_names:
                support += np.nan_to_num(rows[:, self.feature_names.index(name)], nan=0)
        return TIE_WEIGHT * support / (1 + support)

    def _predict_with(
        self, model: CrossFittedModel, rows: FloatArray, fold: NDArray[np.int64]
    ) -> FloatArray:
        return model.predict(_take_columns(rows, self.feature_names, model.feature_names), fold)


@dataclass(frozen=True)
class TrainedModels:
    """What was learned from the training pairs.

    Attributes:
        classifier: Predicts whether a candidate is correct, given that there is a counterpart.
        dangling_classifier: Predicts whether an entity is dangling from its best candidate, if
            half of all entities were.
        no_candidate_dangling: The same probability for an entity of the first version without any
            candidate, and for a later one.
        relation_rates: How often entities with each relation have a known link.
    """

    classifier: PairClassifier
    dangling_classifier: PairClassifier
    no_candidate_dangling: tuple[float, float]
    relation_rates: RelationRates


def train_classifier(
    compared: ComparedCandidates, labels: TrainingLabels, seed: int
) -> PairClassifier:
    """Train the classifier on the candidates of labelled entities.

    Args:
        compared: All candidates.
        labels: The training pairs.
        seed: Random seed.

    Returns:
        The classifier.
    """
    fold, config = labels.find_folds(compared.table), compared.graphs.config
    rows = np.flatnonzero(fold != NO_FOLD)
    training_rows = TrainingRows(
        compared.compute_features(rows),
        labels.mark_correct(compared.table)[rows],
        labels.weigh_rows(compared.table)[rows],
        fold[rows],
    )
    return PairClassifier.train(
        training_rows,
        compared.feature_names,
        ModelSize(config.tree_count, config.leaf_count, config.fold_count),
        config,
        seed,
        self_trained=compared.graphs.self_trained,
    )


def classify_all(
    compared: ComparedCandidates,
    classifier: PairClassifier,
    labels: TrainingLabels | None = None,
) -> MatchProbabilities:
    """Compute the match probabilities of all candidates.

    Args:
        compared: The candidates.
        classifier: The classifier.
        labels: What it was trained on, if these candidates are among it.

    Returns:
        The match probabilities; each by a model that was not trained on that candidate.
    """
    rows = np.arange(len(compared.previous))
    return MatchProbabilities(compared.table, _classify(compared, classifier, labels, rows))


def classify_refreshed(
    compared: ComparedCandidates, classifier: PairClassifier, labels: TrainingLabels | None = None
) -> MatchProbabilities:
    """Compute the match probabilities of the candidates that were compared again.

    Args:
        compared: The candidates.
        classifier: The classifier of the round before.
        labels: What it was trained on, if these candidates are among it.

    Returns:
        The match probabilities of all candidates; those not compared again keep theirs.
    """
    probability = compared.previous.copy()
    probability[compared.refreshed] = _classify(compared, classifier, labels, compared.refreshed)
    return MatchProbabilities(compared.table, probability)


def _classify(
    compared: ComparedCandidates,
    classifier: PairClassifier,
    labels: TrainingLabels | None,
    rows: NDArray[np.int64],
) -> FloatArray:
    fold = np.full(len(rows), NO_FOLD)
    if labels is not None:
        fold = labels.find_folds(compared.table)[rows]
    # By fold, so that nearly all chunks need one model.
    order = np.argsort(fold, kind="stable") if labels is not None else np.arange(len(rows))
    features = compared.prepare_features()

    def classify_chunk(first: int, end: int) -> FloatArray:
        # Features are used up at once: those of all candidates would take memory for nothing.
        chosen = order[first:end]
        return classifier.predict_matches(features.compute_rows(rows[chosen]), fold[chosen])

    ordered = np.empty(len(rows), dtype=np.float32)
    fill_chunks(classify_chunk, ordered, FEATURE_CHUNK_SIZE)
    probability = np.empty_like(ordered)
    probability[order] = ordered
    return probability


def _take_columns(rows: FloatArray, names: tuple[str, ...], wanted: tuple[str, ...]) -> FloatArray:
    if wanted == names:
        return rows
    return np.take(rows, [names.index(name) for name in wanted], axis=1)


def _mark_comparable(rows: FloatArray, names: tuple[str, ...]) -> BoolArray:
    """Mark the rows with any feature of literals that is not missing."""
    # Missing values, not zeros, say that no attributes correspond or that a name is missing.
    columns = np.flatnonzero([name in LITERAL_FEATURES for name in names])
    return np.asarray((~np.isnan(rows[:, columns])).any(axis=1), dtype=np.bool_)


def _suffice(rows: TrainingRows, size: ModelSize, config: EvidenceParameters) -> bool:
    """Whether there are enough correct and wrong pairs without each of the folds."""
    for left_out in range(size.fold_count) if size.fold_count else (NO_FOLD,):
        label = rows.label[rows.fold != left_out]
        # Each model of a fold is trained on what is left without the fold, so that must suffice.
        least = config.min_literal_training_pairs
        if not least <= np.count_nonzero(label) <= len(label) - least:
            return False
    return True


def _train_models(
    jobs: list[tuple[TrainingRows, frozenset[str]]],
    names: tuple[str, ...],
    size: ModelSize,
    config: EvidenceParameters,
    seed: int,
) -> list[CrossFittedModel]:
    """Train a model for each job: rows, and the names of features to be hidden."""
    prepared = []
    for rows, hidden in jobs:
        seen = tuple(name for name in names if name not in hidden)
        features = _take_columns(rows.features, names, seen)
        prepared.append((TrainingRows(features, rows.label, rows.weight, rows.fold), seen))
    datasets = map_parallel(lambda n: _create_dataset(*prepared[n]), len(prepared))
    trainings = [
        (job, left_out)
        for job, (rows, _) in enumerate(prepared)
        for left_out in _list_left_out(len(rows.label), size, config)
    ]
    # The models of all jobs and folds are trained in parallel.
    models = map_parallel(
        lambda n: _train_model(
            prepared[trainings[n][0]][0],
            datasets[trainings[n][0]],
            trainings[n][1],
            size,
            config,
            seed,
        ),
        len(trainings),
    )
    trained: list[dict[int, TreeModel]] = [{} for _ in prepared]
    for (job, left_out), model in zip(trainings, models, strict=True):
        trained[job][left_out] = model
    return [CrossFittedModel.from_folds(of_job) for of_job in trained]


def _list_left_out(row_count: int, size: ModelSize, config: EvidenceParameters) -> list[int]:
    """List the folds that the models are trained without; NO_FOLD for one trained on all rows."""
    folds = [*range(size.fold_count)]
    # Half of few rows is too little to learn from.
    return [NO_FOLD, *folds] if not folds or row_count <= config.averaged_rows else folds


def _create_dataset(rows: TrainingRows, names: tuple[str, ...]) -> Any:
    """Sort the values of each feature into bins, once for the models of all folds."""
    import lightgbm

    dataset = lightgbm.Dataset(
        rows.features,
        rows.label.astype(np.float32),
        weight=rows.weight,
        feature_name=list(names),
        # Its filter of features depends on a parameter that differs between the folds.
        params={"verbosity": -1, "num_threads": 1, "feature_pre_filter": False},
    )
    return dataset.construct()


def _train_model(
    rows: TrainingRows,
    dataset: Any,
    left_out: int,
    size: ModelSize,
    config: EvidenceParameters,
    seed: int,
) -> TreeModel:
    import lightgbm

    chosen = np.arange(len(rows.fold))
    data = dataset
    if left_out != NO_FOLD:
        chosen = np.flatnonzero(rows.fold != left_out)
        data = dataset.subset(chosen)
    # With few correct pairs, LightGBM's default would not let a leaf hold them alone.
    max_rows = np.count_nonzero(rows.label[chosen]) // config.positives_per_leaf_row
    parameters = {
        **LIGHTGBM_PARAMETERS,
        "learning_rate": config.learning_rate,
        "num_leaves": size.leaf_count,
        "min_child_samples": max(1, min(config.max_leaf_rows, max_rows)),
        "seed": seed,
    }
    model_count = min(config.averaged_rows // max(len(rows.label), 1), config.max_averaged_models)
    if model_count > 1:
        share = config.bagging_share
        parameters |= {"bagging_freq": 1, "bagging_fraction": share, "feature_fraction": share}
    models = [
        lightgbm.train(
            parameters | {"seed": seed + number},
            data,
            num_boost_round=size.tree_count,
            # Otherwise it would be written and parsed once more, to be independent of its data.
            keep_training_booster=True,
        )
        for number in range(max(model_count, 1))
    ]
    return average_models([parse_trees(model.model_to_string()) for model in models])
