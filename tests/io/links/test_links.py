"""Links: read with their line numbers, written so that they read back."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode, RdfFormat, parse

from everalign.errors import ConfigError, InputError
from everalign.io import LinkLine, read_links, read_triples, write_links

Write = Callable[[str, str | bytes], Path]

SAME_AS = "<http://www.w3.org/2002/07/owl#sameAs>"


def written(links: list[tuple[str, str, float]], format: str) -> bytes:
    stream = BytesIO()
    write_links(links, stream, format)
    return stream.getvalue()


def test_pairs_have_their_line_number(write: Write) -> None:
    path = write("train_links", "a\tx\n\nb\ty\n")
    assert read_links(path) == [LinkLine("a", "x", 1), LinkLine("b", "y", 3)]


def test_repeated_links_are_read_once(write: Write) -> None:
    path = write("seeds.tsv", "a\tx\n<a>\tx\na\ty\na\tx\n")
    assert read_links(path) == [LinkLine("a", "x", 1), LinkLine("a", "y", 3)]


def test_same_as_statements_are_links(write: Write) -> None:
    content = f"# links\n<urn:a> {SAME_AS} <urn:x> .\n_:b {SAME_AS} <urn:y> .\n"
    expected = [LinkLine("urn:a", "urn:x", 2), LinkLine("_:b", "urn:y", 3)]
    assert read_links(write("seeds.nt", content)) == expected
    assert read_links(write("seeds.nt.gz", gzip.compress(content.encode()))) == expected


@pytest.mark.parametrize("name", ["seeds.nt", "seeds.nq"])
def test_escapes_in_a_link_are_decoded(write: Write, name: str) -> None:
    path = write(name, rf"<urn:\u676D\u5dde> {SAME_AS} <urn:\U0001F600> .")
    assert read_links(path) == [LinkLine("urn:杭州", "urn:😀", 1)]


def test_a_score_in_the_third_column_is_accepted(write: Write) -> None:
    path = write("seeds.tsv", "a\tx\t0.93\nb\ty\n")
    assert read_links(path) == [LinkLine("a", "x", 1), LinkLine("b", "y", 2)]


@pytest.mark.parametrize(
    ("name", "content", "line", "problem"),
    [
        (
            "seeds.tsv",
            "a\tx\nb\n",
            2,
            "expected 2 tab-separated columns (left, right), found 1: 'b'",
        ),
        ("seeds.tsv", "a\tx\tb\ty\n", 1, "found 4"),
        ("seeds.tsv", "\tx\n", 1, "the left (column 1) is empty"),
        ("seeds.tsv", "\tx\t0.5\n", 1, "the left (column 1) is empty"),
        ("seeds.tsv", "38705\t2671\t3680\n", 1, "such as 0.93, found '3680' in column 3"),
        ("seeds.tsv", "a\tx\tsure\n", 1, "found 'sure' in column 3"),
        ("seeds.tsv", f"<urn:a> {SAME_AS} <urn:x> .\n", 1, "looks like N-Triples"),
        ("seeds.nt", f"\n<urn:a> {SAME_AS} <urn:x>\n", 2, "must be followed by a dot"),
        ("seeds.nt", "<urn:a> <urn:near> <urn:x> .\n", 1, "owl:sameAs, found 'urn:near'"),
        ("seeds.nt", f'<urn:a> {SAME_AS} "x" .\n', 1, "expected a link between entities"),
        ("seeds.tsv", "\n", None, "has no links"),
        ("seeds.nt", "# none yet\n", None, "has no links"),
    ],
)
def test_a_line_that_is_not_a_link_is_refused(
    write: Write, name: str, content: str, line: int | None, problem: str
) -> None:
    path = write(name, content)
    with pytest.raises(InputError) as caught:
        read_links(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert problem in caught.value.problem


def test_lines_are_counted_over_the_whole_file(write: Write) -> None:
    path = write("seeds.tsv", "".join(f"left{i}\tright{i}\n" for i in range(1, 10_001)))
    assert all(link.left == f"left{link.line}" for link in read_links(path))


def test_links_are_written_in_both_formats() -> None:
    link = ("http://e.org/Zoë", "urn:x", 0.5)
    assert written([link], "tsv").decode() == "http://e.org/Zoë\turn:x\t0.5\n"
    assert written([link], "nt").decode() == f"<http://e.org/Zoë> {SAME_AS} <urn:x> .\n"


@pytest.mark.parametrize(
    "name", ["Q42", "_:b0", "http://e.org/a b", "urn:<x>", "urn:a\\b", "", ":a"]
)
def test_only_absolute_iris_are_written_as_n_triples(name: str) -> None:
    stream = BytesIO()
    with pytest.raises(InputError, match="is not an absolute IRI"):
        write_links([("urn:a", "urn:x", 1.0), ("urn:b", name, 1.0)], stream, "nt")
    assert stream.getvalue() == b""


@pytest.mark.parametrize("name", ["", "a\tb", "a\nb", "<a>", "\ufeffa"])
def test_a_name_that_would_not_read_back_is_refused_in_a_table(name: str) -> None:
    with pytest.raises(InputError, match="cannot be written in a tab-separated file"):
        written([(name, "x", 1.0)], "tsv")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ConfigError, match="'docx'; the formats are tsv, nt, ttl, "):
        written([("a", "x", 1.0)], "docx")


names = st.text(st.characters(exclude_characters="\t\n\ufeff", codec="utf-8"), min_size=1).filter(
    # A first row of "A_id" is a header.
    lambda name: not name.startswith("<") and "id" not in name.lower()
)
iris = st.text(st.characters(min_codepoint=0x21, codec="utf-8"), min_size=1).map(
    lambda path: "http://e.org/" + "".join(c for c in path if c not in '<>"{}|^`\\')
)


@given(st.lists(st.tuples(names, names, st.floats(allow_nan=False)), min_size=1))
def test_a_written_table_reads_back(links: list[tuple[str, str, float]]) -> None:
    assert_reads_back(links, "tsv")


@pytest.mark.slow
@given(st.lists(st.tuples(iris, iris, st.floats(0, 1)), min_size=1))
def test_written_statements_read_back(links: list[tuple[str, str, float]]) -> None:
    assert_reads_back(links, "nt")


def assert_reads_back(links: list[tuple[str, str, float]], format: str) -> None:
    with TemporaryDirectory() as directory:
        path = Path(directory, f"links.{format}")
        path.write_bytes(written(links, format))
        pairs = [(link.left, link.right) for link in read_links(path)]
        assert pairs == list(dict.fromkeys((left, right) for left, right, _ in links))
        if format == "nt":
            assert len(list(read_triples(path))) == len(links)


def test_other_tools_read_the_written_statements() -> None:
    link = ("http://zh.dbpedia.org/resource/本笃四世", "http://e.org/?a=b&c='d'#e%20f", 1.0)
    (quad,) = parse(written([link], "nt"), format=RdfFormat.N_TRIPLES)
    assert (quad.subject, quad.object) == (NamedNode(link[0]), NamedNode(link[1]))
