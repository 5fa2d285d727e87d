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
ENOUGH = 0.3  # probability from which a neighbour's match counts as a shared fact

# What a look from one side tells; the same again from the other side.
SUPPORT, HEAVIEST, SHARED, COULD, LIKENESS, CONFLICT, ALIKE, NUMBER = range(8)
LOOKS = 8


def look(
    left: Side, right: Side, matches: Both, relations: Relations, one: IntArray, two: IntArray
) -> tuple[Floats, Floats]:
    """Rows of what is seen of each pair from the left and from the right."""
    seen = np.empty((len(one), LOOKS), dtype=np.float32)
    back = np.empty((len(one), LOOKS), dtype=np.float32)
    a, b = matches.left, matches.right
    there, home = relations.left, relations.right

    def part(first: int, end: int) -> None:
        rows = slice(first, end)
        _look(left, right, a, there, one[rows], two[rows], seen[rows])
        _look(right, left, b, home, two[rows], one[rows], back[rows])

    in_parts(part, len(one), PART)
    return seen, back


@compiled()
def _look(
    left: Side,
    right: Side,
    matches: Matches,
    relations: Inclusion,
    one: IntArray,
    two: IntArray,
    out: Floats,
) -> None:
    fact_other = np.empty(FACTS, dtype=np.int32)
    fact_relation = np.empty(FACTS, dtype=np.int32)
    fact_pinned = np.empty(FACTS, dtype=np.float32)
    for row in range(one.size):
        x, x2 = one[row], two[row]
        support, heaviest, shared, could, conflict = 0.0, 0.0, 0.0, 0.0, 0.0
        alike, weights = 0.0, 0.0
        facts = 0
        number = 0
        group = left.start[x]
        stop = right.start[x2 + 1]
        while group < left.start[x + 1]:
            end = left.end[group]
            d = left.relation[group]
            best = _best_inclusion(relations, d, right, x2)
            alike += best * left.weight[d]
            weights += left.weight[d]
            for e in range(group, end):
                y = left.other[e]
                known, found = 0.0, 0.0
                for m in range(matches.start[y], matches.start[y + 1]):
                    y2 = matches.other[m]
                    p = matches.probability[m]
                    known = max(known, p)
                    at = place_of(right.near_other, right.start[x2], stop, y2)
                    while at < stop and right.near_other[at] == y2:
                        d2 = right.near_relation[at]
                        there, back = included(relations, d, d2)
                        pinned2 = _pinned(right, x2, d2, y2)
                        weight = piece_weight(p, there, back, left.pinned[e], pinned2)
                        support += weight
                        heaviest = max(heaviest, weight)
                        found = max(found, p)
                        at += 1
                could += known
                shared += found
                if found >= ENOUGH:
                    number += 1
                    facts = _remember(
                        fact_other, fact_relation, fact_pinned, facts, y, d, left.pinned[e]
                    )
                elif found == 0:
                    conflict += known * best * left.pins[e]
            group = end
        out[row, SUPPORT] = support
        out[row, HEAVIEST] = heaviest
        out[row, SHARED] = shared
        out[row, COULD] = could
        out[row, CONFLICT] = conflict
        out[row, LIKENESS] = alike / weights if weights > 0 else 0
        out[row, ALIKE] = _how_many_have(left, fact_other, fact_relation, facts)
        out[row, NUMBER] = number


@compiled()
def _best_inclusion(relations: Inclusion, d: int, right: Side, x2: int) -> float:
    """The greatest P(d ⊆ d') over the relations of x'."""
    best = 0.0
    group = right.start[x2]
    while group < right.start[x2 + 1]:
        there, _ = included(relations, d, right.relation[group])
        best = max(best, there)
        group = right.end[group]
    return best


@compiled()
def _pinned(side: Side, x: int, d: int, y: int) -> float:
    """How well y and the inverse of d pin down x."""
    first, end = side.start[x], side.start[x + 1]
    at = place_of(side.relation, first, end, d)
    return side.pinned[place_of(side.other, at, side.end[at], y)]


@compiled()
def _remember(
    other: IntArray, relation: IntArray, pinned: Floats, facts: int, y: int, d: int, p: float
) -> int:
    """Keep a fact among the most telling ones, most telling first."""
    at = facts
    while at > 0 and pinned[at - 1] < p:
        at -= 1
    if at == FACTS:
        return facts
    last = min(facts, FACTS - 1)
    for move in range(last, at, -1):
        other[move], relation[move] = other[move - 1], relation[move - 1]
        pinned[move] = pinned[move - 1]
    other[at], relation[at], pinned[at] = y, d, p
    return min(facts + 1, FACTS)


@compiled()
def _how_many_have(side: Side, other: IntArray, relation: IntArray, facts: int) -> float:
    """The logarithm of how many entities have all these facts together."""
    if facts == 0:
        return math.log(side.start.size)
    y, inverse = other[0], relation[0] ^ 1
    first = place_of(side.relation, side.start[y], side.start[y + 1], inverse)
    count = 0
    end = side.end[first]
    if end - first > 1000:
        return math.log(end - first)
    for e in range(first, end):
        z = side.other[e]
        has_all = True
        for k in range(1, facts):
            if not has_edge(side, z, relation[k], other[k]):
                has_all = False
                break
        if has_all:
            count += 1
    return math.log(count)
