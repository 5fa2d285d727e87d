"""Graphs and seeds that are hard to align."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.methods.evidence.samples import NO_LINKS, Sampled, fitted, found, sampled

from everalign.benchmark.synthetic import SampleConfig
from everalign.graph import Graph, IntArray
from everalign.methods import AlignmentTask, ExplainableMethod

Triples = list[tuple[int, int, int]]


@pytest.fixture(scope="module")
def sample() -> Sampled:
    return sampled(SampleConfig(triples=6000, snapshots=1))


@pytest.fixture(scope="module")
def problem(sample: Sampled) -> AlignmentTask:
    return sample.problems[0]


def same(count: int) -> IntArray:
    """Links of the first entities to those with the same id."""
    return np.repeat(np.arange(count, dtype=np.int32), 2).reshape(-1, 2)


def random_graph(seed: int) -> Graph:
    triples = np.random.default_rng(seed).integers(0, 500, (2000, 3)) % [500, 5, 500]
    return Graph.empty().with_triples(triples.astype(np.int32))


def test_graphs_with_nothing_in_common_get_next_to_no_links() -> None:
    links = same(200)
    problem = AlignmentTask(random_graph(1), random_graph(2), links[:100], links[100:])
    accepted = found(fitted(problem), problem).accepted()
    assert len(accepted) < 10
    assert accepted.score.sum() < 5


@pytest.mark.slow
def test_wrong_seeds_give_few_links_and_low_confidence(problem: AlignmentTask) -> None:
    rng = np.random.default_rng(0)
    links = [
        np.stack([rows[:, 0], rng.permutation(rows[:, 1])], axis=1)
        for rows in (problem.seeds, problem.validation)
    ]
    wrong = replace(problem, seeds=links[0], validation=links[1])
    right = found(fitted(problem), problem).accepted()
    misled = found(fitted(wrong), wrong).accepted()
    assert misled.score.sum() < 0.2 * right.score.sum()


def test_a_note_says_that_ten_seeds_are_few(problem: AlignmentTask) -> None:
    few = replace(problem, seeds=problem.seeds[:10], validation=NO_LINKS)
    (note,) = found(fitted(few), few).notes
    assert "trusted links: 10," in note
    assert "confidence is not calibrated" in note


def test_a_note_says_that_there_are_no_seeds(problem: AlignmentTask) -> None:
    bare = replace(problem, seeds=NO_LINKS, validation=NO_LINKS)
    nothing = found(fitted(bare), bare)
    assert len(nothing) == 0
    told = "no trusted links and no matching literals: nothing to start from"
    assert nothing.notes == (told,)


def test_many_seeds_that_teach_nothing_are_not_called_few() -> None:
    """A long chain: the next of a known entity is the only candidate, and always right."""
    chain = Graph.from_triples([(n, 0, n + 1) for n in range(999)])
    problem = AlignmentTask(chain, chain, same(1000)[::5], NO_LINKS)
    result = found(fitted(problem), problem)
    assert not any("too few" in note for note in result.notes)


@pytest.mark.slow
def test_relations_without_a_counterpart_do_not_mislead(sample: Sampled) -> None:
    """Every left entity gets two more facts, of a kind that the right side knows nothing of."""
    (problem,) = sample.problems
    everyone, kind = problem.left.entity_count, problem.left.relation_count
    more = [(n, kind + k, (7 * n + k) % everyone) for n in range(everyone) for k in range(2)]
    odd = replace(problem, left=problem.left.with_triples(np.array(more, dtype=np.int32)))
    method = fitted(odd)
    assert isinstance(method, ExplainableMethod)
    assert sample.f1(found(method, odd), 0) > sample.f1(found(fitted(problem), problem), 0) - 0.15
    seen = [match for match in method.relations(odd) if match.left >= kind]
    assert all(match.left_in_right < 0.5 for match in seen)


@pytest.mark.slow
def test_one_relation_only_is_enough() -> None:
    sample = sampled(SampleConfig(triples=12_000, snapshots=1))
    (problem,) = sample.problems
    graphs = [
        Graph.empty().with_triples(graph.triples * np.array([1, 0, 1], dtype=np.int32))
        for graph in (problem.left, problem.right)
    ]
    plain = replace(problem, left=graphs[0], right=graphs[1])
    assert sample.f1(found(fitted(plain), plain), 0) > 0.3


LOOPS: Triples = [(n, 0, n) for n in range(40)]
PATH: Triples = [(n, 1, n + 1) for n in range(39)]
# Three more relations between the same two entities, one of them backwards.
MANIFOLD: Triples = [
    row for n in range(39) for row in ((n, 2, n + 1), (n, 3, n + 1), (n + 1, 4, n))
]


@pytest.mark.parametrize(
    ("more", "every"), [([], 4), (LOOPS, 4), (MANIFOLD, 2), (LOOPS + MANIFOLD, 4)]
)
def test_self_loops_and_several_edges_to_one_neighbour(more: Triples, every: int) -> None:
    """Forty entities in a row, some of them known."""
    graph = Graph.from_triples(PATH + more)
    problem = AlignmentTask(graph, graph, same(40)[::every], NO_LINKS)
    linked = found(fitted(problem), problem).accepted().pairs()
    assert len(linked) >= 15
    assert all(left == right for left, right in linked)


def in_a_process(program: str, *arguments: str) -> str:
    """What a program prints; it may die without taking the tests along."""
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended.stdout


WEIGHTLESS = """
import numpy as np
from everalign._progress import no_progress
from everalign.graph import Graph
from everalign.methods import AlignmentTask
from everalign.methods.evidence import EvidenceParameters
from everalign.methods.evidence.method import Evidence

graph = Graph.from_triples([(x, r, (x + 1) % 3) for x in range(3) for r in range(400)])
seeds = np.array([(0, 0)], dtype=np.int32)
method = Evidence(EvidenceParameters(inclusion_prior=0.0, min_evidence_weight=0.0), 0)
method.fit(AlignmentTask(graph, graph, seeds, seeds[:0]), no_progress)
"""


@pytest.mark.slow
def test_evidence_of_weight_zero_does_no_harm() -> None:
    """A prior of 0: 160,000 pieces for one pair, and none of them weighs anything."""
    in_a_process(WEIGHTLESS)


HUB = """
import resource
from time import perf_counter
import numpy as np
from tests.methods.evidence.samples import NO_LINKS, fitted, found, sampled, with_hub
from everalign.benchmark.synthetic import SampleConfig

problem = sampled(SampleConfig(triples=6000, snapshots=1)).problems[0]
fitted(problem)
plain = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
started = perf_counter()
hubs = with_hub(problem, 100_000)
links = found(fitted(hubs), hubs)
print(perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - plain)
"""


@pytest.mark.slow
def test_a_hub_with_a_hundred_thousand_neighbours_costs_little() -> None:
    seconds, kilobytes = map(float, in_a_process(HUB).split())
    assert seconds < 20
    assert kilobytes < 500_000
