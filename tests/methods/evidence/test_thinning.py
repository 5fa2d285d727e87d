"""Held-out links with as few facts as entities that came late."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everalign.graph import Graph
from everalign.methods.evidence.thinning import thin_facts

ENTITIES = st.integers(0, 11)
TRIPLES = st.lists(st.tuples(ENTITIES, st.integers(0, 2), ENTITIES), min_size=1, max_size=40)


def count_facts(graph: Graph) -> list[int]:
    """Facts of each entity; one with itself counts once."""
    return [
        int(np.count_nonzero((graph.triples[:, [0, 2]] == entity).any(axis=1)))
        for entity in range(graph.entity_count)
    ]


def test_entities_keep_as_many_facts_as_late_ones_have() -> None:
    # Entities 0 and 1 have four facts each; 6, the only late one, has one.
    facts = [
        (0, 0, 2),
        (0, 0, 3),
        (0, 0, 4),
        (0, 0, 5),
        (1, 0, 2),
        (1, 0, 3),
        (1, 0, 4),
        (1, 0, 6),
    ]
    graph = Graph.from_triples(facts)
    thinned = thin_facts(graph, np.array([0]), 6, np.random.default_rng(0))
    assert count_facts(thinned)[:2] == [1, 4]
    assert (thinned.entity_count, thinned.relation_count) == (7, 1)


def test_without_late_entities_nothing_is_taken() -> None:
    graph = Graph.from_triples([(0, 0, 1), (0, 0, 2)])
    assert thin_facts(graph, np.array([0]), 3, np.random.default_rng(0)) is graph


@given(TRIPLES, st.sets(ENTITIES, min_size=1), st.integers(0, 8), st.integers(0, 5))
def test_only_facts_of_the_given_entities_are_taken(
    triples: list[tuple[int, int, int]], chosen: set[int], first_count: int, seed: int
) -> None:
    graph = Graph.from_triples(triples)
    entities = np.array(sorted(entity for entity in chosen if entity < graph.entity_count), int)
    thinned = thin_facts(graph, entities, first_count, np.random.default_rng(seed))
    kept = {tuple(row) for row in thinned.triples.tolist()}
    lost = {tuple(row) for row in graph.triples.tolist()} - kept
    assert kept <= {tuple(row) for row in graph.triples.tolist()}
    assert all(not {head, tail}.isdisjoint(entities.tolist()) for head, _, tail in lost)
    again = thin_facts(graph, entities, first_count, np.random.default_rng(seed))
    assert again.triples.tolist() == thinned.triples.tolist()
