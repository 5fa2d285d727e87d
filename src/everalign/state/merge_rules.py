"""Merge rules: how the links in force and the links found by an update become one set.

A rule takes two sets that satisfy the cardinality, the links in force and the links found, and
returns the links in force from now on, which satisfy it again and are sorted by their ids.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from everalign.cardinality import Cardinality
from everalign.state.links import Pair, PartnerIndex, ScoredPair


class MergeRule(Protocol):
    """A function from the links in force and the links found to the links from now on."""

    def __call__(
        self,
        previous: Sequence[ScoredPair],
        found: Sequence[ScoredPair],
        cardinality: Cardinality = Cardinality.ONE_TO_ONE,
    ) -> list[ScoredPair]:
        """Merge the two."""
        ...


def merge_best_first(
    previous: Sequence[ScoredPair],
    found: Sequence[ScoredPair],
    cardinality: Cardinality = Cardinality.ONE_TO_ONE,
) -> list[ScoredPair]:
    """Keep the best of both sets: rule `best`.

    All pairs are ranked by score, and each whose two entities are still free is kept. So a link is
    dropped only for a kept link that competes with it and has at least its score.

    >>> found = [ScoredPair(1, 11, 0.6), ScoredPair(2, 10, 0.4)]
    >>> merge_best_first([ScoredPair(1, 10, 0.5)], found)
    [ScoredPair(left=1, right=11, score=0.6), ScoredPair(left=2, right=10, score=0.4)]

    Args:
        previous: The links in force.
        found: The links found. A pair in both sets has the higher of its two scores.
        cardinality: On which sides an entity is free for one link only.

    Returns:
        The links in force from now on.
    """
    previous_pairs = {link.pair for link in previous}
    scores = _highest_scores([*previous, *found])
    # Of two links with the same score, the one in force comes first: no change without gain.
    # The ids decide the rest, so that the order of the input does not matter.
    ranked = sorted(scores, key=lambda pair: (-scores[pair], pair not in previous_pairs, pair))
    return _attach_scores(_take_free_pairs(ranked, cardinality), scores)


def merge_as_published(
    previous: Sequence[ScoredPair],
    found: Sequence[ScoredPair],
    cardinality: Cardinality = Cardinality.ONE_TO_ONE,
) -> list[ScoredPair]:
    """Merge as the ContEA paper does: rule `published`.

    A found link must have a higher score than every link in force that it competes with. If it
    has not, it is dropped, even where that link is itself replaced by another found link and both
    entities are free in the end. This is where `merge_best_first` keeps more.

    >>> found = [ScoredPair(1, 11, 0.6), ScoredPair(2, 10, 0.4)]
    >>> merge_as_published([ScoredPair(1, 10, 0.5)], found)
    [ScoredPair(left=1, right=11, score=0.6)]

    Args:
        previous: The links in force.
        found: The links found. A pair in both sets has the higher of its two scores.
        cardinality: Which links compete.

    Returns:
        The links in force from now on.
    """
    previous_scores = _highest_scores(previous)
    previous_partners = PartnerIndex(previous_scores, cardinality)
    winners = [
        link.pair
        for link in merge_best_first([], found, cardinality)
        if all(
            # Strictly higher: of two equal links, the one in force stays.
            link.score > previous_scores[competing]
            for competing in previous_partners.competing_pairs(link.pair)
        )
    ]
    winning_partners = PartnerIndex(winners, cardinality)
    survivors = [pair for pair in previous_scores if not winning_partners.competing_pairs(pair)]
    return _attach_scores({*winners, *survivors}, _highest_scores([*previous, *found]))


def keep_found_only(
    previous: Sequence[ScoredPair],  # noqa: ARG001 (every rule takes both sets)
    found: Sequence[ScoredPair],
    cardinality: Cardinality = Cardinality.ONE_TO_ONE,
) -> list[ScoredPair]:
    """Keep the links found and drop all others: rule `latest`.

    For methods that score all pairs anew in every update.

    >>> keep_found_only([ScoredPair(1, 10, 0.9)], [ScoredPair(1, 11, 0.6)])
    [ScoredPair(left=1, right=11, score=0.6)]

    Args:
        previous: The links in force (not used).
        found: The links found.
        cardinality: Which links compete.

    Returns:
        The links in force from now on.
    """
    # Not just `found`: every rule returns a sorted set that satisfies the cardinality.
    return merge_best_first([], found, cardinality)


MERGE_RULES: Mapping[str, MergeRule] = MappingProxyType(
    {"best": merge_best_first, "published": merge_as_published, "latest": keep_found_only}
)


def merge_links(
    previous: Sequence[ScoredPair],
    found: Sequence[ScoredPair],
    rule: MergeRule = merge_best_first,
    confirmed: Collection[Pair] = (),
    rejected: Collection[Pair] = (),
    cardinality: Cardinality = Cardinality.ONE_TO_ONE,
) -> list[ScoredPair]:
    """Apply a merge rule to the pairs that people have not decided.

    >>> found = [ScoredPair(1, 10, 0.9), ScoredPair(2, 20, 0.8)]
    >>> merge_links([], found, confirmed=[(1, 11)])
    [ScoredPair(left=2, right=20, score=0.8)]

    Args:
        previous: The links in force that no person has confirmed.
        found: The links found.
        rule: The merge rule.
        confirmed: Confirmed pairs. No other link may compete with them.
        rejected: Pairs that may not be linked.
        cardinality: Which links compete.

    Returns:
        The links in force from now on, without the confirmed ones.
    """
    partners = PartnerIndex(confirmed, cardinality)
    decided_pairs = {*confirmed, *rejected}

    # Decided pairs are left out before the rule runs: they must not displace other links.
    def select_undecided(links: Sequence[ScoredPair]) -> list[ScoredPair]:
        return [
            link
            for link in links
            if link.pair not in decided_pairs and not partners.competing_pairs(link.pair)
        ]

    return rule(select_undecided(previous), select_undecided(found), cardinality)


def _highest_scores(links: Iterable[ScoredPair]) -> dict[Pair, float]:
    scores: dict[Pair, float] = {}
    for left, right, score in links:
        pair = left, right
        scores[pair] = max(score, scores.get(pair, score))
    return scores


def _take_free_pairs(ranked: Iterable[Pair], cardinality: Cardinality) -> list[Pair]:
    """Take each pair that competes with none that was taken before."""
    taken = PartnerIndex(cardinality=cardinality)
    kept: list[Pair] = []
    # Greedy on purpose: the assignment with the highest sum may drop a link for two weaker ones.
    for pair in ranked:
        if not taken.competing_pairs(pair):
            taken.add_pair(pair)
            kept.append(pair)
    return kept


def _attach_scores(pairs: Iterable[Pair], scores: Mapping[Pair, float]) -> list[ScoredPair]:
    return [ScoredPair(*pair, scores[pair]) for pair in sorted(pairs)]
