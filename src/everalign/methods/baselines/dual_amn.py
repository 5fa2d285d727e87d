"""Dual-AMN: ContEA's encoder and alignment loss, without reconstruction; retrained.

Mao, Wang, Wu, Lan: Boosting the Speed of Entity Alignment 10×: Dual Attention Matching Network
with Normalized Hard Sample Mining. WWW 2021.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from everalign.config import build_settings
from everalign.errors import ConfigError
from everalign.graph import IntArray
from everalign.methods.base import Method
from everalign.methods.baselines.base import (
    BaselineModel,
    BaselineSettings,
    RetrainedMethod,
    TrainingProblem,
)
from everalign.methods.neural.encoder import Encoder
from everalign.methods.neural.training import (
    RandomGenerators,
    SeedBatch,
    create_rmsprop,
    iterate_batches,
)


@dataclass(frozen=True)
class DualAMNSettings(BaselineSettings):
    """Settings of Dual-AMN, MEAN+ and LAN+, beside those of every baseline; as ContEA's.

    Attributes:
        depth: Layers of the encoder.
        proxies: Proxies of the cross-graph layer.
        dropout: Dropout rate.
        batch: Seed pairs per batch.
        negatives: Random negatives per batch.

    Raises:
        ConfigError: A value is out of range.
    """

    # As ContEA's, so that results differ by the method and not by its settings.
    learning_rate: float = 0.002
    validate_every: int = 2
    depth: int = 2
    proxies: int = 64
    dropout: float = 0.3
    batch: int = 1024
    negatives: int = 4096

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dropout >= 1:
            raise ConfigError("'dropout' must be less than 1")


class DualAMN(BaselineModel[DualAMNSettings]):
    """The encoder, learning from seeds alone.

    Takes the arguments of `BaselineModel`.
    """

    encoder_class: type[Encoder] = Encoder

    def __init__(
        self, problem: TrainingProblem, settings: DualAMNSettings, random: RandomGenerators
    ) -> None:
        super().__init__(problem, settings, random)
        self.encoder = self.encoder_class(
            problem.shape.node_count,
            problem.shape.directed_relation_count,
            dim=settings.dim,
            depth=settings.depth,
            proxies=settings.proxies,
            generator=random.torch,
        )

    def iterate_losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        """Compute the alignment loss of each batch of seeds.

        Args:
            rng: Source of random numbers.

        Yields:
            The loss of each batch.
        """
        node_count = self.problem.shape.node_count
        # `iterate_batches` would give an empty batch, meant for losses with other terms.
        if len(self.problem.seeds) == 0:
            return
        for pairs in iterate_batches(self.problem.seeds, self.settings.batch, rng):
            # Drawn with repetitions, and possibly members of the batch: `SeedBatch` encodes each
            # node once, and the loss masks a pair's own members.
            negatives = rng.integers(0, node_count, min(self.settings.negatives, node_count))
            batch = SeedBatch.from_pairs(pairs, negatives)
            vectors = self.compute_vectors(batch.nodes)
            yield batch.compute_loss(self.random.apply_dropout(vectors, self.settings.dropout))

    def compute_vectors(self, nodes: IntArray) -> Tensor:
        """Compute the vectors of some nodes.

        Args:
            nodes: Nodes of the union graph.

        Returns:
            A row for each node.
        """
        vectors: Tensor = self.encoder(self.problem.graph, nodes)
        return vectors

    def compute_all_vectors(self) -> Tensor:
        """Compute the vectors of all nodes, without gradients.

        Returns:
            A row for each node.
        """
        # By chunks: `compute_vectors` would hold the cross-graph layer of all nodes at once.
        return self.encoder.compute_all_vectors(self.problem.graph)

    def create_optimiser(self) -> torch.optim.Optimizer:
        """Create the optimiser, RMSprop.

        Returns:
            The optimiser of all parameters.
        """
        return create_rmsprop(self, self.settings.learning_rate)


def make(settings: Mapping[str, Any], seed: int) -> Method:
    """Create Dual-AMN.

    Args:
        settings: Settings that differ from the defaults of `DualAMNSettings`.
        seed: Random seed.

    Returns:
        The method, not fitted.

    Raises:
        ConfigError: A setting is unknown or has no valid value.
    """
    return RetrainedMethod(DualAMN, build_settings(DualAMNSettings, settings, "dual-amn"), seed)
