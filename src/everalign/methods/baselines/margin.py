"""Losses that compare the distance of seed pairs with that of pairs that are known to be wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from everalign.graph import IntArray
from everalign.methods.baselines.apart import apart
from everalign.methods.baselines.rows import gather, nearest_rows, unit
from everalign.methods.baselines.static import Task
from everalign.methods.neural.training import Nodes

LEAST = 1e-12  # the root of a square of 0 has no gradient


@dataclass(frozen=True)
class Compared:
    """Seed pairs, and for both members of each the wrong partners they are compared with."""

    left: Tensor
    right: Tensor
    wrong_right: Tensor
    wrong_left: Tensor

    def distances(self, x: Tensor, power: int) -> tuple[Tensor, Tensor]:
        """Of the pairs (a column), and of their members from the wrong partners (a row each)."""
        of_left = torch.cat([self.right[:, None], self.wrong_right], dim=1)
        of_right = torch.cat([self.left[:, None], self.wrong_left], dim=1)
        asking = gather(x, torch.cat([self.left, self.right]))
        left, right = apart(asking, x, torch.cat([of_left, of_right]), power).chunk(2)
        return left[:, :1], torch.cat([left[:, 1:], right[:, 1:]], dim=1)


def margin_ranking(x: Tensor, compared: Compared, margin: float) -> Tensor:
    """Σ [margin + ‖pair‖₁ − ‖wrong pair‖₁]₊, per seed pair."""
    right, wrong = compared.distances(x, 1)
    return torch.relu(margin + right - wrong).sum() / len(right)


def contrastive(x: Tensor, compared: Compared, margin: float, share: float) -> Tensor:
    """Σ ‖pair‖₂ + share · Σ [margin − ‖wrong pair‖₂]₊, per seed pair."""
    right, wrong = (squares.clamp(min=LEAST).sqrt() for squares in compared.distances(x, 2))
    return (right.sum() + share * torch.relu(margin - wrong).sum()) / len(right)


class Comparing:
    """Compares seed pairs with wrong partners of the other side, new ones every epoch.

    Wrong partners are drawn from the `nearest` share of the side, looked up every few epochs, or
    from all of it (0). The very nearest alone would be too hard: many of them are nearly right.
    """

    def __init__(
        self, task: Task, negatives: int, nearest: float = 0.0, refresh_every: int = 1
    ) -> None:
        self.negatives, self.nearest, self.refresh_every = negatives, nearest, refresh_every
        self.left_nodes, right_nodes = task.sizes.left_entities, task.sizes.right_entities
        left, right = task.seeds.T
        self.pairs = task.seeds
        self._on_right = _Others(right - self.left_nodes, right_nodes)
        self._on_left = _Others(left, self.left_nodes)
        self._epoch = 0

    def next(self, x: Tensor, rng: np.random.Generator) -> Compared:
        """What to compare in the next epoch, given the vectors of all nodes as they are now."""
        # At first nothing is known, and what is near is so by chance.
        if self.nearest > 0 and self._epoch > 0 and self._epoch % self.refresh_every == 0:
            on_left, on_right = torch.tensor_split(unit(x.detach()), [self.left_nodes])
            left, right = self._on_left.own, self._on_right.own
            self._on_right.look_up(on_left[left], on_right, self.nearest)
            self._on_left.look_up(on_right[right], on_left, self.nearest)
        self._epoch += 1
        left, right = torch.from_numpy(self.pairs).T
        wrong_right = self._on_right.draw(self.negatives, rng) + self.left_nodes
        return Compared(left, right, wrong_right, self._on_left.draw(self.negatives, rng))


class _Others:
    """The nodes of a side but for the `own` of each pair; that only where there is no other."""

    def __init__(self, own: Nodes, count: int) -> None:
        self.own, self.count = torch.from_numpy(own), count
        self._near: IntArray | None = None

    def look_up(self, asking: Tensor, answers: Tensor, share: float) -> None:
        """Draw from the nearest `share` from now on."""
        self._near = nearest_rows(asking, answers, self.own, max(round(share * self.count), 1))

    def draw(self, number: int, rng: np.random.Generator) -> Tensor:
        """Some for each pair, as a row."""
        shape = (len(self.own), number)
        if self._near is not None:
            choice = rng.integers(0, self._near.shape[1], shape)
            near = np.take_along_axis(self._near, choice, axis=1)
            return torch.from_numpy(near.astype(np.int64))
        others = torch.from_numpy(rng.integers(0, max(self.count - 1, 1), shape))
        return (others + (others >= self.own[:, None])).clamp(max=self.count - 1)
