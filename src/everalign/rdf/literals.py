"""Literals in tables, which write them as N-Triples does or leave names as they are."""

from __future__ import annotations

import re

from pyoxigraph import Literal, RdfFormat, parse

from everalign.rdf.names import IN_IRI, XSD_STRING, Triple, is_iri
from everalign.rdf.statements import Statements

# A literal that is written as pyoxigraph would write it again.
PLAIN_LITERAL = (
    r'"[^"\\\x00-\x1f\x7f\ufffe\uffff]*"'
    rf"(?:@[a-z]+(?:-[a-z0-9]+)*|\^\^<(?!_:|{re.escape(XSD_STRING)}>){IN_IRI}+>)?"
)
_IS_PLAIN = re.compile(PLAIN_LITERAL)
_LOOKS_LIKE_LITERAL = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*"(?:@[A-Za-z0-9-]+|\^\^<[^<>]*>)?', re.DOTALL
)


def as_literal(field: str) -> str | None:
    """The field as N-Triples writes it, if it is a literal in quotation marks.

    >>> as_literal('"Ada"@EN'), as_literal('"Zo\\\\u00eb"'), as_literal('Ada'), as_literal('"Ada')
    ('"Ada"@en', '"Zoë"', None, None)
    """
    if _IS_PLAIN.fullmatch(field):
        return field
    if not _LOOKS_LIKE_LITERAL.fullmatch(field):
        return None
    try:
        quads = list(parse(f"<x:> <x:> {field} .", format=RdfFormat.N_TRIPLES, lenient=True))
    except SyntaxError:
        return None
    term = quads[0].object if len(quads) == 1 else None
    return str(term) if isinstance(term, Literal) and is_iri(term.datatype.value) else None


def with_literals(rows: list[Triple]) -> Statements:
    """Rows of a table, those with a literal as tail put apart."""
    statements = Statements([], [])
    for row in rows:
        literal = as_literal(row[2]) if row[2][:1] == '"' else None
        if literal is None:
            statements.triples.append(row)
        else:
            statements.literals.append((row[0], row[1], literal))
    return statements
