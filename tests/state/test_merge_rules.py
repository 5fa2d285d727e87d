"""The merge rules on cases small enough to check by hand."""

from __future__ import annotations

import pytest

from everalign.state.ledger import (
    MERGE_RULES,
    MergeRule,
    ScoredPair,
    merge_as_published,
    merge_best_first,
    merge_links,
)

# Rule `latest` drops the links in force; the others merge.
MERGING_RULES = {name: rule for name, rule in MERGE_RULES.items() if name != "latest"}
EACH_MERGING_RULE = pytest.mark.parametrize(
    "rule", MERGING_RULES.values(), ids=MERGING_RULES.keys()
)


@EACH_MERGING_RULE
def test_a_link_between_unlinked_entities_is_added(rule: MergeRule) -> None:
    assert rule([ScoredPair(1, 10, 0.9)], [ScoredPair(2, 20, 0.1)]) == [
        ScoredPair(1, 10, 0.9),
        ScoredPair(2, 20, 0.1),
    ]


@EACH_MERGING_RULE
def test_a_link_that_is_no_longer_found_stays(rule: MergeRule) -> None:
    assert rule([ScoredPair(1, 10, 0.2)], []) == [ScoredPair(1, 10, 0.2)]


@EACH_MERGING_RULE
@pytest.mark.parametrize(("old", "new"), [(0.4, 0.7), (0.7, 0.4)])
def test_a_pair_found_again_keeps_its_higher_score(
    rule: MergeRule, old: float, new: float
) -> None:
    assert rule([ScoredPair(1, 10, old)], [ScoredPair(1, 10, new)]) == [ScoredPair(1, 10, 0.7)]


@EACH_MERGING_RULE
def test_a_better_link_replaces_both_links_that_it_competes_with(rule: MergeRule) -> None:
    previous = [ScoredPair(1, 10, 0.5), ScoredPair(2, 20, 0.6)]
    assert rule(previous, [ScoredPair(1, 20, 0.7)]) == [ScoredPair(1, 20, 0.7)]


@EACH_MERGING_RULE
def test_a_link_better_than_only_one_of_two_competing_links_is_dropped(rule: MergeRule) -> None:
    previous = [ScoredPair(1, 10, 0.5), ScoredPair(2, 20, 0.9)]
    assert rule(previous, [ScoredPair(1, 20, 0.7)]) == previous


@EACH_MERGING_RULE
def test_of_two_links_with_the_same_score_the_one_in_force_stays(rule: MergeRule) -> None:
    assert rule([ScoredPair(2, 10, 0.5)], [ScoredPair(1, 10, 0.5)]) == [ScoredPair(2, 10, 0.5)]


@EACH_MERGING_RULE
def test_of_competing_found_links_the_best_is_kept(rule: MergeRule) -> None:
    assert rule([], [ScoredPair(1, 10, 0.5), ScoredPair(1, 11, 0.6)]) == [ScoredPair(1, 11, 0.6)]


def test_published_drops_a_link_that_lost_to_a_replaced_one_and_best_keeps_it() -> None:
    previous = [ScoredPair(1, 10, 0.5)]
    found = [ScoredPair(1, 11, 0.6), ScoredPair(2, 10, 0.4)]
    assert merge_as_published(previous, found) == [ScoredPair(1, 11, 0.6)]
    assert merge_best_first(previous, found) == found


@EACH_MERGING_RULE
def test_entities_of_a_confirmed_pair_get_no_other_link(rule: MergeRule) -> None:
    previous = [ScoredPair(1, 11, 0.9), ScoredPair(3, 30, 0.3)]
    found = [ScoredPair(2, 10, 0.9), ScoredPair(4, 40, 0.4)]
    merged = merge_links(previous, found, rule, confirmed=[(1, 10)])
    assert merged == [ScoredPair(3, 30, 0.3), ScoredPair(4, 40, 0.4)]


@EACH_MERGING_RULE
def test_a_rejected_pair_is_not_linked_and_its_entities_are_free(rule: MergeRule) -> None:
    previous = [ScoredPair(1, 10, 0.9)]
    found = [ScoredPair(1, 10, 0.95), ScoredPair(2, 20, 0.8)]
    assert merge_links(previous, found, rule, rejected=[(1, 10)]) == [ScoredPair(2, 20, 0.8)]
    assert merge_links(previous, [ScoredPair(1, 11, 0.2)], rule, rejected=[(1, 10)]) == [
        ScoredPair(1, 11, 0.2)
    ]
