"""Who is held to be whom, and how surely: the matches that evidence rests on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.methods.evidence.side import Floats, Starts


class Matches(NamedTuple):
    """The counterparts of entity x of one side: from `start[x]` to `start[x + 1]`."""

    start: Starts
    other: IntArray
    probability: Floats


class Both(NamedTuple):
    """The same matches, asked from the left and from the right."""

    left: Matches
    right: Matches


def matches_of(
    left: NDArray[np.integer],
    right: NDArray[np.integer],
    probability: NDArray[np.floating],
    sizes: tuple[int, int],
) -> Both:
    """Matches from rows in any order.

    >>> both = matches_of(np.array([2, 0]), np.array([0, 1]), np.array([0.5, 1]), (3, 2))
    >>> both.left.other.tolist(), both.right.other.tolist()
    ([1, 0], [2, 0])
    """
    return Both(
        _from_one_side(left, right, probability, sizes[0]),
        _from_one_side(right, left, probability, sizes[1]),
    )


def _from_one_side(
    one: NDArray[np.integer],
    other: NDArray[np.integer],
    probability: NDArray[np.floating],
    entities: int,
) -> Matches:
    order = np.lexsort((other, one))
    start = np.zeros(entities + 1, dtype=np.int64)
    np.cumsum(np.bincount(one, minlength=entities), out=start[1:])
    return Matches(start, other[order].astype(np.int32), probability[order].astype(np.float32))
