"""What happened to the links, version by version: events are added and never taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from everalign.ledger.links import Link, Pair, Partners, rivals

WORTH_RECORDING = 0.005


class Kind(StrEnum):
    """What happened to a link. The last three are a person's word, the others a method's.

    What is withdrawn is neither confirmed nor rejected any more: it is left to the method.
    """

    ADDED = "added"
    REVISED = "revised"
    RETRACTED = "retracted"
    RESCORED = "rescored"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class Event(NamedTuple):
    """One thing that happened to one pair of entities in one version.

    `other_left` is the left entity that competes for `right`, `other_right` the right entity
    that competes for `left`: the former partners where this link replaces another, the new
    ones where it is replaced.

    >>> Event(2, Kind.REVISED, 1, 10, 0.9, "replaces", other_right=11).rivals
    [(1, 11)]
    """

    version: int
    kind: Kind
    left: int
    right: int
    score: float
    reason: str
    other_left: int | None = None
    other_right: int | None = None

    @property
    def pair(self) -> Pair:
        """The two ids without the rest."""
        return self.left, self.right

    @property
    def rivals(self) -> list[Pair]:
        """The links that this one replaces or is replaced by: none, one or two."""
        return rivals(self.pair, self.other_left, self.other_right)


Why: TypeAlias = Callable[[Event], str]


def changes(
    before: Sequence[Link],
    after: Sequence[Link],
    version: int,
    why: Why | None = None,
    *,
    least: float = WORTH_RECORDING,
) -> list[Event]:
    """The events that lead from one set of links to the next, both one-to-one.

    Retractions come first, so that the links are one-to-one after every single event. `why` may
    know more of a move than that a pair was found, or not found any more. Scores that differ by
    less than `least` count as the same.

    >>> for event in changes([Link(1, 10, 0.5)], [Link(1, 11, 0.6), Link(2, 20, 0.9)], 3):
    ...     print(event.kind, event.pair, event.reason, event.rivals)
    retracted (1, 10) replaced by [(1, 11)]
    revised (1, 11) replaces [(1, 10)]
    added (2, 20) mutual best match []
    """
    old = {link.pair: link.score for link in before}
    new = {link.pair for link in after}
    now, formerly = Partners(new), Partners(old)
    events = [_retracted(link, now, version) for link in before if link.pair not in new]
    for link in after:
        if link.pair not in old:
            events.append(_new(link, formerly, version))
        elif link.score != old[link.pair] and abs(link.score - old[link.pair]) >= least:
            events.append(Event(version, Kind.RESCORED, *link, "found with another score"))
    return events if why is None else [_explained(event, why) for event in events]


def _explained(event: Event, why: Why) -> Event:
    """The event with what else is known of its reason; its rivals are named last."""
    cause = why(event)
    return event._replace(reason=f"{cause}: {event.reason}") if cause else event


def _retracted(link: Link, now: Partners, version: int) -> Event:
    others = now.others(link.pair)
    reason = "no longer found" if others == (None, None) else "replaced by"
    return Event(version, Kind.RETRACTED, *link, reason, *others)


def _new(link: Link, formerly: Partners, version: int) -> Event:
    others = formerly.others(link.pair)
    if others == (None, None):
        return Event(version, Kind.ADDED, *link, "mutual best match")
    return Event(version, Kind.REVISED, *link, "replaces", *others)
