"""GCN-Align: two graph convolutions over entity embeddings (its structure channel); retrained.

Wang, Lv, Lan, Zhang: Cross-lingual Knowledge Graph Alignment via Graph Convolutional Networks.
EMNLP 2018.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from everalign.config import build_settings
from everalign.graph import IntArray, UnionGraph
from everalign.methods.base import Method
from everalign.methods.baselines.base import (
    BaselineModel,
    BaselineSettings,
    RetrainedMethod,
    TrainingProblem,
    normalise_rows,
)
from everalign.methods.baselines.convolution import build_mean_adjacency
from everalign.methods.baselines.losses import compute_margin_ranking_loss
from everalign.methods.baselines.negatives import PartnerSampler
from everalign.methods.neural.training import RandomGenerators

MIN_FUNCTIONALITY = 0.3  # of any relation, as in the authors' code


@dataclass(frozen=True)
class GCNAlignSettings(BaselineSettings):
    """Settings of GCN-Align, beside those of every baseline.

    More and nearer negatives than published (5, new every 10 epochs), and Adam.

    Attributes:
        margin: Margin of the loss.
        negatives: Wrong partners per member of a seed pair.
        nearest_share: Share of the other side, nearest to a member, that they are drawn from.
        refresh_every: Epochs after which the nearest are searched again.
    """

    learning_rate: float = 0.1
    max_epochs: int = 150
    # On validation links, margins of 1 and 6 were worse, and 100 negatives hardly better than 25.
    margin: float = 3.0
    negatives: int = 25
    nearest_share: float = 0.02
    refresh_every: int = 10


class GCNAlign(BaselineModel[GCNAlignSettings]):
    """A·ReLU(A·X), with the rows of X scaled to length 1; A is mean aggregation.

    Takes the arguments of `BaselineModel`.
    """

    def __init__(
        self, problem: TrainingProblem, settings: GCNAlignSettings, random: RandomGenerators
    ) -> None:
        super().__init__(problem, settings, random)
        shape = (problem.shape.node_count, settings.dim)
        self.entity = nn.Parameter(torch.randn(shape, generator=random.torch))
        functionality = compute_edge_functionality(problem.graph)
        self._adjacency = build_mean_adjacency(problem.graph, functionality)
        self._sampler = PartnerSampler(
            problem, settings.negatives, settings.nearest_share, settings.refresh_every
        )

    def iterate_losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        """Compute the margin ranking loss of all seeds.

        Args:
            rng: Source of random numbers.

        Yields:
            One loss, if there are seeds.
        """
        if len(self.problem.seeds) > 0:
            vectors = self._convolve_all()
            pairs = self._sampler.draw_negatives(vectors, rng)
            yield compute_margin_ranking_loss(vectors, pairs, self.settings.margin)

    def compute_vectors(self, nodes: IntArray) -> Tensor:
        """Compute the vectors of some nodes.

        Args:
            nodes: Nodes of the union graph.

        Returns:
            A row for each node.
        """
        return self._convolve_all()[torch.from_numpy(nodes).long()]

    def _convolve_all(self) -> Tensor:
        # On validation links, tanh and no activation were worse, as were outputs of length 1.
        hidden = torch.relu(self._adjacency.aggregate_rows(normalise_rows(self.entity)))
        return self._adjacency.aggregate_rows(hidden)


def compute_edge_functionality(graph: UnionGraph) -> NDArray[np.float32]:
    """Compute how well each edge's relations determine its target.

    The inverse functionality of a relation is its number of distinct targets per edge; an edge
    of several relations has their sum.

    Args:
        graph: The union graph.

    Returns:
        A weight for each edge.
    """
    member_set = np.repeat(np.arange(graph.set_count), np.diff(graph.set_start))
    edges_of_set = np.diff(graph.by_set_start)
    edge_count = np.bincount(
        graph.set_relation, edges_of_set[member_set], 2 * graph.relation_count
    )
    # `node_relation` has a relation once per node: its occurrences are its distinct sources.
    source_count = np.bincount(graph.node_relation, minlength=2 * graph.relation_count)
    # The targets of a relation are the sources of its inverse, half a table away.
    target_count = np.roll(source_count, graph.relation_count)
    functionality = np.maximum(target_count / np.maximum(edge_count, 1), MIN_FUNCTIONALITY)
    set_weight = np.bincount(member_set, functionality[graph.set_relation], graph.set_count)
    return set_weight[graph.relation_set].astype(np.float32)


def make(settings: Mapping[str, Any], seed: int) -> Method:
    """Create GCN-Align.

    Args:
        settings: Settings that differ from the defaults of `GCNAlignSettings`.
        seed: Random seed.

    Returns:
        The method, not fitted.

    Raises:
        ConfigError: A setting is unknown or has no valid value.
    """
    return RetrainedMethod(GCNAlign, build_settings(GCNAlignSettings, settings, "gcn-align"), seed)
