"""The formulas of evidence over plain sets of edges: slow, and simple enough to believe."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from hypothesis import strategies as st

from everalign.graph import Graph
from everalign.methods.evidence.matches import Both, matches_of
from everalign.methods.evidence.settings import EvidenceSettings
from everalign.methods.evidence.side import Side, lay_out

Edge = tuple[int, int, int]  # entity, directed relation, neighbour
Triples = list[tuple[int, int, int]]
Pairs = dict[tuple[int, int], float]
Included = Callable[[int, int], tuple[float, float]]

IDS = st.integers(0, 5)
TRIPLES = st.lists(st.tuples(IDS, st.integers(0, 2), IDS), min_size=1, max_size=14)
PROBABILITIES = st.sampled_from([0.125, 0.25, 0.5, 0.75, 1.0])


@dataclass(frozen=True)
class Case:
    """Two small graphs, and who is held to be whom in them."""

    left: Graph
    right: Graph
    pairs: Pairs

    @property
    def matches(self) -> Both:
        rows = np.array(list(self.pairs), dtype=np.int32).reshape(-1, 2)
        probability = np.array(list(self.pairs.values()), dtype=np.float32)
        return matches_of(rows[:, 0], rows[:, 1], probability, self.sizes)

    @property
    def sizes(self) -> tuple[int, int]:
        return self.left.entities, self.right.entities

    def sides(self, settings: EvidenceSettings) -> tuple[Side, Side]:
        return lay_out(self.left, settings), lay_out(self.right, settings)

    def naive(self, settings: EvidenceSettings) -> tuple[Naive, Naive]:
        return Naive(self.left, settings), Naive(self.right, settings)


@st.composite
def cases(draw: st.DrawFn, one_to_one: bool = False) -> Case:
    """Graphs with self loops, doubled edges, entities that have none, and any matches."""
    left, right = Graph.of(draw(TRIPLES)), Graph.of(draw(TRIPLES))
    ids = st.integers(0, left.entities - 1), st.integers(0, right.entities - 1)
    keys = (lambda pair: pair[0], lambda pair: pair[1]) if one_to_one else lambda pair: pair
    pairs = draw(st.lists(st.tuples(*ids), unique_by=keys, max_size=6))
    return Case(left, right, {pair: draw(PROBABILITIES) for pair in pairs})


class Naive:
    """A graph as the set of its edges in both directions."""

    def __init__(self, graph: Graph, settings: EvidenceSettings) -> None:
        triples = graph.triples.tolist()
        self.settings = settings
        self.edges: list[Edge] = sorted(
            {(head, 2 * relation, tail) for head, relation, tail in triples}
            | {(tail, 2 * relation + 1, head) for head, relation, tail in triples}
        )

    def of(self, x: int) -> list[Edge]:
        return [edge for edge in self.edges if edge[0] == x]

    def pins(self, edge: Edge) -> float:
        """How well entity and relation pin down the neighbour."""
        x, d, _ = edge
        size = sum(other[:2] == (x, d) for other in self.edges)
        if size > self.settings.crowd:
            return 0.0
        local = self.settings.local
        return (1 - local) * self._functional[d] + local / size

    def pinned(self, edge: Edge) -> float:
        """How well the neighbour pins down the entity."""
        x, d, y = edge
        return self.pins((y, d ^ 1, x))

    def having(self, facts: list[Edge]) -> int:
        """How many entities have all these relations to these neighbours."""
        edges = set(self.edges)
        entities = {x for x, _, _ in edges}
        return sum(all((x, d, y) in edges for _, d, y in facts) for x in entities)

    @cached_property
    def _functional(self) -> dict[int, float]:
        relations = [d for _, d, _ in self.edges]
        return {
            d: len({x for x, other, _ in self.edges if other == d}) / relations.count(d)
            for d in relations
        }


def seen_together(left: Naive, right: Naive, pairs: Pairs, d: int, d2: int) -> float:
    return sum(
        pairs.get((x, x2), 0) * pairs.get((y, y2), 0)
        for x, one, y in left.edges
        for x2, two, y2 in right.edges
        if (one, two) == (d, d2)
    )


def could_be_seen(side: Naive, best: dict[int, float], d: int) -> float:
    return sum(best.get(x, 0) * best.get(y, 0) for x, one, y in side.edges if one == d)


def best_of(pairs: Pairs, column: int) -> dict[int, float]:
    """The most that an entity is held to be someone, for each entity of one side."""
    best: dict[int, float] = {}
    for pair, p in pairs.items():
        best[pair[column]] = max(p, best.get(pair[column], 0))
    return best


def pieces(
    left: Naive, right: Naive, pairs: Pairs, included: Included, pair: tuple[int, int]
) -> Iterator[tuple[float, float, float]]:
    """For each piece of evidence its weight, and how well either entity is pinned down by it."""
    for edge in left.of(pair[0]):
        for edge2 in right.of(pair[1]):
            p = pairs.get((edge[2], edge2[2]), 0)
            there, back = included(edge[1], edge2[1])
            pinned, pinned2 = left.pinned(edge), right.pinned(edge2)
            if p > 0:
                weight = -math.log((1 - p * back * pinned) * (1 - p * there * pinned2))
                yield weight, pinned, pinned2
