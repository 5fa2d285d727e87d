"""Tab-separated triples: what is accepted, what comes out, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everalign.errors import InputError
from everalign.io import TripleReader, read_triples

Write = Callable[[str, str | bytes], Path]


def test_triples_come_in_file_order(write: Write) -> None:
    path = write("triples_1", "1\t2\t3\n4\t5\t6\n1\t2\t3\n")
    assert list(read_triples(path)) == [("1", "2", "3"), ("4", "5", "6"), ("1", "2", "3")]


@pytest.mark.parametrize(
    "content",
    [
        "a\tb\tc\nd\te\tf",
        "a\tb\tc\r\nd\te\tf\r\n",
        "\n\na\tb\tc\n\n  \nd\te\tf\n\n",
        "\ufeffa\tb\tc\nd\te\tf\n",
    ],
    ids=["no line end at the end", "Windows line ends", "blank lines", "byte order mark"],
)
def test_blank_lines_and_windows_line_ends_are_tolerated(write: Write, content: str) -> None:
    assert list(read_triples(write("left.tsv", content))) == [("a", "b", "c"), ("d", "e", "f")]


def test_spaces_and_unusual_separators_belong_to_the_name(write: Write) -> None:
    path = write("left.tsv", " Ada L. \tknows\u2028well\tZoë\x0b\n")
    assert list(read_triples(path)) == [(" Ada L. ", "knows\u2028well", "Zoë\x0b")]


def test_angle_brackets_around_a_name_are_dropped(write: Write) -> None:
    path = write("left.tsv", "<http://e.org/a>\thttp://e.org/r\t<b>\n1 < 2\tr\t<<x>>\n")
    assert list(read_triples(path)) == [
        ("http://e.org/a", "http://e.org/r", "b"),
        ("1 < 2", "r", "<<x>>"),
    ]


def test_a_literal_of_n_triples_is_a_literal_in_a_table(write: Write) -> None:
    path = write(
        "left.tsv",
        'a\tlabel\t"Ada"@EN\na\tborn\t"1815"^^<urn:year>\na\tsays\t"x\\u0041"\n'
        'a\tnick\t"Ada" L.\na\tnick\t"\n"q"\tr\tb\n',
    )
    (part,) = TripleReader(path).statements()
    assert part.literals == [
        ("a", "label", '"Ada"@en'),
        ("a", "born", '"1815"^^<urn:year>'),
        ("a", "says", '"xA"'),
    ]
    assert part.triples == [("a", "nick", '"Ada" L.'), ("a", "nick", '"'), ('"q"', "r", "b")]


def test_the_reader_counts_what_it_read_each_time(write: Write) -> None:
    reader = TripleReader(write("left.tsv", "a\tb\tc\nd\te\tf\n"))
    for _ in range(2):
        assert len(list(reader)) == 2
        assert (reader.triples_read, reader.literals_read) == (2, 0)


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (
            "a\tb\tc\na\tb\n",
            2,
            r"expected 3 tab-separated columns (head, relation, tail), found 2: 'a\tb'",
        ),
        ("a\tb\tc\td\n", 1, "found 4"),
        ("a,b,c\n", 1, "found 1: 'a,b,c'"),
        ("a\tb\tc\n\na\t\tc\n", 3, r"the relation (column 2) is empty: 'a\t\tc'"),
        ("\t\t\n", 1, "the head (column 1) is empty"),
        ("x" * 500 + "\n", 1, "'" + "x" * 59 + "…'"),
        ("<urn:a> <urn:b> <urn:c> .\n", 1, "looks like N-Triples, whose file name should end in"),
        ("<urn:a>\t<urn:b>\t<urn:c> .\n", 1, "looks like N-Triples, whose file name should end"),
    ],
)
def test_a_malformed_line_is_reported(write: Write, content: str, line: int, problem: str) -> None:
    path = write("left.tsv", content)
    with pytest.raises(InputError) as caught:
        list(read_triples(path))
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert problem in caught.value.problem
    assert "\n" not in str(caught.value)


def test_the_line_number_is_right_far_into_a_large_file(write: Write) -> None:
    path = write("left.tsv", "head\trelation\ttail\n" * 20_000 + "broken\n" + "h\tr\tt\n" * 9)
    with pytest.raises(InputError) as caught:
        list(read_triples(path))
    assert caught.value.line == 20_001


names = st.text(st.characters(exclude_characters='\t\n\r<\ufeff"', codec="utf-8"), min_size=1)


@pytest.mark.slow
@given(st.lists(st.tuples(names, names, names), min_size=1))
def test_any_names_without_tabs_and_line_ends_come_out_as_written(
    triples: list[tuple[str, str, str]],
) -> None:
    with TemporaryDirectory() as directory:
        path = Path(directory, "left.tsv")
        path.write_text("".join("\t".join(triple) + "\n" for triple in triples), "utf-8")
        assert list(read_triples(path)) == triples
