"""Archives: all files in known formats are read, others are named; bombs are refused."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from everalign.errors import InputError
from everalign.io import Table, TripleReader, read_links, read_triples

Write = Callable[[str, str | bytes], Path]
Pack = Callable[[dict[str, bytes]], bytes]

FILES = {
    "data/left.nt": b"_:b <urn:r> <urn:a> .\n",
    "data/left.ttl.gz": gzip.compress(b"<urn:c> <urn:r> _:b ."),
    "README.txt": b"Two files\n",
    "logo.png": b"\x89PNG",
    "meta.xml": b"<meta/>",
    "__MACOSX/data/._left.nt": b"\0\0",
}


def pack_zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/", b"")
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def pack_tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        link = tarfile.TarInfo("link.nt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return buffer.getvalue()


PACKS: dict[str, Pack] = {
    "zip": pack_zip,
    "tar": pack_tar,
    "tar.gz": lambda files: gzip.compress(pack_tar(files)),
    "tgz": lambda files: gzip.compress(pack_tar(files)),
    "tar.bz2": lambda files: bz2.compress(pack_tar(files)),
    "tar.xz": lambda files: lzma.compress(pack_tar(files)),
}
each_pack = pytest.mark.parametrize("suffix", PACKS)


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(read_triples(path))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@each_pack
def test_all_files_in_known_formats_are_read(write: Write, suffix: str) -> None:
    reader = TripleReader(write(f"dump.{suffix}", PACKS[suffix](FILES)))
    assert list(reader) == [("_:f1.b", "urn:r", "urn:a"), ("urn:c", "urn:r", "_:f2.b")]
    (note,) = reader.notes
    assert "of its files are not read: README.txt, logo.png, meta.xml" in note
    assert ("link.nt" in note) == (suffix != "zip")


@each_pack
def test_errors_name_the_file_in_the_archive(write: Write, suffix: str) -> None:
    path = write(f"dump.{suffix}", PACKS[suffix]({"a.nt": b"", "b.ttl": b"<urn:a> <urn:r>\n.\n"}))
    assert refusal(path).startswith(f"{path}/b.ttl:")
    # An error without a line of its own is looked for by reading the file again.
    path = write(
        f"star.{suffix}",
        PACKS[suffix]({"a.nt": b"", "b.ttl": b"<urn:a> <urn:r> <urn:b> .\n<urn:a b> <urn:r> 1 ."}),
    )
    assert refusal(path).startswith(f"{path}/b.ttl:2: ")


@each_pack
def test_an_archive_without_graphs_is_refused(write: Write, suffix: str) -> None:
    path = write(f"dump.{suffix}", PACKS[suffix]({"README.txt": b"x"}))
    assert "has no file in a known format, found README.txt" in refusal(path)


@each_pack
def test_a_damaged_archive_is_one_line(write: Write, suffix: str) -> None:
    whole = PACKS[suffix](FILES)
    # A tar archive ends in zero bytes, most of which are not missed.
    for length in (300, 1300, 2048) if suffix == "tar" else (300, len(whole) - 40):
        refusal(write(f"dump.{suffix}", whole[:length]))


def test_an_archive_is_recognised_by_its_content(write: Write) -> None:
    assert len(list(read_triples(write("dump", pack_zip(FILES))))) == 2
    assert "named like an archive" in refusal(write("dump.zip", b"<urn:a> <urn:r> <urn:b> .\n"))
    for name in ("seeds.nt", "seeds.tsv"):
        with pytest.raises(InputError, match="is an archive, expected a single file"):
            read_links(write(name, pack_zip(FILES)))


def test_a_bomb_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everalign.io.archives.UNCHECKED_BYTES", 1 << 16)
    monkeypatch.setattr("everalign.io.archives.MAX_COMPRESSION_RATIO", 100)
    line = b"<urn:a> <urn:r> <urn:b> .\n"
    path = write("dump.zip", pack_zip({"a.nt": line * 100_000}))
    assert "expands to more than 100 times its size" in refusal(path)


def test_a_long_header_is_refused(write: Write) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo("a.nt")
        entry.pax_headers = {"comment": "x" * (1 << 22)}
        archive.addfile(entry)
    assert "header" in refusal(write("dump.tar", buffer.getvalue()))


def test_members_that_cannot_be_read_are_named(write: Write) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.nt", b"<urn:a> <urn:r> <urn:b> .\n")
    assert "found a.nt" in refusal(write("dump.zip", buffer.getvalue()))


def test_names_with_line_ends_do_not_break_messages(write: Write) -> None:
    path = write("dump.zip", pack_zip({"a\nb.nt": b"bad\n"}))
    assert "a?b.nt:1" in refusal(path)


@pytest.mark.parametrize("suffix", ["zip", "tar.gz"])
def test_tables_in_an_archive_are_read(write: Write, suffix: str) -> None:
    files = {
        "people.csv": "nr;name;city\n1;Zoë;c1\n".encode("windows-1252"),
        "more/cities.tsv": b"id\tname\nc1\tOslo\n",
        "x.parquet": b"PAR1",
    }
    path = write(f"dump.{suffix}", PACKS[suffix](files))
    reader = TripleReader(Table(path, id_column="nr", link_columns="city", base="urn:{table}:"))
    batches = list(reader.statements())
    assert [row for batch in batches for row in batch.triples] == [
        ("urn:people:1", "urn:people:city", "urn:people:c1")
    ]
    assert [row for batch in batches for row in batch.literals] == [
        ("urn:people:1", "urn:people:name", '"Zoë"'),
        ("urn:cities:c1", "urn:cities:name", '"Oslo"'),
    ]
    assert any("people.csv: read as a table (semicolon)" in note for note in reader.notes)
    assert any("of its files are not read: x.parquet" in note for note in reader.notes)
    with pytest.raises(InputError, match="no table has the column 'none'; the columns are 'nr, "):
        list(TripleReader(Table(path, link_columns="none")))
