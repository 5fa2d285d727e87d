"""Terms of pyoxigraph → names and literals."""

from __future__ import annotations

import re
from typing import TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode
from pyoxigraph import Triple as QuotedTriple

from everalign.errors import InputError
from everalign.rdf.names import is_iri, shortened

Term: TypeAlias = NamedNode | BlankNode | Literal | QuotedTriple

_PLACE_IN_MESSAGE = re.compile(r"Parser error .*?: ")
_QUOTED = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
# The parser's stack holds some ten thousand; a graph has no use for more than a few.
DEEPEST_TRIPLE = 100
# A label that looks like one of ours must not meet it.
_RANDOM_LABEL = re.compile(r"[a-f][0-9a-f]{15,31}|anon\..*")
_LONGEST_REASON = 200
_LINE_IN_MESSAGE = re.compile(r" \(line \d+\)$")


def name_of(term: Term) -> str:
    """The name of an entity, or a literal as N-Triples writes it."""
    if isinstance(term, NamedNode):
        return term.value
    if isinstance(term, QuotedTriple):
        raise InputError(f"triples about triples are not supported: {shortened(str(term))}")
    text = str(term)
    if isinstance(term, Literal) and term.language:
        # Not every parser writes the tag in lower case.
        end = text.rindex('"')
        return text[:end] + text[end:].lower()
    return text


def checked_name(term: Term) -> str:
    """The same, where the parser did not look closely at the IRIs."""
    name = name_of(term)
    iri = term.datatype if isinstance(term, Literal) else term
    if isinstance(iri, NamedNode) and not is_iri(iri.value):
        raise InputError(f"not an IRI: {shortened(str(iri))}")
    return name


def graph_of(term: NamedNode | BlankNode | DefaultGraph) -> str:
    """The name of a graph; the default graph has an empty one."""
    return "" if isinstance(term, DefaultGraph) else name_of(term)


def reason_of(error: SyntaxError) -> str:
    """What the parser says, in one line and without the place: that is told apart from it."""
    reason = _LINE_IN_MESSAGE.sub("", _PLACE_IN_MESSAGE.sub("", error.msg, count=1))
    # It may quote the file, at any length.
    line = " ".join(reason[: 2 * _LONGEST_REASON].split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 1] + "…"


def refuse_nesting(line: str) -> None:
    """Refuse triples about triples about triples, which could exhaust the parser's stack."""
    if line.count("<<") > DEEPEST_TRIPLE and _QUOTED.sub("", line).count("<<") > DEEPEST_TRIPLE:
        raise InputError(f"triples about triples are not supported: {shortened(line)}")


class BlankLabels:
    """Names for blank nodes, the same each time that a file is read.

    A blank node without a label in the file gets one at random from the parser; it is called
    by its number in the file instead.

    >>> labels = BlankLabels()
    >>> labels.name(BlankNode("b0")), labels.name(BlankNode("fedcba9876543210" * 2))
    ('_:b0', '_:anon.1')
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def name(self, node: BlankNode) -> str:
        label = node.value
        if _RANDOM_LABEL.fullmatch(label):
            return f"_:anon.{self._numbers.setdefault(label, len(self._numbers) + 1)}"
        return f"_:{label}"
