"""Links that are written read back as the same links, whatever their names."""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode, RdfFormat, parse
from tests.io.links.strategies import BEGINNINGS, LINKS, NAMED_LINKS

from everalign.errors import ConfigError, InputError
from everalign.io import read_links, write_links
from everalign.io.links import (
    ExportStyle,
    JustifiedMapping,
    LinkRow,
    MappingSet,
    Prefixes,
    check_sssom,
    write_sssom,
)

ENDINGS = {"nt": ".nt", "ttl": ".ttl", "alignment": ".rdf", "jsonl": ".jsonl", "tsv": ".tsv"}
PREFIXES = Prefixes(BEGINNINGS)
SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"
OSLO = LinkRow("http://a.org/Oslo", "http://a.org/b/Осло", 0.93, 2)


def written(links: list[LinkRow], format: str, style: ExportStyle | None = None) -> bytes:
    stream = BytesIO()
    write_links(links, stream, format, style)
    return stream.getvalue()


def read_back(content: bytes, ending: str) -> list[tuple[str, str]]:
    with TemporaryDirectory() as directory:
        path = Path(directory, f"links{ending}")
        path.write_bytes(content)
        return [(link.left, link.right) for link in read_links(path)]


def pairs(links: list[LinkRow]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((link.left, link.right) for link in links))


@pytest.mark.slow
@pytest.mark.parametrize("format", ENDINGS)
@settings(max_examples=50)
@given(LINKS)
def test_iris_read_back(format: str, links: list[LinkRow]) -> None:
    style = ExportStyle(PREFIXES)
    assert read_back(written(links, format, style), ENDINGS[format]) == pairs(links)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["nt", "ttl"])
@settings(max_examples=50)
@given(LINKS)
def test_annotated_links_read_back(format: str, links: list[LinkRow]) -> None:
    style = ExportStyle(PREFIXES, annotate=True)
    assert read_back(written(links, format, style), ENDINGS[format]) == pairs(links)


@pytest.mark.parametrize("format", ["tsv", "jsonl"])
@settings(max_examples=50)
@given(NAMED_LINKS)
def test_names_that_are_not_iris_read_back_from_tables(format: str, links: list[LinkRow]) -> None:
    assert read_back(written(links, format), ENDINGS[format]) == pairs(links)


@settings(max_examples=50)
@given(st.one_of(LINKS, NAMED_LINKS))
def test_parquet_reads_back(links: list[LinkRow]) -> None:
    pytest.importorskip("pyarrow")
    assert read_back(written(links, "parquet"), ".parquet") == pairs(links)


@pytest.mark.slow
@settings(max_examples=50)
@given(LINKS)
def test_sssom_reads_back_and_passes_its_own_check(links: list[LinkRow]) -> None:
    rows = [
        JustifiedMapping(
            link.left, link.right, "semapv:CompositeMatching", link.score, comment=link.right
        )
        for link in links
    ]
    stream = BytesIO()
    write_sssom(rows, stream, MappingSet("urn:set:1", prefixes=PREFIXES))
    with TemporaryDirectory() as directory:
        path = Path(directory, "links.tsv")  # its content tells that it is SSSOM
        path.write_bytes(stream.getvalue())
        assert check_sssom(path) == []
        found = [(link.left, link.right) for link in read_links(path)]
    assert set(found) == set(pairs(links))


@pytest.mark.parametrize("format", ["nt", "ttl", "alignment", "jsonl", "tsv"])
def test_compressed_files_are_read(format: str) -> None:
    content = gzip.compress(written([OSLO], format))
    assert read_back(content, f"{ENDINGS[format]}.gz") == pairs([OSLO])


def test_turtle_shortens_what_a_prefix_covers() -> None:
    odd = LinkRow("http://a.org/b/it's", "urn:y:1", 1.0)
    text = written([OSLO, odd], "ttl", ExportStyle(PREFIXES)).decode()
    assert "a:Oslo owl:sameAs ab:Осло .\n" in text
    assert "<http://a.org/b/it's> owl:sameAs <urn:y:1> .\n" in text


def test_turtle_does_not_redefine_a_given_prefix() -> None:
    style = ExportStyle(Prefixes({"owl": "http://a.org/", "sssom": "urn:s:"}), annotate=True)
    text = written([OSLO], "ttl", style)
    (link, *_) = parse(text, format=RdfFormat.TURTLE)
    assert link.predicate == NamedNode(SAME_AS)
    assert text.decode().splitlines()[-1].startswith(f"owl:Oslo <{SAME_AS}> ")


@pytest.mark.parametrize("format", ["nt", "ttl"])
def test_annotations_are_rdf_1_2(format: str) -> None:
    given = LinkRow("urn:a:1", "urn:b:1", 1.0, 0, "given")
    style = ExportStyle(annotate=True, calibrated=False)
    kind = RdfFormat.TURTLE if format == "ttl" else RdfFormat.N_TRIPLES
    quads = list(parse(written([OSLO, given], format, style), format=kind))
    reified = {
        quad.subject: str(quad.object)
        for quad in quads
        if quad.predicate.value.endswith("reifies")
    }
    said = {
        reified[quad.subject]: (quad.predicate.value.rpartition("/")[2], quad.object.value)
        for quad in quads
        if quad.subject in reified and not quad.predicate.value.endswith("reifies")
    }
    # A score that is no probability is not called a confidence, a person's word is.
    assert said == {
        f"<{OSLO.left}> <{SAME_AS}> <{OSLO.right}>": ("similarity_score", "0.93"),
        f"<urn:a:1> <{SAME_AS}> <urn:b:1>": ("confidence", "1.0"),
    }
    assert sum(quad.predicate.value == SAME_AS for quad in quads) == 2


def test_other_tools_read_the_alignment_format() -> None:
    style = ExportStyle(left_source="http://a.org/", right_source="http://b.org/")
    content = written([OSLO], "alignment", style)
    said = {
        (quad.predicate.value.rpartition("#")[2], getattr(quad.object, "value", ""))
        for quad in parse(content, format=RdfFormat.RDF_XML)
    }
    assert {
        ("entity1", OSLO.left), ("entity2", OSLO.right), ("relation", "="), ("measure", "0.93")
    } <= said  # fmt: skip
    assert read_back(content, ".xml") == pairs([OSLO])


@pytest.mark.parametrize("format", ["nt", "ttl", "alignment"])
def test_a_name_that_is_not_an_iri_is_refused(format: str) -> None:
    stream = BytesIO()
    with pytest.raises(InputError, match="'Q42' is not an absolute IRI"):
        write_links([OSLO, LinkRow("Q42", "urn:x", 1.0)], stream, format)
    assert stream.getvalue() == b""


def test_only_rdf_is_annotated() -> None:
    with pytest.raises(ConfigError, match="tsv has no annotations: they are for nt and ttl"):
        written([OSLO], "tsv", ExportStyle(annotate=True))


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_not_finite_cannot_be_annotated(score: float) -> None:
    with pytest.raises(InputError, match="cannot be written as a decimal"):
        written([OSLO._replace(score=score)], "ttl", ExportStyle(annotate=True))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["dbr"], "invalid prefix 'dbr': expected NAME=IRI, such as dbr=http"),
        (["1=http://a.org/"], "invalid prefix name '1'"),
        (["a.=http://a.org/"], "invalid prefix name 'a.'"),
        (["a=there"], "the prefix 'a' stands for 'there': not an IRI"),
        (["a=urn:a:", "a=urn:b:"], "the prefix 'a' is given twice"),
    ],
)
def test_an_invalid_prefix_is_refused(given: list[str], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Prefixes.parse(given)
    assert problem in str(caught.value)
