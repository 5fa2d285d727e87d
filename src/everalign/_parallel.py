"""Work in chunks on all cores, with the same result whatever their number (internal)."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from everalign._platform import available_cpus
from everalign.errors import ConfigError

Result = TypeVar("Result")


def thread_count() -> int:
    """Return how many threads to use: one per core, or the value of EVERALIGN_THREADS.

    Returns:
        The number of threads.

    Raises:
        ConfigError: EVERALIGN_THREADS is not a positive number.
    """
    asked = os.environ.get("EVERALIGN_THREADS", "")
    if not asked:
        return len(available_cpus())
    if not asked.isdecimal() or int(asked) < 1:
        raise ConfigError(f"EVERALIGN_THREADS must be a number from 1 on, not {asked!r}")
    return int(asked)


def map_chunks(work: Callable[[int, int], Result], count: int, part: int) -> list[Result]:
    """Call `work(first, end)` for consecutive chunks in parallel.

    Chunks do not depend on the number of threads. Only work that releases the interpreter lock,
    as compiled functions do, runs in parallel.

    Args:
        work: Called with the first index of a chunk and the index after its last.
        count: How many items there are.
        part: How many items a chunk has.

    Returns:
        The results in the order of the chunks.

    Example:
        >>> map_chunks(lambda first, end: end - first, 10, 4)
        [4, 4, 2]
    """
    # By `part` alone and not by the number of threads: a sum of floats depends on where chunks
    # end.
    bounds = [(first, min(first + part, count)) for first in range(0, count, part)]
    workers = min(thread_count(), len(bounds))
    if workers <= 1:
        return [work(first, end) for first, end in bounds]
    # The threads live for one call. A pool that stays (OpenMP, numba's own) keeps spinning while
    # it has nothing to do, and slows down everything else on a machine that is busy.
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda bound: work(*bound), bounds))


def map_parallel(work: Callable[[int], Result], count: int) -> list[Result]:
    """Call `work(number)` for the numbers below `count` in parallel.

    Args:
        work: Called with each number.
        count: How many numbers there are.

    Returns:
        The results in the order of the numbers.

    Example:
        >>> map_parallel(lambda number: number * number, 3)
        [0, 1, 4]
    """
    return map_chunks(lambda first, _: work(first), count, 1)
