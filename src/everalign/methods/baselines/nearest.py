"""The nearest rows of a table, without the whole matrix of similarities."""

from __future__ import annotations

import torch
from torch import Tensor

from everalign.graph import IntArray

CHUNK = 1024  # rows compared at a time


def nearest_rows(asking: Tensor, answers: Tensor, own: Tensor, count: int) -> IntArray:
    """For each row of `asking`, `count` rows of `answers` with the largest product, in any order.

    `own` is the row that does not count as an answer, unless there is no other.
    """
    count = min(count, len(answers))
    found = torch.empty((len(asking), count), dtype=torch.int32)
    for first in range(0, len(asking), CHUNK):
        part = slice(first, first + CHUNK)
        similarity = asking[part] @ answers.T
        similarity.scatter_(1, own[part, None], -torch.inf)
        found[part] = similarity.topk(count, dim=1, sorted=False).indices
    return found.numpy()
