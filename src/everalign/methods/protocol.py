"""The seam: what a method is given, and what it must be able to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from everalign.graph import Graph, IntArray, Values
from everalign.matching import Candidates
from everalign.progress import Progress

Arrays: TypeAlias = Mapping[str, NDArray[Any]]
NOBODY: IntArray = np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class Problem:
    """All that a method may look at.

    `seeds` and `valid` are rows of (left, right) that people vouch for: learn from the first,
    judge with the second. Entities with an id from `old_left` / `old_right` on are new since
    the last version; `links` are the links in force, found by the last version. `full` asks an
    update to look at everything again, not only at what the delta touches.

    `left_values` and `right_values` are what the graphs say in literals. `changed` are the ids
    of the left and the right entities whose facts or trusted links are others than at the
    method's last turn; None if that is not known. Ids without a triple and without a literal
    are `gone`: their entities were removed, and no link may name them. `lost_triples` and
    `lost_links` count the triples that were removed since then, and the links that were trusted or
    found then and that people have taken back.
    """

    left: Graph
    right: Graph
    seeds: IntArray
    valid: IntArray
    old_left: int = 0
    old_right: int = 0
    links: Candidates = field(default_factory=Candidates.none)
    full: bool = False
    left_values: Values = field(default_factory=Values.none)
    right_values: Values = field(default_factory=Values.none)
    changed: tuple[IntArray, IntArray] | None = None
    gone: tuple[IntArray, IntArray] = (NOBODY, NOBODY)
    lost_triples: int = 0
    lost_links: int = 0

    def free(self) -> tuple[IntArray, IntArray]:
        """The left and the right entities that exist and that no trusted link speaks for."""
        taken = np.concatenate([self.seeds, self.valid])
        sizes = self.left.entities, self.right.entities
        left, right = (
            _without(sizes[side], np.concatenate([taken[:, side], self.gone[side]]))
            for side in range(2)
        )
        return left, right


class Method(Protocol):
    """A way to find links. It is made from its settings and a seed, then fitted or loaded.

    `fit` learns from nothing, `update` from what an earlier version learned; after either,
    `candidates` gives the pairs of free entities that it holds to be the same, at most one per
    entity; those that score less than its threshold are proposals. `save` gives all that `load`
    needs to go on in another process.
    """

    def fit(self, problem: Problem, progress: Progress) -> None: ...

    def update(self, problem: Problem, progress: Progress) -> None: ...

    def candidates(self, problem: Problem, progress: Progress) -> Candidates: ...

    def save(self) -> Arrays: ...

    def load(self, arrays: Arrays) -> None: ...


@dataclass(frozen=True)
class Piece:
    """A piece of evidence for a pair: a neighbour of either, held to be the same.

    The left entity is joined to `left_neighbour` by `left_relation`, read backwards (from the
    neighbour to the entity) where `left_backwards` says so; the same on the right. `confidence`
    is that of the two neighbours, `weight` what the piece adds to the pair's support.

    Where `literal` is set, the neighbours are literals that say the same and the relations are
    attributes: their ids are those of the problem's `left_values` and `right_values`.
    """

    left_relation: int
    left_backwards: bool
    left_neighbour: int
    right_relation: int
    right_backwards: bool
    right_neighbour: int
    confidence: float
    weight: float
    literal: bool = False


@dataclass(frozen=True)
class Consideration:
    """A pair that a method has thought about: how sure it is, and what speaks for the pair.

    `support` is the sum of the weights of all pieces, also of those too light to be listed.
    """

    left: int
    right: int
    confidence: float
    support: float
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class RelationMatch:
    """How far a left and a right relation mean the same.

    `left_in_right` is the estimated share of the left relation's triples that the right one has
    as well, and the other way round; `support` counts the triples that speak for it. `backwards`:
    the right relation read from tail to head. Where `attributes` is set, the two are attributes,
    with ids of the problem's values.
    """

    left: int
    right: int
    backwards: bool
    left_in_right: float
    right_in_left: float
    support: float
    attributes: bool = False


@runtime_checkable
class Explaining(Protocol):
    """What a method that can give reasons does as well, after it is fitted or loaded."""

    def explain(
        self, problem: Problem, left: int | None, right: int | None
    ) -> list[Consideration]:
        """The pairs considered for a left or a right entity (one of the two), best first."""
        ...

    def relations(self, problem: Problem) -> list[RelationMatch]:
        """The correspondence of relations, best first."""
        ...


def _without(count: int, taken: IntArray) -> IntArray:
    keep = np.ones(count, dtype=bool)
    keep[taken] = False
    return np.flatnonzero(keep).astype(np.int32)
