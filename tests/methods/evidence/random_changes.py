"""Random small changes to a problem: facts, new entities, trusted links, decisions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.methods.evidence.samples import Pair

from everalign.graph import Graph, IntArray
from everalign.methods import AlignmentTask

Ids = tuple[IntArray, IntArray]


def change_problem(
    problem: AlignmentTask, likely: list[Pair], gold: list[Pair], rng: np.random.Generator
) -> AlignmentTask:
    """The problem after a change of each kind, each with a probability of a half.

    Some of the `likely` pairs are rejected, and one of the `gold` pairs is trusted.
    """
    left, right = (
        _change_graph(graph, rng, *(rng.random(3) < 0.5))
        for graph in (problem.left, problem.right)
    )
    seeds, rejected, dangling = problem.seeds, problem.rejected, problem.unaligned_entities
    if rng.random() < 0.5:  # withdrawn
        seeds = np.delete(seeds, rng.integers(len(seeds), size=2), axis=0)
    trusted = {(left, right) for left, right in [*seeds.tolist(), *problem.validation.tolist()]}
    linked = [
        {pair[side] for pair in trusted} if is_unique else set()
        for side, is_unique in enumerate(problem.cardinality.unique_sides)
    ]
    free = [
        pair
        for pair in gold
        if pair[0] not in linked[0] and pair[1] not in linked[1] and tuple(pair) not in trusted
    ]
    if rng.random() < 0.5:  # confirmed
        seeds = np.concatenate([seeds, np.array([free[rng.integers(len(free))]], dtype=np.int32)])
    if rng.random() < 0.5:
        chosen = np.array([likely[n] for n in rng.integers(len(likely), size=2)], dtype=np.int32)
        rejected = np.unique(np.concatenate([rejected, chosen]), axis=0)
    if rng.random() < 0.3:
        pair = likely[rng.integers(len(likely))]
        dangling = (np.array(pair[:1], dtype=np.int32), dangling[1])
    return replace(
        problem,
        left=left,
        right=right,
        seeds=seeds,
        rejected=rejected,
        unaligned_entities=dangling,
        known_left_count=problem.left.entity_count,
        known_right_count=problem.right.entity_count,
    )


def _change_graph(
    graph: Graph, rng: np.random.Generator, adds: bool, removes: bool, brings_entity: bool
) -> Graph:
    triples, count = graph.triples, graph.entity_count
    parts = [triples]
    if removes:
        parts = [np.delete(triples, rng.integers(len(triples), size=5), axis=0)]
    if adds:
        # Facts like those that there are, with other tails.
        new = triples[rng.integers(len(triples), size=5)].copy()
        new[:, 2] = triples[rng.integers(len(triples), size=5), 2]
        parts.append(new)
    if brings_entity:
        new = triples[rng.integers(len(triples), size=4)].copy()
        new[:, 0] = count
        parts.append(new)
    return Graph(
        np.unique(np.concatenate(parts), axis=0), count + brings_entity, graph.relation_count
    )


def list_changed_entities(before: AlignmentTask, after: AlignmentTask) -> Ids:
    """The left and right entities of facts that only one of two problems has."""
    left, right = (
        _list_changed(before.left, after.left),
        _list_changed(before.right, after.right),
    )
    return left, right


def _list_changed(before: Graph, after: Graph) -> IntArray:
    one, two = ({tuple(row) for row in graph.triples.tolist()} for graph in (before, after))
    ends = {entity for head, _, tail in one ^ two for entity in (head, tail)}
    return np.array(sorted(ends), dtype=np.int32)
