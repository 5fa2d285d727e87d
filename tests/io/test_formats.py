"""Files that cannot be read, gzip, and how the format of a file is recognised."""

from __future__ import annotations

import gzip
import os
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from everalign.errors import InputError
from everalign.io import read_links, read_triples

Write = Callable[[str, str | bytes], Path]

TABLE = "urn:a\turn:r\turn:b\n"
STATEMENT = "<urn:a> <urn:r> <urn:b> .\n"
TRIPLE = ("urn:a", "urn:r", "urn:b")


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        list(read_triples(path))
    assert caught.value.path == str(path)
    return caught.value


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("left.nt", STATEMENT),
        ("left.NT", STATEMENT),
        ("left.tsv", TABLE),
        ("left.txt", TABLE),
        ("left.ttsv", TABLE),
        ("triples_1", TABLE),
        ("dump.2016-10", TABLE),
        ("dump.2016-10", STATEMENT),
        ("dump.data", "\n# a comment\n_:x" + STATEMENT.removeprefix("<urn:a>")),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_format_is_recognised_by_suffix_or_first_line(
    write: Write, name: str, content: str, packed: bool
) -> None:
    raw = gzip.compress(content.encode()) if packed else content.encode()
    path = write(name + ".gz" if packed else name, raw)
    assert [triple[1:] for triple in read_triples(path)] == [TRIPLE[1:]]


def test_gzip_is_recognised_by_its_content(write: Write) -> None:
    assert list(read_triples(write("packed.nt", gzip.compress(STATEMENT.encode())))) == [TRIPLE]
    assert list(read_triples(write("not_packed.nt.gz", STATEMENT))) == [TRIPLE]


def test_concatenated_gzip_files_are_one_file(write: Write) -> None:
    packed = gzip.compress(TABLE.encode())
    assert list(read_triples(write("left.tsv.gz", packed + packed))) == [TRIPLE] * 2


def test_lines_are_counted_in_gzip_too(write: Write) -> None:
    content = STATEMENT * 9_000 + "broken\n"
    assert refusal(write("left.nt.gz", gzip.compress(content.encode()))).line == 9_001


@pytest.mark.parametrize("name", ["left.tsv", "left.nt"])
@pytest.mark.parametrize("content", ["", "\n\n  \n", "\ufeff"])
def test_an_empty_file_is_refused(write: Write, name: str, content: str) -> None:
    path = write(name, content)
    assert str(refusal(path)) == f"{path}: has no triples"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "left.nt").problem == "does not exist"


def test_a_directory_is_refused(tmp_path: Path) -> None:
    expected = f"is a directory, expected a file or a pattern such as {tmp_path}/*.nt"
    assert refusal(tmp_path).problem == expected


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_refused(write: Write) -> None:
    path = write("left.nt", STATEMENT)
    path.chmod(0)
    assert refusal(path).problem == "cannot be read (Permission denied)"


def test_a_path_through_a_file_is_refused(write: Write) -> None:
    path = write("left.nt", STATEMENT) / "inside.nt"
    assert refusal(path).problem == "cannot be read (Not a directory)"


def test_truncated_gzip_is_refused(write: Write) -> None:
    packed = gzip.compress(os.urandom(300).hex().encode())
    assert "is truncated" in refusal(write("left.nt.gz", packed[:-20])).problem


def test_damaged_gzip_is_refused(write: Write) -> None:
    packed = bytearray(gzip.compress(STATEMENT.encode() * 1_000))
    packed[-6] ^= 0xFF
    assert "gzip data is damaged" in refusal(write("check.nt.gz", bytes(packed))).problem
    packed[12:40] = bytes(28)
    assert "gzip data is damaged" in refusal(write("stream.nt.gz", bytes(packed))).problem


