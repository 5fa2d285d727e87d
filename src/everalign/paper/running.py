"""Runs cells, each in a process of its own.

So the memory that a run needs is told right, and one that is killed for it takes no other along.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from everalign.errors import ConfigError, EverAlignError
from everalign.evaluation.protocol import Benchmark, Record
from everalign.paper.cells import Cell

Watcher = Callable[[Cell, Record], None]


@dataclass(frozen=True)
class Failure:
    """A cell that could not be run, and why."""

    cell: Cell
    problem: str


def run_cells(
    cells: Iterable[Cell],
    watch: Watcher,
    failed: Callable[[Failure], None],
    jobs: int = 1,
) -> list[Failure]:
    """Run those that are not complete; one that fails is told, and the others go on.

    So many `jobs` run side by side, each on its share of the cores.
    """
    waiting = deque(cell for cell in cells if not cell.complete)
    free = _shares(jobs)
    running: dict[Connection, _Run] = {}
    failures = []
    try:
        while waiting or running:
            while waiting and free:
                run = _Run.start(waiting.popleft(), free.pop())
                running[run.told] = run
            for told in wait(list(running)):
                assert isinstance(told, Connection)
                run = running[told]
                try:
                    run.hear(watch)
                except EOFError:
                    del running[told]
                    free.append(run.cores)
                    problem = run.end()
                    if problem is not None:
                        failures.append(Failure(run.cell, problem))
                        failed(failures[-1])
    finally:
        for run in running.values():
            run.process.terminate()
            run.end()
    return failures


def _shares(jobs: int) -> list[set[int]]:
    """The cores of each job: all of them are given out."""
    cores = sorted(os.sched_getaffinity(0))
    if jobs > len(cores):
        raise ConfigError(f"{jobs} jobs at once need as many cores; there are {len(cores)}")
    return [set(cores[first::jobs]) for first in range(jobs)]


@dataclass
class _Run:
    """A process that works on a cell, and where it tells how it goes."""

    cell: Cell
    cores: set[int]
    process: BaseProcess
    told: Connection
    problem: str | None = None

    @staticmethod
    def start(cell: Cell, cores: set[int]) -> _Run:
        # A fresh interpreter: a copy of this one would have its memory and its threads.
        context = get_context("spawn")
        here, there = context.Pipe(duplex=False)
        work = cell.benchmark(), cell.file, there
        process = context.Process(target=_work, args=work, daemon=True)
        # It inherits its cores: libraries count them while they are loaded, before any work.
        ours = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cores)
        try:
            process.start()
        finally:
            os.sched_setaffinity(0, ours)
        there.close()
        return _Run(cell, cores, process, here)

    def hear(self, watch: Watcher) -> None:
        """Take in what it tells next; EOFError when it has nothing more to tell."""
        news = self.told.recv()
        if isinstance(news, str):
            self.problem = news
        else:
            watch(self.cell, news)

    def end(self) -> str | None:
        """Wait for its end; what went wrong, if anything did."""
        self.told.close()
        self.process.join()
        code = self.process.exitcode or 0
        if self.problem is None and code:
            return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return self.problem


def _work(benchmark: Benchmark, out: Path, to_parent: Connection) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        benchmark.run(out, watch=to_parent.send)
    except EverAlignError as error:
        to_parent.send(str(error))
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # the parent has been interrupted as well, and says so
    except Exception as error:
        # Whatever it is, the cells after this one can still be run.
        to_parent.send(f"{type(error).__name__}: {error}")


def _end_with_parent() -> None:
    """Whoever kills the parent does not want its work to go on."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
