"""Which relation of one side means the same as which of the other, from the matches so far.

A left edge both ends of which are matched could be found again on the right. Where a right edge
joins the two counterparts, the pair of relations is seen together; the share of such edges is how
far one relation is included in the other:

    P(d ⊆ d') = (seen together + prior · doubt) / (could be seen + doubt)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.compiled import compiled
from everalign.graph import IntArray
from everalign.methods.evidence.matches import Both, Matches
from everalign.methods.evidence.settings import EvidenceSettings
from everalign.methods.evidence.side import Floats, Side, Starts, place_of
from everalign.parallel import in_parts

PART = 4096  # entities looked at in one go


class Inclusion(NamedTuple):
    """Inclusion of the directed relations of one side in those of the other, and back.

    `there[k]` and `back[k]` are P(d ⊆ d') and P(d' ⊆ d) for the pairs seen together: d' is
    `other[k]`, for k from `start[d]` to `start[d + 1]`. Of a pair never seen together,
    P(d ⊆ d') is `unseen[d]` and P(d' ⊆ d) is `unseen_back[d']`.
    """

    start: Starts
    other: IntArray
    there: Floats
    back: Floats
    seen: Floats
    unseen: Floats
    unseen_back: Floats


class Relations(NamedTuple):
    """The inclusion of left in right relations, and the same from the right."""

    left: Inclusion
    right: Inclusion


def align_relations(
    left: Side, right: Side, matches: Both, settings: EvidenceSettings
) -> Relations:
    """The correspondence of relations under these matches."""

    def part(first: int, end: int) -> tuple[IntArray, IntArray, Floats]:
        return _together(left, right, matches.left, first, end)

    found = [part(0, 0), *in_parts(part, left.entities, PART)]
    one, two, amount = _summed(*(np.concatenate(column) for column in zip(*found, strict=True)))
    could_left = _could_be_seen(left, matches.left, len(left.weight))
    could_right = _could_be_seen(right, matches.right, len(right.weight))
    return Relations(
        _inclusion(one, two, amount, could_left, could_right, settings),
        _inclusion(two, one, amount, could_right, could_left, settings),
    )


def _summed(
    one: IntArray, two: IntArray, amount: Floats
) -> tuple[IntArray, IntArray, NDArray[np.float64]]:
    """Each pair of directed relations once; what holds of two holds of their inverses."""
    one, two = np.concatenate([one, one ^ 1]), np.concatenate([two, two ^ 1])
    order = np.lexsort((two, one))
    one, two = one[order], two[order]
    new = np.ones(len(one), dtype=bool)
    new[1:] = (one[1:] != one[:-1]) | (two[1:] != two[:-1])
    first = np.flatnonzero(new)
    total = np.zeros(len(first))
    np.add.at(total, np.cumsum(new) - 1, np.tile(amount, 2)[order])
    return one[first], two[first], total


def _inclusion(
    one: IntArray,
    two: IntArray,
    seen: NDArray[np.float64],
    could_one: NDArray[np.float64],
    could_two: NDArray[np.float64],
    s: EvidenceSettings,
) -> Inclusion:
    order = np.lexsort((two, one))
    one, two, seen = one[order], two[order], seen[order]
    start = np.zeros(len(could_one) + 1, dtype=np.int64)
    np.cumsum(np.bincount(one, minlength=len(could_one)), out=start[1:])
    base = s.prior * s.doubt
    return Inclusion(
        start,
        two,
        _share(seen, could_one[one], s),
        _share(seen, could_two[two], s),
        seen.astype(np.float32),
        (base / (could_one + s.doubt)).astype(np.float32),
        (base / (could_two + s.doubt)).astype(np.float32),
    )


def _share(seen: NDArray[np.float64], could: NDArray[np.float64], s: EvidenceSettings) -> Floats:
    """What is seen may be more than could be: an entity can have several likely matches."""
    above = np.minimum(seen, could) + s.prior * s.doubt
    return (above / (could + s.doubt)).astype(np.float32)


def _could_be_seen(side: Side, matches: Matches, relations: int) -> NDArray[np.float64]:
    best = _best_probability(matches)
    one = np.repeat(np.arange(side.nodes), np.diff(side.start))
    amount: NDArray[np.float64] = np.bincount(
        side.relation, best[one].astype(np.float64) * best[side.other], minlength=relations
    ).astype(np.float64)
    return amount


def _best_probability(matches: Matches) -> Floats:
    best = np.zeros(len(matches.start) - 1, dtype=np.float32)
    one = np.repeat(np.arange(len(best)), np.diff(matches.start))
    np.maximum.at(best, one, matches.probability)
    return best


@compiled()
def _together(
    left: Side, right: Side, matches: Matches, first: int, end: int
) -> tuple[IntArray, IntArray, Floats]:
    """Pairs of relations that join matched entities, left forwards, once per occurrence."""
    room = 1024
    count = 0
    one = np.empty(room, dtype=np.int32)
    two = np.empty(room, dtype=np.int32)
    amount = np.empty(room, dtype=np.float32)
    for x in range(first, end):
        for m in range(matches.start[x], matches.start[x + 1]):
            x2 = matches.other[m]
            for e in range(left.start[x], left.start[x + 1]):
                if left.relation[e] & 1:
                    continue
                y = left.other[e]
                for n in range(matches.start[y], matches.start[y + 1]):
                    y2 = matches.other[n]
                    stop = right.start[x2 + 1]
                    at = place_of(right.near_other, right.start[x2], stop, y2)
                    while at < stop and right.near_other[at] == y2:
                        if count == room:
                            room *= 2
                            one = np.concatenate((one, np.empty_like(one)))
                            two = np.concatenate((two, np.empty_like(two)))
                            amount = np.concatenate((amount, np.empty_like(amount)))
                        one[count] = left.relation[e]
                        two[count] = right.near_relation[at]
                        amount[count] = matches.probability[m] * matches.probability[n]
                        count += 1
                        at += 1
    return one[:count], two[:count], amount[:count]


@compiled()
def included(inclusion: Inclusion, d: int, d2: int) -> tuple[float, float]:
    """P(d ⊆ d') and P(d' ⊆ d)."""
    end = inclusion.start[d + 1]
    at = place_of(inclusion.other, inclusion.start[d], end, d2)
    if at < end and inclusion.other[at] == d2:
        return inclusion.there[at], inclusion.back[at]
    return inclusion.unseen[d], inclusion.unseen_back[d2]
