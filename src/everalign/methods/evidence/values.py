"""A look at the literals of a pair: how far they say the same, and who else says so."""

from __future__ import annotations

import numpy as np

from everalign.compiled import compiled
from everalign.graph import IntArray
from everalign.methods.evidence.candidates import Table, best_other
from everalign.methods.evidence.matches import Matches
from everalign.methods.evidence.propagation import piece_weight
from everalign.methods.evidence.relations import Inclusion, included
from everalign.methods.evidence.side import Floats, Side, place_of
from everalign.parallel import in_parts

PART = 16384  # pairs looked at in one go

# What the literals of a pair tell. NaN where they cannot be compared.
WEIGHT, BEST, ELSEWHERE_LEFT, ELSEWHERE_RIGHT = range(4)
TOLD = 4


def look_at_values(
    left: Side,
    right: Side,
    matches: tuple[Matches, Matches],
    relations: Inclusion,
    table: Table,
    least: float,
) -> Floats:
    """Rows of what the literals of each pair tell.

    Attributes of which less than `least` is included in the other one are not compared.
    """
    out = np.empty((len(table.left), TOLD), dtype=np.float32)

    def part(first: int, end: int) -> None:
        one, two = table.left[first:end], table.right[first:end]
        _look(left, right, matches[0], matches[1], relations, one, two, least, out[first:end])

    in_parts(part, len(out), PART)
    return out


@compiled()
def _look(
    left: Side,
    right: Side,
    matches: Matches,
    matches_back: Matches,
    relations: Inclusion,
    one: IntArray,
    two: IntArray,
    least: float,
    out: Floats,
) -> None:
    for row in range(one.size):
        x, x2 = one[row], two[row]
        out[row] = np.nan
        if not _comparable(left, right, relations, x, x2, least):
            continue
        weight, best = 0.0, 0.0
        stop = right.start[x2 + 1]
        for e in range(left.bound[x], left.start[x + 1]):
            y = left.other[e]
            for m in range(matches.start[y], matches.start[y + 1]):
                y2, p = matches.other[m], matches.probability[m]
                at = place_of(right.near_other, right.bound[x2], stop, y2)
                while at < stop and right.near_other[at] == y2:
                    d2 = right.near_relation[at]
                    there, back = included(relations, left.relation[e], d2)
                    if max(there, back) > least:
                        pinned, pinned2 = left.pinned[e], right.near_pinned[at]
                        weight += piece_weight(p, there, back, pinned, pinned2)
                        best = max(best, p)
                    at += 1
        out[row, WEIGHT], out[row, BEST] = weight, best
        out[row, ELSEWHERE_LEFT] = _elsewhere(left, right, matches, x, x2)
        out[row, ELSEWHERE_RIGHT] = _elsewhere(right, left, matches_back, x2, x)


@compiled()
def _comparable(
    left: Side, right: Side, relations: Inclusion, x: int, x2: int, least: float
) -> bool:
    """Whether the two have attributes that correspond."""
    group = left.bound[x]
    while group < left.start[x + 1]:
        group2 = right.bound[x2]
        while group2 < right.start[x2 + 1]:
            there, back = included(relations, left.relation[group], right.relation[group2])
            if max(there, back) > least:
                return True
            group2 = right.end[group2]
        group = left.end[group]
    return False


@compiled()
def _elsewhere(left: Side, right: Side, matches: Matches, x: int, x2: int) -> float:
    """How far a literal of x says the same as one that x' does not have, at most."""
    most, stop = 0.0, right.start[x2 + 1]
    for e in range(left.bound[x], left.start[x + 1]):
        y = left.other[e]
        for m in range(matches.start[y], matches.start[y + 1]):
            y2 = matches.other[m]
            at = place_of(right.near_other, right.bound[x2], stop, y2)
            if not (at < stop and right.near_other[at] == y2):
                most = max(most, matches.probability[m])
    return most


NAMES = (
    "value weight", "best value", "value elsewhere, left", "value elsewhere, right",
    "value margin, left", "value margin, right",
    "similarity of names", "margin of names, left", "margin of names, right",
    "right name explained", "left name explained",
    "margin of explained, left", "margin of explained, right",
)  # fmt: skip


def value_features(table: Table, said: Floats) -> Floats:
    """What the judge weighs of the literals of all pairs."""
    told, similar, explained = said[:, :TOLD], said[:, TOLD : TOLD + 1], said[:, TOLD + 1 :]
    columns = []
    for part in (told, similar, explained):
        score = told[:, BEST] if part is told else part.mean(axis=1)
        known = np.nan_to_num(score, nan=0)
        margins = [score - best_other(table, known, side) for side in range(2)]
        columns += [part, np.stack(margins, axis=1)]
    return np.concatenate(columns, axis=1)
