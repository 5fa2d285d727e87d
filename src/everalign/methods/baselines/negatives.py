"""Negative sampling: wrong partners for seed pairs, replacements for entities in triples.

Uniform negatives are soon too easy. Truncated negative sampling draws them from the nearest
entities only (Sun et al., IJCAI 2018); here the nearest are found again every few epochs.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from everalign.graph import IntArray
from everalign.methods.baselines.base import TrainingProblem, normalise_rows
from everalign.methods.baselines.losses import ComparedPairs
from everalign.methods.neural.pairs import NodeArray

BLOCK_SIZE = 2**25  # similarities computed at a time: bounds memory
MAX_NEAREST = 500  # kept for a row, so that the table of a large graph fits in memory
# Entities that an entity's nearest are searched among in a large graph: with all of them, the
# cost would grow with its square.
MAX_SEARCHED = 20_000


class PartnerSampler:
    """Draws wrong partners for seed pairs, new ones every epoch.

    Args:
        problem: The training problem.
        negatives: Wrong partners per member of a pair.
        nearest_share: Share of the other side's entities, nearest to the member, that wrong
            partners are drawn from; 0 draws from all.
        refresh_every: Epochs after which the nearest are searched again.
    """

    def __init__(
        self,
        problem: TrainingProblem,
        negatives: int,
        nearest_share: float = 0.0,
        refresh_every: int = 1,
    ) -> None:
        self.negatives, self.nearest_share = negatives, nearest_share
        self.refresh_every = refresh_every
        self._pairs = problem.seeds
        self._left_count = problem.shape.left_entities
        left, right = problem.seeds.T
        self._left_side = _Side(left, self._left_count)
        self._right_side = _Side(right - self._left_count, problem.shape.right_entities)
        self._epoch = 0

    def draw_negatives(self, vectors: Tensor, rng: np.random.Generator) -> ComparedPairs:
        """Draw the wrong partners of the next epoch.

        Args:
            vectors: The vectors of all nodes as they are now.
            rng: Source of random numbers.

        Returns:
            All seed pairs with their negatives.
        """
        # In the first epoch, vectors are random, and so would be the nearest.
        if self.nearest_share > 0 and self._epoch > 0 and self._epoch % self.refresh_every == 0:
            self._refresh_nearest(normalise_rows(vectors.detach()))
        self._epoch += 1
        left, right = torch.from_numpy(self._pairs).T
        negative_right = self._right_side.draw_entities(self.negatives, rng) + self._left_count
        negative_left = self._left_side.draw_entities(self.negatives, rng)
        return ComparedPairs(left, right, negative_right, negative_left)

    def _refresh_nearest(self, unit_vectors: Tensor) -> None:
        left_table, right_table = torch.tensor_split(unit_vectors, [self._left_count])
        left, right = self._left_side.members, self._right_side.members
        self._right_side.find_nearest(left_table[left], right_table, self.nearest_share)
        self._left_side.find_nearest(right_table[right], left_table, self.nearest_share)


class _Side:
    """The entities of one graph, of which each pair's own member is no negative.

    Where a graph has one entity only, there is no other: it is its own negative.
    """

    def __init__(self, members: NodeArray, entity_count: int) -> None:
        self.members, self.entity_count = torch.from_numpy(members), entity_count
        self._nearest: IntArray | None = None

    def find_nearest(self, queries: Tensor, table: Tensor, share: float) -> None:
        """Draw from the nearest `share` from now on."""
        count = max(round(share * self.entity_count), 1)
        self._nearest = find_nearest_rows(queries, table, self.members, count)

    def draw_entities(self, count: int, rng: np.random.Generator) -> Tensor:
        """Draw negatives, a row per pair."""
        shape = (len(self.members), count)
        if self._nearest is not None:
            choice = rng.integers(0, self._nearest.shape[1], shape)
            nearest = np.take_along_axis(self._nearest, choice, axis=1)
            return torch.from_numpy(nearest.astype(np.int64))
        entities = torch.from_numpy(rng.integers(0, max(self.entity_count - 1, 1), shape))
        # One of n − 1 numbers, those from the member on moved up by one: any but the member.
        return (entities + (entities >= self.members[:, None])).clamp(max=self.entity_count - 1)


class EntityReplacer:
    """Draws entities that replace another one in a negative triple, always of the same graph.

    At first that is any entity of the graph; after `refresh_nearest`, one of the nearest.

    Args:
        left_count: Number of left entities.
        right_count: Number of right entities.
    """

    def __init__(self, left_count: int, right_count: int) -> None:
        sides = [left_count, right_count]
        # Per node: the first node it may be replaced by, and the number of choices.
        self._first: NodeArray = np.repeat([0, left_count], sides)
        self._choices: NodeArray = np.repeat(sides, sides)
        self._bounds = [(0, left_count), (left_count, left_count + right_count)]
        self._nearest: IntArray | None = None

    def draw_replacements(
        self, replaced: NodeArray, count: int, rng: np.random.Generator
    ) -> NodeArray:
        """Draw replacements.

        Args:
            replaced: Nodes to replace.
            count: Replacements for each.
            rng: Source of random numbers.

        Returns:
            Nodes, a row for each of `replaced`.
        """
        # Uniform numbers, scaled: the number of choices differs between the graphs.
        position = rng.random((len(replaced), count))
        choice = (position * self._choices[replaced, None]).astype(np.int64)
        if self._nearest is None:
            choice += self._first[replaced, None]
            return choice
        nearest: NodeArray = self._nearest[replaced[:, None], choice].astype(np.int64)
        return nearest

    def refresh_nearest(
        self, unit_vectors: Tensor, share: float, rng: np.random.Generator
    ) -> None:
        """Draw from the nearest entities of each graph from now on.

        Args:
            unit_vectors: A row of length 1 for each node.
            share: Share of the graph that counts as near.
            rng: Source of random numbers.
        """
        sides = [
            _find_nearest_in_side(unit_vectors[first:end], share, rng) + first
            for first, end in self._bounds
        ]
        self._choices = np.repeat([side.shape[1] for side in sides], [len(side) for side in sides])
        # One table for both sides: the rows of the smaller side are padded and never read there.
        width = max(side.shape[1] for side in sides)
        self._nearest = np.concatenate(
            [np.pad(side, ((0, 0), (0, width - side.shape[1]))) for side in sides]
        )


def find_nearest_rows(queries: Tensor, table: Tensor, excluded: Tensor, count: int) -> IntArray:
    """Find the rows of a table with the largest dot product.

    Args:
        queries: A vector per row.
        table: Vectors to search among.
        excluded: The row that is no answer to each query, unless there is no other; below 0,
            all rows are.
        count: Answers to each query, at most `MAX_NEAREST`.

    Returns:
        The nearest rows of each query, in no particular order.
    """
    # One less than the table has, so that the excluded row is not among the answers.
    count = min(count, MAX_NEAREST, max(len(table) - 1, 1))
    nearest = torch.empty((len(queries), count), dtype=torch.int32)
    chunk_size = max(1, BLOCK_SIZE // max(len(table), 1))
    for first in range(0, len(queries), chunk_size):
        chunk = slice(first, first + chunk_size)
        similarity = queries[chunk] @ table.T
        has_excluded = (excluded[chunk] >= 0).nonzero().squeeze(1)
        similarity[has_excluded, excluded[chunk][has_excluded]] = -torch.inf
        # Not sorted: negatives are drawn from all of them alike.
        nearest[chunk] = similarity.topk(count, dim=1, sorted=False).indices
    return nearest.numpy()


def _find_nearest_in_side(
    unit_vectors: Tensor, share: float, rng: np.random.Generator
) -> IntArray:
    """The nearest others of each entity, at least one; itself where it is alone."""
    searched = np.arange(len(unit_vectors))
    if len(searched) > MAX_SEARCHED:
        searched = np.sort(rng.choice(searched, MAX_SEARCHED, replace=False))
    # An entity that is not searched among has no row to exclude: −1.
    own_row = np.full(len(unit_vectors), -1)
    own_row[searched] = np.arange(len(searched))
    found = find_nearest_rows(
        unit_vectors,
        unit_vectors[torch.from_numpy(searched)],
        torch.from_numpy(own_row),
        max(int(share * len(searched)), 1),
    )
    nearest: IntArray = searched[found].astype(np.int32)
    return nearest
