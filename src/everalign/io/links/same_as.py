"""Links as ``owl:sameAs`` statements, and relation alignments as statements about properties.

Links are written as N-Triples and Turtle, and read from any RDF format. Each may be annotated
with its score (RDF 1.2), by the properties of SSSOM: ``sssom:confidence`` for a probability,
``sssom:similarity_score`` for any other score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias, cast

from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat, parse

from everalign.errors import InputError
from everalign.io.documents import LimitedStream
from everalign.io.filters import ReadContext
from everalign.io.formats import OpenedFile
from everalign.io.links.records import (
    LINK_PREDICATE_IRIS,
    LINK_PREDICATES,
    RDF,
    SAME_AS,
    SSSOM,
    XSD,
    ExportStyle,
    LinkLine,
    LinkRow,
    Prefixes,
    check_iri,
    find_name_problem,
    format_decimal,
)
from everalign.io.streams import TextBlock, open_stream, read_text_blocks
from everalign.io.terms import (
    Term,
    check_triple_nesting,
    describe_syntax_error,
    is_iri,
    shorten_text,
)

_REIFIES = f"{RDF}reifies"
_STATEMENT = f"{RDF}Statement"
_TURTLE_PREFIXES = {
    "owl": "http://www.w3.org/2002/07/owl#",
    "schema": "http://schema.org/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "rdf": RDF,
    "sssom": SSSOM,
}
_SUB_PROPERTY_OF = "http://www.w3.org/2000/01/rdf-schema#subPropertyOf"
_EQUIVALENT_PROPERTY = "http://www.w3.org/2002/07/owl#equivalentProperty"
_SUB_CLASS_OF = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
_EQUIVALENT_CLASS = "http://www.w3.org/2002/07/owl#equivalentClass"
_INVERSE_OF = "http://www.w3.org/2002/07/owl#inverseOf"

_NumberedQuad: TypeAlias = tuple[Quad, int]
# Left and right relation, whether the right one is inverted, P(left ⊆ right), P(right ⊆ left).
RelationInclusion: TypeAlias = tuple[str, str, bool, float, float]
# Subject, predicate and object.
_Statement: TypeAlias = tuple[str, str, str]


class WrittenStatements(NamedTuple):
    """What became of statements that were to be written."""

    written: int
    skipped: Mapping[str, int]
    """How many were left out, by the reason."""


def format_same_as(left: str, right: str, predicate: str = SAME_AS) -> str:
    """Format a link as a statement of N-Triples.

    Args:
        left: The IRI of the left entity.
        right: The IRI of the right entity.
        predicate: The IRI of the property.

    Returns:
        The statement without line end.

    Raises:
        InputError: A name is not an absolute IRI.
    """
    return f"<{check_iri(left)}> <{predicate}> <{check_iri(right)}> ."


def write_nt(rows: Sequence[LinkRow], style: ExportStyle) -> Iterator[bytes]:
    """Format links as N-Triples; an annotation is a blank node that reifies the statement.

    It does so by RDF 1.2, or as an ``rdf:Statement`` if the style asks for it.

    Args:
        rows: The links.
        style: Whether to annotate, and what the scores are.

    Yields:
        The lines of the file.

    Raises:
        InputError: A name is not an absolute IRI.
    """
    for number, row in enumerate(rows, 1):
        predicate = LINK_PREDICATES[style.predicate]
        statement = format_same_as(row.left, row.right, predicate)
        yield f"{statement}\n".encode()
        node = f"_:link{number}"
        if style.reify:
            yield f"{node} <{RDF}type> <{_STATEMENT}> .\n".encode()
            parts = ("subject", row.left), ("predicate", predicate), ("object", row.right)
            for name, iri in parts:
                yield f"{node} <{RDF}{name}> <{iri}> .\n".encode()
        elif style.annotate:
            # A triple inside of another has no dot at its end.
            yield f"{node} <{_REIFIES}> <<( {statement[:-2]} )>> .\n".encode()
        if style.reify or style.annotate:
            value = f'"{format_decimal(row.score)}"^^<{XSD}decimal>'
            yield f"{node} <{SSSOM}{_score_property(row, style)}> {value} .\n".encode()


def write_turtle(rows: Sequence[LinkRow], style: ExportStyle) -> Iterator[bytes]:
    """Format links as Turtle; an annotation follows its statement.

    Args:
        rows: The links.
        style: The prefixes, whether to annotate, and what the scores are.

    Yields:
        The lines of the file.

    Raises:
        InputError: A name is not an absolute IRI.
    """
    given = style.prefixes.names
    needed = [style.predicate.split(":")[0]]
    needed += ["sssom"] if style.annotate or style.reify else []
    needed += ["rdf"] if style.reify else []
    # A name that the user has for another namespace is not redefined.
    own = {name: _TURTLE_PREFIXES[name] for name in needed}
    prefixes = Prefixes({**own, **given})
    yield from _format_prefixes(prefixes, rows, needed)
    same_as = prefixes.format_turtle(LINK_PREDICATES[style.predicate])
    for row in rows:
        left = prefixes.format_turtle(check_iri(row.left, "Turtle"))
        right = prefixes.format_turtle(check_iri(row.right, "Turtle"))
        score_property = prefixes.format_turtle(f"{SSSOM}{_score_property(row, style)}")
        annotation = ""
        if style.annotate and not style.reify:
            annotation = f" {{| {score_property} {format_decimal(row.score)} |}}"
        yield f"{left} {same_as} {right}{annotation} .\n".encode()
        if style.reify:
            parts = {"subject": left, "predicate": same_as, "object": right}
            terms = [
                f"{prefixes.format_turtle(RDF + name)} {term}" for name, term in parts.items()
            ]
            terms.append(f"{score_property} {format_decimal(row.score)}")
            yield f"[] a {prefixes.format_turtle(_STATEMENT)}; {'; '.join(terms)} .\n".encode()


def _format_prefixes(
    prefixes: Prefixes, rows: Sequence[LinkRow], needed: Sequence[str]
) -> Iterator[bytes]:
    """Declare the prefixes that are used."""
    used = set(needed)
    for iri in (iri for row in rows for iri in (row.left, row.right)):
        name, colon, _ = prefixes.format_turtle(iri).partition(":")
        used |= {name} if colon else set()
    for name, iri in sorted(prefixes.names.items()):
        if name in used:
            yield f"@prefix {name}: <{iri}> .\n".encode()


def read_nt(path: Path) -> Iterator[LinkLine]:
    """Read links from N-Triples, with or without annotations.

    Args:
        path: The file, optionally compressed.

    Returns:
        Each link with its line number.

    Raises:
        InputError: A line is not N-Triples, or not a link.
    """
    blocks = read_text_blocks(path)
    return _select_links([quad for block in blocks for quad in _parse_block(block, path)], path)


def read_turtle(path: Path) -> Iterator[LinkLine]:
    """Read links from Turtle, with or without annotations.

    Args:
        path: The file, optionally compressed.

    Returns:
        Each link with its line number.

    Raises:
        InputError: The file is not Turtle, or has other statements.
    """
    with open_stream(path) as (_, stream):
        quads = list(_parse_turtle(LimitedStream(stream, by_line=True), path))
    return _select_links(quads, path)


def iterate_same_as(file: OpenedFile) -> Iterator[LinkLine]:
    """Read links from a file in any RDF format, without annotations and without holding them.

    Args:
        file: The open file.

    Yields:
        Each link with its line number.

    Raises:
        InputError: The format has no statements, or a statement is not a link.
    """
    if file.format.read_numbered is None:
        raise InputError(f"links cannot be read from {file.format.name}", path=file.path)
    for row, line in file.format.read_numbered(file.stream, ReadContext(file.path)):
        left, relation, right = row
        if relation not in LINK_PREDICATE_IRIS:
            raise _make_relation_error(relation, file.path, line)
        if right.startswith('"'):
            raise _make_literal_error(right, file.path, line)
        yield LinkLine(left, right, line)


def write_relations(
    relations: Iterable[RelationInclusion], stream: IO[bytes], accept: float
) -> WrittenStatements:
    """Write a relation alignment as N-Triples; what RDF cannot hold is left out.

    Inclusion in one direction is written as ``rdfs:subPropertyOf``, in both directions as
    ``owl:equivalentProperty``. An inverted relation is written only if both directions hold, as
    ``owl:inverseOf``, since RDF has no name for the inverse of a property.

    Args:
        relations: Left and right relation, whether the right one is inverted, P(left ⊆ right)
            and P(right ⊆ left).
        stream: Where to write.
        accept: The lowest probability at which an inclusion holds.

    Returns:
        The numbers of statements.

    >>> from io import BytesIO
    >>> stream = BytesIO()
    >>> write_relations([("urn:capital", "urn:city", False, 0.9, 0.2)], stream, 0.5)
    WrittenStatements(written=1, skipped={})
    >>> stream.getvalue()
    b'<urn:capital> <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> <urn:city> .\\n'
    """
    statements = (item for row in relations for item in _state_relation(*row, accept))
    return _write_statements(statements, stream)


def write_classes(
    classes: Iterable[tuple[str, str, float, float]], stream: IO[bytes], accept: float
) -> WrittenStatements:
    """Write a class alignment as N-Triples; what RDF cannot hold is left out.

    Inclusion in one direction is written as ``rdfs:subClassOf``, in both directions as
    ``owl:equivalentClass``.

    Args:
        classes: Left and right class, P(left ⊆ right) and P(right ⊆ left).
        stream: Where to write.
        accept: The lowest probability at which an inclusion holds.

    Returns:
        The numbers of statements.
    """
    statements: list[_Statement] = []
    for left, right, left_in_right, right_in_left in classes:
        if min(left_in_right, right_in_left) >= accept:
            statements.append((left, _EQUIVALENT_CLASS, right))
        elif left_in_right >= accept:
            statements.append((left, _SUB_CLASS_OF, right))
        elif right_in_left >= accept:
            statements.append((right, _SUB_CLASS_OF, left))
    return _write_statements(statements, stream)


def _write_statements(statements: Iterable[_Statement], stream: IO[bytes]) -> WrittenStatements:
    written = 0
    skipped: Counter[str] = Counter()
    for subject, predicate, target in statements:
        problem = find_name_problem(subject, target)
        if problem is None:
            stream.write(f"<{subject}> <{predicate}> <{target}> .\n".encode())
            written += 1
        else:
            skipped[problem] += 1
    return WrittenStatements(written, dict(skipped))


def _state_relation(
    left: str,
    right: str,
    is_inverse: bool,
    left_in_right: float,
    right_in_left: float,
    accept: float,
) -> Iterator[_Statement]:
    left_included, right_included = left_in_right >= accept, right_in_left >= accept
    if left_included and right_included:
        yield left, _INVERSE_OF if is_inverse else _EQUIVALENT_PROPERTY, right
    elif left_included and not is_inverse:
        yield left, _SUB_PROPERTY_OF, right
    elif right_included and not is_inverse:
        yield right, _SUB_PROPERTY_OF, left


def _score_property(row: LinkRow, style: ExportStyle) -> str:
    return "confidence" if style.is_confidence(row) else "similarity_score"


def _parse_block(block: TextBlock, path: Path) -> Iterator[_NumberedQuad]:
    """Parse a block at once if each line has a statement, or else line by line."""
    lines = [(number, line) for number, line in block.lines() if line and not line.startswith("#")]
    # Quoted triples go line by line: their nesting is checked before pyoxigraph sees them, since
    # it overflows its stack.
    quads = [] if "<<" in block.text else _parse_text(block.text)
    # Only then does each line have one statement, and statements get their lines by position.
    if len(quads) == len(lines):
        yield from ((quad, number) for quad, (number, _) in zip(quads, lines, strict=True))
        return
    for number, line in lines:
        yield from ((quad, number) for quad in _parse_line(line, path, number))


def _parse_text(text: str) -> list[Quad]:
    try:
        return list(parse(text, format=RdfFormat.N_TRIPLES, lenient=True))
    except SyntaxError:
        return []


def _parse_line(line: str, path: Path, number: int) -> list[Quad]:
    try:
        check_triple_nesting(line)
        # Lenient, as for graphs: names are only compared.
        return list(parse(line, format=RdfFormat.N_TRIPLES, lenient=True))
    except SyntaxError as error:
        problem = f"not a line of N-Triples ({describe_syntax_error(error)}): {shorten_text(line)}"
        raise InputError(problem, path=path, line=number) from None
    except InputError as error:
        raise InputError(error.problem, path=path, line=number) from None


def _parse_turtle(stream: LimitedStream, path: Path) -> Iterator[_NumberedQuad]:
    try:
        # parse() only calls read().
        for quad in parse(cast(IO[bytes], stream), format=RdfFormat.TURTLE, lenient=True):
            stream.finish_statement(at_top=type(quad.subject) is NamedNode)
            yield quad, stream.line or 0
    except SyntaxError as error:
        problem = f"not Turtle ({describe_syntax_error(error)})"
        raise InputError(problem, path=path, line=error.lineno or stream.line) from None
    except MemoryError:  # pyoxigraph has a limit of its own for the length of a token
        problem = stream.make_length_error().problem
        raise InputError(problem, path=path, line=stream.line) from None
    except InputError as error:
        raise InputError(error.problem, path=path, line=error.line) from None


def _select_links(quads: list[_NumberedQuad], path: Path) -> Iterator[LinkLine]:
    """Select the links; statements about their reifiers are annotations and ignored."""
    # All statements are needed at once, since an annotation may come before its reifier.
    reifiers = {str(quad.subject) for quad, _ in quads if _is_reifier(quad)}
    for quad, line in quads:
        if str(quad.subject) in reifiers:
            continue
        if quad.predicate.value not in LINK_PREDICATE_IRIS:
            raise _make_relation_error(quad.predicate.value, path, line)
        left, right = (_get_name(term, path, line) for term in (quad.subject, quad.object))
        yield LinkLine(left, right, line)


def _is_reifier(quad: Quad) -> bool:
    if quad.predicate.value == f"{RDF}type":
        return isinstance(quad.object, NamedNode) and quad.object.value == _STATEMENT
    return quad.predicate.value == _REIFIES


def _get_name(term: Term, path: Path, line: int) -> str:
    if isinstance(term, BlankNode):
        return str(term)
    if not isinstance(term, NamedNode):
        raise _make_literal_error(str(term), path, line)
    if not is_iri(term.value):
        raise InputError(f"not an IRI: {shorten_text(str(term))}", path=path, line=line)
    return term.value


def _make_relation_error(relation: str, path: Path, line: int) -> InputError:
    problem = f"expected a link by owl:sameAs, found {shorten_text(relation)}"
    return InputError(problem, path=path, line=line)


def _make_literal_error(term: str, path: Path, line: int) -> InputError:
    problem = f"expected a link between entities, found {shorten_text(term)}"
    return InputError(problem, path=path, line=line)
