"""Decisions of people: how they add up, and the link events they cause.

A decision outranks whatever a method finds. The last decision about a pair counts. A decision that
an entity has no counterpart is about a pair whose other id is `NO_ENTITY`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from everalign.cardinality import Cardinality
from everalign.causes import RetractionCause
from everalign.graph import IntArray
from everalign.state.ledger import (
    EventKind,
    LedgerEvent,
    LinkSet,
    Pair,
    confirm_pairs,
    reject_pairs,
    replay_events,
    withdraw_decisions,
)

NO_ENTITY = -1


class DecisionKind(StrEnum):
    """What a person states about a pair; a delta has an array of some kinds, with these names."""

    WITHDRAWN = "withdrawn"
    SEED = "seeds"
    VALIDATION = "validation"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    NO_COUNTERPART = "no counterpart"
    UNSURE = "unsure"


# In the order in which the arrays of a delta take effect: a delta that withdraws a decision and
# takes a new one means the new one.
DELTA_KINDS = (
    DecisionKind.WITHDRAWN,
    DecisionKind.SEED,
    DecisionKind.VALIDATION,
    DecisionKind.CONFIRMED,
    DecisionKind.REJECTED,
)
GIVEN_KINDS = (DecisionKind.SEED, DecisionKind.VALIDATION)
TRUSTED_KINDS = (*GIVEN_KINDS, DecisionKind.CONFIRMED)

_EVENT_REASONS = {
    DecisionKind.SEED: "given as a seed",
    DecisionKind.VALIDATION: "given for validation",
    DecisionKind.CONFIRMED: "confirmed by a person",
}

Decisions = Mapping[Pair, DecisionKind]


class LazyDecisions(Mapping[Pair, DecisionKind]):
    """Decisions that are read when they are first needed.

    Args:
        read: Reads all of them.
    """

    def __init__(self, read: Callable[[], Decisions]) -> None:
        self._read = read

    @cached_property
    def _decisions(self) -> Decisions:
        return self._read()

    def __getitem__(self, pair: Pair) -> DecisionKind:
        return self._decisions[pair]

    def __iter__(self) -> Iterator[Pair]:
        return iter(self._decisions)

    def __len__(self) -> int:
        return len(self._decisions)


class GivenDecision(NamedTuple):
    """A decision when it is given.

    Attributes:
        pair: The two ids; one of them may be `NO_ENTITY`.
        kind: What is decided.
        request: Its number in the inbox; None if it came with a delta.
    """

    pair: Pair
    kind: DecisionKind
    request: int | None = None


def list_given_decisions(arrays: Mapping[str, IntArray]) -> list[GivenDecision]:
    """List the decisions of a delta.

    Args:
        arrays: The arrays of the delta; one that is missing decides nothing.

    Returns:
        The decisions in the order in which they take effect.
    """
    return [
        GivenDecision((left, right), kind)
        for kind in DELTA_KINDS
        if kind.value in arrays
        for left, right in arrays[kind.value].tolist()
    ]


def fold_decisions(
    decisions: Decisions,
    given: Iterable[GivenDecision],
    cardinality: Cardinality = Cardinality.ONE_TO_ONE,
) -> dict[Pair, DecisionKind]:
    """Let decisions take effect, one after the other.

    >>> confirmed = GivenDecision((0, 5), DecisionKind.CONFIRMED)
    >>> fold_decisions({(0, 4): DecisionKind.SEED}, [confirmed])
    {(0, 5): <DecisionKind.CONFIRMED: 'confirmed'>}

    Args:
        decisions: The decisions in force so far, of all entities that are decided about.
        given: The decisions, oldest first.
        cardinality: Which confirmed pairs exclude each other.

    Returns:
        The decisions in force, in the order in which pairs were first decided.
    """
    current = _CurrentDecisions(decisions, cardinality)
    for decision in given:
        current.apply(decision)
    return current.kinds


class _CurrentDecisions:
    """Decisions in force while others take effect, with the pairs of each entity."""

    def __init__(self, decisions: Decisions, cardinality: Cardinality) -> None:
        self._cardinality = cardinality
        self.kinds: dict[Pair, DecisionKind] = {}
        self._pairs_of: defaultdict[tuple[int, int], set[Pair]] = defaultdict(set)
        for pair, kind in decisions.items():
            self._put(pair, kind)

    def apply(self, decision: GivenDecision) -> None:
        pair, kind, _ = decision
        if kind is DecisionKind.WITHDRAWN:
            self._drop(pair)
        elif kind is DecisionKind.CONFIRMED:
            # A seed that is confirmed stays a seed, so that methods go on learning from it.
            if self.kinds.get(pair) not in GIVEN_KINDS:
                self._drop_competing(pair)
                self._put(pair, kind)
        elif kind is not DecisionKind.UNSURE:
            if kind is DecisionKind.NO_COUNTERPART:
                self._drop_competing(pair)
            # Seeds that compete with other decisions are refused when they are encoded.
            self._put(pair, kind)

    def _put(self, pair: Pair, kind: DecisionKind) -> None:
        self.kinds[pair] = kind
        for entity in _list_sides(pair):
            self._pairs_of[entity].add(pair)

    def _drop(self, pair: Pair) -> None:
        if self.kinds.pop(pair, None) is not None:
            for entity in _list_sides(pair):
                self._pairs_of[entity].discard(pair)

    def _drop_competing(self, pair: Pair) -> None:
        """Drop decisions by which an entity of the pair has another counterpart, or none."""
        unique = self._cardinality.unique_sides
        others = {
            other
            for side, entity in _list_sides(pair)
            for other in self._pairs_of[side, entity]
            # No counterpart and any counterpart contradict each other.
            if unique[side] or NO_ENTITY in (*pair, *other)
        }
        for other in others - {pair}:
            if self.kinds[other] is not DecisionKind.REJECTED:
                self._drop(other)


def _list_sides(pair: Pair) -> Iterator[tuple[int, int]]:
    return ((side, entity) for side, entity in enumerate(pair) if entity != NO_ENTITY)


def _retract_dangling(dangling: Sequence[Pair], links: LinkSet, version: int) -> list[LedgerEvent]:
    """Retract found links of entities that have no counterpart."""
    lefts, rights = {left for left, _ in dangling}, {right for _, right in dangling}
    return [
        LedgerEvent(
            version,
            EventKind.RETRACTED,
            *link,
            f"the {'left' if link.left in lefts else 'right'} entity has no counterpart",
        )
        for link in links.found_links
        if link.left in lefts or link.right in rights
    ]


@dataclass(frozen=True)
class DecisionEventBuilder:
    """Turns decisions into the link events of a version.

    Args:
        decisions: The decisions in force, of all entities whose links are looked at.
        removed_entities: Left and right entities without facts; they cannot have a link.
        reverted_to: The version that the alignment is reverted to, if it is.
        requests: The number in the inbox of the decision about a pair that caused its events.
        cardinality: Which links exclude each other.
    """

    decisions: Decisions
    removed_entities: tuple[set[int], set[int]]
    reverted_to: int | None = None
    requests: Mapping[Pair, int] = field(default_factory=dict)
    cardinality: Cardinality = Cardinality.ONE_TO_ONE

    def build_events(self, links: LinkSet, version: int) -> list[LedgerEvent]:
        """Build the events that bring the links in force in line with the decisions.

        A trusted link whose entity was removed is withdrawn; its decision stays, so the link is
        in force again when the entity comes back.

        Args:
            links: The links in force before the version.
            version: The number of the version.

        Returns:
            Withdrawals, then confirmations, rejections, and what has no counterpart.
        """
        # Withdrawals first, so that a decision which no longer holds is recorded as withdrawn and
        # not as retracted by its successor.
        outdated = [
            pair
            for pair in links.confirmed_pairs | links.rejected_pairs
            if not self._is_effective(pair)
        ]
        # Sorted: a set has no order of its own, and equal input gives equal events.
        events = withdraw_decisions(
            links, {pair: self._withdrawal_reason(pair) for pair in sorted(outdated)}, version
        )
        for kind in TRUSTED_KINDS:
            pairs = [pair for pair in self._pairs_of(kind) if not self._is_removed(pair)]
            if pairs:
                # On top of the events so far: what is gone already cannot be retracted again.
                current = replay_events(events, links)
                events += confirm_pairs(current, pairs, version, _EVENT_REASONS[kind])
        if rejected := self._pairs_of(DecisionKind.REJECTED):
            events += reject_pairs(replay_events(events, links), rejected, version)
        if dangling := self._pairs_of(DecisionKind.NO_COUNTERPART):
            events += _retract_dangling(dangling, replay_events(events, links), version)
        return [self._add_cause(self._add_request(event)) for event in events]

    def _add_request(self, event: LedgerEvent) -> LedgerEvent:
        left, right = event.pair
        # The decision about the pair itself, or about the pair or the entity that it made way for.
        causes = [event.pair, *event.competing_pairs, (left, NO_ENTITY), (NO_ENTITY, right)]
        numbers = [self.requests[pair] for pair in causes if pair in self.requests]
        return event._replace(decision=numbers[0]) if numbers else event

    def _add_cause(self, event: LedgerEvent) -> LedgerEvent:
        if event.kind not in (EventKind.RETRACTED, EventKind.REJECTED, EventKind.WITHDRAWN):
            return event
        cause = RetractionCause.DECISION
        if self.reverted_to is not None:
            cause = RetractionCause.REVERT
        elif event.kind is EventKind.WITHDRAWN and self._is_removed(event.pair):
            cause = RetractionCause.LOST_EVIDENCE
        return event._replace(cause=cause)

    def _is_effective(self, pair: Pair) -> bool:
        kind = self.decisions.get(pair)
        # A rejection needs no entity; a trusted link needs both.
        return kind is DecisionKind.REJECTED or (kind is not None and not self._is_removed(pair))

    def _pairs_of(self, kind: DecisionKind) -> list[Pair]:
        return [pair for pair, decided in self.decisions.items() if decided is kind]

    def _is_removed(self, pair: Pair) -> bool:
        return pair[0] in self.removed_entities[0] or pair[1] in self.removed_entities[1]

    def _withdrawal_reason(self, pair: Pair) -> str:
        if self.reverted_to is not None:
            return f"reverted to version {self.reverted_to}"
        if self._is_removed(pair):
            side = "left" if pair[0] in self.removed_entities[0] else "right"
            return f"the {side} entity was removed"
        if pair[0] in self._dangling_entities[0] or pair[1] in self._dangling_entities[1]:
            return "its entity has no counterpart"
        lefts, rights = self._trusted_entities
        unique_left, unique_right = self.cardinality.unique_sides
        if (unique_left and pair[0] in lefts) or (unique_right and pair[1] in rights):
            return "another link of its entities was confirmed"
        return "withdrawn by a person"

    @cached_property
    def _trusted_entities(self) -> tuple[set[int], set[int]]:
        pairs = [pair for pair, kind in self.decisions.items() if kind in TRUSTED_KINDS]
        return {left for left, _ in pairs}, {right for _, right in pairs}

    @cached_property
    def _dangling_entities(self) -> tuple[set[int], set[int]]:
        pairs = self._pairs_of(DecisionKind.NO_COUNTERPART)
        return {left for left, _ in pairs}, {right for _, right in pairs}
