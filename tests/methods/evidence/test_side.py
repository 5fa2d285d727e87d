"""The layout of a graph: edges both ways, and how well they pin an entity down."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from tests.methods.evidence.naive import TRIPLES, Naive, Triples

from everalign.graph import Graph
from everalign.methods.evidence.settings import EvidenceSettings
from everalign.methods.evidence.side import Side, has_edge, lay_out

SETTINGS = EvidenceSettings(local=0.3, crowd=2, discount=0.5)

# 0, 1 and 2 live in 3; 0 and 1 know 4, and 0 knows 1.
TOWN = [(0, 0, 3), (1, 0, 3), (2, 0, 3), (0, 1, 4), (1, 1, 4), (0, 1, 1)]


def edges(side: Side) -> list[tuple[int, int, int]]:
    return [
        (x, int(side.relation[e]), int(side.other[e]))
        for x in range(side.entities)
        for e in range(side.start[x], side.start[x + 1])
    ]


def test_edges_by_hand() -> None:
    side = lay_out(Graph.of(TOWN), SETTINGS)
    assert edges(side)[:4] == [(0, 0, 3), (0, 2, 1), (0, 2, 4), (1, 0, 3)]
    assert side.start.tolist() == [0, 3, 6, 7, 10, 12]
    assert side.end.tolist() == [1, 3, 3, 4, 5, 6, 7, 10, 10, 10, 12, 12]


def test_pins_by_hand() -> None:
    side = lay_out(Graph.of(TOWN), SETTINGS)
    # Everyone lives in one place: 1. Who is known: 3 facts of 2 people, 2 of them of this one.
    # A place with three people: more than the crowd of 2.
    known = 0.7 * 2 / 3 + 0.3 / 2
    assert side.pins[:3].tolist() == pytest.approx([1, known, known])
    assert side.pins[7:10].tolist() == [0, 0, 0]
    assert side.pinned[0] == 0
    # The same two facts from 1 and from 4: two known people, of whom 1 is known to one only.
    assert side.pinned[1:3].tolist() == pytest.approx([0.7 * 2 / 3 + 0.3, known])


def test_support_for_entities_with_many_edges_is_discounted() -> None:
    side = lay_out(Graph.of(TOWN), SETTINGS)
    assert side.discount.tolist() == pytest.approx([n**-0.5 for n in (3, 3, 1, 3, 2)])


@settings(deadline=None)
@given(TRIPLES)
def test_the_layout_of_any_graph(triples: Triples) -> None:
    graph = Graph.of(triples)
    side, naive = lay_out(graph, SETTINGS), Naive(graph, SETTINGS)
    assert edges(side) == naive.edges
    assert side.pins.tolist() == pytest.approx([naive.pins(edge) for edge in naive.edges])
    assert side.pinned.tolist() == pytest.approx([naive.pinned(edge) for edge in naive.edges])
    by_neighbour = sorted(naive.edges, key=lambda edge: (edge[0], edge[2], edge[1]))
    assert side.near_other.tolist() == [y for _, _, y in by_neighbour]
    assert side.near_relation.tolist() == [d for _, d, _ in by_neighbour]
    pinned = [naive.pinned(edge) for edge in by_neighbour]
    assert side.near_pinned.tolist() == pytest.approx(pinned)


@settings(deadline=None)
@given(TRIPLES)
def test_an_edge_is_found_where_there_is_one(triples: Triples) -> None:
    graph = Graph.of(triples)
    side, expected = lay_out(graph, SETTINGS), set(Naive(graph, SETTINGS).edges)
    everyone = range(graph.entities)
    found = {
        (x, d, y)
        for x in everyone
        for d in range(2 * graph.relations)
        for y in everyone
        if has_edge(side, x, d, y)
    }
    assert found == expected
