"""Candidates for a reconciliation query: by what the alignment knows, and by label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rapidfuzz.fuzz import ratio

from everalign.errors import InputError
from everalign.methods import ExplainableMethod
from everalign.search import fold_text
from everalign.service.alignment import ServedAlignment
from everalign.service.models import Entity, SideName
from everalign.service.naming import Namer, shorten_iri
from everalign.state.snapshots import SIDES
from everalign.summary import RDF_TYPE
from everalign.types import CandidateExplanation
from everalign.version_reader import VersionReader

# Entities of the other graph with the queried label, whose candidates are looked at.
MAX_ORIGINS = 3
MAX_VALUES = 50


@dataclass(frozen=True)
class PropertyValue:
    """A value that a candidate should have.

    Args:
        name: The relation or attribute.
        values: Values, of which one is enough.
    """

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Query:
    """A reconciliation query.

    Args:
        text: A label, or the IRI of an entity of either graph.
        types: Classes of candidates; empty for any.
        type_rule: "any", "all", or "should" if classes only change the score.
        properties: Values that candidates should have.
        limit: The most candidates.
    """

    text: str = ""
    types: tuple[str, ...] = ()
    type_rule: str = "should"
    properties: tuple[PropertyValue, ...] = ()
    limit: int = 10


@dataclass
class Match:
    """A candidate.

    Args:
        name: Its name.
        is_link: Whether a link in force leads to it.
        confidence: The confidence of the alignment; None if it knows nothing.
        features: Evidence by name.
        types: Its classes.
        score: From 0 to 100.
    """

    name: str
    is_link: bool = False
    confidence: float | None = None
    features: dict[str, float | bool] = field(default_factory=dict)
    types: tuple[str, ...] = ()
    score: float = 0.0


class Reconciler:
    """Finds entities of one graph.

    Args:
        served: The alignment.
        reader: The version.
        side: The graph.
    """

    def __init__(self, served: ServedAlignment, reader: VersionReader, side: SideName) -> None:
        self._reader = reader
        self._side = side
        self._other: SideName = "right" if side == "left" else "left"
        self.namer = Namer(served, reader)

    def find(self, query: Query) -> list[Match]:
        """Find candidates.

        Args:
            query: The query.

        Returns:
            Candidates, best first.
        """
        matches: dict[str, Match] = {}
        for name in self._find_origins(query.text):
            self._add_aligned(matches, name)
        self._add_labelled(matches, query)
        self.namer.load_names(self._side, matches)
        found = [self._rate(match, query) for match in matches.values()]
        if query.type_rule != "should":
            found = [match for match in found if self._has_types(match, query)]
        found.sort(key=lambda match: (-match.score, match.name))
        return found[: query.limit]

    def get_entity(self, name: str) -> Entity:
        """Describe an entity of the graph.

        Args:
            name: Its name.

        Returns:
            The entity.
        """
        return self.namer.get_entity(self._side, name)

    def list_types(self, name: str) -> tuple[str, ...]:
        """List the classes of an entity of the graph.

        Args:
            name: Its name.

        Returns:
            Names of classes.
        """
        return tuple(self.list_values(name, RDF_TYPE))

    def list_values(self, name: str, property_name: str) -> list[str]:
        """List the values of an entity for a relation or an attribute.

        Args:
            name: The entity.
            property_name: The relation or attribute.

        Returns:
            Names of entities, or literals as N-Triples writes them.
        """
        entity = self._reader.names.find_entity(self._side, name)
        if entity is None:
            return []
        index, facts = SIDES.index(self._side), self._reader.session.facts
        vocabulary = self._reader.session.vocabulary(self._side)
        found: list[str] = []
        relation = vocabulary.relations.find(property_name)
        if relation is not None:
            rows = facts.list_facts(index, "triples", [entity])
            rows = rows[(rows[:, 0] == entity) & (rows[:, 1] == relation)][:MAX_VALUES]
            names = self._reader.names.read(self._side, "entity", rows[:, 2].tolist())
            found += [names[number] for number in rows[:, 2].tolist()]
        attribute = vocabulary.attributes.find(property_name)
        if attribute is not None:
            rows = facts.list_facts(index, "literals", [entity])
            rows = rows[rows[:, 1] == attribute][:MAX_VALUES]
            names = self._reader.names.read(self._side, "literal", rows[:, 2].tolist())
            found += [names[number] for number in rows[:, 2].tolist()]
        return found

    def _find_origins(self, text: str) -> list[str]:
        """Entities of the other graph that a text names exactly."""
        if not text.strip():
            return []
        if self._reader.names.find_entity(self._other, text) is not None:
            return [text]
        index = SIDES.index(self._other)
        count = self._reader.names.count_entities(self._other)
        keys = [
            key.entity
            for key in self._reader.labels.find_equal(text)
            if key.side == index and key.entity < count
        ]
        return list(self._reader.names.read(self._other, "entity", keys[:MAX_ORIGINS]).values())

    def _add_aligned(self, matches: dict[str, Match], origin: str) -> None:
        """Add the links and candidates of an entity of the other graph."""
        side_index = SIDES.index(self._other)
        number = self._reader.names.find_entity(self._other, origin)
        sides: list[list[int]] = [[], []]
        sides[side_index] = [] if number is None else [number]
        rows = self._reader.pager.read_of_entities(*sides)
        for link in self._reader.name_links(rows):
            name = link.right if self._side == "right" else link.left
            match = matches.setdefault(name, Match(name))
            match.is_link, match.confidence = True, link.score
        if not isinstance(self._reader.method, ExplainableMethod):
            return
        for row in self._explain(origin):
            name = row.right if self._side == "right" else row.left
            match = matches.setdefault(name, Match(name))
            match.confidence = max(match.confidence or 0.0, row.confidence)
            match.features |= {
                "support": float(row.support),
                "evidence_count": float(row.evidence_count),
            }
            groups = {part.group: part.value for part in row.contributions}
            match.features |= {
                f"contribution: {group}": float(value) for group, value in groups.items()
            }

    def _explain(self, origin: str) -> Sequence[CandidateExplanation]:
        try:
            found = self._reader.explainer.explain(origin, 0)
        except InputError:
            return ()
        return next((row.candidates for row in found.sides if row.side == self._other), ())

    def _add_labelled(self, matches: dict[str, Match], query: Query) -> None:
        """Add entities of the graph itself, by label or IRI."""
        if self._reader.names.find_entity(self._side, query.text) is not None:
            match = matches.setdefault(query.text, Match(query.text))
            match.features["same_iri"] = True
        if query.text.strip():
            for result in self._reader.search(query.text, self._side, query.limit):
                match = matches.setdefault(result.entity.name, Match(result.entity.name))
                similarity = compare_labels(query.text, result.match)
                known = match.features.get("name_similarity", 0.0)
                match.features["name_similarity"] = max(float(known), similarity)

    def _rate(self, match: Match, query: Query) -> Match:
        label = self.namer.get_entity(self._side, match.name).label
        similarity = compare_labels(query.text, label)
        known = float(match.features.get("name_similarity", 0.0))
        match.features["name_similarity"] = max(known, similarity)
        match.types = self.list_types(match.name)
        if match.confidence is not None:
            match.features["confidence"] = float(match.confidence)
        best = 1.0 if match.features.get("same_iri") else match.confidence
        score = match.features["name_similarity"] if best is None else best
        fulfilled = [self._fulfils(match.name, row) for row in query.properties]
        for row, is_fulfilled in zip(query.properties, fulfilled, strict=True):
            match.features[f"property: {shorten_iri(row.name)}"] = is_fulfilled
        if query.types:
            match.features["type"] = self._has_types(match, query)
            fulfilled.append(bool(match.features["type"]))
        # Each condition weighs as much as the name.
        match.score = 100 * (score + sum(fulfilled)) / (1 + len(fulfilled))
        return match

    @staticmethod
    def _has_types(match: Match, query: Query) -> bool:
        shared = set(query.types) & set(match.types)
        return len(shared) == len(set(query.types)) if query.type_rule == "all" else bool(shared)

    def _fulfils(self, name: str, wanted: PropertyValue) -> bool:
        texts = {fold_text(value) for value in wanted.values}
        return any(
            fold_text(text) in texts
            for value in self.list_values(name, wanted.name)
            for text in self._list_texts(value)
        )

    def _list_texts(self, value: str) -> Iterable[str]:
        is_literal = value.startswith('"')
        shown = self.namer.get_value(self._side, value, is_entity=not is_literal)
        return shown.text, value


def compare_labels(first: str, second: str) -> float:
    """Compare two labels.

    Args:
        first: A label.
        second: Another label.

    Returns:
        Their similarity from 0 to 1; case, width and composition of characters do not matter.

    Example:
        >>> compare_labels("Straße", "STRASSE"), compare_labels("Oslo", "")
        (1.0, 0.0)
    """
    return ratio(fold_text(first), fold_text(second)) / 100 if first and second else 0.0
