"""Files as streams: paths to bytes, bytes to blocks of text, and files written atomically.

Compressed files (gzip, bzip2, xz, Zstandard) are recognised by their first bytes and decompressed
on the fly, and text in other encodings is given as UTF-8. No function here holds more than a block
of a file in memory.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, Protocol, TypeAlias

from everalign.errors import InputError
from everalign.io.encodings import Tell, ignore_note, open_as_utf8

# Larger blocks do not fit the processor's cache and are parsed more slowly.
BLOCK_BYTES = 1 << 16
# Longer than any real literal; a file without line ends must not fill the memory.
MAX_LINE_BYTES = 1 << 24
# Real dumps compress to a tenth or a fiftieth; only decompression bombs exceed this ratio.
MAX_COMPRESSION_RATIO = 1000
# The ratio is not checked below this size, which any machine can hold.
UNCHECKED_BYTES = 1 << 26
ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
# Where the header of a tar archive says what it is.
_TAR_MAGIC = slice(257, 262)
COMPRESSION_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
# A Zstandard block takes at least 4 bytes and expands to at most 128 KiB, so that a chunk of
# this size expands to at most 32 MiB.
_ZSTD_CHUNK_BYTES = 1 << 10
# Enough for files that `xz -9` made, which need 65 MiB to be read.
_XZ_MEMORY_BYTES = 1 << 28

ErrorHandler: TypeAlias = Callable[[InputError], None]


class TextBlock(NamedTuple):
    """Some whole lines of a file; every line, also the last, ends with ``\\n``."""

    text: str
    first_line: int

    def lines(self) -> Iterator[tuple[int, str]]:
        """Iterate over the lines.

        Returns:
            The line number in the file and the line without its line end, for each line.
        """
        return enumerate(self.text[:-1].split("\n"), self.first_line)


def read_text_blocks(path: Path) -> Iterator[TextBlock]:
    """Read a text file, optionally compressed, as blocks of whole lines.

    Args:
        path: The file to read.

    Yields:
        The blocks of the file, in order.

    Raises:
        InputError: The file cannot be read, or is not UTF-8.
    """
    with open_stream(path) as (_, stream):
        yield from split_blocks(stream, path)


@contextmanager
def open_stream(
    path: Path, encoding: str | None = None, tell: Tell = ignore_note
) -> Iterator[tuple[bytes, io.BufferedReader]]:
    """Open a file, optionally compressed, for reading.

    Args:
        path: The file to open.
        encoding: The encoding if the text is not UTF-8 and does not say what it is.
        tell: Called with a note if the text is in another encoding than UTF-8.

    Yields:
        The first bytes of the file, and a stream of the whole file; both decompressed, as UTF-8
        and without a byte order mark.

    Raises:
        InputError: The file cannot be read. Errors of the operating system inside of the
            ``with`` block are converted as well.
    """
    with open_bytes(path) as stream:
        text = open_as_utf8(stream, path, encoding, tell)
        start = text.read(BLOCK_BYTES)
        if is_archive(start):
            raise InputError("is an archive, expected a single file: unpack it", path=path)
        yield start, prepend_bytes(start, text)


@contextmanager
def open_bytes(path: Path) -> Iterator[io.BufferedReader]:
    """Open a file, optionally compressed, for reading its bytes as they are.

    Args:
        path: The file to open.

    Yields:
        The decompressed bytes.

    Raises:
        InputError: The file cannot be read. Errors of the operating system inside of the
            ``with`` block are converted as well.
    """
    with _convert_os_errors(path), path.open("rb") as file:
        yield decompress_stream(file, path)


def is_archive(start: bytes) -> bool:
    """Tell whether a file is an archive.

    Args:
        start: The first bytes of the file, decompressed.

    Returns:
        Whether it is zip or tar.
    """
    return start.startswith(ZIP_STARTS) or start[_TAR_MAGIC] == b"ustar"


def prepend_bytes(start: bytes, stream: io.BufferedReader) -> io.BufferedReader:
    """Make a stream that gives some bytes before those of another stream.

    Args:
        start: Bytes that were read from the stream already.
        stream: The rest.

    Returns:
        A stream from the beginning.
    """
    return io.BufferedReader(_PrependedStream(start, stream), BLOCK_BYTES)


def split_blocks(
    stream: io.BufferedReader, path: Path, on_error: ErrorHandler | None = None
) -> Iterator[TextBlock]:
    """Decode a stream and split it into blocks of whole lines.

    Args:
        stream: The bytes of a text file.
        path: The file, for error messages.
        on_error: Called for each line that is not UTF-8, which then becomes an empty line.
            Without it, the first such line is an error.

    Yields:
        The blocks in order.

    Raises:
        InputError: A line is too long, or not UTF-8.
    """
    first_line = 1
    while raw := read_whole_lines(stream, path, first_line):
        text = _decode_block(raw, path, first_line, on_error)
        yield TextBlock(_normalise_line_ends(text), first_line)
        first_line += raw.count(b"\n")


@contextmanager
def write_atomically(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that replaces the existing one only when it is complete.

    Args:
        path: The file to write. The target of a symbolic link is replaced, not the link.

    Yields:
        A binary stream. If the ``with`` block raises, the existing file stays as it was.

    Raises:
        OSError: The file cannot be written.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     with write_atomically(Path(directory, "links.tsv")) as stream:
    ...         _ = stream.write(b"a\\tA\\n")
    ...     Path(directory, "links.tsv").read_text()
    'a\\tA\\n'
    """
    path = Path(path).resolve()
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:  # a device or a pipe must not be replaced by a file
            yield stream
        return
    unfinished = path.with_name(f".{path.name[:200]}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(path)
    except OSError as error:
        # The user knows the name of the file, not that of the temporary one.
        if error.filename == str(unfinished):
            error.filename = str(path)
        raise
    finally:
        unfinished.unlink(missing_ok=True)


def decompress_stream(file: io.BufferedReader, path: Path) -> io.BufferedReader:
    """Decompress a stream if its first bytes say that it is compressed.

    Args:
        file: The bytes of a file.
        path: The file, for error messages.

    Returns:
        The decompressed bytes. Damaged data and bombs are an `InputError` when they are read.
    """
    start = file.peek(6)
    for magic, (name, decompress) in _COMPRESSIONS.items():
        if start.startswith(magic):
            stream = _DecompressedStream(name, decompress, _CountedStream(file), path)
            return io.BufferedReader(stream)
    return file


class _PrependedStream(io.RawIOBase):
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


@contextmanager
def _convert_os_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise InputError("does not exist", path=path) from None
    except IsADirectoryError:
        problem = f"is a directory, expected a file or a pattern such as {path}/*.nt"
        raise InputError(problem, path=path) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path) from None


