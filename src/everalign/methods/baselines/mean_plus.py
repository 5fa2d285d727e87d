"""MEAN+: an entity is the mean of its projected neighbours, in front of Dual-AMN; learned once.

Hamaguchi, Oiwa, Shimbo, Matsumoto: Knowledge Transfer for Out-of-Knowledge-Base Entities: A Graph
Neural Network Approach. IJCAI 2017. As in LAN's paper, a relation transforms a neighbour e to
e − (w·e) w, with w its unit vector; w is the direction that Dual-AMN's layers reflect along.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from everalign.config import build
from everalign.graph import UnionGraph
from everalign.methods.baselines.dual_amn import DualAMN, DualAMNSettings
from everalign.methods.baselines.inductive import Inductive
from everalign.methods.neural.encoder import Encoder
from everalign.methods.neural.growth import rings
from everalign.methods.neural.operators import Reach, project
from everalign.methods.protocol import Method


class MeanEncoder(Encoder):
    """The encoder whose entity view starts from projected neighbours.

    The node itself is one more member of the mean, as in Dual-AMN: validation prefers it.
    """

    def gather(self, table: Tensor, graph: UnionGraph, reach: Reach) -> Tensor:
        degree = torch.from_numpy(np.diff(graph.start)[reach.nodes].astype(np.float32))[:, None]
        own = table[torch.from_numpy(reach.nodes).long()]
        return (degree * self.around(table, graph, reach) + own) / (degree + 1)

    def around(
        self, table: Tensor, graph: UnionGraph, reach: Reach, share: Tensor | float = 1.0
    ) -> Tensor:
        """The mean of each node's projected neighbours, weighted by the share of their edges."""
        even = table.new_zeros(table.shape[1])
        return project(table, self.relation_sets(graph), even, graph, reach, share)


class MeanPlus(DualAMN):
    """Dual-AMN on neighbours; a new entity's row is what the known ones around it give."""

    encoder_kind: type[MeanEncoder] = MeanEncoder
    encoder: MeanEncoder

    @torch.no_grad()
    def start_new(self, known: NDArray[np.bool_]) -> None:
        table, graph = self.encoder.entity, self.task.graph
        for ring, border in rings(graph, known):
            share = torch.from_numpy(border.astype(np.float32))
            table[torch.from_numpy(ring).long()] = self.encoder.around(
                table, graph, Reach.of(graph, ring), share
            )


def make(settings: Mapping[str, Any], seed: int) -> Method:
    return Inductive(MeanPlus, build(DualAMNSettings, settings, "mean+"), seed)
