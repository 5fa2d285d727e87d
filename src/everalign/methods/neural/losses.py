"""The alignment loss of Dual-AMN and ContEA: a seed's partner against all negatives at once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from everalign.methods.neural import kernels

MARGIN = 2.0
SCALE = 30.0
SHIFT = 10.0


class _Alignment(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, side: Tensor, other: Tensor, negatives: Tensor, masked: Tensor
    ) -> Tensor:
        product = side @ negatives.T
        difference = side - other
        loss = kernels.soft_worst(
            product.numpy(),
            side.square().sum(1).numpy(),
            negatives.square().sum(1).numpy(),
            difference.square().sum(1).numpy(),
            masked.numpy(),
            MARGIN,
            SCALE,
            SHIFT,
        )  # `product` now holds how much each negative counts
        ctx.save_for_backward(side, negatives, difference, product)
        return torch.from_numpy(loss).mean()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        side, negatives, difference, weight = ctx.saved_tensors
        scale = 2 * grads[0] / len(side)
        row, column = weight.sum(1, keepdim=True), weight.sum(0)[:, None]
        grad_other = difference * (-scale * row)
        grad_side = torch.addmm(side * row, weight, negatives, beta=-1).mul_(scale) - grad_other
        grad_negatives = torch.addmm(negatives * column, weight.T, side, beta=-1).mul_(scale)
        return grad_side, grad_other, grad_negatives, None


def alignment_loss(side: Tensor, other: Tensor, negatives: Tensor, masked: Tensor) -> Tensor:
    """How much closer a member's partner is than the negatives, for one side of the seeds.

    `side` and `other` are pairs × w, `negatives` is entities × w; `masked[i]` lists the rows of
    `negatives` that are pair i's own members. With l_j = d²(pair) − d²(side, j) + margin, 0 for
    the pair's own members, and z the standardised l, the loss is the mean of
    log Σ_j exp(30 z_j + 10). Mean and spread are taken out without a gradient, so that the soft
    maximum keeps its scale while distances shrink.
    """
    loss: Tensor = _Alignment.apply(side, other, negatives, masked)  # type: ignore[no-untyped-call]
    return loss
