"""Runs cells one after the other, each in a process of its own.

So the memory that a run needs is told right, and one that is killed for it takes no other along.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from pathlib import Path

from everalign.errors import EverAlignError
from everalign.evaluation.protocol import Benchmark, Record
from everalign.paper.cells import Cell

Watcher = Callable[[Cell, Record], None]


@dataclass(frozen=True)
class Failure:
    """A cell that could not be run, and why."""

    cell: Cell
    problem: str


def run_cells(
    cells: Iterable[Cell], watch: Watcher, failed: Callable[[Failure], None]
) -> list[Failure]:
    """Run those that are not complete; one that fails is told, and the others go on."""
    failures = []
    for cell in cells:
        if cell.complete:
            continue
        problem = _run(cell, watch)
        if problem is not None:
            failures.append(Failure(cell, problem))
            failed(failures[-1])
    return failures


def _run(cell: Cell, watch: Watcher) -> str | None:
    """Run a cell; what went wrong, if anything did."""
    # A fresh interpreter: a copy of this one would have its memory and its threads.
    context = get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(cell.benchmark(), cell.file, there), daemon=True)
    process.start()
    there.close()
    problem = None
    try:
        while True:
            told = here.recv()
            if isinstance(told, str):
                problem = told
            else:
                watch(cell, told)
    except EOFError:
        process.join()
    if problem is None and process.exitcode:
        code = process.exitcode
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return problem


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
