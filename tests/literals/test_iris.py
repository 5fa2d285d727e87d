"""Names in IRIs, and IRIs without a name."""

from __future__ import annotations

import pytest

from everalign.literals import names_of_iris


@pytest.mark.parametrize(
    ("iri", "name"),
    [
        ("http://dbpedia.org/resource/London_Records", "London Records"),
        ("http://dbpedia.org/resource/AC/DC", "AC/DC"),
        ("http://dbpedia.org/resource/STS-113", "STS-113"),
        ("http://dbpedia.org/resource/K2", "K2"),
        ("http://fr.dbpedia.org/resource/%C3%89t%C3%A9_(film)", "Été (film)"),
        ("http://example.org/ontology#hasPart", "hasPart"),
        ("http://example.org/people/ada/", "ada"),
        ("ビッグ・ブラック", "ビッグ・ブラック"),
        ("http://www.wikidata.org/entity/Q42", None),
        ("_:b12", None),
        ("4711", None),
        ("http://example.org/550e8400-e29b-41d4-a716-446655440000", None),
        ("http://example.org/d41d8cd98f00b204e9800998ecf8427e", None),
        ("http://example.org/entity/13a2e8c2", None),
        ("http://rdf.freebase.com/ns/m.02mjmr", None),
        ("http://example.org/", "example.org"),
        ("", None),
    ],
)
def test_name_of_iri(iri: str, name: str | None) -> None:
    assert names_of_iris([iri]) == [name]
