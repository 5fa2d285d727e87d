"""What a source consists of: files, found by patterns or fetched from servers, and objects."""

from __future__ import annotations

import io
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from everalign._parallel import fetch_files
from everalign.errors import ConfigError, InputError
from everalign.io.encodings import Tell, ignore_note
from everalign.io.filters import ReadContext
from everalign.io.formats import OpenedFile, open_files
from everalign.io.objects import (
    DataFrame,
    RdfGraph,
    describe_object,
    is_readable_object,
    list_object_columns,
    read_object,
)
from everalign.io.remote import fetch_source, find_local_path, is_remote, is_storage
from everalign.io.sources import RemoteOptions, SourceOptions
from everalign.io.table_source import Table
from everalign.io.terms import Statements, shorten_text

FileSource: TypeAlias = str | Path | Sequence[str | Path]
SourceObject: TypeAlias = Table | RdfGraph | DataFrame
Source: TypeAlias = str | Path | SourceObject | Sequence[str | Path | SourceObject]

_PATTERN_CHARACTERS = frozenset("*?[")


class OpenedPart(NamedTuple):
    """A file, a file of an archive, or an object that is open for reading."""

    context: ReadContext
    """What its reader was given."""

    kind: str
    """The name of the format, or of the type of an object."""

    batches: Iterator[Statements]

    is_patch: bool = False
    """Whether it says which statements it removes."""

    is_member: bool = False
    """Whether it is in an archive."""

    file: OpenedFile | None = None
    """The open file; None for an object. Its stream is that of `batches`."""


class SourcePart(NamedTuple):
    """One file or one object of a source."""

    path: Path
    """The file; the name of its type for an object."""

    table: Table
    """How columns are read."""

    held: object = None
    """The object, if it is no file."""

    def open_all(self, context: ReadContext) -> Generator[OpenedPart, None, None]:
        """Open the part for reading; an archive has several files.

        Args:
            context: How it is opened, what to keep, and where to report errors.

        Yields:
            The open file or object, or each file of an archive until the next is asked for.

        Raises:
            InputError: It cannot be read.
        """
        if self.held is not None:
            yield OpenedPart(context, str(self.path), read_object(self.held, context))
            return
        encoding = context.sources.encoding
        with closing(open_files(self.path, encoding, context.add_note)) as files:
            for number, file in enumerate(files):
                reopen = partial(_reopen_file, self.path, number, encoding)
                inner = replace(
                    context, path=file.path, reopen=reopen if self.path.is_file() else None
                )
                batches = file.format.read(file.stream, inner)
                yield OpenedPart(
                    inner, file.format.name, batches, file.format.is_patch, file.is_member, file
                )

    def list_columns(self, encoding: str | None = None) -> list[str]:
        """List the columns of a table, or of all tables in an archive.

        Args:
            encoding: The encoding if the text is not UTF-8 and does not say what it is.

        Returns:
            Their names; none if it is no table.

        Raises:
            InputError: It cannot be read.
        """
        if self.held is not None:
            return list_object_columns(self.held)
        columns: list[str] = []
        with closing(open_files(self.path, encoding)) as files:
            for file in files:
                if file.format.read_header is not None:
                    columns += file.format.read_header(file.stream, ReadContext(file.path))
        return columns


def list_parts(
    source: Source, opening: SourceOptions | None = None, tell: Tell = ignore_note
) -> list[SourcePart]:
    """List the files and objects of a source; what a server has is fetched.

    Args:
        source: A file, a pattern, a URL, a SPARQL endpoint, a `Table`, an object that can be
            read, or a list of them.
        opening: How files, URLs and endpoints are opened.
        tell: Called with a note on what was fetched or found in the cache.

    Returns:
        The parts in the order given; each file once.

    Raises:
        InputError: Nothing is given, an object cannot be read, a server does not answer, a
            pattern matches nothing, or no table has a column that is named.
        ConfigError: A URL is given and the base asks for the name of the table.
    """
    opening = opening or SourceOptions()
    entries = _list_entries(source)
    if not entries:
        raise InputError("no input file is given")
    found: dict[object, SourcePart] = {}
    for entry in entries:
        table = entry if isinstance(entry, Table) else Table(entry)
        held = _expand_table(table, opening.remote, tell)
        parts = [_make_part(file_or_object, table) for file_or_object in held]
        for part in parts:
            # Two patterns, or a symbolic link, may lead to the same file.
            key = part.path.resolve() if part.held is None else id(part.held)
            found.setdefault(key, part)
        # Asked only if a column is named, since the files are opened for it.
        if table.list_missing_columns(()):
            columns = [name for part in parts for name in part.list_columns(opening.encoding)]
            check_columns(table.list_missing_columns(columns), columns)
    return list(found.values())


def describe_source(source: Source) -> str:
    """Name a source, for messages.

    Args:
        source: A source as it is given.

    Returns:
        The names of its files, and of the types of its objects.
    """
    return ", ".join(map(_describe_entry, _list_entries(source)))


