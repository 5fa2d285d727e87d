"""Rows of a table: by their place, and by what they are near to."""

from __future__ import annotations

import torch
from torch import Tensor

from everalign.graph import IntArray

BLOCK = 2**25  # similarities computed at a time
MOST_NEAREST = 500  # kept for a row, so that the table of a large graph fits in memory


def unit(rows: Tensor) -> Tensor:
    """The same rows at length 1."""
    return torch.nn.functional.normalize(rows, dim=-1)


def gather(rows: Tensor, place: Tensor) -> Tensor:
    """Rows by their place, in the shape of `place`.

    Its gradient is far quicker than that of indexing, and sums in a fixed order.
    """
    return rows.index_select(0, place.reshape(-1)).view(*place.shape, *rows.shape[1:])


def nearest_rows(asking: Tensor, answers: Tensor, own: Tensor, count: int) -> IntArray:
    """For each row of `asking`, up to `count` rows of `answers` with the largest product.

    `own` is the row that does not count as an answer, unless there is no other; below 0, all
    count. The order is any.
    """
    count = min(count, MOST_NEAREST, max(len(answers) - 1, 1))
    found = torch.empty((len(asking), count), dtype=torch.int32)
    chunk = max(1, BLOCK // max(len(answers), 1))
    for first in range(0, len(asking), chunk):
        part = slice(first, first + chunk)
        similarity = asking[part] @ answers.T
        has_own = (own[part] >= 0).nonzero().squeeze(1)
        similarity[has_own, own[part][has_own]] = -torch.inf
        found[part] = similarity.topk(count, dim=1, sorted=False).indices
    return found.numpy()
