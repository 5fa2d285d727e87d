"""RDF/XML on its way to the parser, read along by the XML parser of the standard library.

That one knows the line of a fault and whether the document is complete, and it tells of what
the RDF parser would follow without measure: entities made of entities, elements nested in
elements, attributes by the thousand. Short entities for namespaces, as OWL files have them, are
accepted.
"""

from __future__ import annotations

import io
from typing import NoReturn
from xml.parsers import expat

from everalign.errors import InputError
from everalign.rdf.feeding import Feed

LONGEST_ENTITY = 1000
MOST_ENTITIES = 1000
DEEPEST_ELEMENT = 500
# The RDF parser compares every attribute of an element with every other.
MOST_ATTRIBUTES = 5000


class XmlFeed(Feed):
    """A stream of RDF/XML for a parser."""

    def __init__(self, stream: io.BufferedIOBase, *, by_line: bool) -> None:
        super().__init__(stream, by_line=by_line)
        self._depth = 0
        self._entities = 0
        self._longest = 0
        self._empty = True
        self._complete = False
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._entity

    def _check(self, chunk: bytes) -> None:
        self._empty = self._empty and not chunk.strip()
        if self._empty or self._complete:
            return
        self._complete = not chunk
        try:
            self._parser.Parse(chunk, self._complete)
        except expat.ExpatError as error:
            reason = expat.errors.messages[error.code]
            raise InputError(f"not RDF/XML ({reason})", line=error.lineno) from None
        super()._check(chunk)

    def _weight(self, chunk: bytes) -> int:
        # Every reference may become the longest entity that there is.
        return len(chunk) + self._longest * chunk.count(b"&")

    def _count_open(self, chunk: bytes) -> None:
        """Elements are counted where they begin and end."""

    def _start(self, _name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if len(attributes) > MOST_ATTRIBUTES:
            self._refuse(f"an element has more than {MOST_ATTRIBUTES} attributes")
        if self._depth > DEEPEST_ELEMENT:
            self._refuse("elements are nested too deeply")

    def _end(self, _name: str) -> None:
        self._depth -= 1

    def _entity(
        self,
        name: str,
        is_parameter: bool,
        value: str | None,
        _base: str | None,
        _system: str | None,
        _public: str | None,
        _notation: str | None,
    ) -> None:
        self._entities += 1
        if value is None or is_parameter:
            self._refuse(f"the entity {name!r} points outside of the file, which is not followed")
        if "&" in value or len(value) > LONGEST_ENTITY or self._entities > MOST_ENTITIES:
            self._refuse(f"the entity {name!r} is not a short text of its own: not expanded")
        self._longest = max(self._longest, len(value))

    def _refuse(self, problem: str) -> NoReturn:
        raise InputError(problem, line=self._parser.CurrentLineNumber)
