"""The rules on cases small enough to check by hand."""

from __future__ import annotations

import pytest

from everalign.ledger import RULES, Link, Rule, decide, paper, strict

# Of the rules, `latest` forgets what was in force; the others merge.
MERGING = {name: rule for name, rule in RULES.items() if name != "latest"}
EVERY_MERGE = pytest.mark.parametrize("rule", MERGING.values(), ids=MERGING.keys())


@EVERY_MERGE
def test_a_link_between_free_entities_is_added(rule: Rule) -> None:
    assert rule([Link(1, 10, 0.9)], [Link(2, 20, 0.1)]) == [Link(1, 10, 0.9), Link(2, 20, 0.1)]


@EVERY_MERGE
def test_a_link_that_is_no_longer_found_stays(rule: Rule) -> None:
    assert rule([Link(1, 10, 0.2)], []) == [Link(1, 10, 0.2)]


@EVERY_MERGE
@pytest.mark.parametrize(("old", "new"), [(0.4, 0.7), (0.7, 0.4)])
def test_a_pair_found_again_keeps_its_higher_score(rule: Rule, old: float, new: float) -> None:
    assert rule([Link(1, 10, old)], [Link(1, 10, new)]) == [Link(1, 10, 0.7)]


@EVERY_MERGE
def test_a_better_link_takes_the_place_of_both_links_in_its_way(rule: Rule) -> None:
    previous = [Link(1, 10, 0.5), Link(2, 20, 0.6)]
    assert rule(previous, [Link(1, 20, 0.7)]) == [Link(1, 20, 0.7)]


@EVERY_MERGE
def test_a_link_that_beats_only_one_of_the_two_in_its_way_is_left_out(rule: Rule) -> None:
    previous = [Link(1, 10, 0.5), Link(2, 20, 0.9)]
    assert rule(previous, [Link(1, 20, 0.7)]) == previous


@EVERY_MERGE
def test_of_two_links_with_the_same_score_the_one_in_force_stays(rule: Rule) -> None:
    assert rule([Link(2, 10, 0.5)], [Link(1, 10, 0.5)]) == [Link(2, 10, 0.5)]


@EVERY_MERGE
def test_found_links_that_contradict_each_other_come_out_one_to_one(rule: Rule) -> None:
    assert rule([], [Link(1, 10, 0.5), Link(1, 11, 0.6)]) == [Link(1, 11, 0.6)]


def test_paper_drops_a_link_that_lost_to_a_replaced_one_and_strict_keeps_it() -> None:
    previous = [Link(1, 10, 0.5)]
    found = [Link(1, 11, 0.6), Link(2, 10, 0.4)]
    assert paper(previous, found) == [Link(1, 11, 0.6)]
    assert strict(previous, found) == found


@EVERY_MERGE
def test_a_confirmed_pair_keeps_both_its_entities_from_every_other_link(rule: Rule) -> None:
    previous = [Link(1, 11, 0.9), Link(3, 30, 0.3)]
    found = [Link(2, 10, 0.9), Link(4, 40, 0.4)]
    decided = decide(previous, found, rule, confirmed=[(1, 10)])
    assert decided == [Link(3, 30, 0.3), Link(4, 40, 0.4)]


@EVERY_MERGE
def test_a_rejected_pair_stays_out_and_frees_its_entities(rule: Rule) -> None:
    previous = [Link(1, 10, 0.9)]
    found = [Link(1, 10, 0.95), Link(2, 20, 0.8)]
    assert decide(previous, found, rule, rejected=[(1, 10)]) == [Link(2, 20, 0.8)]
    assert decide(previous, [Link(1, 11, 0.2)], rule, rejected=[(1, 10)]) == [Link(1, 11, 0.2)]
