"""GCN-Align: two graph convolutions over a table of entities (its structure channel); retrained.

Wang, Lv, Lan, Zhang: Cross-lingual Knowledge Graph Alignment via Graph Convolutional Networks.
EMNLP 2018.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from everalign.config import build
from everalign.graph import IntArray, UnionGraph
from everalign.methods.baselines.convolution import mean_adjacency, spread
from everalign.methods.baselines.margin import Comparing, margin_ranking
from everalign.methods.baselines.retraining import Retraining
from everalign.methods.baselines.rows import unit
from everalign.methods.baselines.settings import BaselineSettings
from everalign.methods.baselines.static import Static, Task
from everalign.methods.neural.chance import Chance
from everalign.methods.protocol import Method

LEAST = 0.3  # what an edge of a relation that tells little still counts


@dataclass(frozen=True)
class GCNAlignSettings(BaselineSettings):
    """More and nearer negatives than published (5, new every 10 epochs), and Adam."""

    learning_rate: float = 0.1
    max_epochs: int = 150
    margin: float = 3.0
    negatives: int = 25
    nearest: float = 0.02
    refresh_every: int = 10


class GCNAlign(Static[GCNAlignSettings]):
    """A·ReLU(A·X), with the rows of X scaled to length 1; A takes means of neighbours."""

    def __init__(self, task: Task, settings: GCNAlignSettings, chance: Chance) -> None:
        super().__init__(task, settings, chance)
        shape = (task.sizes.nodes, settings.dim)
        self.entity = nn.Parameter(torch.randn(shape, generator=chance.torch))
        self.adjacency = mean_adjacency(task.graph, telling(task.graph))
        self.comparing = Comparing(
            task, settings.negatives, settings.nearest, settings.refresh_every
        )

    def losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        s = self.settings
        if len(self.task.seeds) == 0:
            return
        x = self._convolved()
        yield margin_ranking(x, self.comparing.next(x, rng), s.margin)

    def vectors(self, nodes: IntArray) -> Tensor:
        return self._convolved()[torch.from_numpy(nodes).long()]

    def _convolved(self) -> Tensor:
        x = unit(self.entity)
        return spread(self.adjacency, torch.relu(spread(self.adjacency, x)))


def telling(graph: UnionGraph) -> NDArray[np.float32]:
    """How well each edge's relations tell where it leads: Σ targets / edges over its relations.

    A relation whose every edge has a target of its own counts 1.
    """
    size = np.diff(graph.set_start)
    member = np.repeat(np.arange(graph.sets), size)
    carried = np.diff(graph.by_set_start)[member]
    edges = np.bincount(graph.set_relation, carried, 2 * graph.relations)
    sources = np.bincount(graph.node_relation, minlength=2 * graph.relations)
    targets = np.roll(sources, graph.relations)  # the sources of the inverse
    relation = np.maximum(targets / np.maximum(edges, 1), LEAST)
    in_set = np.bincount(member, relation[graph.set_relation], graph.sets)
    return in_set[graph.relation_set].astype(np.float32)


def make(settings: Mapping[str, Any], seed: int) -> Method:
    return Retraining(GCNAlign, build(GCNAlignSettings, settings, "gcn-align"), seed)
