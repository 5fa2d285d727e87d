"""Adjacency lists after changes, against those that are built from the changed graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everalign.graph import Graph, IntArray
from everalign.methods.evidence.adjacency import Adjacency, build_adjacency
from everalign.methods.evidence.adjacency_updates import EDGE_COLUMNS, GrowingAdjacency
from everalign.methods.evidence.config import EvidenceParameters

ENTITIES, RELATIONS = 7, 3
# The functionality of a relation as a whole stays as it was built: here it does not count.
CONFIG = EvidenceParameters(local_functionality_weight=1.0, max_fact_degree=2)

Triple = tuple[int, int, int]
IDS = st.integers(0, ENTITIES - 1)
TRIPLES = st.sets(st.tuples(IDS, st.integers(0, RELATIONS - 1), IDS), min_size=1, max_size=20)


def rows(triples: set[Triple]) -> IntArray:
    return np.array(sorted(triples), dtype=np.int32).reshape(-1, 3)


def build(triples: set[Triple]) -> Adjacency:
    return build_adjacency(Graph(rows(triples), ENTITIES, RELATIONS), CONFIG)


def list_block(adjacency: Adjacency, node: int) -> dict[str, list[float]]:
    start, stop = int(adjacency.start[node]), int(adjacency.stop[node])
    block = {name: getattr(adjacency, name)[start:stop].tolist() for name in EDGE_COLUMNS}
    block["group_end"] = [end - start for end in block["group_end"]]
    block["literal_start"] = [int(adjacency.literal_start[node]) - start]
    block["degree_discount"] = [float(adjacency.degree_discount[node])]
    return block


@pytest.mark.slow
@given(TRIPLES, st.lists(TRIPLES, min_size=1, max_size=3))
def test_changed_blocks_are_those_of_the_changed_graph(
    first: set[Triple], steps: list[set[Triple]]
) -> None:
    graph = GrowingAdjacency.from_adjacency(build(first), CONFIG)
    now = first
    for then in steps:
        changed = graph.update(rows(then - now), rows(now - then))
        ends = {node for head, _, tail in then ^ now for node in (head, tail)}
        assert changed.tolist() == sorted(ends)
        now = then
        expected = build(now)
        packed = graph.pack()
        assert packed.edges.length == 2 * len(now)
        for node in range(ENTITIES):
            assert list_block(graph.view, node) == list_block(expected, node)
            assert list_block(packed.view, node) == list_block(expected, node)
        # What follows must hold for packed lists as well.
        graph = packed if len(now) % 2 else graph
        every = {(x, r, y) for x in range(ENTITIES) for r in range(3) for y in range(ENTITIES)}
        is_there = graph.has_edges(rows(every))
        assert {tuple(row) for row in rows(every)[is_there].tolist()} == now
        assert {tuple(row) for row in graph.list_facts(np.arange(ENTITIES)).tolist()} == now


def test_relations_as_a_whole_stay_as_they_were() -> None:
    """(0, 0, 1) and (0, 0, 2): a half by relation and by group, until one of the two goes."""
    config = EvidenceParameters(local_functionality_weight=0.25)
    triples = rows({(0, 0, 1), (0, 0, 2)})
    plain = build_adjacency(Graph(triples, 3, 1), config)
    graph = GrowingAdjacency.from_adjacency(plain, config)
    graph.update(rows(set()), triples[1:])
    view = graph.view
    assert view.functionality[view.start[0]] == pytest.approx(0.75 * 0.5 + 0.25 * 1)
