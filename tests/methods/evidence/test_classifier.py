"""The two models of the classifier: what each is trained on, and which features it sees."""

from __future__ import annotations

import numpy as np
import pytest

from everalign.methods.evidence.adjacency import FloatArray
from everalign.methods.evidence.classifier import (
    CrossFittedModel,
    ModelSize,
    PairClassifier,
    TrainingRows,
)
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.features import (
    GROUP_COLUMNS,
    LITERAL_FEATURES,
    LITERALS,
    PAIR,
    PROBABILITY_FEATURES,
    SIDE,
)
from everalign.methods.evidence.trees import TreeModel

CONFIG = EvidenceParameters()
SIZE = ModelSize(tree_count=20, leaf_count=4, fold_count=2)
NAMES = (*GROUP_COLUMNS[PAIR], *GROUP_COLUMNS[SIDE], *GROUP_COLUMNS[LITERALS])
MANY = CONFIG.min_unnamed_training_pairs


def rows(count: int, *, named: bool, support: float, competitor: float) -> FloatArray:
    """Pairs with this support and this probability of competitors; names agree by as much."""
    out = np.random.default_rng(count).random((count, len(NAMES))).astype(np.float32)
    for column, name in enumerate(NAMES):
        if name == "support":
            out[:, column] = support
        if name in PROBABILITY_FEATURES:
            out[:, column] = competitor
        if name in LITERAL_FEATURES:
            out[:, column] = support if named else np.nan
    return out


def classifier(unnamed: int, *, self_trained: bool = False) -> PairClassifier:
    """Of the 600 pairs with names, correct ones have support; of the pairs without, wrong ones
    have a probable competitor."""
    parts = [rows(300, named=True, support=right, competitor=1 - right) for right in range(2)]
    parts += [rows(unnamed, named=False, support=0.5, competitor=1 - right) for right in range(2)]
    label = np.repeat([False, True] * 2, [len(part) for part in parts])
    weight, fold = np.ones(len(label), dtype=np.float32), np.arange(len(label)) % 2
    training_rows = TrainingRows(np.concatenate(parts), label, weight, fold)
    return PairClassifier.train(
        training_rows, NAMES, SIZE, CONFIG, seed=0, self_trained=self_trained
    )


def predict(trained: PairClassifier, support: float, competitor: float) -> float:
    """The probability of a pair without names."""
    row = rows(1, named=False, support=support, competitor=competitor)
    return float(trained.predict(row)[0])


def test_with_few_unnamed_pairs_the_neighbour_model_does_not_see_competitors() -> None:
    trained = classifier(unnamed=20)
    assert predict(trained, 1, competitor=1) == predict(trained, 1, competitor=0) > 0.8
    assert predict(trained, 0, competitor=0) < 0.2


def test_with_many_unnamed_pairs_the_neighbour_model_is_trained_on_these_alone() -> None:
    trained = classifier(unnamed=MANY)
    assert predict(trained, 1, competitor=1) == predict(trained, 0, competitor=1) < 0.2
    assert predict(trained, 0, competitor=0) > 0.8


def test_self_trained_models_do_not_see_competitors() -> None:
    trained = classifier(unnamed=MANY, self_trained=True)
    assert trained.literal_model is not None
    for model in (trained.neighbour_model, trained.literal_model):
        assert not PROBABILITY_FEATURES & set(model.feature_names)
    assert trained.feature_names == NAMES


@pytest.mark.parametrize("unnamed", [20, MANY])
def test_a_restored_classifier_predicts_the_same(unnamed: int) -> None:
    trained = classifier(unnamed)
    assert trained.literal_model is not None
    neighbour_model, literal_model = (
        CrossFittedModel([TreeModel.from_arrays(model.model.to_arrays())])
        for model in (trained.neighbour_model, trained.literal_model)
    )
    restored = PairClassifier(NAMES, neighbour_model, literal_model)
    assert restored.neighbour_model.feature_names == trained.neighbour_model.feature_names
    some = np.concatenate(
        [rows(5, named=named, support=1, competitor=0.3) for named in (False, True)]
    )
    assert restored.predict(some).tolist() == trained.predict(some).tolist()
