"""Translations and word vectors from files, whole and broken ones."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.literals.graphs import probability, texts

from everalign.errors import InputError
from everalign.literals import LiteralSettings, match_literals, read_translations
from everalign.literals.vectors import compute_name_vectors, read_vectors


@pytest.mark.slow
def test_translations_make_names_alike(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("大学\tUniversity\n\nガンダム\tGundam\n", encoding="utf-8")
    settings = LiteralSettings(translations=str(path))
    assert probability('"大学"', '"university"') == 0
    assert probability('"大学"', '"university"', settings) > 0.8


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("one\ttwo\nthree\n", ":2: expected left-text TAB right-text, found 1 columns"),
        ("a\tb\tc\n", ":1: expected left-text TAB right-text, found 3 columns"),
        ("a\t\n", ":1: expected left-text TAB right-text, found an empty text"),
    ],
)
def test_broken_translations_are_told_with_their_line(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "words.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        read_translations(path)


def test_missing_files_are_told(tmp_path: Path) -> None:
    settings = LiteralSettings(translations=str(tmp_path / "none.tsv"))
    with pytest.raises(InputError, match=r"none\.tsv: does not exist"):
        match_literals(texts("a"), texts("b"), settings)


def test_vectors_bring_names_together(tmp_path: Path) -> None:
    one, two = tmp_path / "fr.vec", tmp_path / "en.vec.gz"
    one.write_text("2 3\nchat 1 0 0\nchien 0 1 0\n")
    two.write_bytes(gzip.compress(b"dog 0 1 0.1\ncat 1 0.1 0\ntree 0 0 1\n"))
    settings = LiteralSettings(left_vectors=str(one), right_vectors=str(two))
    found = match_literals(texts("Chat", "Chien"), texts("Dog", "Cat", "Tree"), settings)
    assert {(left, right) for left, right, p in found.to_rows() if p > 0.8} == {(0, 1), (1, 0)}


def test_only_the_words_needed_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "some.vec"
    path.write_text("".join(f"word{n} {n} 1\n" for n in range(100)))
    known, size = read_vectors(path, {"word7", "none"})
    assert (set(known), size) == ({"word7"}, 2)
    assert compute_name_vectors(["nothing known"], path).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a 1 2\nb 1\n", ":2: expected a word and 2 finite numbers, found 1"),
        ("a 1 2\nb 1 x\n", ":2: expected a word and numbers"),
        ("a 1 nan\n", ":1: expected a word and 2 finite numbers"),
        ("hello world\n", ":1: expected a word and numbers"),
        ("", "holds no word vectors"),
    ],
)
def test_broken_vectors_are_told_with_their_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "some.vec"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        read_vectors(path, {"a", "b"})


def test_vectors_of_two_spaces_are_refused(tmp_path: Path) -> None:
    one, two = tmp_path / "1.vec", tmp_path / "2.vec"
    one.write_text("a 1 2\n")
    two.write_text("b 1 2 3\n")
    settings = LiteralSettings(left_vectors=str(one), right_vectors=str(two))
    with pytest.raises(InputError, match="2 and 3 numbers"):
        match_literals(texts("a"), texts("b"), settings)
