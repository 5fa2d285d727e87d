"""Turtle, TriG, RDF/XML and JSON-LD, parsed by pyoxigraph from a stream with limits.

The parser of a document holds what it has read of a statement, and the brackets, elements or
objects that are still open. Real graphs need little of both; a `LimitedStream` between the file
and the parser stops files that would fill the memory.

The parser reads large chunks, which is fast but hides the line number of an error that is not a
syntax error. After such an error the file is read again line by line until the error occurs.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import IO, NoReturn, cast
from xml.parsers import expat

from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat, parse

from everalign.errors import InputError
from everalign.io.filters import ReadContext
from everalign.io.json_ld_contexts import resolve_contexts
from everalign.io.streams import MAX_LINE_BYTES, prepend_bytes
from everalign.io.terms import (
    MAX_TRIPLE_NESTING,
    BlankNodeLabels,
    Statements,
    Term,
    Triple,
    describe_syntax_error,
    format_checked_term,
    format_graph_name,
    group_statements,
    shorten_text,
)

_STATEMENTS_PER_BATCH = 1000
# JSON-LD may have its context at the end, so a document is parsed as a whole up to this size,
# which takes about thirty times as much memory. Larger ones are streamed.
MAX_WHOLE_JSON_BYTES = 1 << 23
# How pyoxigraph begins the message about a context that would have to be downloaded.
_REMOTE_CONTEXT_MESSAGE = "No LoadDocumentCallback"

# Nesting that no real file has; below these limits the parsers stay within some hundred MB.
MAX_BRACKET_NESTING = 100_000
MAX_OBJECT_NESTING = 200
MAX_ELEMENT_NESTING = 500
# The RDF/XML parser compares every attribute of an element with every other.
MAX_ATTRIBUTES = 5000
# For each error the parser counts the characters before it in its line.
MAX_ERRORS_IN_LINE = 1000
# Entities of RDF/XML as OWL files have them: a short text for each namespace.
MAX_ENTITY_LENGTH = 1000
MAX_ENTITIES = 1000
# The parser starts a token anew with each chunk: long tokens must not come line by line.
_LONG_STATEMENT_BYTES = 1 << 12

_JSON_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)', re.DOTALL)


class LimitedStream:
    """A stream for a parser that knows the line number and limits what the parser must hold.

    Args:
        stream: The bytes of the document.
        by_line: Whether the parser gets a line at a time, so that its line number is known.
    """

    def __init__(self, stream: io.BufferedIOBase, *, by_line: bool) -> None:
        self._stream = stream
        self._by_line = by_line
        self._line = 1
        self._pending_line_ends = 0
        self._unfinished_bytes = 0
        self._open_brackets = 0
        self._quoted_triples = 0
        self._chunk_end = b""
        self.prefixes: dict[str, str] = {}

    @property
    def line(self) -> int | None:
        """The line number that the parser has reached, None if it reads larger chunks."""
        return self._line if self._by_line else None

    def read(self, size: int = -1, /) -> bytes:
        """Read the next bytes for the parser.

        Args:
            size: The maximum number of bytes.

        Returns:
            The bytes, empty at the end.

        Raises:
            InputError: The bytes exceed a limit.
        """
        by_line = self._by_line and self._unfinished_bytes < _LONG_STATEMENT_BYTES
        chunk = self._stream.readline(size) if by_line else self._stream.read(size)
        # The line ends of a chunk count when the parser asks for more, since until then it is
        # still in that line.
        self._line += self._pending_line_ends
        self._pending_line_ends = chunk.count(b"\n")
        self._check_chunk(chunk)
        return chunk

    def finish_statement(self, *, at_top: bool) -> None:
        """Note that the parser gave a statement, so that it need not hold its text any more.

        Args:
            at_top: Whether no bracket is open around the statement.
        """
        self._unfinished_bytes = 0
        if at_top:
            self._open_brackets = self._quoted_triples = 0

    def make_length_error(self) -> InputError:
        """Make the error for a statement that is too long.

        Returns:
            The error, with the line number that was reached.
        """
        problem = f"a statement is longer than {MAX_LINE_BYTES >> 20} MiB"
        return InputError(problem, line=self._line)

    def _check_chunk(self, chunk: bytes) -> None:
        self._unfinished_bytes += self._expanded_length(chunk)
        if self._unfinished_bytes > MAX_LINE_BYTES:
            raise self.make_length_error()
        self._count_brackets(chunk)

    def _expanded_length(self, chunk: bytes) -> int:
        return len(chunk)

    def _count_brackets(self, chunk: bytes) -> None:
        # Brackets in strings are counted too: the limit is so high that this does no harm.
        opened = chunk.count(b"(") + chunk.count(b"[")
        closed = chunk.count(b")") + chunk.count(b"]")
        self._open_brackets = max(0, self._open_brackets + opened - closed)
        # "<<(" may be split between two chunks.
        self._quoted_triples += (self._chunk_end + chunk).count(b"<<(")
        self._chunk_end = chunk[-2:]
        if self._open_brackets > MAX_BRACKET_NESTING or self._quoted_triples > MAX_TRIPLE_NESTING:
            raise InputError("statements are nested too deeply", line=self._line)


class LimitedJsonStream(LimitedStream):
    """A stream of JSON-LD; the parser holds a context for every open object.

    Args:
        stream: The bytes of the document.
        by_line: Whether the parser gets a line at a time.
    """

    def __init__(self, stream: io.BufferedIOBase, *, by_line: bool) -> None:
        super().__init__(stream, by_line=by_line)
        self._open_string = b""

    def finish_statement(self, *, at_top: bool) -> None:  # noqa: ARG002
        """Note that the parser gave a statement, which does not tell how many objects are open.

        Args:
            at_top: Not used.
        """
        super().finish_statement(at_top=False)

    def _count_brackets(self, chunk: bytes) -> None:
        text = self._open_string + chunk
        # The zero byte disappears with a string that is still open at the end of the chunk.
        without_strings = _JSON_STRING.sub(b"", text + b"\0")
        # Of an open string only its quotation mark, and a backslash that escapes the first
        # character of the next chunk, need to be remembered.
        escape = (len(text) - len(text.rstrip(b"\\"))) % 2
        is_open = not without_strings.endswith(b"\0")
        self._open_string = b'"' + b"\\" * escape if is_open else b""
        self._open_brackets += without_strings.count(b"{") + without_strings.count(b"[")
        self._open_brackets -= without_strings.count(b"}") + without_strings.count(b"]")
        if self._open_brackets > MAX_OBJECT_NESTING:
            raise InputError("objects are nested too deeply", line=self._line)


class LimitedXmlStream(LimitedStream):
    """A stream of RDF/XML that the XML parser of the standard library reads along.

    pyoxigraph does not notice that a document is truncated, knows few line numbers, and expands
    entities without limit. expat reports all of this.

    Args:
        stream: The bytes of the document.
        by_line: Whether the parser gets a line at a time.
    """

    def __init__(self, stream: io.BufferedIOBase, *, by_line: bool) -> None:
        super().__init__(stream, by_line=by_line)
        self._depth = 0
        self._entity_count = 0
        self._longest_entity = 0
        self._is_blank = True
        self._is_complete = False
        # The stream is UTF-8, whatever the document says.
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartElementHandler = self._start_element
        self._parser.EndElementHandler = self._end_element
        self._parser.EntityDeclHandler = self._declare_entity

    def _check_chunk(self, chunk: bytes) -> None:
        # A blank file is no error here: the caller reports that it has no triples.
        self._is_blank = self._is_blank and not chunk.strip()
        if self._is_blank or self._is_complete:
            return
        self._is_complete = not chunk
        try:
            self._parser.Parse(chunk, self._is_complete)
        except expat.ExpatError as error:
            reason = expat.errors.messages[error.code]
            raise InputError(f"not RDF/XML ({reason})", line=error.lineno) from None
        super()._check_chunk(chunk)

    def _expanded_length(self, chunk: bytes) -> int:
        # Each reference may expand to the longest entity.
        return len(chunk) + self._longest_entity * chunk.count(b"&")

    def _count_brackets(self, chunk: bytes) -> None:
        """Elements are counted by the handlers instead."""

    def _start_element(self, _name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        # At the top only: deeper declarations are rare, and hold for a part of the document.
        if self._depth == 1:
            self.prefixes = {
                name.removeprefix("xmlns").removeprefix(":"): namespace
                for name, namespace in attributes.items()
                if name == "xmlns" or name.startswith("xmlns:")
            }
        if len(attributes) > MAX_ATTRIBUTES:
            self._raise_error(f"an element has more than {MAX_ATTRIBUTES} attributes")
        if self._depth > MAX_ELEMENT_NESTING:
            self._raise_error("elements are nested too deeply")

    def _end_element(self, _name: str) -> None:
        self._depth -= 1

    def _declare_entity(
        self,
        name: str,
        is_parameter: bool,
        value: str | None,
        _base: str | None,
        _system: str | None,
        _public: str | None,
        _notation: str | None,
    ) -> None:
        self._entity_count += 1
        if value is None or is_parameter:
            self._raise_error(f"the entity {name!r} is external, which is not supported")
        if "&" in value or len(value) > MAX_ENTITY_LENGTH or self._entity_count > MAX_ENTITIES:
            self._raise_error(f"the entity {name!r} is too long, nested, or one of too many")
        self._longest_entity = max(self._longest_entity, len(value))

    def _raise_error(self, problem: str) -> NoReturn:
        raise InputError(problem, line=self._parser.CurrentLineNumber)


@dataclass(frozen=True)
class _Syntax:
    name: str
    parser_format: RdfFormat
    stream_type: type[LimitedStream] = LimitedStream
    # Whether the parser can go on with the next statement after an error.
    recovers: bool = False


_TURTLE = _Syntax("Turtle", RdfFormat.TURTLE, recovers=True)
_TRIG = _Syntax("TriG", RdfFormat.TRIG, recovers=True)
_RDF_XML = _Syntax("RDF/XML", RdfFormat.RDF_XML, LimitedXmlStream)
_JSON_LD = _Syntax("JSON-LD", RdfFormat.JSON_LD, LimitedJsonStream)


def _read_document(
    syntax: _Syntax, stream: io.BufferedReader, context: ReadContext
) -> Iterator[Statements]:
    rows: list[Triple] = []
    by_line = context.skip_errors
    for row, _ in _read_numbered(syntax, stream, context, by_line=by_line):
        rows.append(row)
        if len(rows) == _STATEMENTS_PER_BATCH:
            yield group_statements(rows)
            rows = []
    if rows:
        yield group_statements(rows)


def _read_numbered(
    syntax: _Syntax, stream: io.BufferedReader, context: ReadContext, *, by_line: bool = True
) -> Iterator[tuple[Triple, int]]:
    """Read each statement with its line number, which is 0 unless reading line by line."""
    try:
        yield from _DocumentParser(syntax, stream, context, by_line).parse_rows()
    except InputError as error:
        line = error.line or (None if by_line else _find_error_line(syntax, context))
        problem = error.problem
        if context.skip_errors and not syntax.recovers:
            problem += f"; {syntax.name} cannot be read past an error"
        raise InputError(problem, path=context.path, line=line) from None


read_turtle = partial(_read_document, _TURTLE)
read_trig = partial(_read_document, _TRIG)
read_rdf_xml = partial(_read_document, _RDF_XML)
read_json_ld = partial(_read_document, _JSON_LD)
read_numbered_turtle = partial(_read_numbered, _TURTLE)
read_numbered_trig = partial(_read_numbered, _TRIG)
read_numbered_rdf_xml = partial(_read_numbered, _RDF_XML)
read_numbered_json_ld = partial(_read_numbered, _JSON_LD)


def _find_error_line(syntax: _Syntax, context: ReadContext) -> int | None:
    """Read the file again, line by line, up to the error."""
    if context.reopen is None:
        return None
    again = ReadContext(context.path, context.filter, sources=context.sources)
    try:
        with context.reopen() as stream:
            for _ in _DocumentParser(syntax, stream, again, by_line=True).parse_rows():
                pass
    except InputError as error:
        return error.line
    return None


class _DocumentParser:
    def __init__(
        self, syntax: _Syntax, stream: io.BufferedReader, context: ReadContext, by_line: bool
    ) -> None:
        self._syntax = syntax
        self._context = context
        self._parser_format = syntax.parser_format
        self._labels = BlankNodeLabels()
        self._error_line: int | None = None
        self._errors_in_line = 0
        source: io.BufferedIOBase = stream
        if syntax is _JSON_LD:
            resolved = resolve_contexts(stream, context.sources.contexts)
            source, self._parser_format = _open_json(resolved)
        self._stream = syntax.stream_type(source, by_line=by_line)

    def parse_rows(self) -> Iterator[tuple[Triple, int]]:
        unknown_keys: dict[str, None] = {}
        has_rows = False
        for quad in self._parse_quads():
            if self._syntax is _JSON_LD and ":" not in quad.predicate.value:
                unknown_keys[quad.predicate.value] = None
                continue
            has_rows = True
            try:
                row = self._format_row(quad)
            except InputError as error:
                self._context.report_error(InputError(error.problem, line=self._stream.line))
                continue
            if self._context.keeps_graph(format_graph_name(quad.graph_name)):
                yield row, self._stream.line or 0
        if unknown_keys:
            shown = shorten_text(", ".join(unknown_keys))
            if not has_rows:
                raise InputError(f"no key has an IRI, as by an @context: {shown}")
            self._context.add_note(f"keys that no @context gives an IRI are left out: {shown}")

    def _format_row(self, quad: Quad) -> Triple:
        head, tail = self._format_node(quad.subject), self._format_node(quad.object)
        return head, format_checked_term(quad.predicate), tail

    def _format_node(self, term: Term) -> str:
        if isinstance(term, BlankNode):
            return self._labels.get_name(term)
        return format_checked_term(term)

    def _parse_quads(self) -> Iterator[Quad]:
        # parse() only calls read(). Lenient, as for N-Triples: names are only compared.
        stream = cast(IO[bytes], self._stream)
        quads = parse(stream, format=self._parser_format, lenient=True)
        while True:
            try:
                quad = next(quads)
            except StopIteration:
                # The parser forgets the namespaces of RDF/XML when their element ends.
                self._context.add_prefixes({**self._stream.prefixes, **quads.prefixes})
                return
            except SyntaxError as error:
                self._report_syntax_error(error)
            except MemoryError:  # pyoxigraph has a limit of its own for the length of a token
                raise self._stream.make_length_error() from None
            else:
                # Inside of brackets, the subject is a blank node.
                self._stream.finish_statement(at_top=type(quad.subject) is NamedNode)
                yield quad

    def _report_syntax_error(self, error: SyntaxError) -> None:
        reason = describe_syntax_error(error)
        if reason.startswith(_REMOTE_CONTEXT_MESSAGE):
            reason = "a remote @context is not fetched: give it by --context URL=FILE"
        elif self._parser_format is RdfFormat.STREAMING_JSON_LD and error.lineno is None:
            reason += f"; files larger than {MAX_WHOLE_JSON_BYTES >> 20} MiB are streamed"
        problem = f"not {self._syntax.name} ({reason})"
        input_error = InputError(problem, line=error.lineno or self._stream.line)
        if not self._syntax.recovers:
            raise input_error
        is_same_line = input_error.line == self._error_line
        self._error_line = input_error.line
        self._errors_in_line = self._errors_in_line + 1 if is_same_line else 1
        if self._errors_in_line > MAX_ERRORS_IN_LINE:
            problem = f"{problem}; the line has more than {MAX_ERRORS_IN_LINE} errors"
            raise InputError(problem, line=input_error.line)
        self._context.report_error(input_error)


def _open_json(stream: io.BufferedReader) -> tuple[io.BufferedIOBase, RdfFormat]:
    start = stream.read(MAX_WHOLE_JSON_BYTES + 1)
    if len(start) <= MAX_WHOLE_JSON_BYTES:
        return io.BytesIO(start), RdfFormat.JSON_LD
    return prepend_bytes(start, stream), RdfFormat.STREAMING_JSON_LD
