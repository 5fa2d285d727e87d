"""LAN+: MEAN+ with neighbours weighted by logic rules and by attention; inductive.

Wang, Han, Li, Pan: Logic Attention Based Neighborhood Aggregation for Inductive Knowledge Graph
Embedding. AAAI 2019.

There a neighbour weighs more the more its relation implies the relation of the query, and less
the more other relations around the node imply its own. Alignment has no query relation, so the
first half falls away: a neighbour weighs 1 / max P(r | r') over the other relations r' around the
node, from how often relations occur together in the graph. Attention likewise depends on the
relation only. Both weights sum to 1 at each node, and count half.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from everalign.config import build_settings
from everalign.graph import UnionGraph
from everalign.methods.base import Method
from everalign.methods.baselines.base import InductiveMethod, TrainingProblem
from everalign.methods.baselines.dual_amn import DualAMNSettings
from everalign.methods.baselines.mean_plus import MeanEncoder, MeanPlus
from everalign.methods.neural.operators import NodeSubset, project_neighbours
from everalign.methods.neural.training import RandomGenerators


class LANEncoder(MeanEncoder):
    """The encoder with weighted projected neighbours as inputs of the entity view.

    `logic_weight` is the weight of each edge by rules, `focus` the attention vector.
    """

    logic_weight: Tensor

    def __init__(
        self, node_count: int, directed_relation_count: int, *, dim: int, **others: Any
    ) -> None:
        super().__init__(node_count, directed_relation_count, dim=dim, **others)
        # At zero, all edges have the same attention.
        self.focus = nn.Parameter(torch.zeros(dim))

    def average_projected(
        self,
        table: Tensor,
        graph: UnionGraph,
        subset: NodeSubset,
        edge_factor: Tensor | float = 1.0,
    ) -> Tensor:
        """Compute the mean of both weightings of each node's projected neighbours.

        Args:
            table: Entity embeddings.
            graph: The union graph.
            subset: Wanted nodes.
            edge_factor: Weight of each edge.

        Returns:
            A row for each node of the subset.
        """
        by_logic = super().average_projected(table, graph, subset, edge_factor * self.logic_weight)
        rho = self.compute_set_directions(graph)
        by_attention = project_neighbours(table, rho, self.focus, graph, subset, edge_factor)
        return (by_logic + by_attention) / 2


class LANPlus(MeanPlus):
    """MEAN+ with the logic rules of its graphs.

    Takes the arguments of `BaselineModel`.
    """

    encoder_class = LANEncoder
    encoder: LANEncoder

    def __init__(
        self, problem: TrainingProblem, settings: DualAMNSettings, random: RandomGenerators
    ) -> None:
        super().__init__(problem, settings, random)
        # Neither parameter nor buffer: it follows from the graphs, and is not saved.
        self.encoder.logic_weight = torch.from_numpy(compute_logic_weights(problem.graph))


def compute_logic_weights(graph: UnionGraph) -> NDArray[np.float32]:
    """Compute the weight of each edge by logic rules.

    Args:
        graph: The union graph.

    Returns:
        1 / max P(r | r') for each edge; of several relations r, the least implied one counts.
    """
    if len(graph.target) == 0:
        return np.empty(0, dtype=np.float32)
    directed_count = 2 * graph.relation_count
    implied = _compute_implied_probability(graph)
    # Where nothing implies a relation, it is the only one of its node, and any weight will do.
    weight = 1 / np.where(implied > 0, implied, 1)
    # One entry per edge and relation of its set; `first` is where the entries of an edge begin.
    set_size = np.diff(graph.set_start)[graph.relation_set]
    first = np.cumsum(set_size) - set_size
    edge = np.repeat(np.arange(len(set_size)), set_size)
    position = np.arange(len(edge)) - first[edge]
    relation = graph.set_relation[graph.set_start[graph.relation_set[edge]] + position]
    # The pairs (node, relation) of `node_relation` are sorted: an entry is found by search.
    node = np.repeat(np.arange(graph.node_count), np.diff(graph.node_relation_start))
    found = np.searchsorted(
        node * directed_count + graph.node_relation,
        graph.source[edge].astype(np.int64) * directed_count + relation,
    )
    return np.maximum.reduceat(weight[found], first).astype(np.float32)


def _compute_implied_probability(graph: UnionGraph) -> NDArray[np.float64]:
    """max P(r | r') over the other relations r' around the node, for each `node_relation` r."""
    relation, directed_count = graph.node_relation.astype(np.int64), 2 * graph.relation_count
    relations_of_node = np.diff(graph.node_relation_start)
    # All ordered pairs of relations around a node; `first` is where those of an r begin.
    pair_count = np.repeat(relations_of_node, relations_of_node)
    first = np.cumsum(pair_count) - pair_count
    result_row = np.repeat(np.arange(len(relation)), pair_count)
    node_first = np.repeat(graph.node_relation_start[:-1], relations_of_node)
    condition_row = node_first[result_row] + np.arange(len(result_row)) - first[result_row]
    condition, result = relation[condition_row], relation[result_row]
    _, pair, co_occurrences = np.unique(
        condition * directed_count + result, return_inverse=True, return_counts=True
    )
    occurrences = np.bincount(relation, minlength=directed_count)
    probability = co_occurrences[pair] / occurrences[condition]
    # P(r | r) is 1 and would hide all others.
    probability[condition == result] = 0
    return np.maximum.reduceat(probability, first)


def make(settings: Mapping[str, Any], seed: int) -> Method:
    """Create LAN+.

    Args:
        settings: Settings that differ from the defaults of `DualAMNSettings`.
        seed: Random seed.

    Returns:
        The method, not fitted.

    Raises:
        ConfigError: A setting is unknown or has no valid value.
    """
    return InductiveMethod(LANPlus, build_settings(DualAMNSettings, settings, "lan+"), seed)
