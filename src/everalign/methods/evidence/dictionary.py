"""A dictionary learned from matches: which parts of left names go with which parts of right ones.

Names of the same entity in two languages need not look or sound alike. But where enough of them
are matched, it shows which word, character or pair of characters goes with which.

A pair is never weighed by a dictionary that it has helped to write: there are two of them, one
from the matches of left entities with even ids, for those with odd ids, and the other way round.
Trusted links, which are not weighed, are in both.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from everalign.compiled import compiled
from everalign.graph import IntArray
from everalign.literals.together import chances, meetings_of
from everalign.methods.evidence.side import Floats, Starts, place_of
from everalign.methods.evidence.units import Units
from everalign.parallel import each, in_parts

CAUTION = 0.5  # is added to how often a part was seen: what was seen once is not certain
TOGETHER = 8192  # pairs that are weighed by one thread at a time

FORTH, BACK = range(2)
EXPLAINED = 2  # numbers of a pair: the share of its right, and of its left name


class Dictionary(NamedTuple):
    """For part f of left names, the parts `other[k]` of right ones that go with it, for k from
    `start[f]` to `start[f + 1]`: how far f brings about the other (`there`), and the other f."""

    start: Starts
    other: IntArray
    there: Floats
    back: Floats


class Dictionaries(NamedTuple):
    """That for left entities with even ids, and that for those with odd ids."""

    even: Dictionary
    odd: Dictionary


def learn_dictionaries(
    left: Units, right: Units, anchors: IntArray, matches: tuple[IntArray, IntArray, Floats]
) -> Dictionaries:
    """From trusted links, and from matches of other entities with their probabilities."""
    even, odd = each(lambda fold: _learn(left, right, anchors, matches, fold), 2)
    return Dictionaries(even, odd)


def _learn(
    left: Units,
    right: Units,
    anchors: IntArray,
    matches: tuple[IntArray, IntArray, Floats],
    fold: int,
) -> Dictionary:
    mine = matches[0] % 2 != fold
    one = np.concatenate([anchors[:, 0], matches[0][mine]])
    two = np.concatenate([anchors[:, 1], matches[1][mine]])
    amount = np.append(np.ones(len(anchors), np.float32), matches[2][mine])
    met = meetings_of(left.rows, right.rows, one, two)
    there, back = (chances(met, amount, CAUTION, back=way) for way in (False, True))
    start = np.searchsorted(met.left, np.arange(left.units + 1))
    return Dictionary(start, met.right, there, back)


def explained(
    dictionaries: Dictionaries, left: Units, right: Units, one: IntArray, two: IntArray
) -> Floats:
    """How much of either name of each pair the other one explains; NaN where one has none."""
    out = np.full((len(one), EXPLAINED), np.nan, dtype=np.float32)
    for fold, dictionary in enumerate(dictionaries):
        rows = np.flatnonzero(one % 2 == fold)
        mine, theirs = one[rows], two[rows]
        parts = in_parts(
            partial(_explained, dictionary, left, right, mine, theirs), len(rows), TOGETHER
        )
        if parts:
            out[rows] = np.concatenate(parts)
    return out


@compiled()
def _explained(
    dictionary: Dictionary,
    left: Units,
    right: Units,
    one: IntArray,
    two: IntArray,
    start: int,
    stop_at: int,
) -> Floats:
    out = np.full((stop_at - start, EXPLAINED), np.nan, dtype=np.float32)
    for row in range(start, stop_at):
        first, end = left.start[one[row]], left.start[one[row] + 1]
        first2, end2 = right.start[two[row]], right.start[two[row] + 1]
        if first == end or first2 == end2:
            continue
        of_right = np.zeros(end2 - first2, dtype=np.float32)
        of_left = np.zeros(end - first, dtype=np.float32)
        for e in range(first, end):
            f = left.unit[e]
            stop = dictionary.start[f + 1]
            for e2 in range(first2, end2):
                g = right.unit[e2]
                at = place_of(dictionary.other, dictionary.start[f], stop, g)
                if at < stop and dictionary.other[at] == g:
                    of_right[e2 - first2] += dictionary.there[at]
                    of_left[e - first] += dictionary.back[at]
        out[row - start, FORTH] = _share(right, first2, of_right)
        out[row - start, BACK] = _share(left, first, of_left)
    return out


@compiled()
def _share(units: Units, first: int, found: Floats) -> float:
    """The share of a name's parts that is explained; rare ones count more."""
    total, all_ = 0.0, 0.0
    for k in range(found.size):
        weight = units.weight[units.unit[first + k]]
        total += weight * min(np.float32(1), found[k])
        all_ += weight
    return total / all_ if all_ > 0 else 0.0
