"""Losses that compare seed pairs with negative pairs, and the distances they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from everalign._numba import jit_cached
from everalign._parallel import map_threads
from everalign.methods.baselines.base import select_rows

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

MIN_SQUARE = 1e-12  # the square root has no gradient at 0
ROW_CHUNK = 2048  # rows whose distances one thread computes at a time
# Dimensions whose gradients one thread sums at a time. Threads share dimensions, not rows: each
# number is summed by one thread, in a fixed order.
DIMENSION_CHUNK = 50


@dataclass(frozen=True)
class ComparedPairs:
    """Seed pairs with negatives for both members.

    Attributes:
        left: Left node of each pair.
        right: Right node of each pair.
        negative_right: Wrong partners of each left node, pairs × negatives.
        negative_left: Wrong partners of each right node, pairs × negatives.
    """

    left: Tensor
    right: Tensor
    negative_right: Tensor
    negative_left: Tensor

    def compute_distances(self, vectors: Tensor, power: int) -> tuple[Tensor, Tensor]:
        """Compute the distances of the pairs and of their negatives.

        Args:
            vectors: A row for each node.
            power: 1 for L1 distances, 2 for squared L2 distances.

        Returns:
            Distances of the pairs, pairs × 1, and of the negative pairs, pairs × (2 · negatives).
        """
        # The true partner is column 0; both directions are computed in one call.
        partners_of_left = torch.cat([self.right[:, None], self.negative_right], dim=1)
        partners_of_right = torch.cat([self.left[:, None], self.negative_left], dim=1)
        left, right = compute_distances(
            select_rows(vectors, torch.cat([self.left, self.right])),
            vectors,
            torch.cat([partners_of_left, partners_of_right]),
            power,
        ).chunk(2)
        # The distance of a pair is the same in both directions: it counts once.
        return left[:, :1], torch.cat([left[:, 1:], right[:, 1:]], dim=1)


def compute_margin_ranking_loss(vectors: Tensor, pairs: ComparedPairs, margin: float) -> Tensor:
    """Compute the margin ranking loss Σ [margin + ‖pair‖₁ − ‖negative pair‖₁]₊ per seed pair.

    Args:
        vectors: A row for each node.
        pairs: Seed pairs with negatives.
        margin: How much farther a negative should be.

    Returns:
        The loss, a scalar.
    """
    positive, negative = pairs.compute_distances(vectors, 1)
    return torch.relu(margin + positive - negative).sum() / len(positive)


def compute_contrastive_loss(
    vectors: Tensor, pairs: ComparedPairs, margin: float, negative_weight: float
) -> Tensor:
    """Compute the contrastive loss Σ ‖pair‖₂ + weight · Σ [margin − ‖negative pair‖₂]₊ per pair.

    Args:
        vectors: A row for each node.
        pairs: Seed pairs with negatives.
        margin: How far a negative should be.
        negative_weight: Weight of the negatives.

    Returns:
        The loss, a scalar.
    """
    positive, negative = (
        squares.clamp(min=MIN_SQUARE).sqrt() for squares in pairs.compute_distances(vectors, 2)
    )
    too_near = torch.relu(margin - negative).sum()
    return (positive.sum() + negative_weight * too_near) / len(positive)


def compute_distances(queries: Tensor, table: Tensor, index: Tensor, power: int) -> Tensor:
    """Compute Σ |query_i − row_j|^power for each j in row i of `index`.

    Args:
        queries: A vector per row.
        table: Vectors to compare with.
        index: Rows of `table`, a row per query.
        power: 1 for L1 distances, 2 for squared L2 distances.

    Returns:
        Distances, in the shape of `index`.

    Example:
        >>> rows = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
        >>> compute_distances(rows[:1], rows, torch.tensor([[1, 0]]), 2).tolist()
        [[25.0, 0.0]]
    """
    # By compiled loops: a tensor of queries × negatives × dimensions took most of the time.
    result: Tensor = _Distances.apply(queries, table, index, power)  # type: ignore[no-untyped-call]
    return result


class _Distances(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, table: Tensor, index: Tensor, power: int) -> Tensor:
        ctx.power = power
        ctx.save_for_backward(queries, table, index)
        arrays = queries.numpy(), table.numpy(), index.numpy()
        distances = np.empty(index.shape, dtype=np.float32)
        map_threads(
            lambda first, end: _sum_differences(*arrays, power, first, end, distances),
            len(queries),
            ROW_CHUNK,
        )
        return torch.from_numpy(distances)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        queries, table, index = (saved.detach().numpy() for saved in ctx.saved_tensors)
        grad_queries, grad_table = np.zeros_like(queries), np.zeros_like(table)
        grad = grads[0].contiguous().numpy()
        map_threads(
            lambda first, end: _add_gradients(
                queries, table, index, ctx.power, grad, first, end, grad_queries, grad_table
            ),
            queries.shape[1],
            DIMENSION_CHUNK,
        )
        return torch.from_numpy(grad_queries), torch.from_numpy(grad_table), None, None


@jit_cached(fastmath=True)
def _sum_differences(
    queries: Floats, table: Floats, index: Ints, power: int, first: int, end: int, out: Floats
) -> None:
    for i in range(first, end):
        for k in range(index.shape[1]):
            j = index[i, k]
            total = np.float32(0.0)
            # Decided outside the inner loops, which then compile to vector instructions.
            if power == 1:
                for d in range(queries.shape[1]):
                    total += abs(queries[i, d] - table[j, d])
            else:
                for d in range(queries.shape[1]):
                    total += (queries[i, d] - table[j, d]) ** 2
            out[i, k] = total


@jit_cached(fastmath=True)
def _add_gradients(
    queries: Floats,
    table: Floats,
    index: Ints,
    power: int,
    grad: Floats,
    first: int,
    end: int,
    grad_queries: Floats,
    grad_table: Floats,
) -> None:
    """Add the gradients of the dimensions `first` to `end`."""
    for i in range(len(queries)):
        for k in range(index.shape[1]):
            g = grad[i, k]
            # Most negatives are beyond the margin and have no gradient.
            if g == 0:
                continue
            j = index[i, k]
            if power == 1:
                for d in range(first, end):
                    # The sign of the difference, 0 where there is none.
                    step = g * ((queries[i, d] > table[j, d]) - (queries[i, d] < table[j, d]))
                    grad_queries[i, d] += step
                    grad_table[j, d] -= step
            else:
                for d in range(first, end):
                    step = 2 * g * (queries[i, d] - table[j, d])
                    grad_queries[i, d] += step
                    grad_table[j, d] -= step
