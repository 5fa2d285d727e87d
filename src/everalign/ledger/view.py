"""The links in force: what remains when all events have been applied in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from everalign.ledger.events import Event, Kind
from everalign.ledger.links import Link, Pair, Partners


class Standing(NamedTuple):
    """How a link stands: its score, the version that put it in force, and who vouches for it."""

    score: float
    since: int
    confirmed: bool


@dataclass(frozen=True)
class View:
    """The links in force, one-to-one, and the pairs that people have rejected."""

    links: Mapping[Pair, Standing] = field(default_factory=dict)
    rejected: frozenset[Pair] = frozenset()

    @property
    def found(self) -> list[Link]:
        """The links that rest on a method's word: what a rule may change."""
        return [
            Link(*pair, standing.score)
            for pair, standing in self.links.items()
            if not standing.confirmed
        ]

    @property
    def confirmed(self) -> frozenset[Pair]:
        """The links that rest on a person's word."""
        return frozenset(pair for pair, standing in self.links.items() if standing.confirmed)


def fold(events: Iterable[Event], start: View | None = None) -> View:
    """Apply events in order, to nothing or to an earlier view.

    Whatever the events, the result is one-to-one, and no event of a method undoes a person's
    confirmation or rejection. Between people, the later word counts.

    >>> view = fold([
    ...     Event(0, Kind.ADDED, 1, 10, 0.8, "mutual best match"),
    ...     Event(1, Kind.CONFIRMED, 1, 11, 1.0, "confirmed by a person"),
    ... ])
    >>> dict(view.links)
    {(1, 11): Standing(score=1.0, since=1, confirmed=True)}
    """
    board = Board(start or View())
    for event in events:
        board.apply(event)
    return board.view()


class Board:
    """A view while events are being applied to it."""

    def __init__(self, start: View) -> None:
        self.links = dict(start.links)
        self.rejected = set(start.rejected)
        self.partners = Partners(self.links)

    def view(self) -> View:
        """The view as it is now."""
        return View(dict(self.links), frozenset(self.rejected))

    def apply(self, event: Event) -> None:
        """Let one event take effect."""
        pair = (event.left, event.right)
        kind = event.kind
        if kind is Kind.CONFIRMED:
            self.rejected.discard(pair)
            self._put(pair, event, confirmed=True)
        elif kind is Kind.REJECTED:
            self.rejected.add(pair)
            self._take_out(pair)
        elif kind is Kind.WITHDRAWN:
            self._withdraw(pair)
        elif not self._settled(pair):
            self._apply_method(kind, pair, event)

    def _withdraw(self, pair: Pair) -> None:
        self.rejected.discard(pair)
        if pair in self.links and self.links[pair].confirmed:
            self._take_out(pair)

    def _apply_method(self, kind: Kind, pair: Pair, event: Event) -> None:
        if kind is Kind.RETRACTED:
            self._take_out(pair)
        elif kind is not Kind.RESCORED or pair in self.links:
            self._put(pair, event, confirmed=False)

    def _settled(self, pair: Pair) -> bool:
        if pair in self.rejected:
            return True
        held = self.links.get(pair)
        if held is not None:
            return held.confirmed
        return any(self.links[rival].confirmed for rival in self.partners.rivals(pair))

    def _put(self, pair: Pair, event: Event, *, confirmed: bool) -> None:
        for rival in self.partners.rivals(pair):
            self._take_out(rival)
        held = self.links.get(pair)
        since = event.version if held is None else held.since
        self.links[pair] = Standing(event.score, since, confirmed)
        self.partners.join(pair)

    def _take_out(self, pair: Pair) -> None:
        if self.links.pop(pair, None) is not None:
            self.partners.part(pair)
