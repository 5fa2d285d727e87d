"""ContEA's encoder (that of Dual-AMN): an inner-graph layer and a cross-graph layer.

Aggregator 1 gives each node 100 numbers from its entity neighbourhood and 100 from its
relations, each carried through two layers of reflected neighbours. Aggregator 2 compares the
result with 64 learned proxies that both graphs share.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from everalign.graph import IntArray, UnionGraph
from everalign.methods.neural.operators import Reach, member_mean, neighbour_mean, reflect

BRANCHES = ("entity", "relation")
CHUNK = 16384  # nodes that pass the cross-graph layer at a time


class Encoder(nn.Module):
    """The parameters of the encoder for a union graph, and how they give a node its vector.

    Shapes: `entity` nodes × d, `relation` directed relations × d, `attention` 2 branches ×
    depth × d, `proxy` 2 × proxies × w, `gate` 2 × w × w and `bias` 2 × w, with
    w = (depth + 1) · d.
    """

    def __init__(
        self,
        nodes: int,
        directed: int,
        *,
        dim: int,
        depth: int,
        proxies: int,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        width = (depth + 1) * dim

        def glorot(*shape: int) -> nn.Parameter:
            limit = (6 / (shape[-2] + shape[-1])) ** 0.5
            return nn.Parameter((torch.rand(shape, generator=generator) * 2 - 1) * limit)

        self.depth = depth
        self.entity = glorot(nodes, dim)
        self.relation = glorot(directed, dim)
        self.attention = nn.Parameter(glorot(len(BRANCHES), depth, dim, 1).detach()[..., 0])
        self.proxy = glorot(len(BRANCHES), proxies, width)
        self.gate = glorot(len(BRANCHES), width, width)
        self.bias = nn.Parameter(torch.zeros(len(BRANCHES), width))

    @property
    def width(self) -> int:
        """The length of a node's vector."""
        return 2 * self.bias.shape[1]

    def entity_view(
        self, graph: UnionGraph, nodes: IntArray, table: Tensor | None = None
    ) -> Tensor:
        """Aggregator 1 on entity neighbourhoods: nodes × w."""
        reaches = self._reaches(graph, nodes)
        table = self.entity if table is None else table
        x = self.gather(table, graph, reaches[-1])
        return self._layers(x, self.attention[0], graph, reaches)

    def gather(self, table: Tensor, graph: UnionGraph, reach: Reach) -> Tensor:
        """What the entity view starts from: the mean of each node and its neighbours."""
        return neighbour_mean(table, graph, reach, own=True)

    def relation_view(self, graph: UnionGraph, nodes: IntArray) -> Tensor:
        """Aggregator 1 on the relations around the nodes: nodes × w."""
        reaches = self._reaches(graph, nodes)
        x = member_mean(
            self.relation, reaches[-1].nodes, graph.node_relation_start, graph.node_relation
        )
        return self._layers(x, self.attention[1], graph, reaches)

    def views(self, graph: UnionGraph, nodes: IntArray) -> list[Tensor]:
        """Aggregator 1: both views of some nodes."""
        return [self.entity_view(graph, nodes), self.relation_view(graph, nodes)]

    def relation_sets(self, graph: UnionGraph) -> Tensor:
        """ρ: the normalised mean of the relations of each set."""
        every = np.arange(graph.sets, dtype=np.int32)
        mean = member_mean(self.relation, every, graph.set_start, graph.set_relation)
        return nn.functional.normalize(mean, dim=1)

    def cross(self, views: list[Tensor]) -> Tensor:
        """Aggregator 2: nodes × 2w from the two views."""
        return torch.cat([self._proxied(x, branch) for branch, x in enumerate(views)], dim=1)

    def forward(self, graph: UnionGraph, nodes: IntArray) -> Tensor:
        """The vectors of some nodes."""
        return self.cross(self.views(graph, nodes))

    def all_vectors(self, graph: UnionGraph) -> Tensor:
        """The vectors of all nodes, without gradients and without large intermediate results."""
        out = torch.empty((graph.nodes, self.width))
        with torch.no_grad():
            views = self.views(graph, np.arange(graph.nodes, dtype=np.int32))
            for first in range(0, graph.nodes, CHUNK):
                part = slice(first, first + CHUNK)
                out[part] = self.cross([view[part] for view in views])
        return out

    def _reaches(self, graph: UnionGraph, nodes: IntArray) -> list[Reach]:
        """The nodes that each layer needs, the wanted ones first."""
        reaches = [Reach.of(graph, nodes)]
        for _ in range(self.depth):
            reaches.append(reaches[-1].widened(graph))
        return reaches

    def _layers(
        self, x: Tensor, attention: Tensor, graph: UnionGraph, reaches: list[Reach]
    ) -> Tensor:
        """Run the layers from the widest reach inwards; keep what each says of the nodes."""
        rho = self.relation_sets(graph)
        x = torch.tanh(x)
        outputs = [x[reaches[0].rows_in(reaches[-1])]]
        inwards = pairwise(reversed(reaches))
        for (outer, inner), v in zip(inwards, attention, strict=True):
            x = torch.tanh(reflect(x, rho, v, graph, inner, outer))
            outputs.append(x[reaches[0].rows_in(inner)])
        return torch.cat(outputs, dim=1)

    def _proxied(self, x: Tensor, branch: int) -> Tensor:
        proxy = self.proxy[branch]
        cosine = nn.functional.normalize(x, dim=1) @ nn.functional.normalize(proxy, dim=1).T
        rest = x - torch.softmax(cosine, dim=1) @ proxy
        gate = torch.sigmoid(rest @ self.gate[branch] + self.bias[branch])
        return gate * x + (1 - gate) * rest
