"""Two graphs and what is believed of them: the values that a round takes and gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import Graph, IntArray
from everalign.methods.evidence.candidates import Table, table_of
from everalign.methods.evidence.dictionary import Dictionaries, learn_dictionaries
from everalign.methods.evidence.matches import Both, matches_of
from everalign.methods.evidence.settings import EvidenceSettings
from everalign.methods.evidence.side import Floats, Side, lay_out
from everalign.methods.evidence.wording import Wording
from everalign.methods.protocol import NOBODY
from everalign.parallel import each

Vectors = tuple[Floats, Floats]  # a row for each left, and for each right entity


LIKELY = 0.5  # probability from which on the names of a pair are learned from


@dataclass(frozen=True)
class World:
    """Two graphs, laid out, and the links that are taken for certain in them.

    `vectors`, if there are any, are what another method made of the entities: alike ones have
    similar vectors of length 1. `wording`, if both graphs have literals, is what these say.
    Entities that are `gone` are nobody's counterpart. `dictionaries` have been learned from what
    was believed of the names. It is `self_taught` where lessons are chosen among what is believed:
    then the judge must not weigh beliefs.
    """

    left: Side
    right: Side
    anchors: IntArray
    settings: EvidenceSettings
    vectors: Vectors | None = None
    wording: Wording | None = None
    gone: tuple[IntArray, IntArray] = (NOBODY, NOBODY)
    dictionaries: Dictionaries | None = None
    self_taught: bool = False

    @staticmethod
    def of(
        left: Graph,
        right: Graph,
        anchors: IntArray,
        settings: EvidenceSettings,
        vectors: Vectors | None = None,
        wording: Wording | None = None,
        gone: tuple[IntArray, IntArray] = (NOBODY, NOBODY),
    ) -> World:
        graphs, said = (left, right), wording.values if wording else (None, None)

        def laid_out(side: int) -> Side:
            return lay_out(graphs[side], settings, said[side])

        one, two = each(laid_out, 2)
        return World(one, two, anchors, settings, vectors, wording, gone)

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of entities on either side."""
        return self.left.entities, self.right.entities

    @property
    def relations(self) -> tuple[int, int]:
        """The number of relations on either side, attributes not counted."""
        left, right = (
            len(side.weight) // 2 - (len(values.attributes) if values else 0)
            for side, values in zip(
                (self.left, self.right),
                self.wording.values if self.wording else (None, None),
                strict=True,
            )
        )
        return left, right

    @cached_property
    def free(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which entities on either side have no anchor."""
        sides = [np.ones(size, dtype=np.bool_) for size in self.sizes]
        for side, column, gone in zip(sides, self.anchors.T, self.gone, strict=True):
            side[column] = False
            side[gone] = False
        return sides[0], sides[1]

    @cached_property
    def eligible(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which nodes on either side can be found: the free entities, but no literal."""
        left, right = (
            np.append(free, np.zeros(side.nodes - side.entities, dtype=np.bool_))
            for free, side in zip(self.free, (self.left, self.right), strict=True)
        )
        return left, right

    def speaks_as(self, other: World) -> bool:
        """Whether names say the same of a pair in both worlds."""
        return self.wording is other.wording and self.dictionaries is other.dictionaries

    def among_free(self, left: IntArray, right: IntArray) -> Table:
        """The table of those pairs neither entity of which has an anchor."""
        mine = self.free[0][left] & self.free[1][right]
        return table_of(left[mine], right[mine], self.sizes)


class Beliefs(NamedTuple):
    """Pairs and how probable each is thought to be."""

    table: Table
    probability: Floats

    @staticmethod
    def of(
        left: NDArray[np.integer],
        right: NDArray[np.integer],
        probability: Floats,
        sizes: tuple[int, int],
    ) -> Beliefs:
        """From pairs in order of their ids."""
        return Beliefs(table_of(left, right, sizes), probability)

    @staticmethod
    def none(sizes: tuple[int, int]) -> Beliefs:
        nothing = np.empty(0, dtype=np.int32)
        return Beliefs.of(nothing, nothing, np.empty(0, dtype=np.float32), sizes)

    def regrown(self, sizes: tuple[int, int]) -> Beliefs:
        """The same, with room for more entities."""
        return Beliefs.of(self.table.left, self.table.right, self.probability, sizes)

    def about(self, table: Table) -> Floats:
        """What is believed of the pairs of another table; 0 of those not thought of."""
        at = self.table.find(table.left, table.right)
        return np.where(at >= 0, np.append(self.probability, np.float32(0))[at], np.float32(0))

    def likely(self, least: float) -> Beliefs:
        """The pairs that are at least so probable."""
        keep = self.probability >= least
        return Beliefs(self.table.only(keep), self.probability[keep])


def matches_in(world: World, beliefs: Beliefs) -> Both:
    """Anchors, and likely pairs of other entities. The pairs of one entity share a probability
    of 1 at most, since it can have one counterpart only. Literals are matched as they are."""
    likely = beliefs.likely(world.settings.soft)
    left, right, p = likely.table.left, likely.table.right, likely.probability
    mine = world.free[0][left] & world.free[1][right]
    left, right, p = left[mine], right[mine], p[mine]
    totals = [
        np.bincount(entity, p, minlength=size)[entity]
        for entity, size in zip((left, right), world.sizes, strict=True)
    ]
    shared = p / np.maximum(1, np.maximum(*totals))
    rows = [(*world.anchors.T, np.ones(len(world.anchors))), (left, right, shared)]
    if world.wording:
        rows.append(world.wording.nodes())
    one, two, probability = (np.concatenate(column) for column in zip(*rows, strict=True))
    return matches_of(one, two, probability, (world.left.nodes, world.right.nodes))


def taught(world: World, beliefs: Beliefs) -> World:
    """The world with dictionaries from what is believed; as it is where nothing has names."""
    if world.wording is None:
        return world
    likely = beliefs.likely(LIKELY)
    left, right, p = likely.table.left, likely.table.right, likely.probability
    mine = world.free[0][left] & world.free[1][right]
    pairs = left[mine], right[mine], p[mine]
    made = learn_dictionaries(*world.wording.units, world.anchors, pairs)
    return replace(world, dictionaries=made)
