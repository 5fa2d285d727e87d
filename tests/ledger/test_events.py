"""What changes are called, and why they happened."""

from __future__ import annotations

from everalign.ledger import Event, Kind, Link, changes


def test_a_link_of_two_free_entities_is_added() -> None:
    assert changes([Link(1, 10, 0.9)], [Link(1, 10, 0.9), Link(2, 20, 0.8)], 4) == [
        Event(4, Kind.ADDED, 2, 20, 0.8, "mutual best match")
    ]


def test_a_link_that_is_gone_is_retracted_with_its_last_score() -> None:
    assert changes([Link(1, 10, 0.9)], [], 4) == [
        Event(4, Kind.RETRACTED, 1, 10, 0.9, "no longer found")
    ]


def test_a_link_that_replaces_two_names_both_and_they_name_it() -> None:
    before = [Link(1, 10, 0.5), Link(2, 20, 0.6)]
    events = changes(before, [Link(1, 20, 0.7)], 4)
    assert events == [
        Event(4, Kind.RETRACTED, 1, 10, 0.5, "replaced by", other_right=20),
        Event(4, Kind.RETRACTED, 2, 20, 0.6, "replaced by", other_left=1),
        Event(4, Kind.REVISED, 1, 20, 0.7, "replaces", other_left=2, other_right=10),
    ]
    assert [event.rivals for event in events] == [[(1, 20)], [(1, 20)], [(2, 20), (1, 10)]]


def test_a_link_whose_partner_moves_on_is_replaced_by_both_new_links() -> None:
    retracted = changes([Link(1, 10, 0.5)], [Link(1, 11, 0.6), Link(2, 10, 0.7)], 4)[0]
    assert retracted.rivals == [(2, 10), (1, 11)]


def test_only_a_score_that_changes_visibly_is_worth_an_event() -> None:
    before = [Link(1, 10, 0.5), Link(2, 20, 0.5)]
    assert changes(before, [Link(1, 10, 0.504), Link(2, 20, 0.494)], 4) == [
        Event(4, Kind.RESCORED, 2, 20, 0.494, "found with another score")
    ]


def test_every_score_counts_where_it_is_asked_for() -> None:
    before = [Link(1, 10, 0.5), Link(2, 20, 0.6)]
    after = [Link(1, 10, 0.501), Link(2, 20, 0.6)]
    assert changes(before, after, 4) == []
    (event,) = changes(before, after, 4, least=0)
    assert (event.kind, event.pair, event.score) == (Kind.RESCORED, (1, 10), 0.501)
