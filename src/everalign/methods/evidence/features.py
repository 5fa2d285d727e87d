"""What the judge weighs: one row of numbers for each candidate."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from everalign.compiled import compiled
from everalign.graph import IntArray
from everalign.methods.evidence.candidates import (
    BEST_OTHER,
    COUNT,
    RANK,
    SHARE,
    Table,
    best_other,
    standing,
)
from everalign.methods.evidence.side import Floats, Side, Starts
from everalign.methods.evidence.support import (
    ALIKE,
    CONFLICT,
    COULD,
    HEAVIEST,
    LIKENESS,
    NUMBER,
    SHARED,
    SUPPORT,
)
from everalign.parallel import each, in_parts

PART = 16384  # rows filled in one go

OF_BOTH = (
    "support", "heaviest piece", "facts", "alike together", "difference of degrees",
    "support per degree", "least share", "least margin",
)  # fmt: skip
OF_A_SIDE = (
    "shared", "share of what could be", "could", "likeness", "conflict", "alike", "degree",
    "margin", "share of support", "rank", "rivals", "best rival's probability", "margin of alike",
)  # fmt: skip
NAMES = (
    *OF_BOTH,
    *(f"{name}, left" for name in OF_A_SIDE),
    *(f"{name}, right" for name in OF_A_SIDE),
)
OF_RIVALS = [at for at, name in enumerate(NAMES) if name.startswith("best rival's")]
LIKENESS_NAMES = ("likeness of vectors", "its margin, left", "its margin, right")

Rows = NDArray[np.int64]


def features(
    sides: tuple[Side, Side],
    table: Table,
    seen: tuple[Floats, Floats],
    probability: Floats,
    rows: Rows,
) -> Floats:
    """What speaks for and against some rows of the table.

    `seen` is what a closer look at all rows showed, `probability` what was thought of them in
    the round before.
    """
    out = np.empty((len(rows), len(NAMES)), dtype=np.float32)
    support = np.ascontiguousarray(seen[0][:, SUPPORT])
    entities = table.left, table.right

    def rivals(side: int) -> tuple[Floats, Floats, Floats]:
        rarity = -np.ascontiguousarray(seen[side][:, ALIKE])
        return (
            standing(table, support, side),
            best_other(table, probability, side),
            best_other(table, rarity, side),
        )

    found = each(rivals, 2)

    def part(first: int, end: int) -> None:
        mine, chosen = out[first:end], rows[first:end]
        for side in range(2):
            at = len(OF_BOTH) + side * len(OF_A_SIDE)
            ends, entity = (sides[side].start, sides[side].bound), entities[side]
            _fill_side(*ends, entity, seen[side], *found[side], chosen, mine[:, at:])
        _fill_both(seen[0], seen[1], chosen, mine)

    in_parts(part, len(rows), PART)
    return out


@compiled()
def _fill_side(
    start: Starts,
    bound: Starts,
    entity: IntArray,
    seen: Floats,
    standing: Floats,
    rival: Floats,
    rarest: Floats,
    rows: Rows,
    out: Floats,
) -> None:
    """In the order of OF_A_SIDE."""
    for n in range(rows.size):
        row = rows[n]
        look, stand, x = seen[row], standing[row], entity[row]
        out[n, 0] = look[SHARED]
        out[n, 1] = look[SHARED] / max(look[COULD], np.float32(1e-6))
        out[n, 2] = look[COULD]
        out[n, 3] = look[LIKENESS]
        out[n, 4] = look[CONFLICT]
        out[n, 5] = look[ALIKE]
        out[n, 6] = math.log(max(1, bound[x] - start[x]))
        out[n, 7] = look[SUPPORT] - stand[BEST_OTHER]
        out[n, 8] = stand[SHARE]
        out[n, 9] = stand[RANK]
        out[n, 10] = stand[COUNT]
        out[n, 11] = rival[row]
        out[n, 12] = -look[ALIKE] - rarest[row]


@compiled()
def _fill_both(left: Floats, right: Floats, rows: Rows, out: Floats) -> None:
    """In the order of OF_BOTH, from what the two sides have (share 1, degree 6, margin 7)."""
    for n in range(rows.size):
        row, one, two = rows[n], out[n, 8:21], out[n, 21:34]
        out[n, 0] = left[row, SUPPORT]
        out[n, 1] = left[row, HEAVIEST]
        out[n, 2] = left[row, NUMBER]
        out[n, 3] = left[row, ALIKE] + right[row, ALIKE]
        out[n, 4] = one[6] - two[6]
        out[n, 5] = left[row, SUPPORT] / math.exp((one[6] + two[6]) / 2)
        out[n, 6] = min(one[1], two[1])
        out[n, 7] = min(one[7], two[7])


def likeness(vectors: tuple[Floats, Floats], table: Table, rows: Rows) -> Floats:
    """How similar the vectors of a pair are, and by how much more than those of its rivals."""
    cosine = np.empty(len(table.left), dtype=np.float32)

    def part(first: int, end: int) -> None:
        left, right = table.left[first:end], table.right[first:end]
        np.einsum("rd,rd->r", vectors[0][left], vectors[1][right], out=cosine[first:end])

    in_parts(part, len(cosine), PART)
    margins = (cosine - best_other(table, cosine, side) for side in range(2))
    return np.stack([cosine, *margins], axis=1)[rows]
