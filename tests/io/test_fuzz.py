"""Damaged files of every format are read, or refused in one line, in bounded time."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import fuzz_readers
from everalign.errors import EverAlignError, InputError
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


# Inputs that 100,000 mutations have found, without what does not matter.
FINDINGS = {
    "c.toml": b"settings" + b"gs" * 2000 + b" = 1\n",
    "a.csv": b'id,nam\xe5n\n1,Ada,1815\n\x13,"Charles, B.",16AA91*a',
    "a.rdfp": b"TX .\nA " + b"&#0;" * 2000 + b":a <urn:b> <urn:c> .\nTC .\n",
    "a.zip": b"",
}


def pack_member_without_name() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a", b"")
    # The name, in both places, becomes a zero character, where zipfile ends it.
    return packed.getvalue().replace(b"a", b"\0")


@pytest.mark.parametrize("skip_errors", [False, True])
@pytest.mark.parametrize("name", FINDINGS)
def test_what_was_found_is_refused_in_a_short_line(
    name: str, skip_errors: bool, tmp_path: Path
) -> None:
    content = pack_member_without_name() if name == "a.zip" else FINDINGS[name]
    path = tmp_path / name
    path.write_bytes(content)
    problem = ""
    try:
        fuzz_readers.read_file(path, skip_errors=skip_errors)
    except EverAlignError as error:
        problem = str(error).removeprefix(str(path))
    assert len(problem) < 300


def test_a_dictionary_that_is_too_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "l.parquet"
    content = bytearray(fuzz_readers.LINKS["l.parquet"])
    # The number of values in the first dictionary: rows then point behind its end.
    content[12] ^= 4
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_links(path)
