"""Intervals of links derived from the events alone: what the table `link` must hold."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby

from everalign.cardinality import Cardinality
from everalign.state.intervals import LinkInterval, PairStatus, plan_interval_changes
from everalign.state.ledger import LedgerEvent


class IntervalReplay:
    """Replays events version by version, at the cost of the entities that they name.

    Args:
        cardinality: What links in force satisfy.

    Example:
        >>> from everalign.state.ledger import EventKind
        >>> replay = IntervalReplay()
        >>> replay.add_version(0, [LedgerEvent(0, EventKind.ADDED, 1, 2, 0.5, "")])
        >>> [interval.pair for interval in replay.list_intervals()]
        [(1, 2)]
    """

    def __init__(self, cardinality: Cardinality = Cardinality.ONE_TO_ONE) -> None:
        self._cardinality = cardinality
        self._closed: list[LinkInterval] = []
        self._open: dict[tuple[int, int], dict[tuple[int, int], LinkInterval]] = defaultdict(dict)
        self._counts: Counter[int] = Counter()

    @property
    def counts(self) -> tuple[int, int, int]:
        """The numbers of given links, found links and rejected pairs after the last version."""
        given, found, rejected = (self._counts[status] for status in PairStatus)
        return given, found, rejected

    def add_version(self, version: int, events: Iterable[LedgerEvent]) -> None:
        """Apply the events of the next version.

        Args:
            version: The version.
            events: Its events, in order.
        """
        events = list(events)
        keys = {key for event in events for key in _list_keys(*event.pair)}
        before = {row for key in keys if key in self._open for row in self._open[key].values()}
        changes = plan_interval_changes(sorted(before), events, version, self._cardinality)
        for row in changes.closed:
            for key in _list_keys(*row.pair):
                del self._open[key][row.pair]
            self._closed.append(row._replace(until=version))
        for row in changes.opened:
            for key in _list_keys(*row.pair):
                self._open[key][row.pair] = row
        for status in PairStatus:
            self._counts[status] += changes.count_change(status)

    def list_intervals(self) -> Iterator[LinkInterval]:
        """List all intervals so far.

        Yields:
            Those that have ended, then those in force.
        """
        yield from self._closed
        for (side, _), rows in self._open.items():
            # Each is listed with its left and with its right entity.
            if side == 0:
                yield from rows.values()


def group_by_version(events: Iterable[LedgerEvent]) -> Iterator[tuple[int, list[LedgerEvent]]]:
    """Group events that are in the order of their versions.

    Args:
        events: The events.

    Yields:
        Each version that has any, with its events.
    """
    for version, group in groupby(events, lambda event: event.version):
        yield version, list(group)


def _list_keys(left: int, right: int) -> list[tuple[int, int]]:
    return [(0, left), (1, right)]
