"""Reference implementation of ContEA in plain PyTorch.

A direct transcription of the formulas: tensors per edge, all entities as negatives, gradients by
autograd. It is the baseline for the speed of the optimised encoder, and an independent statement
of the formulas that tests compare it with.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import Tensor, nn

from everalign.graph import Graph, IntArray

DIM, DEPTH, PROXIES, DROPOUT = 100, 2, 64, 0.3
BATCH, LEARNING_RATE, RECONSTRUCTION = 1024, 0.0005, 0.01


class PlainContEA(nn.Module):
    """The encoder and its losses over the union of two graphs."""

    def __init__(self, left: Graph, right: Graph) -> None:
        super().__init__()
        self.nodes = left.entity_count + right.entity_count
        relations = left.relation_count + right.relation_count
        shift = np.array([left.entity_count, left.relation_count, left.entity_count])
        triples = torch.from_numpy(
            np.concatenate([left.triples.astype(np.int64), right.triples + shift])
        )
        head, relation, tail = triples.T
        source, target = torch.cat([head, tail]), torch.cat([tail, head])
        directed = torch.cat([relation, relation + relations])
        edges, edge_of = torch.unique(source * self.nodes + target, return_inverse=True)
        self.source, self.target = edges // self.nodes, edges % self.nodes
        self.edge_of, self.directed = edge_of, directed
        around = torch.unique(source * 2 * relations + directed)
        self.around_node, self.around_relation = (
            around // (2 * relations),
            around % (2 * relations),
        )

        width = (DEPTH + 1) * DIM
        self.entity = _glorot(self.nodes, DIM)
        self.relation = _glorot(2 * relations, DIM)
        self.attention = nn.ParameterList([_glorot(DIM, 1) for _ in range(2 * DEPTH)])
        self.proxy = nn.ParameterList([_glorot(PROXIES, width) for _ in range(2)])
        self.gate = nn.ParameterList([_glorot(width, width) for _ in range(2)])
        self.bias = nn.ParameterList([nn.Parameter(torch.zeros(width)) for _ in range(2)])

    def forward(self) -> Tensor:
        """The vectors of all nodes."""
        own = torch.arange(self.nodes)
        inputs = [
            _mean(
                torch.cat([self.entity[self.target], self.entity]),
                torch.cat([self.source, own]),
                self.nodes,
            ),
            _mean(self.relation[self.around_relation], self.around_node, self.nodes),
        ]
        rho = _mean(self.relation[self.directed], self.edge_of, len(self.source))
        rho = nn.functional.normalize(rho, dim=1)
        outputs = []
        for branch, x in enumerate(inputs):
            layers = [torch.tanh(x)]
            for depth in range(DEPTH):
                attention = self.attention[branch * DEPTH + depth]
                layers.append(torch.tanh(self._reflected(layers[-1], rho, attention)))
            outputs.append(self._proxied(torch.cat(layers, dim=1), branch))
        return torch.cat(outputs, dim=1)

    def loss(self, pairs: Tensor) -> Tensor:
        """Alignment of a batch of seeds against all entities, and reconstruction."""
        vectors = nn.functional.dropout(self(), DROPOUT)
        left, right = pairs.T
        around = _mean(
            nn.functional.dropout(self.entity, DROPOUT)[self.target], self.source, self.nodes
        )
        reconstruction = (self.entity - around).square().sum()
        total: Tensor = (
            self._alignment(vectors, left, right)
            + self._alignment(vectors, right, left)
            + RECONSTRUCTION * len(pairs) / self.nodes * reconstruction
        )
        return total

    def _reflected(self, x: Tensor, rho: Tensor, attention: Tensor) -> Tensor:
        logit = (rho @ attention).squeeze(1)
        weight = torch.exp(logit - logit.max())
        total = torch.zeros(self.nodes).index_add(0, self.source, weight)
        neighbour = x[self.target]
        message = neighbour - 2 * (neighbour * rho).sum(1, keepdim=True) * rho
        message = message * (weight / total[self.source]).unsqueeze(1)
        return torch.zeros_like(x).index_add(0, self.source, message)

    def _proxied(self, x: Tensor, branch: int) -> Tensor:
        proxy: Tensor = self.proxy[branch]
        cosine = nn.functional.normalize(x, dim=1) @ nn.functional.normalize(proxy, dim=1).T
        rest = x - torch.softmax(cosine, dim=1) @ proxy
        gate: Tensor = torch.sigmoid(rest @ self.gate[branch] + self.bias[branch])
        return gate * x + (1 - gate) * rest

    def _alignment(self, vectors: Tensor, side: Tensor, other: Tensor) -> Tensor:
        a, b = vectors[side], vectors[other]
        positive = (a - b).square().sum(1, keepdim=True)
        distance = a.square().sum(1, keepdim=True) - 2 * a @ vectors.T + vectors.square().sum(1)
        excess = positive - distance + 2.0
        mask = torch.ones_like(excess)
        rows = torch.arange(len(side))
        mask[rows, side] = 0
        mask[rows, other] = 0
        excess = excess * mask
        mean = excess.mean(1, keepdim=True).detach()
        spread = excess.std(1, keepdim=True, correction=0).detach()
        return torch.logsumexp(30 * (excess - mean) / spread + 10, dim=1).mean()


def measure_plain_epoch(left: Graph, right: Graph, seeds: IntArray) -> float:
    """The time of one epoch over the seeds."""
    torch.manual_seed(0)
    model = PlainContEA(left, right)
    optimiser = torch.optim.RMSprop(model.parameters(), lr=LEARNING_RATE, alpha=0.9)
    pairs = torch.from_numpy(seeds.astype(np.int64)) + torch.tensor([0, left.entity_count])
    started = time.perf_counter()
    for batch in torch.split(pairs[torch.randperm(len(pairs))], BATCH):
        optimiser.zero_grad()
        model.loss(batch).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return time.perf_counter() - started


def _glorot(rows: int, columns: int) -> nn.Parameter:
    limit = (6 / (rows + columns)) ** 0.5
    return nn.Parameter((torch.rand(rows, columns) * 2 - 1) * limit)


def _mean(values: Tensor, group: Tensor, groups: int) -> Tensor:
    """The mean of the values of each group."""
    total = torch.zeros(groups, values.shape[1]).index_add(0, group, values)
    count = torch.zeros(groups).index_add(0, group, torch.ones(len(group)))
    return total / count.clamp(min=1).unsqueeze(1)
