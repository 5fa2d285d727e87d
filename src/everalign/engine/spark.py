"""Apache Spark as the engine: chunks of work are rows of a table that Spark maps.

Each step of a method becomes a Spark job: the function and its arrays are files that the workers
map, the table says which chunks there are, and the results are written as Parquet. These are kept
under a name that follows from the function and its data: a run that is started again with the same
input finds what it had computed.

Only work travels, not the method: what a step computes is what it computes in threads, bit by bit.
"""

from __future__ import annotations

import logging
import os
import pickle
import re
import shutil
import socket
import subprocess
import sys
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

from everalign._parallel import Bound, ThreadEngine
from everalign.engine.shared_files import SharedFiles, load_work
from everalign.errors import ConfigError, EngineError

Result = TypeVar("Result")

MIN_JAVA = 17
# Work on fewer items is done before Spark has begun.
MIN_ITEMS = 20_000
# Tasks per core of a step that takes long enough: where some take longer than others, the others
# are taken by whoever is free. Each costs a tenth of a second.
TASKS_PER_WORKER = 4
MIN_ITEMS_PER_TASK = 50_000
# A task that fails (a worker that was killed) is tried so often.
MAX_FAILURES = 4
CONNECT_SECONDS = 5.0
SCHEMA = "task long"
DONE = "_SUCCESS"
# What an engine keeps in its directory.
PARTS = STEPS, WORK, SCRATCH = "steps", "work", "spark"
LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")

logger = logging.getLogger(__name__)


