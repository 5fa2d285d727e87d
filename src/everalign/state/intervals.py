"""Intervals: from which version to which a pair was a link with one score, or was rejected.

The events of a version close some intervals and open others. What was in force at a version is
then a range of rows, and no event has to be replayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from everalign.cardinality import Cardinality
from everalign.state.ledger import LedgerEvent, replay_events
from everalign.state.links import LinkSet, LinkState, Pair

# The end of an interval that has not ended.
FOREVER = 2_147_483_647


class PairStatus(IntEnum):
    """What a pair is during an interval; links are listed in this order."""

    GIVEN = 0
    FOUND = 1
    REJECTED = 2


class LinkInterval(NamedTuple):
    """The versions from `since` to before `until`, during which nothing about a pair changed.

    Attributes:
        left: The left entity.
        since: The first version.
        right: The right entity.
        until: The version that ended it; `FOREVER` if none has.
        score: The score of the link; 0 for a rejected pair.
        born: The version that put the link in force, perhaps with another score.
        status: What the pair was.
    """

    left: int
    since: int
    right: int
    until: int
    score: float
    born: int
    status: int

    @property
    def pair(self) -> Pair:
        """The two ids."""
        return self.left, self.right


@dataclass(frozen=True)
class IntervalChanges:
    """How a version changes the intervals.

    Attributes:
        closed: Intervals that end with the version, as they were before.
        opened: Intervals that begin with it.
    """

    closed: Sequence[LinkInterval]
    opened: Sequence[LinkInterval]

    def count_change(self, status: PairStatus) -> int:
        """Count how many more pairs have a status than before.

        Args:
            status: The status.

        Returns:
            The difference; negative if there are fewer.
        """
        opened = sum(interval.status == status for interval in self.opened)
        return opened - sum(interval.status == status for interval in self.closed)


def plan_interval_changes(
    before: Iterable[LinkInterval],
    events: Iterable[LedgerEvent],
    version: int,
    cardinality: Cardinality = Cardinality.ONE_TO_ONE,
) -> IntervalChanges:
    """Compute which intervals the events of a version close and open.

    Args:
        before: The intervals in force of all entities that the events name.
        events: All events of the version, in order.
        version: The version.
        cardinality: What links in force satisfy.

    Returns:
        The net changes: what begins and ends within the version leaves no interval.
    """
    known = {interval.pair: interval for interval in before}
    links = build_link_set(known.values(), cardinality)
    after = _list_states(replay_events(events, links))
    closed = [interval for pair, interval in known.items() if after.get(pair) != interval[4:]]
    opened = [
        LinkInterval(pair[0], version, pair[1], FOREVER, *state)
        for pair, state in after.items()
        if pair not in known or known[pair][4:] != state
    ]
    return IntervalChanges(closed, opened)


def build_link_set(
    intervals: Iterable[LinkInterval], cardinality: Cardinality = Cardinality.ONE_TO_ONE
) -> LinkSet:
    """Build the set of links that intervals in force stand for.

    Args:
        intervals: Intervals that are in force at one version.
        cardinality: What links in force satisfy.

    Returns:
        The links and the rejected pairs among them.
    """
    links: dict[Pair, LinkState] = {}
    rejected: list[Pair] = []
    for left, _, right, _, score, born, status in intervals:
        if status == PairStatus.REJECTED:
            rejected.append((left, right))
        else:
            links[left, right] = LinkState(score, born, status == PairStatus.GIVEN)
    return LinkSet(links, frozenset(rejected), cardinality)


def _list_states(link_set: LinkSet) -> Mapping[Pair, tuple[float, int, int]]:
    """List score, birth and status of each pair."""
    states = {
        pair: (
            float(state.score),
            state.since,
            int(PairStatus.GIVEN if state.confirmed else PairStatus.FOUND),
        )
        for pair, state in link_set.links.items()
    }
    return states | {pair: (0.0, 0, int(PairStatus.REJECTED)) for pair in link_set.rejected_pairs}
