"""Prediction by trees as bit vectors, against LightGBM's own prediction."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pytest

from everalign.errors import StateDamagedError
from everalign.methods.evidence.adjacency import FloatArray
from everalign.methods.evidence.trees import (
    BLOCK_SIZE,
    MAX_LEAVES,
    TreeModel,
    average_models,
    parse_trees,
)

QUIET = {"verbosity": -1, "num_threads": 1, "deterministic": True}


def rows(count: int, missing: float, seed: int = 0) -> FloatArray:
    """Numbers of all signs with many equal ones, zeros, and a share of missing values."""
    rng = np.random.default_rng(seed)
    out = np.round(rng.normal(size=(count, 6)), 1).astype(np.float32)
    out[:, 5] *= 1e30
    out[rng.random(out.shape) < missing] = np.nan
    return out


def train(missing: float, leaves: int, trees: int = 12, **options: Any) -> lightgbm.Booster:
    features = rows(800, missing)
    known = np.nan_to_num(features)
    label = (known[:, 0] * known[:, 1] + known[:, 2] > 0.2).astype(np.float32)
    settings = {"objective": "binary", "num_leaves": leaves, "min_child_samples": 3} | options
    return lightgbm.train(settings | QUIET, lightgbm.Dataset(features, label), trees)


def check_same(model: lightgbm.Booster, features: FloatArray) -> None:
    expected = np.asarray(model.predict(features, num_threads=1), dtype=np.float32)
    found = parse_trees(model.model_to_string()).predict(features)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("leaves", [2, 3, 8, 15, 30, MAX_LEAVES])
def test_predictions_are_those_of_lightgbm(missing: float, leaves: int) -> None:
    model = train(missing, leaves)
    # Values that were missing in training or not; none, one and several blocks of rows.
    for count in (0, 1, BLOCK_SIZE, 2 * BLOCK_SIZE + 5):
        for share in (0.0, 0.5):
            check_same(model, rows(count, share, seed=count + 1))
    extreme = np.array([[-np.inf, np.inf, 0, -0.0, 1e-38, 3e38]], dtype=np.float32)
    check_same(model, np.concatenate([extreme, extreme[:, ::-1].copy()]))


def test_values_at_a_threshold_go_left() -> None:
    model = train(0.0, 15)
    nodes = parse_trees(model.model_to_string())
    features = np.zeros((3 * len(nodes.threshold), 6), dtype=np.float32)
    for n, (feature, threshold) in enumerate(zip(nodes.feature, nodes.threshold, strict=True)):
        features[3 * n : 3 * n + 3, feature] = (
            np.nextafter(threshold, np.float32(-np.inf)),
            threshold,
            np.nextafter(threshold, np.float32(np.inf)),
        )
    check_same(model, features)


def test_a_model_without_any_split() -> None:
    model = train(0.0, 4, min_child_samples=10_000)
    assert parse_trees(model.model_to_string()).threshold.size == 0
    check_same(model, rows(9, 0.2))


def test_names_of_features() -> None:
    names = parse_trees(train(0.0, 4).model_to_string()).feature_names
    assert names == tuple(f"Column_{n}" for n in range(6))


@pytest.mark.parametrize(
    "options", [{"leaves": MAX_LEAVES + 1}, {"leaves": 8, "zero_as_missing": True}]
)
def test_models_that_bits_cannot_tell_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(StateDamagedError, match="a model cannot be read"):
        parse_trees(train(0.3, **options).model_to_string())


def test_other_objectives_are_refused() -> None:
    with pytest.raises(StateDamagedError, match="not a boosted binary classifier"):
        parse_trees(train(0.0, 4, objective="regression").model_to_string())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("split_feature=", "split_feature=99 "),
        ("left_child=", "left_child=0 "),
        ("leaf_value=", "leaf="),
        ("threshold=", "threshold=x "),
    ],
)
def test_damaged_texts_are_refused(old: str, new: str) -> None:
    text = train(0.0, 8).model_to_string()
    with pytest.raises(StateDamagedError):
        parse_trees(text.replace(old, new, 1))


def test_a_model_is_the_same_after_it_was_stored() -> None:
    model = parse_trees(train(0.3, 8).model_to_string())
    again = TreeModel.from_arrays(model.to_arrays())
    assert again.feature_names == model.feature_names
    features = rows(300, 0.2)
    assert again.predict(features).tolist() == model.predict(features).tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [("feature", 6), ("feature", -1), ("kept", 0), ("kept", 1 << 31), ("tree_start", 7)],
)
def test_arrays_that_lead_out_of_the_model_are_refused(name: str, value: int) -> None:
    arrays = parse_trees(train(0.0, 8).model_to_string()).to_arrays()
    # The last one, so that `tree_start` no longer ends with the last node.
    arrays[name] = np.array([*arrays[name][:-1], value], arrays[name].dtype)
    with pytest.raises(StateDamagedError, match="refers to what is not there"):
        TreeModel.from_arrays(arrays)


# Models of several sizes, one of them without any split.
AVERAGED = (
    {"leaves": 4, "seed": 1},
    {"leaves": 15, "trees": 5, "bagging_freq": 1, "bagging_fraction": 0.5},
    {"leaves": 4, "min_child_samples": 10_000},
)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_average_of_models_is_that_of_their_log_odds(count: int) -> None:
    boosters = [train(0.3, **options) for options in AVERAGED[:count]]
    average = average_models([parse_trees(model.model_to_string()) for model in boosters])
    features = rows(2 * BLOCK_SIZE + 5, 0.2, seed=3)
    log_odds = [model.predict(features, raw_score=True, num_threads=1) for model in boosters]
    expected = 1 / (1 + np.exp(-np.mean(log_odds, axis=0)))
    np.testing.assert_allclose(average.predict(features), expected, rtol=1e-6)
    # It is a model like any other.
    again = TreeModel.from_arrays(average.to_arrays())
    assert again.predict(features).tolist() == average.predict(features).tolist()


def test_the_average_of_equal_models_is_each_of_them() -> None:
    model = parse_trees(train(0.3, 8).model_to_string())
    features = rows(300, 0.2)
    average = average_models([model, model])
    np.testing.assert_allclose(average.predict(features), model.predict(features), rtol=1e-6)
