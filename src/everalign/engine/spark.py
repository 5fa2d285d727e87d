"""Apache Spark as the engine: chunks of work are rows of a table that Spark maps.

Each step of a method becomes a Spark job: the function and its arrays are files that the workers
map, the table says which chunks there are, and the results are Arrow files. These are kept under
a name that follows from the function and its data: a run that is started again with the same
input finds what it had computed.

Only work travels, not the method: what a step computes is what it computes in threads, bit by bit.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

import numpy as np
from xxhash import xxh3_128

from everalign._parallel import Bound, ThreadEngine, split_by_cost
from everalign.engine.hadoop_files import HadoopFiles
from everalign.engine.result_files import read_results, write_results
from everalign.engine.shared_files import SharedFiles, load_work
from everalign.engine.spark_session import (
    check_java,
    check_master,
    explain_failure,
    start_session,
    stop_session,
)
from everalign.errors import EngineError

Result = TypeVar("Result")

# Work on fewer items is done before Spark has begun.
MIN_ITEMS = 100_000
# Tasks per core of a step that takes long enough: where some take longer than others, the others
# are taken by whoever is free. Each costs a tenth of a second.
TASKS_PER_WORKER = 4
MIN_ITEMS_PER_TASK = 50_000
# Parts of sources: enough that many names occur several times in one, so that little has to be
# merged.
SLICE_BYTES = 1 << 25
SCHEMA = "task long"
DONE = "_SUCCESS"
# What an engine keeps in its directory.
PARTS = STEPS, WORK, SCRATCH, SOURCES = "steps", "work", "spark", "sources"


class SparkEngine:
    """Lets Apache Spark compute large steps; use it as a context.

    Args:
        directory: For work and results of one run; all workers have to see it under the same
            path. It is emptied in the end.
        master: The master, such as "local[*]", "spark://host:7077", "yarn" or "k8s://…".
        options: Further options of Spark, by name.
        min_items: Steps with fewer items are computed in threads.
        slice_bytes: How many bytes of a large file are encoded as one chunk.

    Raises:
        ConfigError: pyspark or Java is missing, or Java is too old.
        EngineError: The master does not answer.

    Example:
        >>> from everalign import Aligner, use_engine
        >>> with SparkEngine(path, "local[2]") as spark, use_engine(spark):  # doctest: +SKIP
        ...     Aligner.create(state, left, right, seeds)
    """

    def __init__(
        self,
        directory: Path,
        master: str = "local[*]",
        options: dict[str, str] | None = None,
        min_items: int = MIN_ITEMS,
        slice_bytes: int = SLICE_BYTES,
    ) -> None:
        check_java()
        check_master(master)
        self._directory = directory.resolve()
        self._steps = self._directory / STEPS
        self._files = SharedFiles(self._directory / WORK)
        self._min_items = min_items
        self._slice_bytes = slice_bytes
        self._threads = ThreadEngine()
        self._session = start_session(master, options or {}, self._directory / SCRATCH)
        self._master = master

    @property
    def worker_count(self) -> int:
        """How many chunks Spark computes at the same time."""
        return max(1, int(self._session.sparkContext.defaultParallelism))

    @property
    def slice_bytes(self) -> int:
        """How many bytes of a large file are encoded as one chunk."""
        return self._slice_bytes

    def fetch_files(self, url: str) -> list[Path]:
        """Copy files of a storage that Spark can read into the directory of the engine.

        Args:
            url: The URL of a file, of a directory or of a pattern.

        Returns:
            The copies, in the order of their names.

        Raises:
            InputError: There is no such file, or it cannot be read.
        """
        return HadoopFiles(self._session, self._directory / SOURCES).fetch_files(url)

    def list_steps(self) -> list[str]:
        """List the steps that Spark has done so far.

        Returns:
            Their names.
        """
        return sorted(path.parent.name for path in self._steps.glob(f"*/{DONE}"))

    def get_step_directory(self, name: str) -> Path:
        """Get the directory of a step.

        Args:
            name: The name of the step.

        Returns:
            The directory of its results.
        """
        return self._steps / name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stop_session(self._session)
        if kind is None:
            # After an error they stay, so that the next attempt goes on from them.
            for name in PARTS:
                shutil.rmtree(self._directory / name, ignore_errors=True)
            with suppress(OSError):  # it has files of others
                self._directory.rmdir()

    def run_chunks(
        self,
        work: Callable[[int, int], Result],
        bounds: Sequence[Bound],
        receive: Callable[[int, Result], None],
        costs: Sequence[int] | None = None,
    ) -> None:
        """Call `work(first, end)` for each chunk, on Spark if it is worth it.

        Args:
            work: See `everalign._parallel.Engine`.
            bounds: See there.
            receive: Called in this thread, a chunk after the other.
            costs: See there. Tasks have about equal costs.

        Raises:
            EngineError: Spark has failed.
        """
        given = [end - first for first, end in bounds] if costs is None else costs
        if len(bounds) < 2 or sum(given) < self._min_items:
            self._threads.run_chunks(work, bounds, receive)
            return
        path = self._files.store_work(work)
        # Compiled functions are in the pickle by name: another version may compute otherwise.
        key = f"{version('everalign')} {path.name}".encode() + np.array(bounds).tobytes()
        step = self.get_step_directory(xxh3_128(key).hexdigest())
        if not (step / DONE).exists():
            self._run_step(path, bounds, given, step)
        count = 0
        for file in sorted(step.glob("*.arrow")):
            for number, result in read_results(file):
                receive(number, result)
                count += 1
        if count != len(bounds):
            raise EngineError(f"{step} has {count:,} results of {len(bounds):,}; remove it")

    def _run_step(
        self, work: Path, bounds: Sequence[Bound], costs: Sequence[int], step: Path
    ) -> None:
        wanted = min(TASKS_PER_WORKER * self.worker_count, sum(costs) // MIN_ITEMS_PER_TASK)
        ends = split_by_cost(costs, max(self.worker_count, wanted))
        path, chunks = str(work), [bounds[first:end] for first, end in pairwise(ends)]
        numbers, out, expected = ends[:-1], str(step), version("everalign")
        waiting = _list_waiting(step, ends)

        def run_tasks(batches: Iterator[Any]) -> Iterator[Any]:
            # In a worker: nothing of this process is known there but what is named here.
            import os
            from importlib.metadata import PackageNotFoundError, version

            try:
                found = version("everalign")
            except PackageNotFoundError:
                found = "no version"
            if found != expected:
                raise ImportError(
                    f"the worker on {os.uname().nodename} has {found} of EverAlign, this process "
                    f"{expected}: install the same (PYSPARK_PYTHON names the interpreter)"
                )
            from everalign.engine.spark import compute_results

            yield from compute_results(path, numbers, chunks, out, waiting, batches)

        # A row and a partition for each task.
        table = self._session.range(0, len(waiting), 1, max(1, len(waiting)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                table.mapInArrow(run_tasks, SCHEMA).collect()
        except Exception as error:
            raise EngineError(explain_failure(error, self._master)) from error
        (step / DONE).touch()


def _name_results(task: int, ends: Sequence[int]) -> str:
    # With its chunks: another attempt may have had other tasks.
    return f"task-{ends[task]:08d}-{ends[task + 1]:08d}.arrow"


def _list_waiting(step: Path, ends: Sequence[int]) -> list[int]:
    """List the tasks that an earlier attempt has not done, and remove what is not theirs."""
    step.mkdir(parents=True, exist_ok=True)
    names = [_name_results(task, ends) for task in range(len(ends) - 1)]
    for path in step.iterdir():
        if path.name not in names:
            path.unlink()
    return [task for task, name in enumerate(names) if not (step / name).exists()]


def compute_results(
    path: str,
    numbers: list[int],
    chunks: list[Sequence[Bound]],
    out: str,
    waiting: list[int],
    batches: Iterator[Any],
) -> Iterator[Any]:
    """Compute the chunks of tasks; called in a worker.

    Args:
        path: Where the work is stored.
        numbers: The number of the first chunk of each task.
        chunks: The chunks of each task.
        out: The directory of the results: a file for each task.
        waiting: The tasks that are to be done.
        batches: Record batches with places in `waiting`.

    Yields:
        The batches, when their tasks are done.
    """
    # One core per task: as many tasks as cores run at once.
    os.environ["EVERALIGN_THREADS"] = "1"
    work = load_work(path)
    ends = [*numbers, numbers[-1] + len(chunks[-1])]
    for batch in batches:
        for place in batch.column(0).to_pylist():
            task = waiting[place]
            file = Path(out, _name_results(task, ends))
            # Under a name of its own first: Spark may run a task twice, even at the same time.
            part = file.with_name(f"{file.name}.{uuid4().hex}.part")
            try:
                write_results(
                    part,
                    (
                        (number, work(*bound))
                        for number, bound in enumerate(chunks[task], ends[task])
                    ),
                )
                part.replace(file)
            finally:
                part.unlink(missing_ok=True)
        yield batch
