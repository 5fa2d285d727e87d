"""Invariants of merge rules and link events, for any links."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everalign.cardinality import Cardinality
from everalign.state.ledger import (
    MERGE_RULES,
    EventKind,
    LedgerEvent,
    LinkSet,
    MergeRule,
    Pair,
    ScoredPair,
    confirm_pairs,
    diff_links,
    merge_best_first,
    merge_links,
    reject_pairs,
    replay_events,
)

IDS = st.integers(0, 6)
# Few distinct scores, so that ties are common.
SCORES = st.sampled_from([0.1, 0.2, 0.203, 0.5, 0.9])
PAIRS = st.tuples(IDS, IDS)
SCORED = st.lists(st.builds(ScoredPair, IDS, IDS, SCORES), max_size=12)
LINKS = SCORED.map(lambda links: merge_best_first([], links))
CARDINALITIES = st.sampled_from(Cardinality)
EVENTS = st.lists(
    st.builds(
        LedgerEvent, st.integers(0, 3), st.sampled_from(EventKind), IDS, IDS, SCORES, st.just("")
    )
)
# Rule `latest` drops the links in force; the others merge.
MERGING_RULES = {name: rule for name, rule in MERGE_RULES.items() if name != "latest"}
EACH_MERGING_RULE = pytest.mark.parametrize(
    "rule", MERGING_RULES.values(), ids=MERGING_RULES.keys()
)


def is_one_to_one(pairs: Sequence[Pair]) -> bool:
    lefts, rights = {left for left, _ in pairs}, {right for _, right in pairs}
    return len(pairs) == len(lefts) == len(rights)


def list_pairs(links: Sequence[ScoredPair]) -> list[Pair]:
    return [link.pair for link in links]


@EACH_MERGING_RULE
@given(LINKS, LINKS)
def test_merged_links_are_one_to_one_and_all_from_the_input(
    rule: MergeRule, previous: list[ScoredPair], found: list[ScoredPair]
) -> None:
    merged = rule(previous, found)
    assert is_one_to_one(list_pairs(merged))
    for link in merged:
        assert link.score == max(
            other.score for other in previous + found if other.pair == link.pair
        )


def satisfies(pairs: Sequence[Pair], cardinality: Cardinality) -> bool:
    lefts, rights = {left for left, _ in pairs}, {right for _, right in pairs}
    return (len(lefts) == len(pairs) or not cardinality.unique_left) and (
        len(rights) == len(pairs) or not cardinality.unique_right
    )


@EACH_MERGING_RULE
@given(SCORED, SCORED, CARDINALITIES)
def test_merged_links_satisfy_the_cardinality(
    rule: MergeRule,
    previous: list[ScoredPair],
    found: list[ScoredPair],
    cardinality: Cardinality,
) -> None:
    previous = merge_best_first([], previous, cardinality)
    merged = list_pairs(rule(previous, found, cardinality))
    assert satisfies(merged, cardinality)
    # Nothing is dropped without need.
    assert not any(
        satisfies([*merged, link.pair], cardinality)
        for link in previous
        if link.pair not in merged
    )
    if cardinality is Cardinality.MANY_TO_MANY:
        assert set(merged) == {link.pair for link in previous + found}


@EACH_MERGING_RULE
@given(LINKS, LINKS)
def test_merging_once_more_changes_nothing(
    rule: MergeRule, previous: list[ScoredPair], found: list[ScoredPair]
) -> None:
    merged = rule(previous, found)
    assert rule(merged, []) == merged
    assert rule(merged, merged) == merged


@given(LINKS, LINKS)
def test_rule_best_is_idempotent(previous: list[ScoredPair], found: list[ScoredPair]) -> None:
    merged = merge_best_first(previous, found)
    assert merge_best_first(merged, found) == merged


@pytest.mark.slow
@EACH_MERGING_RULE
@given(LINKS, LINKS, st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(
    rule: MergeRule, previous: list[ScoredPair], found: list[ScoredPair], chance: random.Random
) -> None:
    shuffled_previous = chance.sample(previous, len(previous))
    shuffled_found = chance.sample(found, len(found))
    assert rule(shuffled_previous, shuffled_found) == rule(previous, found)


@given(LINKS, LINKS)
def test_rule_best_drops_a_link_only_for_one_at_least_as_good(
    previous: list[ScoredPair], found: list[ScoredPair]
) -> None:
    merged = merge_best_first(previous, found)
    for link in previous + found:
        assert link.pair in list_pairs(merged) or any(
            (kept.left == link.left or kept.right == link.right) and kept.score >= link.score
            for kept in merged
        )


@given(LINKS, LINKS)
def test_rule_published_never_replaces_a_link_by_a_worse_one(
    previous: list[ScoredPair], found: list[ScoredPair]
) -> None:
    merged = MERGE_RULES["published"](previous, found)
    for link in previous:
        assert link.pair in list_pairs(merged) or any(
            (kept.left == link.left or kept.right == link.right) and kept.score > link.score
            for kept in merged
        )


@given(LINKS, LINKS)
def test_events_account_for_every_link(before: list[ScoredPair], after: list[ScoredPair]) -> None:
    count = Counter(event.kind for event in diff_links(before, after, 1))
    assert (
        len(after)
        == len(before)
        + count[EventKind.ADDED]
        + count[EventKind.REVISED]
        - count[EventKind.RETRACTED]
    )


@pytest.mark.slow
@given(st.lists(LINKS, max_size=6))
def test_replaying_the_events_gives_the_links(versions: list[list[ScoredPair]]) -> None:
    links = LinkSet()
    history: list[LedgerEvent] = []
    for number, after in enumerate(versions):
        history += diff_links(links.found_links, after, number)
        links = replay_events(history)
        assert sorted(links.links) == list_pairs(after)
        for link in after:
            assert links.links[link.pair].score == pytest.approx(link.score, abs=0.005)


@pytest.mark.slow
@given(EVENTS, CARDINALITIES)
def test_links_satisfy_the_cardinality_whatever_the_events(
    events: list[LedgerEvent], cardinality: Cardinality
) -> None:
    links = replay_events(events, LinkSet(cardinality=cardinality))
    assert links.cardinality is cardinality
    assert satisfies(list(links.links), cardinality)
    assert not links.rejected_pairs & links.links.keys()


@pytest.mark.slow
@given(EVENTS, st.integers(0, 20))
def test_replaying_in_two_steps_is_replaying_in_one(events: list[LedgerEvent], cut: int) -> None:
    assert replay_events(events[cut:], replay_events(events[:cut])) == replay_events(events)


@given(LINKS, LINKS)
def test_links_are_one_to_one_after_every_single_event(
    before: list[ScoredPair], after: list[ScoredPair]
) -> None:
    held = set(list_pairs(before))
    for event in diff_links(before, after, 1):
        held = held - {event.pair} if event.kind is EventKind.RETRACTED else held | {event.pair}
        assert is_one_to_one(list(held))
    assert held == set(list_pairs(after))


@pytest.mark.slow
@EACH_MERGING_RULE
@given(
    st.lists(st.tuples(SCORED, st.lists(PAIRS, max_size=2), st.lists(PAIRS, max_size=2))),
    CARDINALITIES,
)
def test_no_method_overrules_a_person(
    rule: MergeRule,
    versions: list[tuple[list[ScoredPair], list[Pair], list[Pair]]],
    cardinality: Cardinality,
) -> None:
    links = LinkSet(cardinality=cardinality)
    for number, (found, confirmed_now, rejected_now) in enumerate(versions):
        links = replay_events(confirm_pairs(links, confirmed_now, number), links)
        links = replay_events(reject_pairs(links, rejected_now, number), links)
        confirmed, rejected = links.confirmed_pairs, links.rejected_pairs
        before = links.found_links
        merged = merge_links(before, found, rule, confirmed, rejected, cardinality)
        events = diff_links(before, merged, number, cardinality=cardinality)
        links = replay_events(events, links)
        assert links.confirmed_pairs == confirmed
        assert links.rejected_pairs == rejected
        assert sorted(links.links) == sorted(chain(list_pairs(merged), confirmed))
        assert satisfies(list(links.links), cardinality)


@given(LINKS, LINKS)
def test_rule_latest_keeps_the_found_links_and_no_others(
    previous: list[ScoredPair], found: list[ScoredPair]
) -> None:
    merged = MERGE_RULES["latest"](previous, found)
    assert sorted(list_pairs(merged)) == sorted({link.pair for link in found})
