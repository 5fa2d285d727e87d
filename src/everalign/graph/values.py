"""What a graph says in literals, as immutable arrays: facts beside its triples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int32]
NO_ROWS = np.empty((0, 3), dtype=np.int32)
NO_ROWS.setflags(write=False)


@dataclass(frozen=True)
class Values:
    """The literal facts of one graph: rows of (entity, attribute, literal).

    `attributes` are the names of the attributes and `literals` the terms as N-Triples writes
    them (``"Paris"@fr``), both in the order of their ids. Some of them may have no row left.

    >>> values = Values(np.array([[0, 0, 0]], dtype=np.int32), ["label"], ['"Ada"@en'])
    >>> len(values.rows), values.literals[0]
    (1, '"Ada"@en')
    """

    rows: IntArray
    attributes: Sequence[str]
    literals: Sequence[str]

    @staticmethod
    def none() -> Values:
        """Of a graph without literals."""
        return Values(NO_ROWS, (), ())
