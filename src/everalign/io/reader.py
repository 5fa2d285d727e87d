"""Reading triples and literals from files and other sources, without holding them in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from time import perf_counter

from everalign.errors import InputError
from everalign.io.filters import (
    ReadContext,
    ReadCounts,
    ReadOptions,
    SkippedLine,
    StatementFilter,
)
from everalign.io.source_parts import (
    OpenedPart,
    Source,
    SourcePart,
    describe_source,
    list_parts,
)
from everalign.io.sources import SourceOptions
from everalign.io.terms import Statements, Triple
from everalign.io.wikidata import WikidataFilter, is_wikidata

logger = logging.getLogger(__name__)


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
        parts = self._list_parts()
        found_patch = False
        for number, opened in enumerate(self._open_all(parts, statement_filter), 1):
            started, before = perf_counter(), (counts.triples, counts.literals)
            found_patch = found_patch or opened.is_patch
            for batch in _reduce_batches(opened.batches, opened.context):
                if removing and opened.is_patch and _adds_statements(batch):
                    raise InputError(
                        "is a patch that adds facts, but was given as what is removed: "
                        "give it as what is gained, it says itself what it removes",
                        path=opened.context.path,
                    )
                kept = self._filter_batch(batch, statement_filter)
                is_alone = len(parts) == 1 and not opened.is_member
                yield kept if is_alone else _rename_blank_nodes(kept, number)
            logger.info(
                "%s read as %s: %d triples, %d literals, %.2f s",
                opened.context.path,
                opened.kind,
                counts.triples - before[0],
                counts.literals - before[1],
                perf_counter() - started,
            )
        # A patch may change nothing; a graph without statements is most likely the wrong file.
        if not found_patch and counts.is_empty():
            raise InputError("has no triples", path=parts[0].path if len(parts) == 1 else None)

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
    ) -> Iterator[OpenedPart]:
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

    def _filter_batch(self, batch: Statements, statement_filter: StatementFilter) -> Statements:
        kept = statement_filter.apply(batch)
        counts = self._counts
        counts.triples += len(kept.triples)
        counts.literals += len(kept.literals)
        counts.filtered += len(batch.triples) + len(batch.literals)
        counts.filtered -= len(kept.triples) + len(kept.literals)
        self._on_progress(counts.triples)
        return kept


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
