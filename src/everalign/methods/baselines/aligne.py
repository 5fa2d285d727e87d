"""AlignE: translations with a limit-based loss and truncated negative sampling; retrained.

Sun, Hu, Zhang, Qu: Bootstrapping Entity Alignment with Knowledge Graph Embedding. IJCAI 2018.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from everalign.config import build_settings
from everalign.methods.base import Method
from everalign.methods.baselines.base import (
    BaselineSettings,
    RetrainedMethod,
    TrainingProblem,
    normalise_rows,
    select_rows,
)
from everalign.methods.baselines.losses import compute_distances
from everalign.methods.baselines.mtranse import (
    HEAD,
    RELATION,
    TAIL,
    TranslationalModel,
    select_unit_rows,
    sum_squares,
)
from everalign.methods.baselines.negatives import EntityReplacer
from everalign.methods.neural.pairs import NodeArray
from everalign.methods.neural.training import RandomGenerators

# As published: γ1, γ2 and μ1 of the limit-based loss.
POSITIVE_LIMIT = 0.01
NEGATIVE_LIMIT = 2.0
NEGATIVE_WEIGHT = 0.2
# More batches learn more in an epoch, and cost more: every step reads the whole tables.
BATCHES_PER_EPOCH = 12


@dataclass(frozen=True)
class AlignESettings(BaselineSettings):
    """Settings of AlignE, beside those of every baseline.

    The published learning rate is 0.01, with a refresh every 10 epochs; with ten times the rate,
    a few dozen epochs do.

    Attributes:
        negatives: Negative triples per triple.
        nearest_share: Share of its graph, nearest to an entity, that replaces it in negatives.
        refresh_every: Epochs after which the nearest are searched again.
    """

    learning_rate: float = 0.1
    max_epochs: int = 40
    validate_every: int = 5
    negatives: int = 10
    nearest_share: float = 0.1
    refresh_every: int = 5


class AlignE(TranslationalModel[AlignESettings]):
    """The graphs share one space, since the members of a seed share their triples.

    Takes the arguments of `BaselineModel`.
    """

    def __init__(
        self, problem: TrainingProblem, settings: AlignESettings, random: RandomGenerators
    ) -> None:
        super().__init__(problem, settings, random)
        self.triples = add_swapped_triples(self.triples, problem.seeds)
        self._replacer = EntityReplacer(problem.shape.left_entities, problem.shape.right_entities)
        self._epoch = 0

    def iterate_losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        """Compute the limit-based loss of each batch.

        Args:
            rng: Source of random numbers.

        Yields:
            The loss of each batch.
        """
        for triples in self.iterate_triples(BATCHES_PER_EPOCH, rng):
            yield compute_limit_based_loss(*self._compute_distances(triples, rng))
        self.rescale_tables()
        self._epoch += 1
        # After rescaling, since the search for the nearest expects rows of length 1.
        if self._epoch % self.settings.refresh_every == 0:
            self._replacer.refresh_nearest(self.entity.detach(), self.settings.nearest_share, rng)

    def _compute_distances(
        self, triples: NodeArray, rng: np.random.Generator
    ) -> tuple[Tensor, Tensor]:
        """‖h + r − t‖² of the triples and of negative ones, with one end replaced."""
        is_head_replaced = rng.random(len(triples)) < 0.5
        replaced = np.where(is_head_replaced, triples[:, HEAD], triples[:, TAIL])
        replacements = self._replacer.draw_replacements(replaced, self.settings.negatives, rng)
        # The whole table, unlike in MTransE: with its negatives, a batch needs most of the rows.
        rows = normalise_rows(self.entity)
        head, tail = (select_rows(rows, torch.from_numpy(triples[:, end])) for end in (HEAD, TAIL))
        relation = select_unit_rows(self.relation, triples[:, RELATION])
        # Where a replacement should not be: h = t − r if the head is replaced, else t = h + r.
        expected = torch.where(
            torch.from_numpy(is_head_replaced)[:, None], tail - relation, head + relation
        )
        negative = compute_distances(expected, rows, torch.from_numpy(replacements), 2)
        return sum_squares(head + relation - tail), negative


def compute_limit_based_loss(positive: Tensor, negative: Tensor) -> Tensor:
    """Compute Σ [positive − γ1]₊ + μ1 · Σ [γ2 − negative]₊.

    Args:
        positive: Distances of triples, which should be at most γ1.
        negative: Distances of negative triples, which should be at least γ2.

    Returns:
        The loss, a scalar.
    """
    too_far = torch.relu(positive - POSITIVE_LIMIT).sum()
    return too_far + NEGATIVE_WEIGHT * torch.relu(NEGATIVE_LIMIT - negative).sum()


def add_swapped_triples(triples: NodeArray, seeds: NodeArray) -> NodeArray:
    """Add the triples that hold with a member of a seed in its partner's place.

    Args:
        triples: Rows of (head, relation, tail).
        seeds: Rows of (left node, right node).

    Returns:
        Distinct triples.

    Example:
        >>> add_swapped_triples(np.array([(0, 0, 1)]), np.array([(1, 4)])).tolist()
        [[0, 0, 1], [0, 0, 4]]
    """
    partners = np.concatenate([seeds, seeds[:, ::-1]])
    found = [triples]
    for end in (HEAD, TAIL):
        found.extend(_swap_end(triples, end, partners))
    return np.unique(np.concatenate(found), axis=0)


def _swap_end(triples: NodeArray, end: int, partners: NodeArray) -> list[NodeArray]:
    """The triples with a swapped head or tail, one array for each round of partners."""
    found = []
    node_count = 1 + max(triples[:, [HEAD, TAIL]].max(initial=0), partners.max(initial=0))
    while len(partners):
        # An entity may be in several seeds: each round takes one seed of each entity.
        entity, first = np.unique(partners[:, 0], return_index=True)
        partner_of = np.full(node_count, -1)
        partner_of[entity] = partners[first, 1]
        swapped = triples.copy()
        swapped[:, end] = partner_of[triples[:, end]]
        found.append(swapped[swapped[:, end] >= 0])
        partners = np.delete(partners, first, axis=0)
    return found


def make(settings: Mapping[str, Any], seed: int) -> Method:
    """Create AlignE.

    Args:
        settings: Settings that differ from the defaults of `AlignESettings`.
        seed: Random seed.

    Returns:
        The method, not fitted.

    Raises:
        ConfigError: A setting is unknown or has no valid value.
    """
    return RetrainedMethod(AlignE, build_settings(AlignESettings, settings, "aligne"), seed)
