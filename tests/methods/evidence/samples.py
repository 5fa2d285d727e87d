"""Problems to fit: generated ones with their gold links, and small changes to a problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from everalign._progress import no_progress
from everalign.benchmark.metrics import score_links
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.cardinality import Cardinality
from everalign.config import Config
from everalign.graph import Graph, IntArray, Vocabulary, encode_links, encode_triples
from everalign.matching import CandidatePairs
from everalign.methods import AlignmentTask, Method, StateArrays, create_method
from everalign.methods.evidence.alignment_state import AlignmentState
from everalign.methods.evidence.config import EvidenceParameters

Pair = tuple[int, int]
DEFAULT_PARAMETERS = EvidenceParameters()
NO_LINKS: IntArray = np.empty((0, 2), dtype=np.int32)


@dataclass(frozen=True)
class Sampled:
    """The problem of each snapshot, without links in force, and its gold links."""

    problems: list[AlignmentTask]
    gold: list[list[Pair]]

    def f1(self, found: CandidatePairs, snapshot: int) -> float:
        return score_links(found.accepted().pairs(), self.gold[snapshot]).f1


def sampled(config: SampleConfig, cardinality: Cardinality = Cardinality.ONE_TO_ONE) -> Sampled:
    sample = generate_sample(config)
    sides = Vocabulary(), Vocabulary()
    graphs = Graph.empty(), Graph.empty()
    problems, gold = [], []
    for t in range(config.snapshots):
        sizes = graphs[0].entity_count, graphs[1].entity_count
        graphs = (
            graphs[0].with_triples(encode_triples(sample.left(t), sides[0])),
            graphs[1].with_triples(encode_triples(sample.right(t), sides[1])),
        )
        seeds, valid, test = (
            encode_links(links, *sides, cardinality=cardinality)
            for links in (sample.seeds, sample.validation_links, sample.gold(t))
        )
        problems.append(AlignmentTask(*graphs, seeds, valid, *sizes, cardinality=cardinality))
        gold.append([(one, two) for one, two in test.tolist()])
    return Sampled(problems, gold)


def twice(problem: AlignmentTask) -> AlignmentTask:
    """The problem and, with higher ids and not joined to it, the same once more."""
    sizes = np.array([problem.left.entity_count, problem.right.entity_count], dtype=np.int32)
    return replace(
        problem,
        left=_doubled(problem.left),
        right=_doubled(problem.right),
        seeds=np.concatenate([problem.seeds, problem.seeds + sizes]),
        validation=np.concatenate([problem.validation, problem.validation + sizes]),
    )


def _doubled(graph: Graph) -> Graph:
    shifted = graph.triples + np.array([graph.entity_count, 0, graph.entity_count], dtype=np.int32)
    return Graph.from_parts([graph.triples, shifted])


def grown(
    problem: AlignmentTask, left: list[tuple[int, int, int]], right: list[tuple[int, int, int]]
) -> AlignmentTask:
    """The problem after either graph has gained triples."""
    more = (np.array(rows, dtype=np.int32).reshape(-1, 3) for rows in (left, right))
    return replace(
        problem,
        left=problem.left.with_triples(next(more)),
        right=problem.right.with_triples(next(more)),
        known_left_count=problem.left.entity_count,
        known_right_count=problem.right.entity_count,
    )


def fitted(problem: AlignmentTask, settings: Mapping[str, Any] | None = None) -> Method:
    method = create_method(Config(method="evidence", settings=settings or {}))
    method.fit(problem, no_progress)
    return method


def found(method: Method, problem: AlignmentTask) -> CandidatePairs:
    return method.candidates(problem, no_progress)


def stored(method: Method) -> StateArrays:
    """What a method remembers, as a store has it: its next update does not write there."""
    return {name: array.copy() for name, array in method.save().items()}


def restored(arrays: StateArrays) -> Method:
    """The method that has stored this; the arrays stay as they are."""
    method = create_method(Config(method="evidence"))
    method.load({name: array.copy() for name, array in arrays.items()})
    return method


def open_state(
    arrays: StateArrays, config: EvidenceParameters = DEFAULT_PARAMETERS
) -> AlignmentState:
    copies = {name: array.copy() for name, array in arrays.items()}
    return AlignmentState.from_arrays(copies, config)


def match_probabilities(arrays: StateArrays) -> dict[Pair, float]:
    """The candidates that a method remembers."""
    candidates = open_state(arrays).blocks.candidates
    found = candidates.list_all()
    pairs = zip(found.left.tolist(), found.right.tolist(), strict=True)
    return dict(zip(pairs, candidates.column("probability")[found.row].tolist(), strict=True))


def with_hub(problem: AlignmentTask, neighbours: int) -> AlignmentTask:
    """The problem with one more entity on either side, joined to all and to many new ones."""
    sides = (_hub(side, neighbours) for side in (problem.left, problem.right))
    return replace(problem, left=next(sides), right=next(sides))


def _hub(graph: Graph, neighbours: int) -> Graph:
    hub = graph.entity_count
    others = np.delete(np.arange(neighbours + 1, dtype=np.int32), hub)
    rows = np.stack(
        [np.full_like(others, hub), np.full_like(others, graph.relation_count), others]
    )
    return Graph.from_parts([graph.triples, rows.T])
