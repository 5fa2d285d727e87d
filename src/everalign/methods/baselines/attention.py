"""Attention along given pairs of nodes, without a tensor of the size pairs × dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from everalign.compiled import compiled
from everalign.graph import UnionGraph
from everalign.methods.baselines.convolution import compressed
from everalign.methods.baselines.rows import gather

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
SLOPE = 0.2  # of a logit below 0


@dataclass(frozen=True)
class Pairs:
    """Which nodes look at which: sorted rows, and the column of each."""

    row: Ints
    column: Ints
    nodes: int

    def matrix(self, weight: Tensor) -> Tensor:
        """A sparse matrix with a number per pair."""
        return compressed(self.row, self.column, weight, (self.nodes, self.nodes))

    def transpose(self, weight: Tensor) -> Tensor:
        order = self._by_column
        return compressed(
            self.column[order], self.row[order], weight[order], (self.nodes, self.nodes)
        )

    def products(self, a: Tensor, b: Tensor) -> Tensor:
        """The product of a row of `a` and a row of `b`, per pair."""
        return torch.from_numpy(_products(self.row, self.column, a.numpy(), b.numpy()))

    @cached_property
    def _by_column(self) -> Ints:
        return np.argsort(self.column, kind="stable")


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pairs: Pairs, a: Tensor, b: Tensor) -> Tensor:
        ctx.pairs = pairs
        ctx.save_for_backward(a, b)
        return pairs.products(a, b)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return None, ctx.pairs.matrix(grads[0]) @ b, ctx.pairs.transpose(grads[0]) @ a


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pairs: Pairs, weight: Tensor, x: Tensor) -> Tensor:
        ctx.pairs = pairs
        ctx.save_for_backward(weight, x)
        return pairs.matrix(weight) @ x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        weight, x = ctx.saved_tensors
        grad = grads[0].contiguous()
        return None, ctx.pairs.products(grad, x), ctx.pairs.transpose(weight) @ grad


def attend(pairs: Pairs, asking: Tensor, asked: Tensor, x: Tensor) -> Tensor:
    """Σ_j a_ij x_j, where a_ij is the softmax over j of LeakyReLU(asking_i · asked_j)."""
    product: Tensor = _Products.apply(pairs, asking, asked)  # type: ignore[no-untyped-call]
    logit = torch.nn.functional.leaky_relu(product, SLOPE)
    row = torch.from_numpy(pairs.row)
    highest = logit.new_full((pairs.nodes,), -torch.inf)
    highest = highest.scatter_reduce(0, row, logit.detach(), "amax")
    weight = torch.exp(logit - highest[row])
    total = weight.new_zeros(pairs.nodes).index_add(0, row, weight)
    result: Tensor = _Gather.apply(pairs, weight / gather(total, row), x)  # type: ignore[no-untyped-call]
    return result


def two_steps(graph: UnionGraph, most: int, hub: int) -> Pairs:
    """Each node with the `most` nodes two steps away that most leads to; itself, where none are.

    A way through a node with n neighbours counts 1/n, and one through a node with more than
    `hub` counts nothing: what a hub joins has little in common, and there is far too much of it.
    """
    n, degree = graph.nodes, np.diff(graph.start).astype(np.int64)
    first = np.flatnonzero(degree[graph.target] <= hub)
    ways = degree[graph.target[first]]
    edge = np.repeat(first, ways)
    past = np.arange(len(edge)) - np.repeat(np.cumsum(ways) - ways, ways)
    end = graph.target[graph.start[graph.target[edge]] + past]
    key, place = np.unique(graph.source[edge] * np.int64(n) + end, return_inverse=True)
    leads = np.bincount(place, 1 / degree[graph.target[edge]], len(key))
    near = graph.source * np.int64(n) + graph.target
    far = (key // max(n, 1) != key % max(n, 1)) & ~np.isin(key, near)
    key, leads = key[far], leads[far]
    key = key[np.lexsort((-leads, key // max(n, 1)))]
    row = key // max(n, 1)
    kept = np.arange(len(key)) - np.searchsorted(row, row) < most
    alone = np.setdiff1d(np.arange(n), row)
    pair = np.sort(np.append(key[kept], alone * (n + 1)))  # row · n + column
    return Pairs(pair // max(n, 1), pair % max(n, 1), n)


@compiled(fastmath=True)
def _products(row: Ints, column: Ints, a: Floats, b: Floats) -> Floats:
    out = np.zeros(len(row), dtype=np.float32)
    for pair in range(len(row)):
        total = np.float32(0.0)
        for d in range(a.shape[1]):
            total += a[row[pair], d] * b[column[pair], d]
        out[pair] = total
    return out
