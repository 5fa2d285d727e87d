"""Figures of a tree that is small enough to count by hand."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from pathlib import Path

import pytest

import readability

MODULE = '''"""A module.

With a docstring of three lines.
"""

# Why the limit is what it is.
LIMIT = 3


class GraphConfig:
    """Settings."""

    size: int = 1
    name: str = "x"  # with a reason

    def read(self, path: str) -> int:
        """Read it.

        Args:
            path: Where.
        """
        total = 0
        for line in path:
            total += len(line)
        return total

    def __len__(self) -> int:
        return 0


class Graph:
    def _inner(self, x):
        return [y for y in x]


def read_all(a: int, *rest: int) -> None:
    def helper(b):
        return b
'''


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    package = tmp_path / "package"
    (package / "part").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "part" / "module.py").write_text(MODULE)
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "left_over.py").write_text("x = 1\n")
    return package


def test_the_examples_are_true() -> None:
    failed, tried = doctest.testmod(readability)
    assert (tried > 0, failed) == (True, 0)


def test_files_and_lines_are_counted(tree: Path) -> None:
    row = readability.measure_tree(tree)
    assert (row["files"], row["init_files"]) == (1, 1)
    assert row["lines_per_file_median"] == row["lines_per_file_p95"] == MODULE.count("\n")
    assert row["code_lines"] == 17
    nonblank = sum(bool(line.strip()) for line in MODULE.splitlines())
    assert row["comments_per_100_lines"] == round(100 * 2 / nonblank, 2)


def test_functions_and_their_names_are_counted(tree: Path) -> None:
    row = readability.measure_tree(tree)
    assert (row["functions"], row["classes"]) == (5, 2)
    assert row["function_length_median"] == 2
    assert row["function_length_p95"] == 10
    assert row["typed_functions"] == 0.6
    # read, _inner and helper of these three and read_all; __len__ is not counted.
    assert row["one_word_function_names"] == 0.75
    assert row["one_word_class_names"] == 0.5
    # path, total, line; x, y; a, rest; b: eight names in 10 + 2 + 2 + 3 + 2 lines.
    assert row["names_per_line"] == round(8 / 19, 3)


def test_docstrings_and_settings_are_counted(tree: Path) -> None:
    row = readability.measure_tree(tree)
    assert row["public_functions"] == 2
    assert row["public_functions_with_docstring"] == 0.5
    assert row["public_classes_with_docstring"] == 0.5
    assert row["docstrings_naming_arguments"] == 1
    assert row["functions_naming_arguments"] == 0.5
    assert row["settings_by_class"] == {"GraphConfig": ["size", "name"]}


def test_trees_are_added_to_one_result_file(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    for name in ("before", "after"):
        command = [sys.executable, readability.__file__, str(tree), "--name", name]
        subprocess.run([*command, "--json", str(out)], check=True, capture_output=True)
    results = json.loads(out.read_text())
    assert list(results) == ["before", "after"]
    assert results["before"]["files"] == 1


def test_a_tree_without_sources_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no Python files"):
        readability.measure_tree(tmp_path)
