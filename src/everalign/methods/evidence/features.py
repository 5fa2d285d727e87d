"""What the judge weighs: one row of numbers for each candidate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign.methods.evidence.candidates import BEST_OTHER, COUNT, RANK, SHARE, Table, standings
from everalign.methods.evidence.side import Floats, Side
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

OF_A_SIDE = (
    "shared", "share of what could be", "could", "likeness", "conflict", "alike", "degree",
    "margin", "share of support", "rank", "rivals", "best rival's probability", "margin of alike",
)  # fmt: skip
NAMES = (
    "support", "heaviest piece", "facts", "alike together", "difference of degrees",
    "support per degree", "least share", "least margin",
    *(f"{name}, left" for name in OF_A_SIDE), *(f"{name}, right" for name in OF_A_SIDE),
)  # fmt: skip

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
    support = np.ascontiguousarray(seen[0][:, SUPPORT])
    by_support = standings(table, support)
    by_probability = standings(table, probability)
    out = np.empty((len(rows), len(NAMES)), dtype=np.float32)
    support, mine = support[rows], (seen[0][rows], seen[1][rows])
    first = len(NAMES) - 2 * len(OF_A_SIDE)
    for number, (side, entity) in enumerate(zip(sides, (table.left, table.right), strict=True)):
        at = first + number * len(OF_A_SIDE)
        rarity = standings(table, -np.ascontiguousarray(seen[number][:, ALIKE]))[number][rows]
        look, by = mine[number], by_support[number][rows]
        degree = np.diff(side.start)[entity[rows]]
        columns = (
            look[:, SHARED],
            look[:, SHARED] / np.maximum(look[:, COULD], 1e-6),
            look[:, COULD],
            look[:, LIKENESS],
            look[:, CONFLICT],
            look[:, ALIKE],
            np.log(np.maximum(degree, 1)),
            support - by[:, BEST_OTHER],
            by[:, SHARE],
            by[:, RANK],
            by[:, COUNT],
            by_probability[number][rows, BEST_OTHER],
            -look[:, ALIKE] - rarity[:, BEST_OTHER],
        )
        for n, column in enumerate(columns):
            out[:, at + n] = column
    left, right = out[:, first:].reshape(len(rows), 2, -1).transpose(1, 2, 0)
    of = {name: n for n, name in enumerate(OF_A_SIDE)}
    degrees = left[of["degree"]] + right[of["degree"]]
    both = (
        support,
        mine[0][:, HEAVIEST],
        mine[0][:, NUMBER],
        mine[0][:, ALIKE] + mine[1][:, ALIKE],
        left[of["degree"]] - right[of["degree"]],
        support / np.exp(degrees / 2),
        np.minimum(left[of["share of what could be"]], right[of["share of what could be"]]),
        np.minimum(left[of["margin"]], right[of["margin"]]),
    )
    for n, column in enumerate(both):
        out[:, n] = column
    return out
