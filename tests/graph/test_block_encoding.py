"""Large files of N-Triples: the same statements as the parsers give, whatever the blocks."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from everalign.errors import InputError
from everalign.graph import Vocabulary, encode_statements
from everalign.graph.block_encoding import encode_block, merge_block
from everalign.graph.encoding import EncodedStatements
from everalign.graph.name_table import NameTable
from everalign.graph.packed_names import pack_names
from everalign.io import TripleReader, line_blocks, reader
from everalign.io.line_blocks import LineBlock
from everalign.io.terms import IRI_FORBIDDEN_BYTES, Triple

PLAIN = b"<http://e.org/a> <http://e.org/r> <http://e.org/b> .\n"

IRI_CHARACTERS = st.sampled_from("aZ09:/#%_-.é杭😀") | st.characters(codec="utf-8").filter(
    lambda character: ord(character) > 127 or ord(character) not in IRI_FORBIDDEN_BYTES
)
ESCAPES = [r"\u00E9", r"\U0001F600", r"\u0020", r"\uD800", r"\u005F:", r"\u003E", r"\u12"]
IRIS = st.builds(
    lambda start, parts: f"<{start}{''.join(parts)}>",
    st.sampled_from(["urn:", "http://e.org/", "", "_:"]),
    st.lists(IRI_CHARACTERS | st.sampled_from(ESCAPES), max_size=5),
)
LABELS = st.sampled_from(["b0", "b_1", "a-b", "-a", "a.b", "é", "0", "", "b0.", "Zoë.1", "a:b"])
BLANK_NODES = LABELS.map("_:{}".format)
_TEXTS = r"""a é 杭 😀 \n \" \\ \' \t \b \f \r \x \u0041 \u0022 \u000A \u0001 \uFFFF \U00000041
\uD800 \u00e9 # < > . '"""
TEXT = st.sampled_from(_TEXTS.split()) | st.sampled_from(" \t\x01\x7f\ufffe\r")
_SUFFIXES = r"""@en @EN-us @en- @en--ltr @1 @de-1996 ^^<urn:t> ^^<urn:\u00E9> ^^<> ^^<_:t> @
^^urn:t
^^<http://www.w3.org/2001/XMLSchema#string> ^^<http://www.w3.org/2001/XMLSchema#strings>
^^<urn:é>"""
SUFFIXES = st.just("") | st.sampled_from(_SUFFIXES.split())
LITERALS = st.builds(
    lambda text, suffix: '"' + "".join(text) + '"' + suffix, st.lists(TEXT, max_size=4), SUFFIXES
)
SPACES = st.sampled_from([" ", " ", " ", "\t", "  ", ""])
ENDS = st.sampled_from([" .", " .", " .", ".", " . # <a> <b> <c> .", " . x", "", " . # é", "\r."])
STATEMENTS = st.builds(
    lambda head, relation, tail, first, second, end: head + first + relation + second + tail + end,
    IRIS | BLANK_NODES,
    IRIS,
    IRIS | BLANK_NODES | LITERALS,
    SPACES,
    SPACES,
    ENDS,
)
LINES = STATEMENTS | st.sampled_from(["", "  ", "# comment", "# é", "\t", "x", "<<<a> <b> <c>>>"])
LINE_ENDS = st.sampled_from(["\n", "\n", "\r\n", "\r\r\n"])


@st.composite
def _damaged_lines(draw: st.DrawFn) -> bytes:
    content = draw(st.tuples(LINES, LINE_ENDS).map("".join)).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 3)):
        return content
    place = draw(st.integers(0, len(content) - 1))
    return (
        content[:place] + draw(st.binary(max_size=2)) + content[place + draw(st.integers(0, 2)) :]
    )


FILES = st.lists(_damaged_lines(), max_size=6).map(b"".join)


