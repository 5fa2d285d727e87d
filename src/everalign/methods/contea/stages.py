"""The two stages of ContEA: training at first, fine-tuning at every update."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from everalign.graph import IntArray, UnionGraph
from everalign.methods.contea.settings import ContEASettings
from everalign.methods.neural.encoder import Encoder
from everalign.methods.neural.operators import NodeSubset, average_neighbours
from everalign.methods.neural.pairs import NodeArray
from everalign.methods.neural.training import RandomGenerators, SeedBatch, iterate_batches

# The authors' settings: α of the reconstruction loss in training and at updates, β of the trusted
# links (the alignment loss has weight 1), and affected seeds per batch at updates.
RECONSTRUCTION_WEIGHT = 0.01
UPDATE_RECONSTRUCTION_WEIGHT = 0.1
TRUSTED_WEIGHT = 0.1
UPDATE_BATCH = 512


class InitialTraining:
    """Training of all parameters, from all seeds.

    Args:
        encoder: The encoder to train.
        graph: The union graph.
        seeds: Seed pairs, as rows of (left node, right node).
        settings: ContEA's settings.
        random: Source of random numbers.
    """

    def __init__(
        self,
        encoder: Encoder,
        graph: UnionGraph,
        seeds: NodeArray,
        settings: ContEASettings,
        random: RandomGenerators,
    ) -> None:
        self.encoder, self.graph, self.settings, self.random = encoder, graph, settings, random
        self.seeds = seeds
        self._all_nodes = NodeSubset.all_nodes(graph)

    def parameters(self) -> list[nn.Parameter]:
        """List the parameters that are trained.

        Returns:
            All parameters of the encoder.
        """
        return list(self.encoder.parameters())

    def compute_vectors(self, nodes: IntArray) -> Tensor:
        """Compute the vectors of some nodes.

        Args:
            nodes: Nodes of the union graph.

        Returns:
            A row for each node.
        """
        vectors: Tensor = self.encoder(self.graph, nodes)
        return vectors

    def iterate_losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        """Compute the alignment and reconstruction losses of an epoch.

        Args:
            rng: Source of random numbers.

        Yields:
            The loss of each batch of seeds.
        """
        for pairs in iterate_batches(self.seeds, self.settings.batch, rng):
            yield self._compute_loss(pairs)

    def _compute_loss(self, pairs: NodeArray) -> Tensor:
        dropout = self.settings.dropout
        negatives = _draw_negatives(self.graph, self.settings, self.random)
        batch = SeedBatch.from_pairs(pairs, negatives)
        vectors = self.random.apply_dropout(self.compute_vectors(batch.nodes), dropout)
        entity = self.encoder.entity
        # Entities learn to be the mean of their neighbours, from which new ones are initialised.
        neighbour_mean = average_neighbours(
            self.random.apply_dropout(entity, dropout),
            self.graph,
            self._all_nodes,
            include_self=False,
        )
        # The sum over all nodes is scaled to as many nodes as the batch has pairs.
        weight = RECONSTRUCTION_WEIGHT * len(pairs) / self.graph.node_count
        return batch.compute_loss(vectors) + weight * _sum_squared_distances(
            entity, neighbour_mean
        )


class FineTuning:
    """Training of proxies, gates and the embeddings of new entities at an update.

    The inner-graph layer and the embeddings of old entities are frozen.

    Args:
        encoder: The encoder to fine-tune; gradients of its frozen parts are switched off.
        graph: The union graph.
        new_nodes: Nodes of new entities.
        affected_seeds: Seed pairs with a member next to a new entity.
        trusted_links: Links in force that are learned from.
        settings: ContEA's settings.
        random: Source of random numbers.
    """

    def __init__(
        self,
        encoder: Encoder,
        graph: UnionGraph,
        new_nodes: IntArray,
        affected_seeds: NodeArray,
        trusted_links: NodeArray,
        settings: ContEASettings,
        random: RandomGenerators,
    ) -> None:
        self.encoder, self.graph, self.settings, self.random = encoder, graph, settings, random
        self.affected_seeds, self.trusted_links = affected_seeds, trusted_links
        self._new_nodes = torch.from_numpy(new_nodes).long()
        self._frozen_entity = encoder.entity.detach()
        # A parameter of their own: the optimiser neither moves old rows nor keeps state for them.
        self._new_entity = nn.Parameter(self._frozen_entity[self._new_nodes].clone())
        # Reconstruction of the other nodes cannot change.
        self._around_new = NodeSubset.from_nodes(graph, new_nodes).add_neighbours(graph)
        encoder.relation.requires_grad_(False)
        encoder.attention.requires_grad_(False)
        # The relation view depends on frozen parameters only: it is computed once.
        with torch.no_grad():
            self._relation_view = encoder.compute_relation_view(
                graph, np.arange(graph.node_count, dtype=np.int32)
            )

    def parameters(self) -> list[nn.Parameter]:
        """List the parameters that are trained.

        Returns:
            The embeddings of new entities, proxies, gates and their biases.
        """
        return [self._new_entity, self.encoder.proxy, self.encoder.gate, self.encoder.bias]

    def compute_vectors(self, nodes: IntArray) -> Tensor:
        """Compute the vectors of some nodes.

        Args:
            nodes: Nodes of the union graph.

        Returns:
            A row for each node.
        """
        entity_view = self.encoder.compute_entity_view(self.graph, nodes, self.build_entity())
        relation_view = self._relation_view[torch.from_numpy(nodes)]
        return self.encoder.match_proxies([entity_view, relation_view])

    def build_entity(self) -> Tensor:
        """Build the table of entity embeddings, of which only the new rows are trained.

        Returns:
            A row for each node.
        """
        # A new tensor at each call, so that gradients reach the new rows.
        return self._frozen_entity.index_copy(0, self._new_nodes, self._new_entity)

    def iterate_losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        """Compute the losses of an epoch: alignment, reconstruction and trusted links.

        Args:
            rng: Source of random numbers.

        Yields:
            The loss of each batch of affected seeds; trusted links are part of every batch.
        """
        for pairs in iterate_batches(self.affected_seeds, UPDATE_BATCH, rng):
            yield self._compute_loss(pairs)

    def _compute_loss(self, pairs: NodeArray) -> Tensor:
        negatives = _draw_negatives(self.graph, self.settings, self.random)
        batch = SeedBatch.from_pairs(np.concatenate([pairs, self.trusted_links]), negatives)
        vectors = self.random.apply_dropout(
            self.compute_vectors(batch.nodes), self.settings.dropout
        )
        seeds, trusted = batch.split_pairs(len(pairs))
        weight = UPDATE_RECONSTRUCTION_WEIGHT * len(pairs) / self.graph.node_count
        return (
            seeds.compute_loss(vectors)
            + weight * self._compute_reconstruction_loss()
            # Trusted links have no negatives, as in the authors' code.
            + TRUSTED_WEIGHT
            * _sum_squared_distances(vectors[trusted.left], vectors[trusted.right])
        )

    def _compute_reconstruction_loss(self) -> Tensor:
        entity = self.build_entity()
        neighbour_mean = average_neighbours(
            self.random.apply_dropout(entity, self.settings.dropout),
            self.graph,
            self._around_new,
            include_self=False,
        )
        rows = torch.from_numpy(self._around_new.nodes)
        return _sum_squared_distances(entity[rows], neighbour_mean)


def _draw_negatives(
    graph: UnionGraph, settings: ContEASettings, random: RandomGenerators
) -> NodeArray:
    """Random nodes of both graphs, with repetitions."""
    # The authors compare with all nodes, at a cost that grows with the graphs.
    count = min(settings.negatives, graph.node_count)
    return random.numpy.integers(0, graph.node_count, count)


def _sum_squared_distances(first: Tensor, second: Tensor) -> Tensor:
    """Σ ‖first_i − second_i‖²: the loss of reconstruction and of trusted links."""
    return (first - second).square().sum()
