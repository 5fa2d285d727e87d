"""What ContEA learns from besides its seeds: its own neighbourhoods, and trusted links."""

from __future__ import annotations

from torch import Tensor


def reconstruction_loss(entity: Tensor, neighbour_mean: Tensor) -> Tensor:
    """How far entities are from the mean of their neighbours, summed."""
    return (entity - neighbour_mean).square().sum()


def trusted_loss(left: Tensor, right: Tensor) -> Tensor:
    """How far the members of trusted links are from each other, summed."""
    return (left - right).square().sum()
