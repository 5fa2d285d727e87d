"""Several files and patterns: which files are read, in which order, and which are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from everalign.errors import InputError
from everalign.io import TripleReader, read_triples


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """A directory with files in which the head is the name of the file."""
    directory = tmp_path / "left"
    for name in ("b.nt", "a.nt", "deep/er/c.nt", ".hidden.nt", "notes.md"):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"<urn:{path.stem}> <urn:r> <urn:x> .\n")
    return directory


def heads(*sources: str | Path) -> list[str]:
    return [head.removeprefix("urn:") for head, _, _ in read_triples(list(sources))]


def problem_of(source: str | Path) -> str:
    with pytest.raises(InputError) as caught:
        list(read_triples(source))
    return str(caught.value)


def test_the_matches_of_a_pattern_are_sorted_by_name(parts: Path) -> None:
    assert heads(parts / "*.nt") == ["a", "b"]
    assert heads(str(parts / "**/*.nt")) == ["a", "b", "c"]
    assert heads(parts / "[b]*") == ["b"]
    assert heads(parts / "*/?r/*") == ["c"]
    assert heads(parts / ".*.nt") == [".hidden"]


def test_several_files_come_in_the_order_in_which_they_are_named(parts: Path) -> None:
    assert heads(parts / "b.nt", parts / "a.nt") == ["b", "a"]
    assert heads(parts / "b.nt", parts / "*.nt", parts / ".." / "left" / "b.nt") == ["b", "a"]


def test_the_name_of_an_existing_file_is_not_a_pattern(parts: Path) -> None:
    (parts / "*.nt").write_text("<urn:star> <urn:r> <urn:x> .\n")
    assert heads(parts / "*.nt") == ["star"]


def test_a_pattern_relative_to_the_working_directory(
    parts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(parts)
    assert heads("*.nt") == ["a", "b"]
    assert heads("../left/b*") == ["b"]


def test_a_pattern_that_matches_nothing_is_refused(parts: Path) -> None:
    pattern = parts / "*.ttl"
    assert problem_of(pattern) == f"{pattern}: no file matches this pattern"


def test_no_file_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="no input file is given"):
        list(read_triples([]))


def test_a_directory_is_refused(parts: Path) -> None:
    assert problem_of(parts).startswith(f"{parts}: is a directory, expected a file")
    assert problem_of(parts / "*").endswith("deep: matches the pattern but is a directory")


def test_a_file_that_is_not_regular_is_refused(parts: Path) -> None:
    os.mkfifo(parts / "pipe.nt")
    assert problem_of(parts / "*.nt").endswith(
        "pipe.nt: matches the pattern but is not a regular file"
    )


def test_a_pattern_does_not_lead_out_of_its_directory(parts: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.nt").write_text("<urn:secret> <urn:r> <urn:x> .\n")
    assert "is outside of" in problem_of(parts / "*/../../secret.nt")
    (parts / "z.nt").symlink_to(tmp_path / "secret.nt")
    assert problem_of(parts / "*.nt") == (
        f"{parts}/z.nt: is outside of {parts}, where the pattern begins: name it without a pattern"
    )
    assert heads(parts / "z.nt") == ["secret"]


def test_a_symbolic_link_inside_of_the_directory_is_followed_once(parts: Path) -> None:
    (parts / "a2.nt").symlink_to(parts / "a.nt")
    assert heads(parts / "*.nt") == ["a", "b"]


@pytest.mark.timeout(10)
def test_a_cycle_of_symbolic_links_ends(parts: Path) -> None:
    (parts / "one").symlink_to(parts, target_is_directory=True)
    (parts / "two").symlink_to(parts, target_is_directory=True)
    assert heads(parts / "**/*.nt") == ["a", "b", "c"]


def test_an_empty_file_among_others_is_accepted(parts: Path) -> None:
    (parts / "c.nt").write_text("")
    assert heads(parts / "*.nt") == ["a", "b"]
    assert problem_of(parts / "c.nt") == f"{parts}/c.nt: has no triples"


def test_blank_nodes_belong_to_their_file(parts: Path) -> None:
    (parts / "a.nt").write_text('_:b0 <urn:r> <urn:x> .\n_:b0 <urn:n> "_:b0" .\n')
    (parts / "b.nt").write_text("<urn:x> <urn:r> _:b0 .\n")
    reader = TripleReader(parts / "*.nt")
    first, second = reader.statements()
    assert first.triples == [("_:f1.b0", "urn:r", "urn:x")]
    assert first.literals == [("_:f1.b0", "urn:n", '"_:b0"')]
    assert second.triples == [("urn:x", "urn:r", "_:f2.b0")]
    assert list(read_triples(parts / "b.nt")) == [("urn:x", "urn:r", "_:b0")]


def test_the_counts_are_those_of_all_files(parts: Path) -> None:
    (parts / "c.tsv").write_text("a\tr\tb\nbroken\n")
    reader = TripleReader([parts / "*.nt", parts / "c.tsv"], skip_errors=True)
    assert len(list(reader)) == reader.triples_read == 3
    assert [(skip.path, skip.line) for skip in reader.skipped] == [(str(parts / "c.tsv"), 2)]


def test_an_error_names_its_file(parts: Path) -> None:
    (parts / "b.nt").write_text("\nbroken\n")
    assert problem_of(parts / "*.nt").startswith(f"{parts}/b.nt:2: not a line of N-Triples")
