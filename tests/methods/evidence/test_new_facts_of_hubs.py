"""One more fact of an entity that has many does not have it compared again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.methods.evidence.samples import Sampled, sampled, stored

from everalign._progress import no_progress
from everalign.benchmark.synthetic import SampleConfig
from everalign.graph import Graph
from everalign.methods import AlignmentTask, StateArrays
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.method import Evidence


@pytest.fixture(scope="module")
def sample() -> Sampled:
    return sampled(SampleConfig(triples=2000, snapshots=1, seed=3))


@pytest.fixture(scope="module")
def kept(sample: Sampled) -> StateArrays:
    method = Evidence(EvidenceParameters(), seed=0)
    method.fit(sample.problems[0], no_progress)
    return stored(method)


def find_hubs(problem: AlignmentTask) -> tuple[int, int]:
    """The two left entities with most facts."""
    degree = np.bincount(problem.left.triples[:, [0, 2]].ravel())
    first, second = np.argsort(-degree, kind="stable")[:2]
    return int(first), int(second)


def with_triples(problem: AlignmentTask, triples: np.ndarray) -> AlignmentTask:
    graph = Graph(triples, problem.left.entity_count, problem.left.relation_count)
    return replace(
        problem,
        left=graph,
        known_left_count=problem.left.entity_count,
        known_right_count=problem.right.entity_count,
    )


def count_scored(kept: StateArrays, problem: AlignmentTask, share: float) -> int:
    method = Evidence(EvidenceParameters(min_new_fact_share=share), seed=0)
    method.load({name: array.copy() for name, array in kept.items()}, [])
    method.update(problem, no_progress)
    changes = method.save_changes()
    assert changes is not None
    return len(changes["changed_rows"]) + len(changes["dropped_rows"])


def test_a_new_fact_between_hubs_is_no_reason_to_compare_them(
    sample: Sampled, kept: StateArrays
) -> None:
    problem = sample.problems[0]
    first, second = find_hubs(problem)
    known = {tuple(row) for row in problem.left.triples.tolist()}
    relation = next(
        n for n in range(problem.left.relation_count) if (first, n, second) not in known
    )
    row = np.array([[first, relation, second]], dtype=problem.left.triples.dtype)
    grown = with_triples(problem, np.concatenate([problem.left.triples, row]))
    assert count_scored(kept, grown, share=0.0) > 0
    assert count_scored(kept, grown, share=0.5) == 0


def test_a_lost_fact_always_is(sample: Sampled, kept: StateArrays) -> None:
    problem = sample.problems[0]
    first, _ = find_hubs(problem)
    triples = problem.left.triples
    lost = np.flatnonzero(triples[:, 2] == first)[0]
    shrunk = with_triples(problem, np.delete(triples, lost, axis=0))
    assert count_scored(kept, shrunk, share=0.5) == count_scored(kept, shrunk, share=0.0) > 0
