"""Path → bytes, and bytes → blocks of text, with every way this can fail told in one line."""

from __future__ import annotations

import io
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from everalign.errors import InputError
from everalign.rdf.compression import inflated

# Larger blocks fall out of the processor's cache and are read more slowly.
BLOCK_BYTES = 1 << 16
LONGEST_LINE_BYTES = 1 << 24

OnFault = Callable[[InputError], None]


class Block(NamedTuple):
    """Some whole lines of a file; the text ends with a line end, and line ends are ``\\n``."""

    text: str
    first_line: int

    def lines(self) -> Iterator[tuple[int, str]]:
        """Each line with its number in the file."""
        return enumerate(self.text[:-1].split("\n"), self.first_line)


def text_blocks(path: Path) -> Iterator[Block]:
    """The file as blocks of whole lines, so that no more than a block is held in memory."""
    with opened_stream(path) as (_, stream):
        yield from blocks_of(stream, path)


@contextmanager
def opened_stream(path: Path) -> Iterator[tuple[bytes, io.BufferedReader]]:
    """The beginning of a file, and all of it; what is compressed is unpacked on the way."""
    with _reading(path), path.open("rb") as file:
        stream = inflated(file, path)
        start = stream.read(BLOCK_BYTES).removeprefix(BOM_UTF8)
        yield start, replayed(start, stream)


def replayed(start: bytes, stream: io.BufferedReader) -> io.BufferedReader:
    """A stream whose beginning was read already, from the beginning again."""
    return io.BufferedReader(_Replayed(start, stream), BLOCK_BYTES)


class _Replayed(io.RawIOBase):
    def __init__(self, start: bytes, stream: io.BufferedReader) -> None:
        self._start = memoryview(start)
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        if not self._start:
            return self._stream.readinto(buffer)
        count = min(len(buffer), len(self._start))
        buffer[:count] = self._start[:count]
        self._start = self._start[count:]
        return count


def blocks_of(
    stream: io.BufferedReader, path: Path, on_fault: OnFault | None = None
) -> Iterator[Block]:
    """The stream as blocks of whole lines; `on_fault` hears of lines that are not UTF-8."""
    first_line = 1
    while raw := _whole_lines(stream, path, first_line):
        text = _decoded(raw, path, first_line, on_fault)
        yield Block(_with_plain_line_ends(text), first_line)
        first_line += raw.count(b"\n")


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise InputError("does not exist", path=path) from None
    except IsADirectoryError:
        problem = f"is a directory, expected a file or a pattern such as {path}/*.nt"
        raise InputError(problem, path=path) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path) from None


def _whole_lines(stream: io.BufferedReader, path: Path, first_line: int) -> bytes:
    raw = stream.read(BLOCK_BYTES)
    if raw and not raw.endswith(b"\n"):
        rest = stream.readline(LONGEST_LINE_BYTES)
        if len(rest) == LONGEST_LINE_BYTES and not rest.endswith(b"\n"):
            problem = f"the line is longer than {LONGEST_LINE_BYTES >> 20} MiB"
            raise InputError(problem, path=path, line=first_line + raw.count(b"\n"))
        raw += rest
    return raw


def _decoded(raw: bytes, path: Path, first_line: int, on_fault: OnFault | None) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        lines = enumerate(raw.split(b"\n"), first_line)
        return "\n".join([_decoded_line(line, path, n, on_fault) for n, line in lines])


def _decoded_line(line: bytes, path: Path, number: int, on_fault: OnFault | None) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} of the line (0x{line[error.start]:02x}) is not UTF-8"
        fault = InputError(problem, path=path, line=number)
    if on_fault is None:
        raise fault
    on_fault(fault)
    return ""  # so that the lines after it keep their numbers


def _with_plain_line_ends(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return text if text.endswith("\n") else text + "\n"
