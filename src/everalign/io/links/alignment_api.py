"""Links as the RDF/XML of the Alignment API.

J. David, J. Euzenat, F. Scharffe, C. Trojahn dos Santos: The Alignment API 4.0. Semantic Web 2(1),
2011.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from everalign.errors import InputError
from everalign.io.links.records import (
    RDF,
    XSD,
    ExportStyle,
    LinkLine,
    LinkRow,
    check_iri,
    find_rdf_problem,
    format_decimal,
)
from everalign.io.streams import read_text_blocks
from everalign.io.terms import shorten_text

ALIGNMENT_NAMESPACE = "http://knowledgeweb.semanticweb.org/heterogeneity/alignment#"
# Characters that IRIs may have and XML 1.0 may not.
_FORBIDDEN_IN_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
# expat puts this between the namespace and the local name of an element.
_NAMESPACE_SEPARATOR = " "
# The ways in which alignment files write equivalence.
_EQUIVALENCE = {"=", "equivalence", "fr.inrialpes.exmo.align.impl.rel.EquivRelation"}


def write_alignment(rows: Sequence[LinkRow], style: ExportStyle) -> Iterator[bytes]:
    """Format links as an alignment: a cell for each, its relation "=", its measure the score.

    Args:
        rows: The links.
        style: The IRIs of the two graphs.

    Yields:
        The lines of the file.

    Raises:
        InputError: A name is not an absolute IRI, or has a character that XML forbids.
    """
    # Level 0: entities are named by IRIs. Type "??": no cardinality is claimed.
    yield (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<rdf:RDF xmlns="{ALIGNMENT_NAMESPACE}" xmlns:rdf="{RDF}">\n'
        "<Alignment>\n<xml>yes</xml>\n<level>0</level>\n<type>??</type>\n"
    ).encode()
    for tag, source in (("onto1", style.left_source), ("onto2", style.right_source)):
        if source is not None:
            about = quoteattr(_check_xml_iri(source))
            yield f"<{tag}><Ontology rdf:about={about}/></{tag}>\n".encode()
    for row in rows:
        left, right = quoteattr(_check_xml_iri(row.left)), quoteattr(_check_xml_iri(row.right))
        measure = escape(format_decimal(row.score))
        yield (
            f"<map><Cell><entity1 rdf:resource={left}/><entity2 rdf:resource={right}/>"
            f'<relation>=</relation><measure rdf:datatype="{XSD}float">{measure}</measure>'
            "</Cell></map>\n"
        ).encode()
    yield b"</Alignment>\n</rdf:RDF>\n"


def read_alignment(path: Path) -> Iterator[LinkLine]:
    """Read the cells of an alignment.

    Args:
        path: The file, optionally compressed.

    Yields:
        Each link with the line number of its cell.

    Raises:
        InputError: The file is not an alignment, or a cell has another relation than
            equivalence.
    """
    parser = _AlignmentParser(path)
    for block in read_text_blocks(path):
        yield from parser.parse(block.text)
    yield from parser.finish()


def find_xml_problem(row: LinkRow) -> str | None:
    """Find out why a link cannot be a cell of an alignment.

    Args:
        row: The link.

    Returns:
        The problem; None if there is none.
    """
    if _FORBIDDEN_IN_XML.search(row.left + row.right):
        return "a name has a character that XML does not allow"
    return find_rdf_problem(row)


def _check_xml_iri(name: str) -> str:
    if _FORBIDDEN_IN_XML.search(check_iri(name, "the Alignment format")):
        raise InputError(f"{shorten_text(name)} has a character that XML does not allow")
    return name


class _AlignmentParser:
    """Collects the cells of an alignment while expat parses it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parser = expat.ParserCreate("utf-8", _NAMESPACE_SEPARATOR)
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start_element
        self._parser.EndElementHandler = self._end_element
        self._parser.CharacterDataHandler = self._add_text
        # No alignment needs entities of its own, and nested ones can fill the memory.
        self._parser.EntityDeclHandler = self._refuse_entity
        self._found_alignment = False
        self._cell: dict[str, str] | None = None
        self._cell_line = 0
        self._relation: list[str] | None = None
        self._links: list[LinkLine] = []

    def parse(self, text: str, *, is_final: bool = False) -> list[LinkLine]:
        """Parse some text, and get the cells that are complete."""
        self._links = []
        try:
            self._parser.Parse(text.encode(), is_final)
        except expat.ExpatError as error:
            problem = f"not well-formed XML ({expat.ErrorString(error.code)})"
            raise InputError(problem, path=self._path, line=error.lineno) from None
        return self._links

    def finish(self) -> list[LinkLine]:
        links = self.parse("", is_final=True)
        if not self._found_alignment:
            problem = (
                "no Alignment element found: links in RDF/XML must be in the Alignment format"
            )
            raise InputError(problem, path=self._path)
        return links

    def _start_element(self, tag: str, attributes: dict[str, str]) -> None:
        name = _get_local_name(tag)
        self._found_alignment |= name == "Alignment"
        if name == "Cell":
            self._cell, self._cell_line = {}, self._parser.CurrentLineNumber
        elif self._cell is not None and name in ("entity1", "entity2"):
            self._cell[name] = attributes.get(f"{RDF}{_NAMESPACE_SEPARATOR}resource", "")
        elif self._cell is not None and name == "relation":
            self._relation = []

    def _add_text(self, text: str) -> None:
        if self._relation is not None:
            self._relation.append(text)

    def _end_element(self, tag: str) -> None:
        name = _get_local_name(tag)
        if name == "relation" and self._relation is not None:
            relation, self._relation = "".join(self._relation).strip(), None
            if relation not in _EQUIVALENCE:
                self._raise_error(f"expected the relation '=', found {shorten_text(relation)}")
        elif name == "Cell" and self._cell is not None:
            cell, self._cell = self._cell, None
            for entity in ("entity1", "entity2"):
                if not cell.get(entity):
                    self._raise_error(f"the cell has no {entity} with an rdf:resource")
            self._links.append(LinkLine(cell["entity1"], cell["entity2"], self._cell_line))

    def _refuse_entity(self, name: str, *_: object) -> None:
        self._raise_error(f"the declaration of the entity {shorten_text(name)} is not allowed")

    def _raise_error(self, problem: str) -> NoReturn:
        raise InputError(problem, path=self._path, line=self._parser.CurrentLineNumber)


def _get_local_name(tag: str) -> str:
    """Get the local name of an element of the Alignment format, empty for other elements."""
    namespace, _, name = tag.partition(_NAMESPACE_SEPARATOR)
    # Some files have the namespace without "#".
    return name if f"{namespace.rstrip('#')}#" == ALIGNMENT_NAMESPACE else ""
