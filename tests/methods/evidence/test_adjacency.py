"""Adjacency lists: edges in both directions and their functionality."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.evidence.naive import TRIPLES, NaiveGraph, Triples

from everalign.graph import Graph
from everalign.methods.evidence.adjacency import Adjacency, build_adjacency, find_edge, find_first
from everalign.methods.evidence.config import EvidenceParameters

SETTINGS = EvidenceParameters(
    local_functionality_weight=0.3, max_fact_degree=2, degree_discount=0.5
)

# 0, 1 and 2 live in 3; 0 and 1 know 4, and 0 knows 1.
TOWN = [(0, 0, 3), (1, 0, 3), (2, 0, 3), (0, 1, 4), (1, 1, 4), (0, 1, 1)]


def edges(adjacency: Adjacency) -> list[tuple[int, int, int]]:
    return [
        (x, int(adjacency.relation[e]), int(adjacency.neighbour[e]))
        for x in range(adjacency.entity_count)
        for e in range(adjacency.start[x], adjacency.stop[x])
    ]


def test_edges_by_hand() -> None:
    adjacency = build_adjacency(Graph.from_triples(TOWN), SETTINGS)
    assert edges(adjacency)[:4] == [(0, 0, 3), (0, 2, 1), (0, 2, 4), (1, 0, 3)]
    assert adjacency.start.tolist() == [0, 3, 6, 7, 10]
    assert adjacency.stop.tolist() == [3, 6, 7, 10, 12]
    assert adjacency.group_end.tolist() == [1, 3, 3, 4, 5, 6, 7, 10, 10, 10, 12, 12]


def test_functionality_by_hand() -> None:
    adjacency = build_adjacency(Graph.from_triples(TOWN), SETTINGS)
    # Everyone lives in one place: 1. Who is known: 3 facts of 2 people, 2 of them of this one.
    # A place with three people: more than the limit of 2.
    known = 0.7 * 2 / 3 + 0.3 / 2
    assert adjacency.functionality[:3].tolist() == pytest.approx([1, known, known])
    assert adjacency.functionality[7:10].tolist() == [0, 0, 0]
    assert adjacency.inverse_functionality[0] == 0
    # The same two facts from 1 and from 4: two known people, of whom 1 is known to one only.
    assert adjacency.inverse_functionality[1:3].tolist() == pytest.approx(
        [0.7 * 2 / 3 + 0.3, known]
    )


def test_support_for_entities_with_many_edges_is_discounted() -> None:
    adjacency = build_adjacency(Graph.from_triples(TOWN), SETTINGS)
    assert adjacency.degree_discount.tolist() == pytest.approx([n**-0.5 for n in (3, 3, 1, 3, 2)])


@pytest.mark.slow
@given(TRIPLES)
def test_adjacency_of_any_graph(triples: Triples) -> None:
    graph = Graph.from_triples(triples)
    adjacency, naive = build_adjacency(graph, SETTINGS), NaiveGraph(graph, SETTINGS)
    assert edges(adjacency) == naive.edges
    assert adjacency.functionality.tolist() == pytest.approx(
        [naive.functionality(edge) for edge in naive.edges]
    )
    assert adjacency.inverse_functionality.tolist() == pytest.approx(
        [naive.inverse_functionality(edge) for edge in naive.edges]
    )
    by_neighbour = sorted(naive.edges, key=lambda edge: (edge[0], edge[2], edge[1]))
    assert adjacency.sorted_neighbour.tolist() == [y for _, _, y in by_neighbour]
    assert adjacency.sorted_relation.tolist() == [d for _, d, _ in by_neighbour]
    found = [find_edge(adjacency, *edge) for edge in naive.edges]
    assert found == list(range(len(naive.edges)))


@given(st.lists(st.integers(0, 9)), st.integers(0, 9))
def test_find_first_is_the_place_of_a_value(values: list[int], value: int) -> None:
    # Values before and after the range must not matter.
    padded = np.array([9, *sorted(values), 0], dtype=np.int32)
    expected = 1 + sum(other < value for other in values)
    assert find_first(padded, 1, 1 + len(values), value) == expected
