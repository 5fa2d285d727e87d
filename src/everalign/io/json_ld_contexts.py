"""Remote contexts of JSON-LD, replaced by files before a document is parsed.

Nothing is fetched. The context of schema.org comes with this package, as far as reading needs it
(`schema_org.jsonld`); others are given by the user.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from everalign.errors import InputError
from everalign.io.terms import shorten_text

# A context is small. What follows the key is held until it is complete, up to this size.
_MAX_CONTEXT_BYTES = 1 << 20
_MAX_CONTEXT_FILE_BYTES = 1 << 23
# A context may name another one, which may name the first.
_MAX_REFERENCES = 20
_BLOCK_BYTES = 1 << 16
# Inside of a string the quotation marks would be escaped; only a key is followed by a colon.
_CONTEXT_KEY = re.compile(rb'(?<!\\)"@context"\s*:\s*(?=\S)')
# A key, or the space after it, may go on in the next block.
_UNFINISHED_KEY = re.compile(
    rb'"(?:@(?:c(?:o(?:n(?:t(?:e(?:x(?:t(?:"\s*(?::\s*)?)?)?)?)?)?)?)?)?)?\Z'
)
_SCHEMA_ORG = re.compile(
    r"https?://(?:www\.)?schema\.org(?:/?|/docs/jsonldcontext\.json(?:ld)?)", re.IGNORECASE
)
_SCHEMA_ORG_FILE = Path(__file__).with_name("schema_org.jsonld")


def resolve_contexts(stream: io.BufferedReader, contexts: Mapping[str, Path]) -> io.BufferedReader:
    """Replace the remote contexts of a document by the files that the user has for them.

    Args:
        stream: A JSON-LD document.
        contexts: Files by the URL of the context; the empty string stands for any URL.

    Returns:
        The document with contexts inside of it, and the same number of lines before each object.

    Raises:
        InputError: A context is unknown, or its file is not a context (when reading).
    """
    return io.BufferedReader(_ContextStream(stream, contexts), _BLOCK_BYTES)


class _ContextStream(io.RawIOBase):
    def __init__(self, stream: io.BufferedReader, contexts: Mapping[str, Path]) -> None:
        self._stream, self._contexts = stream, contexts
        self._held = b""
        self._line = 1
        self._ready = memoryview(b"")
        self._is_complete = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        while not self._ready and not (self._is_complete and not self._held):
            self._ready = memoryview(self._convert_next())
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _read_more(self) -> None:
        chunk = self._stream.read(max(_BLOCK_BYTES, len(self._held)))
        self._is_complete = not chunk
        self._held += chunk

    def _convert_next(self) -> bytes:
        """Convert what is held up to the next context, and the context."""
        if not self._held:
            self._read_more()
        key = _CONTEXT_KEY.search(self._held)
        if key is None:
            unfinished = _UNFINISHED_KEY.search(self._held)
            end = len(self._held) if unfinished is None else unfinished.start()
            if unfinished and end == 0 and not self._is_complete:
                self._read_more()
                return b""
            return self._give(len(self._held) if self._is_complete else end)
        if self._held[key.end()] in b'"[':
            return self._convert_context(key.end())
        return self._give(key.end())

    def _give(self, end: int) -> bytes:
        given, self._held = self._held[:end], self._held[end:]
        self._line += given.count(b"\n")
        return given

    def _convert_context(self, start: int) -> bytes:
        while True:
            # Bytes that are not UTF-8 are an error of the parser, not of this search.
            text = self._held[start:].decode("utf-8", "surrogateescape")
            try:
                value, length = json.JSONDecoder().raw_decode(text)
                break
            except (ValueError, RecursionError):
                if self._is_complete or len(self._held) - start > _MAX_CONTEXT_BYTES:
                    return self._give(len(self._held))
                self._read_more()
        try:
            resolved = _resolve(value, self._contexts, 0)
        except InputError as error:
            line = self._line + self._held[:start].count(b"\n")
            raise InputError(error.problem, line=line) from None
        end = start + len(text[:length].encode("utf-8", "surrogateescape"))
        given = self._give(end)
        if resolved == value:
            return given
        # The line ends keep the numbers of the lines after the context.
        line_ends = b"\n" * given[start:].count(b"\n")
        return given[:start] + json.dumps(resolved).encode() + line_ends


def _resolve(value: Any, contexts: Mapping[str, Path], depth: int) -> Any:
    """Replace URLs in a context, and in the contexts inside of it, by what they stand for."""
    if depth > _MAX_REFERENCES:
        raise InputError("contexts of JSON-LD are nested too deeply, or name each other")
    if isinstance(value, str):
        return _resolve(_load_context(value, contexts), contexts, depth + 1)
    if isinstance(value, list):
        # A context in a list may be a list itself, which JSON-LD does not allow.
        resolved = [_resolve(item, contexts, depth) for item in value]
        return [c for item in resolved for c in (item if isinstance(item, list) else [item])]
    if isinstance(value, dict):
        return {key: _resolve_entry(key, entry, contexts, depth) for key, entry in value.items()}
    return value


def _resolve_entry(key: str, entry: Any, contexts: Mapping[str, Path], depth: int) -> Any:
    if key == "@context":
        return _resolve(entry, contexts, depth + 1)
    # A term may have a context of its own.
    if isinstance(entry, dict) and "@context" in entry:
        return {**entry, "@context": _resolve(entry["@context"], contexts, depth + 1)}
    return entry


def _load_context(url: str, contexts: Mapping[str, Path]) -> Any:
    own = _SCHEMA_ORG_FILE if _SCHEMA_ORG.fullmatch(url) else None
    path = contexts.get(url) or own or contexts.get("")
    if path is None:
        shown = shorten_text(url)
        problem = f"the remote @context {shown} is not fetched: give it by --context URL=FILE"
        raise InputError(problem)
    return _read_context(path)


@cache
def _read_context(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_CONTEXT_FILE_BYTES).decode("utf-8-sig")
        document = json.loads(text)
    except OSError as error:
        problem = f"the context {path} cannot be read ({error.strerror})"
        raise InputError(problem) from None
    except (ValueError, RecursionError):
        raise InputError(f"the context {path} is not JSON") from None
    if isinstance(document, dict):
        return document.get("@context", document)
    raise InputError(f"the context {path} is not an object")
