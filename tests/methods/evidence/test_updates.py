"""Updates by small deltas, and what is kept between them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.methods.evidence.samples import (
    NO_LINKS,
    Sampled,
    fitted,
    found,
    grown,
    match_probabilities,
    open_state,
    restored,
    sampled,
    stored,
    twice,
)

from everalign._progress import no_progress
from everalign.benchmark.synthetic import SampleConfig
from everalign.graph import Graph
from everalign.methods import AlignmentTask, StateArrays

pytestmark = pytest.mark.slow


def little_growth(seed: int) -> Sampled:
    """Two graphs that grow by about a twentieth."""
    return sampled(
        SampleConfig(triples=12_000, snapshots=2, growth=0.03, late_share=0.04, seed=seed)
    )


@pytest.fixture(scope="module")
def growing() -> Sampled:
    return little_growth(seed=0)


@pytest.fixture(scope="module")
def kept(growing: Sampled) -> StateArrays:
    """What a fit of the first snapshot leaves."""
    return stored(fitted(growing.problems[0]))


def updated(kept: StateArrays, before: AlignmentTask, after: AlignmentTask) -> StateArrays:
    """What is kept after an update."""
    method = restored(kept)
    method.update(replace(after, previous_links=found(method, before)), no_progress)
    return method.save()


def test_the_delta_is_small(growing: Sampled, kept: StateArrays) -> None:
    """So small that the models are not trained again: the tests below are about spreading."""
    before, after = growing.problems
    assert len(after.left.triples) > len(before.left.triples)
    models = {name: array for name, array in kept.items() if "_model" in name}
    arrays = updated(kept, before, after)
    assert models
    assert all(arrays[name].tobytes() == model.tobytes() for name, model in models.items())


def qualities(sample: Sampled) -> tuple[float, float, float]:
    """The F1 of an update, of an update that looks at everything again, and of a fit."""
    before, after = sample.problems
    method = fitted(before)
    links, state = found(method, before), stored(method)
    out = []
    for full in (False, True):
        method = restored(state)
        method.update(replace(after, previous_links=links, rescore_all=full), no_progress)
        out.append(sample.f1(found(method, after), 1))
    at_once = found(fitted(replace(after, known_left_count=0, known_right_count=0)), after)
    return out[0], out[1], sample.f1(at_once, 1)


@pytest.mark.long
def test_an_update_is_about_as_good_as_a_fit() -> None:
    # Over three samples: a single fit is a few points better or worse by chance.
    rows = [qualities(little_growth(seed)) for seed in range(3)]
    update, full, fit = np.mean(rows, axis=0)
    assert fit > 0.75
    assert update == pytest.approx(fit, abs=0.05)
    assert full == pytest.approx(fit, abs=0.05)


def test_a_delta_leaves_alone_what_it_cannot_reach(growing: Sampled) -> None:
    """Of two parts that nothing joins, only one gets new triples."""
    one = growing.problems[0]
    n, m = one.left.entity_count, one.right.entity_count
    both = twice(one)
    news = both.left.entity_count
    delta = [(news, 0, 0), (news, 1, 1), (news, 0, 2)]
    kept = stored(fitted(both))
    before = match_probabilities(kept)
    after = match_probabilities(updated(kept, both, grown(both, delta, [(0, 0, 1), (0, 0, 2)])))
    far = {pair: p for pair, p in before.items() if pair[0] >= n and pair[1] >= m}
    assert len(far) > 100
    assert {pair: after[pair] for pair in far} == far
    assert after != before


def test_an_update_that_brings_nothing_changes_nothing(
    growing: Sampled, kept: StateArrays
) -> None:
    before = growing.problems[0]
    assert match_probabilities(updated(kept, before, before)) == match_probabilities(kept)


def test_new_entities_are_found_where_all_others_are_linked() -> None:
    """200 entities with their links known; then five more come to either side."""
    rng = np.random.default_rng(0)
    triples = rng.integers(0, 200, (1500, 3), dtype=np.int32) % [200, 4, 200]
    triples[:200, 0] = range(200)
    graph = Graph.empty().with_triples(triples.astype(np.int32))
    links = np.repeat(np.arange(200, dtype=np.int32), 2).reshape(-1, 2)
    before = AlignmentTask(graph, graph, links[:150], links[150:])
    delta = [(200 + n, k % 4, 7 * n + 11 * k) for n in range(5) for k in range(15)]
    after = grown(before, delta, delta)
    method = fitted(before)
    assert len(found(method, before)) == 0
    method.update(after, no_progress)
    assert found(method, after).accepted().pairs() == [(n, n) for n in range(200, 205)]


def test_saved_state_is_restored(kept: StateArrays) -> None:
    again = open_state(kept).to_arrays()
    assert {name: value.tolist() for name, value in again.items()} == {
        name: value.tolist() for name, value in kept.items()
    }


@pytest.mark.parametrize("full", [False, True])
def test_a_loaded_method_updates_as_before(growing: Sampled, full: bool) -> None:
    before, after = growing.problems
    method = fitted(before)
    other = restored(stored(method))
    for each in (method, other):
        each.update(replace(after, rescore_all=full), no_progress)
    assert match_probabilities(other.save()) == match_probabilities(method.save())


def test_state_without_models_is_restored(growing: Sampled) -> None:
    bare = replace(growing.problems[0], seeds=NO_LINKS, validation=NO_LINKS)
    arrays = stored(fitted(bare))
    state = open_state(arrays)
    assert state.models is None
    assert state.to_arrays().keys() == arrays.keys()


def test_a_full_pass_knows_who_came_first() -> None:
    """A fit at once takes late entities, most of them dangling, for as likely to be matched."""
    sample = sampled(SampleConfig(triples=12_000, snapshots=4, seed=1))
    method = fitted(sample.problems[0])
    for problem in sample.problems[1:]:
        method.update(problem, no_progress)
    last = sample.problems[-1]
    method.update(replace(last, rescore_all=True), no_progress)
    full = found(method, last)
    at_once = found(fitted(replace(last, known_left_count=0, known_right_count=0)), last)
    assert sample.f1(full, 3) > sample.f1(at_once, 3) + 0.02
    # What was learned from nothing is learned again.
    method.update(replace(last, rescore_all=True), no_progress)
    assert found(method, last).score.tolist() == full.score.tolist()
