"""Cells: the benchmark runs of a comparison, their result files, and their execution.

Each cell runs in a separate process. Its peak memory is therefore that of one run, and a process
that is killed because memory runs out does not stop the others.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from everalign._platform import available_cpus, restrict_cpus
from everalign.benchmark.contea_format import ContEADataset
from everalign.benchmark.paper.systems import DATASETS, RETRAINED, SNAPSHOTS, ComparedSystem
from everalign.benchmark.protocol import (
    BenchmarkRun,
    SnapshotResult,
    corrections_path,
    digest_dataset,
)
from everalign.config import Config
from everalign.errors import ConfigError, EverAlignError


@dataclass(frozen=True)
class PaperDataset:
    """A dataset of a comparison.

    Attributes:
        name: The name of the dataset.
        snapshot_count: Number of snapshots.
        directory: The files; None if only existing results are used.
        content: The digest of the files; None accepts results of any content.
    """

    name: str
    snapshot_count: int
    directory: Path | None = None
    content: str | None = None

    @staticmethod
    def open(directory: Path) -> PaperDataset:
        """Open a dataset in the ContEA layout.

        Args:
            directory: The dataset.

        Returns:
            The dataset with its digest.

        Raises:
            InputError: If it is not a dataset.
        """
        dataset = ContEADataset.open(directory)
        return PaperDataset(
            dataset.name, dataset.snapshot_count, directory, digest_dataset(dataset)
        )


def open_datasets(directories: Iterable[Path]) -> list[PaperDataset]:
    """Open the datasets of a comparison.

    Args:
        directories: The datasets that are available.

    Returns:
        The three datasets of the paper, or the given ones if they include any other.

    Raises:
        InputError: If a directory is not a dataset.
    """
    given = {dataset.name: dataset for dataset in map(PaperDataset.open, directories)}
    if not set(given) <= set(DATASETS):
        return list(given.values())
    return [given.get(name, PaperDataset(name, SNAPSHOTS)) for name in DATASETS]


@dataclass(frozen=True)
class BenchmarkCell:
    """A run of a system over some snapshots of a dataset, and its result file."""

    system: ComparedSystem
    dataset: PaperDataset
    snapshots: range
    seed: int
    result_file: Path

    def build_run(self) -> BenchmarkRun:
        """Build the benchmark run; the dataset must have a directory.

        Returns:
            The run.
        """
        assert self.dataset.directory is not None
        config = self.system.build_config(self.seed)
        return BenchmarkRun(self.dataset.directory, config, self.snapshots[0], self.snapshots[-1])

    @property
    def name(self) -> str:
        """System, dataset and snapshots, for messages."""
        first, last = self.snapshots[0], self.snapshots[-1]
        snapshots = f"t={first}" if first == last else f"t={first}-{last}"
        return f"{self.system.name}, {self.dataset.name}, {snapshots}"

    @property
    def corrections_file(self) -> Path:
        """The file of corrected links."""
        return corrections_path(self.result_file)

    @cached_property
    def result(self) -> dict[str, Any] | None:
        """The content of the result file; None if it is missing or of another run."""
        # Kept, since tables ask for it many times. `CellGrid` makes new cells at each iteration,
        # which see the results that have been written since.
        try:
            content: dict[str, Any] = json.loads(self.result_file.read_text(encoding="utf-8"))
            is_this_run = (
                content["dataset"] == self.dataset.name
                and Config.from_json(content["config"]) == self.system.build_config(self.seed)
                and content["first"] == self.snapshots[0]
                and self.dataset.content in (None, content["content"])
            )
        except (OSError, ValueError, KeyError, TypeError):
            # Shown as not run. `BenchmarkRun` refuses to overwrite a file that is no result.
            return None
        return content if is_this_run else None

    @property
    def records(self) -> list[SnapshotResult]:
        """The results of the snapshots that are finished."""
        records = self.result["snapshots"] if self.result else []
        return [record for record in records if record["t"] in self.snapshots]

    @property
    def complete(self) -> bool:
        """Whether all snapshots are finished."""
        return len(self.records) == len(self.snapshots)

    @property
    def seconds(self) -> float:
        """Time of the finished snapshots."""
        return float(sum(record["seconds"] for record in self.records))

    @property
    def core_hours(self) -> float:
        """Time of the finished snapshots in hours, times the number of cores."""
        software = self.result.get("software", {}) if self.result else {}
        # A result that does not tell the number of cores counts as one of a single core.
        return self.seconds * int(software.get("cores") or 1) / 3600


@dataclass(frozen=True)
class CellGrid:
    """All cells of a comparison.

    Attributes:
        systems: The compared systems.
        datasets: The datasets.
        results_directory: The directory of the result files.
        seed: Random seed of all runs.
    """

    systems: Sequence[ComparedSystem]
    datasets: Sequence[PaperDataset]
    results_directory: Path
    seed: int = 0

    def __iter__(self) -> Iterator[BenchmarkCell]:
        for dataset in self.datasets:
            for system in self.systems:
                yield from self.list_cells(system, dataset)

    def list_cells(
        self,
        system: ComparedSystem,
        dataset: PaperDataset,
        snapshots: tuple[int, int] | None = None,
    ) -> list[BenchmarkCell]:
        """List the cells of a system and a dataset.

        A retrained system has a cell for each snapshot, any other one cell that starts at 0.

        Args:
            system: The system.
            dataset: The dataset.
            snapshots: The first and last snapshot that are needed; by default all.

        Returns:
            The cells.
        """
        first, last = snapshots or (0, dataset.snapshot_count - 1)
        stem = f"{system.name}_{dataset.name}"
        if system.kind != RETRAINED:
            # From 0 on, also if only later snapshots are needed: updates build on each other.
            file = self.results_directory / f"{stem}.json"
            return [BenchmarkCell(system, dataset, range(last + 1), self.seed, file)]
        return [
            BenchmarkCell(
                system,
                dataset,
                range(t, t + 1),
                self.seed,
                self.results_directory / f"{stem}_t{t}.json",
            )
            for t in range(max(first, system.first_snapshot), last + 1)
        ]

    def find_records(
        self, system: ComparedSystem, dataset: PaperDataset
    ) -> dict[int, SnapshotResult]:
        """Find the results of a system on a dataset.

        Args:
            system: The system.
            dataset: The dataset.

        Returns:
            The results of finished snapshots by snapshot number.
        """
        cells = self.list_cells(system, dataset)
        return {record["t"]: record for cell in cells for record in cell.records}


CellCallback = Callable[[BenchmarkCell, SnapshotResult], None]


@dataclass(frozen=True)
class CellFailure:
    """A cell that failed, and the error message."""

    cell: BenchmarkCell
    problem: str


def run_cells(
    cells: Iterable[BenchmarkCell],
    on_result: CellCallback,
    on_failure: Callable[[CellFailure], None],
    jobs: int = 1,
) -> list[CellFailure]:
    """Run the cells that are not complete. A failure does not stop the others.

    Args:
        cells: The cells.
        on_result: Called with each cell and each of its snapshot results.
        on_failure: Called with each failure.
        jobs: Number of cells to run in parallel, each on an equal share of the cores.

    Returns:
        The failures.

    Raises:
        ConfigError: If there are fewer cores than jobs.
    """
    waiting = deque(cell for cell in cells if not cell.complete)
    free_cores = _divide_cores(jobs)
    running: dict[Connection, _CellProcess] = {}
    failures = []
    try:
        while waiting or running:
            while waiting and free_cores:
                child = _CellProcess.start(waiting.popleft(), free_cores.pop())
                running[child.connection] = child
            for connection in wait(list(running)):
                assert isinstance(connection, Connection)
                child = running[connection]
                try:
                    child.receive(on_result)
                except EOFError:
                    # The end of the stream: the process has ended, by itself or by a signal.
                    del running[connection]
                    free_cores.append(child.cores)
                    problem = child.join()
                    if problem is not None:
                        failures.append(CellFailure(child.cell, problem))
                        on_failure(failures[-1])
    finally:
        # Reached with running processes only by an exception, such as KeyboardInterrupt.
        for child in running.values():
            child.process.terminate()
            child.join()
    return failures


def _divide_cores(jobs: int) -> list[set[int]]:
    """Divide the available cores among the jobs."""
    cores = available_cpus()
    if jobs > len(cores):
        raise ConfigError(f"{jobs} jobs need at least {jobs} cores, found {len(cores)}")
    return [set(cores[first::jobs]) for first in range(jobs)]


@dataclass
class _CellProcess:
    """A process that runs a cell, and the connection on which it sends results."""

    cell: BenchmarkCell
    cores: set[int]
    process: BaseProcess
    connection: Connection
    problem: str | None = None

    @staticmethod
    def start(cell: BenchmarkCell, cores: set[int]) -> _CellProcess:
        # A forked process would share the memory and threads of this one; spawn starts afresh.
        context = get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        arguments = cell.build_run(), cell.result_file, sender
        # A daemon is terminated when this process exits.
        process = context.Process(target=_run_in_child, args=arguments, daemon=True)
        # Set before the start: libraries count the cores while they are imported.
        with restrict_cpus(cores):
            process.start()
        # Only the child may hold the sending end: its exit is then the end of the stream.
        sender.close()
        return _CellProcess(cell, cores, process, receiver)

    def receive(self, on_result: CellCallback) -> None:
        """Receive a result or an error message; EOFError at the end of the process."""
        message = self.connection.recv()
        # Results are mappings: a string is an error message.
        if isinstance(message, str):
            self.problem = message
        else:
            on_result(self.cell, message)

    def join(self) -> str | None:
        """Wait for the end of the process and return its error message, if any."""
        # Closed first: a child that waits to send gets an error instead of waiting forever.
        self.connection.close()
        self.process.join()
        code = self.process.exitcode or 0
        if self.problem is None and code:
            return f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        return self.problem


def _run_in_child(benchmark: BenchmarkRun, out: Path, sender: Connection) -> None:
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    try:
        benchmark.run(out, on_result=sender.send)
    except EverAlignError as error:
        sender.send(str(error))
    except KeyboardInterrupt:
        # The parent has been interrupted as well, and reports it. 130 is 128 + SIGINT, as in
        # shells.
        raise SystemExit(130) from None
    except Exception as error:
        # Any exception: the other cells can still be run.
        sender.send(f"{type(error).__name__}: {error}")


def _exit_with_parent() -> None:
    """Exit when the parent has been killed, which does not terminate its children."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        # `sys.exit` would end this thread only.
        os._exit(1)
