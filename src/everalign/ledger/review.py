"""A person's word on a pair, as events: it outranks whatever a method says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from everalign.ledger.events import Event, Kind
from everalign.ledger.links import Pair, Partners
from everalign.ledger.view import Board, View


def confirm(
    view: View, pairs: Iterable[Pair], version: int, reason: str = "confirmed by a person"
) -> list[Event]:
    """The events that put pairs in force for good, and first take out what they conflict with.

    >>> from everalign.ledger import Standing
    >>> view = View({(1, 10): Standing(0.8, 0, False)})
    >>> [(event.kind.value, event.pair) for event in confirm(view, [(1, 11)], 1)]
    [('retracted', (1, 10)), ('confirmed', (1, 11))]
    """
    board = Board(view)
    events: list[Event] = []
    for pair in pairs:
        if pair not in board.links or not board.links[pair].confirmed:
            others = board.partners.others(pair)
            events += _retractions(board, pair, version)
            events.append(Event(version, Kind.CONFIRMED, *pair, 1.0, reason, *others))
            board.apply(events[-1])
    return events


def reject(
    view: View, pairs: Iterable[Pair], version: int, reason: str = "rejected by a person"
) -> list[Event]:
    """The events that take pairs out of force, or keep them from ever coming in.

    >>> [event.kind.value for event in reject(View(), [(1, 10), (1, 10)], 1)]
    ['rejected']
    """
    return [
        Event(version, Kind.REJECTED, *pair, _score(view, pair), reason)
        for pair in dict.fromkeys(pairs)
        if pair not in view.rejected
    ]


def withdraw(view: View, reasons: Mapping[Pair, str], version: int) -> list[Event]:
    """The events that take back what people have said of pairs; of others they said nothing.

    >>> view = View(rejected=frozenset([(1, 10)]))
    >>> reasons = {(1, 10): "a mistake", (2, 20): "a mistake"}
    >>> [event.kind.value for event in withdraw(view, reasons, 1)]
    ['withdrawn']
    """
    spoken_of = view.confirmed | view.rejected
    return [
        Event(version, Kind.WITHDRAWN, *pair, _score(view, pair), reason)
        for pair, reason in reasons.items()
        if pair in spoken_of
    ]


def _retractions(board: Board, pair: Pair, version: int) -> list[Event]:
    coming = Partners([pair])
    return [
        Event(version, Kind.RETRACTED, *rival, board.links[rival].score, "replaced by", *others)
        for rival in board.partners.rivals(pair)
        for others in [coming.others(rival)]
    ]


def _score(view: View, pair: Pair) -> float:
    return view.links[pair].score if pair in view.links else 0.0
