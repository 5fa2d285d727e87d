"""MTransE: translations in each graph, and a linear map from the left to the right; retrained.

Chen, Tian, Yang, Zaniolo: Multilingual Knowledge Graph Embeddings for Cross-lingual Knowledge
Alignment. IJCAI 2017.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from everalign.config import build
from everalign.graph import IntArray
from everalign.methods.baselines.retraining import Retraining
from everalign.methods.baselines.settings import BaselineSettings
from everalign.methods.baselines.static import Task
from everalign.methods.baselines.translation import Translational, squared, unit_rows
from everalign.methods.neural.chance import Chance
from everalign.methods.protocol import Method


@dataclass(frozen=True)
class MTransESettings(BaselineSettings):
    """`mapping` weighs the seeds, all of which go with every batch of triples.

    Rate and weight are larger than published (0.01, 5): chosen by validation.
    """

    learning_rate: float = 0.1
    validate_every: int = 5
    batches: int = 8
    mapping: float = 50.0


class MTransE(Translational[MTransESettings]):
    """Triples alone shape each graph (no negatives); seeds tie the two together."""

    def __init__(self, task: Task, settings: MTransESettings, chance: Chance) -> None:
        super().__init__(task, settings, chance)
        self.map = nn.Parameter(torch.eye(settings.dim))

    def losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        for triples in self.batches(self.settings.batches, rng):
            ends = unit_rows(self.entity, triples[:, [0, 2]])
            relation = unit_rows(self.relation, triples[:, 1])
            gaps = squared(ends[:, 0] + relation - ends[:, 1])
            yield gaps.sum() + self.settings.mapping * self.mapping_loss()
        self.shorten()

    def mapping_loss(self) -> Tensor:
        """How far mapped seeds are from their partners, and the map from a rotation."""
        ends = unit_rows(self.entity, self.task.seeds)
        apart = squared(ends[:, 0] @ self.map.T - ends[:, 1]).sum()
        return apart + squared(self.map @ self.map.T - torch.eye(self.settings.dim)).sum()

    def vectors(self, nodes: IntArray) -> Tensor:
        rows = super().vectors(nodes)
        left = torch.from_numpy(nodes < self.task.sizes.left_entities)[:, None]
        return torch.where(left, rows @ self.map.T, rows)


def make(settings: Mapping[str, Any], seed: int) -> Method:
    return Retraining(MTransE, build(MTransESettings, settings, "mtranse"), seed)
