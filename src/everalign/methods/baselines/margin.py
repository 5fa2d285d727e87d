"""Losses that compare the distance of seed pairs with that of pairs that are known to be wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from everalign.methods.neural.training import Nodes

CHUNK = 512  # pairs whose nearest are sought at a time


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


def with_nearest(x: Tensor, left_nodes: int, pairs: Nodes, count: int) -> Compared:
    """Compare with the `count` nearest on the other side, by cosine."""
    unit = torch.nn.functional.normalize(x.detach(), dim=1)
    left, right = torch.from_numpy(pairs).T
    return Compared(
        left,
        right,
        _nearest(unit[left], unit[left_nodes:], right - left_nodes, count) + left_nodes,
        _nearest(unit[right], unit[:left_nodes], left, count),
    )


def with_random(
    left_nodes: int, nodes: int, pairs: Nodes, count: int, rng: np.random.Generator
) -> Compared:
    """Compare with `count` nodes of the other side, whichever."""
    left, right = torch.from_numpy(pairs).T
    shape = (len(pairs), count)
    return Compared(
        left,
        right,
        torch.from_numpy(rng.integers(left_nodes, nodes, shape)),
        torch.from_numpy(rng.integers(0, left_nodes, shape)),
    )


def _nearest(queries: Tensor, others: Tensor, partner: Tensor, count: int) -> Tensor:
    """The rows of `others` with the highest product, the partner left out."""
    count = min(count, len(others) - 1)
    found = []
    for part, own in zip(queries.split(CHUNK), partner.split(CHUNK), strict=True):
        likeness = part @ others.T
        likeness[torch.arange(len(part)), own] = -torch.inf
        found.append(likeness.topk(count, dim=1).indices)
    return torch.cat(found)
