"""A static method: parameters, the losses they learn from, and the vectors they give."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from everalign.graph import IntArray, UnionGraph, unite
from everalign.methods.baselines.settings import BaselineSettings
from everalign.methods.neural.chance import Chance
from everalign.methods.neural.growth import inductive_start
from everalign.methods.neural.sizes import Sizes
from everalign.methods.neural.training import Nodes
from everalign.methods.protocol import Problem

SettingsT = TypeVar("SettingsT", bound=BaselineSettings)


@dataclass(frozen=True)
class Task:
    """The two graphs as one, and the pairs of nodes to learn from."""

    problem: Problem
    seeds: Nodes

    def is_of(self, problem: Problem) -> bool:
        """Whether this is about the graphs of the problem."""
        return self.problem.left is problem.left and self.problem.right is problem.right

    @cached_property
    def graph(self) -> UnionGraph:
        return unite(self.problem.left, self.problem.right)

    @cached_property
    def sizes(self) -> Sizes:
        return Sizes.of(self.problem)


class Static(nn.Module, ABC, Generic[SettingsT]):
    """What a baseline says of itself; everything else is the same for all.

    A subclass makes its parameters in `__init__`, drawn from `chance.torch` only. A parameter
    named `entity` has a row for each node, one named `relation` a row for each directed
    relation: `take_over` relies on it.
    """

    def __init__(self, task: Task, settings: SettingsT, chance: Chance) -> None:
        super().__init__()
        self.task, self.settings, self.chance = task, settings, chance

    @abstractmethod
    def losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        """The losses of one epoch, batch by batch; none where there is nothing to learn from."""

    @abstractmethod
    def vectors(self, nodes: IntArray) -> Tensor:
        """The vectors of some nodes, as they are now."""

    def learner(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=self.settings.learning_rate, fused=True)

    def learner_with(self, rate: float) -> torch.optim.Optimizer:
        """Adam, with a rate of its own for all but the table `entity`.

        Rows that are scaled to length 1 need a large rate to turn, at which maps and gates are
        thrown about.
        """
        named = dict(self.named_parameters())
        table = {"params": [named.pop("entity")], "lr": self.settings.learning_rate}
        return torch.optim.Adam([table, {"params": list(named.values()), "lr": rate}], fused=True)

    def all_vectors(self) -> Tensor:
        """The vectors of all nodes, without gradients."""
        with torch.no_grad():
            return self.vectors(np.arange(self.task.sizes.nodes, dtype=np.int32))

    def start_new(self, known: NDArray[np.bool_]) -> None:
        """Fill the rows of `entity` of unknown nodes; only an inductive method needs it."""
        inductive_start(self.task.graph, self.get_parameter("entity").detach().numpy(), known)
