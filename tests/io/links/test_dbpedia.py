"""Real IRIs of DBpedia, in every format and back."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from everalign.benchmark.contea_format import ContEADataset
from everalign.io import ExportStyle, Prefixes, check_sssom, read_links, write_links
from everalign.io.links import JustifiedMapping, LinkRow, MappingSet, write_sssom

PREFIXES = Prefixes(
    {
        "zh": "http://zh.dbpedia.org/resource/",
        "ja": "http://ja.dbpedia.org/resource/",
        "fr": "http://fr.dbpedia.org/resource/",
        "dbr": "http://dbpedia.org/resource/",
    }
)


@pytest.fixture(params=["ZH-EN", "JA-EN", "FR-EN"])
def links(real_data: Path, request: pytest.FixtureRequest) -> list[LinkRow]:
    dataset = ContEADataset.open(real_data / request.param)
    iris = dataset.read_iris()
    # The dataset does not tell the IRI of every entity.
    known = [pair for pair in dataset.validation_links() if set(pair) <= iris.keys()]
    assert len(known) > 100
    return [LinkRow(iris[left], iris[right], 0.5) for left, right in known[:1000]]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["nt", "ttl", "tsv", "jsonl", "rdf"])
def test_real_links_read_back(links: list[LinkRow], tmp_path: Path, ending: str) -> None:
    stream = BytesIO()
    format = {"rdf": "alignment"}.get(ending, ending)
    write_links(links, stream, format, ExportStyle(PREFIXES))
    path = tmp_path / f"links.{ending}"
    path.write_bytes(stream.getvalue())
    found = [(link.left, link.right) for link in read_links(path)]
    assert found == [(link.left, link.right) for link in links]


def test_real_links_make_a_valid_mapping_set(links: list[LinkRow], tmp_path: Path) -> None:
    rows = [
        JustifiedMapping(link.left, link.right, "semapv:CompositeMatching", 0.5) for link in links
    ]
    stream = BytesIO()
    write_sssom(rows, stream, MappingSet("urn:example:set", prefixes=PREFIXES))
    path = tmp_path / "links.sssom.tsv"
    path.write_bytes(stream.getvalue())
    assert check_sssom(path) == []
    found = {(link.left, link.right) for link in read_links(path)}
    assert found == {(link.left, link.right) for link in links}
