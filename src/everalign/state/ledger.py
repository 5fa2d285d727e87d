"""The link ledger: events that are only ever appended, and the links that follow from them.

`merge_links` decides which links are in force from now on, `diff_links` records what that
changes, and `replay_events` computes the links in force from all recorded events. A person's
decision (`confirm_pairs`, `reject_pairs`) outranks a method's in each of them. All of it is pure:
values in, values out, entities as ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from everalign.cardinality import Cardinality
from everalign.causes import RetractionCause
from everalign.state.links import (
    LinkSet,
    LinkState,
    Pair,
    PartnerIndex,
    ScoredPair,
    list_competing_pairs,
)
from everalign.state.merge_rules import (
    MERGE_RULES,
    MergeRule,
    keep_found_only,
    merge_as_published,
    merge_best_first,
    merge_links,
)

__all__ = [
    "MERGE_RULES",
    "EventExplainer",
    "EventKind",
    "LedgerEvent",
    "LinkSet",
    "LinkState",
    "MergeRule",
    "Pair",
    "PartnerIndex",
    "ScoredPair",
    "confirm_pairs",
    "diff_links",
    "keep_found_only",
    "merge_as_published",
    "merge_best_first",
    "merge_links",
    "prepend_reason",
    "reject_pairs",
    "replace_by",
    "replay_events",
    "withdraw_decisions",
]

# A smaller change cannot be seen in a score of two decimals. Without a limit, an update would
# record an event for nearly every link of a method that computes all scores anew.
MIN_SCORE_CHANGE = 0.005

# Why a link is added that replaces none.
_ADDITION_REASONS = {
    Cardinality.ONE_TO_ONE: "mutual best match",
    Cardinality.MANY_TO_ONE: "best match of the left entity",
    Cardinality.ONE_TO_MANY: "best match of the right entity",
    Cardinality.MANY_TO_MANY: "confident match",
}


class EventKind(StrEnum):
    """What happened to a link: the last three are a person's decisions, the others a method's.

    A withdrawn pair is neither confirmed nor rejected any more; the method decides again.
    """

    ADDED = "added"
    REVISED = "revised"
    RETRACTED = "retracted"
    RESCORED = "rescored"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class LedgerEvent(NamedTuple):
    """What happened to one pair in one version.

    >>> event = LedgerEvent(2, EventKind.REVISED, 1, 10, 0.9, "replaces", competing_right=11)
    >>> event.competing_pairs
    [(1, 11)]

    Attributes:
        version: The version in which it happened.
        kind: What happened.
        left: The left entity.
        right: The right entity.
        score: The score of the link; where it is retracted, its last one.
        reason: Why, for people.
        competing_left: The left entity that competes for `right`: the former partner where this
            link replaces another, the new one where it is replaced.
        competing_right: The right entity that competes for `left`, likewise.
        decision: The number of the decision in the inbox that caused it, if one did.
        cause: What ended the link, if it is retracted, rejected or withdrawn and that is known.
    """

    version: int
    kind: EventKind
    left: int
    right: int
    score: float
    reason: str
    competing_left: int | None = None
    competing_right: int | None = None
    decision: int | None = None
    cause: RetractionCause = RetractionCause.UNKNOWN

    @property
    def pair(self) -> Pair:
        """The two ids."""
        return self.left, self.right

    @property
    def competing_pairs(self) -> list[Pair]:
        """The links that this one replaces, or that take its place: none, one or two."""
        return list_competing_pairs(self.pair, self.competing_left, self.competing_right)


# Adds what is known of events besides the links themselves.
EventExplainer: TypeAlias = Callable[[list[LedgerEvent]], list[LedgerEvent]]


def diff_links(
    before: Sequence[ScoredPair],
    after: Sequence[ScoredPair],
    version: int,
    explain: EventExplainer | None = None,
    *,
    min_score_change: float = MIN_SCORE_CHANGE,
    cardinality: Cardinality = Cardinality.ONE_TO_ONE,
) -> list[LedgerEvent]:
    """Compute the events that lead from one set of links to the next.

    >>> before = [ScoredPair(1, 10, 0.5)]
    >>> for event in diff_links(before, [ScoredPair(1, 11, 0.6), ScoredPair(2, 20, 0.9)], 3):
    ...     print(event.kind, event.pair, event.reason, event.competing_pairs)
    retracted (1, 10) replaced by [(1, 11)]
    revised (1, 11) replaces [(1, 10)]
    added (2, 20) mutual best match []

    Args:
        before: The links so far.
        after: The links from now on.
        version: The version of the events.
        explain: Adds causes and reasons to the events.
        min_score_change: The smallest change of a score that is recorded.
        cardinality: What both satisfy.

    Returns:
        The events, in the order in which they apply.
    """
    old_scores = {link.pair: link.score for link in before}
    new_pairs = {link.pair for link in after}
    old_partners = PartnerIndex(old_scores, cardinality)
    new_partners = PartnerIndex(new_pairs, cardinality)
    # Retractions come first, so that the cardinality holds after every single event.
    events = [
        _retraction(link, new_partners, version) for link in before if link.pair not in new_pairs
    ]
    for link in after:
        if link.pair not in old_scores:
            reason = _ADDITION_REASONS[cardinality]
            events.append(_addition(link, old_partners, version, reason))
        elif _score_differs(link.score, old_scores[link.pair], min_score_change):
            events.append(
                LedgerEvent(version, EventKind.RESCORED, *link, "found with another score")
            )
    return events if explain is None else explain(events)


def replay_events(events: Iterable[LedgerEvent], start: LinkSet | None = None) -> LinkSet:
    """Apply events in order.

    Whatever the events, the links keep the cardinality, and no event of a method undoes a person's
    decision. Of two decisions on a pair, the later one counts.

    >>> links = replay_events([
    ...     LedgerEvent(0, EventKind.ADDED, 1, 10, 0.8, "mutual best match"),
    ...     LedgerEvent(1, EventKind.CONFIRMED, 1, 11, 1.0, "confirmed by a person"),
    ... ])
    >>> dict(links.links)
    {(1, 11): LinkState(score=1.0, since=1, confirmed=True)}

    Args:
        events: The events, oldest first.
        start: The links to start from, with their cardinality; none, one-to-one, by default.

    Returns:
        The links in force after the last event.
    """
    links = _MutableLinkSet(start or LinkSet())
    for event in events:
        links.apply_event(event)
    return links.freeze()


def confirm_pairs(
    link_set: LinkSet, pairs: Iterable[Pair], version: int, reason: str = "confirmed by a person"
) -> list[LedgerEvent]:
    """Compute the events that put pairs in force by a person's decision.

    Links that compete with a confirmed pair are retracted first.

    >>> links = LinkSet({(1, 10): LinkState(0.8, 0, False)})
    >>> [(event.kind.value, event.pair) for event in confirm_pairs(links, [(1, 11)], 1)]
    [('retracted', (1, 10)), ('confirmed', (1, 11))]

    Args:
        link_set: The links in force.
        pairs: The pairs to confirm; those that are confirmed already are skipped.
        version: The version of the events.
        reason: The reason of the confirmations.

    Returns:
        The events, in the order in which they apply.
    """
    current = _MutableLinkSet(link_set)
    events: list[LedgerEvent] = []
    for pair in pairs:
        if pair not in current.links or not current.links[pair].confirmed:
            # Looked up before the confirmation is applied, which removes the competing links.
            competing = current.partners.other_partners(pair)
            events += _competing_retractions(current, pair, version)
            confirmation = LedgerEvent(
                version, EventKind.CONFIRMED, *pair, 1.0, reason, *competing
            )
            events.append(confirmation)
            current.apply_event(confirmation)
    return events


def reject_pairs(
    link_set: LinkSet, pairs: Iterable[Pair], version: int, reason: str = "rejected by a person"
) -> list[LedgerEvent]:
    """Compute the events that take pairs out of force, now and for good.

    >>> [event.kind.value for event in reject_pairs(LinkSet(), [(1, 10), (1, 10)], 1)]
    ['rejected']

    Args:
        link_set: The links in force.
        pairs: The pairs to reject; those that are rejected already are skipped.
        version: The version of the events.
        reason: The reason of the rejections.

    Returns:
        One event for each pair that is not rejected yet.
    """
    return [
        LedgerEvent(version, EventKind.REJECTED, *pair, _score_of(link_set, pair), reason)
        for pair in dict.fromkeys(pairs)
        if pair not in link_set.rejected_pairs
    ]


def withdraw_decisions(
    link_set: LinkSet, reasons: Mapping[Pair, str], version: int
) -> list[LedgerEvent]:
    """Compute the events that withdraw people's decisions on pairs.

    >>> links = LinkSet(rejected_pairs=frozenset([(1, 10)]))
    >>> reasons = {(1, 10): "a mistake", (2, 20): "a mistake"}
    >>> [event.kind.value for event in withdraw_decisions(links, reasons, 1)]
    ['withdrawn']

    Args:
        link_set: The links in force.
        reasons: The reason for each pair; pairs without a decision are skipped.
        version: The version of the events.

    Returns:
        One event for each pair that is confirmed or rejected.
    """
    decided_pairs = link_set.confirmed_pairs | link_set.rejected_pairs
    return [
        LedgerEvent(version, EventKind.WITHDRAWN, *pair, _score_of(link_set, pair), reason)
        for pair, reason in reasons.items()
        if pair in decided_pairs
    ]


def replace_by(
    event: LedgerEvent, reason: str, rival: tuple[int | None, int | None]
) -> LedgerEvent:
    """State that other pairs of the same entities took the place of a link.

    >>> gone = LedgerEvent(2, EventKind.RETRACTED, 1, 10, 0.9, "no longer found")
    >>> replace_by(gone, "replaced by", (None, 11)).competing_pairs
    [(1, 11)]

    Args:
        event: The link is retracted.
        reason: Why, in words that are followed by the other pairs.
        rival: The left entity that the right one goes with now, and the right entity that the
            left one does, as far as there are any.

    Returns:
        The event with its cause.
    """
    left, right = rival
    return event._replace(
        reason=reason,
        competing_left=left,
        competing_right=right,
        cause=RetractionCause.BETTER_RIVAL,
    )


def prepend_reason(event: LedgerEvent, reason: str) -> LedgerEvent:
    """Put a further reason before that of an event.

    Args:
        event: An event.
        reason: The further reason.

    Returns:
        The event with both.
    """
    # In front: "replaced by" and "replaces" are followed by the competing pairs when shown.
    return event._replace(reason=f"{reason}: {event.reason}")


class _MutableLinkSet:
    """A set of links while events are applied to it; each of them keeps the cardinality."""

    def __init__(self, start: LinkSet) -> None:
        self.links = dict(start.links)
        self.rejected = set(start.rejected_pairs)
        self.cardinality = start.cardinality
        self.partners = PartnerIndex(self.links, start.cardinality)

    def freeze(self) -> LinkSet:
        return LinkSet(dict(self.links), frozenset(self.rejected), self.cardinality)

    def apply_event(self, event: LedgerEvent) -> None:
        pair = event.pair
        if event.kind is EventKind.CONFIRMED:
            self.rejected.discard(pair)
            self._put_link(event, confirmed=True)
        elif event.kind is EventKind.REJECTED:
            self.rejected.add(pair)
            self._remove_link(pair)
        elif event.kind is EventKind.WITHDRAWN:
            self.rejected.discard(pair)
            # The link goes with its confirmation; the method may find it again.
            if pair in self.links and self.links[pair].confirmed:
                self._remove_link(pair)
        elif not self._is_decided(pair):
            self._apply_method_event(event)

    def _apply_method_event(self, event: LedgerEvent) -> None:
        if event.kind is EventKind.RETRACTED:
            self._remove_link(event.pair)
        # A new score brings back no link that is not in force.
        elif event.kind is not EventKind.RESCORED or event.pair in self.links:
            self._put_link(event, confirmed=False)

    def _is_decided(self, pair: Pair) -> bool:
        """Whether a person has rejected the pair, or confirmed it or one that competes with it."""
        if pair in self.rejected:
            return True
        if pair in self.links:
            return self.links[pair].confirmed
        return any(self.links[other].confirmed for other in self.partners.competing_pairs(pair))

    def _put_link(self, event: LedgerEvent, *, confirmed: bool) -> None:
        # Whatever the events: a retraction of the competing link may be missing.
        for competing in self.partners.competing_pairs(event.pair):
            self._remove_link(competing)
        known = self.links.get(event.pair)
        # A new score or a confirmation does not put a link in force that was so before.
        since = event.version if known is None else known.since
        self.links[event.pair] = LinkState(event.score, since, confirmed)
        self.partners.add_pair(event.pair)

    def _remove_link(self, pair: Pair) -> None:
        if self.links.pop(pair, None) is not None:
            self.partners.remove_pair(pair)


def _score_differs(score: float, old_score: float, min_score_change: float) -> bool:
    # With a limit of 0 every change counts, but an equal score is still no change.
    return score != old_score and abs(score - old_score) >= min_score_change


def _retraction(link: ScoredPair, new_partners: PartnerIndex, version: int) -> LedgerEvent:
    competing = new_partners.other_partners(link.pair)
    event = LedgerEvent(version, EventKind.RETRACTED, *link, "no longer found")
    return event if competing == (None, None) else replace_by(event, "replaced by", competing)


def _addition(
    link: ScoredPair, old_partners: PartnerIndex, version: int, reason: str
) -> LedgerEvent:
    competing = old_partners.other_partners(link.pair)
    if competing == (None, None):
        return LedgerEvent(version, EventKind.ADDED, *link, reason)
    return LedgerEvent(version, EventKind.REVISED, *link, "replaces", *competing)


def _competing_retractions(
    current: _MutableLinkSet, pair: Pair, version: int
) -> list[LedgerEvent]:
    competing = current.partners.competing_pairs(pair)
    if not competing:
        return []
    new_partners = PartnerIndex([pair], current.cardinality)
    return [
        _retraction(ScoredPair(*other, current.links[other].score), new_partners, version)
        for other in competing
    ]


def _score_of(link_set: LinkSet, pair: Pair) -> float:
    return link_set.links[pair].score if pair in link_set.links else 0.0
