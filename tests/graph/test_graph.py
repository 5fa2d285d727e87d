"""Graphs grow, ids stay, and the union of two graphs has what both have."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everalign.graph import Graph, Names, intern, unite

Rows = list[tuple[int, int, int]]
triples = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2), st.integers(0, 6)), max_size=20)


def rows(values: Rows) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    return np.array(values, dtype=np.int32).reshape(-1, 3)


def test_a_name_keeps_its_id_when_more_names_come() -> None:
    entities, relations = Names(), Names()
    first = intern([("Oslo", "in", "Norway")], entities, relations, entities)
    second = intern(
        [("Bergen", "in", "Norway"), ("Oslo", "near", "Bergen")], entities, relations, entities
    )
    assert first.tolist() == [[0, 0, 1]]
    assert second.tolist() == [[2, 0, 1], [0, 1, 2]]
    assert entities.since(2) == ["Bergen"]


@given(triples, triples)
def test_a_graph_is_a_set_that_only_grows(first: Rows, second: Rows) -> None:
    graph = Graph.empty().grown(rows(first)).grown(rows(second))
    assert sorted(map(tuple, graph.triples.tolist())) == sorted({*first, *second})
    old = Graph.empty().grown(rows(first))
    assert graph.triples[: len(old.triples)].tolist() == old.triples.tolist()
    assert len(graph.missing(rows(first + second))) == 0


@given(triples, triples)
def test_the_union_has_every_triple_in_both_directions_and_no_edge_twice(
    left: Rows, right: Rows
) -> None:
    one, two = Graph.of(left), Graph.of(right)
    union = unite(one, two)
    expected: dict[tuple[int, int], set[int]] = {}
    shift, relations = one.entities, one.relations + two.relations
    moved = [(h + shift, r + one.relations, t + shift) for h, r, t in right]
    for head, relation, tail in [*left, *moved]:
        expected.setdefault((head, tail), set()).add(relation)
        expected.setdefault((tail, head), set()).add(relation + relations)
    found = {}
    for edge in range(len(union.target)):
        k = union.relation_set[edge]
        relations_of_edge = union.set_relation[union.set_start[k] : union.set_start[k + 1]]
        pair = int(union.source[edge]), int(union.target[edge])
        assert pair not in found
        found[pair] = set(relations_of_edge.tolist())
    assert found == expected
    assert len(union.by_set) == len(union.target)
    assert (union.source[union.reverse] == union.target).all()
    assert (union.target[union.reverse] == union.source).all()


def test_relations_around_a_node_are_directed_and_counted_once() -> None:
    union = unite(Graph.of([(0, 0, 1), (0, 0, 2), (3, 0, 0)]), Graph.empty())
    around = union.node_relation[union.node_relation_start[0] : union.node_relation_start[1]]
    assert around.tolist() == [0, 1]  # it is the head of relation 0, and once its tail
