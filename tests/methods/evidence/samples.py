"""Problems to fit: generated ones with their gold links, and small changes to a problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from everalign.config import Config
from everalign.evaluation.metrics import score
from everalign.graph import Graph, IntArray, Vocabulary, take_links, take_triples
from everalign.matching import Candidates
from everalign.methods import Method, Problem, make_method
from everalign.progress import silent
from everalign.sample import SampleConfig, generate

Pair = tuple[int, int]
NO_LINKS: IntArray = np.empty((0, 2), dtype=np.int32)


@dataclass(frozen=True)
class Sampled:
    """The problem of each snapshot, without links in force, and its gold links."""

    problems: list[Problem]
    gold: list[list[Pair]]

    def f1(self, found: Candidates, snapshot: int) -> float:
        return score(found.accepted().pairs(), self.gold[snapshot]).f1


def sampled(config: SampleConfig) -> Sampled:
    sample = generate(config)
    sides = Vocabulary(), Vocabulary()
    graphs = Graph.empty(), Graph.empty()
    problems, gold = [], []
    for t in range(config.snapshots):
        sizes = graphs[0].entities, graphs[1].entities
        graphs = (
            graphs[0].grown(take_triples(sample.left(t), sides[0])),
            graphs[1].grown(take_triples(sample.right(t), sides[1])),
        )
        seeds = take_links(sample.seeds, *sides)
        valid = take_links(sample.valid, *sides)
        problems.append(Problem(*graphs, seeds, valid, *sizes))
        gold.append([(one, two) for one, two in take_links(sample.gold(t), *sides).tolist()])
    return Sampled(problems, gold)


def twice(problem: Problem) -> Problem:
    """The problem and, with higher ids and not joined to it, the same once more."""
    sizes = np.array([problem.left.entities, problem.right.entities], dtype=np.int32)
    return replace(
        problem,
        left=_doubled(problem.left),
        right=_doubled(problem.right),
        seeds=np.concatenate([problem.seeds, problem.seeds + sizes]),
        valid=np.concatenate([problem.valid, problem.valid + sizes]),
    )


def _doubled(graph: Graph) -> Graph:
    shifted = graph.triples + np.array([graph.entities, 0, graph.entities], dtype=np.int32)
    return Graph.assembled([graph.triples, shifted])


def grown(
    problem: Problem, left: list[tuple[int, int, int]], right: list[tuple[int, int, int]]
) -> Problem:
    """The problem after either graph has gained triples."""
    more = (np.array(rows, dtype=np.int32).reshape(-1, 3) for rows in (left, right))
    return replace(
        problem,
        left=problem.left.grown(next(more)),
        right=problem.right.grown(next(more)),
        old_left=problem.left.entities,
        old_right=problem.right.entities,
    )


def fitted(problem: Problem, settings: Mapping[str, Any] | None = None) -> Method:
    method = make_method(Config(method="evidence", settings=settings or {}))
    method.fit(problem, silent)
    return method


def found(method: Method, problem: Problem) -> Candidates:
    return method.candidates(problem, silent)


def with_hub(problem: Problem, neighbours: int) -> Problem:
    """The problem with one more entity on either side, joined to all and to many new ones."""
    sides = (_hub(side, neighbours) for side in (problem.left, problem.right))
    return replace(problem, left=next(sides), right=next(sides))


def _hub(graph: Graph, neighbours: int) -> Graph:
    hub = graph.entities
    others = np.delete(np.arange(neighbours + 1, dtype=np.int32), hub)
    rows = np.stack([np.full_like(others, hub), np.full_like(others, graph.relations), others])
    return Graph.assembled([graph.triples, rows.T])
