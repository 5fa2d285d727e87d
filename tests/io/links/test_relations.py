"""Relation alignments as RDF statements."""

from __future__ import annotations

from io import BytesIO

import pytest
from pyoxigraph import RdfFormat, parse

from everalign.io import write_relations
from everalign.io.links import RelationInclusion

SUB = "http://www.w3.org/2000/01/rdf-schema#subPropertyOf"
EQUIVALENT = "http://www.w3.org/2002/07/owl#equivalentProperty"
INVERSE = "http://www.w3.org/2002/07/owl#inverseOf"


def written(*relations: RelationInclusion, accept: float = 0.5) -> bytes:
    stream = BytesIO()
    write_relations(relations, stream, accept)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("backwards", "left_in_right", "right_in_left", "expected"),
    [
        (False, 0.9, 0.2, [("urn:l", SUB, "urn:r")]),
        (False, 0.2, 0.5, [("urn:r", SUB, "urn:l")]),
        (False, 0.5, 0.5, [("urn:l", EQUIVALENT, "urn:r")]),
        (False, 0.4, 0.4, []),
        (True, 0.9, 0.6, [("urn:l", INVERSE, "urn:r")]),
        (True, 0.9, 0.2, []),
        (True, 0.2, 0.9, []),
    ],
)
def test_inclusions_are_written_as_statements(
    backwards: bool,
    left_in_right: float,
    right_in_left: float,
    expected: list[tuple[str, str, str]],
) -> None:
    text = written(("urn:l", "urn:r", backwards, left_in_right, right_in_left))
    read = parse(text, format=RdfFormat.N_TRIPLES)
    assert [tuple(str(part).strip("<>") for part in quad)[:3] for quad in read] == expected


def test_a_relation_that_is_no_iri_is_left_out_and_counted() -> None:
    stream = BytesIO()
    good, bad = ("urn:l", "urn:r", False, 1.0, 1.0), ("knows", "urn:r", False, 1.0, 0.0)
    result = write_relations([bad, good], stream, 0.5)
    assert result == (1, {"a name is not a valid absolute IRI": 1})
    assert stream.getvalue().startswith(b"<urn:l> ")


def test_a_relation_below_the_threshold_may_have_any_name() -> None:
    assert written(("knows", "urn:r", False, 0.1, 0.1)) == b""
