"""A closer look at a pair: all that its neighbours say for it and against it."""

from __future__ import annotations

import math

import numpy as np

from everalign.compiled import compiled
from everalign.graph import IntArray
from everalign.methods.evidence.matches import Both, Matches
from everalign.methods.evidence.propagation import piece_weight
from everalign.methods.evidence.relations import Inclusion, Relations, included
from everalign.methods.evidence.side import Floats, Side, has_edge, place_of
from everalign.parallel import in_parts

PART = 4096  # pairs looked at in one go
FACTS = 8  # that are asked for who else has all of them
TOO_MANY = 1000  # entities with the most telling fact: not counted out
ENOUGH = 0.3  # probability from which a neighbour's match counts as a shared fact

# What a look at a pair tells from one side; SUPPORT and HEAVIEST are the same from both.
SUPPORT, HEAVIEST, SHARED, COULD, LIKENESS, CONFLICT, ALIKE, NUMBER = range(8)
LOOKS = 8


def look(
    left: Side, right: Side, matches: Both, relations: Relations, one: IntArray, two: IntArray
) -> tuple[Floats, Floats]:
    """Rows of what is seen of each pair from the left and from the right."""
    seen = np.empty((len(one), LOOKS), dtype=np.float32)
    back = np.empty((len(one), LOOKS), dtype=np.float32)
    a, b = matches.left, matches.right
    there = relations.left

    def part(first: int, end: int) -> None:
        rows = slice(first, end)
        _look(left, right, a, b, there, one[rows], two[rows], seen[rows], back[rows])

    in_parts(part, len(one), PART)
    return seen, back


@compiled()
def _look(
    left: Side,
    right: Side,
    matches: Matches,
    matches_back: Matches,
    relations: Inclusion,
    one: IntArray,
    two: IntArray,
    seen: Floats,
    back: Floats,
) -> None:
    fact_other = np.empty(FACTS, dtype=np.int32)
    fact_relation = np.empty(FACTS, dtype=np.int32)
    fact_pinned = np.empty(FACTS, dtype=np.float32)
    facts = fact_other, fact_relation, fact_pinned
    best = np.empty(left.relation.size + 1, dtype=np.float32)
    best_back = np.empty(right.relation.size + 1, dtype=np.float32)
    for row in range(one.size):
        x, x2 = one[row], two[row]
        _best_inclusions(left, right, relations, x, x2, best, best_back)
        seen[row, SUPPORT], seen[row, HEAVIEST] = _support(left, right, matches, relations, x, x2)
        back[row, SUPPORT], back[row, HEAVIEST] = seen[row, SUPPORT], seen[row, HEAVIEST]
        _compare(left, right, matches, x, x2, best, facts, seen[row])
        _compare(right, left, matches_back, x2, x, best_back, facts, back[row])


@compiled()
def _best_inclusions(
    left: Side,
    right: Side,
    relations: Inclusion,
    x: int,
    x2: int,
    best: Floats,
    best_back: Floats,
) -> None:
    """For each relation of x how far one of x' includes it, at the place of its first edge
    (counted from that of x); the same for x'."""
    start, start2 = left.start[x], right.start[x2]
    group2 = start2
    while group2 < right.bound[x2]:
        best_back[group2 - start2] = 0
        group2 = right.end[group2]
    group = start
    while group < left.bound[x]:
        most = 0.0
        group2 = start2
        while group2 < right.bound[x2]:
            there, back = included(relations, left.relation[group], right.relation[group2])
            most = max(most, there)
            best_back[group2 - start2] = max(best_back[group2 - start2], back)
            group2 = right.end[group2]
        best[group - start] = most
        group = left.end[group]


@compiled()
def _support(
    left: Side, right: Side, matches: Matches, relations: Inclusion, x: int, x2: int
) -> tuple[float, float]:
    """The sum of all pieces of evidence for a pair, and the heaviest of them."""
    support, heaviest = 0.0, 0.0
    stop = right.bound[x2]
    for e in range(left.start[x], left.bound[x]):
        y = left.other[e]
        for m in range(matches.start[y], matches.start[y + 1]):
            y2 = matches.other[m]
            at = place_of(right.near_other, right.start[x2], stop, y2)
            while at < stop and right.near_other[at] == y2:
                there, back = included(relations, left.relation[e], right.near_relation[at])
                weight = piece_weight(
                    matches.probability[m], there, back, left.pinned[e], right.near_pinned[at]
                )
                support += weight
                heaviest = max(heaviest, weight)
                at += 1
    return support, heaviest


@compiled()
def _compare(
    left: Side,
    right: Side,
    matches: Matches,
    x: int,
    x2: int,
    best: Floats,
    facts: tuple[IntArray, IntArray, Floats],
    out: Floats,
) -> None:
    """What of x is found again at x', and what is not."""
    shared, could, conflict, alike, weights = 0.0, 0.0, 0.0, 0.0, 0.0
    kept, number = 0, 0
    stop = right.bound[x2]
    group = left.start[x]
    while group < left.bound[x]:
        end, d = left.end[group], left.relation[group]
        likely = best[group - left.start[x]]
        alike += likely * left.weight[d]
        weights += left.weight[d]
        for e in range(group, end):
            y = left.other[e]
            known, found = 0.0, 0.0
            for m in range(matches.start[y], matches.start[y + 1]):
                p = matches.probability[m]
                known = max(known, p)
                at = place_of(right.near_other, right.start[x2], stop, matches.other[m])
                if at < stop and right.near_other[at] == matches.other[m]:
                    found = max(found, p)
            could += known
            shared += found
            if found >= ENOUGH:
                number += 1
                kept = _remember(facts, kept, y, d, left.pinned[e])
            elif found == 0:
                conflict += known * likely * left.pins[e]
        group = end
    out[SHARED], out[COULD], out[CONFLICT] = shared, could, conflict
    out[LIKENESS] = alike / weights if weights > 0 else 0
    out[ALIKE] = _how_many_have(left, facts, kept)
    out[NUMBER] = number


@compiled()
def _remember(
    facts: tuple[IntArray, IntArray, Floats], kept: int, y: int, d: int, p: float
) -> int:
    """Keep a fact among the most telling ones, most telling first."""
    other, relation, pinned = facts
    at = kept
    while at > 0 and pinned[at - 1] < p:
        at -= 1
    if at == FACTS:
        return kept
    last = min(kept, FACTS - 1)
    for move in range(last, at, -1):
        other[move], relation[move] = other[move - 1], relation[move - 1]
        pinned[move] = pinned[move - 1]
    other[at], relation[at], pinned[at] = y, d, p
    return min(kept + 1, FACTS)


@compiled()
def _how_many_have(side: Side, facts: tuple[IntArray, IntArray, Floats], kept: int) -> float:
    """The logarithm of how many entities have all these facts together."""
    if kept == 0:
        return math.log(side.bound.size + 1)
    other, relation, _ = facts
    y, inverse = other[0], relation[0] ^ 1
    first = place_of(side.relation, side.start[y], side.start[y + 1], inverse)
    end = side.end[first]
    if end - first > TOO_MANY:
        return math.log(end - first)
    count = 0
    for e in range(first, end):
        z = side.other[e]
        has_all = True
        for k in range(1, kept):
            if not has_edge(side, z, relation[k], other[k]):
                has_all = False
                break
        if has_all:
            count += 1
    return math.log(count)
