"""Propagation: matched neighbours speak for a pair of entities.

Given a match (y, y') with probability p, every edge (x, d, y) and (x', d', y') adds to the support
of (x, x')

    − log[(1 − p · P(d' ⊆ d) · pinned(x)) · (1 − p · P(d ⊆ d') · pinned(x'))]

and 1 − exp(−support) is the plain probability that the two are the same.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from everalign.compiled import compiled
from everalign.graph import IntArray
from everalign.methods.evidence.matches import Matches
from everalign.methods.evidence.relations import Inclusion, included
from everalign.methods.evidence.side import Floats, Side
from everalign.parallel import in_parts

PART = 1024  # entities looked at in one go

Mask = NDArray[np.bool_]


@compiled()
def piece_weight(p: float, there: float, back: float, pinned: float, pinned2: float) -> float:
    """What one pair of matched neighbours adds to the support of a pair."""
    return -math.log((1 - p * back * pinned) * (1 - p * there * pinned2))


def nearest(
    left: Side,
    right: Side,
    matches: Matches,
    relations: Inclusion,
    asked: IntArray,
    free: Mask,
    considered: int,
    faint: float,
) -> tuple[IntArray, IntArray, Floats]:
    """The pairs of each asked left entity with the few free right ones that it has most support
    for, and that support. Pieces lighter than `faint` are not worth their cost here."""

    def part(first: int, end: int) -> tuple[IntArray, IntArray, Floats]:
        asked_now = asked[first:end]
        return _gather(left, right, matches, relations, asked_now, free, considered, faint)

    found = [part(0, 0), *in_parts(part, len(asked), PART)]
    one, two, support = (np.concatenate(column) for column in zip(*found, strict=True))
    return one, two, support


@compiled()
def _gather(
    left: Side,
    right: Side,
    matches: Matches,
    relations: Inclusion,
    asked: IntArray,
    free: Mask,
    considered: int,
    faint: float,
) -> tuple[IntArray, IntArray, Floats]:
    support = np.zeros(right.start.size - 1, dtype=np.float64)
    touched = np.empty(right.start.size - 1, dtype=np.int32)
    one = np.empty(asked.size * considered, dtype=np.int32)
    two = np.empty(asked.size * considered, dtype=np.int32)
    score = np.empty(asked.size * considered, dtype=np.float32)
    count = 0
    for n in range(asked.size):
        x = asked[n]
        reached = 0
        for e in range(left.start[x], left.start[x + 1]):
            pinned = left.pinned[e]
            if pinned == 0:
                continue
            y = left.other[e]
            d = left.relation[e]
            for m in range(matches.start[y], matches.start[y + 1]):
                y2 = matches.other[m]
                p = matches.probability[m]
                group = right.start[y2]
                while group < right.start[y2 + 1]:
                    end = right.end[group]
                    pins = right.pins[group]
                    if pins > 0:
                        there, back = included(relations, d, right.relation[group] ^ 1)
                        weight = piece_weight(p, there, back, pinned, pins)
                        if weight >= faint and weight > 0:
                            for k in range(group, end):
                                x2 = right.other[k]
                                if not free[x2]:
                                    continue
                                if support[x2] == 0:
                                    touched[reached] = x2
                                    reached += 1
                                support[x2] += weight
                    group = end
        count = _keep_best(
            right, x, touched[:reached], support, considered, one, two, score, count
        )
    for k in range(count):
        score[k] /= right.discount[two[k]]
    return one[:count], two[:count], score[:count]


@compiled()
def _keep_best(
    right: Side,
    x: int,
    reached: IntArray,
    support: NDArray[np.float64],
    considered: int,
    one: IntArray,
    two: IntArray,
    score: Floats,
    first: int,
) -> int:
    """Append the best of those reached, best first; support is forgotten. The lower id wins a
    tie. Gives the place after the last."""
    count = first
    for x2 in reached:
        s = np.float32(support[x2] * right.discount[x2])
        support[x2] = 0
        at = count
        while at > first and (score[at - 1] < s or (score[at - 1] == s and two[at - 1] > x2)):
            at -= 1
        if at - first >= considered:
            continue
        last = min(count, first + considered - 1)
        for move in range(last, at, -1):
            score[move], two[move] = score[move - 1], two[move - 1]
        score[at], two[at], one[last] = s, x2, x
        count = max(count, last + 1)
    return count
