"""Hash maps from ids to positions, for compiled code that meets few ids of a large graph.

A map is an array of keys with open addressing: a key is in the first slot from its hash on that is
not taken by another key. Its length is a power of two, and at least half of its slots are EMPTY.
What belongs to a key is kept by the caller in other arrays, by slot.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.graph import IntArray

EMPTY = -1
_MULTIPLIER = -7046029254386353131  # 2**64 divided by the golden ratio, as a signed number
_HASH_SHIFT = 32  # the upper half of the product depends on all bits of the key

Keys = NDArray[np.int64]


@jit_cached()
def create_keys(key_count: int) -> Keys:
    """Create an empty map.

    Args:
        key_count: How many keys it must be able to hold.

    Returns:
        Its slots, all EMPTY: at least twice as many as keys.
    """
    return np.full(count_slots(key_count), EMPTY, dtype=np.int64)


@jit_cached()
def count_slots(key_count: int) -> int:
    """Count the slots of a map.

    Args:
        key_count: How many keys it must be able to hold.

    Returns:
        A power of two, at least twice as many.
    """
    size = 4
    while size < 2 * key_count:
        size *= 2
    return size


@jit_cached()
def find_slot(keys: Keys, key: int) -> np.uint64:
    """Find the slot of a key.

    Args:
        keys: The map.
        key: A key from 0 on.

    Returns:
        The slot that holds the key; if it is not in the map, the EMPTY slot to put it into.
    """
    # Unsigned, so that compiled code does not ask at each access whether an index is negative and
    # counts from the end: a tenth of the time of the candidate search.
    mask = np.uint64(keys.size - 1)
    slot = np.uint64((key * _MULTIPLIER) >> _HASH_SHIFT) & mask
    while keys[slot] != key and keys[slot] != EMPTY:
        slot = (slot + np.uint64(1)) & mask
    return slot


@jit_cached()
def number_distinct(ids: NDArray[np.integer]) -> tuple[IntArray, IntArray]:
    """Number the distinct ids in the order in which they first occur.

    Args:
        ids: Ids from 0 on, with repetitions.

    Returns:
        The distinct ids, and the number of each given one.
    """
    # For ids that repeat the one before, as sorted ones do, the map need not be asked.
    keys = create_keys(min(ids.size, 1024))
    number_of_slot = np.empty(keys.size, dtype=np.int32)
    distinct = np.empty(ids.size, dtype=np.int32)
    number = np.empty(ids.size, dtype=np.int32)
    count = 0
    for i in range(ids.size):
        if i > 0 and ids[i] == ids[i - 1]:
            number[i] = number[i - 1]
            continue
        slot = find_slot(keys, ids[i])
        if keys[slot] == EMPTY:
            if 2 * (count + 1) > keys.size:
                keys = create_keys(4 * count)
                number_of_slot = np.empty(keys.size, dtype=np.int32)
                for n in range(count):
                    slot = find_slot(keys, distinct[n])
                    keys[slot] = distinct[n]
                    number_of_slot[slot] = n
                slot = find_slot(keys, ids[i])
            keys[slot] = ids[i]
            number_of_slot[slot] = count
            distinct[count] = ids[i]
            count += 1
        number[i] = number_of_slot[slot]
    return distinct[:count].copy(), number


def number_sorted(ids: NDArray[np.integer]) -> tuple[IntArray, IntArray]:
    """Number the distinct ids in ascending order.

    Args:
        ids: Ids from 0 on, with repetitions.

    Returns:
        The distinct ids, ascending, and the number of each given one.

    Example:
        >>> distinct, number = number_sorted(np.array([7, 2, 7]))
        >>> distinct.tolist(), number.tolist()
        ([2, 7], [1, 0, 1])
    """
    distinct, number = number_distinct(ids)
    order = np.argsort(distinct)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return distinct[order], rank[number]
