"""Graph convolution: each node takes the weighted sum of its neighbours and itself.

Kipf, Welling: Semi-Supervised Classification with Graph Convolutional Networks. ICLR 2017.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from everalign.graph import UnionGraph
from everalign.methods.neural.pairs import NodeArray

Ints = NDArray[Any]
Edges = tuple[Ints, Ints]

# Weight of a node among its neighbours in a mean: entities without a seed are initialised at
# random, so that their own row says little. A half was best on validation links.
SELF_WEIGHT = 0.5
NO_EDGES: Edges = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class Adjacency:
    """A sparse adjacency matrix, and its transpose for the backward pass."""

    matrix: Tensor
    transposed: Tensor

    @staticmethod
    def from_entries(
        row: Ints, column: Ints, value: NDArray[Any], shape: tuple[int, int]
    ) -> Adjacency:
        """Build a matrix; entries at the same place are summed.

        Args:
            row: Row of each entry, in any order.
            column: Column of each entry.
            value: Value of each entry.
            shape: Rows and columns of the matrix.

        Returns:
            The matrix with its transpose.
        """
        row_count, column_count = shape
        # An entry is the number row · columns + column: sorted by it, rows are in order.
        key, entry = np.unique(row * np.int64(column_count) + column, return_inverse=True)
        summed = torch.from_numpy(np.bincount(entry, value, len(key)).astype(np.float32))
        row, column = np.divmod(key, max(column_count, 1))
        by_column = np.argsort(column, kind="stable")
        return Adjacency(
            build_csr_matrix(row, column, summed, (row_count, column_count)),
            build_csr_matrix(
                column[by_column], row[by_column], summed[by_column], (column_count, row_count)
            ),
        )

    def transpose(self) -> Adjacency:
        """Swap rows and columns.

        Returns:
            The transposed matrix.
        """
        return Adjacency(self.transposed, self.matrix)

    def aggregate_rows(self, inputs: Tensor) -> Tensor:
        """Multiply the matrix by a table: the weighted sum over each node's neighbours.

        Args:
            inputs: A row for each column of the matrix.

        Returns:
            A row for each row of the matrix.
        """
        result: Tensor = _SparseProduct.apply(self, inputs)  # type: ignore[no-untyped-call]
        return result


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, adjacency: Adjacency, inputs: Tensor) -> Tensor:
        ctx.adjacency = adjacency
        return adjacency.matrix @ inputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        # Built once with the matrix: it would else be transposed in every backward pass.
        return None, ctx.adjacency.transposed @ grads[0].contiguous()


def build_normalised_adjacency(graph: UnionGraph) -> Adjacency:
    """Build the normalised adjacency D^-½ (A + I) D^-½, with the row sums D of A + I.

    Args:
        graph: The union graph.

    Returns:
        The matrix, nodes × nodes.
    """
    nodes = np.arange(graph.node_count)
    row, column = np.concatenate([graph.source, nodes]), np.concatenate([graph.target, nodes])
    # No row sum is 0, since every node is its own neighbour here.
    scale = np.bincount(row, minlength=graph.node_count) ** -0.5
    return Adjacency.from_entries(row, column, scale[row] * scale[column], (graph.node_count,) * 2)


def build_mean_adjacency(
    graph: UnionGraph,
    edge_weight: NDArray[np.float32] | None = None,
    more_edges: Edges = NO_EDGES,
) -> Adjacency:
    """Build the matrix of mean aggregation: the weighted mean of a node's neighbours and itself.

    Args:
        graph: The union graph.
        edge_weight: Weight of each edge of the graph; 1 if None.
        more_edges: Sources and targets of edges that the graph does not have, of weight 1.

    Returns:
        The matrix, nodes × nodes.
    """
    nodes = np.arange(graph.node_count)
    row = np.concatenate([graph.source, nodes, more_edges[0]])
    column = np.concatenate([graph.target, nodes, more_edges[1]])
    own_weight = np.full(graph.node_count, SELF_WEIGHT)
    graph_weight = np.ones(len(graph.source)) if edge_weight is None else edge_weight
    weight = np.concatenate([graph_weight, own_weight, np.ones(len(more_edges[0]))])
    total = np.bincount(row, weight, graph.node_count)
    return Adjacency.from_entries(row, column, weight / total[row], (graph.node_count,) * 2)


def find_implied_edges(graph: UnionGraph, seeds: NodeArray) -> Edges:
    """Find edges between members of seeds whose partners are connected, where there are none.

    Args:
        graph: The union graph.
        seeds: Rows of (left node, right node).

    Returns:
        Sources and targets of the missing edges.
    """
    partner = np.full(graph.node_count, -1)
    # In both directions. Of an entity with several seeds, one counts.
    partner[seeds] = seeds[:, ::-1]
    source, target = partner[graph.source], partner[graph.target]
    is_complete = (source >= 0) & (target >= 0)
    # An edge is the number source · nodes + target.
    present = graph.source * np.int64(graph.node_count) + graph.target
    implied = source[is_complete] * np.int64(graph.node_count) + target[is_complete]
    missing = np.setdiff1d(implied, present)
    return missing // max(graph.node_count, 1), missing % max(graph.node_count, 1)


def build_csr_matrix(row: Ints, column: Ints, value: Tensor, shape: tuple[int, int]) -> Tensor:
    """Build a sparse matrix in compressed row format.

    Args:
        row: Row of each entry, sorted.
        column: Column of each entry.
        value: Value of each entry.
        shape: Rows and columns of the matrix.

    Returns:
        The sparse tensor.
    """
    # 32 bits, as in `UnionGraph`: with 64, a product would have more to read.
    start = np.searchsorted(row, np.arange(shape[0] + 1)).astype(np.int32)
    with warnings.catch_warnings():
        # PyTorch calls compressed rows a beta feature; their product with a table is stable.
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        return torch.sparse_csr_tensor(
            torch.from_numpy(start),
            torch.from_numpy(column.astype(np.int32)),
            value,
            shape,
            check_invariants=False,
        )
