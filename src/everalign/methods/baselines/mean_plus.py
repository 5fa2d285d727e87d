"""MEAN+: an entity is the mean of its projected neighbours, in front of Dual-AMN; inductive.

Hamaguchi, Oiwa, Shimbo, Matsumoto: Knowledge Transfer for Out-of-Knowledge-Base Entities: A Graph
Neural Network Approach. IJCAI 2017.

As in the paper of LAN, a relation transforms a neighbour e to e − (w·e) w, with w its unit
vector; w is the direction that Dual-AMN's layers reflect along.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from everalign.config import build_settings
from everalign.graph import UnionGraph
from everalign.methods.base import Method
from everalign.methods.baselines.base import InductiveMethod
from everalign.methods.baselines.dual_amn import DualAMN, DualAMNSettings
from everalign.methods.neural.encoder import Encoder
from everalign.methods.neural.initialisation import iterate_rings
from everalign.methods.neural.operators import NodeSubset, project_neighbours


class MeanEncoder(Encoder):
    """The encoder with projected neighbours as inputs of the entity view."""

    def aggregate_entities(self, table: Tensor, graph: UnionGraph, subset: NodeSubset) -> Tensor:
        """Compute the mean of each node and its projected neighbours.

        Args:
            table: Entity embeddings.
            graph: The union graph.
            subset: Wanted nodes.

        Returns:
            A row for each node of the subset.
        """
        degree = torch.from_numpy(np.diff(graph.start)[subset.nodes].astype(np.float32))[:, None]
        own_rows = table[torch.from_numpy(subset.nodes).long()]
        # The node itself is one more member of the mean, as in Dual-AMN: best on validation.
        return (degree * self.average_projected(table, graph, subset) + own_rows) / (degree + 1)

    def average_projected(
        self,
        table: Tensor,
        graph: UnionGraph,
        subset: NodeSubset,
        edge_factor: Tensor | float = 1.0,
    ) -> Tensor:
        """Compute the weighted mean of each node's projected neighbours.

        Args:
            table: Entity embeddings.
            graph: The union graph.
            subset: Wanted nodes.
            edge_factor: Weight of each edge.

        Returns:
            A row for each node of the subset.
        """
        # Attention along the zero vector is the same for all edges.
        no_attention = table.new_zeros(table.shape[1])
        rho = self.compute_set_directions(graph)
        return project_neighbours(table, rho, no_attention, graph, subset, edge_factor)


class MeanPlus(DualAMN):
    """Dual-AMN on projected neighbours.

    Takes the arguments of `BaselineModel`.
    """

    encoder_class: type[MeanEncoder] = MeanEncoder
    encoder: MeanEncoder

    @torch.no_grad()
    def initialise_new_entities(self, is_known: NDArray[np.bool_]) -> None:
        """Initialise unknown entities with the mean of their projected known neighbours.

        Args:
            is_known: Which nodes are known.
        """
        table, graph = self.encoder.entity, self.problem.graph
        for ring, is_border in iterate_rings(graph, is_known):
            # The other edges lead to entities that have no vector yet: their factor is 0.
            border_factor = torch.from_numpy(is_border.astype(np.float32))
            table[torch.from_numpy(ring).long()] = self.encoder.average_projected(
                table, graph, NodeSubset.from_nodes(graph, ring), border_factor
            )


def make(settings: Mapping[str, Any], seed: int) -> Method:
    """Create MEAN+.

    Args:
        settings: Settings that differ from the defaults of `DualAMNSettings`.
        seed: Random seed.

    Returns:
        The method, not fitted.

    Raises:
        ConfigError: A setting is unknown or has no valid value.
    """
    return InductiveMethod(MeanPlus, build_settings(DualAMNSettings, settings, "mean+"), seed)
