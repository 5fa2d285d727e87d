"""What the models are trained on, by how much each pair counts, and what they must not see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from tests.methods.evidence.samples import NO_LINKS, sampled

from everalign._progress import no_progress
from everalign.benchmark.synthetic import SampleConfig
from everalign.cardinality import Cardinality
from everalign.graph import Graph
from everalign.methods.evidence.candidates import CandidateTable, MatchProbabilities
from everalign.methods.evidence.classifier import (
    ModelSize,
    PairClassifier,
    TrainingLabels,
    TrainingPairs,
    TrainingRows,
)
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.dangling import (
    COUNT_FEATURES,
    DanglingExample,
    train_dangling_classifier,
)
from everalign.methods.evidence.features import compare_candidates
from everalign.methods.evidence.propagation import GraphPair, propagate
from everalign.methods.evidence.training import SeedSplit

Pair = tuple[int, int]
CONFIG = EvidenceParameters()
PATH = Graph.from_triples([(n, 0, n + 1) for n in range(9)])


def build_probabilities(pairs: Mapping[Pair, float]) -> MatchProbabilities:
    left, right = np.array(list(pairs), dtype=np.int32).T
    table = CandidateTable.from_pairs(left, right, (10, 10))
    probability = [pairs[pair] for pair in zip(table.left, table.right, strict=True)]
    return MatchProbabilities(table, np.array(probability, dtype=np.float32))


def choose(
    pairs: Mapping[Pair, float],
    held_out: list[Pair],
    config: EvidenceParameters = CONFIG,
    *,
    by_names: bool = True,
    first_counts: tuple[int, int] = (10, 10),
) -> dict[Pair, float]:
    """The training pairs and their weights."""
    graphs = GraphPair.from_graphs(PATH, PATH, NO_LINKS, config)
    links = np.array(held_out, dtype=np.int32).reshape(-1, 2)
    split = SeedSplit(NO_LINKS, links, has_sufficient=False)
    chosen = split.choose_training_pairs(
        replace(graphs, self_trained=by_names), build_probabilities(pairs), first_counts
    )
    rows = map(tuple, chosen.pairs.tolist())
    return dict(zip(rows, np.round(chosen.weight, 3).tolist(), strict=True))


def test_likely_pairs_are_training_pairs_by_their_probability() -> None:
    found = choose({(0, 0): 0.95, (0, 1): 0.4, (1, 1): 0.5, (2, 2): 0.1, (3, 3): 0.09}, [])
    assert found == pytest.approx({(0, 0): 0.95, (1, 1): 0.5, (2, 2): 0.1}, abs=1e-3)


def test_held_out_links_count_in_full_and_exclude_their_competitors() -> None:
    found = choose({(0, 0): 0.3, (4, 4): 0.6, (4, 5): 0.9, (6, 4): 0.9}, [(4, 4)])
    assert found == pytest.approx({(4, 4): 1, (0, 0): 0.3}, abs=1e-3)


def test_without_names_only_entities_of_the_first_version_teach() -> None:
    pairs = {(0, 0): 0.95, (1, 7): 0.95, (7, 1): 0.95, (8, 8): 0.95}
    found = choose(pairs, [(9, 9)], by_names=False, first_counts=(7, 7))
    assert found == pytest.approx({(9, 9): 1, (0, 0): 0.95}, abs=1e-3)
    assert len(choose(pairs, [], first_counts=(7, 7))) == 4


def test_many_to_many_takes_only_what_is_more_likely_right_than_wrong() -> None:
    config = replace(CONFIG, cardinality=Cardinality.MANY_TO_MANY)
    found = choose({(0, 0): 0.95, (0, 1): 0.6, (1, 1): 0.4}, [], config)
    assert found == pytest.approx({(0, 0): 0.95, (0, 1): 0.6}, abs=1e-3)


def test_sufficient_held_out_links_are_the_only_training_pairs() -> None:
    graphs = GraphPair.from_graphs(PATH, PATH, NO_LINKS, CONFIG)
    split = SeedSplit(NO_LINKS, np.array([[4, 4]], dtype=np.int32), has_sufficient=True)
    chosen = split.choose_training_pairs(graphs, build_probabilities({(0, 0): 0.95}), (10, 10))
    assert (chosen.pairs.tolist(), chosen.weight.tolist()) == ([[4, 4]], [1])


def test_a_row_counts_by_how_surely_its_entities_are_labelled() -> None:
    pairs = TrainingPairs(
        np.array([(0, 0), (1, 1)], dtype=np.int32), np.array([0.8, 0.2], dtype=np.float32)
    )
    labels = TrainingLabels.from_pairs(pairs, (3, 3), fold_count=2)
    left, right = np.array([(0, 0), (0, 1), (0, 2), (1, 1), (2, 2)], dtype=np.int32).T
    table = CandidateTable.from_pairs(left, right, (3, 3))
    assert labels.weigh_rows(table).tolist() == pytest.approx([0.8, 0.5, 0.4, 0.2, 0])


def test_unsure_pairs_teach_less() -> None:
    """One feature. Where it is 1, sure pairs are correct, and unsure ones would be wrong."""
    feature = np.repeat([0, 1, 1], 200).astype(np.float32)[:, None]
    label = np.repeat([False, True, False], 200)
    size = ModelSize(CONFIG.tree_count, leaf_count=4, fold_count=0)

    def train(unsure: float) -> float:
        weight = np.repeat([1, 1, unsure], 200).astype(np.float32)
        rows = TrainingRows(feature, label, weight, np.zeros(600, dtype=np.int64))
        model = PairClassifier.train(rows, ("support",), size, CONFIG, seed=0)
        return float(model.predict(np.ones((1, 1), dtype=np.float32))[0])

    # Correct ones among all, by weight.
    assert train(1) == pytest.approx(1 / 2, abs=0.03)
    assert train(0.1) == pytest.approx(1 / 1.1, abs=0.03)


@pytest.mark.slow
def test_the_dangling_classifier_does_not_see_how_many_candidates_there_are() -> None:
    """With its correct pair left out, an entity has one candidate less: that would tell."""
    problem = sampled(SampleConfig(triples=3000, snapshots=1)).problems[0]
    graphs = GraphPair.from_graphs(problem.left, problem.right, problem.seeds, CONFIG)
    probabilities = propagate(graphs, no_progress)
    compared = compare_candidates(graphs, probabilities)
    held_out = TrainingPairs(
        problem.validation, np.ones(len(problem.validation), dtype=np.float32)
    )
    labels = TrainingLabels.from_pairs(held_out, graphs.sizes, CONFIG.fold_count)
    probability = np.linspace(0, 1, len(compared.table.left), dtype=np.float32)
    model = train_dangling_classifier([DanglingExample(compared, probability)], labels, seed=0)
    features = compared.compute_features()
    columns = [compared.feature_names.index(name) for name in COUNT_FEATURES]
    assert len(np.unique(features[:, columns[0]])) > 1
    before = model.predict(features)
    assert len(np.unique(before)) > 10
    features[:, columns] = 1
    assert model.predict(features).tolist() == before.tolist()
