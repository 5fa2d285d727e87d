"""Entities, relations and literals as the API shows them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Literal
from urllib.parse import unquote

from everalign._cache import LimitedCache
from everalign.io import Prefixes
from everalign.literals import parse_term
from everalign.service.alignment import ServedAlignment
from everalign.service.models import Entity, Relation, SideName, Value
from everalign.state.snapshots import SIDES
from everalign.version_reader import VersionReader

MAX_URL_LENGTH = 2000
_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"{}|\\^`\x00-\x20]+\Z", re.IGNORECASE)
_RIGHT_TO_LEFT = ("R", "AL")


# Entities of a version that are kept for later requests: some pages show hundreds.
MAX_KEPT_ENTITIES = 20_000


class Namer:
    """Gives entities their labels, CURIEs and addresses; what was read last is kept.

    Args:
        served: The alignment.
        reader: The version that a request reads.
        with_labels: Whether to read labels; without, entities are shown by their names.
    """

    def __init__(
        self, served: ServedAlignment, reader: VersionReader, *, with_labels: bool = True
    ) -> None:
        self._reader = reader
        self._with_labels = with_labels
        self._languages = served.settings.languages
        # Labels follow from the version, so requests share them; here are those of the request.
        self._entities: dict[tuple[SideName, str], Entity] = {}
        self._kept: LimitedCache[tuple[SideName, int], Entity] = served.remember(
            "entities", reader.digest, lambda: LimitedCache(MAX_KEPT_ENTITIES)
        )
        self._relations: dict[tuple[str, bool], Relation] = served.remember(
            "relation names", reader.digest, dict
        )
        self._prefixes: Prefixes = served.remember(
            "prefixes", reader.digest, lambda: reader.session.prefixes
        )

    def load_names(self, side: SideName, names: Iterable[str]) -> None:
        """Read what is shown of several entities at once.

        Args:
            side: The graph.
            names: Their names; those that the graph does not have do not count.
        """
        wanted = [name for name in dict.fromkeys(names) if (side, name) not in self._entities]
        if wanted:
            found = self._reader.names.find_entities(side, wanted)
            self._load(side, {number: name for name, number in found.items()})

    def load_ids(self, side: SideName, entities: Iterable[int]) -> dict[int, Entity]:
        """Read what is shown of several entities.

        Args:
            side: The graph.
            entities: Their ids.

        Returns:
            The entities by id.
        """
        names = self._reader.names.read(side, "entity", entities)
        missing = {
            number: name for number, name in names.items() if (side, name) not in self._entities
        }
        self._load(side, missing)
        return {number: self._entities[side, name] for number, name in names.items()}

    def get_entity(self, side: SideName, name: str) -> Entity:
        """Describe an entity.

        Args:
            side: The graph.
            name: Its name.

        Returns:
            The entity; its label is its name if the graph does not have it.
        """
        if (side, name) not in self._entities:
            self.load_names(side, [name])
        if (side, name) not in self._entities:
            self._entities[side, name] = self._describe(side, name, name, "")
        return self._entities[side, name]

    def get_relation(self, name: str, *, inverse: bool = False) -> Relation:
        """Describe a relation.

        Args:
            name: Its name.
            inverse: Whether it is read from tail to head.

        Returns:
            The relation.
        """
        if (name, inverse) not in self._relations:
            curie = self._prefixes.format_curie(name) or ""
            self._relations[name, inverse] = Relation(
                name=name, label=shorten_iri(name), curie=curie, inverse=inverse
            )
        return self._relations[name, inverse]

    def get_value(self, side: SideName, name: str, *, is_entity: bool) -> Value:
        """Describe a value of a fact.

        Args:
            side: The graph.
            name: The name of an entity, or a literal as N-Triples writes it.
            is_entity: Which of both.

        Returns:
            The value.
        """
        if is_entity:
            entity = self.get_entity(side, name)
            return Value(
                text=entity.label,
                lang=entity.lang,
                dir=entity.dir,
                url=entity.url,
                name=name,
                is_entity=True,
            )
        term = parse_term(name)
        return Value(
            text=term.text,
            lang=term.language or None,
            dir=find_direction(term.text),
            url=find_url(term.text),
            name=name,
            is_entity=False,
        )

    def _load(self, side: SideName, names: dict[int, str]) -> None:
        def read(keys: list[tuple[SideName, int]]) -> dict[tuple[SideName, int], Entity]:
            ids = [number for _, number in keys]
            index = self._reader.labels
            labels = index.read_tagged_labels(SIDES.index(side), ids, self._languages)
            return {
                (side, number): self._describe(
                    side, names[number], *labels.get(number, (names[number], ""))
                )
                for number in ids
            }

        if not self._with_labels:
            for name in names.values():
                self._entities[side, name] = self._describe(side, name, shorten_iri(name), "")
            return
        found = self._kept.read_many(((side, number) for number in names), read)
        self._entities.update(((side, entity.name), entity) for entity in found.values())

    def _describe(self, side: SideName, name: str, label: str, language: str) -> Entity:
        return Entity(
            side=side,
            name=name,
            label=label,
            curie=self._prefixes.format_curie(name) or "",
            lang=language or None,
            dir=find_direction(label),
            url=find_url(name),
        )


def find_direction(text: str) -> Literal["ltr", "rtl"]:
    """Find the direction in which a text is written.

    Args:
        text: Any text.

    Returns:
        "rtl" if its first letter belongs to a script that is written from right to left.

    Example:
        >>> find_direction("(القاهرة)"), find_direction("京都"), find_direction("123")
        ('rtl', 'ltr', 'ltr')
    """
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in _RIGHT_TO_LEFT:
            return "rtl"
        if kind == "L":
            return "ltr"
    return "ltr"


def find_url(name: str) -> str | None:
    """Find the address that a name may be linked to.

    Args:
        name: Any name.

    Returns:
        The name if it is an address of the web; None otherwise.

    Example:
        >>> find_url("http://example.org/a"), find_url("javascript:alert(1)"), find_url("_:b0")
        ('http://example.org/a', None, None)
    """
    return name if len(name) <= MAX_URL_LENGTH and _WEB_ADDRESS.match(name) else None


def shorten_iri(iri: str) -> str:
    """Shorten an IRI to its last part.

    Args:
        iri: Any name.

    Returns:
        What people read; the name itself if it has no parts.

    Example:
        >>> shorten_iri("http://example.org/onto#birthPlace"), shorten_iri("in")
        ('birthPlace', 'in')
    """
    last = re.split(r"[/#]", iri.rstrip("/#"))[-1]
    return unquote(last) or iri
