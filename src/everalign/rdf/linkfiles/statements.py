"""Links as owl:sameAs in N-Triples and in Turtle, with RDF 1.2 annotations where asked.

A confidence is said with the property of SSSOM. A score that is no probability is said with
another one, its similarity score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, cast

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, parse
from pyoxigraph import Triple as QuotedTriple

from everalign.errors import InputError
from everalign.rdf.feeding import Feed
from everalign.rdf.linkfiles.rows import RDF, SAME_AS, SSSOM, XSD, LinkRow, Style, as_iri, decimal
from everalign.rdf.links import LinkLine
from everalign.rdf.names import is_iri, shortened
from everalign.rdf.opening import Block, opened_stream, text_blocks
from everalign.rdf.terms import reason_of, refuse_nesting

REIFIES = f"{RDF}reifies"
_OWN_PREFIXES = {"owl": "http://www.w3.org/2002/07/owl#", "sssom": SSSOM}
# A statement with the line it stands in.
_Found = tuple[Quad, int]


def same_as(left: str, right: str) -> str:
    """A link as one statement of N-Triples, without its line end."""
    return f"<{as_iri(left)}> <{SAME_AS}> <{as_iri(right)}> ."


def write_nt(rows: Sequence[LinkRow], style: Style) -> Iterator[bytes]:
    """N-Triples; an annotation is a blank node that reifies the statement."""
    for number, row in enumerate(rows, 1):
        statement = same_as(row.left, row.right)
        yield f"{statement}\n".encode()
        if style.annotate:
            name = f"_:link{number}"
            value = f'"{decimal(row.score)}"^^<{XSD}decimal>'
            yield f"{name} <{REIFIES}> <<( {statement[:-2]} )>> .\n".encode()
            yield f"{name} <{SSSOM}{_property(row, style)}> {value} .\n".encode()


def write_turtle(rows: Sequence[LinkRow], style: Style) -> Iterator[bytes]:
    """Turtle; an annotation stands behind its statement."""
    given = style.prefixes.names
    needed = {name: iri for name, iri in _OWN_PREFIXES.items() if name == "owl" or style.annotate}
    # A name that a person uses for something else is theirs.
    own = {name: iri for name, iri in needed.items() if given.get(name, iri) == iri}
    for name, iri in sorted({**own, **given}.items()):
        yield f"@prefix {name}: <{iri}> .\n".encode()
    relation = "owl:sameAs" if "owl" in own else f"<{SAME_AS}>"
    for row in rows:
        left, right = (
            style.prefixes.turtle(as_iri(name, "Turtle")) for name in (row.left, row.right)
        )
        note = _annotation(row, style, short="sssom" in own) if style.annotate else ""
        yield f"{left} {relation} {right}{note} .\n".encode()


def read_nt(path: Path) -> Iterator[LinkLine]:
    """The links of a file of N-Triples, each with its line."""
    return _links([found for block in text_blocks(path) for found in _numbered(block, path)], path)


def read_turtle(path: Path) -> Iterator[LinkLine]:
    """The links of a Turtle file, each with its line."""
    with opened_stream(path) as (_, stream):
        return _links(list(_turtle(Feed(stream, by_line=True), path)), path)


def _turtle(feed: Feed, path: Path) -> Iterator[_Found]:
    """The statements, as far as the feed finds nothing in them that is made to do harm."""
    try:
        # No more than read() is asked of the feed.
        for quad in parse(cast(IO[bytes], feed), format=RdfFormat.TURTLE, lenient=True):
            feed.finished(at_top=type(quad.subject) is NamedNode)
            yield quad, feed.line or 0
    except SyntaxError as error:
        line = error.lineno or feed.line
        raise InputError(f"not Turtle ({reason_of(error)})", path=path, line=line) from None
    except MemoryError:  # the parser has a limit of its own
        raise InputError(feed.too_long().problem, path=path, line=feed.line) from None
    except InputError as error:
        raise InputError(error.problem, path=path, line=error.line) from None


def _numbered(block: Block, path: Path) -> Iterator[_Found]:
    """The statements of a block: parsed at once where each line is one, or else line by line."""
    lines = [(number, line) for number, line in block.lines() if line and not line.startswith("#")]
    quads = [] if "<<" in block.text else _at_once(block.text)
    if len(quads) == len(lines):
        yield from ((quad, number) for quad, (number, _) in zip(quads, lines, strict=True))
        return
    for number, line in lines:
        yield from ((each, number) for each in _in_line(line, path, number))


def _at_once(text: str) -> list[Quad]:
    try:
        return list(parse(text, format=RdfFormat.N_TRIPLES, lenient=True))
    except SyntaxError:
        return []


def _in_line(line: str, path: Path, number: int) -> list[Quad]:
    try:
        refuse_nesting(line)
        # Lenient, as for triples: a stray "%" in an IRI does no harm to a name.
        return list(parse(line, format=RdfFormat.N_TRIPLES, lenient=True))
    except SyntaxError as error:
        raise InputError(f"not N-Triples ({reason_of(error)})", path=path, line=number) from None
    except InputError as error:
        raise InputError(error.problem, path=path, line=number) from None


def _property(row: LinkRow, style: Style) -> str:
    return "confidence" if style.is_confidence(row) else "similarity_score"


def _annotation(row: LinkRow, style: Style, *, short: bool) -> str:
    name = _property(row, style)
    relation = f"sssom:{name}" if short else f"<{SSSOM}{name}>"
    return f" {{| {relation} {decimal(row.score)} |}}"


def _links(found: Iterable[_Found], path: Path) -> Iterator[LinkLine]:
    found = list(found)
    reifiers = {str(quad.subject) for quad, _ in found if quad.predicate.value == REIFIES}
    for quad, line in found:
        if str(quad.subject) in reifiers:
            continue
        if quad.predicate.value != SAME_AS:
            problem = f"expected a link by owl:sameAs, found {shortened(quad.predicate.value)}"
            raise InputError(problem, path=path, line=line)
        yield LinkLine(_name(quad.subject, path, line), _name(quad.object, path, line), line)


def _name(term: NamedNode | BlankNode | Literal | QuotedTriple, path: Path, line: int) -> str:
    if isinstance(term, BlankNode):
        return str(term)
    if not isinstance(term, NamedNode):
        problem = f"expected a link between entities, found {shortened(str(term))}"
        raise InputError(problem, path=path, line=line)
    if not is_iri(term.value):
        raise InputError(f"not an IRI: {shortened(str(term))}", path=path, line=line)
    return term.value
