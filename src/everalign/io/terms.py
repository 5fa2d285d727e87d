"""RDF terms as text: IRIs, blank nodes and literals, and the statements made of them.

A term is a plain string everywhere in EverAlign. An IRI comes without angle brackets, a blank
node as ``_:label``, and a literal as N-Triples writes it, so it begins with a quotation mark.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, RdfFormat, parse
from pyoxigraph import Triple as QuotedTriple

from everalign.errors import InputError

Triple: TypeAlias = tuple[str, str, str]
Term: TypeAlias = NamedNode | BlankNode | Literal | QuotedTriple

# The characters that the N-Triples grammar does not allow inside IRIREF.
IRI_FORBIDDEN_BYTES = bytes(range(0x21)) + b'<>"{}|^`\\'
IRI_CHARACTER = f"[^{re.escape(IRI_FORBIDDEN_BYTES.decode())}]"
# UCHAR of the N-Triples grammar, allowed in IRIs and literals.
UNICODE_ESCAPE = r"(?:\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})"
XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
# A literal in canonical form: pyoxigraph would write it with exactly these characters.
CANONICAL_LITERAL = (
    r'"[^"\\\x00-\x1f\x7f\ufffe\uffff]*"'
    rf"(?:@[a-z]+(?:-[a-z0-9]+)*|\^\^<(?!_:|{re.escape(XSD_STRING)}>){IRI_CHARACTER}+>)?"
)

_BRACKETED = re.compile(r"<([^<>]+)>", re.DOTALL)
_IRI_CHARACTER = re.compile(IRI_CHARACTER)
_IRI = re.compile(rf"(?!_:){IRI_CHARACTER}+")
_ABSOLUTE_IRI = re.compile(rf"[A-Za-z][A-Za-z0-9+.-]*:{IRI_CHARACTER}+")
_CANONICAL_LITERAL = re.compile(CANONICAL_LITERAL)
_ANY_LITERAL = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"(?:@[A-Za-z0-9-]+|\^\^<[^<>]*>)?', re.DOTALL)
_QUOTED_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')

# pyoxigraph parses nested quoted triples recursively and overflows its stack at about ten
# thousand levels. They are refused anyway, so the limit can be low.
MAX_TRIPLE_NESTING = 100
# The labels that pyoxigraph makes up, and labels in the file that look like our replacements.
_GENERATED_LABEL = re.compile(r"[a-f][0-9a-f]{15,31}|anon\..*")
# An error message of the parser may quote any amount of the file.
_MAX_REASON_LENGTH = 200
_PARSER_POSITION = re.compile(r"Parser error .*?: ")
_PARSER_LINE = re.compile(r" \(line \d+\)$")


class Statements(NamedTuple):
    """A batch of statements of one file, in file order within each list.

    Literals are in canonical form, so equal literals have equal text: no ``xsd:string``,
    language tags in lower case, no escapes that are not required.

    >>> Statements([("urn:Ada", "urn:knows", "urn:Bo")], [("urn:Ada", "urn:name", '"Ada"@en')])
    ... # doctest: +ELLIPSIS
    Statements(triples=[('urn:Ada', ...)], literals=[(..., '"Ada"@en')], removed=False)
    """

    triples: list[Triple]
    """Statements between entities: head, relation, tail."""

    literals: list[Triple]
    """Statements with a literal: entity, attribute, literal."""

    removed: bool = False
    """Whether the file removes these statements (RDF Patch) instead of adding them."""


def group_statements(rows: list[Triple], removed: bool = False) -> Statements:
    """Separate the statements of an RDF file by the kind of their object.

    Args:
        rows: Parsed statements; an object that begins with a quotation mark is a literal, since
            no IRI and no blank node can begin with one.
        removed: Whether the file removes these statements.

    Returns:
        The same rows as triples and literals.
    """
    triples = [row for row in rows if row[2][0] != '"']
    if len(triples) == len(rows):
        return Statements(rows, [], removed)
    return Statements(triples, [row for row in rows if row[2][0] == '"'], removed)


def rename_blank_nodes(row: Triple, prefix: str) -> Triple:
    """Rename the blank nodes of a statement.

    Args:
        row: Head, predicate and tail.
        prefix: What replaces ``_:``.

    Returns:
        The same with other blank nodes.

    >>> rename_blank_nodes(("_:b0", "urn:knows", "urn:Ada"), "_:f2.")
    ('_:f2.b0', 'urn:knows', 'urn:Ada')
    """
    head, predicate, tail = row
    if head.startswith("_:"):
        head = prefix + head[2:]
    if tail.startswith("_:"):
        tail = prefix + tail[2:]
    return head, predicate, tail


def split_literals(rows: list[Triple]) -> Statements:
    """Separate the rows of a table by whether their third field is a literal.

    Args:
        rows: Rows of three fields. Plain names are allowed, so a field that begins with a
            quotation mark is a literal only if it parses as one.

    Returns:
        The rows as triples and literals, the literals in canonical form.
    """
    statements = Statements([], [])
    for row in rows:
        literal = parse_literal(row[2]) if row[2][:1] == '"' else None
        if literal is None:
            statements.triples.append(row)
        else:
            statements.literals.append((row[0], row[1], literal))
    return statements


def parse_literal(field: str) -> str | None:
    r"""Parse a field as a literal in N-Triples syntax.

    Args:
        field: The text of a field.

    Returns:
        The literal in canonical form, None if the field is not a literal.

    >>> parse_literal('"Ada"@EN'), parse_literal('"Zo\\u00eb"'), parse_literal('"Ada')
    ('"Ada"@en', '"Zoë"', None)
    """
    if _CANONICAL_LITERAL.fullmatch(field):
        return field
    if not _ANY_LITERAL.fullmatch(field):
        return None
    try:
        quads = list(parse(f"<x:> <x:> {field} .", format=RdfFormat.N_TRIPLES, lenient=True))
    except SyntaxError:
        return None
    term = quads[0].object if len(quads) == 1 else None
    return str(term) if isinstance(term, Literal) and is_iri(term.datatype.value) else None


def strip_brackets(field: str) -> str:
    """Remove the angle brackets of an IRI in a field of a table.

    Args:
        field: The text of a field.

    Returns:
        The IRI without brackets, or the field itself if it has none.

    >>> strip_brackets("<http://example.org/Ada>"), strip_brackets("Q42")
    ('http://example.org/Ada', 'Q42')
    """
    match = _BRACKETED.fullmatch(field)
    return match[1] if match else field


def is_iri_character(character: str) -> bool:
    """Tell whether N-Triples allows a character in an IRI.

    Args:
        character: A single character.

    Returns:
        Whether it may stand between angle brackets.

    >>> is_iri_character("ë"), is_iri_character("杭"), is_iri_character(">")
    (True, True, False)
    """
    return _IRI_CHARACTER.fullmatch(character) is not None


def is_iri(name: str) -> bool:
    """Tell whether N-Triples allows these characters in an IRI, absolute or relative.

    Args:
        name: An IRI without angle brackets.

    Returns:
        Whether it is allowed. Text that begins with ``_:`` is not: it could not be told from a
        blank node.

    >>> is_iri("http://example.org/Zoë"), is_iri("http://example.org/Zoë Doe"), is_iri("_:b0")
    (True, False, False)
    """
    return _IRI.fullmatch(name) is not None


def is_absolute_iri(name: str) -> bool:
    """Tell whether a name is an absolute IRI that can be written in N-Triples.

    Args:
        name: The name of an entity or a relation.

    Returns:
        Whether it has a scheme and only characters that N-Triples allows.

    >>> is_absolute_iri("http://example.org/Zoë"), is_absolute_iri("Zoë"), is_absolute_iri("_:b0")
    (True, False, False)
    """
    return _ABSOLUTE_IRI.fullmatch(name) is not None


def shorten_text(text: str, length: int = 60) -> str:
    """Quote text of a file for an error message of one line.

    Args:
        text: The text to quote.
        length: The maximum number of characters to show.

    Returns:
        The text in quotes, truncated with an ellipsis if it is longer.
    """
    return repr(text if len(text) <= length else text[: length - 1] + "…")


def format_term(term: Term) -> str:
    """Convert a term of pyoxigraph to text.

    Args:
        term: A term of a parsed statement.

    Returns:
        The name of an entity, or a literal in canonical form.

    Raises:
        InputError: The term is a quoted triple (RDF 1.2), which is not supported.
    """
    if isinstance(term, NamedNode):
        return term.value
    if isinstance(term, QuotedTriple):
        raise InputError(f"triples about triples are not supported: {shorten_text(str(term))}")
    text = str(term)
    if isinstance(term, Literal) and term.language:
        # Not every parser of pyoxigraph converts language tags to lower case.
        end = text.rindex('"')
        return text[:end] + text[end:].lower()
    return text


def format_checked_term(term: Term) -> str:
    """Convert a term that a lenient parser gave, and check the characters of its IRI.

    Args:
        term: A term of a statement that was parsed with ``lenient=True``.

    Returns:
        The same as `format_term`.

    Raises:
        InputError: The term is a quoted triple, or an IRI has a forbidden character.
    """
    name = format_term(term)
    iri = term.datatype if isinstance(term, Literal) else term
    if isinstance(iri, NamedNode) and not is_iri(iri.value):
        raise InputError(f"not an IRI: {shorten_text(str(iri))}")
    return name


def format_graph_name(term: NamedNode | BlankNode | DefaultGraph) -> str:
    """Convert the graph name of a quad to text.

    Args:
        term: The graph of a parsed quad.

    Returns:
        The name of the graph, the empty string for the default graph.
    """
    return "" if isinstance(term, DefaultGraph) else format_term(term)


def describe_syntax_error(error: SyntaxError) -> str:
    """Get the reason of a parser's error for a message of one line.

    Args:
        error: The error that pyoxigraph raised.

    Returns:
        The reason without the position, which the caller reports itself.
    """
    reason = _PARSER_LINE.sub("", _PARSER_POSITION.sub("", error.msg, count=1))
    line = " ".join(reason[: 2 * _MAX_REASON_LENGTH].split())
    return line if len(line) <= _MAX_REASON_LENGTH else line[: _MAX_REASON_LENGTH - 1] + "…"


def check_triple_nesting(line: str) -> None:
    """Refuse nested quoted triples that would overflow the stack of the parser.

    Args:
        line: A line of N-Triples or N-Quads.

    Raises:
        InputError: More than `MAX_TRIPLE_NESTING` quoted triples begin in the line.
    """
    if line.count("<<") <= MAX_TRIPLE_NESTING:
        return
    if _QUOTED_STRING.sub("", line).count("<<") > MAX_TRIPLE_NESTING:
        raise InputError(f"triples about triples are not supported: {shorten_text(line)}")


class BlankNodeLabels:
    """Names for the blank nodes of a document that are the same whenever it is read.

    The parser gives a random label to a blank node without one. It is replaced by the number of
    the node in the file.

    >>> labels = BlankNodeLabels()
    >>> labels.get_name(BlankNode("b0")), labels.get_name(BlankNode("fedcba9876543210" * 2))
    ('_:b0', '_:anon.1')
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def get_name(self, node: BlankNode) -> str:
        """Get the name of a blank node.

        Args:
            node: A blank node of the document.

        Returns:
            ``_:label`` with the label of the file, or ``_:anon.N``.
        """
        label = node.value
        if _GENERATED_LABEL.fullmatch(label):
            return f"_:anon.{self._numbers.setdefault(label, len(self._numbers) + 1)}"
        return f"_:{label}"
