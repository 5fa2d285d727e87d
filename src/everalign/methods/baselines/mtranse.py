"""MTransE: translations in each graph, and a linear map from the left to the right; retrained.

Chen, Tian, Yang, Zaniolo: Multilingual Knowledge Graph Embeddings for Cross-lingual Knowledge
Alignment. IJCAI 2017.

Translational embeddings (h + r ≈ t for every triple, after TransE) are shared with AlignE.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from everalign.config import build_settings
from everalign.graph import IntArray, combine_triples
from everalign.methods.base import Method
from everalign.methods.baselines.base import (
    BaselineModel,
    BaselineSettings,
    RetrainedMethod,
    SettingsT,
    TrainingProblem,
    normalise_rows,
    select_rows,
)
from everalign.methods.neural.pairs import NodeArray
from everalign.methods.neural.training import RandomGenerators, iterate_batches

HEAD, RELATION, TAIL = 0, 1, 2  # columns of a triple
# More batches learn more in an epoch, and cost more: every step reads the whole tables.
BATCHES_PER_EPOCH = 8


@dataclass(frozen=True)
class MTransESettings(BaselineSettings):
    """Settings of MTransE, beside those of every baseline.

    Learning rate and weight are larger than published (0.01, 5): chosen on validation links.

    Attributes:
        mapping_weight: Weight of the seeds, all of which go with every batch of triples.
    """

    learning_rate: float = 0.1
    validate_every: int = 5
    mapping_weight: float = 50.0


class TranslationalModel(BaselineModel[SettingsT]):
    """A row of length 1 for each node and each relation, with h + r ≈ t for every triple.

    Takes the arguments of `BaselineModel`.
    """

    def __init__(
        self, problem: TrainingProblem, settings: SettingsT, random: RandomGenerators
    ) -> None:
        super().__init__(problem, settings, random)
        self.entity = self._draw_table(problem.shape.node_count)
        self.relation = self._draw_table(problem.shape.directed_relation_count)
        self.triples = combine_triples(problem.task.left, problem.task.right)

    def compute_vectors(self, nodes: IntArray) -> Tensor:
        """Look up the vectors of some nodes.

        Args:
            nodes: Nodes of the union graph.

        Returns:
            A row of length 1 for each node.
        """
        return select_unit_rows(self.entity, nodes.astype(np.int64))

    def create_optimiser(self) -> torch.optim.Optimizer:
        """Create the optimiser, Adagrad.

        Returns:
            The optimiser of all parameters.
        """
        # Fused: most rows have no gradient in a step, so its cost is that of reading the tables.
        return torch.optim.Adagrad(self.parameters(), lr=self.settings.learning_rate, fused=True)

    def iterate_triples(self, batch_count: int, rng: np.random.Generator) -> Iterator[NodeArray]:
        """Iterate over all triples in random order, in a fixed number of batches.

        Args:
            batch_count: Batches per epoch.
            rng: Source of random numbers.

        Returns:
            An iterator over batches of triples.
        """
        # A step reads the whole tables: with batches of a fixed size, the cost of an epoch would
        # grow with the square of the graphs.
        return iterate_batches(self.triples, max(1, -(-len(self.triples) // batch_count)), rng)

    def rescale_tables(self) -> None:
        """Scale all rows back to length 1."""
        # A step along the unit sphere makes a row longer, and the next step turn it less.
        with torch.no_grad():
            for table in (self.entity, self.relation):
                table.copy_(normalise_rows(table))

    def _draw_table(self, row_count: int) -> nn.Parameter:
        shape = row_count, self.settings.dim
        return nn.Parameter(normalise_rows(torch.randn(shape, generator=self.random.torch)))


class MTransE(TranslationalModel[MTransESettings]):
    """Triples alone shape each graph, without negatives; seeds train the map between them.

    Takes the arguments of `BaselineModel`.
    """

    def __init__(
        self, problem: TrainingProblem, settings: MTransESettings, random: RandomGenerators
    ) -> None:
        super().__init__(problem, settings, random)
        # Starts as a rotation, which the mapping loss keeps it near to.
        self.map = nn.Parameter(torch.eye(settings.dim))

    def iterate_losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        """Compute Σ ‖h + r − t‖² of each batch, and the mapping loss.

        Args:
            rng: Source of random numbers.

        Yields:
            The loss of each batch.
        """
        for triples in self.iterate_triples(BATCHES_PER_EPOCH, rng):
            ends = select_unit_rows(self.entity, triples[:, [HEAD, TAIL]])
            relation = select_unit_rows(self.relation, triples[:, RELATION])
            distances = sum_squares(ends[:, 0] + relation - ends[:, 1])
            yield distances.sum() + self.settings.mapping_weight * self._compute_mapping_loss()
        self.rescale_tables()

    def compute_vectors(self, nodes: IntArray) -> Tensor:
        """Look up the vectors of some nodes, those of the left mapped to the right.

        Args:
            nodes: Nodes of the union graph.

        Returns:
            A row for each node.
        """
        rows = super().compute_vectors(nodes)
        is_left = torch.from_numpy(nodes < self.problem.shape.left_entities)[:, None]
        return torch.where(is_left, rows @ self.map.T, rows)

    def _compute_mapping_loss(self) -> Tensor:
        """How far mapped seeds are from their partners, and the map from a rotation."""
        ends = select_unit_rows(self.entity, self.problem.seeds)
        distance = sum_squares(ends[:, 0] @ self.map.T - ends[:, 1]).sum()
        # A rotation keeps distances: the map cannot shrink all entities to one point.
        return distance + sum_squares(self.map @ self.map.T - torch.eye(self.settings.dim)).sum()


def select_unit_rows(table: Tensor, ids: NodeArray) -> Tensor:
    """Select rows of a table, scaled to length 1.

    Args:
        table: A vector per row.
        ids: Rows to select, of any shape.

    Returns:
        The vectors, in the shape of `ids`.
    """
    # Each distinct row is scaled once, however often it is selected.
    distinct, position = np.unique(ids, return_inverse=True)
    rows = normalise_rows(table.index_select(0, torch.from_numpy(distinct)))
    return select_rows(rows, torch.from_numpy(position.reshape(ids.shape)))


def sum_squares(difference: Tensor) -> Tensor:
    """Compute the squared length of each vector.

    Args:
        difference: Any tensor; its last dimension is that of the vectors.

    Returns:
        A tensor without the last dimension.
    """
    return difference.square().sum(-1)


def make(settings: Mapping[str, Any], seed: int) -> Method:
    """Create MTransE.

    Args:
        settings: Settings that differ from the defaults of `MTransESettings`.
        seed: Random seed.

    Returns:
        The method, not fitted.

    Raises:
        ConfigError: A setting is unknown or has no valid value.
    """
    return RetrainedMethod(MTransE, build_settings(MTransESettings, settings, "mtranse"), seed)
