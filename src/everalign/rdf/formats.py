"""Which format a file is in: told by its name, or else by its first line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from itertools import chain
from pathlib import Path

from everalign.errors import InputError
from everalign.rdf.opening import Block, text_blocks


class Format(Enum):
    """The formats that EverAlign reads."""

    TABULAR = "tab-separated"
    N_TRIPLES = "N-Triples"


_BY_SUFFIX = {
    ".nt": Format.N_TRIPLES,
    ".tsv": Format.TABULAR,
    ".ttsv": Format.TABULAR,
    ".txt": Format.TABULAR,
    "": Format.TABULAR,
}
_NOT_READ_BY_SUFFIX = {
    ".ttl": "Turtle",
    ".n3": "Notation3",
    ".nq": "N-Quads",
    ".trig": "TriG",
    ".rdf": "RDF/XML",
    ".owl": "RDF/XML",
    ".xml": "XML",
    ".json": "JSON",
    ".jsonld": "JSON-LD",
    ".parquet": "Parquet",
    ".bz2": "bzip2",
    ".xz": "xz",
    ".zst": "Zstandard",
    ".zip": "zip",
}
_NOT_READ_BY_START = {
    "@prefix": "Turtle",
    "@base": "Turtle",
    "prefix ": "Turtle",
    "base ": "Turtle",
    "<?xml": "XML",
    "<rdf:rdf": "RDF/XML",
    "{": "JSON",
    "[": "JSON",
}
_STATEMENT = re.compile(r"(<|_:).*\.")
_READ = "EverAlign reads tab-separated files and N-Triples (.nt), plain or gzip"


def opened(path: Path) -> tuple[Format, Iterator[Block]]:
    """The format of a file and its blocks."""
    _refuse_by_name(path)
    blocks = text_blocks(path)
    first = next(blocks, None)
    if first is None:
        return Format.TABULAR, iter(())
    return _detected(path, first.text), chain([first], blocks)


def looks_like_statement(line: str) -> bool:
    """Whether the line could be one of N-Triples."""
    return _STATEMENT.fullmatch(line.strip()) is not None


def _refuse_by_name(path: Path) -> None:
    if other := _NOT_READ_BY_SUFFIX.get(_suffix(path)):
        raise InputError(f"is named like a {other} file; {_READ}", path=path)


def _detected(path: Path, text: str) -> Format:
    line = _first_telling_line(text)
    _refuse_by_content(path, line)
    by_content = Format.N_TRIPLES if looks_like_statement(line) else Format.TABULAR
    return _BY_SUFFIX.get(_suffix(path), by_content)


def _suffix(path: Path) -> str:
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return name.suffix.lower()


def _first_telling_line(text: str) -> str:
    lines = (line.strip() for line in text.split("\n"))
    return next((line for line in lines if line and not line.startswith("#")), "")


def _refuse_by_content(path: Path, line: str) -> None:
    if "\t" in line:
        return
    start = line[:10].lower()
    for beginning, other in _NOT_READ_BY_START.items():
        if start.startswith(beginning):
            raise InputError(f"looks like {other}; {_READ}", path=path)
