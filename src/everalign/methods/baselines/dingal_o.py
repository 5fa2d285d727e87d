"""DINGAL-O: convolution with gates that do not depend on the graph's shape; learned once.

Yan, Liu, Ban, Jing, Tong: Dynamic Knowledge Graph Alignment. AAAI 2021. Of structure only: the
features are a table learned with the rest, whose new rows start as the mean of known neighbours.
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
from everalign.methods.baselines.convolution import normalised_adjacency, spread
from everalign.methods.baselines.inductive import Inductive
from everalign.methods.baselines.margin import Comparing, margin_ranking
from everalign.methods.baselines.rows import unit
from everalign.methods.baselines.settings import BaselineSettings
from everalign.methods.baselines.static import Static, Task
from everalign.methods.neural.chance import Chance
from everalign.methods.protocol import Method

OPEN = 2.0  # what a gate's sigmoid gets at first


@dataclass(frozen=True)
class DINGALSettings(BaselineSettings):
    """How many layers, and what the margin loss compares with."""

    learning_rate: float = 0.1
    gate_rate: float = 0.01
    max_epochs: int = 300
    depth: int = 2
    margin: float = 3.0
    negatives: int = 25


class Gate(nn.Module):
    """A number between 0 and 1 for each feature, from all features of the node."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(dim, dim))
        self.bias = nn.Parameter(torch.full((dim,), OPEN))

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x @ self.weight + self.bias)


class DINGAL(Static[DINGALSettings]):
    """Layers of masked messages, each joined with what came in by a highway gate.

    The mask of a message is made of its sender's features alone, so it stays right when the
    graph around it grows.
    """

    def __init__(self, task: Task, settings: DINGALSettings, chance: Chance) -> None:
        super().__init__(task, settings, chance)
        shape = (task.sizes.nodes, settings.dim)
        self.entity = nn.Parameter(torch.randn(shape, generator=chance.torch))
        self.masks = nn.ModuleList(Gate(settings.dim) for _ in range(settings.depth))
        self.highways = nn.ModuleList(Gate(settings.dim) for _ in range(settings.depth))
        self.adjacency = normalised_adjacency(task.graph)
        self.comparing = Comparing(task, settings.negatives)

    def losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        if len(self.task.seeds) == 0:
            return
        x = self._convolved()
        yield margin_ranking(x, self.comparing.next(x, rng), self.settings.margin)

    def learner(self) -> torch.optim.Optimizer:
        return self.learner_with(self.settings.gate_rate)

    def vectors(self, nodes: IntArray) -> Tensor:
        return self._convolved()[torch.from_numpy(nodes).long()]

    def _convolved(self) -> Tensor:
        x = unit(self.entity)
        for mask, highway in zip(self.masks, self.highways, strict=True):
            through = highway(x)
            x = through * torch.tanh(spread(self.adjacency, mask(x) * x)) + (1 - through) * x
        return x


def make(settings: Mapping[str, Any], seed: int) -> Method:
    return Inductive(DINGAL, build(DINGALSettings, settings, "dingal-o"), seed)
