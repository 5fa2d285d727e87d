"""N-Triples and N-Quads, parsed block by block with three parsers that give the same result.

1. Most blocks of a dump have only lines of the plain form ``<head> <relation> <tail> .``, some
   with a blank node or a literal. They are split at brackets and quotation marks, and pyoxigraph
   sees only the literals with escapes.
2. A block with anything else in it (comments, other spacing) is parsed by pyoxigraph at once.
3. If that fails, the block is parsed line by line, which finds the line number of the error.

The third parser is slow and defines what is accepted: the first two give up on a block, by
returning None, rather than differ from it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from pyoxigraph import NamedNode, RdfFormat, parse

from everalign.errors import InputError
from everalign.io.filters import ReadContext
from everalign.io.streams import TextBlock, split_blocks
from everalign.io.terms import (
    CANONICAL_LITERAL,
    IRI_CHARACTER,
    IRI_FORBIDDEN_BYTES,
    UNICODE_ESCAPE,
    Statements,
    Triple,
    check_triple_nesting,
    describe_syntax_error,
    format_checked_term,
    format_graph_name,
    format_term,
    group_statements,
    is_iri_character,
    shorten_text,
)

_GraphRow: TypeAlias = tuple[Triple, str]

_STATEMENT_LINE = re.compile(r"(<|_:).*\.")
_BLANK_NODE = re.compile(r"_:[A-Za-z0-9]+(?= )")
_UNICODE_ESCAPE = re.compile(UNICODE_ESCAPE)
_ESCAPED_IRI = re.compile(r"<[^<>\n\\]*\\[^<>\n]*>")
# In a line "<head> <relation> <tail> .\n" these characters are outside of the three IRIs and
# forbidden inside of them: six brackets, three spaces and the line end.
_MARKS_PER_LINE = 10
_BRACKETED_IRI = f"<((?!_:){IRI_CHARACTER}+)>"
_LITERAL_LINE = re.compile(
    rf"^{_BRACKETED_IRI}[ \t]{_BRACKETED_IRI}[ \t]({CANONICAL_LITERAL})[ \t]\.$", re.MULTILINE
)


def is_statement_line(line: str) -> bool:
    """Tell whether a line looks like a statement of N-Triples.

    Args:
        line: Any line of text.

    Returns:
        Whether it begins with an IRI or a blank node and ends with a dot.
    """
    return _STATEMENT_LINE.fullmatch(line.strip()) is not None


def read_ntriples(stream: io.BufferedReader, context: ReadContext) -> Iterator[Statements]:
    """Read a file of N-Triples.

    Args:
        stream: The bytes of the file.
        context: The file, the filter and where to report errors.

    Yields:
        The statements of each block.

    Raises:
        InputError: A line is not N-Triples, and errors are not skipped.
    """
    for block in split_blocks(stream, context.path, context.error_handler):
        yield _parse_ntriples_block(block, context)


def read_nquads(stream: io.BufferedReader, context: ReadContext) -> Iterator[Statements]:
    """Read a file of N-Quads.

    Args:
        stream: The bytes of the file.
        context: The file, the filter (which may select graphs) and where to report errors.

    Yields:
        The statements of each block.

    Raises:
        InputError: A line is not N-Quads, and errors are not skipped.
    """
    for block in split_blocks(stream, context.path, context.error_handler):
        yield parse_nquads_block(block, context)


def read_numbered_ntriples(
    stream: io.BufferedReader, context: ReadContext
) -> Iterator[tuple[Triple, int]]:
    """Read a file of N-Triples with the line number of each statement.

    Args:
        stream: The bytes of the file.
        context: The file.

    Yields:
        Each statement and its line number.

    Raises:
        InputError: A line is not N-Triples.
    """
    for block in split_blocks(stream, context.path):
        for number, line in block.lines():
            for row in parse_ntriples_line(line, context.path, number):
                yield row, number


def read_numbered_nquads(
    stream: io.BufferedReader, context: ReadContext
) -> Iterator[tuple[Triple, int]]:
    """Read a file of N-Quads, all graphs as one, with the line number of each statement.

    Args:
        stream: The bytes of the file.
        context: The file.

    Yields:
        Each statement without its graph, and its line number.

    Raises:
        InputError: A line is not N-Quads.
    """
    for block in split_blocks(stream, context.path):
        for number, line in block.lines():
            for row, _ in _parse_nquads_line(line, context.path, number):
                yield row, number


def parse_nquads_block(
    block: TextBlock, context: ReadContext, removed: bool = False
) -> Statements:
    """Parse some lines of N-Quads.

    Args:
        block: The lines.
        context: The file, the filter and where to report errors.
        removed: Whether the file removes these statements, as rows of RDF Patch may.

    Returns:
        The statements of the graphs that the filter keeps.

    Raises:
        InputError: A line is not N-Quads, and errors are not skipped.
    """
    if plain := _split_plain_text(block.text):
        return _filter_default_graph(plain, context, removed)
    rows = _parse_nquads_text(block.text)
    if rows is None:
        rows = _parse_nquads_lines(block, context)
    return group_statements([row for row, graph in rows if context.keeps_graph(graph)], removed)


def _parse_ntriples_block(block: TextBlock, context: ReadContext) -> Statements:
    return (
        _split_plain_text(block.text)
        or _group_ntriples_text(block.text)
        or _parse_ntriples_lines(block, context)
    )


# First parser: split the text.


def _split_plain_text(text: str) -> Statements | None:
    """Split a text in which all lines have the plain form, None for any other text."""
    literal_lines: list[str] = []
    if '"' in text:
        lines = text.split("\n")
        literal_lines = [line for line in lines if '"' in line]
        text = "\n".join([line for line in lines if '"' not in line])
    if "\\" in text:
        text = _ESCAPED_IRI.sub(lambda iri: _UNICODE_ESCAPE.sub(_decode_escape, iri[0]), text)
    if "\\" in text or "<_:" in text:
        return None
    if "\t" in text:
        text = text.replace("\t", " ")
    triples = _split_plain_lines(text)
    if triples is None:
        triples = _split_lines_with_blank_nodes(text)
    literals = None if triples is None else _split_literal_lines(literal_lines)
    return None if triples is None or literals is None else Statements(triples, literals)


def _decode_escape(escape: re.Match[str]) -> str:
    """Decode an escape; it stays as it is if an IRI may not hold the character."""
    code = int(escape[0][2:], 16)
    is_character = code < 0xD800 or 0xDFFF < code <= 0x10FFFF
    return chr(code) if is_character and is_iri_character(chr(code)) else escape[0]


def _split_plain_lines(text: str) -> list[Triple] | None:
    if not text:
        return []
    if text.count("<") != 3 * text.count("\n"):
        return None
    names = text[1:-4].replace("> .\n<", "> <").split("> <")
    triples = list(zip(names[::3], names[1::3], names[2::3], strict=False))
    # Joining the names gives back the same text only if every line had the plain form. This
    # check runs in C over the whole block, which makes it faster than a regular expression.
    same_text = "<" + "> .\n<".join(map("> <".join, triples)) + "> .\n" == text
    # No forbidden character is inside of a name if there are only those between the names.
    raw = text.encode()
    marks = len(raw) - len(raw.translate(None, IRI_FORBIDDEN_BYTES))
    is_plain = same_text and all(names) and marks == _MARKS_PER_LINE * len(triples)
    return triples if is_plain else None


def _split_lines_with_blank_nodes(text: str) -> list[Triple] | None:
    if "_:" not in text:
        return None
    triples = _split_plain_lines(_BLANK_NODE.sub(r"<\g<0>>", text))
    if triples is None or any(relation.startswith("_:") for _, relation, _ in triples):
        return None
    return triples


def _split_literal_lines(lines: list[str]) -> list[Triple] | None:
    """Split lines that each have a literal as object, None if there are any others."""
    literals: list[Triple] = _LITERAL_LINE.findall("\n".join(lines))
    if len(literals) == len(lines):
        return literals
    others = [line for line in lines if not _LITERAL_LINE.match(line)]
    parsed = _group_ntriples_text("\n".join(others))
    if parsed is None or len(parsed.literals) != len(others):
        return None
    return literals + parsed.literals


# Second parser: pyoxigraph, all lines at once. It is strict about IRIs, which is faster; what it
# refuses, the third parser may still accept. A quoted triple is left to the third parser as well,
# which checks the nesting first.


def parse_ntriples_text(text: str) -> list[Triple] | None:
    """Parse lines of N-Triples at once.

    Args:
        text: The lines.

    Returns:
        The statements in their order; None if the lines have to be parsed one by one.
    """
    rows: list[Triple] = []
    if "<<" in text:
        return None
    try:
        for quad in parse(text, format=RdfFormat.N_TRIPLES):
            head, tail = quad.subject, quad.object
            if type(head) is NamedNode and type(tail) is NamedNode:
                rows.append((head.value, quad.predicate.value, tail.value))
            else:
                rows.append((format_term(head), quad.predicate.value, format_term(tail)))
    except (SyntaxError, InputError):
        return None
    return rows


def _group_ntriples_text(text: str) -> Statements | None:
    rows = parse_ntriples_text(text)
    return None if rows is None else group_statements(rows)


def _parse_nquads_text(text: str) -> list[_GraphRow] | None:
    if "<<" in text:
        return None
    try:
        return [
            (
                (format_term(quad.subject), quad.predicate.value, format_term(quad.object)),
                format_graph_name(quad.graph_name),
            )
            for quad in parse(text, format=RdfFormat.N_QUADS)
        ]
    except SyntaxError:
        return None


def _filter_default_graph(plain: Statements, context: ReadContext, removed: bool) -> Statements:
    """Filter lines without a graph name, all of which are in the default graph."""
    if context.filter.keeps_graph(""):
        return plain._replace(removed=removed)
    context.counts.filtered += len(plain.triples) + len(plain.literals)
    return Statements([], [], removed)


# Third parser: pyoxigraph, line by line. It is lenient about IRIs, since names are only compared:
# what the N-Triples grammar forbids is checked by format_checked_term, and finer rules, such as
# that "%" is followed by two digits, are not checked. Real dumps break them.


def _parse_ntriples_lines(block: TextBlock, context: ReadContext) -> Statements:
    rows: list[Triple] = []
    for number, line in block.lines():
        try:
            # As a list: of a line that has an error, nothing is kept.
            rows += list(parse_ntriples_line(line, context.path, number))
        except InputError as error:
            context.report_error(error)
    return group_statements(rows)


def _parse_nquads_lines(block: TextBlock, context: ReadContext) -> list[_GraphRow]:
    rows: list[_GraphRow] = []
    for number, line in block.lines():
        try:
            rows += list(_parse_nquads_line(line, context.path, number))
        except InputError as error:
            context.report_error(error)
    return rows


def parse_ntriples_line(line: str, path: Path, number: int) -> Iterator[Triple]:
    """Parse a line of N-Triples. This defines what is accepted.

    Args:
        line: The line without its line end.
        path: The file, for error messages.
        number: The number of the line.

    Yields:
        Its statement, if it has one.

    Raises:
        InputError: It is not N-Triples.
    """
    try:
        check_triple_nesting(line)
        for quad in parse(line, format=RdfFormat.N_TRIPLES, lenient=True):
            yield (
                format_checked_term(quad.subject),
                format_checked_term(quad.predicate),
                format_checked_term(quad.object),
            )
    except SyntaxError as error:
        problem = f"not a line of N-Triples ({describe_syntax_error(error)}): {shorten_text(line)}"
        raise InputError(problem, path=path, line=number) from None
    except InputError as error:
        raise InputError(error.problem, path=path, line=number) from None


def _parse_nquads_line(line: str, path: Path, number: int) -> Iterator[_GraphRow]:
    """Parse a line with at most one statement; the default graph has an empty name."""
    try:
        check_triple_nesting(line)
        for quad in parse(line, format=RdfFormat.N_QUADS, lenient=True):
            head, tail = format_checked_term(quad.subject), format_checked_term(quad.object)
            row = head, format_checked_term(quad.predicate), tail
            yield row, format_graph_name(quad.graph_name)
    except SyntaxError as error:
        problem = f"not a line of N-Quads ({describe_syntax_error(error)}): {shorten_text(line)}"
        raise InputError(problem, path=path, line=number) from None
    except InputError as error:
        raise InputError(error.problem, path=path, line=number) from None
