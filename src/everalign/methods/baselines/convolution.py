"""Graph convolution: each node takes the weighted sum of its neighbours and itself."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from everalign.graph import UnionGraph


@dataclass(frozen=True)
class Adjacency:
    """A sparse matrix over the nodes, and its transpose for the way back."""

    matrix: Tensor
    transpose: Tensor


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, adjacency: Adjacency, x: Tensor) -> Tensor:
        ctx.adjacency = adjacency
        return adjacency.matrix @ x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, ctx.adjacency.transpose @ grads[0].contiguous()


def normalised_adjacency(
    graph: UnionGraph, weight: NDArray[np.float32] | None = None
) -> Adjacency:
    """D^-½ (A + I) D^-½ with the row sums D of A + I; `weight` has a number per edge, else 1."""
    own = np.arange(graph.nodes)
    row = np.concatenate([graph.source, own])
    column = np.concatenate([graph.target, own])
    edge = np.ones(len(graph.source), dtype=np.float32) if weight is None else weight
    value = np.concatenate([edge, np.ones(graph.nodes, dtype=np.float32)])
    scale = np.bincount(row, value, graph.nodes) ** -0.5
    value = value * scale[row] * scale[column]
    return Adjacency(_summed(row, column, value, graph.nodes), _summed(column, row, value, graph.nodes))


def _summed(row: NDArray[Any], column: NDArray[Any], value: NDArray[Any], nodes: int) -> Tensor:
    """A square matrix by its entries in any order; those at one place are added up."""
    place, entry = np.unique(row * np.int64(nodes) + column, return_inverse=True)
    total = np.bincount(entry, value, len(place)).astype(np.float32)
    size = max(nodes, 1)
    return compressed(place // size, place % size, torch.from_numpy(total), nodes)


def compressed(row: NDArray[Any], column: NDArray[Any], value: Tensor, nodes: int) -> Tensor:
    """A square matrix by its entries, whose rows are sorted."""
    start = np.searchsorted(row, np.arange(nodes + 1)).astype(np.int32)
    with warnings.catch_warnings():
        # Compressed rows are called a beta feature; their product with a table is an old one.
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        return torch.sparse_csr_tensor(
            torch.from_numpy(start),
            torch.from_numpy(column.astype(np.int32)),
            value,
            (nodes, nodes),
            check_invariants=False,
        )


def spread(adjacency: Adjacency, x: Tensor) -> Tensor:
    """What each node takes from its neighbours and itself, for a row of x per node."""
    result: Tensor = _Spread.apply(adjacency, x)  # type: ignore[no-untyped-call]
    return result
