"""Files of two large graphs and of reference links → ids; each name is held once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from everalign.errors import InputError
from everalign.graph import IntArray, Vocabulary, count_and_take
from everalign.progress import Progress
from everalign.rdf import iterate_links


@dataclass(frozen=True)
class Sources:
    """The files that a dataset is built from.

    `base_left` and `base_right` are the first snapshot, if that is not to be chosen.
    """

    left: Path
    right: Path
    links: Path
    base_left: Path | None = None
    base_right: Path | None = None

    def __post_init__(self) -> None:
        if (self.base_left is None) != (self.base_right is None):
            lone = self.base_left or self.base_right
            raise InputError("the first snapshot needs a file for either side", path=lone)


@dataclass(frozen=True)
class LargeGraph:
    """All triples of one side, each once.

    If the first snapshot is given, the first `base` of them are its triples.
    """

    triples: IntArray
    base: int | None
    names: Vocabulary
    literals: int
    """How many triples were left out because they have a literal."""

    @property
    def entities(self) -> int:
        return len(self.names.entities)


def read_graph(path: Path, base: Path | None, progress: Progress) -> LargeGraph:
    """A graph as ids, with its first snapshot, which may have triples of its own."""
    names = Vocabulary()
    begun, base_literals = count_and_take(base, names, progress)
    all_rows, literals = count_and_take(path, names, progress)
    rows = np.concatenate([begun, all_rows])
    first = distinct(rows)
    known = None if base is None else int((first < len(begun)).sum())
    return LargeGraph(rows[first], known, names, literals + base_literals)


def distinct(rows: IntArray) -> NDArray[np.intp]:
    """Where each different row stands first.

    >>> distinct(np.array([[3, 1], [0, 2], [3, 1]], dtype=np.int32)).tolist()
    [0, 1]
    """
    order = np.lexsort(rows.T)
    ordered = rows[order]
    fresh = np.ones(len(rows), dtype=bool)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return np.sort(order[fresh])


@dataclass(frozen=True)
class References:
    """The reference links between entities of the graphs, one-to-one, and what was left out."""

    pairs: IntArray
    unknown: int
    """Links with an entity that no triple has."""
    contradicting: int
    """Links of an entity that has another link as well."""


def read_references(path: Path, left: LargeGraph, right: LargeGraph) -> References:
    """The reference links as ids."""
    unknown = 0

    def numbers() -> Iterator[int]:
        nonlocal unknown
        for link in iterate_links(path):
            pair = left.names.entities.find(link.left), right.names.entities.find(link.right)
            if pair[0] is None or pair[1] is None:
                unknown += 1
            else:
                yield from (pair[0], pair[1])

    pairs = np.fromiter(numbers(), dtype=np.int32).reshape(-1, 2)
    if len(pairs) == 0:
        problem = "no link joins an entity of the left graph with one of the right graph"
        raise InputError(f"{problem}; are left and right swapped?", path=path)
    pairs = pairs[distinct(pairs)]
    kept = one_to_one(pairs)
    return References(kept, unknown, len(pairs) - len(kept))


def one_to_one(pairs: IntArray) -> IntArray:
    """The pairs whose entities are in no other pair: of those that contradict, none is right.

    >>> one_to_one(np.array([[0, 0], [1, 1], [1, 2]], dtype=np.int32)).tolist()
    [[0, 0]]
    """
    left, right = pairs[:, 0], pairs[:, 1]
    alone: NDArray[np.bool_] = (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1)
    return pairs[alone]
