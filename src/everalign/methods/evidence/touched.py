"""Who feels a change: entities with other facts or trusted links, and neighbours of those that
are now believed to be someone else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.compiled import compiled
from everalign.graph import IntArray
from everalign.methods.evidence.candidates import Table
from everalign.methods.evidence.side import Side
from everalign.methods.evidence.world import Beliefs, World
from everalign.methods.protocol import Problem

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


def by_delta(problem: Problem, old_triples: tuple[int, int]) -> Touched:
    """The entities whose facts have changed.

    Where nobody says which they are: those of the triples after the first so many, if the
    graphs have but grown, and else all.
    """
    graphs = problem.left, problem.right
    if problem.changed is not None:
        marked = zip(graphs, problem.changed, strict=True)
        return Touched(*(_marked(graph.entities, ids) for graph, ids in marked))
    if any(len(graph.triples) < old for graph, old in zip(graphs, old_triples, strict=True)):
        return Touched(*(np.ones(graph.entities, dtype=np.bool_) for graph in graphs))
    news = (graph.triples[old:] for graph, old in zip(graphs, old_triples, strict=True))
    ids = (rows[:, [0, 2]].ravel() for rows in news)
    return Touched(*(_marked(graph.entities, x) for graph, x in zip(graphs, ids, strict=True)))


def by_trust(world: World, before: IntArray, now: IntArray) -> Touched:
    """The entities of links that are trusted now and were not, or the other way round, and
    their neighbours: these had or get a certain match."""
    given, held = ({tuple(row) for row in rows.tolist()} for rows in (now, before))
    rows = np.array(sorted(given ^ held), dtype=np.int32).reshape(-1, 2)
    return by_pairs(world, *rows.T).or_by(of_pairs(world, *rows.T))


def by_vanished(world: World, before: Beliefs) -> Touched:
    """The neighbours of pairs that nobody may believe any more: one of the two is gone, or a
    trusted link speaks for it."""
    left, right = before.likely(world.settings.soft).table[:2]
    lost = ~(world.free[0][left] & world.free[1][right])
    return by_pairs(world, left[lost], right[lost])


def by_lost_belief(world: World, before: Beliefs, after: Beliefs) -> Touched:
    """The neighbours of entities whose counterpart is now less probable."""
    fell = before.about(after.table) - after.probability >= world.settings.change
    return by_pairs(world, after.table.left[fell], after.table.right[fell])


def by_changed_beliefs(world: World, before: Beliefs, after: Beliefs) -> Touched:
    """The neighbours of entities whose counterpart is now more or less probable."""
    change = np.abs(after.probability - before.about(after.table)) >= world.settings.change
    return by_pairs(world, after.table.left[change], after.table.right[change])


def by_pairs(world: World, left: IntArray, right: IntArray) -> Touched:
    """The neighbours of these entities."""
    return Touched(_neighbours(world.left, left), _neighbours(world.right, right))


def of_pairs(world: World, left: IntArray, right: IntArray) -> Touched:
    """These entities themselves."""
    return Touched(_marked(world.sizes[0], left), _marked(world.sizes[1], right))


def _marked(entities: int, ids: IntArray) -> Mask:
    out = np.zeros(entities, dtype=np.bool_)
    out[ids] = True
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
