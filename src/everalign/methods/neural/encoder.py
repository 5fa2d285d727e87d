"""The encoder of Dual-AMN and ContEA: relational attention and proxy matching attention.

Mao, Wang, Wu, Lan: Boosting the Speed of Entity Alignment 10×: Dual Attention Matching Network
with Normalized Hard Sample Mining. WWW 2021.

The inner-graph layer (ContEA: Aggregator 1) makes two views of each node, of its entity
neighbourhood and of its relations, each carried through `depth` layers of reflected neighbours.
The cross-graph layer (Aggregator 2) compares both views with proxies that the graphs share.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from everalign.graph import IntArray, UnionGraph
from everalign.methods.neural.operators import (
    NodeSubset,
    average_members,
    average_neighbours,
    reflect_neighbours,
)

VIEWS = ("entity", "relation")
CHUNK_SIZE = 16384  # nodes that pass the cross-graph layer at a time: bounds memory


def draw_glorot(*shape: int, generator: torch.Generator) -> nn.Parameter:
    """Draw a parameter with Glorot's uniform initialisation.

    Args:
        *shape: Shape of the parameter; its last two sizes are fan-in and fan-out.
        generator: Source of random numbers.

    Returns:
        The parameter.
    """
    # With this limit, the outputs of a product vary about as much as its inputs.
    limit = (6 / (shape[-2] + shape[-1])) ** 0.5
    return nn.Parameter((torch.rand(shape, generator=generator) * 2 - 1) * limit)


class Encoder(nn.Module):
    """Computes the vectors of nodes of the union graph from learned parameters.

    With w = (depth + 1) · dim, the parameters are `entity` (nodes × dim), `relation` (directed
    relations × dim), `attention` (2 views × depth × dim), `proxy` (2 × proxies × w), `gate`
    (2 × w × w) and `bias` (2 × w).
    """

    def __init__(
        self,
        node_count: int,
        directed_relation_count: int,
        *,
        dim: int,
        depth: int,
        proxies: int,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        width = (depth + 1) * dim
        self.depth = depth
        self.entity = draw_glorot(node_count, dim, generator=generator)
        self.relation = draw_glorot(directed_relation_count, dim, generator=generator)
        # Drawn as columns: in ρ·v, the fans of a vector are dim and 1.
        columns = draw_glorot(len(VIEWS), depth, dim, 1, generator=generator)
        self.attention = nn.Parameter(columns.detach()[..., 0])
        self.proxy = draw_glorot(len(VIEWS), proxies, width, generator=generator)
        self.gate = draw_glorot(len(VIEWS), width, width, generator=generator)
        self.bias = nn.Parameter(torch.zeros(len(VIEWS), width))

    @property
    def width(self) -> int:
        """The length of a node's vector."""
        return 2 * self.bias.shape[1]

    def forward(self, graph: UnionGraph, nodes: IntArray) -> Tensor:
        """Compute the vectors of some nodes.

        Args:
            graph: The union graph.
            nodes: Distinct nodes.

        Returns:
            A row of length `width` for each node.
        """
        return self.match_proxies(self.compute_views(graph, nodes))

    def compute_all_vectors(self, graph: UnionGraph) -> Tensor:
        """Compute the vectors of all nodes, without gradients.

        Args:
            graph: The union graph.

        Returns:
            A row of length `width` for each node.
        """
        vectors = torch.empty((graph.node_count, self.width))
        with torch.no_grad():
            # Views depend on the neighbours of a node. The cross-graph layer treats each row
            # alone: it can go in chunks.
            views = self.compute_views(graph, np.arange(graph.node_count, dtype=np.int32))
            for first in range(0, graph.node_count, CHUNK_SIZE):
                chunk = slice(first, first + CHUNK_SIZE)
                vectors[chunk] = self.match_proxies([view[chunk] for view in views])
        return vectors

    def compute_views(self, graph: UnionGraph, nodes: IntArray) -> list[Tensor]:
        """Compute both views of some nodes (Aggregator 1).

        Args:
            graph: The union graph.
            nodes: Distinct nodes.

        Returns:
            The entity view and the relation view, each nodes × w.
        """
        return [self.compute_entity_view(graph, nodes), self.compute_relation_view(graph, nodes)]

    def compute_entity_view(
        self, graph: UnionGraph, nodes: IntArray, table: Tensor | None = None
    ) -> Tensor:
        """Compute the view of the entity neighbourhoods of some nodes.

        Args:
            graph: The union graph.
            nodes: Distinct nodes.
            table: Entity embeddings; those of the encoder if None.

        Returns:
            The view, nodes × w.
        """
        subsets = self._find_receptive_fields(graph, nodes)
        table = self.entity if table is None else table
        inputs = self.aggregate_entities(table, graph, subsets[-1])
        return self._apply_layers(inputs, self.attention[0], graph, subsets)

    def compute_relation_view(self, graph: UnionGraph, nodes: IntArray) -> Tensor:
        """Compute the view of the relations around some nodes.

        Args:
            graph: The union graph.
            nodes: Distinct nodes.

        Returns:
            The view, nodes × w.
        """
        subsets = self._find_receptive_fields(graph, nodes)
        inputs = average_members(
            self.relation, subsets[-1].nodes, graph.node_relation_start, graph.node_relation
        )
        return self._apply_layers(inputs, self.attention[1], graph, subsets)

    def aggregate_entities(self, table: Tensor, graph: UnionGraph, subset: NodeSubset) -> Tensor:
        """Compute the inputs of the entity view: the mean of each node and its neighbours.

        Args:
            table: Entity embeddings.
            graph: The union graph.
            subset: Wanted nodes.

        Returns:
            A row for each node of the subset.
        """
        return average_neighbours(table, graph, subset, include_self=True)

    def compute_set_directions(self, graph: UnionGraph) -> Tensor:
        """Compute ρ, the normalised mean of the relations of each relation set.

        Args:
            graph: The union graph.

        Returns:
            A unit vector for each relation set.
        """
        all_sets = np.arange(graph.set_count, dtype=np.int32)
        mean = average_members(self.relation, all_sets, graph.set_start, graph.set_relation)
        return nn.functional.normalize(mean, dim=1)

    def match_proxies(self, views: list[Tensor]) -> Tensor:
        """Apply proxy matching attention to both views (Aggregator 2).

        Args:
            views: The entity view and the relation view, each nodes × w.

        Returns:
            Vectors, nodes × 2w.
        """
        matched = [self._match_view(view, index) for index, view in enumerate(views)]
        return torch.cat(matched, dim=1)

    def _find_receptive_fields(self, graph: UnionGraph, nodes: IntArray) -> list[NodeSubset]:
        """The nodes that each layer needs, the wanted ones first."""
        subsets = [NodeSubset.from_nodes(graph, nodes)]
        for _ in range(self.depth):
            # A layer reads the neighbours of its outputs: the field grows by one hop per layer.
            subsets.append(subsets[-1].add_neighbours(graph))
        return subsets

    def _apply_layers(
        self, inputs: Tensor, attention: Tensor, graph: UnionGraph, subsets: list[NodeSubset]
    ) -> Tensor:
        """Run the layers from the largest subset inwards; concatenate their rows of the nodes."""
        rho = self.compute_set_directions(graph)
        hidden = torch.tanh(inputs)
        # Of each layer, its input included, only the wanted rows are returned; the others are
        # there for the next layer.
        outputs = [hidden[subsets[0].find_rows(subsets[-1])]]
        inwards = pairwise(reversed(subsets))
        for (sources, targets), layer_attention in zip(inwards, attention, strict=True):
            hidden = torch.tanh(
                reflect_neighbours(hidden, rho, layer_attention, graph, targets, sources)
            )
            outputs.append(hidden[subsets[0].find_rows(targets)])
        return torch.cat(outputs, dim=1)

    def _match_view(self, view: Tensor, index: int) -> Tensor:
        """g∘x + (1 − g)∘p, with p what is left of x without its soft mixture of proxies."""
        proxy = self.proxy[index]
        cosine = nn.functional.normalize(view, dim=1) @ nn.functional.normalize(proxy, dim=1).T
        residual = view - torch.softmax(cosine, dim=1) @ proxy
        gate = torch.sigmoid(residual @ self.gate[index] + self.bias[index])
        return gate * view + (1 - gate) * residual