def read_whole_lines(
    stream: io.BufferedReader, path: Path, first_line: int, size: int = BLOCK_BYTES
) -> bytes:
    """Read some whole lines.

    Args:
        stream: The bytes of a text file, from the beginning of a line.
        path: The file, for error messages.
        first_line: The number of that line.
        size: How many bytes to read before the end of a line is looked for.

    Returns:
        The lines; nothing at the end of the file.

    Raises:
        InputError: A line is too long.
    """
    raw = stream.read(size)
    if raw and not raw.endswith(b"\n"):
        rest = stream.readline(MAX_LINE_BYTES)
        if len(rest) == MAX_LINE_BYTES and not rest.endswith(b"\n"):
            problem = f"the line is longer than {MAX_LINE_BYTES >> 20} MiB"
            raise InputError(problem, path=path, line=first_line + raw.count(b"\n"))
        raw += rest
    return raw


def _decode_block(raw: bytes, path: Path, first_line: int, on_error: ErrorHandler | None) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        lines = enumerate(raw.split(b"\n"), first_line)
        return "\n".join([decode_line(line, path, number, on_error) for number, line in lines])


def decode_line(line: bytes, path: Path, number: int, on_error: ErrorHandler | None = None) -> str:
    """Decode a line.

    Args:
        line: The bytes of the line.
        path: The file, for error messages.
        number: The number of the line.
        on_error: Called if the line is not UTF-8; it is empty then.

    Returns:
        The text of the line.

    Raises:
        InputError: The line is not UTF-8, and nobody else handles it.
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} of the line (0x{line[error.start]:02x}) is not UTF-8"
        input_error = InputError(problem, path=path, line=number)
    if on_error is None:
        raise input_error
    on_error(input_error)
    return ""  # an empty line keeps the numbers of the lines after it


def _normalise_line_ends(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return text if text.endswith("\n") else text + "\n"


class _ByteStream(Protocol):
    def readinto(self, buffer: bytearray | memoryview, /) -> int | None: ...


_Decompressor: TypeAlias = Callable[[io.BufferedReader], _ByteStream]


class _DamagedDataError(Exception):
    pass


class _CountedStream(io.RawIOBase):
    """A stream that counts the bytes it gave."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream
        self.bytes_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        count = self._stream.readinto1(buffer)
        self.bytes_read += count
        return count


