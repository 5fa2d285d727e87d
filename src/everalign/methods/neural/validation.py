"""How good the vectors are, judged by the validation pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from everalign.graph import IntArray

DISTRACTORS = 5000
CHUNK = 4096  # pairs ranked at a time
TIE = 1e-6  # what rounding may add to a similarity


@dataclass(frozen=True)
class Validation:
    """Validation pairs, and free entities of both sides that they are ranked among."""

    pairs: NDArray[np.int64]
    left_others: NDArray[np.int64]
    right_others: NDArray[np.int64]

    @staticmethod
    def draw(
        pairs: NDArray[np.int64],
        free_left: IntArray,
        free_right: IntArray,
        rng: np.random.Generator,
    ) -> Validation:
        """Validation among a fixed sample of the free nodes, so that its cost is bounded."""
        left, right = (
            rng.choice(side, size=min(DISTRACTORS, len(side)), replace=False)
            for side in (free_left, free_right)
        )
        return Validation(pairs, left.astype(np.int64), right.astype(np.int64))

    @property
    def nodes(self) -> IntArray:
        """The nodes whose vectors `score` wants, in its order."""
        parts = [self.pairs[:, 0], self.pairs[:, 1], self.left_others, self.right_others]
        return np.concatenate(parts).astype(np.int32)

    def score(self, vectors: Tensor) -> float:
        """The mean reciprocal rank of the pairs' members for each other (no pairs: 0)."""
        if len(self.pairs) == 0:
            return 0.0
        sizes = [len(self.pairs), len(self.pairs), len(self.left_others), len(self.right_others)]
        unit = torch.nn.functional.normalize(vectors, dim=1)
        left, right, left_others, right_others = torch.split(unit, sizes)
        return 0.5 * (
            _mean_reciprocal_rank(left, torch.cat([right, right_others]))
            + _mean_reciprocal_rank(right, torch.cat([left, left_others]))
        )


def _mean_reciprocal_rank(queries: Tensor, answers: Tensor) -> float:
    """Query i's right answer is answer i."""
    truth = (queries * answers[: len(queries)]).sum(1, keepdim=True)
    total = 0.0
    for first in range(0, len(queries), CHUNK):
        part = slice(first, first + CHUNK)
        rank = (queries[part] @ answers.T > truth[part] + TIE).sum(1) + 1
        total += float((1 / rank).sum())
    return total / len(queries)
