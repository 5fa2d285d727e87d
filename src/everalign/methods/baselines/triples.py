"""More triples than the graphs have: those that seeds imply, and wrong ones to push away."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from everalign.graph import IntArray
from everalign.methods.baselines.rows import nearest_rows
from everalign.methods.neural.training import Nodes

HEAD, TAIL = 0, 2
MOST_LOOKED_AT = 20_000  # nodes that a node's nearest are looked for among


def with_swapped(triples: Nodes, seeds: Nodes) -> Nodes:
    """The triples, and those that hold with a member of a seed in its partner's place.

    >>> with_swapped(np.array([(0, 0, 1)]), np.array([(1, 4)])).tolist()
    [[0, 0, 1], [0, 0, 4]]
    """
    both_ways = np.concatenate([seeds, seeds[:, ::-1]])
    found = [triples]
    for end in (HEAD, TAIL):
        found.extend(_swapped(triples, end, both_ways))
    return np.unique(np.concatenate(found), axis=0)


def _swapped(triples: Nodes, end: int, partners: Nodes) -> list[Nodes]:
    """An entity may be in several seeds: each round takes one partner of each."""
    found = []
    nodes = 1 + max(triples[:, [HEAD, TAIL]].max(initial=0), partners.max(initial=0))
    while len(partners):
        entity, first = np.unique(partners[:, 0], return_index=True)
        partner = np.full(nodes, -1)
        partner[entity] = partners[first, 1]
        swapped = triples.copy()
        swapped[:, end] = partner[triples[:, end]]
        found.append(swapped[swapped[:, end] >= 0])
        partners = np.delete(partners, first, axis=0)
    return found


class Replacements:
    """The nodes that may take another's place in a wrong triple, always of the same graph.

    At first that is any node of the graph; after `refresh`, only the nearest ones.
    """

    def __init__(self, left: int, right: int) -> None:
        sides = [left, right]
        self._first: Nodes = np.repeat([0, left], sides)
        self._count: Nodes = np.repeat(sides, sides)
        self._bounds = [(0, left), (left, left + right)]
        self._nearest: IntArray | None = None

    def draw(self, replaced: Nodes, count: int, rng: np.random.Generator) -> Nodes:
        """`count` replacements for each node of `replaced`."""
        share = rng.random((len(replaced), count))
        choice = (share * self._count[replaced, None]).astype(np.int64)
        if self._nearest is None:
            choice += self._first[replaced, None]
            return choice
        found: Nodes = self._nearest[replaced[:, None], choice].astype(np.int64)
        return found

    def refresh(self, unit: Tensor, share: float, rng: np.random.Generator) -> None:
        """Draw from the nearest `share` of each graph from now on, by the nodes' unit vectors."""
        parts = [_nearest(unit[first:end], share, rng) + first for first, end in self._bounds]
        self._count = np.repeat([part.shape[1] for part in parts], [len(part) for part in parts])
        width = max(part.shape[1] for part in parts)
        padded = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts]
        self._nearest = np.concatenate(padded)


def _nearest(unit: Tensor, share: float, rng: np.random.Generator) -> IntArray:
    """The nearest others of each row, at least one of them, and itself where it is alone.

    In a large graph, the nearest of some: with all, the cost would grow with its square.
    """
    some = np.arange(len(unit))
    if len(some) > MOST_LOOKED_AT:
        some = np.sort(rng.choice(some, MOST_LOOKED_AT, replace=False))
    own = np.full(len(unit), -1)
    own[some] = np.arange(len(some))
    count = max(int(share * len(some)), 1)
    found = nearest_rows(unit, unit[torch.from_numpy(some)], torch.from_numpy(own), count)
    nearest: IntArray = some[found].astype(np.int32)
    return nearest