@contextmanager
def _block_sizes(size: int, least: int = 0) -> Iterator[None]:
    """Encode files from `least` bytes on as blocks of about `size` bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "MIN_LINE_BYTES", least)
        patch.setattr(line_blocks, "LINE_BLOCK_BYTES", size)
        yield


def _list_names(encoded: EncodedStatements, vocabulary: Vocabulary) -> list[Triple]:
    """The encoded statements as names, sorted."""
    entities = vocabulary.entities
    columns = [(encoded.triples, (entities, vocabulary.relations, entities))]
    columns.append((encoded.literals, (entities, vocabulary.attributes, vocabulary.literals)))
    return sorted(
        (first[row[0]], second[row[1]], third[row[2]])
        for rows, (first, second, third) in columns
        for row in rows.tolist()
    )


def _encode(source: object, *, skip_errors: bool = True) -> tuple[object, ...]:
    triples = TripleReader(source, skip_errors=skip_errors)  # type: ignore[arg-type]
    vocabulary = Vocabulary()
    try:
        encoded = encode_statements(triples, vocabulary)
    except InputError as error:
        return error.problem, error.line
    return (
        _list_names(encoded, vocabulary),
        # The parsers find bytes that are not UTF-8 before anything else in a block.
        sorted(triples.skipped, key=lambda skipped: skipped.line or 0),
        triples.skipped_count,
        triples.triples_read,
        triples.literals_read,
    )


@given(content=FILES, skip_errors=st.booleans())
@example(content=PLAIN + b"\xff\n" + PLAIN + b"<a> <b>\n", skip_errors=True)
@example(content=b'<a> <b> "\\', skip_errors=True)
@example(content=b"<a> <b> <c> .\r<d> <e> <f> .\n", skip_errors=True)
def test_blocks_say_the_same_as_the_parsers(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, skip_errors: bool
) -> None:
    path = tmp_path_factory.mktemp("files") / "left.nt"
    # The first line tells that it is N-Triples, and no table.
    path.write_bytes(PLAIN + content)
    with _block_sizes(1 << 16, least=1 << 30):
        expected = _encode(path, skip_errors=skip_errors)
    with _block_sizes(1 << 16):
        found = _encode(path, skip_errors=skip_errors)
    if skip_errors or isinstance(expected[0], list):
        assert found == expected
    else:
        # A parser may look at the bytes of all lines before it looks at the first line.
        assert isinstance(found[0], str)
        assert found[1] is not None


@given(content=FILES, size=st.integers(1, 300), threads=st.integers(1, 4))
def test_ids_do_not_depend_on_blocks_and_threads(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, size: int, threads: int
) -> None:
    path = tmp_path_factory.mktemp("files") / "left.nt"
    path.write_bytes(PLAIN + content)
    found = []
    for block_size, thread_count in ((1 << 16, 1), (size, threads)):
        vocabulary = Vocabulary()
        with _block_sizes(block_size), pytest.MonkeyPatch.context() as patch:
            patch.setenv("EVERALIGN_THREADS", str(thread_count))
            encoded = encode_statements(TripleReader(path, skip_errors=True), vocabulary)
        names = [list(index) for index in vars(vocabulary).values()]
        found.append((encoded.triples.tolist(), encoded.literals.tolist(), names))
    assert found[0] == found[1]


@pytest.mark.parametrize("threads", ["1", "3"])
def test_an_error_names_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: str
) -> None:
    monkeypatch.setenv("EVERALIGN_THREADS", threads)
    path = tmp_path / "left.nt"
    path.write_bytes(100 * PLAIN + b"<a> <b> .\n" + 100 * PLAIN + b"\xff\n")
    with _block_sizes(200), pytest.raises(InputError, match=r"left\.nt:101: not a line of N-T"):
        encode_statements(path, Vocabulary())


def test_an_error_of_the_file_comes_after_those_of_lines_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERALIGN_THREADS", "2")
    monkeypatch.setattr("everalign.io.streams.MAX_LINE_BYTES", 1000)
    path = tmp_path / "left.nt"
    path.write_bytes(PLAIN + b"<a> <b> .\n" + PLAIN + b"<" + 5000 * b"x")
    with _block_sizes(100), pytest.raises(InputError, match=r"left\.nt:2: "):
        encode_statements(path, Vocabulary())
    path.write_bytes(PLAIN + b"<" + 5000 * b"x")
    with _block_sizes(100), pytest.raises(InputError, match=r"left\.nt:2: the line is longer"):
        encode_statements(path, Vocabulary())


def test_blank_nodes_of_several_files_are_different(tmp_path: Path) -> None:
    paths = [tmp_path / "a.nt", tmp_path / "b.nt"]
    for path in paths:
        path.write_text("_:b0 <urn:r> _:b1 .\n_:a.b <urn:r> _:b0 .\n", encoding="utf-8")
    with _block_sizes(1 << 16, least=1 << 30):
        expected = _encode(paths)
    with _block_sizes(1 << 16):
        assert _encode(paths) == expected
    assert expected[3] == 4


def test_a_dump_of_wikidata_is_reduced(tmp_path: Path) -> None:
    path = tmp_path / "left.nt"
    entity, claim = "http://www.wikidata.org/entity/Q42", "http://www.wikidata.org/prop/direct/P31"
    statement = "http://www.wikidata.org/entity/statement/Q42-x"
    path.write_text(f"<{entity}> <{claim}> <urn:b> .\n<{statement}> <urn:r> <urn:c> .\n")
    vocabulary = Vocabulary()
    with _block_sizes(1 << 16, least=100):
        encode_statements(path, vocabulary)
    assert list(vocabulary.entities) == [entity, "urn:b"]


def test_names_that_are_known_keep_their_ids(tmp_path: Path) -> None:
    path = tmp_path / "left.nt"
    path.write_bytes(PLAIN)
    vocabulary = Vocabulary()
    vocabulary.entities.get_or_add_ids(["urn:x", "http://e.org/b"])
    with _block_sizes(1 << 16):
        encoded = encode_statements(path, vocabulary)
    assert encoded.triples.tolist() == [[2, 0, 1]]
    assert vocabulary.entities.get_or_add_id("urn:y") == 3
    assert vocabulary.entities.find("urn:x") == 0
    assert vocabulary.entities.find("urn:z\ud800") is None
    assert vocabulary.entities.map_names([3, 1, 3]) == {3: "urn:y", 1: "http://e.org/b"}
    assert vocabulary.entities[1:3] == ["http://e.org/b", "http://e.org/a"]


def test_blocks_can_be_encoded_elsewhere() -> None:
    block = pickle.loads(pickle.dumps(LineBlock(PLAIN + b'<urn:a> <urn:p> "x"@EN .\n', 7)))
    encoded = pickle.loads(pickle.dumps(encode_block(block)))
    vocabulary = Vocabulary()
    triples, literals = merge_block(vocabulary, encoded)
    assert triples.tolist() == [[0, 0, 1]]
    assert literals.tolist() == [[2, 0, 0]]
    assert list(vocabulary.literals) == ['"x"@en']


@given(
    names=st.sets(st.text(alphabet="ab\0é杭", max_size=30), max_size=60), count=st.integers(0, 5)
)
def test_names_are_sorted_as_texts_are(names: set[str], count: int) -> None:
    given_names = list(names)
    table = NameTable()
    table.add_names(pack_names(given_names))
    count = min(count, len(names))
    new_ids = table.sort_names_after(count)
    assert list(table.names) == given_names[:count] + sorted(given_names[count:])
    found = table.find_names(pack_names(given_names))
    assert np.array_equal(found[count:], new_ids)
    assert found[:count].tolist() == list(range(count))
