"""AliNet: neighbours by convolution, two-hop neighbours by attention, joined by a gate; retrained.

Sun, Wang, Hu, Chen, Dai, Zhang, Qu: Knowledge Graph Alignment Network with Gated Multi-hop
Neighborhood Aggregation. AAAI 2020.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from everalign._numba import jit_cached
from everalign.config import build_settings
from everalign.graph import IntArray, UnionGraph, combine_triples
from everalign.methods.base import Method
from everalign.methods.baselines.base import (
    BaselineModel,
    BaselineSettings,
    RetrainedMethod,
    TrainingProblem,
    normalise_rows,
    select_rows,
)
from everalign.methods.baselines.convolution import (
    Adjacency,
    build_csr_matrix,
    build_mean_adjacency,
    find_implied_edges,
)
from everalign.methods.baselines.losses import compute_contrastive_loss
from everalign.methods.baselines.negatives import PartnerSampler
from everalign.methods.neural.encoder import draw_glorot
from everalign.methods.neural.training import RandomGenerators

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

# As published, but for the scale: sizes of the embeddings and of the layers, as parts of `dim`.
LAYER_WIDTHS = (1.0, 0.8, 0.6)
NEGATIVE_WEIGHT = 0.1
RELATION_WEIGHT = 0.01
RELATION_TRIPLES = 4096  # drawn per epoch for the relation loss: bounds its cost
# Of the embeddings, whose rows are scaled to length 1: the smaller, the faster they turn.
INITIAL_SCALE = 0.01
# Each pair costs a dot product of this size, and there are many more pairs than nodes.
ATTENTION_SIZE = 32  # of queries and keys
LEAKY_SLOPE = 0.2  # as in graph attention networks
# On validation links, 50 were better than 20, and hubs of up to 300 no better than up to 100.
MAX_TWO_HOP = 50
MAX_HUB_DEGREE = 100


@dataclass(frozen=True)
class AliNetSettings(BaselineSettings):
    """Settings of AliNet, beside those of every baseline.

    Narrower than published (500). The published learning rate is 0.001; with this one, validation
    rises faster and as far.

    Attributes:
        margin: Margin of the loss.
        negatives: Wrong partners per member of a seed pair.
        nearest_share: Share of the other side, nearest to a member, that they are drawn from.
        refresh_every: Epochs after which the nearest are searched again.
    """

    dim: int = 200
    learning_rate: float = 0.003
    max_epochs: int = 60
    validate_every: int = 5
    margin: float = 1.5
    negatives: int = 10
    nearest_share: float = 0.02
    refresh_every: int = 5


@dataclass(frozen=True)
class AttentionPairs:
    """Pairs of nodes that attention runs along.

    Attributes:
        row: The attending node of each pair, sorted.
        column: The node it attends to.
        node_count: Number of nodes.
    """

    row: Ints
    column: Ints
    node_count: int

    def build_matrix(self, weight: Tensor) -> Tensor:
        """Build the sparse matrix with a weight per pair.

        Args:
            weight: Weight of each pair.

        Returns:
            The matrix, nodes × nodes.
        """
        return build_csr_matrix(self.row, self.column, weight, (self.node_count,) * 2)

    def build_transpose(self, weight: Tensor) -> Tensor:
        """Build the transpose of `build_matrix`.

        Args:
            weight: Weight of each pair.

        Returns:
            The matrix, nodes × nodes.
        """
        order = self._column_order
        return build_csr_matrix(
            self.column[order], self.row[order], weight[order], (self.node_count,) * 2
        )

    def multiply_rows(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Compute the dot product of query and key of each pair.

        Args:
            queries: A row for each node.
            keys: A row for each node.

        Returns:
            A number per pair.
        """
        products = _multiply_rows(self.row, self.column, queries.numpy(), keys.numpy())
        return torch.from_numpy(products)

    @cached_property
    def _column_order(self) -> Ints:
        # Found once, since only weights change. Stable: within a column, rows stay sorted.
        return np.argsort(self.column, kind="stable")


