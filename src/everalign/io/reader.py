"""Reading triples and literals from files and other sources, without holding them in memory."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, groupby
from time import perf_counter
from typing import NamedTuple, cast

from everalign.errors import InputError
from everalign.io.filters import (
    ReadContext,
    ReadCounts,
    ReadOptions,
    SkippedLine,
    StatementFilter,
)
from everalign.io.formats import OpenedFile
from everalign.io.line_blocks import LineBlock, LineProblem, read_line_blocks
from everalign.io.line_ranges import open_line_range
from everalign.io.ntriples import read_ntriples
from everalign.io.source_parts import (
    OpenedPart,
    Source,
    SourcePart,
    describe_source,
    list_parts,
)
from everalign.io.source_slices import SourceSlice, cut_parts
from everalign.io.sources import SourceOptions
from everalign.io.streams import prepend_bytes
from everalign.io.terms import Statements, Triple, rename_blank_nodes
from everalign.io.wikidata import WikidataFilter, is_wikidata

logger = logging.getLogger(__name__)

# For smaller files, to load the compiled encoder takes longer than to parse them without it.
MIN_LINE_BYTES = 1 << 22


class LinePart(NamedTuple):
    """A large file of N-Triples as blocks of lines; whoever encodes them tells what was in them.

    Attributes:
        blocks: The lines of the whole file.
        context: Where to report errors.
        on_progress: Called with the number of triples read so far.
    """

    blocks: Iterator[LineBlock]
    context: ReadContext
    on_progress: Callable[[int], None]

    def report_block(
        self, triple_count: int, literal_count: int, problems: Sequence[LineProblem]
    ) -> None:
        """Count the statements of a block, and report the lines that cannot be read.

        Args:
            triple_count: How many triples it has.
            literal_count: How many literals it has.
            problems: Lines that cannot be read.

        Raises:
            InputError: There are such lines, and errors are not skipped.
        """
        for line, problem in problems:
            self.context.report_error(InputError(problem, path=self.context.path, line=line))
        counts = self.context.counts
        counts.triples += triple_count
        counts.literals += literal_count
        self.on_progress(counts.triples)


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
        source: A file, a pattern such as ``left/*.nt``, the URL of a file, a SPARQL endpoint
            such as ``sparql+https://example.org/sparql``, a `Table`, a data frame, an
            `rdflib.Graph`, a `pyoxigraph.Store` or `Dataset`, or a list of these.
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
        source: Source,
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
        self._fetched: tuple[list[SourcePart], list[str]] | None = None

    @property
    def name(self) -> str:
        """The file names as they were given, for messages."""
        return describe_source(self._source)

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
        """What was found out about the files, such as an encoding or the columns of a table; one
        line each."""
        return self._counts.notes

    def __iter__(self) -> Iterator[Triple]:
        # Chaining lists is faster than a generator that yields each triple.
        return chain.from_iterable(part.triples for part in self.statements() if not part.removed)

    def read_parts(self) -> Iterator[Statements | LinePart]:
        """Read triples and literals in batches, except for large files of plain N-Triples.

        Yields:
            The same as `statements`. In place of the batches of a large file in which nothing
            has to be filtered, its lines: they must be read before the next part is asked for.

        Raises:
            InputError: A file cannot be read, or no file has any statement.
        """
        return self._read(removing=False, finds_lines=self._options.keeps_everything())

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
        return cast("Iterator[Statements]", self._read(removing=removing, finds_lines=False))

    def _read(self, *, removing: bool, finds_lines: bool) -> Iterator[Statements | LinePart]:
        # A reader may be used again, and counts each pass from the start.
        counts = self._counts = ReadCounts()
        statement_filter = StatementFilter(self._options)
        parts = self._list_parts()
        found_patch = False
        for number, opened in enumerate(self._open_all(parts, statement_filter), 1):
            found_patch = found_patch or opened.is_patch
            is_alone = len(parts) == 1 and not opened.is_member
            prefix = "" if is_alone else f"_:f{number}."
            yield from self._read_opened(opened, prefix, removing, finds_lines)
        # A patch may change nothing; a graph without statements is most likely the wrong file.
        if not found_patch and counts.is_empty():
            raise _make_empty_error(parts)

    def list_slices(self, slice_bytes: int) -> list[SourceSlice]:
        """Cut the source into slices that several processes can read.

        Args:
            slice_bytes: How many bytes a part of a large file has at least.

        Returns:
            The slices in order; nothing if the source has to be read here.
        """
        self._counts = ReadCounts()
        return cut_parts(self._list_parts(), slice_bytes, self._opening)

    def copy_for_slices(self) -> TripleReader:
        """Make a reader that can be sent to another process, to read slices.

        Returns:
            A reader that filters and opens as this one, without its source.
        """
        return TripleReader(
            (), options=self._options, skip_errors=self._skip_errors, opening=self._opening
        )

    def read_slice(self, part: SourceSlice) -> tuple[Iterator[Statements | LinePart], ReadCounts]:
        """Read a slice.

        Args:
            part: The slice.

        Returns:
            The same as `read_parts`, and counts that are complete when it was read. Line numbers
            are those of the slice, see `ReadCounts.add_counts`.

        Raises:
            InputError: The file is not the one that was cut, or cannot be read (when iterating).
        """
        # Several threads may read slices at once, each with counts of its own.
        reader = self.copy_for_slices()
        return reader._read_slice(part), reader._counts

    def _read_slice(self, part: SourceSlice) -> Iterator[Statements | LinePart]:
        part.check_file()
        finds_lines = self._options.keeps_everything()
        with closing(self._open_all([part.part], StatementFilter(self._options))) as files:
            opened = next(files)
            if part.bound is None:
                yield from self._read_opened(opened, part.blank_prefix, False, finds_lines)
                return
            file, context = opened.file, opened.context
            assert file is not None
            assert file.format.read_slice is not None
            if finds_lines and file.format.has_ntriples_lines:
                with open_line_range(context.path, *part.bound, context.counts) as stream:
                    yield self._make_line_part(stream, context, part.blank_prefix)
                return
            # A dump of Wikidata is not cut: nothing has to be looked for.
            for batch in file.format.read_slice(context, *part.bound):
                yield self._finish_batch(batch, context, part.blank_prefix)

    def join_slices(
        self, slices: Sequence[SourceSlice], results: Sequence[ReadCounts | str]
    ) -> Iterator[int | Statements | LinePart]:
        """Put slices together that other processes have read, and read here what they could not.

        Args:
            slices: All slices of the source.
            results: The counts of each slice, or why it could not be read.

        Yields:
            The number of a slice that was read, or in place of all slices of a file what is read
            here.

        Raises:
            InputError: A file cannot be read, or no file has any statement.
        """
        counts = self._counts = ReadCounts()
        parts = self._list_parts()
        for _, numbers in groupby(range(len(slices)), lambda number: slices[number].part_number):
            group, line_count = list(numbers), 0
            failed = [found for number in group if isinstance(found := results[number], str)]
            if failed:
                yield from self._read_here(slices[group[0]], failed[0])
                continue
            for number in group:
                found = cast("ReadCounts", results[number])
                # All but the first begin with an empty line.
                is_later = number > group[0]
                counts.add_counts(found, line_count - is_later)
                line_count += found.line_count - is_later
                self._on_progress(counts.triples)
                yield number
        if counts.is_empty():
            raise _make_empty_error(parts)

    def _read_here(self, part: SourceSlice, reason: str) -> Iterator[Statements | LinePart]:
        """Read the whole file of a slice, with its errors if there are any."""
        logger.info("%s is read by this process: %s", part.part.path, reason)
        finds_lines = self._options.keeps_everything()
        for opened in self._open_all([part.part], StatementFilter(self._options)):
            yield from self._read_opened(opened, part.blank_prefix, False, finds_lines)
            opened.context.add_note(f"read by this process: {reason}")

    def _read_opened(
        self, opened: OpenedPart, prefix: str, removing: bool, finds_lines: bool
    ) -> Iterator[Statements | LinePart]:
        """Read an open file or object; blank nodes get a prefix unless it is empty."""
        counts = self._counts
        started, before = perf_counter(), (counts.triples, counts.literals)
        batches = opened.batches
        if finds_lines and opened.file is not None and opened.file.format.has_ntriples_lines:
            lines, batches = self._find_lines(opened.file, opened.context, prefix)
            if lines is not None:
                yield lines
        for batch in _reduce_batches(batches, opened.context):
            if removing and opened.is_patch and _adds_statements(batch):
                raise InputError(
                    "is a patch that adds facts, but was given as what is removed: "
                    "give it as what is gained, it says itself what it removes",
                    path=opened.context.path,
                )
            yield self._finish_batch(batch, opened.context, prefix)
        logger.info(
            "%s read as %s: %d triples, %d literals, %.2f s",
            opened.context.path,
            opened.kind,
            counts.triples - before[0],
            counts.literals - before[1],
            perf_counter() - started,
        )

    def _list_parts(self) -> list[SourcePart]:
        """List files and objects; what a server has is fetched once, even if it is read again."""
        if self._fetched is None:
            notes: list[str] = []
            parts = list_parts(self._source, self._opening, notes.append)
            if not notes:
                return parts
            self._fetched = parts, notes
        self._counts.notes += self._fetched[1]
        return self._fetched[0]

    def _open_all(
        self, parts: Sequence[SourcePart], statement_filter: StatementFilter
    ) -> Generator[OpenedPart, None, None]:
        """Open all files and objects, the files of archives one after the other."""
        for part in parts:
            context = ReadContext(
                part.path,
                statement_filter,
                self._skip_errors,
                self._counts,
                self._opening,
                part.table,
            )
            with closing(part.open_all(context)) as opened:
                yield from opened

    def _find_lines(
        self, file: OpenedFile, context: ReadContext, blank_prefix: str
    ) -> tuple[LinePart | None, Iterator[Statements]]:
        """Return the lines of a file if it is large, or else its batches."""
        start = file.stream.read(MIN_LINE_BYTES)
        stream = prepend_bytes(start, file.stream)
        if len(start) < MIN_LINE_BYTES or _begins_like_wikidata(start, context):
            return None, file.format.read(stream, context)
        return self._make_line_part(stream, context, blank_prefix), iter(())

    def _make_line_part(
        self, stream: io.BufferedReader, context: ReadContext, blank_prefix: str
    ) -> LinePart:
        blocks = read_line_blocks(
            stream, context.path, blank_prefix, skip_errors=context.skip_errors
        )
        return LinePart(blocks, context, self._on_progress)

    def _finish_batch(self, batch: Statements, context: ReadContext, prefix: str) -> Statements:
        """Filter and count a batch, and name its blank nodes."""
        kept = context.filter.apply(batch)
        counts = self._counts
        counts.triples += len(kept.triples)
        counts.literals += len(kept.literals)
        counts.filtered += len(batch.triples) + len(batch.literals)
        counts.filtered -= len(kept.triples) + len(kept.literals)
        self._on_progress(counts.triples)
        return _rename_blank_nodes(kept, prefix) if prefix else kept


def _make_empty_error(parts: Sequence[SourcePart]) -> InputError:
    return InputError("has no triples", path=parts[0].path if len(parts) == 1 else None)


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


def _begins_like_wikidata(start: bytes, context: ReadContext) -> bool:
    """Tell whether `_reduce_batches` would leave anything out."""
    if not context.sources.reduce_wikidata:
        return False
    # Errors are reported when the file is read, not here.
    silent = ReadContext(context.path, skip_errors=True)
    batches = read_ntriples(io.BufferedReader(io.BytesIO(start)), silent)
    first = next((batch for batch in batches if batch.triples or batch.literals), None)
    return first is not None and is_wikidata(first)


def _rename_blank_nodes(batch: Statements, prefix: str) -> Statements:
    """Add the number of the file to blank nodes: the same label in two files is two nodes."""
    return Statements(
        [rename_blank_nodes(row, prefix) for row in batch.triples],
        [rename_blank_nodes(row, prefix) for row in batch.literals],
        batch.removed,
    )
