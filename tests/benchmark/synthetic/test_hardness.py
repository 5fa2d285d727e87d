"""Naive methods fail on the default sample, and nothing but structure and labels helps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import pytest

from everalign.benchmark.synthetic import Link, Sample, Triple

Signature = tuple[int, ...]
LAST = 5


def _f1(predicted: Iterable[Link], sample: Sample, snapshot: int) -> float:
    given = sample.seeds + sample.validation_links
    left, right = {a for a, _ in given}, {b for _, b in given}
    kept = {(a, b) for a, b in predicted if a not in left and b not in right}
    gold = set(sample.gold(snapshot))
    return 2 * len(kept & gold) / (len(kept) + len(gold))


def _graphs(sample: Sample, snapshot: int) -> tuple[list[Triple], list[Triple]]:
    until = range(snapshot + 1)
    left = dict.fromkeys(triple for t in until for triple in sample.left(t))
    right = dict.fromkeys(triple for t in until for triple in sample.right(t))
    return list(left), list(right)


def _neighbours(triples: list[Triple]) -> dict[str, set[str]]:
    neighbours: dict[str, set[str]] = defaultdict(set)
    for head, _, tail in triples:
        neighbours[head].add(tail)
        neighbours[tail].add(head)
    return neighbours


def _mutual_best(scores: dict[Link, float]) -> list[Link]:
    best: dict[str, tuple[float, str]] = {}
    for (a, b), score in scores.items():
        best[a] = max(best.get(a, (score, b)), (score, b))
        best[b] = max(best.get(b, (score, a)), (score, a))
    return [(a, b) for a, b in scores if best[a][1] == b and best[b][1] == a]


def _by_shared_seeds(sample: Sample, snapshot: int, *, relative: bool) -> list[Link]:
    """Link the entities that have the most seeds as common neighbours."""
    left, right = map(_neighbours, _graphs(sample, snapshot))
    seed_left, seed_right = map(set, zip(*sample.seeds, strict=True))
    shared = Counter(
        (a, b)
        for seed_a, seed_b in sample.seeds
        for a in left[seed_a] - seed_left
        for b in right[seed_b] - seed_right
    )
    if not relative:
        return _mutual_best(dict(shared))
    return _mutual_best(
        {(a, b): n / (len(left[a]) + len(right[b]) - n) for (a, b), n in shared.items()}
    )


def _by_relation_counts(sample: Sample, snapshot: int) -> list[Link]:
    """Link the entities whose numbers of triples per relation are theirs alone."""
    left, right = map(_owners_of_signatures, _graphs(sample, snapshot))
    return [(left[key], right[key]) for key in left.keys() & right.keys()]


def _owners_of_signatures(triples: list[Triple]) -> dict[Signature, str]:
    counts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for head, relation, tail in triples:
        counts[head]["from", relation] += 1
        counts[tail]["to", relation] += 1
    signatures = {entity: tuple(sorted(count.values())) for entity, count in counts.items()}
    owners = Counter(signatures.values())
    return {key: entity for entity, key in signatures.items() if owners[key] == 1}


def _by_order(left: list[Triple], right: list[Triple]) -> list[Link]:
    """Link the entities that come first in the files, then those that come second, and so on."""
    return list(zip(_neighbours(left), _neighbours(right), strict=False))


@pytest.mark.parametrize("relative", [False, True])
def test_counting_shared_seeds_is_not_enough(sample: Sample, relative: bool) -> None:
    first = _f1(_by_shared_seeds(sample, 0, relative=relative), sample, 0)
    last = _f1(_by_shared_seeds(sample, LAST, relative=relative), sample, LAST)
    assert 0.05 < first < 0.35
    assert last < first


@pytest.mark.parametrize("snapshot", [0, LAST])
def test_counting_relations_is_not_enough(sample: Sample, snapshot: int) -> None:
    assert _f1(_by_relation_counts(sample, snapshot), sample, snapshot) < 0.1


@pytest.mark.parametrize("snapshot", [0, LAST])
def test_neither_file_order_nor_iris_tell_anything(sample: Sample, snapshot: int) -> None:
    left, right = _graphs(sample, snapshot)
    assert _f1(_by_order(left, right), sample, snapshot) < 0.02
    assert _f1(_by_order(sorted(left), sorted(right)), sample, snapshot) < 0.02
    in_iri_order = zip(sorted(_neighbours(left)), sorted(_neighbours(right)), strict=False)
    assert _f1(in_iri_order, sample, snapshot) < 0.02


def test_the_iris_of_linked_entities_are_unrelated(sample: Sample) -> None:
    def rank(codes: list[str]) -> list[int]:
        place = {code: i for i, code in enumerate(sorted(codes))}
        return [place[code] for code in codes]

    left, right = map(list, zip(*sample.gold(LAST), strict=True))
    count = len(left)
    distance = sum((a - b) ** 2 for a, b in zip(rank(left), rank(right), strict=True))
    spearman = 1 - 6 * distance / (count * (count**2 - 1))
    assert abs(spearman) < 0.1


@pytest.mark.parametrize(("snapshot", "least"), [(0, 0.85), (LAST, 0.75)])
def test_most_links_can_be_found(sample: Sample, snapshot: int, least: float) -> None:
    """Most linked entities have linked neighbours in common: it is hard, not hopeless."""
    left, right = map(_neighbours, _graphs(sample, snapshot))
    links = dict(sample.seeds + sample.validation_links + sample.gold(snapshot))
    gold = sample.gold(snapshot)
    supported = sum(any(links[x] in right[b] for x in left[a] if x in links) for a, b in gold)
    assert supported > least * len(gold)
