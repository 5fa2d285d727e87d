"""What a link is, and who is linked with whom."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

Pair: TypeAlias = tuple[int, int]


class Link(NamedTuple):
    """A left and a right entity, by their ids, held to be the same thing.

    >>> Link(3, 7, 0.9).pair
    (3, 7)
    """

    left: int
    right: int
    score: float

    @property
    def pair(self) -> Pair:
        """The two ids without the score."""
        return self.left, self.right


class Partners:
    """Who is linked with whom in a one-to-one set of pairs, asked from either side."""

    def __init__(self, pairs: Iterable[Pair] = ()) -> None:
        # `iter`: of a mapping, whose keys are the pairs, `dict` alone would make a copy.
        self._right_of = dict(iter(pairs))
        self._left_of = {right: left for left, right in self._right_of.items()}

    def join(self, pair: Pair) -> None:
        """Record a pair whose two entities are free."""
        left, right = pair
        self._right_of[left] = right
        self._left_of[right] = left

    def part(self, pair: Pair) -> None:
        """Take a recorded pair out."""
        left, right = pair
        del self._right_of[left]
        del self._left_of[right]

    def others(self, pair: Pair) -> tuple[int | None, int | None]:
        """The other left entity linked with this right one, the other right with this left."""
        left, right = pair
        other_left = self._left_of.get(right)
        other_right = self._right_of.get(left)
        return (
            None if other_left == left else other_left,
            None if other_right == right else other_right,
        )

    def rivals(self, pair: Pair) -> list[Pair]:
        """The recorded pairs that share exactly one entity with this one.

        >>> Partners([(1, 10), (2, 20)]).rivals((1, 20))
        [(2, 20), (1, 10)]
        """
        return rivals(pair, *self.others(pair))


def rivals(pair: Pair, other_left: int | None, other_right: int | None) -> list[Pair]:
    """The pairs that compete with `pair` when its entities have these other partners."""
    found: list[Pair] = []
    if other_left is not None:
        found.append((other_left, pair[1]))
    if other_right is not None:
        found.append((pair[0], other_right))
    return found
