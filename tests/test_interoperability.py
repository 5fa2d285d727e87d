"""Exports read by tools that are not part of EverAlign, and the prefixes and labels in them."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from tests.conftest import Run
from tests.review import test_sssom_decisions as sssom_decisions

from everalign import Aligner, Config, ExportStyle
from everalign.io.links import LINK_PREDICATES, combine_prefixes

L, R = "http://left.org/", "http://right.org/#"
# Norway is given; Oslo is found with 1.0. The others have names that some formats cannot hold.
LEFT_FILE = """\
@prefix l: <http://left.org/> .
@prefix ex: <http://left.org/more/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
l:Oslo l:in l:Norway ; rdfs:label "Oslo"@en, "Kristiania\\nalt"@nb .
l:Norway rdfs:label "=Norway" .
_:sea l:by l:Lake .
<http://left.org/100%> l:on l:Fjord .
"""
RIGHT_FILE = """\
<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://right.org/#"
  xmlns:ex="http://right.org/#more-" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
<rdf:Description rdf:about="http://right.org/#o"><in rdf:resource="http://right.org/#n"/>
  <rdfs:label>Осло</rdfs:label></rdf:Description>
<rdf:Description rdf:about="http://right.org/#s"><by rdf:resource="http://right.org/#l"/>
</rdf:Description>
<rdf:Description rdf:about="http://right.org/#h"><on rdf:resource="http://right.org/#f"/>
</rdf:Description>
</rdf:RDF>
"""
SEEDS = [("Norway", "n"), ("Lake", "l"), ("Fjord", "f")]
# Given links and Oslo; not the blank node and not the IRI with a percent sign.
EXPECTED = {(L + "Oslo", R + "o"), *((L + left, R + right) for left, right in SEEDS)}


@pytest.fixture
def towns(tmp_path: Path, toy: Config) -> Aligner:
    (tmp_path / "left.ttl").write_text(LEFT_FILE, encoding="utf-8")
    (tmp_path / "right.rdf").write_text(RIGHT_FILE, encoding="utf-8")
    seeds = [(L + left, R + right) for left, right in SEEDS]
    files = tmp_path / "left.ttl", tmp_path / "right.rdf"
    return Aligner.create(tmp_path / "state", *files, seeds, config=toy)


def write(aligner: Aligner, path: Path, format: str, style: ExportStyle) -> Path:
    with path.open("wb") as stream:
        aligner.export(stream, format, style)
    return path


STYLES = [
    ExportStyle(),
    ExportStyle(reify=True),
    ExportStyle(predicate="skos:exactMatch", reify=True),
    ExportStyle(predicate="schema:sameAs"),
]


@pytest.mark.parametrize("style", STYLES, ids=lambda style: f"{style.predicate}-{style.reify}")
@pytest.mark.parametrize("format", ["nt", "ttl"])
def test_rdflib_reads_links(
    towns: Aligner, tmp_path: Path, format: str, style: ExportStyle
) -> None:
    rdflib = pytest.importorskip("rdflib")
    path = write(towns, tmp_path / f"links.{format}", format, style)
    graph = rdflib.Graph().parse(path)
    predicate = rdflib.URIRef(LINK_PREDICATES[style.predicate])
    assert {(str(s), str(o)) for s, o in graph.subject_objects(predicate)} == EXPECTED
    statements = set(graph.subjects(rdflib.RDF.type, rdflib.RDF.Statement))
    assert len(statements) == (len(EXPECTED) if style.reify else 0)
    for statement in statements:
        assert graph.value(statement, rdflib.RDF.predicate) == predicate
        confidence = rdflib.URIRef("https://w3id.org/sssom/confidence")
        assert float(graph.value(statement, confidence)) == 1.0


@pytest.mark.parametrize("style", [*STYLES, ExportStyle(annotate=True)], ids=str)
@pytest.mark.parametrize("format", ["nt", "ttl"])
def test_a_strict_parser_of_rdf_1_2_reads_links(
    towns: Aligner, tmp_path: Path, format: str, style: ExportStyle
) -> None:
    pyoxigraph = pytest.importorskip("pyoxigraph")
    path = write(towns, tmp_path / f"links.{format}", format, style)
    quads = list(pyoxigraph.parse(path=path))
    predicate = LINK_PREDICATES[style.predicate]
    found = [quad for quad in quads if quad.predicate.value == predicate]
    assert {(quad.subject.value, quad.object.value) for quad in found} == EXPECTED
    reified = [quad for quad in quads if quad.predicate.value.endswith("#reifies")]
    assert len(reified) == (len(EXPECTED) if style.annotate else 0)


@pytest.mark.parametrize("format", ["nt", "ttl"])
def test_rapper_reads_links(towns: Aligner, tmp_path: Path, format: str) -> None:
    rapper = shutil.which("rapper")
    if rapper is None:
        pytest.skip("needs rapper, of the Debian package raptor2-utils")
    path = write(towns, tmp_path / f"links.{format}", format, ExportStyle(reify=True))
    name = {"nt": "ntriples", "ttl": "turtle"}[format]
    run = subprocess.run(
        [rapper, "-q", "-i", name, path], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.count("sameAs> <") == len(EXPECTED)


def test_rdflib_reads_an_alignment(towns: Aligner, tmp_path: Path) -> None:
    rdflib = pytest.importorskip("rdflib")
    path = write(towns, tmp_path / "links.rdf", "alignment", ExportStyle())
    graph = rdflib.Graph().parse(path)
    name = "http://knowledgeweb.semanticweb.org/heterogeneity/alignment#entity{}"
    left, right = (rdflib.URIRef(name.format(number)) for number in (1, 2))
    found = {(str(o), str(graph.value(s, right))) for s, o in graph.subject_objects(left)}
    assert found == EXPECTED


def test_pandas_reads_tables(towns: Aligner, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    style = ExportStyle(labels=True, languages=("en",))
    tsv = pandas.read_csv(
        write(towns, tmp_path / "links.tsv", "tsv", style), sep="\t", header=None
    )
    jsonl = pandas.read_json(write(towns, tmp_path / "links.jsonl", "jsonl", style), lines=True)
    # A table and JSON lines can hold an IRI that is not valid.
    all_links = EXPECTED | {(L + "100%", R + "h")}
    assert set(zip(tsv[0], tsv[1], strict=True)) == all_links
    assert set(zip(jsonl["left"], jsonl["right"], strict=True)) == all_links
    labels = dict(zip(jsonl["left"], jsonl["left_label"], strict=True))
    assert (labels[L + "Oslo"], labels[L + "Norway"]) == ("Oslo", "=Norway")


def test_labels_are_in_the_language_asked_for(towns: Aligner) -> None:
    def read_label(*languages: str) -> str:
        stream = BytesIO()
        towns.export(stream, "jsonl", ExportStyle(labels=True, languages=languages))
        rows = map(json.loads, stream.getvalue().splitlines())
        return str(next(row["left_label"] for row in rows if row["left"] == L + "Oslo"))

    assert read_label("nb") == "Kristiania\nalt"
    assert read_label("de", "en") == "Oslo"


def test_a_table_for_a_spreadsheet_has_no_formula_and_no_extra_lines(towns: Aligner) -> None:
    stream = BytesIO()
    towns.export(stream, "tsv", ExportStyle(labels=True, spreadsheet_safe=True, languages=("nb",)))
    lines = stream.getvalue().decode().splitlines()
    assert [len(line.split("\t")) for line in lines] == [5] * 5
    assert "\t'=Norway\t" in stream.getvalue().decode()
    assert "\tKristiania alt\t" in stream.getvalue().decode()


def test_what_a_format_cannot_hold_is_left_out_and_counted(towns: Aligner) -> None:
    counts = {}
    for format in ("nt", "ttl", "alignment", "sssom", "jsonl"):
        result = towns.export(BytesIO(), format)
        counts[format] = result.written, sum(result.skipped.values())
    # The blank node in each; the IRI with a percent sign where RDF is strict.
    assert counts == {
        **dict.fromkeys(("nt", "ttl", "alignment", "sssom"), (4, 2)),
        "jsonl": (5, 1),
    }


def test_blank_nodes_get_iris_where_asked_for(towns: Aligner) -> None:
    stream = BytesIO()
    style = ExportStyle(blank_nodes=True, skolem_base="http://my.org/")
    result = towns.export(stream, "nt", style)
    assert (result.written, list(result.skipped.values())) == (5, [1])
    assert b"<http://my.org/.well-known/genid/left/" in stream.getvalue()


def test_the_command_counts_what_it_leaves_out(everalign_toy: Run, towns: Aligner) -> None:
    run = everalign_toy("export", "state", "--format", "nt")
    assert run.returncode == 0
    assert len(run.stdout.splitlines()) == 4
    assert run.stderr.splitlines() == [
        "1 link left out: an entity is a blank node (to write it: --blank-nodes)",
        "1 link left out: a name is not a valid absolute IRI",
    ]


def test_prefixes_of_the_files_are_known(towns: Aligner) -> None:
    stream = BytesIO()
    towns.export(stream, "ttl")
    lines = stream.getvalue().decode().splitlines()
    # Only those that are used; an empty prefix is called by its side.
    assert lines[:3] == [
        "@prefix l: <http://left.org/> .",
        "@prefix owl: <http://www.w3.org/2002/07/owl#> .",
        "@prefix right: <http://right.org/#> .",
    ]
    assert "l:Oslo owl:sameAs right:o ." in lines


def test_prefixes_that_contradict_each_other_are_told_apart() -> None:
    prefixes = combine_prefixes(
        [
            {"left": {"ex": "urn:a/", "owl": "urn:own/", "1x": "urn:bad/"}},
            {"left": {"ex": "urn:c/"}},
        ]
    )
    names = prefixes.names
    assert (names["ex"], names["ex-left"]) == ("urn:a/", "urn:c/")
    assert (names["owl-left"], "1x" in names) == ("urn:own/", False)
    assert prefixes.expand_curie("wd:Q42") == "http://www.wikidata.org/entity/Q42"
    assert prefixes.expand_curie("nothing") is None


def test_annotations_of_many_links_stay_apart(tmp_path: Path, toy: Config) -> None:
    pyoxigraph = pytest.importorskip("pyoxigraph")
    count = 1100
    seeds = [(f"urn:l:{n}", f"urn:r:{n}") for n in range(count)]
    left, right = ([(pair[side], "urn:p", pair[side]) for pair in seeds] for side in (0, 1))
    aligner = Aligner.create(tmp_path / "many", left, right, seeds, config=toy)
    path = write(aligner, tmp_path / "many.nt", "nt", ExportStyle(annotate=True))
    reified = [
        quad.subject
        for quad in pyoxigraph.parse(path=path)
        if quad.predicate.value.endswith("#reifies")
    ]
    assert len(set(reified)) == count


@pytest.mark.slow
def test_sssom_py_takes_exports_with_its_defaults(
    towns: Aligner, tmp_path: Path, toy: Config
) -> None:
    pytest.importorskip("sssom_schema")
    towns.reject([(L + "Oslo", R + "o")], apply=True)
    predicates = ("owl:sameAs", "schema:sameAs")
    for predicate in predicates:
        path = tmp_path / f"{predicate[:3]}.sssom.tsv"
        write(towns, path, "sssom", ExportStyle(predicate=predicate))
        assert "\tsubject_label\t" in path.read_text(encoding="utf-8")
    decided = sssom_decisions.build_undecided(tmp_path / "decided", toy)
    sssom_decisions.decide(decided)
    sssom_decisions.export(decided, tmp_path / "decided.sssom.tsv")
    names = ("owl", "sch", "decided")
    # All in one process: to import sssom takes most of the time.
    program = (
        "import sys; from sssom.cli import main\n"
        "for name in sys.argv[1:]:\n"
        "    for command in ('parse', 'validate', 'convert'):\n"
        "        output = [] if command == 'validate' else ['--output', f'{name}.{command}.tsv']\n"
        "        main([command, f'{name}.sssom.tsv', *output], standalone_mode=False)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, *names],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    for name, predicate in zip(names, predicates, strict=False):
        for command in ("parse", "convert"):
            table = (tmp_path / f"{name}.{command}.tsv").read_text(encoding="utf-8")
            assert f"l:Norway\t=Norway\t{predicate}" in table
            assert "\tNot\t" in table
    check_parsed_decisions((tmp_path / "decided.parse.tsv").read_text(encoding="utf-8"))


def check_parsed_decisions(table: str) -> None:
    lines = [line for line in table.splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines, delimiter="\t"))
    negated = {row["object_id"] for row in rows if row["predicate_modifier"] == "Not"}
    assert negated == {"r:T", "r:R"}
    assert "orcid:0000-0002-1825-0097" in {row["reviewer_id"] for row in rows}
    assert any(row["review_date"] for row in rows)
