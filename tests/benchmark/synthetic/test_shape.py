"""The default sample is shaped like the real continual alignment datasets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from statistics import mean, median

import pytest

from everalign.benchmark.synthetic import Sample, Triple

Graph = Callable[[int], list[Triple]]


@pytest.fixture(params=["left", "right"])
def graph(request: pytest.FixtureRequest, sample: Sample) -> Graph:
    return sample.left if request.param == "left" else sample.right


def _until(graph: Graph, snapshot: int) -> set[Triple]:
    return {triple for t in range(snapshot + 1) for triple in graph(t)}


def _degrees(triples: set[Triple]) -> Counter[str]:
    return Counter(entity for head, _, tail in triples for entity in (head, tail))


def _linked_share(sample: Sample, graph: Graph, snapshot: int) -> float:
    links = sample.seeds + sample.validation_links + sample.gold(snapshot)
    return len(links) / len(_degrees(_until(graph, snapshot)))


def test_most_entities_have_a_counterpart_first_and_few_last(sample: Sample, graph: Graph) -> None:
    shares = [_linked_share(sample, graph, snapshot) for snapshot in range(6)]
    assert shares == sorted(shares, reverse=True)
    assert 0.7 < shares[0] < 0.95
    assert 0.25 < shares[5] < 0.5


def test_the_graphs_grow_by_about_a_quarter_each_time(graph: Graph) -> None:
    sizes = [len(_until(graph, snapshot)) for snapshot in range(6)]
    growth = [after / before for before, after in pairwise(sizes)]
    assert all(1.15 < factor < 1.35 for factor in growth)


def test_there_are_hubs_and_a_long_tail(graph: Graph) -> None:
    degrees = _degrees(_until(graph, 0)).values()
    assert 5 < mean(degrees) < 10
    assert max(degrees) > 10 * median(degrees)


def test_new_entities_have_few_triples_and_some_know_only_each_other(graph: Graph) -> None:
    old, now = _degrees(_until(graph, 0)), _degrees(_until(graph, 1))
    new = now.keys() - old.keys()
    beside_old = {
        entity
        for head, _, tail in graph(1)
        for entity in (head, tail)
        if head in old or tail in old
    }
    assert median(now[entity] for entity in new) <= 2
    assert 0 < len(new - beside_old) < 0.3 * len(new)


def test_some_new_triples_are_between_old_entities(graph: Graph) -> None:
    old = _degrees(_until(graph, 0))
    between_old = [triple for triple in graph(1) if triple[0] in old and triple[2] in old]
    assert 0.05 < len(between_old) / len(graph(1)) < 0.5


def test_a_few_triples_are_repeated(graph: Graph) -> None:
    repeated = sum(len(set(graph(t)) & _until(graph, t - 1)) for t in range(1, 6))
    assert 0 < repeated < 0.05 * len(_until(graph, 5))


def test_the_sides_agree_on_a_part_of_their_facts_only(sample: Sample) -> None:
    links = dict(sample.seeds + sample.validation_links + sample.gold(0))
    right = {frozenset((head, tail)) for head, _, tail in sample.right(0)}
    told = [
        frozenset((links[head], links[tail])) in right
        for head, _, tail in sample.left(0)
        if head in links and tail in links
    ]
    assert 0.5 < mean(told) < 0.75
