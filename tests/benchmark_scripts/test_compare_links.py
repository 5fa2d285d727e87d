"""Two trees on the same files."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import compare_links
import everalign
from compare_links import Case, Tree

SOURCES = Path(everalign.__file__).parents[1]


@pytest.fixture
def files(dataset: Path, tmp_path: Path) -> Path:
    """A sample as the trees get it."""
    directory = tmp_path / "case"
    directory.mkdir()
    compare_links.write_case(dataset, Case("sample", 1), directory)
    return directory


def test_the_examples_are_true() -> None:
    failed, tried = doctest.testmod(compare_links)
    assert (tried > 0, failed) == (True, 0)


def test_a_case_is_written_the_same_each_time(dataset: Path, files: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    again.mkdir()
    compare_links.write_case(dataset, Case("sample", 1), again)
    written = sorted(path.name for path in files.iterdir())
    assert written == [
        "seeds.tsv",
        "t0-left.nt",
        "t0-right.nt",
        "t0-test.tsv",
        "t1-left.nt",
        "t1-right.nt",
        "t1-test.tsv",
        "validation.tsv",
    ]
    assert all((files / name).read_bytes() == (again / name).read_bytes() for name in written)


def test_entities_are_renamed_and_triples_shuffled(dataset: Path, files: Path) -> None:
    triples = (files / "t0-left.nt").read_text().splitlines()
    originals = compare_links.read_snapshot(dataset, 0, 1)
    assert len(triples) == len(originals)
    assert all(line.startswith("<http://left.example/e") for line in triples)
    assert [line.split()[1].strip("<>") for line in triples] != [r for _, r, _ in originals]


@pytest.mark.slow
@pytest.mark.long
def test_a_tree_is_run_and_agrees_with_itself(files: Path, tmp_path: Path) -> None:
    tree = Tree.at(SOURCES, [])
    run = compare_links.run_commands(tree, files, files, 1, tmp_path / "run")
    assert len(run["snapshots"]) == 2
    row = compare_links.compare_runs({"before": [run], "after": [run]}, files, 1)
    assert row["identical_pairs"] == row["before"]["links"] > 0
    assert row["only_before"] == row["only_after"] == row["max_score_difference"] == 0
    assert 0 < row["before"]["f1"] <= 1
    assert row["before"]["cpu_seconds"] > 0


def test_an_option_that_no_spelling_fits_is_told() -> None:
    tree = Tree.at(SOURCES, ["validation=--held-out"])
    assert tree.options("init", {"validation": "x.tsv"}) == ["--held-out", "x.tsv"]
    with pytest.raises(ValueError, match="no option for validation"):
        Tree.at(SOURCES, []).options("links", {"validation": "x.tsv"})
