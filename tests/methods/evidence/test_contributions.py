"""Contributions against LightGBM's TreeSHAP, and against the sum that they must have."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import lightgbm
import numpy as np
import pytest
from tests.conftest import Run
from tests.methods.evidence.test_trees import rows, train

from everalign import Aligner, CandidateExplanation, ChangeSet, Config
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.cardinality import Cardinality
from everalign.methods.evidence.classifier import TIE_WEIGHT, CrossFittedModel, PairClassifier
from everalign.methods.evidence.contributions import (
    GROUP_NAMES,
    PART_NAMES,
    GroupContributions,
    SubsetModel,
    compute_shapley_values,
    group_feature,
)
from everalign.methods.evidence.features import GROUP_COLUMNS
from everalign.methods.evidence.trees import TreeModel, average_models, parse_trees
from everalign.state.ledger import MIN_SCORE_CHANGE

FEATURE_COUNT = 6


def evaluate(trees: TreeModel, groups: np.ndarray, features: np.ndarray) -> np.ndarray:
    return SubsetModel.from_model(trees, groups, groups.max() + 1).evaluate_subsets(features)


def split(model: lightgbm.Booster, features: np.ndarray) -> np.ndarray:
    trees = parse_trees(model.model_to_string())
    values = evaluate(trees, np.arange(FEATURE_COUNT), features)
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
    features, groups = rows(20, 0.2, seed=3), np.array([0, 1, 0, 2, 1, 2])
    values, single = evaluate(trees, groups, features), evaluate(trees, np.arange(6), features)
    for size in range(4):
        for subset in combinations(range(3), size):
            known = sum(1 << feature for feature in range(6) if groups[feature] in subset)
            number = sum(1 << group for group in subset)
            assert np.allclose(values[:, number], single[:, known], atol=1e-12)


def test_averaged_models_have_averaged_values() -> None:
    one, two = (parse_trees(train(0.0, leaves).model_to_string()) for leaves in (4, 9))
    both, features = average_models([one, two]), rows(9, 0.1)
    found = [evaluate(model, np.arange(FEATURE_COUNT), features) for model in (one, two, both)]
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
        ("word_cosine", "names and values"),
        ("code_overlap", "names and values"),
        ("word_margin_left", "rivals"),
        ("category_overlap_left", "names and values"),
        ("category_conflict_right", "names and values"),
    ):
        assert GROUP_NAMES[group_feature(name)] == group


def classifier(feature_names: tuple[str, ...]) -> PairClassifier:
    """One model for pairs with and without literals, with other names of its features."""
    trees = parse_trees(train(0.2, 8).model_to_string())
    model = CrossFittedModel([trees._replace(feature_names=feature_names)])
    return PairClassifier(feature_names, model, None)


def test_contributions_and_prior_are_the_match_probability() -> None:
    names = ("support", "best_literal", "shared_left", "name_margin_left", "word_cosine", "x")
    scorer, features = classifier(names), rows(300, 0.2, seed=4)
    features[:, 0] = np.abs(features[:, 0])
    contributions = scorer.compute_contributions(features)
    prior = scorer.predict_matches(features) - contributions.sum(axis=1)
    log_odds = evaluate(scorer.neighbour_model.model, np.zeros(6, np.int64), features)[0, 0]
    assert np.abs(prior - (1 - TIE_WEIGHT) / (1 + np.exp(-log_odds))).max() < 5e-7


def test_support_that_decides_between_equals_is_from_the_neighbours() -> None:
    # No tree tests the last feature.
    names = ("shared_left", "best_literal", "name_margin_left", "a", "b", "c", "support")
    trees = classifier(names[:-1]).neighbour_model.model
    model = CrossFittedModel([trees._replace(feature_names=names)])
    scorer = PairClassifier(names, model, None)
    features = np.column_stack([np.repeat(rows(1, 0.0), 2, axis=0), [0.0, 4.0]]).astype(np.float32)
    one, other = scorer.compute_contributions(features)
    assert other - one == pytest.approx([0.8 * TIE_WEIGHT, 0, 0], abs=2e-7)


@pytest.mark.parametrize("group", [0, 1, 2])
def test_a_group_that_no_tree_tests_adds_nothing(group: int) -> None:
    tested = ["shared_left", "best_literal", "name_margin_left"]
    del tested[group]
    names = tuple(tested[n % 2] for n in range(FEATURE_COUNT))
    parts = GroupContributions(classifier(names).neighbour_model.model).compute(rows(9, 0.1))
    assert (parts[:, group] == 0).all()
    assert (np.delete(parts, group, axis=1) != 0).any(axis=0).all()


def list_candidates(aligner: Aligner) -> list[CandidateExplanation]:
    """Candidates of entities with links, proposals and neither, from both sides."""
    with aligner.session() as view:
        pages = [view.links(limit=60, origin=origin) for origin in ("found", "proposed")]
        entities = [
            name for page in pages for link in page.links for name in (link.left, link.right)
        ]
        return [
            candidate
            for entity in entities
            for side in view.explain(entity).sides
            for candidate in side.candidates
        ]


def check_candidates(aligner: Aligner, trusted: set[tuple[str, str]]) -> None:
    priors = []
    for candidate in list_candidates(aligner):
        if (candidate.left, candidate.right) in trusted:
            assert candidate.contributions == ()
            continue
        assert tuple(part.group for part in candidate.contributions) == PART_NAMES
        values = [part.value for part in candidate.contributions]
        assert abs(sum(values) - candidate.confidence) < 1e-6
        assert values[-1] <= 1e-6
        priors.append(values[0])
    assert len(priors) > 100
    # What is left when all groups are taken away is what a model expects of any pair: a number for
    # each model, with and without literals, for all pairs and without each of the two folds.
    assert np.count_nonzero(np.diff(np.sort(priors)) > 1e-6) < 6


@pytest.mark.slow
@pytest.mark.parametrize("cardinality", ["one-to-one", "many-to-many"])
@pytest.mark.parametrize("names", [False, True])
def test_five_parts_add_up_to_the_confidence(
    tmp_path: Path, everalign: Run, names: bool, cardinality: str
) -> None:
    copies = 0.0 if cardinality == "one-to-one" else 0.2
    sample = generate_sample(SampleConfig(triples=6000, snapshots=2, left_duplicate_share=copies))
    left, right = list(sample.left(0)), list(sample.right(0))
    if names:
        left += [(entity, "label", f'"{text}"') for entity, text in sample.left_labels()]
        right += [(entity, "label", f'"{text}"') for entity, text in sample.right_labels()]
    seeds = [*sample.seeds, *sample.validation_links]
    config = Config(cardinality=Cardinality(cardinality))
    aligner = Aligner.create(tmp_path / "state", left, right, seeds, config=config)
    trusted = set(seeds)
    check_candidates(aligner, trusted)
    # Removals leave pairs without evidence.
    change = ChangeSet(removed_left=left[:40], removed_right=right[100:140])
    aligner.update(sample.left(1)[:50], sample.right(1)[:50], change=change)
    check_candidates(aligner, trusted)
    found = [link for link in aligner.links() if link.origin == "found"]
    aligner.reject([(link.left, link.right) for link in found[:8]])
    confirmed = [(link.left, link.right) for link in found[8:12]]
    aligner.confirm(confirmed)
    aligner.no_counterpart(left=[found[12].left], right=[found[13].right])
    aligner.update()
    check_candidates(aligner, trusted | set(confirmed))
    link = next(link for link in aligner.links() if link.origin == "found")
    answer = json.loads(everalign("explain", tmp_path / "state", link.left, "--json").stdout)
    shown = next(row for row in answer["sides"][0]["candidates"] if row["right"] == link.right)
    assert [part["group"] for part in shown["contributions"]] == list(PART_NAMES)
    total = sum(part["value"] for part in shown["contributions"])
    assert abs(total - shown["confidence"]) < 1e-6
    # Lesser changes of the score of a link are not recorded.
    assert abs(total - link.score) < MIN_SCORE_CHANGE
