"""Damaged files of every format are read, or refused in one line, in bounded time."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import fuzz_readers
from everalign.errors import InputError
from everalign.io import check_sssom, read_links
from everalign.io.formats import is_known_name


def test_the_seeds_are_valid(tmp_path: Path) -> None:
    seeds = fuzz_readers.GRAPHS | fuzz_readers.LINKS
    for name, content in seeds.items():
        path = tmp_path / name
        if not is_known_name(path) and name not in fuzz_readers.LINKS:
            continue  # read by its content, or by a format that is not there
        path.write_bytes(content)
        fuzz_readers.read_file(path, skip_errors=False)


@pytest.mark.slow
def test_two_thousand_damaged_files() -> None:
    assert [(found.name, found.problem) for found in fuzz_readers.find_faults(2000)] == []


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ('#license: "\\UFFFFFFFF"', "not YAML"),
        ('#license: "\\U00110000"', "not YAML"),
        ("#license: " + "[" * 50_000, "nested too deeply"),
        ("#license: " + "{a: " * 50_000, "nested too deeply"),
    ],
)
def test_metadata_of_sssom_that_yaml_stumbles_over(
    tmp_path: Path, metadata: str, words: str
) -> None:
    path = tmp_path / "links.sssom.tsv"
    path.write_text(f"{metadata}\nsubject_id\tpredicate_id\tobject_id\n")
    with pytest.raises(InputError, match=words):
        read_links(path)
    assert any(words in problem.problem for problem in check_sssom(path))
