"""Dumps of Wikidata, reduced to what describes entities.

The RDF of Wikidata says many things twice: labels under three predicates, claims as direct
claims and as statement nodes with qualifiers, references and values. What is kept are direct
claims, and labels, aliases and descriptions of items. Left out are

- statement, reference and value nodes, and the predicates that lead to them;
- normalised claims, which repeat identifiers as IRIs;
- ``skos:prefLabel`` and ``schema:name`` that repeat a label;
- what the ontology of Wikibase says, such as versions and counts;
- properties, which are schema;
- site links: an article is no entity, but its IRI has the name of one.
"""

from __future__ import annotations

import re

from everalign.io.terms import Statements, Triple

_WIKIDATA = "http://www.wikidata.org/"
_ENTITY = f"{_WIKIDATA}entity/"
_PROPERTY = f"{_WIKIDATA}prop/"
_DIRECT = f"{_PROPERTY}direct/"
_WIKIBASE = "http://wikiba.se/ontology#"
_SCHEMA = "http://schema.org/"
# Documents about entities; older dumps have them without TLS.
_DATA_NODES = tuple(f"{scheme}://www.wikidata.org/wiki/Special:" for scheme in ("https", "http"))
_INNER_NODES = (
    f"{_ENTITY}statement/",
    f"{_WIKIDATA}reference/",
    f"{_WIKIDATA}value/",
    *_DATA_NODES,
)
_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_REPEATED_LABELS = ("http://www.w3.org/2004/02/skos/core#prefLabel", f"{_SCHEMA}name")
_PROPERTY_ENTITY = re.compile(rf"{re.escape(_ENTITY)}P\d+")
# What site links lead to.
_ARTICLE = re.compile(
    r"https?://[\w.-]+\.(?:wikipedia|wiktionary|wikiquote|wikibooks|wikisource|wikinews|wikiversity"
    r"|wikivoyage|wikimedia|mediawiki)\.org/"
)


def is_wikidata(batch: Statements) -> bool:
    """Tell whether statements are from a dump of Wikidata.

    Args:
        batch: The first statements of a file.

    Returns:
        Whether there is a direct claim, a statement node or a document about an entity.

    >>> q42, p31 = "http://www.wikidata.org/entity/Q42", "http://www.wikidata.org/prop/direct/P31"
    >>> is_wikidata(Statements([(q42, p31, "http://www.wikidata.org/entity/Q5")], []))
    True
    """
    return any(
        head.startswith((_ENTITY, *_INNER_NODES))
        and (predicate.startswith((_PROPERTY, _WIKIBASE)) or head.startswith(_INNER_NODES))
        for rows in (batch.triples, batch.literals)
        for head, predicate, _ in rows
    )


class WikidataFilter:
    """Keeps direct claims, labels, aliases and descriptions; what is not of Wikidata is kept.

    >>> q42 = "http://www.wikidata.org/entity/Q42"
    >>> label = (q42, "http://www.w3.org/2000/01/rdf-schema#label", '"Douglas Adams"@en')
    >>> name = (q42, "http://schema.org/name", '"Douglas Adams"@en')
    >>> WikidataFilter().apply(Statements([], [label, name])).literals == [label]
    True
    """

    def __init__(self) -> None:
        self._head = ""
        self._labels: set[str] = set()

    def apply(self, batch: Statements) -> Statements:
        """Remove what does not describe an entity.

        Args:
            batch: A batch of statements, in the order of the file.

        Returns:
            The statements to keep.
        """
        triples, literals, removed = batch
        return Statements(
            [row for row in triples if _keeps_triple(row)],
            [row for row in literals if self._keeps_literal(row)],
            removed,
        )

    def _keeps_literal(self, row: Triple) -> bool:
        head, predicate, literal = row
        if not _keeps_head(head, predicate):
            return False
        if head != self._head:
            self._head = head
            self._labels.clear()
        if predicate == _LABEL:
            self._labels.add(literal)
        # Only what repeats a label is left out: an extract may have one of the predicates alone.
        return predicate not in _REPEATED_LABELS or literal not in self._labels


def _keeps_triple(row: Triple) -> bool:
    return _keeps_head(row[0], row[1]) and not row[2].startswith((*_INNER_NODES, _WIKIBASE))


def _keeps_head(head: str, predicate: str) -> bool:
    if head.startswith(_INNER_NODES) or predicate.startswith(_WIKIBASE):
        return False
    if predicate.startswith(_PROPERTY):
        return predicate.startswith(_DIRECT) and not _PROPERTY_ENTITY.fullmatch(head)
    return not (_ARTICLE.match(head) or _PROPERTY_ENTITY.fullmatch(head))
