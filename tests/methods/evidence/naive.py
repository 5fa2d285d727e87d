"""The formulas of evidence as plain loops over sets of edges, to check the compiled code."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from hypothesis import strategies as st

from everalign.graph import Graph
from everalign.methods.evidence.adjacency import Adjacency, build_adjacency
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.relations import MatchIndex, index_matches

Edge = tuple[int, int, int]  # entity, directed relation, neighbour
Triples = list[tuple[int, int, int]]
Pairs = dict[tuple[int, int], float]
Inclusions = Callable[[int, int], tuple[float, float]]

IDS = st.integers(0, 5)
TRIPLES = st.lists(st.tuples(IDS, st.integers(0, 2), IDS), min_size=1, max_size=14)
PROBABILITIES = st.sampled_from([0.125, 0.25, 0.5, 0.75, 1.0])


@dataclass(frozen=True)
class Case:
    """Two small graphs and the matches between them."""

    left: Graph
    right: Graph
    pairs: Pairs

    @property
    def matches(self) -> MatchIndex:
        rows = np.array(list(self.pairs), dtype=np.int32).reshape(-1, 2)
        probability = np.array(list(self.pairs.values()), dtype=np.float32)
        return index_matches(rows[:, 0], rows[:, 1], probability, self.sizes)

    @property
    def sizes(self) -> tuple[int, int]:
        return self.left.entity_count, self.right.entity_count

    def adjacencies(self, config: EvidenceParameters) -> tuple[Adjacency, Adjacency]:
        return build_adjacency(self.left, config), build_adjacency(self.right, config)

    def naive_graphs(self, config: EvidenceParameters) -> tuple[NaiveGraph, NaiveGraph]:
        return NaiveGraph(self.left, config), NaiveGraph(self.right, config)


@st.composite
def cases(draw: st.DrawFn, one_to_one: bool = False) -> Case:
    """Graphs with self loops, doubled edges, entities that have none, and any matches."""
    left, right = Graph.from_triples(draw(TRIPLES)), Graph.from_triples(draw(TRIPLES))
    ids = st.integers(0, left.entity_count - 1), st.integers(0, right.entity_count - 1)
    keys = (lambda pair: pair[0], lambda pair: pair[1]) if one_to_one else lambda pair: pair
    pairs = draw(st.lists(st.tuples(*ids), unique_by=keys, max_size=6))
    return Case(left, right, {pair: draw(PROBABILITIES) for pair in pairs})


class NaiveGraph:
    """A graph as the set of its edges in both directions."""

    def __init__(self, graph: Graph, config: EvidenceParameters) -> None:
        triples = graph.triples.tolist()
        self.config = config
        self.edges: list[Edge] = sorted(
            {(head, 2 * relation, tail) for head, relation, tail in triples}
            | {(tail, 2 * relation + 1, head) for head, relation, tail in triples}
        )

    def edges_of(self, x: int) -> list[Edge]:
        return [edge for edge in self.edges if edge[0] == x]

    def functionality(self, edge: Edge) -> float:
        """How well the entity and the relation determine the neighbour."""
        x, d, _ = edge
        size = sum(other[:2] == (x, d) for other in self.edges)
        if size > self.config.max_fact_degree:
            return 0.0
        local = self.config.local_functionality_weight
        return (1 - local) * self._functionality_of[d] + local / size

    def inverse_functionality(self, edge: Edge) -> float:
        """How well the neighbour and the inverse relation determine the entity."""
        x, d, y = edge
        return self.functionality((y, d ^ 1, x))

    def count_having(self, facts: list[Edge]) -> int:
        """How many entities have all these relations to these neighbours."""
        edges = set(self.edges)
        entities = {x for x, _, _ in edges}
        return sum(all((x, d, y) in edges for _, d, y in facts) for x in entities)

    @cached_property
    def _functionality_of(self) -> dict[int, float]:
        relations = [d for _, d, _ in self.edges]
        return {
            d: len({x for x, other, _ in self.edges if other == d}) / relations.count(d)
            for d in relations
        }


def count_cooccurrences(
    left: NaiveGraph, right: NaiveGraph, pairs: Pairs, d: int, d2: int
) -> float:
    return sum(
        pairs.get((x, x2), 0) * pairs.get((y, y2), 0)
        for x, one, y in left.edges
        for x2, two, y2 in right.edges
        if (one, two) == (d, d2)
    )


def count_comparable(graph: NaiveGraph, best: dict[int, float], d: int) -> float:
    return sum(best.get(x, 0) * best.get(y, 0) for x, one, y in graph.edges if one == d)


def find_best(pairs: Pairs, column: int) -> dict[int, float]:
    """The greatest match probability of each entity of one side."""
    best: dict[int, float] = {}
    for pair, p in pairs.items():
        best[pair[column]] = max(p, best.get(pair[column], 0))
    return best


def list_pieces(
    left: NaiveGraph,
    right: NaiveGraph,
    pairs: Pairs,
    find_inclusion: Inclusions,
    pair: tuple[int, int],
) -> Iterator[tuple[float, float, float]]:
    """For each piece of evidence its weight and the inverse functionality of its two edges."""
    for edge in left.edges_of(pair[0]):
        for edge2 in right.edges_of(pair[1]):
            p = pairs.get((edge[2], edge2[2]), 0)
            forward, backward = find_inclusion(edge[1], edge2[1])
            left_factor = left.inverse_functionality(edge)
            right_factor = right.inverse_functionality(edge2)
            if p > 0:
                weight = -math.log(
                    (1 - p * backward * left_factor) * (1 - p * forward * right_factor)
                )
                yield weight, left_factor, right_factor
