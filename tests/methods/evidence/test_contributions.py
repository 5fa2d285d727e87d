"""Contributions against LightGBM's TreeSHAP, and against the sum that they must have."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import lightgbm
import numpy as np
import pytest
from tests.methods.evidence.test_trees import rows, train

from everalign import Aligner, Config
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.methods.evidence.contributions import (
    GROUP_NAMES,
    PART_NAMES,
    SubsetTrees,
    compute_shapley_values,
    evaluate_subsets,
    group_feature,
)
from everalign.methods.evidence.features import GROUP_COLUMNS
from everalign.methods.evidence.trees import average_models, parse_trees

FEATURE_COUNT = 6


def split(model: lightgbm.Booster, features: np.ndarray) -> np.ndarray:
    trees = parse_trees(model.model_to_string())
    every = np.arange(FEATURE_COUNT)
    values = evaluate_subsets(SubsetTrees.from_model(trees, every, FEATURE_COUNT), features)
    return np.column_stack([compute_shapley_values(values), values[:, 0]])


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("leaves", [2, 5, 15, 31])
def test_each_feature_by_itself_is_what_tree_shap_gives(missing: float, leaves: int) -> None:
    model = train(missing, leaves)
    features = rows(60, 0.4, seed=9)
    expected = np.asarray(model.predict(features, pred_contrib=True, num_threads=1))
    assert np.abs(split(model, features) - expected).max() < 1e-9


def test_a_model_without_any_split_has_nothing_but_a_prior() -> None:
    model = train(0.0, 4, min_child_samples=10_000)
    parts = split(model, rows(5, 0.0))
    assert (parts[:, :-1] == 0).all()
    assert np.allclose(parts[:, -1], model.predict(rows(5, 0.0), raw_score=True))


def test_groups_are_players_of_their_own() -> None:
    """The value of a group comes from the definition: all orders in which groups are known."""
    trees = parse_trees(train(0.2, 8).model_to_string())
    features = rows(20, 0.2, seed=3)
    groups = np.array([0, 1, 0, 2, 1, 2])
    values = evaluate_subsets(SubsetTrees.from_model(trees, groups, 3), features)
    single = evaluate_subsets(SubsetTrees.from_model(trees, np.arange(6), 6), features)
    for size in range(4):
        for subset in combinations(range(3), size):
            known = sum(1 << feature for feature in range(6) if groups[feature] in subset)
            number = sum(1 << group for group in subset)
            assert np.allclose(values[:, number], single[:, known], atol=1e-12)


def test_averaged_models_have_averaged_values() -> None:
    one, two = (parse_trees(train(0.0, leaves).model_to_string()) for leaves in (4, 9))
    both, features = average_models([one, two]), rows(9, 0.1)
    every = np.arange(FEATURE_COUNT)
    found = [
        evaluate_subsets(SubsetTrees.from_model(model, every, FEATURE_COUNT), features)
        for model in (one, two, both)
    ]
    assert np.allclose((found[0] + found[1]) / 2, found[2])


def test_every_feature_has_a_group() -> None:
    columns = [name for names in GROUP_COLUMNS.values() for name in names]
    assert {GROUP_NAMES[group_feature(name)] for name in columns} == set(GROUP_NAMES)
    for name, group in (
        ("support", "neighbours"),
        ("log_degree_left", "neighbours"),
        ("vector_similarity", "neighbours"),
        ("best_literal", "names and values"),
        ("name_margin_right", "rivals"),
        ("competitor_probability_left", "rivals"),
        ("min_support_margin", "rivals"),
    ):
        assert GROUP_NAMES[group_feature(name)] == group


@pytest.mark.slow
@pytest.mark.parametrize("names", [False, True])
def test_parts_add_up_to_the_confidence(tmp_path: Path, names: bool) -> None:
    sample = generate_sample(SampleConfig(triples=6000, snapshots=2))
    left, right = list(sample.left(0)), list(sample.right(0))
    if names:
        left += [(entity, "label", f'"{text}"') for entity, text in sample.left_labels()]
        right += [(entity, "label", f'"{text}"') for entity, text in sample.right_labels()]
    seeds = [*sample.seeds, *sample.validation_links]
    aligner = Aligner.create(tmp_path / "state", left, right, seeds, config=Config())
    aligner.update(sample.left(1)[:50], sample.right(1)[:50])
    seen = 0
    with aligner.session() as view:
        for link in view.links(limit=40, origin="found").links:
            for candidate in view.explain(link.left).sides[0].candidates:
                assert tuple(part.group for part in candidate.contributions) == PART_NAMES
                total = sum(part.value for part in candidate.contributions)
                assert abs(total - candidate.confidence) < 1e-6
                seen += 1
        given = view.links(limit=1, origin="given").links[0]
        assert view.explain(given.left).sides[0].candidates[0].contributions == ()
    assert seen > 40
