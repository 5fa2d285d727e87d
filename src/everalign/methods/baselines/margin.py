"""Losses that compare the distance of seed pairs with that of pairs that are known to be wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from everalign.methods.baselines.rows import gather, nearest_rows, unit
from everalign.methods.baselines.static import Task


@dataclass(frozen=True)
class Compared:
    """Seed pairs, and for both members of each the wrong partners they are compared with."""

    left: Tensor
    right: Tensor
    wrong_right: Tensor
    wrong_left: Tensor

    def distances(self, x: Tensor, p: float) -> tuple[Tensor, Tensor]:
        """Of the pairs (a column), and of their members from the wrong partners (a row each)."""
        left, right = gather(x, self.left)[:, None], gather(x, self.right)[:, None]
        wrong = torch.cat(
            [left - gather(x, self.wrong_right), right - gather(x, self.wrong_left)], dim=1
        )
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
    """Compares seed pairs with wrong partners of the other side, other ones every few epochs.

    Wrong partners are drawn from the `nearest` share of the side, or from all of it (0). The very
    nearest alone would be too hard: many of them are nearly right.
    """

    def __init__(self, task: Task, negatives: int, every: int = 1, nearest: float = 0.0) -> None:
        self.pairs, self.negatives = task.seeds, negatives
        self.every, self.nearest = every, nearest
        self.left_nodes = task.sizes.left_entities
        self._epoch = 0

    def next(self, x: Tensor, rng: np.random.Generator) -> Compared:
        """What to compare in the next epoch, given the vectors of all nodes as they are now."""
        if self._epoch % self.every == 0:
            left, right = torch.from_numpy(self.pairs).T
            on_left, on_right = torch.tensor_split(x.detach(), [self.left_nodes])
            wrong_right = self._wrong(on_left[left], on_right, right - self.left_nodes, rng)
            wrong_left = self._wrong(on_right[right - self.left_nodes], on_left, left, rng)
            self._compared = Compared(left, right, wrong_right + self.left_nodes, wrong_left)
        self._epoch += 1
        return self._compared

    def _wrong(
        self, asking: Tensor, answers: Tensor, own: Tensor, rng: np.random.Generator
    ) -> Tensor:
        """Rows of `answers`, but not the row's own; that only where there is no other."""
        shape = (len(asking), self.negatives)
        # At first nothing is known, and what is near is so by chance.
        if self.nearest == 0 or self._epoch == 0:
            others = torch.from_numpy(rng.integers(0, max(len(answers) - 1, 1), shape))
            return (others + (others >= own[:, None])).clamp(max=len(answers) - 1)
        count = max(self.negatives, round(self.nearest * len(answers)))
        near = nearest_rows(unit(asking), unit(answers), own, count)
        choice = rng.integers(0, near.shape[1], shape)
        return torch.from_numpy(np.take_along_axis(near, choice, axis=1).astype(np.int64))
