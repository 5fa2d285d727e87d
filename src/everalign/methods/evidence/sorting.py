"""A stable sort for compiled code: numpy's takes numba seconds to compile at each place of use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached


@jit_cached()
def sort_stably(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Find the order of values, ascending; equal ones stay in order.

    Args:
        values: The values, none of them NaN.

    Returns:
        Their positions in order.

    Example:
        >>> sort_stably(np.array([2.0, 1.0, 2.0, 0.0])).tolist()
        [3, 1, 0, 2]
    """
    order = np.arange(values.size)
    merged = np.empty_like(order)
    width = 1
    # Runs of sorted positions are merged in pairs until one is left.
    while width < values.size:
        for first in range(0, values.size, 2 * width):
            middle, end = min(first + width, values.size), min(first + 2 * width, values.size)
            left, right = first, middle
            for place in range(first, end):
                take_left = right == end or (
                    left < middle and values[order[left]] <= values[order[right]]
                )
                if take_left:
                    merged[place] = order[left]
                    left += 1
                else:
                    merged[place] = order[right]
                    right += 1
        order, merged = merged, order
        width *= 2
    return order
