"""What holds for the ledger whatever the links."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everalign.ledger import (
    RULES,
    Event,
    Kind,
    Link,
    Pair,
    Rule,
    View,
    changes,
    confirm,
    decide,
    fold,
    reject,
    strict,
)

IDS = st.integers(0, 6)
# Few distinct scores, so that ties are common.
SCORES = st.sampled_from([0.1, 0.2, 0.203, 0.5, 0.9])
PAIRS = st.tuples(IDS, IDS)
LINKS = st.lists(st.builds(Link, IDS, IDS, SCORES), max_size=12).map(
    lambda links: strict([], links)
)
EVENTS = st.lists(
    st.builds(Event, st.integers(0, 3), st.sampled_from(Kind), IDS, IDS, SCORES, st.just(""))
)
# Of the rules, `latest` forgets what was in force; the others merge.
MERGING = {name: rule for name, rule in RULES.items() if name != "latest"}
EVERY_MERGE = pytest.mark.parametrize("rule", MERGING.values(), ids=MERGING.keys())


def one_to_one(pairs: Sequence[Pair]) -> bool:
    lefts, rights = {left for left, _ in pairs}, {right for _, right in pairs}
    return len(pairs) == len(lefts) == len(rights)


def pairs_of(links: Sequence[Link]) -> list[Pair]:
    return [link.pair for link in links]


@EVERY_MERGE
@given(LINKS, LINKS)
def test_decided_links_are_one_to_one_and_invented_by_nobody(
    rule: Rule, previous: list[Link], found: list[Link]
) -> None:
    decided = rule(previous, found)
    assert one_to_one(pairs_of(decided))
    for link in decided:
        assert link.score == max(
            other.score for other in previous + found if other.pair == link.pair
        )


@EVERY_MERGE
@given(LINKS, LINKS)
def test_deciding_once_more_changes_nothing(
    rule: Rule, previous: list[Link], found: list[Link]
) -> None:
    decided = rule(previous, found)
    assert rule(decided, []) == decided
    assert rule(decided, decided) == decided


@given(LINKS, LINKS)
def test_strict_is_idempotent(previous: list[Link], found: list[Link]) -> None:
    decided = strict(previous, found)
    assert strict(decided, found) == decided


@EVERY_MERGE
@given(LINKS, LINKS, st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(
    rule: Rule, previous: list[Link], found: list[Link], chance: random.Random
) -> None:
    shuffled_previous = chance.sample(previous, len(previous))
    shuffled_found = chance.sample(found, len(found))
    assert rule(shuffled_previous, shuffled_found) == rule(previous, found)


@given(LINKS, LINKS)
def test_strict_leaves_a_link_out_only_for_one_at_least_as_good(
    previous: list[Link], found: list[Link]
) -> None:
    decided = strict(previous, found)
    for link in previous + found:
        assert link.pair in pairs_of(decided) or any(
            (kept.left == link.left or kept.right == link.right) and kept.score >= link.score
            for kept in decided
        )


@given(LINKS, LINKS)
def test_paper_never_gives_up_a_link_for_a_worse_one(
    previous: list[Link], found: list[Link]
) -> None:
    decided = RULES["paper"](previous, found)
    for link in previous:
        assert link.pair in pairs_of(decided) or any(
            (kept.left == link.left or kept.right == link.right) and kept.score > link.score
            for kept in decided
        )


@given(LINKS, LINKS)
def test_changes_account_for_every_link(before: list[Link], after: list[Link]) -> None:
    count = Counter(event.kind for event in changes(before, after, 1))
    assert (
        len(after)
        == len(before) + count[Kind.ADDED] + count[Kind.REVISED] - (count[Kind.RETRACTED])
    )


@given(st.lists(LINKS, max_size=6))
def test_folding_the_changes_gives_the_links(versions: list[list[Link]]) -> None:
    view = View()
    history: list[Event] = []
    for number, after in enumerate(versions):
        history += changes(view.found, after, number)
        view = fold(history)
        assert sorted(view.links) == pairs_of(after)
        for link in after:
            assert view.links[link.pair].score == pytest.approx(link.score, abs=0.005)


@given(EVENTS)
def test_the_view_is_one_to_one_whatever_the_events(events: list[Event]) -> None:
    view = fold(events)
    assert one_to_one(list(view.links))
    assert not view.rejected & view.links.keys()


@given(EVENTS, st.integers(0, 20))
def test_folding_in_two_goes_is_folding_in_one(events: list[Event], cut: int) -> None:
    assert fold(events[cut:], fold(events[:cut])) == fold(events)


@given(LINKS, LINKS)
def test_the_view_is_one_to_one_after_every_single_change(
    before: list[Link], after: list[Link]
) -> None:
    held = set(pairs_of(before))
    for event in changes(before, after, 1):
        held = held - {event.pair} if event.kind is Kind.RETRACTED else held | {event.pair}
        assert one_to_one(list(held))
    assert held == set(pairs_of(after))


@EVERY_MERGE
@given(st.lists(st.tuples(LINKS, st.lists(PAIRS, max_size=2), st.lists(PAIRS, max_size=2))))
def test_no_method_ever_overrules_a_person(
    rule: Rule, versions: list[tuple[list[Link], list[Pair], list[Pair]]]
) -> None:
    view = View()
    for number, (found, said_yes, said_no) in enumerate(versions):
        view = fold(confirm(view, said_yes, number), view)
        view = fold(reject(view, said_no, number), view)
        confirmed, rejected = view.confirmed, view.rejected
        decided = decide(view.found, found, rule, confirmed, rejected)
        view = fold(changes(view.found, decided, number), view)
        assert view.confirmed == confirmed
        assert view.rejected == rejected
        assert sorted(view.links) == sorted(chain(pairs_of(decided), confirmed))
        assert one_to_one(list(view.links))


@given(LINKS, LINKS)
def test_latest_is_what_was_found_and_nothing_else(
    previous: list[Link], found: list[Link]
) -> None:
    decided = RULES["latest"](previous, found)
    assert sorted(pairs_of(decided)) == sorted({link.pair for link in found})
