"""The names of the ContEA datasets, measured on their train links."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.literals.graphs import best, quoted, values

from everalign.benchmark.contea_format import ContEADataset
from everalign.literals import ParsedLiterals, extract_iri_names


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
