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

Ints = NDArray[Any]
Edges = tuple[Ints, Ints]

OWN = 0.5  # what a node counts among its neighbours: rows without a seed say little
NO_EDGES: Edges = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class Adjacency:
    """A sparse matrix, and its transpose for the way back."""

    matrix: Tensor
    transpose: Tensor

    @staticmethod
    def of(row: Ints, column: Ints, value: NDArray[Any], shape: tuple[int, int]) -> Adjacency:
        """By its entries in any order; those at one place are added up."""
        rows, columns = shape
        place, entry = np.unique(row * np.int64(columns) + column, return_inverse=True)
        total = torch.from_numpy(np.bincount(entry, value, len(place)).astype(np.float32))
        row, column = np.divmod(place, max(columns, 1))
        order = np.argsort(column, kind="stable")
        return Adjacency(
            compressed(row, column, total, (rows, columns)),
            compressed(column[order], row[order], total[order], (columns, rows)),
        )

    def turned(self) -> Adjacency:
        """The same with rows and columns in each other's place."""
        return Adjacency(self.transpose, self.matrix)


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, adjacency: Adjacency, x: Tensor) -> Tensor:
        ctx.adjacency = adjacency
        return adjacency.matrix @ x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, ctx.adjacency.transpose @ grads[0].contiguous()


def normalised_adjacency(graph: UnionGraph) -> Adjacency:
    """D^-½ (A + I) D^-½ with the row sums D of A + I."""
    own = np.arange(graph.nodes)
    row, column = np.concatenate([graph.source, own]), np.concatenate([graph.target, own])
    scale = np.bincount(row, minlength=graph.nodes) ** -0.5
    return Adjacency.of(row, column, scale[row] * scale[column], (graph.nodes,) * 2)


def mean_adjacency(
    graph: UnionGraph, weight: NDArray[np.float32] | None = None, more: Edges = NO_EDGES
) -> Adjacency:
    """The weighted mean of a node's neighbours, among whom it counts a half itself.

    `weight` has a number per edge, else they count 1; so do `more`, which are sources and targets
    of edges that the graph does not have.
    """
    own = np.arange(graph.nodes)
    row = np.concatenate([graph.source, own, more[0]])
    column = np.concatenate([graph.target, own, more[1]])
    edge = np.ones(len(graph.source)) if weight is None else weight
    value = np.concatenate([edge, np.full(graph.nodes, OWN), np.ones(len(more[0]))])
    total = np.bincount(row, value, graph.nodes)
    return Adjacency.of(row, column, value / total[row], (graph.nodes,) * 2)


def implied_edges(graph: UnionGraph, seeds: NDArray[np.int64]) -> Edges:
    """Edges between members of seeds whose partners have one, where they have none themselves."""
    partner = np.full(graph.nodes, -1)
    partner[seeds] = seeds[:, ::-1]
    source, target = partner[graph.source], partner[graph.target]
    both = (source >= 0) & (target >= 0)
    there = graph.source * np.int64(graph.nodes) + graph.target
    missing = np.setdiff1d(source[both] * np.int64(graph.nodes) + target[both], there)
    return missing // max(graph.nodes, 1), missing % max(graph.nodes, 1)


def compressed(row: Ints, column: Ints, value: Tensor, shape: tuple[int, int]) -> Tensor:
    """A sparse matrix by its entries, whose rows are sorted."""
    start = np.searchsorted(row, np.arange(shape[0] + 1)).astype(np.int32)
    with warnings.catch_warnings():
        # Compressed rows are called a beta feature; their product with a table is an old one.
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        return torch.sparse_csr_tensor(
            torch.from_numpy(start),
            torch.from_numpy(column.astype(np.int32)),
            value,
            shape,
            check_invariants=False,
        )


def spread(adjacency: Adjacency, x: Tensor) -> Tensor:
    """What each node takes from its neighbours and itself, for a row of x per node."""
    result: Tensor = _Spread.apply(adjacency, x)  # type: ignore[no-untyped-call]
    return result
