"""Reading triples and literals from files and other sources, without holding them in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from everalign.errors import InputError
from everalign.io.filters import (
    ReadContext,
    ReadCounts,
    ReadOptions,
    SkippedLine,
    StatementFilter,
)
from everalign.io.formats import open_file
from everalign.io.objects import (
    DataFrame,
    RdfGraph,
    describe_object,
    is_readable_object,
    list_object_columns,
    read_object,
)
from everalign.io.table_source import Table
from everalign.io.terms import Statements, Triple, shorten_text

logger = logging.getLogger(__name__)

FileSource: TypeAlias = str | Path | Sequence[str | Path]
SourceObject: TypeAlias = Table | RdfGraph | DataFrame
Source: TypeAlias = str | Path | SourceObject | Sequence[str | Path | SourceObject]

_PATTERN_CHARACTERS = frozenset("*?[")


def read_triples(source: Source) -> Iterator[Triple]:
    """Read the triples of files in any supported format; literals are left out.

    Args:
        source: A file, a pattern such as ``left/*.nt``, a `Table`, an object such as a data frame
            or an `rdflib.Graph`, or a list of them.

    Returns:
        Head, relation and tail of each triple, in file order.

    Raises:
        InputError: A file cannot be read (when iterating).

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     file = Path(directory, "left.tsv")
    ...     _ = file.write_text("Ada\\tknows\\tCharles\\n")
    ...     list(read_triples(file))
    [('Ada', 'knows', 'Charles')]
    """
    return iter(TripleReader(source))


class TripleReader:
    """Reads files in any supported format, and counts what is read, filtered and skipped.

    Iterating gives the triples; `statements` gives the literals as well. The counts are complete
    when the iteration is.

    Args:
        source: A file, a pattern such as ``left/*.nt``, a `Table`, a data frame, an
            `rdflib.Graph`, a `pyoxigraph.Store` or `Dataset`, or a list of them.
        on_progress: Called now and then with the number of triples read so far.
        options: Which statements to keep; all by default.
        skip_errors: Whether to skip and list what cannot be read, instead of raising an error.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     file = Path(directory, "left.nt")
    ...     _ = file.write_text('<urn:Ada> <urn:knows> _:b0 .\\n<urn:Ada> <urn:born> "1815" .\\n')
    ...     reader = TripleReader(file)
    ...     list(reader), reader.triples_read, reader.literals_read
    ([('urn:Ada', 'urn:knows', '_:b0')], 1, 1)
    """

    def __init__(
        self,
        source: Source,
        on_progress: Callable[[int], None] = lambda _: None,
        *,
        options: ReadOptions | None = None,
        skip_errors: bool = False,
    ) -> None:
        self._source = source
        self._on_progress = on_progress
        self._options = options or ReadOptions()
        self._skip_errors = skip_errors
        self._counts = ReadCounts()

    @property
    def name(self) -> str:
        """The file names as they were given, for messages."""
        return ", ".join(_describe_entry(entry) for entry in _list_entries(self._source))

    @property
    def triples_read(self) -> int:
        """The number of triples that were kept, added and removed."""
        return self._counts.triples

    @property
    def literals_read(self) -> int:
        """The number of literals that were kept, added and removed."""
        return self._counts.literals

    @property
    def filtered_count(self) -> int:
        """The number of statements that the filter did not keep."""
        return self._counts.filtered

    @property
    def skipped(self) -> list[SkippedLine]:
        """The first hundred lines that could not be read."""
        return self._counts.skipped

    @property
    def skipped_count(self) -> int:
        """The number of lines that could not be read."""
        return self._counts.skipped_count

    @property
    def notes(self) -> list[str]:
        """How tables were read: a line for each."""
        return self._counts.notes

    def __iter__(self) -> Iterator[Triple]:
        # Chaining lists is faster than a generator that yields each triple.
        return chain.from_iterable(part.triples for part in self.statements() if not part.removed)

    def statements(self, *, removing: bool = False) -> Iterator[Statements]:
        """Read triples and literals in batches.

        Args:
            removing: Whether the files list what is to be removed. A patch that adds statements
                is an error then.

        Yields:
            The statements that the filter keeps, in file order. Only RDF Patch has batches that
            are removed.

        Raises:
            InputError: A file cannot be read, or no file has any statement.
        """
        # A reader may be used again, and counts each pass from the start.
        counts = self._counts = ReadCounts()
        statement_filter = StatementFilter(self._options)
        parts = list_parts(self._source)
        found_patch = False
        for number, part in enumerate(parts, 1):
            started, before = perf_counter(), (counts.triples, counts.literals)
            context = ReadContext(
                part.path, statement_filter, self._skip_errors, counts, part.table
            )
            with part.open(context) as (kind, is_patch, batches):
                found_patch = found_patch or is_patch
                for batch in batches:
                    if removing and is_patch and _adds_statements(batch):
                        raise InputError(
                            "is a patch that adds facts, but was given as what is removed: "
                            "give it as what is gained, it says itself what it removes",
                            path=part.path,
                        )
                    kept = self._filter_batch(batch, statement_filter)
                    yield kept if len(parts) == 1 else _rename_blank_nodes(kept, number)
                logger.info(
                    "%s read as %s: %d triples, %d literals, %.2f s",
                    part.path,
                    kind,
                    counts.triples - before[0],
                    counts.literals - before[1],
                    perf_counter() - started,
                )
        # A patch may change nothing; a graph without statements is most likely the wrong file.
        if not found_patch and counts.is_empty():
            raise InputError("has no triples", path=parts[0].path if len(parts) == 1 else None)

    def _filter_batch(self, batch: Statements, statement_filter: StatementFilter) -> Statements:
        kept = statement_filter.apply(batch)
        counts = self._counts
        counts.triples += len(kept.triples)
        counts.literals += len(kept.literals)
        counts.filtered += len(batch.triples) + len(batch.literals)
        counts.filtered -= len(kept.triples) + len(kept.literals)
        self._on_progress(counts.triples)
        return kept


def _adds_statements(batch: Statements) -> bool:
    return not batch.removed and bool(batch.triples or batch.literals)


def _rename_blank_nodes(batch: Statements, file_number: int) -> Statements:
    """Add the number of the file to blank nodes: the same label in two files is two nodes."""

    def rename(name: str) -> str:
        return f"_:f{file_number}.{name[2:]}" if name.startswith("_:") else name

    return Statements(
        [(rename(head), relation, rename(tail)) for head, relation, tail in batch.triples],
        [(rename(head), attribute, literal) for head, attribute, literal in batch.literals],
        batch.removed,
    )


class SourcePart(NamedTuple):
    """One file or one object of a source."""

    path: Path
    """The file; the name of its type for an object."""

    table: Table
    """How columns are read."""

    held: object = None
    """The object, if it is no file."""

    @contextmanager
    def open(self, context: ReadContext) -> Iterator[tuple[str, bool, Iterator[Statements]]]:
        """Open the part for reading.

        Args:
            context: What to keep, and where to report errors.

        Yields:
            The name of the format, whether it is a patch, and the statements.

        Raises:
            InputError: It cannot be read.
        """
        if self.held is not None:
            yield str(self.path), False, read_object(self.held, context)
            return
        with open_file(self.path) as file:
            batches = file.format.read(file.stream, context)
            yield file.format.name, file.format.is_patch, batches

    def list_columns(self) -> list[str]:
        """List the columns of a table.

        Returns:
            Their names; none if it is no table.
        """
        if self.held is not None:
            return list_object_columns(self.held)
        with open_file(self.path) as file:
            read_header = file.format.read_header
            context = ReadContext(self.path, table=self.table)
            return [] if read_header is None else read_header(file.stream, context)


def list_parts(source: Source) -> list[SourcePart]:
    """List the files and objects of a source.

    Args:
        source: A file, a pattern, a `Table`, an object that can be read, or a list of them.

    Returns:
        The parts in the order given; each file once.

    Raises:
        InputError: Nothing is given, an object cannot be read, a pattern matches nothing, or no
            table has a column that is named.
    """
    entries = _list_entries(source)
    if not entries:
        raise InputError("no input file is given")
    found: dict[object, SourcePart] = {}
    for entry in entries:
        table = entry if isinstance(entry, Table) else Table(entry)
        parts = [_make_part(held, table) for held in _expand_table(table)]
        for part in parts:
            # Two patterns, or a symbolic link, may lead to the same file.
            key = part.path.resolve() if part.held is None else id(part.held)
            found.setdefault(key, part)
        # Asked only if a column is named, since the files are opened for it.
        if table.list_missing_columns(()):
            columns = [column for part in parts for column in part.list_columns()]
            check_columns(table.list_missing_columns(columns), columns)
    return list(found.values())


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
        return ", ".join(map(_describe_entry, _list_entries(entry.source)))
    return Path(entry).name if isinstance(entry, str | Path) else describe_object(entry)


def _expand_table(table: Table) -> Iterator[object]:
    for entry in _list_entries(table.source):
        if isinstance(entry, str | Path):
            yield from find_files(entry)
        else:
            yield entry


def _make_part(held: object, table: Table) -> SourcePart:
    if isinstance(held, Path):
        return SourcePart(held, table)
    if not is_readable_object(held):
        raise InputError(f"an object of type {describe_object(held)} cannot be read as a graph")
    return SourcePart(Path(describe_object(held)), table, held)


def find_files(source: FileSource) -> list[Path]:
    """Find the files that a source names.

    Args:
        source: A file, a pattern such as ``left/**/*.nt``, or a list of both.

    Returns:
        The files in the order given, those of a pattern sorted by name; each file once.

    Raises:
        InputError: Nothing is given, or a pattern matches nothing, a directory, or a file outside
            of the directory where it begins.
    """
    entries = [source] if isinstance(source, str | Path) else list(source)
    if not entries:
        raise InputError("no input file is given")
    found: dict[Path, Path] = {}
    for path in (path for entry in entries for path in _expand_entry(Path(entry))):
        # Two patterns, or a symbolic link, may lead to the same file.
        found.setdefault(path.resolve(), path)
    return list(found.values())


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
