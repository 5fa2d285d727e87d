"""KE-GCN: entities and relations move along the gradient of how well triples hold; retrained.

Yu, Yang, Zhang, Wu: Knowledge Embedding Based Graph Convolutional Network. WWW 2021.

With the score of TransE. The linear maps of messages are left out, and a triple counts less the
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

from everalign.config import build_settings
from everalign.graph import IntArray, combine_triples
from everalign.methods.base import Method
from everalign.methods.baselines.base import (
    BaselineModel,
    BaselineSettings,
    RetrainedMethod,
    TrainingProblem,
    normalise_rows,
)
from everalign.methods.baselines.convolution import Adjacency
from everalign.methods.baselines.losses import compute_margin_ranking_loss
from everalign.methods.baselines.negatives import PartnerSampler
from everalign.methods.neural.pairs import NodeArray
from everalign.methods.neural.training import RandomGenerators

# What an entity's own row counts beside the weights of its triples. Small, since rows of
# entities without a seed are as they were drawn.
SELF_WEIGHT = 0.1
RELATION_LEARNING_RATE = 0.001  # see `create_split_adam`


@dataclass(frozen=True)
class KEGCNSettings(BaselineSettings):
    """Settings of KE-GCN, beside those of every baseline.

    Attributes:
        margin: Margin of the loss.
        negatives: Wrong partners per member of a seed pair.
    """

    learning_rate: float = 0.1
    max_epochs: int = 300
    margin: float = 3.0
    negatives: int = 25


class TripleScore:
    """The score −½ Σ w‖h + r − t‖² over triples (h, r, t), with w = 1/√(degree h · degree t).

    An entity's degree is its number of triples and one, so that w is below 1.

    Args:
        triples: Rows of (head, relation, tail).
        node_count: Number of nodes.
        relation_count: Number of forward relations.
    """

    def __init__(self, triples: NodeArray, node_count: int, relation_count: int) -> None:
        head, relation, tail = triples.T
        ends = np.concatenate([head, tail])
        degree = np.bincount(ends, minlength=node_count) + 1
        weight = (degree[head] * degree[tail]) ** -0.5
        end_weight = np.concatenate([weight, weight])
        self._entity_adjacency = Adjacency.from_entries(
            ends, np.concatenate([tail, head]), end_weight, (node_count, node_count)
        )
        # A relation pulls its heads back and its tails ahead.
        self._relation_adjacency = Adjacency.from_entries(
            ends,
            np.concatenate([relation, relation]),
            np.concatenate([-weight, weight]),
            (node_count, relation_count),
        )
        self.entity_weight = _make_column(np.bincount(ends, end_weight, node_count))
        self.relation_weight = _make_column(np.bincount(relation, weight, relation_count))

    def compute_gradients(self, entity: Tensor, relation: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the gradients of the score.

        Args:
            entity: A row for each node.
            relation: A row for each forward relation.

        Returns:
            The gradients by the entities and by the relations.
        """
        by_entity = (
            self._entity_adjacency.aggregate_rows(entity)
            + self._relation_adjacency.aggregate_rows(relation)
            - self.entity_weight * entity
        )
        from_entities = self._relation_adjacency.transpose().aggregate_rows(entity)
        return by_entity, from_entities - self.relation_weight * relation


class KEGCN(BaselineModel[KEGCNSettings]):
    """Two layers, each a step along the gradients of the score.

    A step takes an entity nearly to the mean of where its triples expect it.

    Takes the arguments of `BaselineModel`.
    """

    def __init__(
        self, problem: TrainingProblem, settings: KEGCNSettings, random: RandomGenerators
    ) -> None:
        super().__init__(problem, settings, random)
        node_count, relation_count = problem.shape.node_count, problem.graph.relation_count
        shape = (node_count, settings.dim)
        self.entity = nn.Parameter(torch.randn(shape, generator=random.torch))
        # Drawn at random, the relations of the two graphs would pull their entities apart.
        # Not named `relation`, since it has no rows for inverses (see `BaselineModel`).
        self.forward_relation = nn.Parameter(torch.zeros((relation_count, settings.dim)))
        triples = combine_triples(problem.task.left, problem.task.right)
        self._score = TripleScore(triples, node_count, relation_count)
        self._entity_step = 1 / (SELF_WEIGHT + self._score.entity_weight)
        self._sampler = PartnerSampler(problem, settings.negatives)

    def iterate_losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        """Compute the margin ranking loss of all seeds.

        Args:
            rng: Source of random numbers.

        Yields:
            One loss, if there are seeds.
        """
        if len(self.problem.seeds) > 0:
            vectors = self._move_entities()
            pairs = self._sampler.draw_negatives(vectors, rng)
            yield compute_margin_ranking_loss(vectors, pairs, self.settings.margin)

    def create_optimiser(self) -> torch.optim.Optimizer:
        """Create Adam with a small learning rate for relations.

        Returns:
            The optimiser of all parameters.
        """
        return self.create_split_adam(RELATION_LEARNING_RATE)

    def compute_vectors(self, nodes: IntArray) -> Tensor:
        """Compute the vectors of some nodes.

        Args:
            nodes: Nodes of the union graph.

        Returns:
            A row for each node.
        """
        return self._move_entities()[torch.from_numpy(nodes).long()]

    def _move_entities(self) -> Tensor:
        entity = normalise_rows(self.entity)
        by_entity, by_relation = self._score.compute_gradients(entity, self.forward_relation)
        # Divided by its weights, a step ends near the mean that the triples expect; the plain
        # gradient of a frequent relation would lead far beyond.
        relation = self.forward_relation + by_relation / (1 + self._score.relation_weight)
        entity = torch.tanh(entity + self._entity_step * by_entity)
        # The last layer moves entities only: relations are not part of the result.
        by_entity, _ = self._score.compute_gradients(entity, relation)
        return entity + self._entity_step * by_entity


def _make_column(values: NDArray[Any]) -> Tensor:
    return torch.from_numpy(values.astype(np.float32))[:, None]


def make(settings: Mapping[str, Any], seed: int) -> Method:
    """Create KE-GCN.

    Args:
        settings: Settings that differ from the defaults of `KEGCNSettings`.
        seed: Random seed.

    Returns:
        The method, not fitted.

    Raises:
        ConfigError: A setting is unknown or has no valid value.
    """
    return RetrainedMethod(KEGCN, build_settings(KEGCNSettings, settings, "ke-gcn"), seed)
