"""Seeds and gold links that are objects in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest
import rdflib
from pyoxigraph import NamedNode, Quad, Store

from everalign import Aligner, Config, InputError
from everalign.io import LinkReader

SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"
NAMES = {"left": ["urn:a", "urn:b"], "right": ["urn:A", "urn:B"]}
STATEMENTS = (
    f"<urn:a> <{SAME_AS}> <urn:A> . <urn:b> <{SAME_AS}> <urn:B> . <urn:a> <urn:p> <urn:b> ."
)


def make_store() -> Store:
    pairs = zip(NAMES["left"], NAMES["right"], strict=True)
    rows = (map(NamedNode, (left, SAME_AS, right)) for left, right in pairs)
    store = Store()
    store.extend(Quad(*row) for row in rows)
    return store


@pytest.mark.parametrize(
    "source",
    [
        [("urn:a", "urn:A"), ["urn:b", "urn:B"]],
        {"urn:a": "urn:A", "urn:b": "urn:B"},
        pandas.DataFrame(NAMES),
        polars.DataFrame({**NAMES, "score": [0.5, 0.7]}),
        pyarrow.table(NAMES),
        pyarrow.table(NAMES).to_batches()[0],
        rdflib.Graph().parse(data=STATEMENTS, format="turtle"),
        make_store(),
    ],
    ids=lambda source: type(source).__name__,
)
def test_links_are_read_from_objects(source: Any) -> None:
    links = {(link.left, link.right) for link in LinkReader(source)}
    assert links == {("urn:a", "urn:A"), ("urn:b", "urn:B")}


def test_whole_numbers_of_a_frame_are_names() -> None:
    frame = pandas.DataFrame({"left": [1.0, 2.0, None], "right": [7, 8, 9]})
    assert [(link.left, link.right) for link in LinkReader(frame)] == [("1", "7"), ("2", "8")]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (7, "builtins.int cannot be read as links"),
        (("a", "A"), "pair 1: expected a left and a right name, found \"'a'\""),
        (["ab"], "pair 1: expected a left and a right name"),
        ([("a", "A"), ("a", "A", "x")], "pair 2: expected a left and a right name"),
        ([("a", None)], "pair 1: expected a left and a right name"),
        (pandas.DataFrame({"left": ["a"]}), "pandas.DataFrame: expected 2 columns, found 1"),
        (rdflib.Graph(), "rdflib.Graph: has no links, such as owl:sameAs"),
    ],
)
def test_other_objects_are_refused_in_one_line(tmp_path: Path, source: Any, problem: str) -> None:
    graph = [("a", "r", "b")]
    with pytest.raises(InputError) as caught:
        Aligner.create(tmp_path / "state", graph, graph, source, config=Config())
    assert problem in str(caught.value)
    assert not (tmp_path / "state").exists()
