"""Decisions of people about pairs: how they add up over deltas, and the link events they cause.

A decision outranks whatever a method finds. The last decision about a pair counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from everalign.graph import IntArray
from everalign.state.ledger import (
    LedgerEvent,
    LinkSet,
    Pair,
    confirm_pairs,
    reject_pairs,
    replay_events,
    withdraw_decisions,
)

WITHDRAWN_ARRAY = "withdrawn"


class DecisionKind(StrEnum):
    """What a person states about a pair; the values are the names of a delta's arrays."""

    SEED = "seeds"
    VALIDATION = "validation"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"


GIVEN_KINDS = (DecisionKind.SEED, DecisionKind.VALIDATION)
TRUSTED_KINDS = (*GIVEN_KINDS, DecisionKind.CONFIRMED)

_EVENT_REASONS = {
    DecisionKind.SEED: "given as a seed",
    DecisionKind.VALIDATION: "given for validation",
    DecisionKind.CONFIRMED: "confirmed by a person",
}

Decisions = Mapping[Pair, DecisionKind]


def apply_decisions(
    decisions: Decisions, deltas: Iterable[Mapping[str, IntArray]]
) -> dict[Pair, DecisionKind]:
    """Let the decisions of deltas take effect, one delta after the other.

    Args:
        decisions: The last decision about each pair so far.
        deltas: The arrays of each delta; an array that is missing decides nothing.

    Returns:
        The last decision about each pair, in the order in which pairs were first decided.

    >>> import numpy as np
    >>> seeds, rejected = {"seeds": np.array([[0, 5]])}, {"rejected": np.array([[0, 5]])}
    >>> apply_decisions({}, [seeds, rejected])
    {(0, 5): <DecisionKind.REJECTED: 'rejected'>}
    """
    current = dict(decisions)
    for arrays in deltas:
        _apply_delta(current, arrays)
    return current


def list_decided_pairs(deltas: Iterable[Mapping[str, IntArray]]) -> set[Pair]:
    """List the pairs that any of the deltas decides about, also if withdrawn later.

    Args:
        deltas: The arrays of each delta.

    Returns:
        Pairs of left and right ids.
    """
    return {
        pair for arrays in deltas for kind in DecisionKind for pair in _read_pairs(arrays, kind)
    }


@dataclass(frozen=True)
class DecisionEventBuilder:
    """Turns decisions into the link events of a version.

    Args:
        decisions: The last decision about each pair.
        removed_entities: Left and right entities without facts; they cannot have a link.
        reverted_to: The version that the alignment is reverted to, if it is.
    """

    decisions: Decisions
    removed_entities: tuple[set[int], set[int]]
    reverted_to: int | None = None

    def build_events(self, links: LinkSet, version: int) -> list[LedgerEvent]:
        """Build the events that bring the links in force in line with the decisions.

        A trusted link whose entity was removed is withdrawn; its decision stays, so the link is
        in force again when the entity comes back.

        Args:
            links: The links in force before the version.
            version: The number of the version.

        Returns:
            Withdrawals, then confirmations, then rejections.
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
            # On top of the events so far: what is gone already cannot be retracted again.
            current = replay_events(events, links)
            events += confirm_pairs(current, pairs, version, _EVENT_REASONS[kind])
        rejected = self._pairs_of(DecisionKind.REJECTED)
        return events + reject_pairs(replay_events(events, links), rejected, version)

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
        lefts, rights = self._trusted_entities
        if pair[0] in lefts or pair[1] in rights:
            return "another link of its entities was confirmed"
        return "withdrawn by a person"

    @cached_property
    def _trusted_entities(self) -> tuple[set[int], set[int]]:
        pairs = [pair for pair, kind in self.decisions.items() if kind in TRUSTED_KINDS]
        return {left for left, _ in pairs}, {right for _, right in pairs}


def _apply_delta(decisions: dict[Pair, DecisionKind], arrays: Mapping[str, IntArray]) -> None:
    # Withdrawals first: a delta that withdraws a decision and takes a new one means the new one.
    for pair in _read_pairs(arrays, WITHDRAWN_ARRAY):
        decisions.pop(pair, None)
    for kind in DecisionKind:
        pairs = _read_pairs(arrays, kind)
        # Only a confirmation displaces: seeds that compete are refused when they are encoded.
        if kind is DecisionKind.CONFIRMED and pairs:
            _drop_competing(decisions, pairs)
        for pair in pairs:
            # A seed that is confirmed stays a seed, so that methods go on learning from it.
            if kind is not DecisionKind.CONFIRMED or decisions.get(pair) not in GIVEN_KINDS:
                decisions[pair] = kind


def _drop_competing(decisions: dict[Pair, DecisionKind], confirmed: list[Pair]) -> None:
    """Drop trusted pairs that share exactly one entity with a confirmed pair."""
    right_of, left_of = dict(confirmed), {right: left for left, right in confirmed}
    competing = [
        (left, right)
        for (left, right), kind in decisions.items()
        if kind is not DecisionKind.REJECTED
        and (right_of.get(left, right) != right or left_of.get(right, left) != left)
    ]
    for pair in competing:
        del decisions[pair]


def _read_pairs(arrays: Mapping[str, IntArray], name: str) -> list[Pair]:
    return [(left, right) for left, right in arrays[name].tolist()] if name in arrays else []
