"""Losses that compare the distance of seed pairs with that of pairs that are known to be wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from everalign.graph import UnionGraph
from everalign.methods.neural.training import Nodes


@dataclass(frozen=True)
class Compared:
    """Seed pairs, and for both members of each the wrong partners they are compared with."""

    left: Tensor
    right: Tensor
    wrong_right: Tensor
    wrong_left: Tensor

    def distances(self, x: Tensor, p: float) -> tuple[Tensor, Tensor]:
        """Of the pairs (a column), and of their members from the wrong partners (a row each)."""
        left, right = x[self.left][:, None], x[self.right][:, None]
        wrong = torch.cat([left - x[self.wrong_right], right - x[self.wrong_left]], dim=1)
        return torch.norm(left - right, p, dim=2), torch.norm(wrong, p, dim=2)


def margin_ranking(x: Tensor, compared: Compared, margin: float) -> Tensor:
    """Σ [margin + ‖pair‖₁ − ‖wrong pair‖₁]₊, per seed pair."""
    right, wrong = compared.distances(x, 1)
    return torch.relu(margin + right - wrong).sum() / len(right)


def contrastive(x: Tensor, compared: Compared, margin: float, share: float) -> Tensor:
    """Σ ‖pair‖₂ + share · Σ [margin − ‖wrong pair‖₂]₊, per seed pair."""
    right, wrong = compared.distances(x, 2)
    return (right.sum() + share * torch.relu(margin - wrong).sum()) / len(right)


class Comparing:
    """Compares seed pairs with random nodes of the other side, other ones now and then."""

    def __init__(self, graph: UnionGraph, pairs: Nodes, negatives: int, every: int) -> None:
        self.graph, self.pairs, self.negatives, self.every = graph, pairs, negatives, every
        self._epoch = 0

    def next(self, rng: np.random.Generator) -> Compared:
        """What to compare in the next epoch."""
        if self._epoch % self.every == 0:
            self._compared = self._drawn(rng)
        self._epoch += 1
        return self._compared

    def _drawn(self, rng: np.random.Generator) -> Compared:
        left, right = torch.from_numpy(self.pairs).T
        shape = (len(self.pairs), self.negatives)
        return Compared(
            left,
            right,
            torch.from_numpy(rng.integers(self.graph.left_nodes, self.graph.nodes, shape)),
            torch.from_numpy(rng.integers(0, self.graph.left_nodes, shape)),
        )
