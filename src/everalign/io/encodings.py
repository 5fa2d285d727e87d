"""Text in other encodings than UTF-8, given to the parsers as UTF-8.

The encoding of a file is told by its byte order mark, by its XML declaration, or by its first
bytes beyond ASCII: if they are not UTF-8, the file is in the encoding that the user names, or
in windows-1252 if they look like text in a Western European language. UTF-8 passes as it is.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from everalign.errors import ConfigError, InputError

Tell: TypeAlias = Callable[[str], None]

_BLOCK_BYTES = 1 << 16
# The longer marks first: UTF-32 begins like UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Two ASCII characters in UTF-16.
_UTF16_STARTS = (
    (re.compile(rb"(?:[\t\n\r -~]\0){2}"), "utf-16-le"),
    (re.compile(rb"(?:\0[\t\n\r -~]){2}"), "utf-16-be"),
)
_XML_DECLARATION = re.compile(
    rb"""(\s*<\?xml\s[^<>]{0,100}?\bencoding\s*=\s*["'])([^"'<>]{1,100})(["'])"""
)
_GUESSED = "windows-1252"
# Letters and punctuation of windows-1252, at most three beyond ASCII in a row: words in other
# scripts are longer. No control characters, and no ÿ, which is rare and which binary data has.
_WESTERN_TEXT = re.compile(
    rb"(?:[\t\n\r -~]|[\x80\x82-\x8c\x8e\x91-\x9c\x9e-\xfe](?![\x80-\xff]{3}))*+"
)
# These are codecs of Python, but no encodings of files.
_NO_ENCODINGS = frozenset(
    ["idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"]
)


def ignore_note(_note: str) -> None:
    """Ignore what is told about a file.

    Args:
        _note: The note.
    """


def find_encoding(name: str) -> str:
    """Find an encoding by one of its names.

    Args:
        name: A name such as ``latin1`` or ``Windows-1252``.

    Returns:
        The name that Python has for it.

    Raises:
        ConfigError: There is no such encoding.

    >>> find_encoding("Latin1")
    'iso8859-1'
    """
    try:
        codec = codecs.lookup(name)
        is_encoding = codec._is_text_encoding and codec.name not in _NO_ENCODINGS
    # A name may have any character, and the search for its module may fail in many ways.
    except (LookupError, ValueError, ImportError):
        is_encoding = False
    if not is_encoding:
        raise ConfigError(f"the encoding {name[:40]!r} is unknown")
    return codec.name


def open_as_utf8(
    stream: io.BufferedReader, path: Path, encoding: str | None = None, tell: Tell = ignore_note
) -> io.BufferedReader:
    """Give the bytes of a text file as UTF-8, without a byte order mark.

    Args:
        stream: The decompressed bytes of the file.
        path: The file, for error messages.
        encoding: The encoding if the text is not UTF-8 and does not say what it is.
        tell: Called with a note if the text is in another encoding than UTF-8.

    Returns:
        The text as UTF-8. Bytes that are not UTF-8 in a text that is UTF-8 otherwise are left.

    Raises:
        InputError: The XML declaration names an unknown encoding.
        ConfigError: The encoding given is unknown.
    """
    given = None if encoding is None else find_encoding(encoding)
    start = stream.read(_BLOCK_BYTES)
    mark, found = next(
        (known for known in _BYTE_ORDER_MARKS if start.startswith(known[0])), (b"", None)
    )
    reason = "by its byte order mark"
    if found is None:
        found = next((name for first, name in _UTF16_STARTS if first.match(start)), None)
        reason = "by its first bytes"
    if found is None and (declaration := _XML_DECLARATION.match(start)):
        declared = declaration[2].decode("latin-1")
        found = _find_declared(declared, given, path)
        reason = f"as its XML declaration says ({declared[:40]})"
    text = _Utf8Stream(stream, path, start.removeprefix(mark), given, tell)
    if found is not None:
        text.decide(found, reason)
    return io.BufferedReader(text, _BLOCK_BYTES)


def _find_declared(name: str, given: str | None, path: Path) -> str | None:
    try:
        found = find_encoding(name)
    except ConfigError:
        if given is not None:
            return given
        problem = f"its XML declaration names an unknown encoding, {name[:40]!r}: "
        raise InputError(f"{problem}give the right one by --encoding", path=path) from None
    # What is read as ASCII is neither UTF-16 nor UTF-32. UTF-8 is often declared and not true.
    return None if found.startswith("utf-") or found == "ascii" else found


class _Utf8Stream(io.RawIOBase):
    """A text as UTF-8; its encoding is decided at the first bytes beyond ASCII."""

    def __init__(
        self,
        stream: io.BufferedReader,
        path: Path,
        start: bytes,
        given: str | None,
        tell: Tell,
    ) -> None:
        self._stream, self._path, self._given, self._tell = stream, path, given, tell
        self._unread: bytes | None = start
        self._is_decided = False
        self._decoder: codecs.IncrementalDecoder | None = None
        self._encoding = "utf-8"
        self._is_first = True
        self._ready = memoryview(b"")

    def decide(self, encoding: str, reason: str) -> None:
        """Decide the encoding of all that follows."""
        self._is_decided = True
        if encoding == "utf-8":
            return
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._tell(f"read as {encoding}, {reason}")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        while not self._ready:
            chunk = self._read_chunk()
            self._ready = memoryview(self._convert_chunk(chunk))
            if not chunk:
                break
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _read_chunk(self) -> bytes:
        if self._unread is not None:
            chunk, self._unread = self._unread, None
            # A file of nothing but its byte order mark is not at its end yet.
            if chunk:
                return chunk
        return self._stream.read1(_BLOCK_BYTES)

    def _convert_chunk(self, chunk: bytes) -> bytes:
        if not self._is_decided and not chunk.isascii():
            chunk = self._decide_by_text(chunk)
        if self._decoder is not None:
            chunk = self._decode_chunk(self._decoder, chunk)
        if self._is_first:
            # The parsers must not decode what is decoded already.
            if declaration := _XML_DECLARATION.match(chunk):
                chunk = declaration[1] + b"UTF-8" + chunk[declaration.end(2) :]
            self._is_first = False
        return chunk

    def _decide_by_text(self, chunk: bytes) -> bytes:
        # A character may be cut off at the end of the chunk.
        while _is_cut_off(chunk) and (more := self._stream.read1(_BLOCK_BYTES)):
            chunk += more
        text = chunk.decode("utf-8", "replace")
        # Some have been in the text: others that read it before could not decode it.
        wrong = text.count("\ufffd") - chunk.count("\ufffd".encode())
        right = len(text) - wrong - sum(map(str.isascii, text)) if wrong else 0
        if wrong <= right * 4:  # a damaged character or two do not make another encoding
            self.decide("utf-8", "")
        elif self._given is not None:
            self.decide(self._given, "as its text is not UTF-8")
        elif _WESTERN_TEXT.fullmatch(chunk):
            self.decide(_GUESSED, "as its text is not UTF-8 (--encoding names another)")
        else:
            self.decide("utf-8", "")
        return chunk

    def _decode_chunk(self, decoder: codecs.IncrementalDecoder, chunk: bytes) -> bytes:
        try:
            return decoder.decode(chunk, final=not chunk).encode()
        except UnicodeError as error:
            reason = getattr(error, "reason", "damaged text")
            problem = f"cannot be decoded as {self._encoding} ({reason})"
            raise InputError(problem, path=self._path) from None


def _is_cut_off(chunk: bytes) -> bool:
    """Tell whether the last bytes are the beginning of a character of UTF-8."""
    try:
        chunk.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return False
