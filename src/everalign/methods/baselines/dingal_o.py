"""DINGAL-O: graph convolution with gates that do not depend on the graph's shape; inductive.

Yan, Liu, Ban, Jing, Tong: Dynamic Knowledge Graph Alignment. AAAI 2021.

Of structure only: the features are a table that is learned with the rest, whose new rows are
initialised with the mean of known neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from everalign.config import build_settings
from everalign.graph import IntArray
from everalign.methods.base import Method
from everalign.methods.baselines.base import (
    BaselineModel,
    BaselineSettings,
    InductiveMethod,
    TrainingProblem,
    normalise_rows,
)
from everalign.methods.baselines.convolution import build_normalised_adjacency
from everalign.methods.baselines.losses import compute_margin_ranking_loss
from everalign.methods.baselines.negatives import PartnerSampler
from everalign.methods.neural.training import RandomGenerators

OPEN_BIAS = 2.0  # sigmoid(2) = 0.88: gates are mostly open at first
GATE_LEARNING_RATE = 0.01  # see `create_split_adam`


@dataclass(frozen=True)
class DINGALSettings(BaselineSettings):
    """Settings of DINGAL-O, beside those of every baseline.

    Attributes:
        depth: Layers.
        margin: Margin of the loss.
        negatives: Wrong partners per member of a seed pair.
    """

    learning_rate: float = 0.1
    max_epochs: int = 300
    depth: int = 2
    margin: float = 3.0
    negatives: int = 25


class FeatureGate(nn.Module):
    """A number between 0 and 1 for each feature, from all features of the node.

    Args:
        dim: Number of features.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        # At zero, a gate depends on its bias alone, and is open for all features alike.
        self.weight = nn.Parameter(torch.zeros(dim, dim))
        self.bias = nn.Parameter(torch.full((dim,), OPEN_BIAS))

    def forward(self, inputs: Tensor) -> Tensor:
        """Compute the gate σ(x·W + b).

        Args:
            inputs: A row for each node.

        Returns:
            A row for each node.
        """
        return torch.sigmoid(inputs @ self.weight + self.bias)


class DINGAL(BaselineModel[DINGALSettings]):
    """Layers of masked messages, each joined with its input by a highway gate.

    The mask of a message depends on its sender's features alone, so it stays valid when the
    graph around it grows.

    Takes the arguments of `BaselineModel`.
    """

    def __init__(
        self, problem: TrainingProblem, settings: DINGALSettings, random: RandomGenerators
    ) -> None:
        super().__init__(problem, settings, random)
        shape = (problem.shape.node_count, settings.dim)
        self.entity = nn.Parameter(torch.randn(shape, generator=random.torch))
        self.masks = nn.ModuleList(FeatureGate(settings.dim) for _ in range(settings.depth))
        self.highways = nn.ModuleList(FeatureGate(settings.dim) for _ in range(settings.depth))
        self._adjacency = build_normalised_adjacency(problem.graph)
        self._sampler = PartnerSampler(problem, settings.negatives)

    def iterate_losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        """Compute the margin ranking loss of all seeds.

        Args:
            rng: Source of random numbers.

        Yields:
            One loss, if there are seeds.
        """
        if len(self.problem.seeds) > 0:
            vectors = self._convolve_all()
            pairs = self._sampler.draw_negatives(vectors, rng)
            yield compute_margin_ranking_loss(vectors, pairs, self.settings.margin)

    def create_optimiser(self) -> torch.optim.Optimizer:
        """Create Adam with a small learning rate for gates.

        Returns:
            The optimiser of all parameters.
        """
        return self.create_split_adam(GATE_LEARNING_RATE)

    def compute_vectors(self, nodes: IntArray) -> Tensor:
        """Compute the vectors of some nodes.

        Args:
            nodes: Nodes of the union graph.

        Returns:
            A row for each node.
        """
        return self._convolve_all()[torch.from_numpy(nodes).long()]

    def _convolve_all(self) -> Tensor:
        hidden = normalise_rows(self.entity)
        for mask, highway in zip(self.masks, self.highways, strict=True):
            gate = highway(hidden)
            messages = self._adjacency.aggregate_rows(mask(hidden) * hidden)
            hidden = gate * torch.tanh(messages) + (1 - gate) * hidden
        return hidden


def make(settings: Mapping[str, Any], seed: int) -> Method:
    """Create DINGAL-O.

    Args:
        settings: Settings that differ from the defaults of `DINGALSettings`.
        seed: Random seed.

    Returns:
        The method, not fitted.

    Raises:
        ConfigError: A setting is unknown or has no valid value.
    """
    return InductiveMethod(DINGAL, build_settings(DINGALSettings, settings, "dingal-o"), seed)
