"""Reading triples and literals from files, without holding them in memory."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from time import perf_counter
from typing import TypeAlias

from everalign.errors import InputError
from everalign.io.encodings import Tell, ignore_note
from everalign.io.filters import (
    ReadContext,
    ReadCounts,
    ReadOptions,
    SkippedLine,
    StatementFilter,
)
from everalign.io.formats import OpenedFile, open_files
from everalign.io.remote import fetch_source, is_remote
from everalign.io.sources import RemoteOptions, SourceOptions
from everalign.io.terms import Statements, Triple
from everalign.io.wikidata import WikidataFilter, is_wikidata

logger = logging.getLogger(__name__)

FileSource: TypeAlias = str | Path | Sequence[str | Path]

_PATTERN_CHARACTERS = frozenset("*?[")


def read_triples(source: FileSource) -> Iterator[Triple]:
    """Read the triples of files in any supported format; literals are left out.

    Args:
        source: A file, a pattern such as ``left/*.nt``, or a list of both.

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
        source: A file, a pattern such as ``left/*.nt``, the URL of a file, a SPARQL endpoint
            such as ``sparql+https://example.org/sparql``, or a list of these.
        on_progress: Called now and then with the number of triples read so far.
        options: Which statements to keep; all by default.
        skip_errors: Whether to skip and list what cannot be read, instead of raising an error.
        opening: How files, URLs and endpoints are opened, where they do not say it themselves.

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
        source: FileSource,
        on_progress: Callable[[int], None] = lambda _: None,
        *,
        options: ReadOptions | None = None,
        skip_errors: bool = False,
        opening: SourceOptions | None = None,
    ) -> None:
        self._source = source
        self._opening = opening or SourceOptions()
        self._on_progress = on_progress
        self._options = options or ReadOptions()
        self._skip_errors = skip_errors
        self._counts = ReadCounts()
        self._fetched: tuple[list[Path], list[str]] | None = None

    @property
    def name(self) -> str:
        """The file names as they were given, for messages."""
        source = self._source
        entries = [source] if isinstance(source, str | Path) else source
        return ", ".join(Path(entry).name for entry in entries)

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
    def prefixes(self) -> Mapping[str, str]:
        """The namespace of each prefix that the files declare."""
        return self._counts.prefixes

    @property
    def skipped_count(self) -> int:
        """The number of lines that could not be read."""
        return self._counts.skipped_count

    @property
    def notes(self) -> list[str]:
        """What was found out about the files, such as an encoding; one line each."""
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
        paths = self._find_paths()
        found_patch = False
        for number, (file, context) in enumerate(self._open_all(paths, statement_filter), 1):
            started, before = perf_counter(), (counts.triples, counts.literals)
            found_patch = found_patch or file.format.is_patch
            for batch in _reduce_batches(file.format.read(file.stream, context), context):
                if removing and file.format.is_patch and _adds_statements(batch):
                    raise InputError(
                        "is a patch that adds facts, but was given as what is removed: "
                        "give it as what is gained, it says itself what it removes",
                        path=file.path,
                    )
                kept = self._filter_batch(batch, statement_filter)
                is_alone = len(paths) == 1 and not file.is_member
                yield kept if is_alone else _rename_blank_nodes(kept, number)
            logger.info(
                "%s read as %s: %d triples, %d literals, %.2f s",
                file.path,
                file.format.name,
                counts.triples - before[0],
                counts.literals - before[1],
                perf_counter() - started,
            )
        # A patch may change nothing; a graph without statements is most likely the wrong file.
        if not found_patch and counts.is_empty():
            raise InputError("has no triples", path=paths[0] if len(paths) == 1 else None)

    def _find_paths(self) -> list[Path]:
        """Find the files; what a server has is fetched once, even if it is read again."""
        if self._fetched is None:
            notes: list[str] = []
            paths = find_files(self._source, self._opening.remote, notes.append)
            if not notes:
                return paths
            self._fetched = paths, notes
        self._counts.notes += self._fetched[1]
        return self._fetched[0]

    def _open_all(
        self, paths: Sequence[Path], statement_filter: StatementFilter
    ) -> Iterator[tuple[OpenedFile, ReadContext]]:
        """Open all files, those of archives one after the other."""
        encoding = self._opening.encoding
        for path in paths:
            context = ReadContext(
                path, statement_filter, self._skip_errors, self._counts, self._opening
            )
            with closing(open_files(path, encoding, context.add_note)) as files:
                for number, file in enumerate(files):
                    reopen = partial(_reopen_file, path, number, encoding)
                    can_reopen = path.is_file()
                    yield (
                        file,
                        replace(context, path=file.path, reopen=reopen if can_reopen else None),
                    )

    def _filter_batch(self, batch: Statements, statement_filter: StatementFilter) -> Statements:
        kept = statement_filter.apply(batch)
        counts = self._counts
        counts.triples += len(kept.triples)
        counts.literals += len(kept.literals)
        counts.filtered += len(batch.triples) + len(batch.literals)
        counts.filtered -= len(kept.triples) + len(kept.literals)
        self._on_progress(counts.triples)
        return kept


@contextmanager
def _reopen_file(path: Path, number: int, encoding: str | None) -> Iterator[io.BufferedReader]:
    """Open a file, or a file of an archive by its number, once more."""
    with closing(open_files(path, encoding)) as files:
        yield next(islice(files, number, None)).stream


def _reduce_batches(batches: Iterator[Statements], context: ReadContext) -> Iterator[Statements]:
    """Leave out what only a dump of Wikidata has, if the beginning of the file looks like one."""
    reduced: WikidataFilter | None = None
    is_known = not context.sources.reduce_wikidata
    for batch in batches:
        if not is_known and (batch.triples or batch.literals):
            is_known = True
            if is_wikidata(batch):
                reduced = WikidataFilter()
                context.add_note(
                    "read as a dump of Wikidata: direct claims, labels and descriptions are kept "
                    "(--all-of-wikidata keeps everything, --keep-languages chooses labels)"
                )
        if reduced is None:
            yield batch
            continue
        kept = reduced.apply(batch)
        context.counts.filtered += len(batch.triples) + len(batch.literals)
        context.counts.filtered -= len(kept.triples) + len(kept.literals)
        yield kept


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


def find_files(
    source: FileSource,
    remote: RemoteOptions | None = None,
    tell: Tell = ignore_note,
) -> list[Path]:
    """Find the files that a source names; what a server has is fetched.

    Args:
        source: A file, a pattern such as ``left/**/*.nt``, a URL, or a list of these.
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
        else:
            paths = _expand_entry(Path(entry))
        for path in paths:
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
