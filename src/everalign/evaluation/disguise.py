"""A benchmark dataset with its entities renamed at random and its triples shuffled.

Ids of benchmark datasets tell who belongs together (entities were numbered batch by batch), and
so does the order of lines. No method may profit from that.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import numpy as np

from everalign.errors import InputError
from everalign.literals import names_of_iris, quoted
from everalign.rdf import ContEADataset, Triple, TripleReader

Pairs = list[tuple[str, str]]
NAME = "name"


class DisguisedDataset:
    """The same snapshots and links under names that tell nothing."""

    def __init__(self, dataset: ContEADataset, seed: int, *, names: bool = False) -> None:
        """With `names`, what the IRIs of entities of snapshot 0 say comes as literals with it."""
        self.dataset = dataset
        self._seed = seed
        self._named = names

    def delta(self, t: int) -> tuple[list[Triple], list[Triple]]:
        """The triples that snapshot t adds on the left and on the right."""
        left, right = self.dataset.delta(t)
        named = self.names() if self._named and t == 0 else ([], [])
        return self._triples(left, 0, t) + named[0], self._triples(right, 1, t) + named[1]

    def names(self) -> tuple[list[Triple], list[Triple]]:
        """The readable names of entities, as literals, in an order that tells nothing."""
        iris = self.dataset.iris()
        names = dict(zip(iris, names_of_iris(list(iris.values())), strict=True))
        left, right = (
            sorted(
                (code, NAME, quoted(name))
                for entity, code in codes.items()
                if (name := names.get(entity)) is not None
            )
            for codes in self._codes
        )
        return left, right

    def upto(self, t: int) -> tuple[list[Triple], list[Triple]]:
        """All triples of snapshot t."""
        deltas = [self.delta(step) for step in range(t + 1)]
        return [x for left, _ in deltas for x in left], [x for _, right in deltas for x in right]

    def seeds(self) -> Pairs:
        return self._pairs("base/train_links", self.dataset.train())

    def valid(self) -> Pairs:
        return self._pairs("base/valid_links", self.dataset.valid())

    def gold(self, t: int) -> Pairs:
        """All gold test links at snapshot t."""
        file = f"batch{t}/all_test_links" if t else "base/test_links"
        return self._pairs(file, self.dataset.test(t))

    def new_gold(self, t: int) -> Pairs:
        """Those with an entity that snapshot t-1 does not have."""
        old_left, old_right = (
            {name for head, _, tail in side for name in (head, tail)} for side in self.upto(t - 1)
        )
        return [(a, b) for a, b in self.gold(t) if a not in old_left or b not in old_right]

    def left_name(self, disguised: str) -> str:
        """What the dataset calls an entity of the left graph."""
        return self._names[0][disguised]

    def right_name(self, disguised: str) -> str:
        return self._names[1][disguised]

    def _triples(self, path: Path, side: int, t: int) -> list[Triple]:
        rows = list(_triples(path))
        order = np.random.default_rng([self._seed, side, t]).permutation(len(rows))
        code = self._codes[side]
        return [(code[h], r, code[x]) for h, r, x in (rows[number] for number in order)]

    def _pairs(self, file: str, pairs: Pairs) -> Pairs:
        left, right = self._codes
        path = self.dataset.directory / file
        for side, codes, column in (("left", left, 0), ("right", right, 1)):
            names = [pair[column] for pair in pairs]
            unknown = next((name for name in names if name not in codes), None)
            if unknown is not None:
                raise InputError(f"{unknown!r} is no entity of the {side} graph", path=path)
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise InputError(f"{twice!r} has more than one link", path=path)
        return [(left[a], right[b]) for a, b in pairs]

    @cached_property
    def _codes(self) -> tuple[dict[str, str], dict[str, str]]:
        """A new name for each entity of either side."""
        files = [self.dataset.delta(t) for t in range(self.dataset.snapshots)]
        left, right = (
            sorted({name for path in paths for h, _, x in _triples(path) for name in (h, x)})
            for paths in zip(*files, strict=True)
        )
        rng = np.random.default_rng(self._seed)
        return _coded("l", left, rng), _coded("r", right, rng)

    @cached_property
    def _names(self) -> tuple[dict[str, str], dict[str, str]]:
        left, right = ({code: name for name, code in side.items()} for side in self._codes)
        return left, right


def _triples(path: Path) -> Iterable[Triple]:
    """The triples of a file; a side may stay as it is, and the file be empty."""
    return TripleReader(path) if path.stat().st_size else []


def _coded(prefix: str, names: list[str], rng: np.random.Generator) -> dict[str, str]:
    numbers = rng.permutation(len(names)).tolist()
    return {name: f"{prefix}{number}" for name, number in zip(names, numbers, strict=True)}
