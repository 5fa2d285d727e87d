"""What translational methods share: h + r ≈ t for every triple, on rows of length 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from everalign.graph import IntArray, union_triples
from everalign.methods.baselines.rows import gather, unit
from everalign.methods.baselines.static import SettingsT, Static, Task
from everalign.methods.neural.chance import Chance
from everalign.methods.neural.training import Nodes, shuffled


class Translational(Static[SettingsT]):
    """A row for each node and for each relation; only their directions count."""

    def __init__(self, task: Task, settings: SettingsT, chance: Chance) -> None:
        super().__init__(task, settings, chance)
        sizes, dim, generator = task.sizes, settings.dim, chance.torch
        self.entity = nn.Parameter(unit(torch.randn(sizes.nodes, dim, generator=generator)))
        self.relation = nn.Parameter(unit(torch.randn(sizes.directed, dim, generator=generator)))
        self.triples = union_triples(task.problem.left, task.problem.right)

    def vectors(self, nodes: IntArray) -> Tensor:
        return unit_rows(self.entity, nodes.astype(np.int64))

    def learner(self) -> torch.optim.Optimizer:
        # Fused: most rows of a step have no gradient, so its cost is that of walking the tables.
        return torch.optim.Adagrad(self.parameters(), lr=self.settings.learning_rate, fused=True)

    def batches(self, count: int, rng: np.random.Generator) -> Iterator[Nodes]:
        """All triples in random order, in so many batches.

        A step walks the whole tables: with batches of one size, an epoch's cost would grow with
        the square of the graphs.
        """
        return shuffled(self.triples, max(1, -(-len(self.triples) // count)), rng)

    def shorten(self) -> None:
        """Bring all rows back to length 1.

        A step along the unit sphere makes a row longer, and the next one turn it less.
        """
        with torch.no_grad():
            for table in (self.entity, self.relation):
                table.copy_(unit(table))


def unit_rows(table: Tensor, ids: Nodes) -> Tensor:
    """The rows of a table that `ids` (of any shape) names, each of length 1."""
    distinct, place = np.unique(ids, return_inverse=True)
    rows = unit(table.index_select(0, torch.from_numpy(distinct)))
    return gather(rows, torch.from_numpy(place.reshape(ids.shape)))


def squared(difference: Tensor) -> Tensor:
    """The squared length of each row."""
    return difference.square().sum(-1)
