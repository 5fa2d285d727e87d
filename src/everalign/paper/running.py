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
    while waiting or running:
        while waiting and free:
            run = _Run.start(waiting.popleft(), free.pop())
            running[run.told] = run
        for told in wait(list(running)):
            assert isinstance(told, Connection)
            run = running[told]
            try:
                news = told.recv()
            except EOFError:
                del running[told]
                free.append(run.cores)
                problem = run.end()
            else:
                problem = news if isinstance(news, str) else None
                if problem is None:
                    watch(run.cell, news)
            if problem is not None:
                failures.append(Failure(run.cell, problem))
                failed(failures[-1])
    return failures


def _shares(jobs: int) -> list[set[int]]:
    """The cores of each job: all of them are given out."""
    cores = sorted(os.sched_getaffinity(0))
    if jobs > len(cores):
        raise ConfigError(f"{jobs} jobs at once need as many cores; there are {len(cores)}")
    return [set(cores[first::jobs]) for first in range(jobs)]


@dataclass(frozen=True)
class _Run:
    """A process that works on a cell, and where it tells how it goes."""

    cell: Cell
    cores: set[int]
    process: BaseProcess
    told: Connection

    @staticmethod
    def start(cell: Cell, cores: set[int]) -> _Run:
        # A fresh interpreter: a copy of this one would have its memory and its threads.
        context = get_context("spawn")
        here, there = context.Pipe(duplex=False)
        work = cell.benchmark(), cell.file, cores, there
        process = context.Process(target=_work, args=work, daemon=True)
        process.start()
        there.close()
        return _Run(cell, cores, process, here)

    def end(self) -> str | None:
        """Wait for its end; what has ended it, if it was not done."""
        self.told.close()
        self.process.join()
        code = self.process.exitcode or 0
        if code < 0:
            return f"was killed by signal {-code}"
        return f"ended with exit code {code}" if code else None


def _work(benchmark: Benchmark, out: Path, cores: set[int], to_parent: Connection) -> None:
    os.sched_setaffinity(0, cores)  # before any library counts them
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