class GatedLayer(nn.Module):
    """g∘h₁ + (1 − g)∘h₂ with g = σ(h₂·M + b), of one-hop neighbours h₁ and two-hop ones h₂.

    Args:
        in_size: Size of the inputs.
        out_size: Size of the outputs.
        generator: Source of random numbers.
    """

    def __init__(self, in_size: int, out_size: int, generator: torch.Generator) -> None:
        super().__init__()
        self.one_hop = draw_glorot(in_size, out_size, generator=generator)
        self.two_hop = draw_glorot(in_size, out_size, generator=generator)
        self.query = draw_glorot(in_size, ATTENTION_SIZE, generator=generator)
        self.key = draw_glorot(in_size, ATTENTION_SIZE, generator=generator)
        self.gate = draw_glorot(out_size, out_size, generator=generator)
        self.bias = nn.Parameter(torch.zeros(out_size))

    def forward(self, inputs: Tensor, adjacency: Adjacency, two_hop: AttentionPairs) -> Tensor:
        """Aggregate the neighbourhoods of all nodes.

        Args:
            inputs: A row for each node.
            adjacency: Matrix of the one-hop neighbours.
            two_hop: Pairs of the two-hop neighbours.

        Returns:
            A row for each node.
        """
        near = torch.tanh(adjacency.aggregate_rows(inputs @ self.one_hop))
        query, key = inputs @ self.query, inputs @ self.key
        far = torch.tanh(attend_along_pairs(two_hop, query, key, inputs @ self.two_hop))
        gate = torch.sigmoid(far @ self.gate + self.bias)
        return gate * near + (1 - gate) * far


class AliNet(BaselineModel[AliNetSettings]):
    """Two gated layers over the embeddings; their outputs, scaled to length 1, side by side.

    Takes the arguments of `BaselineModel`.
    """

    def __init__(
        self, problem: TrainingProblem, settings: AliNetSettings, random: RandomGenerators
    ) -> None:
        super().__init__(problem, settings, random)
        widths = [max(1, round(settings.dim * part)) for part in LAYER_WIDTHS]
        shape = (problem.shape.node_count, widths[0])
        self.entity = nn.Parameter(torch.randn(shape, generator=random.torch) * INITIAL_SCALE)
        self.layers = nn.ModuleList(GatedLayer(*sizes, random.torch) for sizes in pairwise(widths))
        implied_edges = find_implied_edges(problem.graph, problem.seeds)
        self._adjacency = build_mean_adjacency(problem.graph, more_edges=implied_edges)
        self._two_hop = find_two_hop_pairs(problem.graph, MAX_TWO_HOP, MAX_HUB_DEGREE)
        self._triples = combine_triples(problem.task.left, problem.task.right)
        self._sampler = PartnerSampler(
            problem, settings.negatives, settings.nearest_share, settings.refresh_every
        )

    def iterate_losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        """Compute the contrastive loss of all seeds and the relation loss of some triples.

        Args:
            rng: Source of random numbers.

        Yields:
            One loss, if there are seeds.
        """
        if len(self.problem.seeds) == 0:
            return
        vectors = self._aggregate_all()
        pairs = self._sampler.draw_negatives(vectors, rng)
        count = min(RELATION_TRIPLES, len(self._triples))
        triples = torch.from_numpy(rng.choice(self._triples, count, replace=False))
        yield (
            compute_contrastive_loss(vectors, pairs, self.settings.margin, NEGATIVE_WEIGHT)
            + RELATION_WEIGHT * compute_relation_loss(vectors, triples)
        )

    def compute_vectors(self, nodes: IntArray) -> Tensor:
        """Compute the vectors of some nodes.

        Args:
            nodes: Nodes of the union graph.

        Returns:
            A row for each node.
        """
        return self._aggregate_all()[torch.from_numpy(nodes).long()]

    def _aggregate_all(self) -> Tensor:
        # The embeddings themselves are no output, unlike published: those of entities without a
        # seed are as they were drawn.
        hidden = normalise_rows(self.entity)
        outputs: list[Tensor] = []
        for layer in self.layers:
            hidden = layer(hidden, self._adjacency, self._two_hop)
            outputs.append(normalise_rows(hidden))
        # Each output has length 1; so has the whole, which the margin is made for.
        return torch.cat(outputs, dim=1) / math.sqrt(len(outputs))


def compute_relation_loss(vectors: Tensor, triples: Tensor) -> Tensor:
    """Compute the mean distance of h − t from that of the triple's relation.

    A relation's vector is the mean of h − t over the triples given.

    Args:
        vectors: A row for each node.
        triples: Rows of (head, relation, tail).

    Returns:
        The loss, a scalar.
    """
    head, relation, tail = triples.T
    group: Tensor = torch.unique(relation, return_inverse=True)[1]
    difference = select_rows(vectors, head) - select_rows(vectors, tail)
    count = torch.bincount(group)
    total = difference.new_zeros((len(count), difference.shape[1])).index_add(0, group, difference)
    distance: Tensor = (difference - select_rows(total / count[:, None], group)).norm(dim=1)
    return distance.mean()


