"""Ids stay the same, graphs only grow, and the union graph has the triples of both graphs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everalign.graph import (
    Graph,
    IntArray,
    Vocabulary,
    build_union_graph,
    encode_triples,
    mark_known_rows,
    select_new_rows,
)
from everalign.graph.triples import find_last_occurrences

Triples = list[tuple[int, int, int]]
TRIPLES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2), st.integers(0, 6)), max_size=20)


def to_rows(triples: Triples) -> IntArray:
    return np.array(triples, dtype=np.int32).reshape(-1, 3)


def test_a_name_keeps_its_id_when_more_names_come() -> None:
    names = Vocabulary()
    first = encode_triples([("Oslo", "in", "Norway")], names)
    second = encode_triples([("Bergen", "in", "Norway"), ("Oslo", "near", "Bergen")], names)
    assert first.tolist() == [[0, 0, 1]]
    assert second.tolist() == [[2, 0, 1], [0, 1, 2]]
    assert names.entities.list_names_after(2) == ["Bergen"]


@given(TRIPLES, TRIPLES)
def test_a_graph_is_a_set_that_only_grows(first: Triples, second: Triples) -> None:
    graph = Graph.empty().with_triples(to_rows(first))
    larger = graph.with_triples(to_rows(second))
    assert sorted(map(tuple, larger.triples.tolist())) == sorted({*first, *second})
    assert larger.triples[: len(graph.triples)].tolist() == graph.triples.tolist()
    assert larger.with_triples(to_rows(first + second)) is larger


@given(TRIPLES, TRIPLES)
def test_row_operations_agree_with_python_sets(first: Triples, second: Triples) -> None:
    known, rows = to_rows(first), to_rows(second)
    new = dict.fromkeys(row for row in second if row not in first)
    assert list(map(tuple, select_new_rows(known, rows).tolist())) == list(new)
    assert mark_known_rows(rows, known).tolist() == [row in first for row in second]
    last = {row: position for position, row in enumerate(second)}
    assert find_last_occurrences(rows).tolist() == sorted(last.values())


def test_row_operations_work_where_a_row_does_not_fit_into_one_integer() -> None:
    huge = 2**31 - 1
    rows = to_rows([(huge, huge, huge), (0, 0, 1), (huge, huge, huge)])
    assert select_new_rows(to_rows([(0, 0, 1)]), rows).tolist() == [[huge, huge, huge]]
    assert mark_known_rows(rows, to_rows([(0, 0, 1)])).tolist() == [False, True, False]
    assert find_last_occurrences(rows).tolist() == [1, 2]


@given(TRIPLES, TRIPLES)
def test_the_union_graph_has_every_triple_in_both_directions_and_no_edge_twice(
    left_triples: Triples, right_triples: Triples
) -> None:
    left, right = Graph.from_triples(left_triples), Graph.from_triples(right_triples)
    union = build_union_graph(left, right)
    offset, relation_count = left.entity_count, left.relation_count + right.relation_count
    shifted = [(h + offset, r + left.relation_count, t + offset) for h, r, t in right_triples]
    expected: dict[tuple[int, int], set[int]] = {}
    for head, relation, tail in [*left_triples, *shifted]:
        expected.setdefault((head, tail), set()).add(relation)
        expected.setdefault((tail, head), set()).add(relation + relation_count)
    found = {}
    for edge in range(len(union.target)):
        number = union.relation_set[edge]
        relations = union.set_relation[union.set_start[number] : union.set_start[number + 1]]
        pair = int(union.source[edge]), int(union.target[edge])
        assert pair not in found
        found[pair] = set(relations.tolist())
    assert found == expected
    assert len(union.by_set) == len(union.target)
    assert (union.source[union.reverse] == union.target).all()
    assert (union.target[union.reverse] == union.source).all()


def test_relations_of_a_node_are_directed_and_listed_once() -> None:
    union = build_union_graph(Graph.from_triples([(0, 0, 1), (0, 0, 2), (3, 0, 0)]), Graph.empty())
    relations = union.node_relation[union.node_relation_start[0] : union.node_relation_start[1]]
    assert relations.tolist() == [0, 1]  # head of relation 0, and once its tail
