"""The names of the ContEA datasets, measured on their train links."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.literals.graphs import best, quoted, values

from everalign._progress import no_progress
from everalign.benchmark.contea_format import ContEADataset
from everalign.graph.iri_names import extract_iri_names
from everalign.literals import (
    NO_KNOWN_PAIRS,
    CachedMatches,
    LiteralIndex,
    LiteralSettings,
    MatchedLiterals,
    NewLiterals,
    ParsedLiterals,
    match_literals,
)


def named(dataset: ContEADataset, links: list[tuple[str, str]], side: int) -> list[str | None]:
    iris = dataset.read_iris()
    return extract_iri_names([iris.get(link[side], "") for link in links])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("FR-EN", 0.9), ("JA-EN", 0.6), ("ZH-EN", 0.25)])
def test_most_names_find_their_partner(real_data: Path, name: str, least: float) -> None:
    pytest.importorskip("fugashi")
    pytest.importorskip("pypinyin")
    dataset = ContEADataset.open(real_data / name)
    links = dataset.train_links()
    pairs = [
        (one, two)
        for one, two in zip(*(named(dataset, links, side) for side in range(2)), strict=True)
        if one and two
    ]

    def side_of(at: int) -> ParsedLiterals:
        return values([quoted(pair[at]) for pair in pairs])

    found = best(side_of(0), side_of(1))
    assert sum(found.get(at) == at for at in range(len(pairs))) > least * len(pairs)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("FR-EN", 0.98), ("ZH-EN", 0.95)])
def test_later_names_are_matched_as_if_they_had_been_there(
    real_data: Path, name: str, least: float
) -> None:
    """The last tenth of the names of train links comes later."""
    dataset = ContEADataset.open(real_data / name)
    links = dataset.train_links()
    sides = [
        list(dict.fromkeys(quoted(each) for each in named(dataset, links, side) if each))
        for side in range(2)
    ]
    known = [len(side) * 9 // 10 for side in sides]
    triples = [
        values(side[:count]).attribute_triples for side, count in zip(sides, known, strict=True)
    ]
    start = MatchedLiterals.find(
        (triples[0], triples[1]),
        (known[0], known[1]),
        LiteralSettings(),
        no_progress,
        NO_KNOWN_PAIRS,
        CachedMatches.empty(),
    )
    assert start is not None
    new = [
        NewLiterals(np.arange(count, len(side), dtype=np.int32), side[count:])
        for side, count in zip(sides, known, strict=True)
    ]
    added = LiteralIndex.build(start, None).add_literals(*new).matches.to_rows()
    whole = match_literals(values(sides[0]), values(sides[1])).to_rows()
    expected = {row[:2] for row in whole if row[0] >= known[0] or row[1] >= known[1]}
    found = {row[:2] for row in added}
    assert len(found & expected) > least * len(expected)
    assert len(found & expected) > least * len(found)
