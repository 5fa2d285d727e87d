"""How the links in force and those of a new version become one set: the rules.

A rule takes the links in force and the newly found ones, each set one-to-one, and gives the
links in force from now on, again one-to-one and in order of their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from everalign.ledger.links import Link, Pair, Partners

Rule: TypeAlias = Callable[[Sequence[Link], Sequence[Link]], list[Link]]


def strict(previous: Sequence[Link], found: Sequence[Link]) -> list[Link]:
    """The best of both: every link whose entities no better link has taken.

    A pair in both sets counts with its higher score. Of two links with the same score, the
    one in force goes first. A link is left out only for a kept link of at least its score.

    >>> strict([Link(1, 10, 0.5)], [Link(1, 11, 0.6), Link(2, 10, 0.4)])
    [Link(left=1, right=11, score=0.6), Link(left=2, right=10, score=0.4)]
    """
    in_force = {link.pair for link in previous}
    scores = _highest_scores([*previous, *found])
    ranked = sorted(scores, key=lambda pair: (-scores[pair], pair not in in_force, pair))
    return _with_scores(_first_come(ranked), scores)


def paper(previous: Sequence[Link], found: Sequence[Link]) -> list[Link]:
    """The published rule: a found link has to beat every link in force that it conflicts with.

    If it does not, it is dropped, even where the link that it lost to is replaced by another
    found link and its entities are free in the end. This is where `strict` keeps more.

    >>> paper([Link(1, 10, 0.5)], [Link(1, 11, 0.6), Link(2, 10, 0.4)])
    [Link(left=1, right=11, score=0.6)]
    """
    held = _highest_scores(previous)
    partners = Partners(held)
    winners = [
        link.pair
        for link in strict([], found)
        if all(link.score > held[rival] for rival in partners.rivals(link.pair))
    ]
    taken = Partners(winners)
    survivors = [pair for pair in held if not taken.rivals(pair)]
    return _with_scores({*winners, *survivors}, _highest_scores([*previous, *found]))


def latest(previous: Sequence[Link], found: Sequence[Link]) -> list[Link]:  # noqa: ARG001
    """Only what was found now: for methods that start from nothing each time.

    >>> latest([Link(1, 10, 0.9)], [Link(1, 11, 0.6)])
    [Link(left=1, right=11, score=0.6)]
    """
    return strict([], found)


RULES: Mapping[str, Rule] = MappingProxyType({"strict": strict, "paper": paper, "latest": latest})


def decide(
    previous: Sequence[Link],
    found: Sequence[Link],
    rule: Rule = strict,
    confirmed: Collection[Pair] = (),
    rejected: Collection[Pair] = (),
) -> list[Link]:
    """Apply a rule to what people have left open.

    Rejected pairs, and every link that touches an entity of a confirmed pair, are out before
    the rule sees them. The confirmed links themselves are no part of the result.

    >>> decide([], [Link(1, 10, 0.9), Link(2, 20, 0.8)], confirmed=[(1, 11)])
    [Link(left=2, right=20, score=0.8)]
    """
    settled_lefts = {left for left, _ in confirmed}
    settled_rights = {right for _, right in confirmed}
    refused = set(rejected)

    def still_open(links: Sequence[Link]) -> list[Link]:
        return [
            link
            for link in links
            if link.left not in settled_lefts
            and link.right not in settled_rights
            and link.pair not in refused
        ]

    return rule(still_open(previous), still_open(found))


def _highest_scores(links: Iterable[Link]) -> dict[Pair, float]:
    scores: dict[Pair, float] = {}
    for left, right, score in links:
        pair = left, right
        scores[pair] = max(score, scores.get(pair, score))
    return scores


def _first_come(ranked: Iterable[Pair]) -> list[Pair]:
    taken_lefts: set[int] = set()
    taken_rights: set[int] = set()
    kept: list[Pair] = []
    for pair in ranked:
        left, right = pair
        if left not in taken_lefts and right not in taken_rights:
            taken_lefts.add(left)
            taken_rights.add(right)
            kept.append(pair)
    return kept


def _with_scores(pairs: Iterable[Pair], scores: Mapping[Pair, float]) -> list[Link]:
    return [Link(*pair, scores[pair]) for pair in sorted(pairs)]
