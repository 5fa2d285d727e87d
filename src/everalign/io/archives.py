"""Archives: the files inside of zip and tar, read one after the other without being unpacked.

A tar archive is read as a stream, compressed or not; a zip archive is read by its directory.
Names inside of an archive are only shown: nothing is ever written to where they lead.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast

from everalign.errors import InputError
from everalign.io.streams import (
    BLOCK_BYTES,
    MAX_COMPRESSION_RATIO,
    UNCHECKED_BYTES,
    ZIP_STARTS,
    open_bytes,
)

ARCHIVE_SUFFIXES = (".zip", ".tar", ".tgz", ".tbz", ".tbz2", ".txz")

# A file name and some attributes; a header that is longer would fill the memory.
_MAX_HEADER_BYTES = 1 << 20
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
# What the parsers of both formats raise for damaged archives.
_ARCHIVE_ERRORS = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    RuntimeError,
    NotImplementedError,
    KeyError,
)


class ArchiveMember(NamedTuple):
    """A file inside of an archive."""

    path: Path
    """The path of the archive, followed by the name inside of it."""

    stream: io.BufferedReader | None
    """The bytes of the file, readable until the next member is asked for; None if the member is
    no plain file, or cannot be read."""


def read_members(path: Path) -> Iterator[ArchiveMember]:
    """Read the files of an archive one after the other.

    Args:
        path: A zip archive, or a tar archive that may be compressed.

    Yields:
        Each member but directories, in the order of the archive.

    Raises:
        InputError: The archive is damaged, or expands to more than `MAX_COMPRESSION_RATIO` times
            its size.
    """
    with _convert_archive_errors(path), path.open("rb") as file:
        is_zip = file.read(4) in ZIP_STARTS
    yield from _read_zip(path) if is_zip else _read_tar(path)


@contextmanager
def _convert_archive_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except _ARCHIVE_ERRORS as error:
        reason = " ".join(str(error).split()) or "truncated"
        raise InputError(f"the archive cannot be read ({reason[:200]})", path=path) from None


def _read_zip(path: Path) -> Iterator[ArchiveMember]:
    with _convert_archive_errors(path):
        archive = zipfile.ZipFile(path)
    with archive:
        limit = _ExpansionLimit(path)
        for entry in archive.infolist():
            # A damaged archive may have an entry without a name.
            if entry.filename.endswith("/"):
                continue
            name = _join_name(path, entry.filename)
            if entry.compress_type not in _ZIP_METHODS or entry.flag_bits & 1:  # encrypted
                yield ArchiveMember(name, None)
                continue
            with _convert_archive_errors(name):
                member = archive.open(entry)
            with member:
                yield ArchiveMember(name, io.BufferedReader(_MemberStream(member, name, limit)))


def _read_tar(path: Path) -> Iterator[ArchiveMember]:
    with open_bytes(path) as stream:
        limited = _HeaderLimitedStream(stream, path)
        with _convert_archive_errors(path):
            archive = tarfile.open(fileobj=cast(IO[bytes], limited), mode="r|")  # noqa: SIM115
        with archive:
            limit = _ExpansionLimit(path)
            while (entry := _read_header(archive, limited, path)) is not None:
                if entry.isdir():
                    continue
                name = _join_name(path, entry.name)
                # A sparse file is as large as its header says, whatever the archive has of it.
                content = archive.extractfile(entry) if entry.isreg() else None
                if content is None or entry.issparse():
                    yield ArchiveMember(name, None)
                    continue
                member = _MemberStream(content, name, limit)
                yield ArchiveMember(name, io.BufferedReader(member))
                # So that the next header can be found without reading more than a header.
                while member.read(BLOCK_BYTES):
                    pass
            limited.check_end()


def _read_header(
    archive: tarfile.TarFile, stream: _HeaderLimitedStream, path: Path
) -> tarfile.TarInfo | None:
    with _convert_archive_errors(path), stream.limit_header():
        entry = archive.next()
        # tarfile keeps a list of all members, which may be millions.
        archive.members = []  # type: ignore[attr-defined]
        return entry


def _join_name(path: Path, name: str) -> Path:
    """Join the names of an archive and a file in it, without characters that break a line."""
    shown = "".join(
        c if c.isprintable() else "?" for c in name.encode("utf-8", "replace").decode()
    )
    return path / shown.lstrip("/")[:1000]


class _ExpansionLimit:
    """Counts what all members of an archive expand to: zip members may share their bytes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = max(UNCHECKED_BYTES, MAX_COMPRESSION_RATIO * path.stat().st_size)

    def add(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            problem = f"the archive expands to more than {MAX_COMPRESSION_RATIO} times its size"
            raise InputError(problem, path=self._path)


class _MemberStream(io.RawIOBase):
    """The content of a member; damaged data and bombs are errors of the file."""

    def __init__(self, stream: IO[bytes], path: Path, limit: _ExpansionLimit) -> None:
        self._stream, self._path, self._limit = stream, path, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        with _convert_archive_errors(self._path):
            chunk = self._stream.read(min(len(buffer), BLOCK_BYTES))
        buffer[: len(chunk)] = chunk
        self._limit.add(len(chunk))
        return len(chunk)


class _HeaderLimitedStream:
    """A stream for tarfile that stops headers that would fill the memory."""

    def __init__(self, stream: io.BufferedReader, path: Path) -> None:
        self._stream, self._path = stream, path
        self._left: int | None = None
        self._last_block = b""

    def check_end(self) -> None:
        """Check that the archive ends as it should: tarfile takes what is missing for the end."""
        if self._last_block != bytes(tarfile.BLOCKSIZE):
            raise InputError("the archive is truncated", path=self._path)

    @contextmanager
    def limit_header(self) -> Iterator[None]:
        self._left = _MAX_HEADER_BYTES
        try:
            yield
        finally:
            self._left = None

    def read(self, size: int) -> bytes:
        chunk = self._stream.read(size)
        self._last_block = (self._last_block + chunk)[-tarfile.BLOCKSIZE :]
        if self._left is not None:
            self._left -= len(chunk)
            if self._left < 0:
                raise InputError("a header of the tar archive is too long", path=self._path)
        return chunk
