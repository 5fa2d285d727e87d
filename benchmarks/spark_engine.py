"""What Apache Spark costs against threads, and whether it gives the same links.

    python benchmarks/spark_engine.py [--sizes 1000000] [--dataset DIR --last 1] [--json OUT]

Each row is a fit of the default method in threads and on Spark (`local[2]`), in one process of
its own: a generated sample of a number of triples, or the first snapshots of a dataset in the
ContEA layout (snapshot 1 is an update of snapshot 0). `same_links` tells whether pairs, scores
and thresholds are equal, bit by bit. Processor seconds of Spark are those of the driver, of Java
and of its Python workers, without the start of Java; `steps` is the number of jobs.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path

from everalign import SparkEngine, use_engine
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.config import Config
from everalign.methods import AlignmentTask, create_method
from measurement import (
    GraphPair,
    Row,
    build_parser,
    open_results,
    read_config,
    read_tasks,
    run_in_child,
    time_step,
    warm_up_method,
)

MASTER = "local[2]"


def main() -> None:
    parser = build_parser(__doc__, "spark_engine.json")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--dataset", type=Path, help="a dataset in the ContEA layout")
    parser.add_argument("--last", type=int, default=1, help="last snapshot of the dataset")
    arguments = parser.parse_args()
    config, results = read_config(arguments), open_results(arguments)
    for size in arguments.sizes:
        measure = partial(run_in_child, compare_sample, size, config)
        results.measure_row({"data": f"{size:,} generated triples"}, measure)
    if arguments.dataset:
        measure = partial(run_in_child, compare_dataset, arguments.dataset, arguments.last, config)
        name = f"{arguments.dataset.name}, snapshots 0 to {arguments.last}"
        results.measure_row({"data": name}, measure)


def compare_sample(size: int, config: Config) -> Row:
    """Compare the engines on a generated sample."""
    sample = generate_sample(SampleConfig(triples=size, snapshots=1, seed=config.seed))
    graphs = GraphPair()
    graphs.add_triples(sample.left(0), sample.right(0))
    seeds, validation = map(graphs.keep_known, (sample.seeds, sample.validation_links))
    return compare_engines([graphs.build_task(seeds, validation)], config)


def compare_dataset(directory: Path, last: int, config: Config) -> Row:
    """Compare the engines on the snapshots of a dataset."""
    return compare_engines(read_tasks(directory, last), config)


def compare_engines(tasks: list[AlignmentTask], config: Config) -> Row:
    """Fit the first task and update with the others, in threads and on Spark."""
    warm_up_method(config)
    began = time.process_time()
    expected = run_tasks(tasks, config)
    native = time.process_time() - began
    with (
        tempfile.TemporaryDirectory() as directory,
        SparkEngine(Path(directory) / "run", MASTER) as engine,
        use_engine(engine),
    ):
        started, driver, wall = read_child_cpu(), time.process_time(), time.perf_counter()
        digest = run_tasks(tasks, config)
        wall = time.perf_counter() - wall
        driver = time.process_time() - driver
        workers = read_child_cpu() - started
        steps = len(engine.list_steps())
    return {
        "master": MASTER,
        "native_cpu_seconds": native,
        "driver_cpu_seconds": driver,
        "worker_cpu_seconds": workers,
        "wall_seconds": wall,
        "ratio": (driver + workers) / native,
        "steps": steps,
        "same_links": digest == expected,
    }


def run_tasks(tasks: list[AlignmentTask], config: Config) -> str:
    """Run the method on all tasks; a digest of the candidates of each."""
    method, digest = create_method(config), hashlib.sha256()
    for number, task in enumerate(tasks):
        candidates, _ = time_step(method.update if number else method.fit, method, task)
        digest.update(str(candidates.threshold).encode())
        for column in (candidates.left, candidates.right, candidates.score):
            digest.update(column.tobytes())
    return digest.hexdigest()


def read_child_cpu() -> float:
    """Read the processor seconds of all processes that this one has started."""
    shown = subprocess.run(
        ["ps", "-eo", "pid,ppid,cputimes"], check=True, capture_output=True, text=True
    )
    rows = [tuple(map(int, line.split())) for line in shown.stdout.splitlines()[1:]]
    parents = {pid: parent for pid, parent, _ in rows}
    total = 0

    def is_child(pid: int) -> bool:
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    for pid, _, seconds in rows:
        if pid != os.getpid() and is_child(pid):
            total += seconds
    return float(total)


if __name__ == "__main__":
    main()
