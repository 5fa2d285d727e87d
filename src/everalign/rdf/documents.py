"""Turtle, TriG, RDF/XML and JSON-LD → triples and literals, by pyoxigraph.

The parser reads large pieces, which is fast but hides the line of a fault that is found here
and not by the parser. Such a file is read again, line by line, until the fault is met.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, cast

from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat, parse

from everalign.errors import InputError
from everalign.rdf.feeding import Feed
from everalign.rdf.formats import Format
from everalign.rdf.jsonfeed import JsonFeed
from everalign.rdf.names import Triple
from everalign.rdf.opening import opened_stream, replayed
from everalign.rdf.reading import Reading
from everalign.rdf.statements import Statements, sorted_out
from everalign.rdf.terms import BlankLabels, Term, checked_name, graph_of, reason_of
from everalign.rdf.xmlfeed import XmlFeed

ROWS = 1000
# JSON-LD may tell at its end what its beginning means, so it is held as a whole up to here.
# It takes some thirty times this in memory.
WHOLE_JSON_BYTES = 1 << 23

_PARSED_AS = {
    Format.TURTLE: RdfFormat.TURTLE,
    Format.TRIG: RdfFormat.TRIG,
    Format.RDF_XML: RdfFormat.RDF_XML,
    Format.JSON_LD: RdfFormat.JSON_LD,
}
_FEEDS: dict[Format, type[Feed]] = {Format.RDF_XML: XmlFeed, Format.JSON_LD: JsonFeed}
_GOES_ON_AFTER_FAULT = (Format.TURTLE, Format.TRIG)
_REMOTE_CONTEXT = "No LoadDocumentCallback"


def statements_of(
    stream: io.BufferedReader, reading: Reading, file_format: Format
) -> Iterator[Statements]:
    """What stands in a document, some statements at a time."""
    rows: list[Triple] = []
    for row, _ in rows_of(stream, reading, file_format, by_line=reading.skip_errors):
        rows.append(row)
        if len(rows) == ROWS:
            yield sorted_out(rows)
            rows = []
    if rows:
        yield sorted_out(rows)


def rows_of(
    stream: io.BufferedReader, reading: Reading, file_format: Format, *, by_line: bool
) -> Iterator[tuple[Triple, int | None]]:
    """Each statement, with its line if the document is read line by line."""
    try:
        yield from _Document(stream, reading, file_format, by_line).rows()
    except InputError as error:
        line = error.line or _line_of_fault(reading, file_format, by_line)
        problem = error.problem
        if reading.skip_errors and file_format not in _GOES_ON_AFTER_FAULT:
            problem += f"; {file_format.value} cannot be read past an error"
        raise InputError(problem, path=reading.path, line=line) from None


def _line_of_fault(reading: Reading, file_format: Format, by_line: bool) -> int | None:
    if by_line or not reading.path.is_file():
        return None
    again = Reading(reading.path, reading.sieve)
    try:
        with opened_stream(reading.path) as (_, stream):
            for _ in _Document(stream, again, file_format, True).rows():
                pass
    except InputError as error:
        return error.line
    return None


class _Document:
    def __init__(
        self, stream: io.BufferedReader, reading: Reading, file_format: Format, by_line: bool
    ) -> None:
        self._reading = reading
        self._format = file_format
        self._parsed_as = _PARSED_AS[file_format]
        self._labels = BlankLabels()
        source: io.BufferedIOBase = stream
        if file_format is Format.JSON_LD:
            source, self._parsed_as = _json_source(stream)
        feed = _FEEDS.get(file_format, Feed)
        self._feed = feed(source, by_line=by_line)

    def rows(self) -> Iterator[tuple[Triple, int | None]]:
        for quad in self._quads():
            try:
                row = self._row(quad)
            except InputError as error:
                self._reading.fault(InputError(error.problem, line=self._feed.line))
                continue
            if self._reading.in_graph(graph_of(quad.graph_name)):
                yield row, self._feed.line

    def _row(self, quad: Quad) -> Triple:
        return self._name(quad.subject), checked_name(quad.predicate), self._name(quad.object)

    def _name(self, term: Term) -> str:
        return self._labels.name(term) if isinstance(term, BlankNode) else checked_name(term)

    def _quads(self) -> Iterator[Quad]:
        # Lenient, as for N-Triples: names are only compared.
        feed = cast(IO[bytes], self._feed)  # no more than read() is asked of it
        quads = parse(feed, format=self._parsed_as, lenient=True)
        while True:
            try:
                quad = next(quads)
            except StopIteration:
                return
            except SyntaxError as error:
                self._met(error)
            except MemoryError:  # the parser has a limit of its own
                raise self._feed.too_long() from None
            else:
                # Inside of brackets only blank nodes are spoken about.
                self._feed.finished(at_top=type(quad.subject) is NamedNode)
                yield quad

    def _met(self, error: SyntaxError) -> None:
        reason = reason_of(error)
        if reason.startswith(_REMOTE_CONTEXT):
            reason = "its @context lies elsewhere and is not fetched: put it into the file"
        elif self._parsed_as is RdfFormat.STREAMING_JSON_LD and error.lineno is None:
            reason += f"; a file of more than {WHOLE_JSON_BYTES >> 20} MiB is not held in memory"
        problem = f"not {self._format.value} ({reason})"
        fault = InputError(problem, line=error.lineno or self._feed.line)
        if self._format not in _GOES_ON_AFTER_FAULT:
            raise fault
        self._reading.fault(fault)


def _json_source(stream: io.BufferedReader) -> tuple[io.BufferedIOBase, RdfFormat]:
    start = stream.read(WHOLE_JSON_BYTES + 1)
    if len(start) <= WHOLE_JSON_BYTES:
        return io.BytesIO(start), RdfFormat.JSON_LD
    return replayed(start, stream), RdfFormat.STREAMING_JSON_LD
