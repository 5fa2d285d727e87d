"""Data frames and graphs of other libraries, read as the files that they come from."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any, cast

import pandas
import polars
import pyarrow
import pytest
import rdflib
from pyoxigraph import BlankNode, Dataset, Literal, NamedNode, Quad, RdfFormat, Store, parse

from everalign import Aligner, ChangeSet, Config, ConfigError, InputError, Table
from everalign.io import ReadOptions, TripleReader

TURTLE = """
@prefix e: <http://e.org/> .
e:a e:knows e:b ; e:name "Ada"@EN ; e:age 36 ; e:note "say \\"hi\\"\\n" ; e:home [ e:in e:oslo ] .
"""
XSD = "http://www.w3.org/2001/XMLSchema#"
COLUMNS = {
    "id": [1, 2],
    "name": ["Ada", None],
    "price": [2.5, None],
    "day": [date(2024, 2, 29), None],
    "friend": ["2", None],
}
LITERALS = {
    ("1", "name", '"Ada"'),
    ("1", "price", f'"2.5"^^<{XSD}double>'),
    ("1", "day", f'"2024-02-29"^^<{XSD}date>'),
}


def read(source: Any, **options: Any) -> tuple[set[Any], set[Any]]:
    batches = list(TripleReader(source, **options).statements())
    return (
        {row for batch in batches for row in batch.triples},
        {row for batch in batches for row in batch.literals},
    )


def make_frames() -> dict[str, Any]:
    arrow = pyarrow.table(COLUMNS)
    return {
        "pandas": pandas.DataFrame(COLUMNS),
        "polars": polars.DataFrame(COLUMNS),
        "polars lazy": polars.DataFrame(COLUMNS).lazy(),
        "pyarrow": arrow,
        "pandas index": pandas.DataFrame(COLUMNS).set_index("id"),
    }


@pytest.mark.parametrize("kind", list(make_frames()))
def test_data_frames_are_tables(kind: str) -> None:
    triples, literals = read(Table(make_frames()[kind], link_columns=["friend"]))
    assert triples == {("1", "friend", "2")}
    assert literals == LITERALS


def test_missing_values_of_pandas_are_no_statements() -> None:
    frame = pandas.DataFrame(
        {
            "id": ["a", "b"],
            "n": pandas.array([1, None], dtype="Int64"),
            "t": [pandas.Timestamp("2024-01-02T03:04:05"), pandas.NaT],
            "f": [float("nan"), 1.0],
            "o": [datetime(2020, 1, 1), pandas.NA],
        }
    )
    assert read(frame)[1] == {
        ("a", "n", f'"1"^^<{XSD}integer>'),
        ("a", "t", f'"2024-01-02T03:04:05"^^<{XSD}dateTime>'),
        ("b", "f", f'"1.0"^^<{XSD}double>'),
        ("a", "o", f'"2020-01-01T00:00:00"^^<{XSD}dateTime>'),
    }


def test_a_frame_of_triples_is_one() -> None:
    columns = {"subject": ["a"], "predicate": ["r"], "object": ["b"]}
    assert read(polars.DataFrame(columns))[0] == {("a", "r", "b")}


@pytest.mark.parametrize(
    ("frame", "problem"),
    [
        (pandas.DataFrame({"id": [1, 1], "n": ["a", "b"]}), "row 2: the id '1' is also that of"),
        (pandas.DataFrame({"name": ["a"]}), "no column is named like an id"),
        (pandas.DataFrame({"id": [1], "n": [{"x": 1}]}), "values of type dict are not supported"),
        (pandas.DataFrame({0: [1], 1: [2]}), "the names of the columns are not text"),
    ],
)
def test_frames_that_cannot_be_read_are_refused(frame: Any, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read(frame)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def make_graphs() -> dict[str, Any]:
    quads = list(parse(TURTLE, format=RdfFormat.TURTLE))
    store = Store()
    store.extend(quads)
    graph = rdflib.Graph()
    graph.parse(data=TURTLE, format="turtle")
    dataset = rdflib.Dataset()
    dataset.default_graph.parse(data=TURTLE, format="turtle")
    return {"rdflib": graph, "dataset": dataset, "store": store, "quads": Dataset(quads)}


def name_blank_nodes(rows: set[Any]) -> set[Any]:
    return {tuple("_:x" if name.startswith("_:") else name for name in row) for row in rows}


@pytest.mark.parametrize("kind", ["rdflib", "dataset", "store", "quads"])
def test_graphs_of_other_libraries_are_read_as_their_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "graph.ttl"
    path.write_text(TURTLE)
    expected_triples, expected_literals = read(path)
    triples, literals = read(make_graphs()[kind])
    assert literals == expected_literals
    assert name_blank_nodes(triples) == name_blank_nodes(expected_triples)
    assert ("http://e.org/a", "http://e.org/name", '"Ada"@en') in literals


def test_named_graphs_are_filtered() -> None:
    name, other = NamedNode("urn:g"), NamedNode("urn:h")
    node = NamedNode("urn:a")
    quads = Dataset([Quad(node, node, BlankNode("b"), name), Quad(node, node, node, other)])
    options = ReadOptions(graphs=("urn:g",))
    assert read(quads, options=options)[0] == {("urn:a", "urn:a", "_:b")}
    dataset = rdflib.Dataset()
    a = rdflib.URIRef("urn:a")
    dataset.graph(rdflib.URIRef("urn:g")).add((a, a, rdflib.BNode("b")))
    dataset.graph(rdflib.URIRef("urn:h")).add((a, a, a))
    assert read(dataset, options=options)[0] == {("urn:a", "urn:a", "_:b")}


@pytest.mark.parametrize("kind", ["rdflib", "store"])
def test_an_alignment_of_graphs_equals_that_of_their_files(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "graph.ttl"
    path.write_text(TURTLE)
    graph = make_graphs()[kind]
    aligner = Aligner.create(tmp_path / "state", graph, graph, config=Config())
    files = Aligner.create(tmp_path / "files", path, path, config=Config())
    for side in ("left_entities", "left_triples", "right_triples"):
        assert getattr(aligner.status(), side) == getattr(files.status(), side)
    # The same graph again changes nothing: blank nodes keep their names.
    assert not aligner.update(left=graph).reports


def test_terms_of_rdflib_in_tuples_are_terms(tmp_path: Path) -> None:
    graph = rdflib.Graph()
    graph.parse(data=TURTLE, format="turtle")
    rows: list[Any] = list(graph)
    literals = [row for row in rows if isinstance(row[2], rdflib.Literal)]
    aligner = Aligner.create(tmp_path / "state", rows, iter(rows), config=Config())
    assert aligner.status().left_triples == len(rows) - len(literals)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (
            [("a", "r", 7)],
            "row 1: expected a name or a term of RDF, found '7' of type builtins.int",
        ),
        ([("a", "r")], "row 1: expected head, relation and tail, found"),
        ([("a", "r", "b"), 5], "row 2: expected head, relation and tail, found '5'"),
        (7, "int cannot be read as a graph"),
        ([(rdflib.Variable("x"), "r", "b")], "row 1: expected a name or a term of RDF"),
    ],
)
def test_other_objects_are_refused(tmp_path: Path, source: Any, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        Aligner.create(tmp_path / "state", source, [("a", "r", "b")], config=Config())
    assert problem in str(caught.value)


def test_a_changed_frame_adds_and_removes(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"id": ["a", "b", "c"], "name": ["Ada", "Bo", "Cy"]})
    aligner = Aligner.create(tmp_path / "state", frame, frame.copy(), config=Config())
    assert aligner.status().left_entities == 3
    changed = pandas.DataFrame({"id": ["a", "b", "d"], "name": ["Ada", "Bob", "Di"]})
    (report,) = aligner.update(change=ChangeSet(complete_left=changed)).reports
    assert report.left_added_entities == 1
    assert report.left_removed_entities == 1
    assert not aligner.update(change=ChangeSet(complete_left=changed)).reports


def test_a_literal_of_pyoxigraph_in_a_tuple() -> None:
    from everalign.io import read_rows

    rows = read_rows([(NamedNode("urn:a"), NamedNode("urn:p"), Literal("x", language="EN"))])
    assert rows.literals == [("urn:a", "urn:p", '"x"@en')]


def test_a_record_batch_is_a_table() -> None:
    table = pyarrow.table({"id": ["a", "b"], "name": ["Ada", "Bo"]})
    (batch,) = table.to_batches()
    rows = [row for part in TripleReader(batch).statements() for row in part.literals]
    assert rows == [("a", "name", '"Ada"'), ("b", "name", '"Bo"')]


def test_a_graph_that_is_missing_or_no_text_is_refused(tmp_path: Path) -> None:
    good, missing = [("a", "r", "b")], cast(Any, None)
    with pytest.raises(ConfigError, match="needs a left and a right graph"):
        Aligner.create(tmp_path / "state", good, missing)
    with pytest.raises(InputError, match="row 2: has a character that is not Unicode"):
        Aligner.create(tmp_path / "state", good, [*good, ("a\ud800", "r", "b")])
