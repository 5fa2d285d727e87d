"""Sets of ids as sorted arrays.

NumPy's own functions on sets go through a hash table, which takes several times as long as sorting
for the few thousand ids of an update, and ten times for more.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Integer = TypeVar("Integer", bound=np.integer)


def unique_ids(ids: NDArray[Integer]) -> NDArray[Integer]:
    """Sort ids, each once.

    Args:
        ids: Any ids, in an array of any shape.

    Returns:
        The distinct ids, ascending.

    Example:
        >>> unique_ids(np.array([3, 1, 3])).tolist()
        [1, 3]
    """
    ordered = np.sort(ids, axis=None)
    is_first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def union_ids(ids: NDArray[Integer], others: NDArray[Integer]) -> NDArray[Integer]:
    """Unite two sets.

    Args:
        ids: Any ids.
        others: Any other ids.

    Returns:
        The distinct ids of both, ascending.

    Example:
        >>> union_ids(np.array([5, 1]), np.array([1])).tolist()
        [1, 5]
    """
    return unique_ids(np.concatenate([ids, others]))


def subtract_ids(ids: NDArray[Integer], others: NDArray[np.integer]) -> NDArray[Integer]:
    """Leave out the ids of another set.

    Args:
        ids: Any ids.
        others: Those to leave out.

    Returns:
        The distinct ids that remain, ascending.

    Example:
        >>> subtract_ids(np.array([5, 2, 1]), np.array([2])).tolist()
        [1, 5]
    """
    distinct = unique_ids(ids)
    return distinct[~mark_members(np.sort(others), distinct)]


def mark_members(sorted_ids: NDArray[np.integer], ids: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Mark the ids that are in a sorted array.

    Args:
        sorted_ids: Ids, ascending.
        ids: Any ids.

    Returns:
        A mask over `ids`.

    Example:
        >>> mark_members(np.array([2, 5]), np.array([5, 3])).tolist()
        [True, False]
    """
    if len(sorted_ids) == 0:
        return np.zeros(len(ids), dtype=np.bool_)
    place = np.minimum(np.searchsorted(sorted_ids, ids), len(sorted_ids) - 1)
    return np.asarray(sorted_ids[place] == ids)