def check_columns(missing: Sequence[str], columns: Sequence[str]) -> None:
    """Check that all columns that were named exist.

    Args:
        missing: Names that no table has.
        columns: The columns of all tables.

    Raises:
        InputError: There are such names.
    """
    if missing:
        known = shorten_text(", ".join(dict.fromkeys(columns)), 200) if columns else "none"
        names = ", ".join(map(repr, missing))
        raise InputError(f"no table has the column {names}; the columns are {known}")


def _list_entries(source: Source) -> Sequence[Any]:
    return source if isinstance(source, list | tuple) else [source]


def _describe_entry(entry: Any) -> str:
    if isinstance(entry, Table):
        return describe_source(entry.source)
    return Path(entry).name if isinstance(entry, str | Path) else describe_object(entry)


def _expand_table(table: Table, remote: RemoteOptions, tell: Tell) -> Iterator[object]:
    for entry in _list_entries(table.source):
        # The name in the cache changes with the URL, and so would the names of entities.
        if is_remote(entry) and table.uses_table_name:
            raise ConfigError("a URL is no name for {table}: write the base in full")
        if isinstance(entry, str | Path):
            yield from find_files(entry, remote, tell)
        else:
            yield entry


def _make_part(held: object, table: Table) -> SourcePart:
    if isinstance(held, Path):
        return SourcePart(held, table)
    if not is_readable_object(held):
        raise InputError(f"an object of type {describe_object(held)} cannot be read as a graph")
    return SourcePart(Path(describe_object(held)), table, held)


@contextmanager
def _reopen_file(path: Path, number: int, encoding: str | None) -> Iterator[io.BufferedReader]:
    """Open a file, or a file of an archive by its number, once more."""
    with closing(open_files(path, encoding)) as files:
        yield next(islice(files, number, None)).stream


def find_files(
    source: FileSource,
    remote: RemoteOptions | None = None,
    tell: Tell = ignore_note,
) -> list[Path]:
    """Find the files that a source names; what a server has is fetched.

    Args:
        source: A file, a pattern such as ``left/**/*.nt``, a URL, or a list of these. A URL of a
            storage (``file://``, ``hdfs://``) may also be that of a directory of parts.
        remote: How URLs and SPARQL endpoints are read.
        tell: Called with a note on what was fetched or found in the cache.

    Returns:
        The files in the order given, those of a pattern sorted by name; each file once.

    Raises:
        InputError: Nothing is given, a server does not answer, or a pattern matches nothing, a
            directory, or a file outside of the directory where it begins.
    """
    entries = [source] if isinstance(source, str | Path) else list(source)
    if not entries:
        raise InputError("no input file is given")
    found: dict[Path, Path] = {}
    for entry in entries:
        if is_remote(entry):
            paths = [fetch_source(str(entry), remote or RemoteOptions(), tell)]
        elif is_storage(entry):
            paths = _find_stored_files(str(entry), tell)
        else:
            paths = _expand_entry(Path(entry))
        for path in paths:
            # Two patterns, or a symbolic link, may lead to the same file.
            found.setdefault(path.resolve(), path)
    return list(found.values())


def _find_stored_files(url: str, tell: Tell) -> list[Path]:
    path = find_local_path(url)
    if path is None:
        paths = fetch_files(url)
        tell(f"{url}: read from {len(paths)} file{'' if len(paths) == 1 else 's'}")
        return paths
    if not path.is_dir():
        return _expand_entry(path)
    # As the programs that write such a directory of parts read it: the order is that of names.
    files = [file for file in path.iterdir() if not file.name.startswith(("_", "."))]
    found = sorted(file for file in files if file.is_file())
    if not found:
        raise InputError("has no files", path=url)
    return found


def _expand_entry(entry: Path) -> list[Path]:
    # The name of an existing file is not a pattern, whatever characters it has.
    if not _PATTERN_CHARACTERS.intersection(str(entry)) or entry.exists():
        return [entry]
    # Ids follow the order of the files, which must not depend on the file system.
    paths = sorted(_match_pattern(entry))
    if not paths:
        raise InputError("no file matches this pattern", path=entry)
    return paths


def _match_pattern(pattern: Path) -> Iterator[Path]:
    """Match a pattern as a shell does: hidden files only match if the pattern has the dot."""
    fixed = 0
    while not _PATTERN_CHARACTERS.intersection(pattern.parts[fixed]):
        fixed += 1
    root, rest = Path(*pattern.parts[:fixed]), Path(*pattern.parts[fixed:])
    match_hidden = any(part.startswith(".") for part in rest.parts)
    try:
        for path in root.glob(str(rest)):
            is_hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
            if match_hidden or not is_hidden:
                _check_match(path, root)
                yield path
    except (ValueError, OSError) as error:
        raise InputError(f"is not a valid pattern ({error})", path=pattern) from None


def _check_match(path: Path, root: Path) -> None:
    # A symbolic link in a downloaded directory must not lead to other files of the user.
    if not path.resolve().is_relative_to(root.resolve()):
        problem = f"is outside of {root}, where the pattern begins: name it without a pattern"
        raise InputError(problem, path=path)
    if not path.is_file():
        kind = "a directory" if path.is_dir() else "not a regular file"
        raise InputError(f"matches the pattern but is {kind}", path=path)
