"""Updates that take something away: triples, entities, trusted links, literals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.methods.evidence.naming import named
from tests.methods.evidence.samples import Sampled, fitted, found, restored, sampled, stored

from everalign._progress import no_progress
from everalign.benchmark.synthetic import SampleConfig
from everalign.graph import Graph, IntArray
from everalign.methods import AlignmentTask, Method, StateArrays

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sample() -> Sampled:
    return sampled(SampleConfig(triples=12_000, snapshots=1))


@pytest.fixture(scope="module")
def kept(sample: Sampled) -> StateArrays:
    """What a fit of the sample leaves."""
    return stored(fitted(sample.problems[0]))


def only(graph: Graph, keep: NDArray[np.bool_]) -> Graph:
    """The graph with fewer triples; ids stay as they are."""
    return Graph(graph.triples[keep], graph.entity_count, graph.relation_count)


def ends(triples: IntArray) -> IntArray:
    return np.unique(triples[:, [0, 2]]).astype(np.int32)


def thinned(problem: AlignmentTask, share: float, seed: int = 0) -> AlignmentTask:
    """The problem without a random share of the triples of either side."""
    rng = np.random.default_rng(seed)
    keeps = [rng.random(len(g.triples)) >= share for g in (problem.left, problem.right)]
    changed = ends(problem.left.triples[~keeps[0]]), ends(problem.right.triples[~keeps[1]])
    left, right = only(problem.left, keeps[0]), only(problem.right, keeps[1])
    return replace(problem, left=left, right=right, changed_entities=changed)


def without_entity(problem: AlignmentTask, entity: int) -> AlignmentTask:
    """The problem after a left entity was removed."""
    gone = (problem.left.triples[:, [0, 2]] == entity).any(axis=1)
    changed = ends(problem.left.triples[gone]), np.empty(0, dtype=np.int32)
    removed = np.array([entity], dtype=np.int32), changed[1]
    return replace(
        problem, left=only(problem.left, ~gone), changed_entities=changed, removed_entities=removed
    )


def confidence(method: Method, problem: AlignmentTask) -> dict[tuple[int, int], float]:
    result = found(method, problem)
    return dict(zip(result.pairs(), result.score.tolist(), strict=True))


def test_a_twentieth_taken_and_given_back(sample: Sampled, kept: StateArrays) -> None:
    problem = sample.problems[0]
    method = restored(kept)
    before = sample.f1(found(method, problem), 0)
    less = thinned(problem, 0.05)
    method.update(less, no_progress)
    assert sample.f1(found(method, less), 0) == pytest.approx(before, abs=0.05)
    method.update(replace(problem, changed_entities=less.changed_entities), no_progress)
    assert sample.f1(found(method, problem), 0) == pytest.approx(before, abs=0.02)


def test_a_pair_that_has_lost_all_its_triples_is_gone(sample: Sampled, kept: StateArrays) -> None:
    problem = sample.problems[0]
    method = restored(kept)
    sure = [pair for pair, score in confidence(method, problem).items() if score > 0.9]
    left, right = sure[0]
    after = without_entity(problem, left)
    method.update(
        replace(after, removed_entities=problem.removed_entities), no_progress
    )  # it is still there, but bare
    assert (left, right) not in confidence(method, after)


def test_an_entity_that_is_gone_has_no_candidate(sample: Sampled, kept: StateArrays) -> None:
    problem = sample.problems[0]
    method = restored(kept)
    left = max(confidence(method, problem).items(), key=lambda item: item[1])[0][0]
    after = without_entity(problem, left)
    method.update(after, no_progress)
    assert all(pair[0] != left for pair in confidence(method, after))
    assert all(pair[0] != left for pair in confidence(fitted(after), after))


def chain(length: int) -> Graph:
    return Graph.from_triples([(n, 0, n + 1) for n in range(length)])


def joined(*graphs: Graph) -> Graph:
    """The graphs side by side."""
    shifts = np.cumsum([0, *(graph.entity_count for graph in graphs)])
    rows = [
        graph.triples + np.array([shift, 0, shift], dtype=np.int32)
        for graph, shift in zip(graphs, shifts, strict=False)
    ]
    return Graph.from_parts(rows)


def test_what_rested_on_a_withdrawn_link_falls_with_it(sample: Sampled) -> None:
    """A chain of eight beside the sample is found from one trusted link at its head, link by
    link. Without that link nothing speaks for any of them."""
    one = sample.problems[0]
    graphs = [joined(graph, chain(8)) for graph in (one.left, one.right)]
    n, m = one.left.entity_count, one.right.entity_count
    head = np.array([(n, m)], dtype=np.int32)
    problem = replace(
        one, left=graphs[0], right=graphs[1], seeds=np.concatenate([one.seeds, head])
    )
    method = fitted(problem)

    def in_chain(now: AlignmentTask) -> float:
        return sum(s for (x, y), s in confidence(method, now).items() if x - n == y - m > 0)

    assert in_chain(problem) > 1
    method.update(
        replace(problem, seeds=one.seeds, changed_entities=(head[:, 0], head[:, 1])), no_progress
    )
    assert in_chain(replace(problem, seeds=one.seeds)) < 0.1


def test_a_withdrawn_link_leaves_its_entities_free(sample: Sampled, kept: StateArrays) -> None:
    problem = sample.problems[0]
    method = restored(kept)
    pair = tuple(problem.seeds[0].tolist())
    changed = problem.seeds[:1, 0], problem.seeds[:1, 1]
    method.update(replace(problem, seeds=problem.seeds[1:], changed_entities=changed), no_progress)
    known = confidence(method, replace(problem, seeds=problem.seeds[1:]))
    assert any(pair[0] == left for left, _ in known)


def test_a_new_trusted_link_ends_what_was_believed_of_its_entities(
    sample: Sampled, kept: StateArrays
) -> None:
    problem = sample.problems[0]
    method = restored(kept)
    given = np.array(sample.gold[0][:1], dtype=np.int32)
    after = replace(
        problem,
        seeds=np.concatenate([problem.seeds, given]),
        changed_entities=(given[:, 0], given[:, 1]),
    )
    method.update(after, no_progress)
    lefts, rights = zip(*confidence(method, after), strict=True)
    assert given[0, 0] not in lefts
    assert given[0, 1] not in rights


def test_names_that_are_taken_away_are_forgotten(sample: Sampled) -> None:
    problem, bare = named(sample), sample.problems[0]
    method = fitted(problem)
    everybody = tuple(np.arange(g.entity_count, dtype=np.int32) for g in (bare.left, bare.right))
    method.update(replace(bare, changed_entities=(everybody[0], everybody[1])), no_progress)
    plain = sample.f1(found(fitted(bare), bare), 0)
    assert sample.f1(found(method, bare), 0) == pytest.approx(plain, abs=0.05)
