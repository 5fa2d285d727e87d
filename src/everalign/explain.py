"""Explanations: the evidence that a method considered, with names, and why other candidates lost.

This module is internal; an `AlignmentView` uses it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, TypeAlias

from everalign._cache import LimitedCache
from everalign.errors import ConfigError, InputError
from everalign.graph import NameIndex
from everalign.graph.iri_names import IRI_NAME_ATTRIBUTE
from everalign.io import write_relations
from everalign.methods import (
    CandidateEvidence,
    CheckingMethod,
    ContradictedPair,
    EvidencePiece,
    ExplainableMethod,
    Method,
    RelationMatch,
)
from everalign.select import check_fraction, describe_origin
from everalign.session import AlignmentSession
from everalign.state import NameKind, Side
from everalign.state.ledger import LinkSet, Pair
from everalign.state.link_table import list_entities
from everalign.state.name_reader import NameReader
from everalign.state.snapshots import SIDES
from everalign.task import StoredTask, UpdateContext
from everalign.types import (
    CandidateExplanation,
    ContradictedLink,
    Contribution,
    EntityExplanation,
    EvidenceItem,
    Explanation,
    ExportResult,
    Link,
    RelationAlignment,
)

# Explanations that are kept: a person goes from a question to its pair and its entities, and many
# are asked the same. One takes some ten kilobytes.
MAX_EXPLANATIONS = 200

_Names: TypeAlias = Mapping[tuple[Side, NameKind], Mapping[int, str]]


class Explainer:
    """Explains the links of a version; what it needs for that is loaded once.

    Args:
        session: An open alignment, of which it explains the last version.
        names: Its names.
        method: The method as that version left it.
    """

    def __init__(self, session: AlignmentSession, names: NameReader, method: Method) -> None:
        if not isinstance(method, ExplainableMethod):
            raise ConfigError(f"method {session.config.method!r} cannot explain its links")
        self._store = session.store
        self._names = names
        self._method = method
        self._task = StoredTask(UpdateContext.from_last_version(session))
        self._relations: list[RelationAlignment] | None = None
        self._explanations = LimitedCache[tuple[str, int | None], Explanation](MAX_EXPLANATIONS)

    def explain(self, entity: str, max_evidence: int | None = None) -> Explanation:
        """Explain the links of an entity.

        Args:
            entity: Name of an entity of either graph.
            max_evidence: How many pieces of evidence to list for each candidate; None for all.

        Returns:
            An explanation for each graph that has the entity.

        Raises:
            InputError: No graph has the entity.
        """
        key = entity, max_evidence
        known = self._explanations.get(key)
        if known is None:
            known = self._explain(entity, max_evidence)
            self._explanations.put(key, known)
        return known

    def _explain(self, entity: str, max_evidence: int | None) -> Explanation:
        ids = {side: self._names.find_entity(side, entity) for side in SIDES}
        if not any(number is not None for number in ids.values()):
            raise InputError(f"{entity!r} is in neither of the two graphs")
        candidates: dict[Side, list[CandidateEvidence]] = {
            side: self.list_candidates(side, number)
            for side, number in ids.items()
            if number is not None
        }
        pairs = [_pair(row) for rows in candidates.values() for row in rows]
        entities = list_entities(pairs)
        for found, number in zip(entities, ids.values(), strict=True):
            found.update(() if number is None else (number,))
        links = self._store.read_links_of(*entities)
        names = self._read_names(candidates, links, max_evidence)
        describer = _Describer(names, links, self._read_threshold(), max_evidence)
        sides = [
            replace(
                describer.explain_entity(side, number, candidates[side]),
                contradicted_links=tuple(
                    name_contradicted(self._find_contradicted(**{side: number}), self._names)
                ),
            )
            for side, number in ids.items()
            if number is not None
        ]
        return Explanation(entity, describer.threshold, tuple(sides))

    def list_candidates(self, side: Side, entity: int) -> list[CandidateEvidence]:
        """List the candidates of an entity.

        Args:
            side: The graph.
            entity: Id of the entity.

        Returns:
            Candidate pairs, best first.
        """
        left, right = (entity, None) if side == "left" else (None, entity)
        return self._method.explain(self._task, left, right)

    def list_contradicted(self) -> list[ContradictedLink]:
        """List the given links that contradict their neighbourhood, the least probable first.

        Returns:
            These links; none if the method does not look for them.
        """
        return name_contradicted(self._find_contradicted(), self._names)

    def _find_contradicted(
        self, left: int | None = None, right: int | None = None
    ) -> list[ContradictedPair]:
        if not isinstance(self._method, CheckingMethod):
            return []
        return self._method.list_contradicted(left=left, right=right)

    def list_relations(self, min_inclusion: float = 0.0) -> list[RelationAlignment]:
        """List relations that mean the same, best first.

        Args:
            min_inclusion: Leave out relations whose inclusion is less in both directions.

        Returns:
            Pairs of a left and a right relation.

        Raises:
            ConfigError: `min_inclusion` is out of range.
        """
        check_fraction("min_inclusion", min_inclusion)
        if self._relations is None:
            self._relations = self._name_relations(self._method.relations(self._task))
        return [
            match
            for match in self._relations
            if max(match.left_in_right, match.right_in_left) >= min_inclusion
        ]

    def _name_relations(self, matches: Sequence[RelationMatch]) -> list[RelationAlignment]:
        wanted = _WantedNames()
        for match in matches:
            kind: NameKind = "attribute" if match.attributes else "relation"
            wanted.add(kind, match.left, match.right)
        names = wanted.read(self._names)
        return [
            RelationAlignment(
                names["left", "attribute" if match.attributes else "relation"][match.left],
                names["right", "attribute" if match.attributes else "relation"][match.right],
                match.inverse,
                match.left_in_right,
                match.right_in_left,
                match.support,
                match.attributes,
            )
            for match in matches
        ]

    def _read_names(
        self,
        candidates: Mapping[Side, Sequence[CandidateEvidence]],
        links: LinkSet,
        max_evidence: int | None,
    ) -> _Names:
        """Read all names of an explanation, those of one kind in one query."""
        wanted = _WantedNames()
        for left, right in links.links:
            wanted.add("entity", left, right)
        for candidate in (row for rows in candidates.values() for row in rows):
            wanted.add("entity", candidate.left, candidate.right)
            for piece in candidate.pieces[:max_evidence]:
                relation, neighbour = _name_kinds(piece)
                wanted.add(relation, piece.left_relation, piece.right_relation)
                wanted.add(neighbour, piece.left_neighbour, piece.right_neighbour)
        return wanted.read(self._names)

    def _read_threshold(self) -> float | None:
        last = self._store.read_version(self._store.next_version() - 1)
        threshold = last.info.get("threshold")
        assert threshold is None or isinstance(threshold, float)
        return threshold


def write_relation_statements(
    relations: Sequence[RelationAlignment], stream: IO[bytes], accept: float
) -> ExportResult:
    """Write statements about relations as N-Triples.

    Args:
        relations: Pairs of relations.
        stream: Where to write.
        accept: The inclusion from which a relation counts as contained in the other.

    Returns:
        The number of statements written, and of those left out by reason.

    Raises:
        ConfigError: `accept` is out of range.
    """
    check_fraction("accept", accept)
    # Names taken from IRIs are no statements of a graph, so they have no predicate.
    stated = [row for row in relations if IRI_NAME_ATTRIBUTE not in (row.left, row.right)]
    rows = ((r.left, r.right, r.inverse, r.left_in_right, r.right_in_left) for r in stated)
    return ExportResult(*write_relations(rows, stream, accept))


def find_entity(entity: str, left: NameIndex, right: NameIndex) -> tuple[int | None, int | None]:
    """Find the ids of an entity.

    Args:
        entity: Name of the entity.
        left: Names of left entities.
        right: Names of right entities.

    Returns:
        Its id in the left and in the right graph; None where the graph does not have it.

    Raises:
        InputError: No graph has the entity.
    """
    ids = left.find(entity), right.find(entity)
    if ids == (None, None):
        raise InputError(f"{entity!r} is in neither of the two graphs")
    return ids


def name_contradicted(
    pairs: Sequence[ContradictedPair], names: NameReader
) -> list[ContradictedLink]:
    """Name the entities of contradicted links.

    Args:
        pairs: The links.
        names: The names.

    Returns:
        The same links, in the same order.
    """
    wanted = _WantedNames()
    for pair in pairs:
        wanted.add("entity", pair.left, pair.right)
        if pair.rival is not None:
            wanted.add("entity", *pair.rival)
    found = wanted.read(names)
    return [
        ContradictedLink(
            found["left", "entity"][pair.left],
            found["right", "entity"][pair.right],
            pair.probability,
            pair.support,
            None if pair.rival is None else found["left", "entity"][pair.rival[0]],
            None if pair.rival is None else found["right", "entity"][pair.rival[1]],
            pair.rival_support,
        )
        for pair in pairs
    ]


class _WantedNames:
    """Collects ids, to read their names together."""

    def __init__(self) -> None:
        self._ids: defaultdict[tuple[Side, NameKind], set[int]] = defaultdict(set)

    def add(self, kind: NameKind, left: int, right: int) -> None:
        self._ids["left", kind].add(left)
        self._ids["right", kind].add(right)

    def read(self, names: NameReader) -> _Names:
        return {key: names.read(*key, ids) for key, ids in self._ids.items()}


@dataclass(frozen=True)
class _Describer:
    """Names, links in force and the last threshold: all that explanations are made from."""

    names: _Names
    links: LinkSet
    threshold: float | None
    max_evidence: int | None

    def explain_entity(
        self, side: Side, entity: int, candidates: Sequence[CandidateEvidence]
    ) -> EntityExplanation:
        linked = [pair for pair in self.links.links if pair[_index(side)] == entity]
        linked.sort(key=lambda pair: (-self.links.links[pair].score, pair))
        return EntityExplanation(
            side=side,
            links=tuple(map(self._name_link, linked)),
            candidates=tuple(map(self._name_candidate, candidates)),
            reason=self._explain_outcome(side, linked, candidates),
        )

    def _name_link(self, pair: Pair) -> Link:
        state = self.links.links[pair]
        names = self._name_entity("left", pair), self._name_entity("right", pair)
        return Link(*names, state.score, state.since, describe_origin(state))

    def _name_entity(self, side: Side, pair: Pair) -> str:
        return self.names[side, "entity"][pair[_index(side)]]

    def _name_candidate(self, candidate: CandidateEvidence) -> CandidateExplanation:
        return CandidateExplanation(
            self._name_entity("left", _pair(candidate)),
            self._name_entity("right", _pair(candidate)),
            candidate.confidence,
            candidate.support,
            tuple(map(self._name_evidence, candidate.pieces[: self.max_evidence])),
            len(candidate.pieces),
            tuple(Contribution(*part) for part in candidate.contributions),
        )

    def _name_evidence(self, piece: EvidencePiece) -> EvidenceItem:
        relation, neighbour = _name_kinds(piece)
        return EvidenceItem(
            self.names["left", relation][piece.left_relation],
            piece.left_inverse,
            self.names["left", neighbour][piece.left_neighbour],
            self.names["right", relation][piece.right_relation],
            piece.right_inverse,
            self.names["right", neighbour][piece.right_neighbour],
            piece.confidence,
            piece.weight,
        )

    def _explain_outcome(
        self, side: Side, linked: Sequence[Pair], candidates: Sequence[CandidateEvidence]
    ) -> str:
        """Explain in one sentence why the best candidate that is not a link lost."""
        loser = next((row for row in candidates if _pair(row) not in linked), None)
        if loser is None:
            if not linked:
                return "no candidate shares a matched neighbour"
            return "no other candidate was considered"
        opposite: Side = "right" if side == "left" else "left"
        unique = self.links.cardinality.unique_sides
        # A link is a reason only if it is the only one that its entity may have.
        rival = linked[0] if linked and unique[_index(side)] else None
        winner = next((row for row in candidates if _pair(row) == rival), None)
        # From the strongest reason to the weakest: people first, then what the method compares.
        reason = (
            self._compare_decisions(rival, loser)
            or self._compare_confidence(rival, winner, loser)
            or (self._find_other_link(side, opposite, loser) if unique[_index(opposite)] else None)
            or self._compare_threshold(loser)
            or "no mutual best match"
        )
        return f"{self._name_entity(opposite, _pair(loser))} lost: {reason}"

    def _compare_decisions(self, linked: Pair | None, loser: CandidateEvidence) -> str | None:
        if linked in self.links.confirmed_pairs:
            return "the link was given by a person"
        rejected = _pair(loser) in self.links.rejected_pairs
        return "it was rejected by a person" if rejected else None

    def _compare_confidence(
        self, linked: Pair | None, winner: CandidateEvidence | None, loser: CandidateEvidence
    ) -> str | None:
        if linked is None:
            return None
        # A link may be older than the candidates, and then has only its own score.
        confidence = self.links.links[linked].score if winner is None else winner.confidence
        # The loser is the better match of the two: something else is the reason.
        if confidence < loser.confidence:
            return None
        difference = f"confidence {loser.confidence:.3g} against {confidence:.3g}"
        if winner is None:
            return difference
        count = _count_matched(loser)
        shared = f"{count} matched {'neighbour' if count == 1 else 'neighbours'}"
        return (
            f"{difference}; it shares {shared} (support {loser.support:.3g}) "
            f"where the link shares {_count_matched(winner)} (support {winner.support:.3g})"
        )

    def _find_other_link(self, side: Side, opposite: Side, loser: CandidateEvidence) -> str | None:
        """Find out whether the candidate's entity has another link."""
        entity = _pair(loser)[_index(opposite)]
        other = next((pair for pair in self.links.links if pair[_index(opposite)] == entity), None)
        if other is None:
            return None
        state, partner = self.links.links[other], self._name_entity(side, other)
        if state.confirmed:
            return f"it was given to {partner} by a person"
        kind = "better match" if state.score > loser.confidence else "match"
        confidences = f"confidence {state.score:.3g} against {loser.confidence:.3g}"
        return f"it is the {kind} of {partner} ({confidences})"

    def _compare_threshold(self, loser: CandidateEvidence) -> str | None:
        if self.threshold is None or loser.confidence >= self.threshold:
            return None
        return (
            f"confidence {_format_probability(loser.confidence)} is below "
            f"the threshold {_format_probability(self.threshold)}"
        )


def _name_kinds(piece: EvidencePiece) -> tuple[NameKind, NameKind]:
    """The kinds of names of the relations and of the neighbours."""
    return ("attribute", "literal") if piece.literal else ("relation", "entity")


def _index(side: Side) -> int:
    return 0 if side == "left" else 1


def _pair(candidate: CandidateEvidence) -> Pair:
    return candidate.left, candidate.right


def _count_matched(candidate: CandidateEvidence) -> int:
    # Two pieces may be about the same neighbours, by different relations.
    return len({(piece.left_neighbour, piece.right_neighbour) for piece in candidate.pieces})


def _format_probability(value: float) -> str:
    # Three digits would round 0.9996 to certainty.
    return f"{value:.3g}" if value < 0.999 else f"{value:.6g}"
