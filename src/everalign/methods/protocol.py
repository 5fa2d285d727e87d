"""The seam: what a method is given, and what it must be able to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from everalign.graph import Graph, IntArray
from everalign.matching import Candidates
from everalign.progress import Progress

Arrays: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Problem:
    """All that a method may look at.

    `seeds` and `valid` are rows of (left, right) that people vouch for: learn from the first,
    judge with the second. Entities with an id from `old_left` / `old_right` on are new since
    the last version; `links` are the links in force, found by the last version.
    """

    left: Graph
    right: Graph
    seeds: IntArray
    valid: IntArray
    old_left: int = 0
    old_right: int = 0
    links: Candidates = field(default_factory=Candidates.none)

    def free(self) -> tuple[IntArray, IntArray]:
        """The left and the right entities that no seed or validation link speaks for."""
        taken = np.concatenate([self.seeds, self.valid])
        return _without(self.left.entities, taken[:, 0]), _without(
            self.right.entities, taken[:, 1]
        )


class Method(Protocol):
    """A way to find links. It is made from its settings and a seed, then fitted or loaded.

    `fit` learns from nothing, `update` from what an earlier version learned; after either,
    `candidates` gives the pairs of free entities that it holds to be the same, at most one per
    entity. `save` gives all that `load` needs to go on in another process.
    """

    def fit(self, problem: Problem, progress: Progress) -> None: ...

    def update(self, problem: Problem, progress: Progress) -> None: ...

    def candidates(self, problem: Problem, progress: Progress) -> Candidates: ...

    def save(self) -> Arrays: ...

    def load(self, arrays: Arrays) -> None: ...


def _without(count: int, taken: IntArray) -> IntArray:
    keep = np.ones(count, dtype=bool)
    keep[taken] = False
    return np.flatnonzero(keep).astype(np.int32)
