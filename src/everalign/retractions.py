"""What ended the links that a version retracts, from what the pipeline and the method can tell."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from everalign.causes import RetractionCause
from everalign.matching import CandidatePairs
from everalign.methods import IncrementalMethod, Method, RetractionExplainer
from everalign.state.ledger import (
    EventKind,
    LedgerEvent,
    Pair,
    PartnerIndex,
    prepend_reason,
    replace_by,
)
from everalign.task import UpdateContext

# What people read, by what the method tells. A rival says more than these: it is named instead.
_REASONS = {
    RetractionCause.LOST_EVIDENCE: "facts or links that it rested on went away",
    RetractionCause.NEW_EVIDENCE: "new facts speak against it",
    RetractionCause.RELEARNED_MODELS: "models were trained again",
    RetractionCause.NEW_SHARES: "fewer counterparts are expected",
    RetractionCause.OUT_OF_SCOPE: "an entity is out of scope",
}


@dataclass(frozen=True)
class RetractionReasons:
    """Explains the events of a version, at the cost of what it retracts.

    A cause that is nearer to the pair itself comes first: its entities, its evidence, its rivals,
    the models.

    Args:
        context: The update.
        method: The method after the update.
        found: What the method has found; of an update that is local, what has changed.
    """

    context: UpdateContext
    method: Method | IncrementalMethod
    found: CandidatePairs

    def explain(self, events: Sequence[LedgerEvent]) -> list[LedgerEvent]:
        """Add causes and reasons to events.

        Args:
            events: Events of found links.

        Returns:
            The events, in the same order; only those that end a link have a cause.
        """
        rivals = self._index_rivals([e.pair for e in events if e.kind is EventKind.RETRACTED])
        return [self._explain_event(event, rivals) for event in events]

    def _index_rivals(self, pairs: Sequence[Pair]) -> PartnerIndex:
        """Index the candidates that have an entity of a pair; others are as many as the graphs."""
        found, (lefts, rights) = self.found, np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        rows = np.flatnonzero(np.isin(found.left, lefts) | np.isin(found.right, rights))
        chosen = zip(found.left[rows].tolist(), found.right[rows].tolist(), strict=True)
        return PartnerIndex(list(chosen), self.context.session.config.cardinality)

    def _explain_event(self, event: LedgerEvent, rivals: PartnerIndex) -> LedgerEvent:
        loss = self._find_loss(event.pair)
        if event.kind is EventKind.RETRACTED:
            return self._explain_retraction(event, loss, rivals)
        # A link that is new was found in spite of the loss.
        has_reason = event.kind is EventKind.RESCORED and loss
        return prepend_reason(event, loss) if has_reason else event

    def _explain_retraction(
        self, event: LedgerEvent, loss: str, rivals: PartnerIndex
    ) -> LedgerEvent:
        cause = self._ask_method(event.pair)
        # Of a removed entity nothing else matters, and a method may not know what was lost.
        if _is_among(event.pair, self._removed) or (loss and cause is RetractionCause.UNKNOWN):
            cause = RetractionCause.LOST_EVIDENCE
        rival = rivals.other_partners(event.pair)
        if cause is not RetractionCause.LOST_EVIDENCE:
            if event.competing_pairs:
                return event
            if _is_among(event.pair, self._unaligned):
                cause = RetractionCause.OUT_OF_SCOPE
            elif rival != (None, None):
                return replace_by(event, "less probable than", rival)
        words = loss if loss and cause is RetractionCause.LOST_EVIDENCE else _REASONS.get(cause)
        return (prepend_reason(event, words) if words else event)._replace(cause=cause)

    def _find_loss(self, pair: Pair) -> str:
        """Tell in words which facts the entities of a pair have lost; empty if none."""
        if _is_among(pair, self._removed):
            return "an entity was removed"
        return "facts of its entities were removed" if _is_among(pair, self._reduced) else ""

    def _ask_method(self, pair: Pair) -> RetractionCause:
        if isinstance(self.method, RetractionExplainer):
            return self.method.find_retraction_cause(*pair)
        return RetractionCause.UNKNOWN

    @cached_property
    def _reduced(self) -> tuple[Collection[int], Collection[int]]:
        return self.context.entities_with_removed_facts()

    @cached_property
    def _removed(self) -> tuple[Collection[int], Collection[int]]:
        left, right = self.context.presence_changes
        return set(left.gone.tolist()), set(right.gone.tolist())

    @cached_property
    def _unaligned(self) -> tuple[Collection[int], Collection[int]]:
        left, right = self.context.list_decision_changes().unaligned
        return set(left.tolist()), set(right.tolist())


def _is_among(pair: Pair, entities: tuple[Collection[int], Collection[int]]) -> bool:
    return pair[0] in entities[0] or pair[1] in entities[1]
