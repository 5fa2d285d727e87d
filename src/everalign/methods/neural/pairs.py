"""Pairs of nodes: seeds to learn from, validation pairs to rank, candidate pairs to return.

Node i < left entities is left entity i; the nodes after them are the right entities, as in
`UnionGraph`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from everalign._progress import Progress
from everalign.graph import IntArray
from everalign.matching import CandidatePairs, find_positions
from everalign.matching.csls import find_mutual_best
from everalign.methods.base import AlignmentTask

NodeArray = NDArray[np.int64]

# More would make validation steadier, and leave fewer seeds to learn from.
HELD_OUT_SHARE = 0.1  # of the seeds, where no validation links are given
MAX_DISTRACTORS = 5000  # unlinked entities per side in the ranking: bounds its cost
CHUNK_SIZE = 4096  # pairs ranked at a time: bounds memory
# Equal vectors may differ by rounding in their similarity: ranks must not depend on it.
TIE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class ValidationPairs:
    """Validation pairs, and unlinked entities of both sides that they are ranked among.

    Attributes:
        pairs: Rows of (left node, right node).
        left_distractors: Unlinked left nodes.
        right_distractors: Unlinked right nodes.
    """

    pairs: NodeArray
    left_distractors: NodeArray
    right_distractors: NodeArray

    @staticmethod
    def sample_distractors(
        pairs: NodeArray,
        unlinked_left: IntArray,
        unlinked_right: IntArray,
        rng: np.random.Generator,
    ) -> ValidationPairs:
        """Choose a fixed sample of the unlinked nodes as distractors.

        Args:
            pairs: Rows of (left node, right node).
            unlinked_left: Left nodes to choose from.
            unlinked_right: Right nodes to choose from.
            rng: Source of random numbers.

        Returns:
            The pairs with their distractors.
        """
        left, right = (
            rng.choice(side, size=min(MAX_DISTRACTORS, len(side)), replace=False)
            for side in (unlinked_left, unlinked_right)
        )
        return ValidationPairs(pairs, left.astype(np.int64), right.astype(np.int64))

    @property
    def nodes(self) -> IntArray:
        """The nodes whose vectors `compute_mrr` needs, in its order."""
        parts = [
            self.pairs[:, 0],
            self.pairs[:, 1],
            self.left_distractors,
            self.right_distractors,
        ]
        return np.concatenate(parts).astype(np.int32)

    def compute_mrr(self, vectors: Tensor) -> float:
        """Compute the mean reciprocal rank of partners by cosine, over both directions.

        Args:
            vectors: A row for each of `nodes`.

        Returns:
            The mean reciprocal rank; 0 if there are no pairs.
        """
        if len(self.pairs) == 0:
            return 0.0
        # The order of `nodes`.
        sizes = [
            len(self.pairs),
            len(self.pairs),
            len(self.left_distractors),
            len(self.right_distractors),
        ]
        unit_vectors = torch.nn.functional.normalize(vectors, dim=1)
        left, right, left_distractors, right_distractors = torch.split(unit_vectors, sizes)
        return 0.5 * (
            _compute_one_way_mrr(left, torch.cat([right, right_distractors]))
            + _compute_one_way_mrr(right, torch.cat([left, left_distractors]))
        )


def prepare_pairs(
    task: AlignmentTask, rng: np.random.Generator
) -> tuple[NodeArray, ValidationPairs]:
    """Prepare the pairs of nodes to learn from and those to validate with.

    Args:
        task: The alignment task.
        rng: Source of random numbers.

    Returns:
        The seed pairs, and the validation pairs with their distractors.
    """
    seeds, validation = split_seeds(task)
    left, right = task.unlinked_entities()
    return seeds, ValidationPairs.sample_distractors(
        validation, left, right + task.left.entity_count, rng
    )


def split_seeds(task: AlignmentTask) -> tuple[NodeArray, NodeArray]:
    """Split the trusted links into pairs to learn from and pairs to validate with.

    Args:
        task: The alignment task.

    Returns:
        Seed pairs and validation pairs, as rows of (left node, right node). Where the task has
        no validation links, part of the seeds is held out.
    """
    node_offset = np.array([0, task.left.entity_count])
    seeds, validation = task.seeds + node_offset, task.validation + node_offset
    if len(validation) == 0:
        # Seeded by the number of seeds: every update holds out the same ones.
        order = np.random.default_rng(len(seeds)).permutation(len(seeds))
        held_out = max(1, round(HELD_OUT_SHARE * len(seeds))) if len(seeds) > 1 else 0
        validation, seeds = seeds[order[:held_out]], seeds[order[held_out:]]
    return seeds, validation


def find_candidates(
    task: AlignmentTask, vectors: NDArray[np.float32], *, neighbours: int, progress: Progress
) -> CandidatePairs:
    """Find the unlinked entities that are each other's best match by CSLS.

    Args:
        task: The alignment task.
        vectors: A row for each node of the union graph.
        neighbours: Nearest neighbours that CSLS averages over.
        progress: Called while the search runs.

    Returns:
        Candidate pairs, at most one per entity.
    """
    left_ids, right_ids = task.unlinked_entities()
    left_vectors, right_vectors = np.split(vectors, [task.left.entity_count])
    found = find_mutual_best(
        left_vectors[left_ids],
        right_vectors[right_ids],
        neighbours=neighbours,
        # Excluded before the choice, so that the runner-up can win.
        rejected=find_positions(task.rejected, left_ids, right_ids),
        progress=progress,
    )
    return CandidatePairs.from_columns(left_ids[found.left], right_ids[found.right], found.score)


def _compute_one_way_mrr(queries: Tensor, answers: Tensor) -> float:
    """The right answer to query i is answer i."""
    true_similarity = (queries * answers[: len(queries)]).sum(1, keepdim=True)
    total = 0.0
    for first in range(0, len(queries), CHUNK_SIZE):
        chunk = slice(first, first + CHUNK_SIZE)
        # Of answers that are equally near, the right one counts as first.
        better = queries[chunk] @ answers.T > true_similarity[chunk] + TIE_TOLERANCE
        total += float((1 / (better.sum(1) + 1)).sum())
    return total / len(queries)
