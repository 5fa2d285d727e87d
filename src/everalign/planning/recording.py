"""Measures the steps of a run: processor time, and how much of it is work in chunks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from everalign._parallel import Bound, Result, ThreadEngine, use_engine
from everalign.planning.steps import READING, find_step


@dataclass
class RecordedStep:
    """What one step took.

    Attributes:
        cpu_seconds: Processor seconds of the process.
        chunk_seconds: The part of them that was work in chunks, which other cores or workers can
            share.
        job_count: How often there was work in chunks: each time is a job of Spark if it has
            enough rows.
    """

    cpu_seconds: float = 0.0
    chunk_seconds: float = 0.0
    job_count: int = 0


class StepRecorder:
    """Records the steps of a run: a `Progress` to pass on, and an engine that measures chunks.

    Example:
        >>> recorder = StepRecorder()
        >>> with recorder.record():
        ...     recorder("reading left.nt", 0, 0)
        ...     recorder("propagating", 0, 5)
        >>> list(recorder.steps)
        ['reading', 'propagating']
    """

    def __init__(self) -> None:
        self.steps: dict[str, RecordedStep] = {}
        self.current = READING
        self._threads = ThreadEngine()
        self._lock = threading.Lock()
        self._began = 0.0

    def __call__(self, step: str, done: int, total: int, /) -> None:
        """Take note of progress; what belongs to no step of a plan counts to the one before.

        Args:
            step: Name of the current step.
            done: Not used.
            total: Not used.
        """
        del done, total
        name = find_step(step)
        if name is not None and name != self.current:
            self._close_step()
            self.current = name

    @contextmanager
    def record(self) -> Iterator[Self]:
        """Record what is done inside the block.

        Yields:
            The recorder.
        """
        self._began = time.process_time()
        with use_engine(self):
            yield self
        self._close_step()

    @property
    def cpu_seconds(self) -> float:
        """Processor seconds of all steps."""
        return sum(step.cpu_seconds for step in self.steps.values())

    @property
    def worker_count(self) -> int:
        """How many threads there are."""
        return self._threads.worker_count

    @property
    def slice_bytes(self) -> int:
        """This process reads sources."""
        return self._threads.slice_bytes

    def fetch_files(self, url: str) -> list[Path]:
        """Refuse a URL of a storage, as threads do.

        Args:
            url: The URL.

        Raises:
            InputError: Always.
        """
        return self._threads.fetch_files(url)

    def run_chunks(
        self,
        work: Callable[[int, int], Result],
        bounds: Sequence[Bound],
        receive: Callable[[int, Result], None],
        costs: Sequence[int] | None = None,
    ) -> None:
        """Call `work(first, end)` for each chunk in threads, and measure it.

        Args:
            work: See `everalign.Engine`.
            bounds: See `everalign.Engine`.
            receive: See `everalign.Engine`.
            costs: See `everalign.Engine`.
        """
        step = self._get_step()

        def run_measured(first: int, end: int) -> Result:
            # Of the thread alone: other threads have chunks of their own.
            began = time.thread_time()
            result = work(first, end)
            seconds = time.thread_time() - began
            with self._lock:
                step.chunk_seconds += seconds
            return result

        step.job_count += 1
        self._threads.run_chunks(run_measured, bounds, receive, costs)

    def _get_step(self) -> RecordedStep:
        return self.steps.setdefault(self.current, RecordedStep())

    def _close_step(self) -> None:
        now = time.process_time()
        self._get_step().cpu_seconds += now - self._began
        self._began = now
