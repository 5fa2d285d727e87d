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
    sampled,
    twice,
)

from everalign.config import Config
from everalign.graph import Graph
from everalign.methods import Arrays, Problem, make_method
from everalign.methods.evidence.memory import from_arrays, to_arrays
from everalign.progress import silent
from everalign.sample import SampleConfig

Probabilities = dict[tuple[int, int], float]


def little_growth(seed: int) -> Sampled:
    """Two graphs that grow by about a twentieth."""
    return sampled(
        SampleConfig(triples=12_000, snapshots=2, growth=0.03, late_share=0.04, seed=seed)
    )


@pytest.fixture(scope="module")
def growing() -> Sampled:
    return little_growth(seed=0)


def updated(before: Problem, after: Problem, full: bool = False) -> Arrays:
    """What is kept after a fit and an update."""
    method = fitted(before)
    method.update(replace(after, links=found(method, before), full=full), silent)
    return method.save()


def probabilities(arrays: Arrays) -> Probabilities:
    pairs = zip(arrays["left"].tolist(), arrays["right"].tolist(), strict=True)
    return dict(zip(pairs, arrays["probability"].tolist(), strict=True))


def test_the_delta_is_small(growing: Sampled) -> None:
    """So small that the judge does not learn anew: the tests below are about spreading."""
    before, after = growing.problems
    assert len(after.left.triples) > len(before.left.triples)
    arrays = updated(before, after)
    assert arrays["studied"] == len(before.left.triples) + len(before.right.triples)


def qualities(sample: Sampled) -> tuple[float, float, float]:
    """The F1 of an update, of an update that looks at everything again, and of a fit."""
    before, after = sample.problems
    method = fitted(before)
    links, state = found(method, before), method.save()
    out = []
    for full in (False, True):
        method.load(state)
        method.update(replace(after, links=links, full=full), silent)
        out.append(sample.f1(found(method, after), 1))
    at_once = found(fitted(replace(after, old_left=0, old_right=0)), after)
    return out[0], out[1], sample.f1(at_once, 1)


def test_an_update_is_about_as_good_as_a_fit() -> None:
    # Over three samples: a single fit is a few points better or worse by chance.
    rows = [qualities(little_growth(seed)) for seed in range(3)]
    update, full, fit = np.mean(rows, axis=0)
    assert fit > 0.75
    assert update == pytest.approx(fit, abs=0.05)
    assert full == pytest.approx(fit, abs=0.05)


def test_a_delta_leaves_alone_what_it_cannot_reach(growing: Sampled) -> None:
    """Of two worlds that nothing joins, only one gets new triples."""
    one = growing.problems[0]
    n, m = one.left.entities, one.right.entities
    both = twice(one)
    news = both.left.entities
    delta = [(news, 0, 0), (news, 1, 1), (news, 0, 2)]
    before = probabilities(fitted(both).save())
    after = probabilities(updated(both, grown(both, delta, [(0, 0, 1), (0, 0, 2)])))
    far = {pair: p for pair, p in before.items() if pair[0] >= n and pair[1] >= m}
    assert len(far) > 100
    assert {pair: after[pair] for pair in far} == far
    assert after != before


def test_an_update_that_brings_nothing_changes_nothing(growing: Sampled) -> None:
    before = growing.problems[0]
    assert probabilities(updated(before, before)) == probabilities(fitted(before).save())


def test_new_entities_are_found_where_all_others_are_linked() -> None:
    """200 entities with their links known; then five more come to either side."""
    rng = np.random.default_rng(0)
    triples = rng.integers(0, 200, (1500, 3), dtype=np.int32) % [200, 4, 200]
    triples[:200, 0] = range(200)
    graph = Graph.empty().grown(triples.astype(np.int32))
    links = np.repeat(np.arange(200, dtype=np.int32), 2).reshape(-1, 2)
    before = Problem(graph, graph, links[:150], links[150:])
    delta = [(200 + n, k % 4, 7 * n + 11 * k) for n in range(5) for k in range(15)]
    after = grown(before, delta, delta)
    method = fitted(before)
    assert len(found(method, before)) == 0
    method.update(after, silent)
    assert found(method, after).accepted().pairs() == [(n, n) for n in range(200, 205)]


def test_what_is_kept_comes_back(growing: Sampled) -> None:
    arrays = fitted(growing.problems[0]).save()
    for array in arrays.values():
        array.flags.writeable = False  # as it is when it lies on disk
    again = to_arrays(from_arrays(arrays), soft=0.1)
    assert {name: value.tolist() for name, value in again.items()} == {
        name: value.tolist() for name, value in arrays.items()
    }


@pytest.mark.parametrize("full", [False, True])
def test_loaded_it_goes_on_as_before(growing: Sampled, full: bool) -> None:
    before, after = growing.problems
    method, other = fitted(before), make_method(Config(method="evidence"))
    other.load(method.save())
    for each in (method, other):
        each.update(replace(after, full=full), silent)
    assert probabilities(other.save()) == probabilities(method.save())


def test_what_a_release_before_literals_has_kept_is_gone_on_with(growing: Sampled) -> None:
    before, after = growing.problems
    method, other = fitted(before), make_method(Config(method="evidence"))
    later = ("facts_", "trusted", "literal", "judges_")
    kept = {
        name: array
        for name, array in method.save().items()
        if not name.startswith(later) and not name.endswith("_with_literals")
    }
    other.load(kept)
    assert found(other, before).pairs() == found(method, before).pairs()
    method.update(replace(after, full=True), silent)
    other.update(after, silent)  # it learns again, since it does not know what has changed
    assert probabilities(other.save()) == probabilities(method.save())


def test_what_is_kept_comes_back_where_nothing_was_learned(growing: Sampled) -> None:
    bare = replace(growing.problems[0], seeds=NO_LINKS, valid=NO_LINKS)
    arrays = fitted(bare).save()
    memory = from_arrays(arrays)
    assert memory.lore is None
    assert to_arrays(memory, soft=0.1).keys() == arrays.keys()
