"""AlignE: translations with limits, swapped seeds and near negatives; retrained.

Sun, Hu, Zhang, Qu: Bootstrapping Entity Alignment with Knowledge Graph Embedding. IJCAI 2018.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from everalign.config import build
from everalign.methods.baselines.apart import apart
from everalign.methods.baselines.retraining import Retraining
from everalign.methods.baselines.rows import gather, unit
from everalign.methods.baselines.settings import BaselineSettings
from everalign.methods.baselines.static import Task
from everalign.methods.baselines.translation import (
    Translational,
    squared,
    unit_rows,
)
from everalign.methods.baselines.triples import HEAD, TAIL, Replacements, with_swapped
from everalign.methods.neural.chance import Chance
from everalign.methods.neural.training import Nodes
from everalign.methods.protocol import Method


@dataclass(frozen=True)
class AlignESettings(BaselineSettings):
    """Wrong triples replace an entity by one of the `nearest` share of its graph.

    A triple should be no longer than `near`, a wrong one no shorter than `far`. The published
    rate is 0.01, with a refresh every 10 epochs; with ten times the rate, a few dozen epochs do.
    """

    learning_rate: float = 0.1
    max_epochs: int = 40
    validate_every: int = 5
    batches: int = 12
    negatives: int = 10
    nearest: float = 0.1
    refresh_every: int = 5
    near: float = 0.01
    far: float = 2.0
    far_weight: float = 0.2


class AlignE(Translational[AlignESettings]):
    """The graphs share one space, since the members of a seed share their triples."""

    def __init__(self, task: Task, settings: AlignESettings, chance: Chance) -> None:
        super().__init__(task, settings, chance)
        self.triples = with_swapped(self.triples, task.seeds)
        self.replacements = Replacements(task.sizes.left_entities, task.sizes.right_entities)
        self.epochs = 0

    def losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        s = self.settings
        for triples in self.batches(s.batches, rng):
            near, far = self.distances(triples, rng)
            yield limit_loss(near, far, near=s.near, far=s.far, far_weight=s.far_weight)
        self.shorten()
        self.epochs += 1
        if self.epochs % s.refresh_every == 0:
            self.replacements.refresh(self.entity.detach(), s.nearest, rng)

    def distances(self, triples: Nodes, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Of the triples, and of wrong ones, with one end replaced."""
        at_head = rng.random(len(triples)) < 0.5
        replaced = np.where(at_head, triples[:, HEAD], triples[:, TAIL])
        others = self.replacements.draw(replaced, self.settings.negatives, rng)
        rows = unit(self.entity)
        head, tail = (gather(rows, torch.from_numpy(triples[:, end])) for end in (HEAD, TAIL))
        relation = unit_rows(self.relation, triples[:, 1])
        wanted = torch.where(torch.from_numpy(at_head)[:, None], tail - relation, head + relation)
        far = apart(wanted, rows, torch.from_numpy(others), 2)
        return squared(head + relation - tail), far


def limit_loss(
    near_distance: Tensor, far_distance: Tensor, *, near: float, far: float, far_weight: float
) -> Tensor:
    """How much triples are longer, and wrong ones shorter, than their limits allow."""
    too_far = torch.relu(near_distance - near).sum()
    return too_far + far_weight * torch.relu(far - far_distance).sum()


def make(settings: Mapping[str, Any], seed: int) -> Method:
    return Retraining(AlignE, build(AlignESettings, settings, "aligne"), seed)
