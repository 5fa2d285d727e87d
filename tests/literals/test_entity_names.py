"""The names of entities: from attributes, and from IRIs."""

from __future__ import annotations

import numpy as np
import pytest

from everalign.graph import AttributeTriples
from everalign.graph.iri_names import extract_iri_names
from everalign.literals import ParsedLiterals, find_entity_names
from everalign.literals.entity_names import pair_known_names

# entity, attribute, text
Rows = list[tuple[int, int, str]]


def first_names(attributes: list[str], rows: Rows, entity_count: int) -> list[str]:
    literals = list(dict.fromkeys(text for _, _, text in rows))
    triples = [(entity, attribute, literals.index(text)) for entity, attribute, text in rows]
    quoted = [f'"{text}"' for text in literals]
    table = AttributeTriples(np.array(triples, dtype=np.int32), attributes, quoted)
    return find_entity_names(ParsedLiterals(table), entity_count).first_names


def test_a_label_names_better_than_a_code_that_more_entities_have() -> None:
    codes = [(n, 0, f"code x{n}") for n in range(4)]
    labels = [(n, 1, text) for n, text in enumerate(("Ada", "Bob", "Eve"))]
    names = first_names(["http://x.org/code", "http://x.org/label"], codes + labels, 5)
    assert names == ["ada", "bob", "eve", "code x3", ""]


def test_a_title_that_many_share_names_nobody_who_has_another_name() -> None:
    titles = [(n, 0, "Mayor") for n in range(4)]
    called = [(n, 1, text) for n, text in enumerate(("Ada", "Bob", "Eve"))]
    assert first_names(["title", "called"], titles + called, 4) == ["ada", "bob", "eve", "mayor"]


def test_long_texts_are_no_names() -> None:
    rows = [(0, 0, "word " * 30), (0, 1, "Ada"), (1, 0, "word " * 30)]
    assert first_names(["label", "called"], rows, 2) == ["ada", ""]


def test_names_of_linked_entities_are_paired_once() -> None:
    rows = np.array([[0, 0, 0], [1, 0, 0], [3, 0, 1]], dtype=np.int32)
    literals = ParsedLiterals(AttributeTriples(rows, ["label"], ['"Ada"', '"Bob"']))
    names = find_entity_names(literals, 4)
    links = np.array([[3, 3], [0, 1], [1, 0], [2, 0]], dtype=np.int32)
    assert pair_known_names(names, names, links).tolist() == [[1, 1], [0, 0]]


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
        ("http://example.org/City64", None),
        ("http://example.org/r9999", None),
        ("http://dbpedia.org/resource/U.S._Route_66", "U.S. Route 66"),
        ("http://example.org/", "example.org"),
        ("", None),
    ],
)
def test_name_of_iri(iri: str, name: str | None) -> None:
    assert extract_iri_names([iri]) == [name]
