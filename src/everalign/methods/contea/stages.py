"""The two stages of ContEA's life: training at first, fine-tuning at every update."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from everalign.graph import IntArray, UnionGraph
from everalign.methods.contea.losses import reconstruction_loss, trusted_loss
from everalign.methods.contea.settings import ContEASettings
from everalign.methods.neural.chance import Chance
from everalign.methods.neural.encoder import Encoder
from everalign.methods.neural.operators import Reach, neighbour_mean
from everalign.methods.neural.training import Batch, Nodes, shuffled


class Training:
    """Everything learns: embeddings and both aggregators, from all seeds."""

    def __init__(
        self,
        encoder: Encoder,
        graph: UnionGraph,
        seeds: Nodes,
        settings: ContEASettings,
        chance: Chance,
    ) -> None:
        self.encoder, self.graph, self.settings, self.chance = encoder, graph, settings, chance
        self.seeds = seeds
        self._reach = Reach.of(graph, np.arange(graph.nodes, dtype=np.int32))

    def parameters(self) -> list[nn.Parameter]:
        return list(self.encoder.parameters())

    def vectors(self, nodes: IntArray) -> Tensor:
        vectors: Tensor = self.encoder(self.graph, nodes)
        return vectors

    def losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        for pairs in shuffled(self.seeds, self.settings.batch, rng):
            yield self._loss(pairs)

    def _loss(self, pairs: Nodes) -> Tensor:
        s, nodes = self.settings, self.graph.nodes
        batch = Batch.of(pairs, self.chance.numpy.integers(0, nodes, min(s.negatives, nodes)))
        vectors = self.chance.dropout(self.vectors(batch.nodes), s.dropout)
        entity = self.encoder.entity
        around = neighbour_mean(
            self.chance.dropout(entity, s.dropout), self.graph, self._reach, own=False
        )
        weight = s.reconstruction * len(pairs) / nodes
        return batch.alignment_loss(vectors) + weight * reconstruction_loss(entity, around)


class FineTuning:
    """Only proxies, gates and new entities' embeddings learn; the inner-graph layer is frozen.

    What cannot change is computed once: the relation branch of Aggregator 1.
    """

    def __init__(
        self,
        encoder: Encoder,
        graph: UnionGraph,
        new: IntArray,
        replayed: Nodes,
        trusted: Nodes,
        settings: ContEASettings,
        chance: Chance,
    ) -> None:
        self.encoder, self.graph, self.settings, self.chance = encoder, graph, settings, chance
        self.replayed, self.trusted = replayed, trusted
        self._new = torch.from_numpy(new).long()
        self._entity = encoder.entity.detach()
        self._fresh = nn.Parameter(self._entity[self._new].clone())
        self._reach = Reach.of(graph, new).widened(graph)
        encoder.relation.requires_grad_(False)
        encoder.attention.requires_grad_(False)
        with torch.no_grad():
            self._relation_view = encoder.relation_view(
                graph, np.arange(graph.nodes, dtype=np.int32)
            )

    def parameters(self) -> list[nn.Parameter]:
        return [self._fresh, self.encoder.proxy, self.encoder.gate, self.encoder.bias]

    def vectors(self, nodes: IntArray) -> Tensor:
        entity_view = self.encoder.entity_view(self.graph, nodes, self.entity())
        return self.encoder.cross([entity_view, self._relation_view[torch.from_numpy(nodes)]])

    def entity(self) -> Tensor:
        """The table of embeddings, of which only the new rows learn."""
        return self._entity.index_copy(0, self._new, self._fresh)

    def losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        for pairs in shuffled(self.replayed, self.settings.update_batch, rng):
            yield self._loss(pairs)

    def _loss(self, pairs: Nodes) -> Tensor:
        s, nodes = self.settings, self.graph.nodes
        others = self.chance.numpy.integers(0, nodes, min(s.negatives, nodes))
        batch = Batch.of(np.concatenate([pairs, self.trusted]), others)
        vectors = self.chance.dropout(self.vectors(batch.nodes), s.dropout)
        replayed, trusted = batch.split(len(pairs))
        weight = s.update_reconstruction * len(pairs) / nodes
        return (
            replayed.alignment_loss(vectors)
            + weight * self._reconstruction()
            + s.trusted_weight * trusted_loss(vectors[trusted.left], vectors[trusted.right])
        )

    def _reconstruction(self) -> Tensor:
        entity = self.entity()
        kept = self.chance.dropout(entity, self.settings.dropout)
        around = neighbour_mean(kept, self.graph, self._reach, own=False)
        return reconstruction_loss(entity[torch.from_numpy(self._reach.nodes)], around)
