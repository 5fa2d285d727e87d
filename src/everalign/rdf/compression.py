"""Compressed bytes → bytes: gzip, bzip2 and Zstandard, told by their first bytes.

What comes out is never held, only passed on, and data that swells without measure is refused.
"""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from everalign.errors import InputError

# Real dumps shrink to a tenth or a fiftieth; only data made to do harm shrinks to this.
MOST_TIMES_LARGER = 1000
# Below this size nothing is large enough to do harm.
HARMLESS_BYTES = 1 << 26
# A block of Zstandard is at least 4 bytes and gives at most 128 KiB: so much in, 32 MiB out.
_ZSTD_BYTES = 1 << 10


class Readable(Protocol):
    """The one thing that is asked of a stream here."""

    def readinto(self, buffer: bytearray | memoryview, /) -> int | None: ...


class Counted(io.RawIOBase):
    """A stream that knows how many bytes it gave."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream
        self.given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        count = self._stream.readinto1(buffer)
        self.given += count
        return count


class Inflated(io.RawIOBase):
    """What a compressed stream holds; its faults are told as errors about the file."""

    def __init__(self, name: str, inflate: Inflate, packed: Counted, path: Path) -> None:
        self._name, self._packed, self._path = name, packed, path
        self._stream = inflate(io.BufferedReader(packed))
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        try:
            count = self._stream.readinto(buffer) or 0
        except EOFError:
            problem = f"the {self._name} data ends too early: is it cut off?"
            raise InputError(problem, path=self._path) from None
        except (gzip.BadGzipFile, zlib.error, OSError, _DamagedError) as error:
            problem = f"the {self._name} data is damaged ({error})"
            raise InputError(problem, path=self._path) from None
        self._given += count
        if self._given > HARMLESS_BYTES and self._given > MOST_TIMES_LARGER * self._packed.given:
            problem = f"swells to more than {MOST_TIMES_LARGER} times its size: this is no graph"
            raise InputError(f"the {self._name} data {problem}", path=self._path)
        return count


class _DamagedError(Exception):
    """Data that is not what it claims to be."""


class _Zstandard(io.RawIOBase):
    """The frames of a Zstandard file, one after the other."""

    def __init__(self, packed: io.BufferedReader) -> None:
        import zstandard

        self._packed = packed
        self._decompressor = zstandard.ZstdDecompressor()
        self._error: type[Exception] = zstandard.ZstdError
        self._frame = self._decompressor.decompressobj()
        self._inside = False
        self._ready = memoryview(b"")

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        while not self._ready:
            chunk = self._packed.read(_ZSTD_BYTES)
            if not chunk:
                if self._inside:
                    raise EOFError
                return 0
            self._ready = memoryview(self._inflated(chunk))
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _inflated(self, chunk: bytes) -> bytes:
        parts = []
        try:
            while chunk:
                parts.append(self._frame.decompress(chunk))
                self._inside = not self._frame.eof
                chunk = self._frame.unused_data if self._frame.eof else b""
                if self._frame.eof:
                    self._frame = self._decompressor.decompressobj()
        except self._error as error:
            raise _DamagedError(error) from None
        return b"".join(parts)


Inflate = Callable[[io.BufferedReader], Readable]

_KINDS: dict[bytes, tuple[str, Inflate]] = {
    b"\x1f\x8b": ("gzip", lambda packed: gzip.GzipFile(fileobj=packed)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\x28\xb5\x2f\xfd": ("Zstandard", _Zstandard),
}


def inflated(file: io.BufferedReader, path: Path) -> io.BufferedReader:
    """The stream itself, or what it holds if it is compressed."""
    start = file.peek(4)
    for magic, (name, inflate) in _KINDS.items():
        if start.startswith(magic):
            return io.BufferedReader(Inflated(name, inflate, Counted(file), path))
    return file
