"""Which format a file is in: told by its name, or else by its first line."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from everalign.errors import InputError
from everalign.rdf.opening import opened_stream


class Format(Enum):
    """The formats that EverAlign reads."""

    TABULAR = "tab-separated"
    N_TRIPLES = "N-Triples"
    N_QUADS = "N-Quads"
    TURTLE = "Turtle"
    TRIG = "TriG"
    RDF_XML = "RDF/XML"
    JSON_LD = "JSON-LD"
    RDF_PATCH = "RDF Patch"
    PARQUET = "Parquet"


class Opened(NamedTuple):
    """A file, its format, and its bytes from the beginning, unpacked."""

    path: Path
    format: Format
    stream: io.BufferedReader


_BY_SUFFIX = {
    ".nt": Format.N_TRIPLES,
    ".nq": Format.N_QUADS,
    ".ttl": Format.TURTLE,
    ".trig": Format.TRIG,
    ".rdf": Format.RDF_XML,
    ".owl": Format.RDF_XML,
    ".xml": Format.RDF_XML,
    ".jsonld": Format.JSON_LD,
    ".json": Format.JSON_LD,
    ".rdfp": Format.RDF_PATCH,
    ".rdfpatch": Format.RDF_PATCH,
    ".parquet": Format.PARQUET,
    ".tsv": Format.TABULAR,
    ".ttsv": Format.TABULAR,
    ".txt": Format.TABULAR,
}
_PACKED_SUFFIXES = (".gz", ".bz2", ".zst")
_NOT_READ_BY_SUFFIX = {".n3": "Notation3", ".xz": "xz", ".zip": "zip", ".7z": "7z", ".csv": "CSV"}
_BY_START = {
    "@prefix": Format.TURTLE,
    "@base": Format.TURTLE,
    "prefix ": Format.TURTLE,
    "base ": Format.TURTLE,
    "<?xml": Format.RDF_XML,
    "<!doctype": Format.RDF_XML,
    "<rdf:rdf": Format.RDF_XML,
    "{": Format.JSON_LD,
    "[": Format.JSON_LD,
}
_STATEMENT = re.compile(r"(<|_:).*\.")
_PATCH_ROW = re.compile(r"H\s+\S+\s+\S.*|(TX|TC|TA)\s*\.?|P[AD]\s+\S.*|[AD]\s+[<_\w:].*\.")
_LIKE_TURTLE = (Format.TURTLE, Format.JSON_LD)
_PARQUET_MAGIC = b"PAR1"
_READ = "EverAlign reads " + ", ".join(each.value for each in Format)


@contextmanager
def opened(path: Path) -> Iterator[Opened]:
    """A file that is open for reading."""
    if other := _NOT_READ_BY_SUFFIX.get(_suffix(path)):
        raise InputError(f"is named like a {other} file; {_READ}", path=path)
    with opened_stream(path) as (start, stream):
        yield Opened(path, _detected(path, start), stream)


def looks_like_statement(line: str) -> bool:
    """Whether the line could be one of N-Triples."""
    return _STATEMENT.fullmatch(line.strip()) is not None


def _detected(path: Path, start: bytes) -> Format:
    by_name = _BY_SUFFIX.get(_suffix(path))
    if start.startswith(_PARQUET_MAGIC):
        return Format.PARQUET
    if by_name is Format.PARQUET and start:
        raise InputError("is named like a Parquet file but does not begin like one", path=path)
    line = _first_telling_line(start.decode("utf-8", "replace"))
    by_content = _told_by(line)
    if by_name is None:
        statement = Format.N_TRIPLES if looks_like_statement(line) else Format.TABULAR
        return by_content or statement
    if by_content is None or by_content is by_name or _may_begin_so(by_name, by_content, line):
        return by_name
    suffix = next(suffix for suffix, each in _BY_SUFFIX.items() if each is by_content)
    problem = f"looks like {by_content.value}, whose file name should end in {suffix}"
    raise InputError(problem, path=path)


def _told_by(line: str) -> Format | None:
    if "\t" in line and not line.startswith(("{", "[", "@")):
        return None
    start = line[:10].lower()
    for beginning, told in _BY_START.items():
        if start.startswith(beginning):
            return told
    return Format.RDF_PATCH if _PATCH_ROW.fullmatch(line) else None


def _may_begin_so(by_name: Format, by_content: Format, line: str) -> bool:
    """TriG begins like Turtle, both may begin with a bracket, and a name with anything."""
    if by_name is Format.TABULAR:
        return "\t" in line
    return by_name in (Format.TURTLE, Format.TRIG) and by_content in _LIKE_TURTLE


def _suffix(path: Path) -> str:
    name = path.with_suffix("") if path.suffix.lower() in _PACKED_SUFFIXES else path
    return name.suffix.lower()


def _first_telling_line(text: str) -> str:
    lines = (line.strip() for line in text.split("\n"))
    return next((line for line in lines if line and not line.startswith("#")), "")
