"""The kernels as differentiable PyTorch operations, on the part of the graph that is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from everalign.graph import IntArray, UnionGraph
from everalign.methods.neural import kernels

# Of the alignment loss, as in the code of Dual-AMN's authors: margin λ, and scale and shift of
# the standardised differences.
MARGIN = 2.0
SCALE = 30.0
SHIFT = 10.0


@dataclass(frozen=True)
class NodeSubset:
    """Nodes whose vectors a tensor holds, a row each.

    Attributes:
        nodes: The node of each row.
        row_of_node: The row of each node of the graph, −1 if it has none.
    """

    nodes: IntArray
    row_of_node: IntArray

    @staticmethod
    def from_nodes(graph: UnionGraph, nodes: IntArray) -> NodeSubset:
        """Index some nodes of a graph.

        Args:
            graph: The union graph.
            nodes: Distinct nodes, in the order of their rows.

        Returns:
            The subset.
        """
        row_of_node = np.full(graph.node_count, -1, dtype=np.int32)
        row_of_node[nodes] = np.arange(len(nodes), dtype=np.int32)
        return NodeSubset(nodes, row_of_node)

    @staticmethod
    def all_nodes(graph: UnionGraph) -> NodeSubset:
        """Index all nodes of a graph.

        Args:
            graph: The union graph.

        Returns:
            The subset, where node i has row i.
        """
        return NodeSubset.from_nodes(graph, np.arange(graph.node_count, dtype=np.int32))

    def add_neighbours(self, graph: UnionGraph) -> NodeSubset:
        """Find these nodes and their neighbours.

        Args:
            graph: The union graph.

        Returns:
            The larger subset.
        """
        # All nodes are the largest subset; training on small graphs soon gets there.
        if len(self.nodes) == graph.node_count:
            return self
        is_marked = np.zeros(graph.node_count, dtype=np.bool_)
        kernels.mark_neighbours(self.nodes, graph.start, graph.target, is_marked)
        return NodeSubset.from_nodes(graph, np.flatnonzero(is_marked).astype(np.int32))

    def find_rows(self, larger: NodeSubset) -> Tensor:
        """Find the rows of these nodes in a tensor of a larger subset.

        Args:
            larger: A subset that contains these nodes.

        Returns:
            The row of each node.
        """
        return torch.from_numpy(larger.row_of_node[self.nodes]).long()


def reflect_neighbours(
    inputs: Tensor,
    rho: Tensor,
    attention: Tensor,
    graph: UnionGraph,
    outputs: NodeSubset,
    sources: NodeSubset,
    edge_factor: Tensor | float = 1.0,
) -> Tensor:
    """Compute the attention-weighted sum of each node's reflected neighbours.

    A neighbour x is reflected to x − 2 (x·ρ) ρ, where ρ is the direction of its edge's relation
    set. Attention is the softmax of ρ·v over the node's edges.

    Args:
        inputs: A row for each node of `sources`.
        rho: Unit vector ρ of each relation set.
        attention: Attention vector v.
        graph: The union graph.
        outputs: Nodes whose sums are wanted.
        sources: Nodes that `inputs` holds; all neighbours of `outputs` are among them.
        edge_factor: Factor of each edge's attention, before it is normalised.

    Returns:
        A row for each node of `outputs`; zeros for a node without weights.
    """
    result: Tensor = _Reflection.apply(  # type: ignore[no-untyped-call]
        inputs, rho, attention, graph, outputs, sources, edge_factor
    )
    return result


def project_neighbours(
    table: Tensor,
    rho: Tensor,
    attention: Tensor,
    graph: UnionGraph,
    outputs: NodeSubset,
    edge_factor: Tensor | float,
) -> Tensor:
    """Compute the attention-weighted sum of each node's neighbours, projected to x − (x·ρ) ρ.

    Args:
        table: A row for each node of the graph.
        rho: Unit vector ρ of each relation set.
        attention: Attention vector v.
        graph: The union graph.
        outputs: Nodes whose sums are wanted.
        edge_factor: Factor of each edge's attention, before it is normalised.

    Returns:
        A row for each node of `outputs`.
    """
    # Reflection along the shorter vector ρ / √2 is the projection; v is longer by as much, so
    # that ρ·v stays the same.
    return reflect_neighbours(
        table,
        rho * 0.5**0.5,
        attention * 2**0.5,
        graph,
        outputs,
        NodeSubset.all_nodes(graph),
        edge_factor,
    )


def average_neighbours(
    table: Tensor, graph: UnionGraph, outputs: NodeSubset, *, include_self: bool
) -> Tensor:
    """Compute the mean of a table over each node's neighbours (mean aggregation).

    Args:
        table: A row for each node of the graph.
        graph: The union graph.
        outputs: Nodes whose means are wanted.
        include_self: Count a node among its neighbours.

    Returns:
        A row for each node of `outputs`.
    """
    result: Tensor = _NeighbourMean.apply(table, graph, outputs, include_self)  # type: ignore[no-untyped-call]
    return result


def average_members(table: Tensor, groups: IntArray, start: IntArray, member: IntArray) -> Tensor:
    """Compute the mean of a small table's rows over the members of groups.

    Args:
        table: Rows to average.
        groups: Groups whose means are wanted.
        start: First position of each group in `member`.
        member: Table row of each member.

    Returns:
        A row for each wanted group.
    """
    result: Tensor = _MemberMean.apply(table, groups, start, member)  # type: ignore[no-untyped-call]
    return result


def compute_alignment_loss(
    anchors: Tensor, partners: Tensor, negatives: Tensor, masked: Tensor
) -> Tensor:
    """Compute the alignment loss of Dual-AMN and ContEA (normalised hard sample mining).

    With l_j = d²(anchor, partner) − d²(anchor, negative j) + margin, 0 for the pair's own
    members, and z the standardised l, the loss is the mean over pairs of
    log Σ_j exp(30 z_j + 10).

    Args:
        anchors: One member of each seed pair, pairs × width.
        partners: The other member, pairs × width.
        negatives: Entities × width.
        masked: Rows of `negatives` that are members of the pair, pairs × 2.

    Returns:
        The loss, a scalar.
    """
    loss: Tensor = _AlignmentLoss.apply(anchors, partners, negatives, masked)  # type: ignore[no-untyped-call]
    return loss


class _Reflection(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        rho: Tensor,
        attention: Tensor,
        graph: UnionGraph,
        outputs: NodeSubset,
        sources: NodeSubset,
        edge_factor: Tensor | float,
    ) -> Tensor:
        logit = rho @ attention
        # The largest logit is subtracted so that exp does not overflow; it cancels out.
        set_weight = torch.exp(logit - logit.max())
        # exp is computed per relation set, of which there are far fewer than edges.
        edge_weight = set_weight[torch.from_numpy(graph.relation_set)] * edge_factor
        out, ctx.weight_sum = kernels.reflect_forward(
            outputs.nodes,
            graph.start,
            graph.target,
            graph.relation_set,
            sources.row_of_node,
            inputs.numpy(),
            rho.numpy(),
            edge_weight.numpy(),
        )
        result = torch.from_numpy(out)
        ctx.save_for_backward(inputs, rho, attention, edge_weight, result)
        ctx.graph, ctx.outputs, ctx.sources = graph, outputs, sources
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        inputs, rho, attention, edge_weight, out = ctx.saved_tensors
        graph: UnionGraph = ctx.graph
        # Kernels are compiled for contiguous rows; another layout would compile them again.
        grad = grads[0].contiguous()
        grad_inputs = grad_rho = grad_attention = None
        if ctx.needs_input_grad[0]:
            grad_inputs = torch.from_numpy(
                kernels.reflect_backward_input(
                    ctx.sources.nodes,
                    graph.start,
                    graph.target,
                    graph.relation_set,
                    graph.reverse,
                    ctx.outputs.row_of_node,
                    grad.numpy(),
                    ctx.weight_sum,
                    rho.numpy(),
                    edge_weight.numpy(),
                )
            )
        # In fine-tuning, relations and attention are frozen, and this loop is left out.
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            through_reflection, through_logit = kernels.reflect_backward_sets(
                graph.by_set_start,
                graph.by_set,
                graph.source,
                graph.target,
                ctx.outputs.row_of_node,
                ctx.sources.row_of_node,
                inputs.numpy(),
                grad.numpy(),
                (grad * out).sum(1).numpy(),
                ctx.weight_sum,
                rho.numpy(),
                edge_weight.numpy(),
            )
            grad_logit = torch.from_numpy(through_logit)
            # ρ acts twice: as the direction of the reflection, and through l = ρ·v in the
            # attention.
            grad_rho = torch.from_numpy(through_reflection) + grad_logit[:, None] * attention
            grad_attention = grad_logit @ rho
        # Edge factors follow from the graph and are not learned: no gradient.
        return grad_inputs, grad_rho, grad_attention, None, None, None, None


class _NeighbourMean(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, table: Tensor, graph: UnionGraph, outputs: NodeSubset, include_self: bool
    ) -> Tensor:
        ctx.graph, ctx.outputs, ctx.include_self = graph, outputs, include_self
        return torch.from_numpy(
            kernels.mean_forward(
                outputs.nodes, graph.start, graph.target, table.numpy(), include_self
            )
        )

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        grad = kernels.neighbour_mean_backward(
            ctx.graph.start,
            ctx.graph.target,
            ctx.outputs.row_of_node,
            grads[0].contiguous().numpy(),
            ctx.include_self,
        )
        return torch.from_numpy(grad), None, None, None


class _MemberMean(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, table: Tensor, groups: IntArray, start: IntArray, member: IntArray
    ) -> Tensor:
        ctx.groups, ctx.start, ctx.member, ctx.table_size = groups, start, member, len(table)
        return torch.from_numpy(kernels.mean_forward(groups, start, member, table.numpy(), False))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        grad = kernels.mean_backward(
            ctx.groups, ctx.start, ctx.member, grads[0].contiguous().numpy(), ctx.table_size
        )
        return torch.from_numpy(grad), None, None, None


class _AlignmentLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, anchors: Tensor, partners: Tensor, negatives: Tensor, masked: Tensor
    ) -> Tensor:
        product = anchors @ negatives.T
        difference = anchors - partners
        # Mean and deviation are constants for the gradient (as for the authors), so that the
        # soft maximum keeps its scale while distances shrink.
        loss = kernels.mine_hard_negatives(
            product.numpy(),
            anchors.square().sum(1).numpy(),
            negatives.square().sum(1).numpy(),
            difference.square().sum(1).numpy(),
            masked.numpy(),
            MARGIN,
            SCALE,
            SHIFT,
        )  # `product` now holds ∂loss/∂l
        ctx.save_for_backward(anchors, negatives, difference, product)
        return torch.from_numpy(loss).mean()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        anchors, negatives, difference, weight = ctx.saved_tensors
        # l_ij = |a_i − p_i|² − |a_i − n_j|² + margin, so that with w_ij = ∂loss/∂l_ij all sums
        # over j or i are row sums, column sums and two matrix products.
        scale = 2 * grads[0] / len(anchors)
        row_sum, column_sum = weight.sum(1, keepdim=True), weight.sum(0)[:, None]
        grad_partners = difference * (-scale * row_sum)
        grad_anchors = (
            torch.addmm(anchors * row_sum, weight, negatives, beta=-1).mul_(scale) - grad_partners
        )
        grad_negatives = torch.addmm(negatives * column_sum, weight.T, anchors, beta=-1).mul_(
            scale
        )
        return grad_anchors, grad_partners, grad_negatives, None