@pytest.mark.parametrize("name", ["left.tsv", "left.nt"])
def test_text_that_is_not_utf8_is_refused_with_line_and_byte(write: Write, name: str) -> None:
    line = (TABLE if name == "left.tsv" else STATEMENT).encode()
    error = refusal(write(name, line * 5_000 + line.replace(b"urn:b", b"urn:\xff") + line))
    at = line.index(b"urn:b") + 5
    assert error.line == 5_001
    assert error.problem == f"byte {at} of the line (0xff) is not UTF-8"


@pytest.mark.parametrize(
    ("name", "named_like"),
    [
        ("left.n3", "Notation3"),
        ("left.n3.gz", "Notation3"),
        ("left.7Z", "7z"),
        ("left.rar", "RAR"),
    ],
)
def test_other_formats_are_refused_by_name(write: Write, name: str, named_like: str) -> None:
    problem = refusal(write(name, STATEMENT)).problem
    assert problem.startswith(
        f"{named_like} is not supported; supported formats are tab-separated,"
    )


@pytest.mark.parametrize("name", ["left.xlsx", "left.ods", "left.XLS"])
def test_a_spreadsheet_is_refused_by_name(write: Write, name: str) -> None:
    assert (
        refusal(write(name, b"PK\x03\x04")).problem == "is a spreadsheet: save it as CSV in UTF-8"
    )


@pytest.mark.parametrize("name", ["left.ttl", "left.nt", "left.rdf", "left.csv", "left"])
@pytest.mark.parametrize("start", ["<!DOCTYPE html>", "<html lang='en'>"])
def test_a_web_page_is_refused(write: Write, name: str, start: str) -> None:
    page = f"{start}<body>404, not found</body></html>"
    assert refusal(write(name, page)).problem == "is a web page (HTML) and no graph"


@pytest.mark.parametrize("name", ["left.tsv", "left.nt", "left.nq.gz"])
@pytest.mark.parametrize(
    ("content", "looks_like"),
    [
        ("@prefix e: <http://e.org/> .\ne:a e:r e:b .\n", "Turtle"),
        ("# exported\nPREFIX e: <http://e.org/>\n", "Turtle"),
        ('<?xml version="1.0"?>\n<rdf:RDF>\n', "RDF/XML"),
        ("<rdf:RDF xmlns:rdf='urn:x'>\n", "RDF/XML"),
        ('{"@context": {}}\n', "JSON-LD"),
        ("H id <urn:uuid:1> .\n", "RDF Patch"),
        ("TX .\n", "RDF Patch"),
        ("A <urn:a> <urn:r> <urn:b> .\n", "RDF Patch"),
    ],
)
def test_other_formats_are_refused_by_content(
    write: Write, name: str, content: str, looks_like: str
) -> None:
    problem = refusal(write(name, content)).problem
    assert problem.startswith(f"looks like {looks_like}, whose file name should end in .")


def test_errors_of_link_files_name_the_file(write: Write, tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path, write("seeds.ttl", ""), write("s.tsv", b"\xff")):
        with pytest.raises(InputError) as caught:
            read_links(path)
        assert caught.value.path == str(path)


@pytest.mark.slow
def test_an_endless_line_is_refused_before_it_fills_the_memory(write: Write) -> None:
    error = refusal(write("left.tsv.gz", gzip.compress(TABLE.encode() + bytes(1 << 25))))
    assert error.line == 2
    assert error.problem == "the line is longer than 16 MiB"


def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.nt"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(STATEMENT,))
    writer.start()
    assert list(read_triples(pipe)) == [TRIPLE]
    writer.join()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "line"), [("left.tsv.gz", TABLE), ("left.nt.gz", STATEMENT)])
def test_memory_does_not_grow_with_the_file(write: Write, name: str, line: str) -> None:
    def peak(lines: int) -> int:
        path = write(name, gzip.compress(line.encode() * lines, compresslevel=1))
        tracemalloc.start()
        try:
            assert sum(1 for _ in read_triples(path)) == lines
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(100_000) < 1.2 * peak(10_000)
