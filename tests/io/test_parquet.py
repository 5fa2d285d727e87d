"""Parquet: three columns of text, with the same rules as a table."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from everalign.errors import InputError
from everalign.io import TripleReader, read_links, read_triples


def written(path: Path, columns: dict[str, Any]) -> Path:
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(read_triples(path))
    assert caught.value.path == str(path)
    return caught.value.problem


@pytest.mark.parametrize(
    "names", [("head", "relation", "tail"), ("subject", "predicate", "object")]
)
@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
def test_three_columns_are_read(tmp_path: Path, names: tuple[str, ...], kind: str) -> None:
    values = [["<urn:a>", "a"], ["r", "label"], ["urn:b", '"Ada"@EN']]
    arrays = [pyarrow.array(column) for column in values]
    if kind == "dictionary":
        arrays = [array.dictionary_encode() for array in arrays]
    elif kind == "large_string":
        arrays = [array.cast(pyarrow.large_string()) for array in arrays]
    columns = dict(zip(names, arrays, strict=True)) | {"weight": pyarrow.array([1.0, 2.0])}
    (part,) = TripleReader(written(tmp_path / "left.parquet", columns)).statements()
    assert part.triples == [("urn:a", "r", "urn:b")]
    assert part.literals == [("a", "label", '"Ada"@en')]


def test_parquet_is_recognised_by_its_first_bytes(tmp_path: Path) -> None:
    path = written(tmp_path / "left.2016", {"head": ["a"], "relation": ["r"], "tail": ["b"]})
    assert list(read_triples(path)) == [("a", "r", "b")]


@pytest.mark.slow
def test_rows_come_in_file_order(tmp_path: Path) -> None:
    heads = [str(n) for n in range(20_000)]
    columns = {"head": heads, "relation": ["r"] * 20_000, "tail": ["x"] * 20_000}
    path = written(tmp_path / "left.parquet", columns)
    assert [head for head, _, _ in read_triples(path)] == heads


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"head": ["a"], "tail": ["b"]}, "expected the columns head, relation, tail or subject"),
        (
            {"head": [1], "relation": ["r"], "tail": ["b"]},
            "the column 'head' is not text but int64",
        ),
        (
            {"head": ["a", ""], "relation": ["r"] * 2, "tail": ["b"] * 2},
            "row 2: the head is empty",
        ),
        (
            {"head": ["a"], "relation": ["r"], "tail": pyarrow.array([None], "string")},
            "row 1: the tail",
        ),
        (
            {"head": pyarrow.array([], "string")}
            | dict.fromkeys(("relation", "tail"), pyarrow.array([], "string")),
            "has no triples",
        ),
    ],
)
def test_other_tables_are_refused(tmp_path: Path, columns: dict[str, Any], problem: str) -> None:
    assert problem in refusal(written(tmp_path / "left.parquet", columns))


def test_rows_without_a_name_are_skipped(tmp_path: Path) -> None:
    columns = {"head": ["a", None, "c"], "relation": ["r"] * 3, "tail": ["b"] * 3}
    reader = TripleReader(written(tmp_path / "left.parquet", columns), skip_errors=True)
    assert [head for head, _, _ in reader] == ["a", "c"]
    assert reader.skipped[0].reason == "row 2: the head is empty"


def test_a_file_that_is_not_parquet_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "left.parquet", {"head": ["a"], "relation": ["r"], "tail": ["b"]})
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert "cannot be read as Parquet" in refusal(path)
    path.write_bytes(b"a\tb\tc\n")
    assert refusal(path) == "is named like a Parquet file but does not begin like one"
    path.write_bytes(gzip.compress(whole))
    assert "Parquet" in refusal(path)


@pytest.mark.parametrize("kind", ["graph", "links"])
def test_repeated_values_do_not_fill_the_memory(tmp_path: Path, kind: str) -> None:
    """A long text that all rows share is held once, until it is too much."""
    names = ("head", "relation", "tail") if kind == "graph" else ("left", "right")
    shared = pyarrow.array(["urn:" + "x" * (1 << 20)])
    repeated = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 200), shared)
    short = pyarrow.array(["urn:a"] * 200)
    columns = [*[short] * (len(names) - 1), repeated]
    path = written(tmp_path / "bomb.parquet", dict(zip(names, columns, strict=True)))
    tracemalloc.start()
    with pytest.raises(InputError, match="expands to more than 1000 times its size"):
        list(read_triples(path) if kind == "graph" else read_links(path))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 25


@pytest.mark.slow
def test_parquet_bombs_are_refused_before_decompression(tmp_path: Path) -> None:
    short, long = ["urn:a"] * 100, ["x" * (1 << 20)] * 100
    table = pyarrow.table({"head": short, "relation": short, "tail": long})
    path = tmp_path / "bomb.parquet"
    pyarrow.parquet.write_table(table, path, compression="zstd", use_dictionary=False)
    assert "expands to more than 1000 times its size" in refusal(path)


def test_links_in_columns_of_repeated_text_are_read(tmp_path: Path) -> None:
    left = pyarrow.array(["a", "b"]).dictionary_encode()
    path = written(tmp_path / "links.parquet", {"left": left, "right": ["A", "B"]})
    assert [link[:2] for link in read_links(path)] == [("a", "A"), ("b", "B")]


def test_a_table_without_rows_has_no_triples(tmp_path: Path) -> None:
    columns = dict.fromkeys(("head", "relation", "tail"), pyarrow.array([], pyarrow.string()))
    assert refusal(written(tmp_path / "none.parquet", columns)) == "has no triples"
