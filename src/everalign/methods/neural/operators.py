"""The kernels as differentiable PyTorch operations, on the part of the graph that is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from everalign.graph import IntArray, UnionGraph
from everalign.methods.neural import kernels


@dataclass(frozen=True)
class Reach:
    """The nodes whose vectors a computation needs at one depth, and where their rows are."""

    nodes: IntArray
    place: IntArray

    @staticmethod
    def of(graph: UnionGraph, nodes: IntArray) -> Reach:
        place = np.full(graph.nodes, -1, dtype=np.int32)
        place[nodes] = np.arange(len(nodes), dtype=np.int32)
        return Reach(nodes, place)

    def widened(self, graph: UnionGraph) -> Reach:
        """These nodes and their neighbours."""
        if len(self.nodes) == graph.nodes:
            return self
        mark = np.zeros(graph.nodes, dtype=np.bool_)
        kernels.mark_neighbours(self.nodes, graph.start, graph.target, mark)
        return Reach.of(graph, np.flatnonzero(mark).astype(np.int32))

    def rows_in(self, wider: Reach) -> Tensor:
        """The rows of these nodes in a tensor of a wider reach."""
        return torch.from_numpy(wider.place[self.nodes]).long()


class _Reflect(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        rho: Tensor,
        v: Tensor,
        graph: UnionGraph,
        inner: Reach,
        outer: Reach,
        share: Tensor | float,
    ) -> Tensor:
        logit = rho @ v
        weight = torch.exp(logit - logit.max())[torch.from_numpy(graph.relation_set)] * share
        out, total = kernels.reflect_forward(
            inner.nodes,
            graph.start,
            graph.target,
            graph.relation_set,
            outer.place,
            x.numpy(),
            rho.numpy(),
            weight.numpy(),
        )
        result = torch.from_numpy(out)
        ctx.save_for_backward(x, rho, v, weight, result)
        ctx.total, ctx.graph, ctx.inner, ctx.outer = total, graph, inner, outer
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        x, rho, v, weight, out = ctx.saved_tensors
        graph: UnionGraph = ctx.graph
        grad = grads[0].contiguous()
        grad_x = grad_rho = grad_v = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.from_numpy(
                kernels.reflect_backward_input(
                    ctx.outer.nodes,
                    graph.start,
                    graph.target,
                    graph.relation_set,
                    graph.reverse,
                    ctx.inner.place,
                    grad.numpy(),
                    ctx.total,
                    rho.numpy(),
                    weight.numpy(),
                )
            )
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            rho_part, logit_part = kernels.reflect_backward_sets(
                graph.by_set_start,
                graph.by_set,
                graph.source,
                graph.target,
                ctx.inner.place,
                ctx.outer.place,
                x.numpy(),
                grad.numpy(),
                (grad * out).sum(1).numpy(),
                ctx.total,
                rho.numpy(),
                weight.numpy(),
            )
            grad_logit = torch.from_numpy(logit_part)
            grad_rho = torch.from_numpy(rho_part) + grad_logit[:, None] * v
            grad_v = grad_logit @ rho
        return grad_x, grad_rho, grad_v, None, None, None, None


class _NeighbourMean(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, graph: UnionGraph, inner: Reach, own: bool) -> Tensor:
        ctx.graph, ctx.inner, ctx.own = graph, inner, own
        return torch.from_numpy(
            kernels.mean_forward(inner.nodes, graph.start, graph.target, table.numpy(), own)
        )

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        graph: UnionGraph = ctx.graph
        grad = kernels.neighbour_mean_backward(
            graph.start, graph.target, ctx.inner.place, grads[0].contiguous().numpy(), ctx.own
        )
        return torch.from_numpy(grad), None, None, None


class _MemberMean(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, table: Tensor, rows: IntArray, start: IntArray, member: IntArray
    ) -> Tensor:
        ctx.rows, ctx.start, ctx.member, ctx.table_rows = rows, start, member, len(table)
        return torch.from_numpy(kernels.mean_forward(rows, start, member, table.numpy(), False))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        grad = kernels.mean_backward(
            ctx.rows, ctx.start, ctx.member, grads[0].contiguous().numpy(), ctx.table_rows
        )
        return torch.from_numpy(grad), None, None, None


def reflect(
    x: Tensor,
    rho: Tensor,
    v: Tensor,
    graph: UnionGraph,
    inner: Reach,
    outer: Reach,
    share: Tensor | float = 1.0,
) -> Tensor:
    """Attention-weighted sum of reflected neighbours: rows of `outer` to rows of `inner`.

    An edge's weight is its attention times its share; a node without weights gets zeros.
    """
    result: Tensor = _Reflect.apply(x, rho, v, graph, inner, outer, share)  # type: ignore[no-untyped-call]
    return result


def project(
    table: Tensor, rho: Tensor, v: Tensor, graph: UnionGraph, inner: Reach, share: Tensor | float
) -> Tensor:
    """As `reflect`, with neighbours projected along ρ, of a table that has a row for each node."""
    every = Reach.of(graph, np.arange(graph.nodes, dtype=np.int32))
    # x − (x·ρ) ρ is what reflection makes of the shorter ρ / √2.
    return reflect(table, rho * 0.5**0.5, v * 2**0.5, graph, inner, every, share)


def neighbour_mean(table: Tensor, graph: UnionGraph, inner: Reach, *, own: bool) -> Tensor:
    """Mean of a node table over each node's neighbours, and itself if `own`."""
    result: Tensor = _NeighbourMean.apply(table, graph, inner, own)  # type: ignore[no-untyped-call]
    return result


def member_mean(table: Tensor, rows: IntArray, start: IntArray, member: IntArray) -> Tensor:
    """Mean of a small table's rows over the members of each of the wanted groups."""
    result: Tensor = _MemberMean.apply(table, rows, start, member)  # type: ignore[no-untyped-call]
    return result