class _DecompressedStream(io.RawIOBase):
    """The content of a compressed stream; damaged data and bombs are errors of the file."""

    def __init__(
        self, name: str, decompress: _Decompressor, compressed: _CountedStream, path: Path
    ) -> None:
        self._name, self._compressed, self._path = name, compressed, path
        self._stream = decompress(io.BufferedReader(compressed))
        self._bytes_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        try:
            count = self._stream.readinto(buffer) or 0
        except EOFError:
            raise self._error("data is truncated") from None
        except (gzip.BadGzipFile, zlib.error, OSError, _DamagedDataError) as error:
            raise self._error(f"data is damaged ({error})") from None
        self._bytes_read += count
        limit = max(UNCHECKED_BYTES, MAX_COMPRESSION_RATIO * self._compressed.bytes_read)
        if self._bytes_read > limit:
            raise self._error(f"data expands to more than {MAX_COMPRESSION_RATIO} times its size")
        return count

    def _error(self, problem: str) -> InputError:
        return InputError(f"the {self._name} {problem}", path=self._path)


class _ZstandardStream(io.RawIOBase):
    """The content of a Zstandard file, which may have several frames."""

    def __init__(self, compressed: io.BufferedReader) -> None:
        # Imported here, since few files need it.
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd

        self._compressed = compressed
        self._begin_frame = zstd.ZstdDecompressor
        self._error: type[Exception] = zstd.ZstdError
        self._frame = self._begin_frame()
        self._inside_frame = False
        self._decompressed = memoryview(b"")

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        while not self._decompressed:
            chunk = self._compressed.read(_ZSTD_CHUNK_BYTES)
            if not chunk:
                if self._inside_frame:
                    raise EOFError
                return 0
            self._decompressed = memoryview(self._decompress_chunk(chunk))
        count = min(len(buffer), len(self._decompressed))
        buffer[:count] = self._decompressed[:count]
        self._decompressed = self._decompressed[count:]
        return count

    def _decompress_chunk(self, chunk: bytes) -> bytes:
        parts = []
        try:
            while chunk:
                parts.append(self._frame.decompress(chunk))
                self._inside_frame = not self._frame.eof
                chunk = self._frame.unused_data if self._frame.eof else b""
                if self._frame.eof:
                    self._frame = self._begin_frame()
        except self._error as error:
            raise _DamagedDataError(error) from None
        return b"".join(parts)


class _XzStream(io.RawIOBase):
    """The content of an xz file, which may have several streams with zero bytes between them."""

    def __init__(self, compressed: io.BufferedReader) -> None:
        self._compressed = compressed
        self._decompressor = self._begin_stream()
        self._unused = b""

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        while True:
            if self._decompressor.eof:
                self._unused = self._decompressor.unused_data
                if not self._skip_padding():
                    return 0
                self._decompressor = self._begin_stream()
            chunk, self._unused = self._unused, b""
            if not chunk and self._decompressor.needs_input:
                chunk = self._compressed.read1(BLOCK_BYTES)
                if not chunk:
                    raise EOFError
            try:
                content = self._decompressor.decompress(chunk, len(buffer))
            except lzma.LZMAError as error:
                raise _DamagedDataError(error) from None
            if content:
                buffer[: len(content)] = content
                return len(content)

    def _skip_padding(self) -> bool:
        """Skip zero bytes, and tell whether another stream follows."""
        while not (rest := self._unused.lstrip(b"\0")):
            self._unused = self._compressed.read1(BLOCK_BYTES)
            if not self._unused:
                return False
        self._unused = rest
        return True

    @staticmethod
    def _begin_stream() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES)


_COMPRESSIONS: dict[bytes, tuple[str, _Decompressor]] = {
    b"\x1f\x8b": ("gzip", lambda compressed: gzip.GzipFile(fileobj=compressed)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ\x00": ("xz", _XzStream),
    b"\x28\xb5\x2f\xfd": ("Zstandard", _ZstandardStream),
}
