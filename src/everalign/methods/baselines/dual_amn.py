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

from everalign.config import build
from everalign.errors import ConfigError
from everalign.graph import IntArray
from everalign.methods.baselines.retraining import Retraining
from everalign.methods.baselines.settings import BaselineSettings
from everalign.methods.baselines.static import Static, Task
from everalign.methods.neural.chance import Chance
from everalign.methods.neural.encoder import Encoder
from everalign.methods.neural.training import Batch, rmsprop, shuffled
from everalign.methods.protocol import Method


@dataclass(frozen=True)
class DualAMNSettings(BaselineSettings):
    """As ContEA's, where it has them."""

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


class DualAMN(Static[DualAMNSettings]):
    """The encoder, learning from seeds alone."""

    encoder_kind: type[Encoder] = Encoder

    def __init__(self, task: Task, settings: DualAMNSettings, chance: Chance) -> None:
        super().__init__(task, settings, chance)
        self.encoder = self.encoder_kind(
            task.sizes.nodes,
            task.sizes.directed,
            dim=settings.dim,
            depth=settings.depth,
            proxies=settings.proxies,
            generator=chance.torch,
        )

    def losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        s, nodes = self.settings, self.task.sizes.nodes
        if len(self.task.seeds) == 0:
            return
        for pairs in shuffled(self.task.seeds, s.batch, rng):
            batch = Batch.of(pairs, rng.integers(0, nodes, min(s.negatives, nodes)))
            vectors = self.chance.dropout(self.vectors(batch.nodes), s.dropout)
            yield batch.alignment_loss(vectors)

    def vectors(self, nodes: IntArray) -> Tensor:
        vectors: Tensor = self.encoder(self.task.graph, nodes)
        return vectors

    def all_vectors(self) -> Tensor:
        return self.encoder.all_vectors(self.task.graph)

    def learner(self) -> torch.optim.Optimizer:
        return rmsprop(self, self.settings.learning_rate)


def make(settings: Mapping[str, Any], seed: int) -> Method:
    return Retraining(DualAMN, build(DualAMNSettings, settings, "dual-amn"), seed)
