"""Lists of results as tables and data frames."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests import toy as toys

from everalign import Aligner, Config, ConfigError, Link, ResultList

LINKS = ResultList(
    [Link("<b>", "Осло", 0.97123, 0, "found"), Link("b", "B", 1.0, 1, "given")], Link
)


def test_a_notebook_shows_a_table() -> None:
    shown = LINKS._repr_html_()
    assert shown.startswith("<table><thead><tr><th>left</th>")
    assert "<td>&lt;b&gt;</td><td>Осло</td><td>0.9712</td><td>0</td>" in shown
    assert "more rows" not in shown
    many = ResultList([LINKS[0]] * 1021, Link)
    assert "and 1,001 more rows" in many._repr_html_()
    assert many._repr_html_().count("<tr>") == 21


def test_data_frames() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    frames = LINKS.to_pandas(), LINKS.to_polars(), LINKS.to_arrow()
    kinds = pandas.DataFrame, polars.DataFrame, pyarrow.Table
    assert all(map(isinstance, frames, kinds))
    expected = [0.97123, 1.0]
    assert frames[0]["score"].tolist() == expected
    assert frames[1]["score"].to_list() == expected
    assert frames[2]["score"].to_pylist() == expected
    assert LINKS.to_dicts()[1]["origin"] == "given"


def test_without_any_row_there_are_columns() -> None:
    empty = ResultList[Link]([], Link)
    assert empty == []
    assert list(empty.to_pandas().columns) == ["left", "right", "score", "since", "origin"]
    assert "<th>origin</th>" in empty._repr_html_()


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    convert = {"pandas": LINKS.to_pandas, "polars": LINKS.to_polars, "pyarrow": LINKS.to_arrow}
    with pytest.raises(ConfigError, match=f"pip install {name}"):
        convert[name]()


def test_what_an_aligner_lists(tmp_path: Path, toy: Config) -> None:
    aligner = Aligner.create(tmp_path / "s", toys.LEFT, toys.RIGHT, toys.SEEDS, config=toy)
    aligner.confirm([("Bergen", "Берген")], apply=True)
    lists = [
        aligner.links(),
        aligner.history(),
        aligner.diff(0, 1),
        aligner.relations(),
        aligner.classes(),
        aligner.decisions(),
    ]
    for rows in lists:
        assert isinstance(rows, list)
        assert rows.to_arrow().num_rows == len(rows)  # type: ignore[attr-defined]
