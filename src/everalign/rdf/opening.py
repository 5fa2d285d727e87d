"""Path → blocks of text, plain or gzip, with every way this can fail told in one line."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from everalign.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
# Larger blocks fall out of the processor's cache and are read more slowly.
BLOCK_BYTES = 1 << 16
LONGEST_LINE_BYTES = 1 << 24


class Block(NamedTuple):
    """Some whole lines of a file; the text ends with a line end, and line ends are ``\\n``."""

    text: str
    first_line: int

    def lines(self) -> Iterator[tuple[int, str]]:
        """Each line with its number in the file."""
        return enumerate(self.text[:-1].split("\n"), self.first_line)


def text_blocks(path: Path) -> Iterator[Block]:
    """The file as blocks of whole lines, so that no more than a block is held in memory."""
    first_line = 1
    with _reading(path), path.open("rb") as file:
        stream = _decompressed(file)
        while raw := _whole_lines(stream, path, first_line):
            text = _decoded(raw, path, first_line)
            if first_line == 1:
                text = text.removeprefix("\ufeff")
            yield Block(_with_plain_line_ends(text), first_line)
            first_line += raw.count(b"\n")


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise InputError("does not exist", path=path) from None
    except IsADirectoryError:
        raise InputError("is a directory, expected a file", path=path) from None
    except EOFError:
        raise InputError("the gzip data ends too early: is it cut off?", path=path) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"the gzip data is damaged ({error})", path=path) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path) from None


def _decompressed(file: io.BufferedReader) -> io.BufferedIOBase:
    is_gzip = file.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC)
    return gzip.GzipFile(fileobj=file) if is_gzip else file


def _whole_lines(stream: io.BufferedIOBase, path: Path, first_line: int) -> bytes:
    raw = stream.read(BLOCK_BYTES)
    if raw and not raw.endswith(b"\n"):
        rest = stream.readline(LONGEST_LINE_BYTES)
        if len(rest) == LONGEST_LINE_BYTES and not rest.endswith(b"\n"):
            problem = f"the line is longer than {LONGEST_LINE_BYTES >> 20} MiB"
            raise InputError(problem, path=path, line=first_line + raw.count(b"\n"))
        raw += rest
    return raw


def _decoded(raw: bytes, path: Path, first_line: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        byte = error.start - before.rfind(b"\n")
        problem = f"byte {byte} of the line (0x{raw[error.start]:02x}) is not UTF-8"
        line = first_line + before.count(b"\n")
        raise InputError(problem, path=path, line=line) from None


def _with_plain_line_ends(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return text if text.endswith("\n") else text + "\n"
