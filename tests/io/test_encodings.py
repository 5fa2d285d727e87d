"""Text in other encodings: told by a mark, a declaration or its bytes, or named by the user."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everalign.errors import ConfigError, InputError
from everalign.io import SourceOptions, TripleReader, read_links, read_triples
from everalign.io.encodings import open_as_utf8
from everalign.io.streams import prepend_bytes

Write = Callable[[str, str | bytes], Path]

TEXT = '"Café, œuvre – naïve"'
TURTLE = f"@prefix e: <urn:> .\ne:a e:name {TEXT} ; e:knows e:b .\n"
XML = (
    '<?xml version="1.0" encoding="{}"?>\n<r:RDF xmlns:e="urn:" '
    'xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\n<r:Description r:about="urn:a">'
    f"<e:name>{TEXT[1:-1]}</e:name></r:Description></r:RDF>"
)


def read(path: Path, encoding: str | None = None) -> tuple[list[str], list[str]]:
    """The literals and the notes."""
    reader = TripleReader(path, opening=SourceOptions(encoding=encoding))
    literals = [literal for part in reader.statements() for _, _, literal in part.literals]
    return literals, [note.partition(": ")[2] for note in reader.notes]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_byte_order_mark_or_zero_bytes_tell_the_encoding(write: Write, encoding: str) -> None:
    literals, notes = read(write("left.ttl", TURTLE.encode(encoding)))
    assert literals == [TEXT]
    assert len(notes) == 1
    assert notes[0].startswith("read as utf-")


def test_utf_8_is_not_told(write: Write) -> None:
    assert read(write("left.ttl", TURTLE.encode("utf-8-sig"))) == ([TEXT], [])


@pytest.mark.parametrize(
    ("declared", "true"),
    [
        ("windows-1252", "windows-1252"),
        ("ISO-8859-15", "iso-8859-15"),
        ("UTF-16", "utf-16"),
        ("utf-16", "utf-8"),  # as some programs write it
        ("UTF-8", "windows-1252"),
        ("us-ascii", "utf-8"),
    ],
)
def test_an_xml_declaration_tells_the_encoding(write: Write, declared: str, true: str) -> None:
    literals, _ = read(write("left.rdf", XML.format(declared).encode(true, "xmlcharrefreplace")))
    assert literals == [TEXT]


def test_an_unknown_xml_encoding_is_one_line(write: Write) -> None:
    path = write("left.rdf", XML.format("x-unknown"))
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}: its XML declaration names an unknown encoding, 'x-unknown': "
        "give the right one by --encoding"
    )
    assert read(path, "utf-8")[0] == [TEXT]


@pytest.mark.parametrize("name", ["hex", "rot13", "idna", "undefined", "x-none", "a\0b", "ä"])
def test_an_unknown_encoding_is_refused(write: Write, name: str) -> None:
    with pytest.raises(ConfigError, match="is unknown"):
        read(write("left.ttl", TURTLE), name)


@pytest.mark.parametrize("suffix", ["ttl", "nt", "nq", "trig"])
def test_western_text_is_read_as_windows_1252(write: Write, suffix: str) -> None:
    # ASCII escapes and other bytes in one file, as old exports have them.
    line = '<urn:a> <urn:name> "Caf\\u00E9 é" .\n'
    literals, notes = read(write(f"left.{suffix}", line.encode("windows-1252")))
    assert literals == ['"Café é"']
    assert notes == ["read as windows-1252, as its text is not UTF-8 (--encoding names another)"]


def test_the_first_bytes_beyond_ascii_decide_wherever_they_are(write: Write) -> None:
    lines = "<urn:a> <urn:r> <urn:b> .\n" * 20_000 + f"<urn:a> <urn:name> {TEXT} .\n"
    assert read(write("left.nt", lines.encode("windows-1252")))[0] == [TEXT]


@pytest.mark.parametrize(("text", "encoding"), [("Москва", "koi8-r"), ("東京都", "shift_jis")])
def test_other_scripts_are_read_in_the_encoding_that_the_user_names(
    write: Write, text: str, encoding: str
) -> None:
    path = write("left.nt", f'<urn:a> <urn:name> "{text}" .\n'.encode(encoding))
    with pytest.raises(InputError, match="is not UTF-8"):
        read(path)
    assert read(path, encoding)[0] == [f'"{text}"']


def test_the_encoding_that_the_user_names_leaves_utf_8_as_it_is(write: Write) -> None:
    assert read(write("left.ttl", TURTLE), "windows-1252") == ([TEXT], [])


def test_a_damaged_character_does_not_make_another_encoding(write: Write) -> None:
    lines = f"<urn:a> <urn:name> {TEXT} .\n".encode() + b'<urn:a> <urn:name> "\xe9" .\n'
    with pytest.raises(InputError, match=r"left.nt:2: byte 21 of the line \(0xe9\) is not UTF-8"):
        read(write("left.nt", lines))


def test_a_replacement_character_in_the_text_is_utf_8(write: Write) -> None:
    literals, notes = read(write("a.nt", '<urn:a> <urn:p> "Zo\ufffd" .\n'.encode()))
    assert literals == ['"Zo\ufffd"']
    assert not notes


def test_text_that_ends_in_the_middle_of_a_character_is_one_line(write: Write) -> None:
    with pytest.raises(InputError, match="cannot be decoded as utf-16-le"):
        read(write("left.ttl", TURTLE.encode("utf-16")[:-1]))


def test_links_are_read_in_other_encodings(write: Write) -> None:
    assert read_links(write("seeds.tsv", "é\tx\n".encode("utf-16"))) == [("é", "x", 1)]


def test_line_numbers_are_those_of_the_text(write: Write) -> None:
    path = write("left.ttl", (TURTLE + "e:a e:r .\n").encode("utf-16"))
    with pytest.raises(InputError, match=r"left\.ttl:3"):
        list(read_triples(path))


@given(
    text=st.text(st.characters(codec="utf-8", exclude_characters="\ufeff\0")),
    size=st.integers(1, 7),
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-32", "utf-8-sig"]),
)
def test_any_text_comes_out_as_it_is(text: str, size: int, encoding: str) -> None:

    class Pieces(io.RawIOBase):
        def __init__(self) -> None:
            self.rest = text.encode(encoding)

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
            count = min(size, len(buffer), len(self.rest))
            buffer[:count], self.rest = self.rest[:count], self.rest[count:]
            return count

    stream = prepend_bytes(b"", io.BufferedReader(Pieces(), 1))
    if not text.startswith("<?xml"):
        assert open_as_utf8(stream, Path("file")).read() == text.encode()
