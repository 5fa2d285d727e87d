"""Work in parts, on all cores, with the same result whatever their number.

The threads live for one call. A pool that stays (OpenMP, numba's own) keeps spinning while it
has nothing to do, and slows down everything else on a machine that is busy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from everalign.errors import ConfigError

Result = TypeVar("Result")


def threads() -> int:
    """How many threads to use: all cores, or what EVERALIGN_THREADS says."""
    asked = os.environ.get("EVERALIGN_THREADS", "")
    if not asked:
        return len(os.sched_getaffinity(0))
    if not asked.isdecimal() or int(asked) < 1:
        raise ConfigError(f"EVERALIGN_THREADS must be a number from 1 on, not {asked!r}")
    return int(asked)


def in_parts(work: Callable[[int, int], Result], count: int, part: int) -> list[Result]:
    """Call `work(first, end)` for consecutive parts of `count` things, side by side.

    The parts do not depend on the number of threads, and results come back in their order. The
    work has to let go of the interpreter's lock (compiled loops do).

    >>> in_parts(lambda first, end: end - first, 10, 4)
    [4, 4, 2]
    """
    bounds = [(first, min(first + part, count)) for first in range(0, count, part)]
    workers = min(threads(), len(bounds))
    if workers <= 1:
        return [work(first, end) for first, end in bounds]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda bound: work(*bound), bounds))


def each(work: Callable[[int], Result], count: int) -> list[Result]:
    """Call `work(n)` for n from 0 on, side by side.

    >>> each(lambda n: n * n, 3)
    [0, 1, 4]
    """
    return in_parts(lambda first, _: work(first), count, 1)
