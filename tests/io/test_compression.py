"""Compressed files: recognised by their first bytes; truncated files and bombs are refused."""

from __future__ import annotations

import bz2
import gzip
import os
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from everalign.errors import InputError
from everalign.io import read_links, read_triples

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Write = Callable[[str, str | bytes], Path]
Pack = Callable[[bytes], bytes]

PACKS: dict[str, Pack] = {"gz": gzip.compress, "bz2": bz2.compress, "zst": zstd.compress}
NAMES = {"gz": "gzip", "bz2": "bzip2", "zst": "Zstandard"}
STATEMENT = "<urn:a> <urn:r> <urn:b> .\n"
TRIPLE = ("urn:a", "urn:r", "urn:b")

each_pack = pytest.mark.parametrize("suffix", PACKS)


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(read_triples(path))
    assert caught.value.path == str(path)
    return caught.value.problem


@each_pack
@pytest.mark.parametrize("name", ["left.nt", "left.ttl", "left.nq", "dump.2016"])
def test_compressed_files_are_read_by_suffix_and_content(
    write: Write, suffix: str, name: str
) -> None:
    packed = PACKS[suffix](STATEMENT.encode())
    assert list(read_triples(write(f"{name}.{suffix}", packed))) == [TRIPLE]
    assert list(read_triples(write(name, packed))) == [TRIPLE]


@each_pack
def test_links_are_read_from_compressed_files(write: Write, suffix: str) -> None:
    path = write(f"seeds.tsv.{suffix}", PACKS[suffix](b"a\tx\nb\ty\n"))
    assert read_links(path) == [("a", "x", 1), ("b", "y", 2)]


@each_pack
def test_concatenated_parts_are_one_file(write: Write, suffix: str) -> None:
    packed = PACKS[suffix](STATEMENT.encode() * 5000)
    path = write("left.nt", packed + packed + PACKS[suffix](b"") + packed)
    assert sum(1 for _ in read_triples(path)) == 15_000


@each_pack
def test_a_truncated_file_is_refused(write: Write, suffix: str) -> None:
    content = "".join(f"<urn:a> <urn:r> <urn:{os.urandom(8).hex()}> .\n" for _ in range(5000))
    packed = PACKS[suffix](content.encode())
    expected = f"the {NAMES[suffix]} data is truncated"
    assert refusal(write("left.nt", packed[: len(packed) // 2])) == expected
    assert refusal(write("left.nt", packed[:-1])) == expected


@each_pack
def test_a_damaged_file_is_refused(write: Write, suffix: str) -> None:
    content = "".join(f"<urn:a> <urn:r> <urn:{os.urandom(8).hex()}> .\n" for _ in range(5000))
    packed = bytearray(PACKS[suffix](content.encode()))
    packed[len(packed) // 2 : len(packed) // 2 + 50] = bytes(50)
    problem = refusal(write("left.nt", bytes(packed)))
    # Damage may also show as text that is no N-Triples, before the checksum is reached.
    assert f"the {NAMES[suffix]} data is damaged" in problem or "not" in problem


def bomb(suffix: str, line: bytes, times: int) -> bytes:
    """A small file that holds a very large one."""
    compressor = bz2.BZ2Compressor(9) if suffix == "bz2" else zstd.ZstdCompressor(level=19)
    parts = [compressor.compress(line * 1000) for _ in range(times)]
    return b"".join([*parts, compressor.flush()])


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("suffix", ["bz2", "zst"])
def test_a_decompression_bomb_is_refused_in_little_memory(write: Write, suffix: str) -> None:
    line = b"# " + b"0" * 997 + b"\n"
    path = write("left.nt", bomb(suffix, line, 150))
    assert path.stat().st_size < 50_000
    tracemalloc.start()
    try:
        expected = "expands to more than 1000 times its size"
        assert refusal(path) == f"the {NAMES[suffix]} data {expected}"
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


@each_pack
def test_an_endless_line_is_refused(write: Write, suffix: str) -> None:
    path = write("left.nt", PACKS[suffix](bytes(1 << 25)))
    assert refusal(path) == "the line is longer than 16 MiB"
