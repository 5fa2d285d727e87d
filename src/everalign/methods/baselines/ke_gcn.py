"""KE-GCN: entities and relations move along the gradient of how well triples hold; retrained.

Yu, Yang, Zhang, Wu: Knowledge Embedding Based Graph Convolutional Network. WWW 2021.

With the score of TransE. Maps of messages are left at identity, and a triple counts less the
more triples its entities have, as in a graph convolution.
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
from everalign.graph import IntArray, union_triples
from everalign.methods.baselines.convolution import Adjacency, spread
from everalign.methods.baselines.margin import Comparing, margin_ranking
from everalign.methods.baselines.retraining import Retraining
from everalign.methods.baselines.rows import unit
from everalign.methods.baselines.settings import BaselineSettings
from everalign.methods.baselines.static import Static, Task
from everalign.methods.neural.chance import Chance
from everalign.methods.neural.training import Nodes
from everalign.methods.protocol import Method

STILL = 0.1  # what an entity's own row counts, beside the weights of its triples


@dataclass(frozen=True)
class KEGCNSettings(BaselineSettings):
    """A rate that suits a table of rows at length 1, and a small one for relations."""

    learning_rate: float = 0.1
    max_epochs: int = 300
    margin: float = 3.0
    negatives: int = 25
    relation_rate: float = 0.001


class Score:
    """−½ Σ w‖h + r − t‖² over triples (h, r, t), with w = 1/√(triples of h · triples of t).

    An entity counts as one of its own triples, so that w is below 1.
    """

    def __init__(self, triples: Nodes, nodes: int, relations: int) -> None:
        head, relation, tail = triples.T
        ends = np.concatenate([head, tail])
        degree = np.bincount(ends, minlength=nodes) + 1
        weight = (degree[head] * degree[tail]) ** -0.5
        twice = np.concatenate([weight, weight])
        self.between = Adjacency.of(ends, np.concatenate([tail, head]), twice, (nodes, nodes))
        self.from_relations = Adjacency.of(
            ends,
            np.concatenate([relation, relation]),
            np.concatenate([-weight, weight]),
            (nodes, relations),
        )
        self.of_entity = _column(np.bincount(ends, twice, nodes))
        self.of_relation = _column(np.bincount(relation, weight, relations))

    def gradients(self, entity: Tensor, relation: Tensor) -> tuple[Tensor, Tensor]:
        """By the vectors of the entities and by those of the relations."""
        return (
            spread(self.between, entity)
            + spread(self.from_relations, relation)
            - self.of_entity * entity,
            spread(self.from_relations.turned(), entity) - self.of_relation * relation,
        )


class KEGCN(Static[KEGCNSettings]):
    """Two layers, each a step along the gradients.

    A step takes an entity nearly to the mean of where its triples want it: what it was before
    counts little, since rows of entities without a seed are as they were drawn.
    """

    def __init__(self, task: Task, settings: KEGCNSettings, chance: Chance) -> None:
        super().__init__(task, settings, chance)
        nodes, relations = task.sizes.nodes, task.graph.relations
        self.entity = nn.Parameter(torch.randn((nodes, settings.dim), generator=chance.torch))
        # Drawn at random, the relations of the two graphs would pull their entities apart.
        self.forward_relation = nn.Parameter(torch.zeros((relations, settings.dim)))
        triples = union_triples(task.problem.left, task.problem.right)
        self.score = Score(triples, nodes, relations)
        self.step = 1 / (STILL + self.score.of_entity)
        self.comparing = Comparing(task, settings.negatives)

    def losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        s = self.settings
        if len(self.task.seeds) == 0:
            return
        x = self._moved()
        yield margin_ranking(x, self.comparing.next(x, rng), s.margin)

    def learner(self) -> torch.optim.Optimizer:
        return self.learner_with(self.settings.relation_rate)

    def vectors(self, nodes: IntArray) -> Tensor:
        return self._moved()[torch.from_numpy(nodes).long()]

    def _moved(self) -> Tensor:
        entity = unit(self.entity)
        by_entity, by_relation = self.score.gradients(entity, self.forward_relation)
        relation = self.forward_relation + by_relation / (1 + self.score.of_relation)
        entity = torch.tanh(entity + self.step * by_entity)
        by_entity, _ = self.score.gradients(entity, relation)
        return entity + self.step * by_entity


def _column(values: NDArray[Any]) -> Tensor:
    return torch.from_numpy(values.astype(np.float32))[:, None]


def make(settings: Mapping[str, Any], seed: int) -> Method:
    return Retraining(KEGCN, build(KEGCNSettings, settings, "ke-gcn"), seed)
