"""Values that are equal in their normal form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from everalign.literals.matches import ValueMatches

MOST = 100  # equal values of one key on a side; more are spellings that tell nothing


def equal_keys(left: Sequence[str], right: Sequence[str], probability: float) -> ValueMatches:
    """All pairs of places that hold the same key; an empty key equals nothing.

    >>> equal_keys(["a", "b", ""], ["b", "", "b"], 1.0).rows()
    [(1, 0, 1.0), (1, 2, 1.0)]
    """
    wanted = set(left)
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, key in enumerate(right):
        if key and key in wanted:
            places[key].append(place)
    one: list[int] = []
    two: list[int] = []
    for place, key in enumerate(left):
        found = places.get(key, ())[:MOST]
        one += [place] * len(found)
        two += found
    return ValueMatches.of(one, two, [probability] * len(one))
