"""The links in force after events of methods and decisions of people."""

from __future__ import annotations

import pytest

from everalign.causes import RetractionCause
from everalign.state.ledger import (
    EventKind,
    LedgerEvent,
    LinkSet,
    LinkState,
    ScoredPair,
    confirm_pairs,
    reject_pairs,
    replay_events,
)

BETTER_RIVAL = RetractionCause.BETTER_RIVAL


def event(version: int, kind: EventKind, left: int, right: int, score: float = 0.8) -> LedgerEvent:
    return LedgerEvent(version, kind, left, right, score, "")


LINKED = replay_events([event(0, EventKind.ADDED, 1, 10), event(0, EventKind.ADDED, 2, 20)])
CONFIRMED = replay_events(confirm_pairs(LINKED, [(1, 10)], 1), LINKED)
REJECTED = replay_events(reject_pairs(LINKED, [(1, 10)], 1), LINKED)


def test_without_events_there_are_no_links() -> None:
    assert replay_events([]) == LinkSet()


def test_a_new_score_does_not_change_since_when_a_link_is_in_force() -> None:
    links = replay_events([event(3, EventKind.RESCORED, 1, 10, 0.9)], LINKED)
    assert links.links[1, 10] == LinkState(0.9, since=0, confirmed=False)


def test_a_link_that_is_added_again_is_in_force_since_then() -> None:
    links = replay_events(
        [event(2, EventKind.RETRACTED, 1, 10), event(5, EventKind.ADDED, 1, 10)], LINKED
    )
    assert links.links[1, 10].since == 5


def test_replaying_does_not_change_the_links_it_starts_from() -> None:
    replay_events(
        [event(1, EventKind.RETRACTED, 1, 10), event(1, EventKind.REJECTED, 2, 20)], LINKED
    )
    assert set(LINKED.links) == {(1, 10), (2, 20)}
    assert LINKED.rejected_pairs == frozenset()


def test_confirming_a_link_in_force_marks_it_as_confirmed() -> None:
    assert CONFIRMED.links[1, 10] == LinkState(1.0, since=0, confirmed=True)
    assert CONFIRMED.confirmed_pairs == {(1, 10)}
    assert CONFIRMED.found_links == [ScoredPair(2, 20, 0.8)]


def test_confirming_retracts_competing_links() -> None:
    events = confirm_pairs(LINKED, [(1, 20)], 1, "seed")
    assert events == [
        LedgerEvent(
            1, EventKind.RETRACTED, 2, 20, 0.8, "replaced by", competing_left=1, cause=BETTER_RIVAL
        ),
        LedgerEvent(
            1,
            EventKind.RETRACTED,
            1,
            10,
            0.8,
            "replaced by",
            competing_right=20,
            cause=BETTER_RIVAL,
        ),
        LedgerEvent(
            1, EventKind.CONFIRMED, 1, 20, 1.0, "seed", competing_left=2, competing_right=10
        ),
    ]
    assert set(replay_events(events, LINKED).links) == {(1, 20)}


def test_a_confirmation_without_retractions_removes_competing_links_too() -> None:
    assert set(replay_events([event(1, EventKind.CONFIRMED, 1, 20)], LINKED).links) == {(1, 20)}


def test_a_rejected_pair_is_no_link_and_stays_rejected() -> None:
    assert set(REJECTED.links) == {(2, 20)}
    assert REJECTED.rejected_pairs == {(1, 10)}


@pytest.mark.parametrize(
    "method_event",
    [
        event(2, EventKind.RETRACTED, 1, 10),
        event(2, EventKind.RESCORED, 1, 10),
        event(2, EventKind.ADDED, 1, 11),
        event(2, EventKind.REVISED, 3, 10),
        event(2, EventKind.RESCORED, 3, 30),
    ],
)
def test_no_event_of_a_method_undoes_a_confirmation(method_event: LedgerEvent) -> None:
    assert replay_events([method_event], CONFIRMED) == CONFIRMED


@pytest.mark.parametrize("kind", [EventKind.ADDED, EventKind.REVISED, EventKind.RESCORED])
def test_no_event_of_a_method_links_a_rejected_pair(kind: EventKind) -> None:
    assert replay_events([event(2, kind, 1, 10)], REJECTED) == REJECTED


def test_of_two_decisions_the_later_one_counts() -> None:
    confirmed_again = replay_events(confirm_pairs(REJECTED, [(1, 10)], 2), REJECTED)
    assert confirmed_again.links[1, 10] == LinkState(1.0, since=2, confirmed=True)
    assert confirmed_again.rejected_pairs == frozenset()
    rejected = replay_events(reject_pairs(CONFIRMED, [(1, 10)], 2), CONFIRMED)
    assert set(rejected.links) == {(2, 20)}
    other = replay_events(confirm_pairs(CONFIRMED, [(1, 11)], 2), CONFIRMED)
    assert other.confirmed_pairs == {(1, 11)}


def test_repeating_a_decision_is_no_event() -> None:
    assert confirm_pairs(CONFIRMED, [(1, 10)], 2) == []
    assert reject_pairs(REJECTED, [(1, 10)], 2) == []
