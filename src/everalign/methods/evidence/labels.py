"""The hidden links: known, but not used as evidence, so that there is something to learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.methods.evidence.candidates import Table

NOBODY = -1


@dataclass(frozen=True)
class Labels:
    """For each entity of either side its hidden counterpart and its fold; -1 where none."""

    of_left: IntArray
    of_right: IntArray
    fold_left: IntArray
    fold_right: IntArray

    @staticmethod
    def of(pairs: IntArray, sizes: tuple[int, int], folds: int) -> Labels:
        """Folds go by turns, in the order of the pairs."""
        arrays = [np.full(size, NOBODY, dtype=np.int32) for size in (*sizes, *sizes)]
        arrays[0][pairs[:, 0]] = pairs[:, 1]
        arrays[1][pairs[:, 1]] = pairs[:, 0]
        arrays[2][pairs[:, 0]] = arrays[3][pairs[:, 1]] = np.arange(len(pairs)) % folds
        return Labels(*arrays)

    def fold(self, table: Table) -> NDArray[np.int64]:
        """The fold of each row that touches a hidden link, -1 for the others."""
        left, right = self.fold_left[table.left], self.fold_right[table.right]
        return np.where(left != NOBODY, left, right).astype(np.int64)

    def correct(self, table: Table) -> NDArray[np.bool_]:
        """Which rows are hidden links."""
        right: NDArray[np.bool_] = self.of_left[table.left] == table.right
        return right

    def teach(self, table: Table) -> bool:
        """Whether right and wrong pairs are left to learn from whichever fold is kept apart."""
        fold, correct = self.fold(table), self.correct(table)
        folds = range(int(self.fold_left.max(initial=NOBODY)) + 1)
        lessons = [correct[(fold != NOBODY) & (fold != number)] for number in folds]
        return len(lessons) > 1 and all(rows.any() and not rows.all() for rows in lessons)

    def touched(self, table: Table) -> NDArray[np.float32]:
        """For each row the share of its two entities that have a hidden link.

        A wrong pair is met from either of its two entities, a hidden link from both at once: so
        this is how much a row has to count for rows to count alike.
        """
        left, right = self.of_left[table.left] != NOBODY, self.of_right[table.right] != NOBODY
        share: NDArray[np.float32] = (left.astype(np.float32) + right) / 2
        return share
