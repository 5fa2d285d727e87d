"""What pieces of left names become in right names, learned from names known to be the same.

The counting is that of IBM's Model 1 (Brown and others, 1993): each feature of a right name
comes from one of the units of its left name; which one is shared out by what the other pairs
say, again and again. So 大学 comes to mean "university", and 斯 to sound like an s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.compiled import compiled
from everalign.graph import IntArray
from everalign.literals.grams import Sparse, places
from everalign.literals.matches import Floats32

FOLDS = 3
ROUNDS = 5
DOUBT = 2.0  # as much as so many times met with nothing
FAINT = 0.002
LOUDEST = 60  # features of a translated name
MOST = 15_000  # pairs to learn from


class Pairs(NamedTuple):
    """Rows of left units and right features that belong together, taken apart into entries.

    An entry says that a right feature (`slot`, of its row) may come from a left unit; entries
    of the same unit and feature share their place in `unit` and `feature`.
    """

    entry: NDArray[np.int64]
    slot: NDArray[np.int64]
    row: IntArray
    unit: IntArray
    feature: IntArray
    slots: int


def take_apart(units: Sparse, features: Sparse, known: IntArray) -> Pairs:
    """The entries of the known pairs, given as rows of (left row, right row)."""
    mine, theirs = np.diff(units.start)[known[:, 0]], np.diff(features.start)[known[:, 1]]
    count = int((mine * theirs).sum())
    unit, feature = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    slot, row = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int32)
    _entries(
        units.start, units.column, features.start, features.column, known, unit, feature, slot, row
    )
    width = int(features.column.max(initial=0)) + 1
    keys, entry = places(unit * width + feature)
    return Pairs(
        entry,
        slot,
        row,
        (keys // width).astype(np.int32),
        (keys % width).astype(np.int32),
        int(theirs.sum()),
    )


def learn(pairs: Pairs, left_out: int | None = None) -> Floats32:
    """How likely each unit brings each feature; learned without one fold, if asked."""
    units = int(pairs.unit.max(initial=-1)) + 1
    share = np.full(len(pairs.unit), 1.0, dtype=np.float32)
    for _ in range(ROUNDS):
        counted = _share_out(
            pairs.entry,
            pairs.slot,
            pairs.row,
            share,
            pairs.slots,
            -1 if left_out is None else left_out,
            FOLDS,
        )
        total = np.bincount(pairs.unit, counted, minlength=units) + DOUBT
        share = (counted / total[pairs.unit]).astype(np.float32)
    return share


def translated(units: Sparse, features: Sparse, known: IntArray, weight: Floats32) -> Sparse:
    """Each row of units as the features that its units speak for the loudest.

    `known` are rows of (left row, right row), each left row once; `weight` tells how much each
    feature counts. A known pair is left out of what its own translation is learned from.
    """
    known = known[:MOST]
    pairs = take_apart(units, features, known)
    column = np.zeros((units.rows, LOUDEST), dtype=np.int32)
    value = np.zeros((units.rows, LOUDEST), dtype=np.float32)
    unknown = np.ones(units.rows, dtype=np.bool_)
    unknown[known[:, 0]] = False
    _loudest(units, pairs, learn(pairs), weight, np.flatnonzero(unknown), column, value)
    for fold in range(FOLDS):
        rows = known[fold::FOLDS, 0]
        _loudest(units, pairs, learn(pairs, fold), weight, rows, column, value)
    found = value > 0
    start = np.zeros(units.rows + 1, dtype=np.int64)
    np.cumsum(found.sum(axis=1), out=start[1:])
    return Sparse(start, column[found], value[found])


def _loudest(
    units: Sparse,
    pairs: Pairs,
    share: Floats32,
    weight: Floats32,
    rows: NDArray[np.integer],
    column: IntArray,
    value: Floats32,
) -> None:
    """Fill in the columns and values of some rows."""
    keep = share > FAINT
    width = int(units.column.max(initial=-1)) + 1
    start = np.zeros(width + 1, dtype=np.int64)
    np.cumsum(np.bincount(pairs.unit[keep], minlength=width), out=start[1:])
    chosen = rows.astype(np.int64)
    _add_up(*units[:2], chosen, start, pairs.feature[keep], share[keep], weight, column, value)


@compiled()
def _entries(
    left_start: NDArray[np.int64],
    left_column: IntArray,
    right_start: NDArray[np.int64],
    right_column: IntArray,
    known: IntArray,
    unit: NDArray[np.int64],
    feature: NDArray[np.int64],
    slot: NDArray[np.int64],
    row: IntArray,
) -> None:
    at, first = 0, 0
    for pair in range(len(known)):
        a, b = known[pair, 0], known[pair, 1]
        for one in range(left_start[a], left_start[a + 1]):
            for two in range(right_start[b], right_start[b + 1]):
                unit[at], feature[at] = left_column[one], right_column[two]
                slot[at], row[at] = first + two - right_start[b], pair
                at += 1
        first += right_start[b + 1] - right_start[b]


@compiled()
def _share_out(
    entry: NDArray[np.int64],
    slot: NDArray[np.int64],
    row: IntArray,
    share: Floats32,
    slots: int,
    left_out: int,
    folds: int,
) -> NDArray[np.float64]:
    total = np.zeros(slots, dtype=np.float64)
    counted = np.zeros(len(share), dtype=np.float64)
    for at in range(len(entry)):
        total[slot[at]] += share[entry[at]]
    for at in range(len(entry)):
        if row[at] % folds != left_out and total[slot[at]] > 0:
            counted[entry[at]] += share[entry[at]] / total[slot[at]]
    return counted


@compiled()
def _add_up(
    start: NDArray[np.int64],
    column: IntArray,
    rows: NDArray[np.int64],
    unit_start: NDArray[np.int64],
    feature: IntArray,
    share: Floats32,
    weight: Floats32,
    out_column: IntArray,
    out_value: Floats32,
) -> None:
    total = np.zeros(len(weight), dtype=np.float32)
    met = np.empty(len(weight) + 1, dtype=np.int32)
    for row in rows:
        count = 0
        for spot in range(start[row], start[row + 1]):
            unit = column[spot]
            for at in range(unit_start[unit], unit_start[unit + 1]):
                met[count] = feature[at]  # overwritten unless it is new
                count += total[feature[at]] == 0
                total[feature[at]] += share[at]
        for spot in range(count):
            value = total[met[spot]] * weight[met[spot]]
            total[met[spot]] = 0
            place = out_value.shape[1] - 1
            if value <= out_value[row, place]:
                continue
            while place > 0 and out_value[row, place - 1] < value:
                out_value[row, place] = out_value[row, place - 1]
                out_column[row, place] = out_column[row, place - 1]
                place -= 1
            out_value[row, place] = value
            out_column[row, place] = met[spot]
