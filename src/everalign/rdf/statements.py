"""What a part of a file says: triples between entities, and triples with a literal."""

from __future__ import annotations

from typing import NamedTuple

from everalign.rdf.names import Triple


class Statements(NamedTuple):
    """Some statements of a file, in its order within each list.

    A literal stands as N-Triples writes it, and the same literal always has the same text:
    ``xsd:string`` is left away, a language tag is in lower case, and only what must be escaped is.

    >>> Statements([("urn:Ada", "urn:knows", "urn:Bo")], [("urn:Ada", "urn:name", '"Ada"@en')])
    ... # doctest: +ELLIPSIS
    Statements(triples=[('urn:Ada', ...)], literals=[(..., '"Ada"@en')], removed=False)
    """

    triples: list[Triple]
    """Head, relation, tail."""

    literals: list[Triple]
    """Entity, attribute, literal."""

    removed: bool = False
    """Whether the file takes these away, instead of adding them."""


def sorted_out(rows: list[Triple], removed: bool = False) -> Statements:
    """Triples and literals apart: no name of an RDF format begins with a quotation mark."""
    triples = [row for row in rows if row[2][0] != '"']
    if len(triples) == len(rows):
        return Statements(rows, [], removed)
    return Statements(triples, [row for row in rows if row[2][0] == '"'], removed)
