"""Left names in the words of right ones, as learned from names known to be the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign.compiled import compiled
from everalign.graph import IntArray
from everalign.literals.grams import Sparse
from everalign.literals.matches import Floats32
from everalign.literals.together import Meetings, Rows, chances, meetings_of
from everalign.parallel import each

FOLDS = 3
DOUBT = 2.0  # as much as so many times met with nothing
FAINT = 0.002
LOUDEST = 60  # features of a translated name
MOST = 15_000  # pairs to learn from


def translated(units: Sparse, features: Sparse, known: IntArray, weight: Floats32) -> Sparse:
    """Each row of units as the features that its units speak for the loudest.

    `known` are rows of (left row, right row), each left row once; `weight` tells how much each
    feature counts. A known pair is left out of what its own translation is learned from.
    """
    known = known[:MOST]
    met = meetings_of(_rows(units), _rows(features), known[:, 0], known[:, 1])
    column = np.zeros((units.rows, LOUDEST), dtype=np.int32)
    value = np.zeros((units.rows, LOUDEST), dtype=np.float32)
    fold = np.arange(len(known)) % FOLDS
    unknown = np.ones(units.rows, dtype=np.bool_)
    unknown[known[:, 0]] = False

    def translate(left_out: int) -> None:
        share = chances(met, (fold != left_out).astype(np.float32), DOUBT)
        # What no fold holds back is for the names that are not known.
        rows = known[fold == left_out, 0] if left_out < FOLDS else np.flatnonzero(unknown)
        _loudest(units, met, share, weight, rows, column, value)

    each(translate, FOLDS + 1)
    found = value > 0
    start = np.zeros(units.rows + 1, dtype=np.int64)
    np.cumsum(found.sum(axis=1), out=start[1:])
    return Sparse(start, column[found], value[found])


def _rows(matrix: Sparse) -> Rows:
    return Rows(matrix.start, matrix.column, int(matrix.column.max(initial=-1)) + 1)


def _loudest(
    units: Sparse,
    met: Meetings,
    share: Floats32,
    weight: Floats32,
    rows: NDArray[np.integer],
    column: IntArray,
    value: Floats32,
) -> None:
    """Fill in the columns and values of some rows."""
    keep = share > FAINT
    start = np.zeros(met.parts[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(met.left[keep], minlength=met.parts[0]), out=start[1:])
    chosen = rows.astype(np.int64)
    _add_up(*units[:2], chosen, start, met.right[keep], share[keep], weight, column, value)


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
