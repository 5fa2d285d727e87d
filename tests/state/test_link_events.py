"""The events that lead from one set of links to the next, and their reasons."""

from __future__ import annotations

from everalign.causes import RetractionCause
from everalign.state.ledger import EventKind, LedgerEvent, ScoredPair, diff_links

BETTER_RIVAL = RetractionCause.BETTER_RIVAL


def test_a_link_between_unlinked_entities_is_added() -> None:
    assert diff_links(
        [ScoredPair(1, 10, 0.9)], [ScoredPair(1, 10, 0.9), ScoredPair(2, 20, 0.8)], 4
    ) == [LedgerEvent(4, EventKind.ADDED, 2, 20, 0.8, "mutual best match")]


def test_a_link_that_is_not_found_again_is_retracted_with_its_last_score() -> None:
    assert diff_links([ScoredPair(1, 10, 0.9)], [], 4) == [
        LedgerEvent(4, EventKind.RETRACTED, 1, 10, 0.9, "no longer found")
    ]


def test_a_link_that_replaces_two_links_names_both_and_they_name_it() -> None:
    before = [ScoredPair(1, 10, 0.5), ScoredPair(2, 20, 0.6)]
    events = diff_links(before, [ScoredPair(1, 20, 0.7)], 4)
    assert events == [
        LedgerEvent(
            4,
            EventKind.RETRACTED,
            1,
            10,
            0.5,
            "replaced by",
            competing_right=20,
            cause=BETTER_RIVAL,
        ),
        LedgerEvent(
            4, EventKind.RETRACTED, 2, 20, 0.6, "replaced by", competing_left=1, cause=BETTER_RIVAL
        ),
        LedgerEvent(
            4, EventKind.REVISED, 1, 20, 0.7, "replaces", competing_left=2, competing_right=10
        ),
    ]
    assert [event.competing_pairs for event in events] == [
        [(1, 20)],
        [(1, 20)],
        [(2, 20), (1, 10)],
    ]


def test_a_link_whose_entities_get_other_partners_is_replaced_by_both_new_links() -> None:
    retracted = diff_links(
        [ScoredPair(1, 10, 0.5)], [ScoredPair(1, 11, 0.6), ScoredPair(2, 10, 0.7)], 4
    )[0]
    assert retracted.competing_pairs == [(2, 10), (1, 11)]


def test_a_small_change_of_a_score_is_not_recorded() -> None:
    before = [ScoredPair(1, 10, 0.5), ScoredPair(2, 20, 0.5)]
    assert diff_links(before, [ScoredPair(1, 10, 0.504), ScoredPair(2, 20, 0.494)], 4) == [
        LedgerEvent(4, EventKind.RESCORED, 2, 20, 0.494, "found with another score")
    ]


def test_every_change_of_a_score_is_recorded_on_request() -> None:
    before = [ScoredPair(1, 10, 0.5), ScoredPair(2, 20, 0.6)]
    after = [ScoredPair(1, 10, 0.501), ScoredPair(2, 20, 0.6)]
    assert diff_links(before, after, 4) == []
    (event,) = diff_links(before, after, 4, min_score_change=0)
    assert (event.kind, event.pair, event.score) == (EventKind.RESCORED, (1, 10), 0.501)
