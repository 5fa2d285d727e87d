"""A start for entities that the encoder has never seen: the mean of their known neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign.graph import UnionGraph


def inductive_start(
    graph: UnionGraph, entity: NDArray[np.float32], known: NDArray[np.bool_]
) -> None:
    """Fill the rows of unknown entities in place, nearest to the known ones first.

    An entity whose neighbours are all new is reached through them, one ring after the other.
    Entities that are not connected to any known one keep the row they have.
    """
    known = known.copy()
    while True:
        border = known[graph.target] & ~known[graph.source]
        if not border.any():
            return
        ring, first = np.unique(graph.source[border], return_index=True)
        total = np.add.reduceat(entity[graph.target[border]], first, axis=0)
        entity[ring] = total / np.diff(np.append(first, border.sum()))[:, None]
        known[ring] = True