class SparkEngine:
    """Lets Apache Spark compute large steps; use it as a context.

    Args:
        directory: For work and results of one run; all workers have to see it under the same
            path. It is emptied in the end.
        master: The master, such as "local[*]", "spark://host:7077", "yarn" or "k8s://…".
        options: Further options of Spark, by name.
        min_items: Steps with fewer items are computed in threads.

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
    ) -> None:
        _check_java()
        _check_master(master)
        self._directory = directory.resolve()
        self._steps = self._directory / STEPS
        self._files = SharedFiles(self._directory / WORK)
        self._min_items = min_items
        self._threads = ThreadEngine()
        self._session = _start_session(master, options or {}, self._directory)
        self._master = master

    @property
    def worker_count(self) -> int:
        """How many chunks Spark computes at the same time."""
        return max(1, int(self._session.sparkContext.defaultParallelism))

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
        _stop_session(self._session)
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
    ) -> None:
        """Call `work(first, end)` for each chunk, on Spark if it is worth it.

        Args:
            work: See `everalign._parallel.Engine`.
            bounds: See there.
            receive: Called in this thread, a chunk after the other.

        Raises:
            EngineError: Spark has failed.
        """
        if len(bounds) < 2 or bounds[-1][1] - bounds[0][0] < self._min_items:
            self._threads.run_chunks(work, bounds, receive)
            return
        path = self._files.store_work(work)
        # Compiled functions are in the pickle by name: another version may compute otherwise.
        key = f"{version('everalign')} {path.name}".encode() + np.array(bounds).tobytes()
        name = xxh3_128(key).hexdigest()
        step = self.get_step_directory(name)
        if not (step / DONE).exists():
            self._run_step(path, bounds, step)
        count = 0
        for number, result in _read_results(step):
            receive(number, result)
            count += 1
        if count != len(bounds):
            raise EngineError(f"{step} has {count:,} results of {len(bounds):,}; remove it")

    def _run_step(self, work: Path, bounds: Sequence[Bound], step: Path) -> None:
        items = bounds[-1][1] - bounds[0][0]
        wanted = min(TASKS_PER_WORKER * self.worker_count, items // MIN_ITEMS_PER_TASK)
        task_count = min(len(bounds), max(self.worker_count, wanted))
        ends = np.linspace(0, len(bounds), task_count + 1).astype(int).tolist()
        path, chunks = str(work), [bounds[first:end] for first, end in pairwise(ends)]
        numbers, out = ends[:-1], str(step)
        # What a broken-off attempt has left may be of other tasks: it had other workers.
        shutil.rmtree(step, ignore_errors=True)
        step.mkdir(parents=True)

        def run_tasks(batches: Iterator[Any]) -> Iterator[Any]:
            # In a worker: nothing of this process is known there but what is named here.
            from everalign.engine.spark import compute_results

            yield from compute_results(path, numbers, chunks, out, batches)

        # A row and a partition for each task.
        table = self._session.range(0, task_count, 1, task_count)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                table.mapInArrow(run_tasks, SCHEMA).collect()
        except Exception as error:
            raise EngineError(_explain_failure(error, self._master)) from error
        (step / DONE).touch()


def compute_results(
    path: str,
    numbers: list[int],
    chunks: list[Sequence[Bound]],
    out: str,
    batches: Iterator[Any],
) -> Iterator[Any]:
    """Compute the chunks of tasks; called in a worker.

    Args:
        path: Where the work is stored.
        numbers: The number of the first chunk of each task.
        chunks: The chunks of each task.
        out: The directory of the results: a Parquet file for each task, with the numbers of
            chunks and their pickled results.
        batches: Record batches with the numbers of tasks.

    Yields:
        The batches, when their tasks are done.
    """
    import pyarrow
    from pyarrow import parquet

    # One core per task: as many tasks as cores run at once.
    os.environ["EVERALIGN_THREADS"] = "1"
    work = load_work(path)
    schema = pyarrow.schema([("chunk", pyarrow.int32()), ("result", pyarrow.binary())])
    for batch in batches:
        for task in batch.column(0).to_pylist():
            file = Path(out, f"task-{task:05d}.parquet")
            # Under a name of its own first: Spark may run a task twice, even at the same time.
            part = file.with_name(f"{file.name}.{uuid4().hex}.part")
            with parquet.ParquetWriter(part, schema, compression="zstd") as writer:
                for number, bound in enumerate(chunks[task], numbers[task]):
                    result = pickle.dumps(work(*bound), pickle.HIGHEST_PROTOCOL)
                    writer.write_batch(
                        pyarrow.RecordBatch.from_pydict(
                            {"chunk": [number], "result": [result]}, schema
                        )
                    )
            part.replace(file)
        yield batch


def _read_results(step: Path) -> Iterator[tuple[int, Any]]:
    from pyarrow import parquet

    for path in sorted(step.glob("*.parquet")):
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=16):
                numbers, results = batch.columns
                for number, result in zip(numbers.to_pylist(), results, strict=True):
                    yield number, pickle.loads(result.as_buffer())


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME", "")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    need = f"Apache Spark needs Java {MIN_JAVA} or newer"
    if program is None:
        raise ConfigError(f"{need}, and there is no `java`: install it, or set JAVA_HOME")
    try:
        shown = subprocess.run(
            [program, "-version"], check=False, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"{need}, and {program} does not run: {error}") from error
    found = re.search(r'version "(\d+)(?:\.(\d+))?', shown.stderr + shown.stdout)
    # Before Java 9, the first number was 1.
    found_version = (
        0 if found is None else int(found[2] or 0) if found[1] == "1" else int(found[1])
    )
    if found_version < MIN_JAVA:
        raise ConfigError(f"{need}; {program} is version {found_version or 'unknown'}")


def _check_master(master: str) -> None:
    """Ask a master of a cluster whether it is there: Spark itself would wait for minutes."""
    found = re.match(r"spark://([^:,/]+|\[[^]]+\]):(\d+)", master)
    if found is None:
        if not re.match(r"local(\[|$)|yarn$|k8s://|spark://", master):
            known = "local[N], spark://HOST:PORT, yarn or k8s://URL"
            raise ConfigError(f"{master!r} is no master of Spark: {known}")
        return
    host, port = found[1].strip("[]"), int(found[2])
    try:
        socket.create_connection((host, port), CONNECT_SECONDS).close()
    except OSError as error:
        raise EngineError(f"the Spark master {master} does not answer: {error}") from error


def _start_session(master: str, options: dict[str, str], directory: Path) -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise ConfigError(
            "Apache Spark is not installed: pip install 'everalign[spark]'"
        ) from error
    # The same interpreter everywhere on this machine; a cluster may have set its own.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    found = re.fullmatch(r"local(?:\[(\d+|\*)\])?", master)
    if found:
        # Otherwise a task in local mode is tried once.
        master = f"local[{found[1] or '1'},{MAX_FAILURES}]"
    settings = {
        "spark.app.name": "everalign",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}",
        "spark.task.maxFailures": str(MAX_FAILURES),
        "spark.local.dir": str(directory / SCRATCH),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
        "spark.sql.adaptive.enabled": "false",
        "spark.python.worker.reuse": "true",
        "spark.ui.showConsoleProgress": "false",
        **options,
    }
    (directory / SCRATCH).mkdir(parents=True, exist_ok=True)
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        with warnings.catch_warnings():
            # It warns of versions of pandas, which nothing here uses.
            warnings.simplefilter("ignore", FutureWarning)
            return builder.getOrCreate()
    except Exception as error:
        raise EngineError(_explain_failure(error, master)) from error


def _stop_session(session: Any) -> None:
    """Stop Spark and the process of Java, which pyspark itself leaves until this process ends."""
    from pyspark import SparkContext

    gateway = session.sparkContext._gateway
    session.stop()
    process = getattr(gateway, "proc", None)
    if process is None:
        # Somebody else has started it.
        return
    gateway.shutdown()
    process.stdin.close()
    process.wait()
    SparkContext._gateway = SparkContext._jvm = None


def _explain_failure(error: Exception, master: str) -> str:
    """The line of a long report that says what has happened."""
    text = str(error)
    own = re.search(r"everalign\.errors\.\w+: (.+)", text)
    if own:
        return own[1].strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if re.match(r"(Caused by: )?[\w.]*(Error|Exception):", line)]
    logger.debug("Spark: %s", text)
    return f"Spark on {master} has failed: {(causes or lines or [type(error).__name__])[-1]}"