def attend_along_pairs(
    pairs: AttentionPairs, queries: Tensor, keys: Tensor, values: Tensor
) -> Tensor:
    """Compute Σ_j a_ij value_j, with a_ij the softmax over j of LeakyReLU(query_i · key_j).

    Args:
        pairs: Pairs (i, j).
        queries: A row for each node.
        keys: A row for each node.
        values: A row for each node.

    Returns:
        A row for each node; zeros for a node without pairs.
    """
    product: Tensor = _PairProducts.apply(pairs, queries, keys)  # type: ignore[no-untyped-call]
    logit = nn.functional.leaky_relu(product, LEAKY_SLOPE)
    row = torch.from_numpy(pairs.row)
    # Relative to the largest logit of the row, so that exp does not overflow.
    largest = logit.new_full((pairs.node_count,), -torch.inf)
    largest = largest.scatter_reduce(0, row, logit.detach(), "amax")
    weight = torch.exp(logit - largest[row])
    total = weight.new_zeros(pairs.node_count).index_add(0, row, weight)
    attention = weight / select_rows(total, row)
    result: Tensor = _WeightedSum.apply(pairs, attention, values)  # type: ignore[no-untyped-call]
    return result


def find_two_hop_pairs(graph: UnionGraph, max_count: int, max_hub_degree: int) -> AttentionPairs:
    """Find the two-hop neighbours of each node, those with the most paths first.

    A path through a node with n neighbours counts 1/n.

    Args:
        graph: The union graph.
        max_count: Two-hop neighbours per node at most.
        max_hub_degree: Paths through nodes with more neighbours do not count: what a hub
            connects has little in common, and there is far too much of it.

    Returns:
        Pairs of a node and a two-hop neighbour; a node that has none is paired with itself.
    """
    # A pair is the number row · nodes + column; `node_count` is not 0 where it divides.
    node_count, degree = graph.node_count, np.diff(graph.start).astype(np.int64)
    # Hubs are left out before paths are listed: paths grow with the square of the degree.
    first_hop = np.flatnonzero(degree[graph.target] <= max_hub_degree)
    path_count = degree[graph.target[first_hop]]
    # Path p goes along edge[p], and then along edge number position[p] of that edge's target.
    edge = np.repeat(first_hop, path_count)
    position = np.arange(len(edge)) - np.repeat(np.cumsum(path_count) - path_count, path_count)
    end = graph.target[graph.start[graph.target[edge]] + position]
    pair, path_pair = np.unique(
        graph.source[edge] * np.int64(node_count) + end, return_inverse=True
    )
    strength = np.bincount(path_pair, 1 / degree[graph.target[edge]], len(pair))
    one_hop = graph.source * np.int64(node_count) + graph.target
    row, column = np.divmod(pair, max(node_count, 1))
    is_two_hop = (row != column) & ~np.isin(pair, one_hop)
    pair, row, strength = pair[is_two_hop], row[is_two_hop], strength[is_two_hop]
    # By node, the strongest first; the sort is stable, so ties go to the lower column.
    order = np.lexsort((-strength, row))
    pair, row = pair[order], row[order]
    rank = np.arange(len(pair)) - np.searchsorted(row, row)
    without_any = np.setdiff1d(np.arange(node_count), row)
    # The pair of node i with itself is i · nodes + i. Sorted again, as `AttentionPairs` needs.
    kept = np.sort(np.append(pair[rank < max_count], without_any * (node_count + 1)))
    return AttentionPairs(*np.divmod(kept, max(node_count, 1)), node_count)


class _PairProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pairs: AttentionPairs, queries: Tensor, keys: Tensor) -> Tensor:
        ctx.pairs = pairs
        ctx.save_for_backward(queries, keys)
        return pairs.multiply_rows(queries, keys)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        queries, keys = ctx.saved_tensors
        grad_queries = ctx.pairs.build_matrix(grads[0]) @ keys
        return None, grad_queries, ctx.pairs.build_transpose(grads[0]) @ queries


class _WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pairs: AttentionPairs, weight: Tensor, values: Tensor) -> Tensor:
        ctx.pairs = pairs
        ctx.save_for_backward(weight, values)
        return pairs.build_matrix(weight) @ values

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        weight, values = ctx.saved_tensors
        grad = grads[0].contiguous()
        grad_weight = ctx.pairs.multiply_rows(grad, values)
        return None, grad_weight, ctx.pairs.build_transpose(weight) @ grad


@jit_cached(fastmath=True)
def _multiply_rows(row: Ints, column: Ints, queries: Floats, keys: Floats) -> Floats:
    # A tensor operation would first copy both rows of every pair.
    out = np.zeros(len(row), dtype=np.float32)
    for pair in range(len(row)):
        total = np.float32(0.0)
        for d in range(queries.shape[1]):
            total += queries[row[pair], d] * keys[column[pair], d]
        out[pair] = total
    return out


def make(settings: Mapping[str, Any], seed: int) -> Method:
    """Create AliNet.

    Args:
        settings: Settings that differ from the defaults of `AliNetSettings`.
        seed: Random seed.

    Returns:
        The method, not fitted.

    Raises:
        ConfigError: A setting is unknown or has no valid value.
    """
    return RetrainedMethod(AliNet, build_settings(AliNetSettings, settings, "alinet"), seed)
