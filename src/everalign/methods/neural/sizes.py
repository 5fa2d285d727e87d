"""How many entities and relations the encoder knows, and where they stand in its tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from everalign.methods.neural.training import Nodes
from everalign.methods.protocol import Problem


class Sizes(NamedTuple):
    """How many entities and relations the encoder knows, and where they stand in its tables."""

    left_entities: int
    right_entities: int
    left_relations: int
    right_relations: int

    @staticmethod
    def of(problem: Problem) -> Sizes:
        left, right = problem.left, problem.right
        return Sizes(left.entities, right.entities, left.relations, right.relations)

    @property
    def nodes(self) -> int:
        return self.left_entities + self.right_entities

    @property
    def directed(self) -> int:
        return 2 * (self.left_relations + self.right_relations)

    def nodes_in(self, later: Sizes) -> Nodes:
        """Where these nodes stand once there are more."""
        right = later.left_entities + np.arange(self.right_entities)
        return np.concatenate([np.arange(self.left_entities), right])

    def directed_in(self, later: Sizes) -> Nodes:
        """Where these directed relations stand once there are more."""
        right = later.left_relations + np.arange(self.right_relations)
        forward = np.concatenate([np.arange(self.left_relations), right])
        return np.concatenate([forward, forward + later.directed // 2])
