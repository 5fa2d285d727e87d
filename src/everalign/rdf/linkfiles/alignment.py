"""Links as the RDF/XML of the Alignment API (David, Euzenat, Scharffe, Trojahn: SWJ 2011)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from everalign.errors import InputError
from everalign.rdf.linkfiles.rows import RDF, XSD, LinkRow, Style, as_iri, decimal
from everalign.rdf.links import LinkLine
from everalign.rdf.names import shortened
from everalign.rdf.opening import text_blocks

ALIGN = "http://knowledgeweb.semanticweb.org/heterogeneity/alignment#"
_NOT_IN_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
_SEPARATOR = " "
_SAME = {"=", "equivalence", "fr.inrialpes.exmo.align.impl.rel.EquivRelation"}


def write_alignment(rows: Sequence[LinkRow], style: Style) -> Iterator[bytes]:
    """An Alignment in which each Cell is a link, its relation "=" and its measure the score."""
    yield (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<rdf:RDF xmlns="{ALIGN}" xmlns:rdf="{RDF}">\n'
        "<Alignment>\n<xml>yes</xml>\n<level>0</level>\n<type>??</type>\n"
    ).encode()
    for tag, source in (("onto1", style.left_source), ("onto2", style.right_source)):
        if source is not None:
            about = quoteattr(_iri(source))
            yield f"<{tag}><Ontology rdf:about={about}/></{tag}>\n".encode()
    for row in rows:
        left, right = quoteattr(_iri(row.left)), quoteattr(_iri(row.right))
        measure = escape(decimal(row.score))
        yield (
            f"<map><Cell><entity1 rdf:resource={left}/><entity2 rdf:resource={right}/>"
            f'<relation>=</relation><measure rdf:datatype="{XSD}float">{measure}</measure>'
            "</Cell></map>\n"
        ).encode()
    yield b"</Alignment>\n</rdf:RDF>\n"


def read_alignment(path: Path) -> Iterator[LinkLine]:
    """The cells of an alignment whose relation is "="; another relation is refused."""
    cells = _Cells(path)
    for block in text_blocks(path):
        cells.feed(block.text)
        yield from cells.taken()
    cells.end()
    yield from cells.taken()


def _iri(name: str) -> str:
    if _NOT_IN_XML.search(as_iri(name, "the Alignment format")):
        raise InputError(f"{shortened(name)} has a character that XML does not allow")
    return name


class _Cells:
    """The cells that a parser has come across so far."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parser = expat.ParserCreate("utf-8", _SEPARATOR)
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        # No file of links needs entities of its own, and a few of them can fill the memory.
        self._parser.EntityDeclHandler = self._refuse_entity
        self._is_alignment = False
        self._cell: dict[str, str] | None = None
        self._line = 0
        self._relation: list[str] | None = None
        self._links: list[LinkLine] = []

    def feed(self, text: str, *, last: bool = False) -> None:
        try:
            self._parser.Parse(text.encode(), last)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            problem = f"not well-formed XML ({reason})"
            raise InputError(problem, path=self._path, line=error.lineno) from None

    def end(self) -> None:
        self.feed("", last=True)
        if not self._is_alignment:
            problem = "has no Alignment in it: RDF/XML is read as links in the Alignment format"
            raise InputError(problem, path=self._path)

    def taken(self) -> list[LinkLine]:
        links, self._links = self._links, []
        return links

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = _local(tag)
        self._is_alignment |= name == "Alignment"
        if name == "Cell":
            self._cell, self._line = {}, self._parser.CurrentLineNumber
        elif self._cell is not None and name in ("entity1", "entity2"):
            self._cell[name] = attributes.get(f"{RDF}{_SEPARATOR}resource", "")
        elif self._cell is not None and name == "relation":
            self._relation = []

    def _text(self, text: str) -> None:
        if self._relation is not None:
            self._relation.append(text)

    def _end(self, tag: str) -> None:
        name = _local(tag)
        if name == "relation" and self._relation is not None:
            relation, self._relation = "".join(self._relation).strip(), None
            if relation not in _SAME:
                self._refuse(f"expected the relation '=', found {shortened(relation)}")
        elif name == "Cell" and self._cell is not None:
            cell, self._cell = self._cell, None
            for entity in ("entity1", "entity2"):
                if not cell.get(entity):
                    self._refuse(f"the cell has no {entity} with an rdf:resource")
            self._links.append(LinkLine(cell["entity1"], cell["entity2"], self._line))

    def _refuse_entity(self, name: str, *_: object) -> None:
        self._refuse(f"declares the entity {shortened(name)}, which is not allowed here")

    def _refuse(self, problem: str) -> NoReturn:
        raise InputError(problem, path=self._path, line=self._parser.CurrentLineNumber)


def _local(tag: str) -> str:
    """The name of an element of the Alignment format; nothing for those of others."""
    namespace, _, name = tag.partition(_SEPARATOR)
    return name if f"{namespace.rstrip('#')}#" == ALIGN else ""
