"""Which relations mean the same → statements about them, as N-Triples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, TypeAlias

from everalign.rdf.linkfiles.rows import as_iri

SUB_PROPERTY = "http://www.w3.org/2000/01/rdf-schema#subPropertyOf"
EQUIVALENT = "http://www.w3.org/2002/07/owl#equivalentProperty"
INVERSE = "http://www.w3.org/2002/07/owl#inverseOf"

# left, right, whether right is read backwards, how much of left is in right, and of right in left
Inclusion: TypeAlias = tuple[str, str, bool, float, float]


def write_relations(relations: Iterable[Inclusion], stream: IO[bytes], accept: float) -> None:
    """Write what holds for relations of which at least the share `accept` is in the other.

    One direction makes ``rdfs:subPropertyOf``, both make ``owl:equivalentProperty``. A relation
    read backwards has a statement, ``owl:inverseOf``, only where both directions hold. Where one
    of the names cannot be written, nothing is.

    >>> from io import BytesIO
    >>> stream = BytesIO()
    >>> write_relations([("urn:capital", "urn:city", False, 0.9, 0.2)], stream, 0.5)
    >>> stream.getvalue()
    b'<urn:capital> <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> <urn:city> .\\n'
    """
    stream.writelines([line for row in relations for line in _lines(*row, accept)])


def _lines(
    left: str,
    right: str,
    backwards: bool,
    left_in_right: float,
    right_in_left: float,
    accept: float,
) -> Iterator[bytes]:
    to_right, to_left = left_in_right >= accept, right_in_left >= accept
    if to_right and to_left:
        yield _statement(left, INVERSE if backwards else EQUIVALENT, right)
    elif to_right and not backwards:
        yield _statement(left, SUB_PROPERTY, right)
    elif to_left and not backwards:
        yield _statement(right, SUB_PROPERTY, left)


def _statement(subject: str, relation: str, target: str) -> bytes:
    return f"<{as_iri(subject)}> <{relation}> <{as_iri(target)}> .\n".encode()
