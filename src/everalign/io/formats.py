"""The file formats that graphs are read from, and how the format of a file is recognised.

`FORMATS` is the one place where formats are declared. To add a format, write a function that
turns its bytes into `Statements` and add a `FileFormat` to the table, or pass one to
`register_format`; docs/concepts/add-a-format.md shows an example.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from everalign.errors import ConfigError, InputError
from everalign.io import documents, ntriples
from everalign.io.archives import ARCHIVE_SUFFIXES, ArchiveMember, read_members
from everalign.io.csv_files import read_csv, read_csv_header
from everalign.io.encodings import Tell, ignore_note, open_as_utf8
from everalign.io.filters import ReadContext
from everalign.io.line_ranges import Bound, cut_lines, read_line_range
from everalign.io.rdf_patch import read_rdf_patch
from everalign.io.streams import (
    BLOCK_BYTES,
    COMPRESSION_SUFFIXES,
    decompress_stream,
    is_archive,
    open_bytes,
    prepend_bytes,
)
from everalign.io.tables import (
    cut_parquet,
    cut_table,
    read_parquet,
    read_parquet_header,
    read_row_groups,
    read_table,
    read_triple_lines,
)
from everalign.io.terms import Statements, Triple

StatementReader: TypeAlias = Callable[[io.BufferedReader, ReadContext], Iterator[Statements]]
NumberedReader: TypeAlias = Callable[
    [io.BufferedReader, ReadContext], Iterator[tuple[Triple, int]]
]

HeaderReader: TypeAlias = Callable[[io.BufferedReader, ReadContext], list[str]]
Cutter: TypeAlias = Callable[[io.BufferedReader, ReadContext, int], list[Bound]]
SliceReader: TypeAlias = Callable[[ReadContext, int, int], Iterator[Statements]]


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

    has_ntriples_lines: bool = False
    """Whether the lines are N-Triples, which can be encoded without parsing them to text."""

    cut: Cutter | None = None
    """Lists where a large file is cut so that several processes can read it: the first place of
    each slice and the one behind its last. None if a file is always read as a whole."""

    read_slice: SliceReader | None = None
    """Reads what is between two such places."""


TABLE = FileFormat(
    "tab-separated",
    (".tsv", ".ttsv", ".txt"),
    "text/tab-separated-values",
    read_table,
    read_header=read_csv_header,
    cut=cut_table,
    read_slice=partial(read_line_range, read_triple_lines),
)
CSV = FileFormat("CSV", (".csv",), "text/csv", read_csv, read_header=read_csv_header)
N_TRIPLES = FileFormat(
    "N-Triples",
    (".nt",),
    "application/n-triples",
    ntriples.read_ntriples,
    ntriples.read_numbered_ntriples,
    has_ntriples_lines=True,
    cut=cut_lines,
    read_slice=partial(read_line_range, ntriples.read_ntriples),
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
        cut=cut_lines,
        read_slice=partial(read_line_range, ntriples.read_nquads),
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
        cut=cut_parquet,
        read_slice=read_row_groups,
    ),
]
# Suffixes of formats that users may try; without this they would be read as tables.
_UNSUPPORTED_SUFFIXES = {
    ".n3": "Notation3",
    ".7z": "7z",
    ".rar": "RAR",
}
_SPREADSHEET_SUFFIXES = frozenset([".xlsx", ".xls", ".ods"])
# What a server may answer instead of a file.
_WEB_PAGE = re.compile(r"<!doctype html|<html[\s>]", re.IGNORECASE)


# Enough to recognise an archive.
_ARCHIVE_START_BYTES = 512
# How many files of an archive are named that are not read.
_LISTED_MEMBERS = 5
# What tells RDF/XML from other XML in an archive.
_RDF_NAMESPACE = b"http://www.w3.org/1999/02/22-rdf-syntax-ns#"


class OpenedFile(NamedTuple):
    """A file that is open for reading."""

    path: Path
    """The file; for a file in an archive, the path of the archive and the name inside of it."""

    format: FileFormat
    stream: io.BufferedReader
    """The decompressed bytes as UTF-8, from the beginning."""

    is_member: bool = False
    """Whether the file is in an archive."""


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
def open_file(path: Path, tell: Tell = ignore_note) -> Iterator[OpenedFile]:
    """Open a file, optionally compressed, and recognise its format.

    Args:
        path: The file to open. It must not be an archive.
        tell: Called with a note on its encoding.

    Yields:
        The open file.

    Raises:
        InputError: The file cannot be read, has an unsupported format, or its content
            contradicts its name.
    """
    with closing(open_files(path, tell=tell)) as files:
        file = next(files)
        if file.is_member:
            raise InputError("is an archive, expected a single file: unpack it", path=path)
        yield file


def open_files(
    path: Path, encoding: str | None = None, tell: Tell = ignore_note
) -> Generator[OpenedFile, None, None]:
    """Open a file, optionally compressed, or the files of an archive one after the other.

    Args:
        path: The file or archive to open.
        encoding: The encoding of text that is not UTF-8 and does not say what it is.
        tell: Called with a note on encodings, and on files of an archive that are not read.

    Yields:
        The open file, or each open file of the archive; each until the next is asked for.

    Raises:
        InputError: A file cannot be read, has an unsupported format, or its content contradicts
            its name; or an archive has no file in a known format.
    """
    if _get_suffix(path) in _SPREADSHEET_SUFFIXES:
        raise InputError("is a spreadsheet: save it as CSV in UTF-8", path=path)
    with open_bytes(path) as file:
        # Opened once, since it may be a pipe.
        first_bytes = file.read(_ARCHIVE_START_BYTES)
        if not is_archive(first_bytes):
            _check_suffix(path, is_empty=not first_bytes)
            stream = open_as_utf8(prepend_bytes(first_bytes, file), path, encoding, tell)
            start = stream.read(BLOCK_BYTES)
            file_format = _recognise_format(path, _find_format(path), start)
            yield OpenedFile(path, file_format, prepend_bytes(start, stream))
            return
    if not path.is_file():
        raise InputError("is an archive in a pipe: write it to a file", path=path)
    yield from _open_members(path, encoding, tell)


def is_known_name(path: Path) -> bool:
    """Tell whether the name of a file says what it is.

    Args:
        path: The file.

    Returns:
        Whether its suffix, before that of a compression, is that of a format or an archive.
    """
    return _find_format(path) is not None or _get_suffix(path) in ARCHIVE_SUFFIXES


def _check_suffix(path: Path, *, is_empty: bool) -> None:
    if unsupported := _UNSUPPORTED_SUFFIXES.get(_get_suffix(path)):
        supported = ", ".join(known.name for known in FORMATS)
        problem = f"{unsupported} is not supported; supported formats are {supported}"
        raise InputError(problem, path=path)
    if _get_suffix(path) in ARCHIVE_SUFFIXES and not is_empty:
        raise InputError("is named like an archive but does not begin like one", path=path)


def _open_members(path: Path, encoding: str | None, tell: Tell) -> Iterator[OpenedFile]:
    skipped: list[str] = []
    found_any = False
    for member in read_members(path):
        file = _open_member(member, encoding, tell)
        if file is None:
            skipped.append(str(member.path.relative_to(path)))
        else:
            found_any = True
            yield file
    if not found_any:
        names = ", ".join(skipped[:_LISTED_MEMBERS]) or "nothing"
        raise InputError(f"has no file in a known format, found {names}", path=path)
    if skipped:
        more = ", …" if len(skipped) > _LISTED_MEMBERS else ""
        names = ", ".join(skipped[:_LISTED_MEMBERS]) + more
        tell(f"{len(skipped)} of its files are not read: {names}")


def _open_member(member: ArchiveMember, encoding: str | None, tell: Tell) -> OpenedFile | None:
    """Open a file of an archive, None if it is not of a format of graphs."""
    by_name = _find_format(member.path)
    is_hidden = member.path.name.startswith(".") or "__MACOSX" in member.path.parts
    # Texts are documentation, and Parquet must be a file of its own.
    suffix = _get_suffix(member.path)
    if member.stream is None or by_name is None or is_hidden or by_name.magic or suffix == ".txt":
        return None
    stream = open_as_utf8(
        decompress_stream(member.stream, member.path), member.path, encoding, tell
    )
    start = stream.read(BLOCK_BYTES)
    if suffix == ".xml" and _RDF_NAMESPACE not in start:
        return None
    file_format = _recognise_format(member.path, by_name, start)
    return OpenedFile(member.path, file_format, prepend_bytes(start, stream), is_member=True)


def _find_format(path: Path) -> FileFormat | None:
    suffix = _get_suffix(path)
    return next((known for known in FORMATS if suffix in known.suffixes), None)


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
    if _WEB_PAGE.match(line):
        raise InputError("is a web page (HTML) and no graph", path=path)
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
