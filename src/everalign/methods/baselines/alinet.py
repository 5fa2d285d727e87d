"""AliNet: neighbours by convolution, those two steps away by attention, and a gate; retrained.

Sun, Wang, Hu, Chen, Dai, Zhang, Qu: Knowledge Graph Alignment Network with Gated Multi-hop
Neighborhood Aggregation. AAAI 2020.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from everalign.config import build
from everalign.graph import IntArray, union_triples
from everalign.methods.baselines.attention import Pairs, attend, two_steps
from everalign.methods.baselines.convolution import (
    Adjacency,
    implied_edges,
    mean_adjacency,
    spread,
)
from everalign.methods.baselines.margin import Comparing, contrastive
from everalign.methods.baselines.retraining import Retraining
from everalign.methods.baselines.rows import gather, unit
from everalign.methods.baselines.settings import BaselineSettings
from everalign.methods.baselines.static import Static, Task
from everalign.methods.neural.chance import Chance
from everalign.methods.protocol import Method

NARROWER = (1.0, 0.8, 0.6)  # the widths of the table and of the layers, as parts of `dim`
START = 0.01  # of the table, whose rows are scaled to 1: the smaller, the faster they turn
ASKED = 32  # numbers that attention compares two nodes by


@dataclass(frozen=True)
class AliNetSettings(BaselineSettings):
    """Narrower than published, with a bound on the nodes two steps away.

    The published rate is 0.001; with this one, validation rises faster and as far.
    """

    dim: int = 200
    learning_rate: float = 0.003
    max_epochs: int = 60
    validate_every: int = 5
    margin: float = 1.5
    wrong_share: float = 0.1
    negatives: int = 10
    nearest: float = 0.02
    refresh_every: int = 5
    relation_share: float = 0.01
    relation_triples: int = 4096
    two_steps: int = 50
    hub: int = 100


class Layer(nn.Module):
    """g∘h₁ + (1 − g)∘h₂ with g = σ(h₂·M + b), of neighbours h₁ and those two steps away h₂."""

    def __init__(self, wide: int, narrow: int, generator: torch.Generator) -> None:
        super().__init__()

        def glorot(rows: int, columns: int) -> nn.Parameter:
            limit = (6 / (rows + columns)) ** 0.5
            values = torch.rand((rows, columns), generator=generator)
            return nn.Parameter((values * 2 - 1) * limit)

        self.one_step, self.two_steps = glorot(wide, narrow), glorot(wide, narrow)
        self.asking, self.asked = glorot(wide, ASKED), glorot(wide, ASKED)
        self.gate = glorot(narrow, narrow)
        self.bias = nn.Parameter(torch.zeros(narrow))

    def forward(self, x: Tensor, near: Adjacency, far: Pairs) -> Tensor:
        one = torch.tanh(spread(near, x @ self.one_step))
        asking, asked = x @ self.asking, x @ self.asked
        two = torch.tanh(attend(far, asking, asked, x @ self.two_steps))
        gate = torch.sigmoid(two @ self.gate + self.bias)
        return gate * one + (1 - gate) * two


class AliNet(Static[AliNetSettings]):
    """Two layers over a table, what each gives scaled to length 1, side by side.

    The table itself is left out: rows of entities without a seed are as they were drawn.
    """

    def __init__(self, task: Task, settings: AliNetSettings, chance: Chance) -> None:
        super().__init__(task, settings, chance)
        widths = [max(1, round(settings.dim * part)) for part in NARROWER]
        shape = (task.sizes.nodes, widths[0])
        self.entity = nn.Parameter(torch.randn(shape, generator=chance.torch) * START)
        self.layers = nn.ModuleList(Layer(*size, chance.torch) for size in pairwise(widths))
        self.near = mean_adjacency(task.graph, more=implied_edges(task.graph, task.seeds))
        self.far = two_steps(task.graph, settings.two_steps, settings.hub)
        self.triples = union_triples(task.problem.left, task.problem.right)
        self.comparing = Comparing(
            task, settings.negatives, settings.nearest, settings.refresh_every
        )

    def losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        s = self.settings
        if len(self.task.seeds) == 0:
            return
        x = self._aggregated()
        compared = self.comparing.next(x, rng)
        some = rng.choice(self.triples, min(s.relation_triples, len(self.triples)), replace=False)
        yield (
            contrastive(x, compared, s.margin, s.wrong_share)
            + s.relation_share * relation_loss(x, torch.from_numpy(some))
        )

    def vectors(self, nodes: IntArray) -> Tensor:
        return self._aggregated()[torch.from_numpy(nodes).long()]

    def _aggregated(self) -> Tensor:
        x = unit(self.entity)
        outputs: list[Tensor] = []
        for layer in self.layers:
            x = layer(x, self.near, self.far)
            outputs.append(unit(x))
        return torch.cat(outputs, dim=1) / math.sqrt(len(outputs))


def relation_loss(x: Tensor, triples: Tensor) -> Tensor:
    """How far triples are from their relation: the mean of head − tail over those given."""
    head, relation, tail = triples.T
    place: Tensor = torch.unique(relation, return_inverse=True)[1]
    step = gather(x, head) - gather(x, tail)
    count = torch.bincount(place)
    total = step.new_zeros((len(count), step.shape[1])).index_add(0, place, step)
    apart = step - gather(total / count[:, None], place)
    distance: Tensor = apart.norm(dim=1)
    return distance.mean()


def make(settings: Mapping[str, Any], seed: int) -> Method:
    return Retraining(AliNet, build(AliNetSettings, settings, "alinet"), seed)
