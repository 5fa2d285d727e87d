"""One side of a dataset, growing from snapshot to snapshot as the ContEA paper has it."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from everalign.graph import IntArray

Mask = NDArray[np.bool_]


class GrowingSide:
    """A large graph of which more and more is present.

    >>> path = np.array([[0, 0, 1], [1, 0, 2], [2, 0, 3], [3, 0, 4]], dtype=np.int32)
    >>> side = GrowingSide(path, np.array([True, False, False, False]))
    >>> side.grow(1.0, np.random.default_rng(0)).tolist()
    [[1, 0, 2]]
    >>> side.present.tolist()
    [True, True, True, False, False]
    """

    def __init__(self, triples: IntArray, base: Mask) -> None:
        """`base` says which of the triples are the first snapshot."""
        known = np.zeros(1 + int(triples[:, 1].max(initial=0)), dtype=bool)
        known[triples[base, 1]] = True
        # The paper's graphs gain entities and triples, never relations.
        usable = known[triples[:, 1]]
        self._triples = triples[usable]
        self._taken = base[usable]
        self.present = np.zeros(1 + int(triples[:, [0, 2]].max(initial=0)), dtype=bool)
        self._arrive(self._triples[self._taken])

    @property
    def size(self) -> int:
        """How many triples are present."""
        return int(self._taken.sum())

    def base(self) -> IntArray:
        """The triples of the first snapshot, before the side has grown."""
        return self._triples[self._taken]

    def grow(self, share: float, rng: Generator) -> IntArray:
        """Take in some triples around what is present, and all those between what is then.

        Returned is what is new, in random order; less than asked for where the graph ends.
        """
        adjacent = np.flatnonzero(~self._taken & (self._has_head() | self._has_tail()))
        wanted = min(round(share * self.size), len(adjacent))
        self._arrive(self._triples[rng.choice(adjacent, wanted, replace=False)])
        new = np.flatnonzero(~self._taken & self._has_head() & self._has_tail())
        self._taken[new] = True
        rng.shuffle(new)
        return self._triples[new]

    def _arrive(self, triples: IntArray) -> None:
        self.present[triples[:, 0]] = True
        self.present[triples[:, 2]] = True

    def _has_head(self) -> Mask:
        return self.present[self._triples[:, 0]]

    def _has_tail(self) -> Mask:
        return self.present[self._triples[:, 2]]
