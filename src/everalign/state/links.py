"""Pairs of entity ids, and the set of links in force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from everalign.cardinality import Cardinality
from everalign.state.array_format import Array

Pair: TypeAlias = tuple[int, int]

# The record type of array files.
# Little-endian and of fixed width, so that a state directory can be moved to another machine.
_SCORED_PAIR_ROW = np.dtype([("left", "<i8"), ("right", "<i8"), ("score", "<f8")])


class ScoredPair(NamedTuple):
    """A left and a right entity id with a score.

    >>> ScoredPair(3, 7, 0.9).pair
    (3, 7)
    """

    left: int
    right: int
    score: float

    @property
    def pair(self) -> Pair:
        """The two ids without the score."""
        return self.left, self.right


class LinkState(NamedTuple):
    """The state of a link in force.

    Attributes:
        score: Its score; 1 if a person confirmed it.
        since: The version that put it in force.
        confirmed: Whether a person confirmed it.
    """

    score: float
    since: int
    confirmed: bool


@dataclass(frozen=True)
class LinkSet:
    """The links in force, and the pairs that people have rejected.

    Attributes:
        links: The state of each link.
        rejected_pairs: Pairs that no method may link.
        cardinality: What the links satisfy.
    """

    links: Mapping[Pair, LinkState] = field(default_factory=dict)
    rejected_pairs: frozenset[Pair] = frozenset()
    cardinality: Cardinality = Cardinality.ONE_TO_ONE

    @property
    def found_links(self) -> list[ScoredPair]:
        """The links that a method found and no person confirmed: what a merge rule may change."""
        return [
            ScoredPair(*pair, state.score)
            for pair, state in self.links.items()
            if not state.confirmed
        ]

    @property
    def confirmed_pairs(self) -> frozenset[Pair]:
        """The links that a person confirmed."""
        return frozenset(pair for pair, state in self.links.items() if state.confirmed)


class PartnerIndex:
    """The partner of each entity that can have one only; others do not compete.

    Args:
        pairs: The pairs to start with; they satisfy the cardinality.
        cardinality: Says on which sides an entity has one partner at most.
    """

    def __init__(
        self, pairs: Iterable[Pair] = (), cardinality: Cardinality = Cardinality.ONE_TO_ONE
    ) -> None:
        self._cardinality = cardinality
        self._right_of: dict[int, int] = {}
        self._left_of: dict[int, int] = {}
        for pair in pairs:
            self.add_pair(pair)

    def add_pair(self, pair: Pair) -> None:
        """Add a pair.

        Args:
            pair: A pair that competes with none of the index; it may be in it already.
        """
        left, right = pair
        if self._cardinality.unique_left:
            self._right_of[left] = right
        if self._cardinality.unique_right:
            self._left_of[right] = left

    def remove_pair(self, pair: Pair) -> None:
        """Remove a pair.

        Args:
            pair: A pair that is in the index.
        """
        left, right = pair
        self._right_of.pop(left, None)
        self._left_of.pop(right, None)

    def other_partners(self, pair: Pair) -> tuple[int | None, int | None]:
        """Find the entities that compete with those of a pair.

        Args:
            pair: Any pair.

        Returns:
            The left partner of its right entity and the right partner of its left entity, each
            None if there is none, if it is in the pair itself, or if there may be several.
        """
        left, right = pair
        other_left = self._left_of.get(right)
        other_right = self._right_of.get(left)
        return (
            None if other_left == left else other_left,
            None if other_right == right else other_right,
        )

    def competing_pairs(self, pair: Pair) -> list[Pair]:
        """Find the pairs that cannot be links together with a pair.

        >>> PartnerIndex([(1, 10), (2, 20)]).competing_pairs((1, 20))
        [(2, 20), (1, 10)]
        >>> many_to_one = PartnerIndex([(1, 10), (2, 20)], Cardinality.MANY_TO_ONE)
        >>> many_to_one.competing_pairs((1, 20))
        [(1, 10)]

        Args:
            pair: Any pair.

        Returns:
            None, one or two pairs of the index.
        """
        return list_competing_pairs(pair, *self.other_partners(pair))


def list_competing_pairs(
    pair: Pair, competing_left: int | None, competing_right: int | None
) -> list[Pair]:
    """List the pairs that compete with a pair, given the other partners of its entities.

    Args:
        pair: Any pair.
        competing_left: The other partner of its right entity, if any.
        competing_right: The other partner of its left entity, if any.

    Returns:
        None, one or two pairs.
    """
    pairs: list[Pair] = []
    if competing_left is not None:
        pairs.append((competing_left, pair[1]))
    if competing_right is not None:
        pairs.append((pair[0], competing_right))
    return pairs


def pairs_to_array(pairs: Iterable[ScoredPair]) -> Array:
    """Convert scored pairs to an array for a file.

    >>> pairs_from_array(pairs_to_array([ScoredPair(1, 10, 0.2)]))
    [ScoredPair(left=1, right=10, score=0.2)]

    Args:
        pairs: The pairs.

    Returns:
        One record per pair.
    """
    return np.array(list(pairs), dtype=_SCORED_PAIR_ROW)


def pairs_from_array(records: Array) -> list[ScoredPair]:
    """Convert an array back to scored pairs.

    Args:
        records: What `pairs_to_array` returned.

    Returns:
        The pairs, in the same order.
    """
    # `tolist` gives Python numbers; the database refuses events with those of numpy.
    return [ScoredPair(*record) for record in records.tolist()]
