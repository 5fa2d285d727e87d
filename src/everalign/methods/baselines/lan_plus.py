"""LAN+: MEAN+ with neighbours that weigh by rules and by attention; learned once.

Wang, Han, Li, Pan: Logic Attention Based Neighborhood Aggregation for Inductive Knowledge Graph
Embedding. AAAI 2019. There a neighbour weighs more the more its relation implies the relation that
is asked for, and less the more other relations around the node imply its own. Alignment asks for
no relation, so the first half falls away: a neighbour weighs 1 / max P(r | r') over the other
relations r' around the node, from how often relations occur together in the graph. Attention
likewise looks at the relation only. Both weights sum to 1 at each node, and count half.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from everalign.config import build
from everalign.graph import UnionGraph
from everalign.methods.baselines.dual_amn import DualAMNSettings
from everalign.methods.baselines.inductive import Inductive
from everalign.methods.baselines.mean_plus import MeanEncoder, MeanPlus
from everalign.methods.baselines.static import Task
from everalign.methods.neural.chance import Chance
from everalign.methods.neural.operators import Reach, project
from everalign.methods.protocol import Method


class LanEncoder(MeanEncoder):
    """The encoder whose entity view starts from weighted neighbours.

    `rule` is the weight of each edge by rules, `focus` what attention looks for in a relation.
    """

    rule: Tensor

    def __init__(self, nodes: int, directed: int, *, dim: int, **others: Any) -> None:
        super().__init__(nodes, directed, dim=dim, **others)
        self.focus = nn.Parameter(torch.zeros(dim))

    def around(
        self, table: Tensor, graph: UnionGraph, reach: Reach, share: Tensor | float = 1.0
    ) -> Tensor:
        ruled = super().around(table, graph, reach, share * self.rule)
        attended = project(table, self.relation_sets(graph), self.focus, graph, reach, share)
        return (ruled + attended) / 2


class LanPlus(MeanPlus):
    """MEAN+ with the rules of its graphs."""

    encoder_kind = LanEncoder
    encoder: LanEncoder

    def __init__(self, task: Task, settings: DualAMNSettings, chance: Chance) -> None:
        super().__init__(task, settings, chance)
        self.encoder.rule = torch.from_numpy(rule_weights(task.graph))


def rule_weights(graph: UnionGraph) -> NDArray[np.float32]:
    """The weight of each edge by rules; of several relations, the least implied one counts."""
    if len(graph.target) == 0:
        return np.empty(0, dtype=np.float32)
    directed = 2 * graph.relations
    implied = _implied(graph)
    weight = 1 / np.where(implied > 0, implied, 1)
    held = np.diff(graph.set_start)[graph.relation_set]
    first = np.cumsum(held) - held
    edge = np.repeat(np.arange(len(held)), held)
    position = np.arange(len(edge)) - first[edge]
    relation = graph.set_relation[graph.set_start[graph.relation_set[edge]] + position]
    node = np.repeat(np.arange(graph.nodes), np.diff(graph.node_relation_start))
    found = np.searchsorted(
        node * directed + graph.node_relation,
        graph.source[edge].astype(np.int64) * directed + relation,
    )
    return np.maximum.reduceat(weight[found], first).astype(np.float32)


def _implied(graph: UnionGraph) -> NDArray[np.float64]:
    """max P(r | r') over the other relations r' around the node, for each `node_relation` r."""
    relation, directed = graph.node_relation.astype(np.int64), 2 * graph.relations
    around = np.diff(graph.node_relation_start)
    count = np.repeat(around, around)
    first = np.cumsum(count) - count
    one = np.repeat(np.arange(len(relation)), count)
    node_first = np.repeat(graph.node_relation_start[:-1], around)
    other = node_first[one] + np.arange(len(one)) - first[one]
    condition, result = relation[other], relation[one]
    _, pair, together = np.unique(
        condition * directed + result, return_inverse=True, return_counts=True
    )
    nodes_with = np.bincount(relation, minlength=directed)
    probability = together[pair] / nodes_with[condition]
    probability[condition == result] = 0
    return np.maximum.reduceat(probability, first)


def make(settings: Mapping[str, Any], seed: int) -> Method:
    return Inductive(LanPlus, build(DualAMNSettings, settings, "lan+"), seed)
