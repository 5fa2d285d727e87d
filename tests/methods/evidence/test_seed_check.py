"""Trusted links that contradict their neighbourhood: how probably each is right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.methods.evidence.samples import NO_LINKS, sampled

from everalign._progress import no_progress
from everalign.benchmark.synthetic import SampleConfig
from everalign.cardinality import Cardinality
from everalign.config import Config
from everalign.graph import Graph, IntArray
from everalign.methods import AlignmentTask, create_method
from everalign.methods.evidence.candidates import MatchProbabilities
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.link_doubts import NO_DOUBTS, LinkDoubts
from everalign.methods.evidence.method import Evidence
from everalign.methods.evidence.propagation import GraphPair, select_matches
from everalign.methods.evidence.seed_check import check_links, estimate_probabilities

CONFIG = EvidenceParameters()
STARS = 60  # centres, with three leaves each


def exchange(links: IntArray, count: int) -> IntArray:
    """Make the first links wrong: each gets the right entity of the next one."""
    wrong = links.copy()
    wrong[:count, 1] = np.roll(links[:count, 1], 1)
    return wrong


def build_stars(links: IntArray, config: EvidenceParameters = CONFIG) -> GraphPair:
    """Two equal graphs: centre n leads to three leaves by relations 0, 1 and 2."""
    triples = [(n, r, STARS + 3 * n + r) for n in range(STARS) for r in range(3)]
    graph = Graph.from_triples(triples)
    return GraphPair.from_graphs(graph, graph, links, config)


def list_right_links() -> IntArray:
    """The centres and two of the three leaves of each, with themselves."""
    leaves = [STARS + 3 * n + r for n in range(STARS) for r in range(2)]
    ids = np.array([*range(STARS), *leaves], dtype=np.int32)
    return np.stack([ids, ids], axis=1)


def test_wrong_links_are_found_and_right_ones_are_not_doubted() -> None:
    links = exchange(list_right_links(), 20)
    doubts = check_links(build_stars(links), links, MatchProbabilities.empty((240, 240)))
    weight = doubts.weigh(links)
    # Leaves speak against wrong centres, and these against their leaves.
    assert (weight[:20] < 0.1).all()
    assert weight[20:STARS].min() > 0.9
    assert weight[STARS + 40 :].min() > 0.9


def test_nothing_is_doubted_where_all_links_are_right() -> None:
    links = list_right_links()
    doubts = check_links(build_stars(links), links, MatchProbabilities.empty((240, 240)))
    assert len(doubts.pairs) == 0


@pytest.mark.parametrize("cardinality", [Cardinality.ONE_TO_MANY, Cardinality.MANY_TO_MANY])
def test_where_entities_have_several_links_none_contradicts_another(
    cardinality: Cardinality,
) -> None:
    links = exchange(list_right_links(), 20)
    graphs = build_stars(links, replace(CONFIG, cardinality=cardinality))
    assert check_links(graphs, links, MatchProbabilities.empty((240, 240))) is NO_DOUBTS


def test_doubted_links_are_matches_by_their_probability() -> None:
    links = np.array([[0, 0], [1, 2]], dtype=np.int32)
    doubts = LinkDoubts.from_probabilities(links, np.array([1, 0.25], dtype=np.float32))
    graphs = replace(build_stars(links), doubts=doubts)
    matches = select_matches(graphs, MatchProbabilities.empty(graphs.sizes)).left
    assert matches.counterpart[:2].tolist() == [0, 2]
    assert matches.probability[:2].tolist() == [1, 0.25]


def test_as_many_contradicted_links_as_chance_has_are_not_doubted() -> None:
    wrong = np.linspace(-4, 0, 1000)
    right = np.full(996, 3.0)
    few, many = (np.concatenate([right, np.full(count, -3.0)]) for count in (4, 100))
    assert (estimate_probabilities(few, wrong, CONFIG) == 1).all()
    probability = estimate_probabilities(many, wrong, CONFIG)
    assert probability[-1] < 0.1
    assert probability[0] > 0.9


def test_less_contradicted_links_are_never_less_probable() -> None:
    rng = np.random.default_rng(0)
    wrong = rng.normal(-3, 1, 1000)
    margins = np.sort(np.concatenate([rng.normal(2, 2, 800), rng.normal(-3, 1, 200)]))
    probability = estimate_probabilities(margins, wrong, CONFIG)
    assert (np.diff(probability) >= 0).all()
    # As many are expected to be wrong as there are.
    assert (1 - probability).sum() == pytest.approx(200, rel=0.15)


def test_weights_of_unknown_links_are_one() -> None:
    doubts = LinkDoubts(np.array([[1, 2]], dtype=np.int32), np.array([0.5], dtype=np.float32))
    assert doubts.weigh(np.array([[1, 2], [1, 3], [2, 1]])).tolist() == [0.5, 1, 1]
    assert NO_DOUBTS.weigh(np.array([[1, 2]])).tolist() == [1]
    assert doubts.weigh(NO_LINKS).tolist() == []


def fit_with_wrong_seeds(share: float) -> tuple[AlignmentTask, IntArray, Evidence]:
    task = sampled(SampleConfig(triples=40_000, snapshots=1, seed=5)).problems[0]
    seeds = exchange(task.seeds, round(share * len(task.seeds)))
    task = replace(task, seeds=seeds)
    method = create_method(Config())
    method.fit(task, no_progress)
    assert isinstance(method, Evidence)
    return task, seeds[: round(share * len(seeds))], method


def test_a_fit_lists_wrong_seeds_with_better_rivals() -> None:
    _, wrong, method = fit_with_wrong_seeds(0.2)
    found = method.list_contradicted()
    assert len(found) == method.count_contradicted()
    pairs = {(pair.left, pair.right) for pair in found}
    known = {(left, right) for left, right in wrong.tolist()}
    assert len(pairs & known) > 0.4 * len(known)
    assert len(pairs - known) < 0.1 * len(pairs)
    assert [pair.probability for pair in found] == sorted(pair.probability for pair in found)
    for pair in found:
        assert pair.rival is not None
        assert (pair.left == pair.rival[0]) != (pair.right == pair.rival[1])
        assert pair.support < pair.rival_support
    first = found[0]
    assert method.list_contradicted(max_count=1) == [first]
    assert first in method.list_contradicted(left=first.left)
    assert method.list_contradicted(right=first.right) == [first]


def test_doubts_are_saved_and_end_with_the_link() -> None:
    task, _, method = fit_with_wrong_seeds(0.2)
    count, gone = method.count_contradicted(), method.list_contradicted(max_count=1)[0]
    loaded = create_method(Config())
    assert isinstance(loaded, Evidence)
    loaded.load(method.save())
    assert loaded.list_contradicted() == method.list_contradicted()
    kept = task.seeds[(task.seeds != [gone.left, gone.right]).any(axis=1)]
    loaded.update(replace(task, seeds=kept), no_progress)
    assert loaded.count_contradicted() == count - 1
