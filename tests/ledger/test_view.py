"""The links in force, read from events of methods and of people."""

from __future__ import annotations

import pytest

from everalign.ledger import Event, Kind, Link, Standing, View, confirm, fold, reject


def event(version: int, kind: Kind, left: int, right: int, score: float = 0.8) -> Event:
    return Event(version, kind, left, right, score, "")


LINKED = fold([event(0, Kind.ADDED, 1, 10), event(0, Kind.ADDED, 2, 20)])
CONFIRMED = fold(confirm(LINKED, [(1, 10)], 1), LINKED)
REJECTED = fold(reject(LINKED, [(1, 10)], 1), LINKED)


def test_no_events_no_links() -> None:
    assert fold([]) == View()


def test_a_link_is_in_force_since_it_came_in_whatever_its_score_does() -> None:
    view = fold([event(3, Kind.RESCORED, 1, 10, 0.9)], LINKED)
    assert view.links[1, 10] == Standing(0.9, since=0, confirmed=False)


def test_a_link_that_comes_back_is_in_force_since_then() -> None:
    view = fold([event(2, Kind.RETRACTED, 1, 10), event(5, Kind.ADDED, 1, 10)], LINKED)
    assert view.links[1, 10].since == 5


def test_folding_does_not_change_the_view_it_starts_from() -> None:
    fold([event(1, Kind.RETRACTED, 1, 10), event(1, Kind.REJECTED, 2, 20)], LINKED)
    assert set(LINKED.links) == {(1, 10), (2, 20)}
    assert LINKED.rejected == frozenset()


def test_confirming_a_link_in_force_makes_it_a_persons_word() -> None:
    assert CONFIRMED.links[1, 10] == Standing(1.0, since=0, confirmed=True)
    assert CONFIRMED.confirmed == {(1, 10)}
    assert CONFIRMED.found == [Link(2, 20, 0.8)]


def test_confirming_takes_out_what_is_in_the_way_and_says_so() -> None:
    events = confirm(LINKED, [(1, 20)], 1, "seed")
    assert events == [
        Event(1, Kind.RETRACTED, 2, 20, 0.8, "replaced by", other_left=1),
        Event(1, Kind.RETRACTED, 1, 10, 0.8, "replaced by", other_right=20),
        Event(1, Kind.CONFIRMED, 1, 20, 1.0, "seed", other_left=2, other_right=10),
    ]
    assert set(fold(events, LINKED).links) == {(1, 20)}


def test_a_confirmation_alone_is_enough_to_take_out_what_is_in_the_way() -> None:
    assert set(fold([event(1, Kind.CONFIRMED, 1, 20)], LINKED).links) == {(1, 20)}


def test_a_rejected_pair_is_out_and_remembered() -> None:
    assert set(REJECTED.links) == {(2, 20)}
    assert REJECTED.rejected == {(1, 10)}


@pytest.mark.parametrize(
    "word",
    [
        event(2, Kind.RETRACTED, 1, 10),
        event(2, Kind.RESCORED, 1, 10),
        event(2, Kind.ADDED, 1, 11),
        event(2, Kind.REVISED, 3, 10),
        event(2, Kind.RESCORED, 3, 30),
    ],
)
def test_no_method_undoes_a_confirmation(word: Event) -> None:
    assert fold([word], CONFIRMED) == CONFIRMED


@pytest.mark.parametrize("kind", [Kind.ADDED, Kind.REVISED, Kind.RESCORED])
def test_no_method_brings_back_a_rejected_pair(kind: Kind) -> None:
    assert fold([event(2, kind, 1, 10)], REJECTED) == REJECTED


def test_between_people_the_later_word_counts() -> None:
    back = fold(confirm(REJECTED, [(1, 10)], 2), REJECTED)
    assert back.links[1, 10] == Standing(1.0, since=2, confirmed=True)
    assert back.rejected == frozenset()
    out = fold(reject(CONFIRMED, [(1, 10)], 2), CONFIRMED)
    assert set(out.links) == {(2, 20)}
    other = fold(confirm(CONFIRMED, [(1, 11)], 2), CONFIRMED)
    assert other.confirmed == {(1, 11)}


def test_saying_the_same_again_is_no_event() -> None:
    assert confirm(CONFIRMED, [(1, 10)], 2) == []
    assert reject(REJECTED, [(1, 10)], 2) == []
