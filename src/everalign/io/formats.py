"""The file formats that graphs are read from, and how the format of a file is recognised.

`FORMATS` is the one place where formats are declared. To add a format, write a function that
turns its bytes into `Statements` and add a `FileFormat` to the table, or pass one to
`register_format`; docs/concepts/add-a-format.md shows an example.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from everalign.errors import ConfigError, InputError
from everalign.io import documents, ntriples
from everalign.io.csv_files import read_csv, read_csv_header
from everalign.io.filters import ReadContext
from everalign.io.rdf_patch import read_rdf_patch
from everalign.io.streams import COMPRESSION_SUFFIXES, open_stream
from everalign.io.tables import read_parquet, read_parquet_header, read_table
from everalign.io.terms import Statements, Triple

StatementReader: TypeAlias = Callable[[io.BufferedReader, ReadContext], Iterator[Statements]]
NumberedReader: TypeAlias = Callable[
    [io.BufferedReader, ReadContext], Iterator[tuple[Triple, int]]
]

HeaderReader: TypeAlias = Callable[[io.BufferedReader, ReadContext], list[str]]


@dataclass(frozen=True)
class FileFormat:
    """A file format: how it is recognised and how it is read."""

    name: str
    """The name for messages and logs."""

    suffixes: tuple[str, ...]
    """The file name suffixes in lower case, the usual one first."""

    media_type: str
    """The media type, by which web services name the format."""

    read: StatementReader
    """Reads the decompressed bytes of a file. It asks the context whether a named graph is kept,
    reports errors to it, and leaves all other filtering and counting to `TripleReader`."""

    read_numbered: NumberedReader | None = None
    """Reads statements with their line numbers (0 if unknown), for files of links; None if links
    are not read from this format."""

    first_line: re.Pattern[str] | None = None
    """Matches the beginning of the first line that is neither blank nor a comment, if it tells
    the format. A line with a tab is never matched unless it begins with ``{``, ``[`` or ``@``."""

    magic: bytes = b""
    """The first bytes of a binary format."""

    begins_like: tuple[str, ...] = ()
    """Other formats whose first line may be a first line of this format as well."""

    is_patch: bool = False
    """Whether a file says which statements it removes. It may be empty."""

    read_header: HeaderReader | None = None
    """Reads the names of the columns, for tables whose rows may be entities."""


TABLE = FileFormat(
    "tab-separated",
    (".tsv", ".ttsv", ".txt"),
    "text/tab-separated-values",
    read_table,
    read_header=read_csv_header,
)
CSV = FileFormat("CSV", (".csv",), "text/csv", read_csv, read_header=read_csv_header)
N_TRIPLES = FileFormat(
    "N-Triples",
    (".nt",),
    "application/n-triples",
    ntriples.read_ntriples,
    ntriples.read_numbered_ntriples,
)

FORMATS: list[FileFormat] = [
    TABLE,
    CSV,
    N_TRIPLES,
    FileFormat(
        "N-Quads",
        (".nq",),
        "application/n-quads",
        ntriples.read_nquads,
        ntriples.read_numbered_nquads,
    ),
    FileFormat(
        "Turtle",
        (".ttl",),
        "text/turtle",
        documents.read_turtle,
        documents.read_numbered_turtle,
        first_line=re.compile("@prefix|@base|prefix |base ", re.IGNORECASE),
        begins_like=("JSON-LD",),  # a statement may begin with "["
    ),
    FileFormat(
        "TriG",
        (".trig",),
        "application/trig",
        documents.read_trig,
        documents.read_numbered_trig,
        begins_like=("Turtle", "JSON-LD"),  # a graph may begin with "{"
    ),
    FileFormat(
        "RDF/XML",
        (".rdf", ".owl", ".xml"),
        "application/rdf+xml",
        documents.read_rdf_xml,
        documents.read_numbered_rdf_xml,
        first_line=re.compile(r"<\?xml|<!doctype|<rdf:rdf", re.IGNORECASE),
    ),
    FileFormat(
        "JSON-LD",
        (".jsonld", ".json"),
        "application/ld+json",
        documents.read_json_ld,
        documents.read_numbered_json_ld,
        first_line=re.compile(r"[{\[]"),
    ),
    FileFormat(
        "RDF Patch",
        (".rdfp", ".rdfpatch"),
        "application/rdf-patch",
        read_rdf_patch,
        first_line=re.compile(
            r"(?:H\s+\S+\s+\S.*|(TX|TC|TA)\s*\.?|P[AD]\s+\S.*|[AD]\s+[<_\w:].*\.)\Z"
        ),
        is_patch=True,
    ),
    FileFormat(
        "Parquet",
        (".parquet",),
        "application/vnd.apache.parquet",
        read_parquet,
        magic=b"PAR1",
        read_header=read_parquet_header,
    ),
]
# Suffixes of formats that users may try; without this they would be read as tables.
_UNSUPPORTED_SUFFIXES = {
    ".n3": "Notation3",
    ".xz": "xz",
    ".zip": "zip",
    ".7z": "7z",
}


class OpenedFile(NamedTuple):
    """A file that is open for reading."""

    path: Path
    format: FileFormat
    stream: io.BufferedReader
    """The decompressed bytes, from the beginning."""


def register_format(file_format: FileFormat) -> None:
    """Make a format known to this process.

    Args:
        file_format: The format. Its name and suffixes must be new.

    Raises:
        ConfigError: Another format has the name or one of the suffixes.
    """
    for known in FORMATS:
        if known.name == file_format.name:
            raise ConfigError(f"the format {known.name!r} is registered already")
        for suffix in set(known.suffixes) & set(file_format.suffixes):
            raise ConfigError(f"the suffix {suffix!r} belongs to the format {known.name!r}")
    FORMATS.append(file_format)


@contextmanager
def open_file(path: Path) -> Iterator[OpenedFile]:
    """Open a file, optionally compressed, and recognise its format.

    Args:
        path: The file to open.

    Yields:
        The open file.

    Raises:
        InputError: The file cannot be read, has an unsupported format, or its content
            contradicts its name.
    """
    suffix = _get_suffix(path)
    by_name = next((known for known in FORMATS if suffix in known.suffixes), None)
    if by_name is None and (unsupported := _UNSUPPORTED_SUFFIXES.get(suffix)):
        supported = ", ".join(known.name for known in FORMATS)
        problem = f"{unsupported} is not supported; supported formats are {supported}"
        raise InputError(problem, path=path)
    with open_stream(path) as (start, stream):
        yield OpenedFile(path, _recognise_format(path, by_name, start), stream)


def _recognise_format(path: Path, by_name: FileFormat | None, start: bytes) -> FileFormat:
    """Choose the format by the file name, or else by the content; both must not contradict."""
    # Before the file name: a binary file cannot be read as any other format.
    for known in FORMATS:
        if known.magic and start.startswith(known.magic):
            return known
    if by_name is not None and by_name.magic and start:
        problem = f"is named like a {by_name.name} file but does not begin like one"
        raise InputError(problem, path=path)
    line = _find_first_line(start.decode("utf-8", "replace"))
    by_content = _recognise_line(line)
    if by_name is None:
        # Only here: a table may have names that look like a statement.
        statement = N_TRIPLES if ntriples.is_statement_line(line) else TABLE
        return by_content or statement
    if by_content is None or by_content is by_name or by_content.name in by_name.begins_like:
        return by_name
    # A name in a table may look like anything.
    if by_name is CSV or (by_name is TABLE and "\t" in line):
        return by_name
    problem = f"looks like {by_content.name}, whose file name should end in "
    raise InputError(problem + by_content.suffixes[0], path=path)


def _recognise_line(line: str) -> FileFormat | None:
    if "\t" in line and not line.startswith(("{", "[", "@")):
        return None
    matches = (known for known in FORMATS if known.first_line and known.first_line.match(line))
    return next(matches, None)


def _get_suffix(path: Path) -> str:
    name = path.with_suffix("") if path.suffix.lower() in COMPRESSION_SUFFIXES else path
    return name.suffix.lower()


def _find_first_line(text: str) -> str:
    lines = (line.strip() for line in text.split("\n"))
    return next((line for line in lines if line and not line.startswith("#")), "")
