"""Explanations: the evidence that a method considered, with names, and why other candidates lost.

This module is internal; `Aligner.explain` and `Aligner.relations` use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, TypeAlias

from everalign.errors import ConfigError, InputError
from everalign.graph import NameIndex, Vocabulary
from everalign.io import write_relations
from everalign.literals import IRI_NAME_ATTRIBUTE
from everalign.methods import (
    AlignmentTask,
    CandidateEvidence,
    EvidencePiece,
    ExplainableMethod,
    RelationMatch,
)
from everalign.select import check_fraction, describe_origin
from everalign.session import AlignmentSession
from everalign.state import Side
from everalign.state.ledger import LinkSet, Pair
from everalign.state.link_table import list_entities
from everalign.task import StoredTask, UpdateContext
from everalign.types import (
    CandidateExplanation,
    EntityExplanation,
    EvidenceItem,
    Explanation,
    Link,
    RelationAlignment,
)

Names: TypeAlias = NameIndex | Sequence[str]


def explain_entity(session: AlignmentSession, entity: str) -> Explanation:
    """Explain the links of an entity.

    Args:
        session: An open alignment.
        entity: Name of an entity of either graph.

    Returns:
        An explanation for each graph that has the entity.

    Raises:
        ConfigError: The method cannot explain.
        InputError: No graph has the entity.
    """
    method, task = _restore_method(session)
    left, right = find_entity(entity, *session.entity_names())
    candidates: dict[Side, list[CandidateEvidence]] = {}
    if left is not None:
        candidates["left"] = method.explain(task, left, None)
    if right is not None:
        candidates["right"] = method.explain(task, None, right)
    pairs = [_pair(row) for rows in candidates.values() for row in rows]
    lefts, rights = list_entities(pairs)
    lefts |= set() if left is None else {left}
    rights |= set() if right is None else {right}
    explainer = _build_explainer(session, session.store.read_links_of(lefts, rights))
    ids = {"left": left, "right": right}
    sides = [
        explainer.explain_entity(side, entity_id, rows)
        for side, rows in candidates.items()
        if (entity_id := ids[side]) is not None
    ]
    return Explanation(entity, explainer.threshold, tuple(sides))


def list_relation_alignments(
    session: AlignmentSession, min_inclusion: float = 0.0
) -> list[RelationAlignment]:
    """List relations that mean the same, best first.

    Args:
        session: An open alignment.
        min_inclusion: Leave out relations whose inclusion is less in both directions.

    Returns:
        Pairs of a left and a right relation.

    Raises:
        ConfigError: The method cannot explain, or `min_inclusion` is out of range.
    """
    check_fraction("min_inclusion", min_inclusion)
    method, task = _restore_method(session)
    explainer = _build_explainer(session, LinkSet())
    return [
        explainer.name_relations(match)
        for match in method.relations(task)
        if max(match.left_in_right, match.right_in_left) >= min_inclusion
    ]


def write_relation_statements(
    relations: Sequence[RelationAlignment], stream: IO[bytes], accept: float
) -> int:
    """Write statements about relations as N-Triples.

    Args:
        relations: Pairs of relations.
        stream: Where to write.
        accept: The inclusion from which a relation counts as contained in the other.

    Returns:
        The number of relation pairs considered.

    Raises:
        ConfigError: `accept` is out of range.
        InputError: A relation has no absolute IRI. Nothing is written then.
    """
    check_fraction("accept", accept)
    # Names taken from IRIs are no statements of a graph, so they have no predicate.
    stated = [row for row in relations if IRI_NAME_ATTRIBUTE not in (row.left, row.right)]
    rows = ((r.left, r.right, r.inverse, r.left_in_right, r.right_in_left) for r in stated)
    write_relations(rows, stream, accept)
    return len(stated)


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


@dataclass(frozen=True)
class _Explainer:
    """Names, links in force and the last threshold: all that explanations are made from."""

    left: Vocabulary
    right: Vocabulary
    links: LinkSet
    threshold: float | None

    def explain_entity(
        self, side: Side, entity: int, candidates: Sequence[CandidateEvidence]
    ) -> EntityExplanation:
        linked = next((pair for pair in self.links.links if pair[_index(side)] == entity), None)
        return EntityExplanation(
            side=side,
            link=None if linked is None else self._name_link(linked),
            candidates=tuple(map(self._name_candidate, candidates)),
            reason=self._explain_outcome(side, linked, candidates),
        )

    def name_relations(self, match: RelationMatch) -> RelationAlignment:
        (left, right), _ = self._choose_names(literal=match.attributes)
        return RelationAlignment(
            left[match.left],
            right[match.right],
            match.inverse,
            match.left_in_right,
            match.right_in_left,
            match.support,
            match.attributes,
        )

    def _name_link(self, pair: Pair) -> Link:
        state = self.links.links[pair]
        names = self._name_entity("left", pair), self._name_entity("right", pair)
        return Link(*names, state.score, state.since, describe_origin(state))

    def _name_entity(self, side: Side, pair: Pair) -> str:
        vocabulary = self.left if side == "left" else self.right
        return vocabulary.entities[pair[_index(side)]]

    def _name_candidate(self, candidate: CandidateEvidence) -> CandidateExplanation:
        pieces = sorted(candidate.pieces, key=lambda piece: -piece.weight)
        return CandidateExplanation(
            self.left.entities[candidate.left],
            self.right.entities[candidate.right],
            candidate.confidence,
            candidate.support,
            tuple(map(self._name_evidence, pieces)),
        )

    def _name_evidence(self, piece: EvidencePiece) -> EvidenceItem:
        relations, neighbours = self._choose_names(literal=piece.literal)
        return EvidenceItem(
            relations[0][piece.left_relation],
            piece.left_inverse,
            neighbours[0][piece.left_neighbour],
            relations[1][piece.right_relation],
            piece.right_inverse,
            neighbours[1][piece.right_neighbour],
            piece.confidence,
            piece.weight,
        )

    def _choose_names(self, *, literal: bool) -> tuple[tuple[Names, Names], tuple[Names, Names]]:
        """Choose the names of relations and neighbours, or of attributes and literals."""
        left, right = self.left, self.right
        if literal:
            return (left.attributes, right.attributes), (left.literals, right.literals)
        return (left.relations, right.relations), (left.entities, right.entities)

    def _explain_outcome(
        self, side: Side, linked: Pair | None, candidates: Sequence[CandidateEvidence]
    ) -> str:
        """Explain in one sentence why the best candidate that is not the link lost."""
        loser = next((row for row in candidates if _pair(row) != linked), None)
        if loser is None:
            if linked is None:
                return "no candidate shares a matched neighbour"
            return "no other candidate was considered"
        winner = next((row for row in candidates if _pair(row) == linked), None)
        opposite: Side = "right" if side == "left" else "left"
        # From the strongest reason to the weakest: people first, then what the method compares.
        reason = (
            self._compare_decisions(linked, loser)
            or self._compare_confidence(linked, winner, loser)
            or self._find_other_link(side, opposite, loser)
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


def _restore_method(session: AlignmentSession) -> tuple[ExplainableMethod, AlignmentTask]:
    """Load the method as the last version left it, with the task of that version."""
    method = session.load_method()
    if not isinstance(method, ExplainableMethod):
        raise ConfigError(f"method {session.config.method!r} cannot explain its links")
    return method, StoredTask(UpdateContext.from_last_version(session))


def _build_explainer(session: AlignmentSession, links: LinkSet) -> _Explainer:
    threshold = session.store.read_version(session.store.next_version() - 1).info.get("threshold")
    assert threshold is None or isinstance(threshold, float)
    return _Explainer(*session.vocabularies, links, threshold)


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
