"""Work in chunks on all cores or on a cluster, with the same result everywhere (internal)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from everalign._platform import available_cpus
from everalign.errors import ConfigError, InputError

Result = TypeVar("Result")
Bound = tuple[int, int]


class Engine(Protocol):
    """Computes chunks of work somewhere."""

    @property
    def worker_count(self) -> int:
        """How many chunks are computed at the same time."""
        ...

    @property
    def slice_bytes(self) -> int:
        """How many bytes of a source to encode as one chunk; 0 if this process reads sources."""
        ...

    def fetch_files(self, url: str) -> list[Path]:
        """Get the files of a URL of a storage, such as ``hdfs://host/left.nt``.

        Args:
            url: The URL of a file, of a directory or of a pattern.

        Returns:
            Files with the same content, in the order of their names.

        Raises:
            InputError: It cannot be read.
        """
        ...

    def run_chunks(
        self,
        work: Callable[[int, int], Result],
        bounds: Sequence[Bound],
        receive: Callable[[int, Result], None],
        costs: Sequence[int] | None = None,
    ) -> None:
        """Call `work(first, end)` for each chunk.

        Args:
            work: What to compute; it changes nothing, and depends on what it refers to alone.
            bounds: The first index of each chunk and the index after its last.
            receive: Called with the number of a chunk and its result, in any order, perhaps in
                several threads at once.
            costs: What each chunk costs, compared with an item that costs 1; by default the
                number of its items.
        """
        ...


class ThreadEngine:
    """Computes chunks in threads of this process."""

    @property
    def worker_count(self) -> int:
        """How many threads there are."""
        return thread_count()

    @property
    def slice_bytes(self) -> int:
        """This process reads sources."""
        return 0

    def fetch_files(self, url: str) -> list[Path]:
        """Refuse a URL of a storage.

        Args:
            url: The URL.

        Raises:
            InputError: Always.
        """
        raise InputError("only Apache Spark reads this storage (--engine spark)", path=url)

    def run_chunks(
        self,
        work: Callable[[int, int], Result],
        bounds: Sequence[Bound],
        receive: Callable[[int, Result], None],
        costs: Sequence[int] | None = None,  # noqa: ARG002
    ) -> None:
        """Call `work(first, end)` for each chunk.

        Args:
            work: See `Engine`; runs in parallel where it releases the interpreter lock, as
                compiled functions do.
            bounds: See `Engine`.
            receive: See `Engine`.
            costs: Not used: a thread that is free takes the next chunk.
        """

        def run(number: int) -> None:
            receive(number, work(*bounds[number]))

        workers = min(thread_count(), len(bounds))
        if workers <= 1:
            for number in range(len(bounds)):
                run(number)
            return
        # The threads live for one call. A pool that stays (OpenMP, numba's own) keeps spinning
        # while it has nothing to do, and slows down everything else on a machine that is busy.
        with ContextThreadPool(workers) as pool:
            for _ in pool.map(run, range(len(bounds))):
                pass


_THREADS = ThreadEngine()
_current: ContextVar[Engine] = ContextVar("engine", default=_THREADS)


class ContextThreadPool(ThreadPoolExecutor):
    """Threads that have the context of who calls them, as NumPy's allocator is part of it.

    Chunks within chunks stay in threads.
    """

    def submit(
        self, function: Callable[..., Result], /, *args: Any, **kwargs: Any
    ) -> Future[Result]:
        """Call a function in a thread.

        Args:
            function: The function.
            *args: Its arguments.
            **kwargs: Its named arguments.

        Returns:
            Its result, when it is there.
        """
        context = copy_context()
        context.run(_current.set, _THREADS)
        return super().submit(context.run, function, *args, **kwargs)


@contextmanager
def use_engine(engine: Engine) -> Iterator[None]:
    """Let an engine compute what is called within.

    Args:
        engine: The engine.
    """
    token = _current.set(engine)
    try:
        yield
    finally:
        _current.reset(token)


def worker_count() -> int:
    """Return how many chunks are computed at the same time.

    Returns:
        The number.
    """
    return _current.get().worker_count


def get_slice_bytes() -> int:
    """Return how many bytes of a source are one chunk.

    Returns:
        The number; 0 if this process reads sources.
    """
    return _current.get().slice_bytes


def fetch_files(url: str) -> list[Path]:
    """Get the files of a URL of a storage that the engine can read.

    Args:
        url: The URL of a file, of a directory or of a pattern.

    Returns:
        Files with the same content, in the order of their names.

    Raises:
        InputError: It cannot be read.
    """
    return _current.get().fetch_files(url)


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


def map_chunks(
    work: Callable[[int, int], Result],
    count: int,
    part: int,
    costs: Sequence[int] | NDArray[np.integer] | None = None,
) -> list[Result]:
    """Call `work(first, end)` for consecutive chunks in parallel.

    Chunks do not depend on the number of workers.

    Args:
        work: Called with the first index of a chunk and the index after its last. It changes
            nothing: it may run in another process.
        count: How many items there are.
        part: How many items a chunk has.
        costs: What each item costs, where some cost much more than others: an engine can give
            each worker the same. By default each costs 1.

    Returns:
        The results in the order of the chunks.

    Example:
        >>> map_chunks(lambda first, end: end - first, 10, 4)
        [4, 4, 2]
    """
    bounds = _split(count, part)
    results: dict[int, Result] = {}
    _current.get().run_chunks(work, bounds, results.__setitem__, _add_costs(costs, bounds))
    return [results[number] for number in range(len(bounds))]


def split_by_cost(costs: Sequence[int] | NDArray[np.integer], count: int) -> list[int]:
    """Put consecutive items together so that all parts cost about the same.

    Args:
        costs: What each item costs; one at least.
        count: How many parts there may be.

    Returns:
        The number of the first item of each part, and the number of items.

    Example:
        >>> split_by_cost([1, 1, 1, 1, 4, 1, 1, 1, 1], 3)
        [0, 4, 5, 9]
    """
    until = np.cumsum(costs, dtype=np.float64)
    shares = until[-1] * np.arange(1, count) / count
    # An item belongs to the part that has its middle.
    middles = until - np.asarray(costs) / 2
    ends = np.searchsorted(middles, shares, side="left").tolist()
    return sorted({0, *ends, len(costs)})


def fill_chunks(
    work: Callable[[int, int], Any],
    out: NDArray[Any] | tuple[NDArray[Any], ...],
    part: int,
    rows: NDArray[Any] | None = None,
    costs: Sequence[int] | NDArray[np.integer] | None = None,
) -> None:
    """Fill arrays with what `work(first, end)` returns for consecutive chunks, in parallel.

    Args:
        work: Called as by `map_chunks`; returns the rows of the chunk, for each of the arrays if
            there are several.
        out: An array, or several of one length.
        part: How many rows a chunk has.
        rows: The rows to fill, each once; all rows in order by default.
        costs: What each row costs, see `map_chunks`.

    Example:
        >>> import numpy as np
        >>> squares = np.empty(5)
        >>> fill_chunks(lambda first, end: np.arange(first, end) ** 2, squares, 2)
        >>> squares.tolist()
        [0.0, 1.0, 4.0, 9.0, 16.0]
    """
    arrays = out if isinstance(out, tuple) else (out,)
    bounds = _split(len(arrays[0]) if rows is None else len(rows), part)

    def receive(number: int, result: Any) -> None:
        chunk: Any = slice(*bounds[number])
        if rows is not None:
            chunk = rows[chunk]
        results = result if isinstance(out, tuple) else (result,)
        for array, values in zip(arrays, results, strict=True):
            array[chunk] = values

    _current.get().run_chunks(work, bounds, receive, _add_costs(costs, bounds))


def map_threads(work: Callable[[int, int], Result], count: int, part: int) -> list[Result]:
    """Call `work(first, end)` for consecutive chunks in threads of this process, always.

    Args:
        work: Called as by `map_chunks`; it may change what other chunks do not.
        count: How many items there are.
        part: How many items a chunk has.

    Returns:
        The results in the order of the chunks.
    """
    bounds = _split(count, part)
    results: dict[int, Result] = {}
    _THREADS.run_chunks(work, bounds, results.__setitem__)
    return [results[number] for number in range(len(bounds))]


def map_parallel(work: Callable[[int], Result], count: int) -> list[Result]:
    """Call `work(number)` for the numbers below `count` in threads of this process, always.

    Args:
        work: Called with each number.
        count: How many numbers there are.

    Returns:
        The results in the order of the numbers.

    Example:
        >>> map_parallel(lambda number: number * number, 3)
        [0, 1, 4]
    """
    return map_threads(lambda first, _: work(first), count, 1)


def _split(count: int, part: int) -> list[Bound]:
    # By `part` alone and not by the number of workers: a sum of floats depends on where chunks
    # end.
    return [(first, min(first + part, count)) for first in range(0, count, part)]


def _add_costs(
    costs: Sequence[int] | NDArray[np.integer] | None, bounds: Sequence[Bound]
) -> list[int] | None:
    if costs is None or not bounds:
        return None
    sums: list[int] = np.add.reduceat(np.asarray(costs), [first for first, _ in bounds]).tolist()
    return sums
