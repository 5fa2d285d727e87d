"""From vectors to candidates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign.matching import Candidates, mutual_best
from everalign.methods.protocol import Problem
from everalign.progress import Progress


def nearest_pairs(
    problem: Problem, vectors: NDArray[np.float32], *, neighbours: int, progress: Progress
) -> Candidates:
    """The free entities that are each other's nearest, by the vectors of all nodes."""
    left, right = problem.free()
    of_left, of_right = np.split(vectors, [problem.left.entities])
    pairs = mutual_best(of_left[left], of_right[right], neighbours=neighbours, progress=progress)
    return Candidates.of(left[pairs.left], right[pairs.right], pairs.score)
