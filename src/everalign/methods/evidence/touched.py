"""Who feels a change: entities with new edges, and neighbours of those that are now believed to
be someone else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.compiled import compiled
from everalign.graph import Graph, IntArray
from everalign.methods.evidence.candidates import Table
from everalign.methods.evidence.side import Side
from everalign.methods.evidence.world import Beliefs, World

TELLING = 0.02  # how well an entity has to be pinned down by its neighbour to feel its change

Mask = NDArray[np.bool_]


class Touched(NamedTuple):
    """Which entities of either side have to be looked at again."""

    left: Mask
    right: Mask

    def any(self) -> bool:
        return bool(self.left.any() or self.right.any())

    def or_by(self, other: Touched) -> Touched:
        """The entities of either."""
        return Touched(self.left | other.left, self.right | other.right)

    def rows(self, table: Table) -> Mask:
        """Which pairs have such an entity."""
        return self.left[table.left] | self.right[table.right]


def by_new_edges(left: Graph, right: Graph, old_triples: tuple[int, int]) -> Touched:
    """The entities of the triples that came after the first so many."""
    return Touched(_in_triples(left, old_triples[0]), _in_triples(right, old_triples[1]))


def by_changed_beliefs(world: World, before: Beliefs, after: Beliefs) -> Touched:
    """The neighbours of entities whose counterpart is now more or less probable."""
    change = np.abs(after.probability - before.about(after.table)) >= world.settings.change
    return by_pairs(world, after.table.left[change], after.table.right[change])


def by_pairs(world: World, left: IntArray, right: IntArray) -> Touched:
    """The neighbours of these entities."""
    return Touched(_neighbours(world.left, left), _neighbours(world.right, right))


def _in_triples(graph: Graph, old: int) -> Mask:
    out = np.zeros(graph.entities, dtype=np.bool_)
    out[graph.triples[old:, 0]] = True
    out[graph.triples[old:, 2]] = True
    return out


def _neighbours(side: Side, entities: IntArray) -> Mask:
    out = np.zeros(side.nodes, dtype=np.bool_)
    _mark_neighbours(side, np.unique(entities), TELLING, out)
    return out[: side.entities]


@compiled()
def _mark_neighbours(side: Side, entities: IntArray, least: float, out: Mask) -> None:
    for y in entities:
        for e in range(side.start[y], side.start[y + 1]):
            if side.pins[e] >= least:
                out[side.other[e]] = True
