"""Measures the coefficients of `everalign plan`, and how right its predictions are.

    python benchmarks/plan_costs.py [--sizes 30000 100000 300000] [--datasets DIR ...] [--json OUT]

Generated graphs of each size (statements of both) are aligned from files with one thread, in a
process of its own, when all kernels have been compiled: without literals, with labels, and with
labels, years and numbers. Then they are updated with held-back statements: small deltas,
and one that trains the models again. Each row has the processor seconds, the work in chunks, the
peak of anonymous memory and what is added to the disk for each step.

From all rows, non-negative least squares of the relative errors give the coefficients, which are
written to src/everalign/planning/cost_coefficients.json with those of Apache Spark, from
results/spark_engine.json. For results/plan_check.json, each size is predicted by the coefficients
of the other sizes, and each dataset in the ContEA layout by those of the generated graphs.

Rows that are in the result file are not measured again: remove it to begin anew.
"""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import everalign
from everalign import Aligner
from everalign.benchmark.contea_format import ContEADataset
from everalign.benchmark.synthetic import Sample, SampleConfig, generate_sample
from everalign.config import Config
from everalign.io import read_triples
from everalign.planning.costs import (
    COEFFICIENTS_FILE,
    CostModel,
    GraphCounts,
    compute_terms,
)
from everalign.planning.recording import StepRecorder
from everalign.planning.steps import FIT_STEPS, READING, UPDATE_STEPS
from everalign.planning.survey import survey_graph
from growing_states import measure_directory
from measurement import RESULTS, Row, build_parser, open_results, read_config, run_in_child

COEFFICIENTS = Path(everalign.__file__).parent / "planning" / COEFFICIENTS_FILE
CHECK_FILE = RESULTS / "plan_check.json"
SPARK_FILE = RESULTS / "spark_engine.json"
SIZES = (30_000, 100_000, 300_000)
SIDES = ("left", "right")
SHAPES = ("triples", "labels", "literals")
# Shares of the statements that updates add, one after the other; the last one is large enough to
# train the models again.
DELTAS = (0.001, 0.01, 0.13)
# The cores of the master of spark_engine.py.
SPARK_CORES = 2
STORING_INPUT, STORING_LINKS = FIT_STEPS[1], FIT_STEPS[-1]
OPERATIONS = {"fit": FIT_STEPS, "update": UPDATE_STEPS, "retraining": FIT_STEPS}
# What the cost of a step can depend on. Few terms: sizes and shapes are few as well.
GRAPH_TERMS = ("literals_given", "triple", "triple_log", "literal", "literal_log")
SECONDS_TERMS = {
    READING: ("triple", "literal", "text_byte"),
    "storing the input": ("triple", "literal", "text_byte"),
    "loading": ("triple", "literal", "text_byte"),
    "matching literals": ("literals_given", "literal", "literal_log"),
    "storing the links": ("triple", "entity", "literal"),
}
MEMORY_TERMS = ("literals_given", "triple", "entity", "literal", "text_byte")
DELTA_TERMS = ("delta", "delta_root")
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
YEAR = '"{}"^^<http://www.w3.org/2001/XMLSchema#gYear>'
NUMBER = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'
MEGABYTE = 1 << 20
# Steps that take less do not matter.
MIN_SECONDS = 0.02


def main() -> None:
    parser = build_parser(__doc__, "plan_costs.json")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=SHAPES)
    parser.add_argument(
        "--datasets", type=Path, nargs="*", default=[], help="datasets in the ContEA layout"
    )
    parser.add_argument("--coefficients", type=Path, default=COEFFICIENTS, help="file to write")
    parser.add_argument("--check", type=Path, default=CHECK_FILE, help="file of the check")
    arguments = parser.parse_args()
    # Chunks and the rest of a step can be told apart only where they do not run side by side.
    os.environ |= {"EVERALIGN_THREADS": "1", "OMP_NUM_THREADS": "1"}
    config, results = read_config(arguments), open_results(arguments)
    if not results.rows:
        run_in_child(compile_kernels, config)
    for size in arguments.sizes:
        for shape in arguments.shapes:
            key = {"data": "generated", "shape": shape, "size": size}
            results.measure_row(key, partial(measure_generated, size, shape, config))
    for directory in arguments.datasets:
        key = {"data": directory.name, "shape": "real", "size": 0}
        results.measure_row(key, partial(measure_dataset, directory, config))
    generated = [row for row in results.rows if row["data"] == "generated"]
    checks = check_predictions(generated, results.rows)
    write_json(
        arguments.check,
        {"software": results.header["software"], "measured_on": today(), "rows": checks},
    )
    content = fit_coefficients(generated)
    content["error_factors"] = measure_errors(checks)
    content["measured_on"] = today()
    content["software"] = results.header["software"]
    write_json(arguments.coefficients, content)


# Measuring


def measure_generated(size: int, shape: str, config: Config) -> Row:
    """Measure the fit and the updates of generated graphs."""
    with TemporaryDirectory() as scratch:
        directory = Path(scratch)
        run_in_child(write_graphs, size, shape, config.seed, directory)
        return measure_files(directory, config)


def measure_dataset(source: Path, config: Config) -> Row:
    """Measure the fit of the first snapshot of a dataset, and its updates."""
    with TemporaryDirectory() as scratch:
        directory = Path(scratch)
        run_in_child(write_dataset, source, directory)
        return measure_files(directory, config)


def measure_files(directory: Path, config: Config) -> Row:
    """Measure the fit of the files in a directory, and the updates with its deltas."""
    operations = [run_in_child(measure_fit, directory, config)]
    # Each in a process of its own, as each command is.
    for number in range(len(DELTAS)):
        operations.append(run_in_child(measure_update, directory, number))
    counts = [asdict(survey_graph(directory / f"{side}.nt").estimate_counts()) for side in SIDES]
    return {"graphs": counts, "operations": operations}


def write_graphs(size: int, shape: str, seed: int, directory: Path) -> Row:
    """Generate graphs and write them as files: what is aligned first, deltas, and seeds."""
    # Of a sample with labels, literals are a share of all statements.
    share = {"triples": 1.0, "labels": 0.85, "literals": 0.65}[shape]
    sample = generate_sample(SampleConfig(triples=round(size * share), snapshots=1, seed=seed))
    values = choose_values(sample) if shape == "literals" else {}
    rng = np.random.default_rng(seed)
    for side, (triples, labels) in {
        "left": (sample.left(0), sample.left_labels()),
        "right": (sample.right(0), sample.right_labels()),
    }.items():
        base = f"http://{side}.example/property/"
        lines = [format_line(*triple) for triple in dict.fromkeys(triples)]
        if shape != "triples":
            lines += [f"<{name}> <{LABEL}> {json.dumps(label)} ." for name, label in labels]
        for name, number in values.items():
            if name.startswith(f"http://{side}."):
                lines.append(f"<{name}> <{base}year> {YEAR.format(1800 + number % 220)} .")
                lines.append(f"<{name}> <{base}count> {NUMBER.format(number)} .")
        write_parts(directory, side, lines, rng)
    write_links(directory, [*sample.seeds, *sample.validation_links])
    return {}


def choose_values(sample: Sample) -> dict[str, int]:
    """A number for each linked entity, the same for both entities of most links."""
    links = [*sample.seeds, *sample.validation_links, *sample.gold(-1)]
    values = {}
    for left, right in links:
        number = zlib.crc32(left.encode())
        values[left] = number % 100_000
        # Every tenth is wrong.
        values[right] = (number + (number % 10 == 0)) % 100_000
    return values


def write_dataset(source: Path, directory: Path) -> Row:
    """Write the first snapshot of a dataset as files."""
    data, rng = ContEADataset.open(source), np.random.default_rng(0)
    for side, path in zip(SIDES, data.delta_files(0), strict=True):
        lines = [format_line(*row) for row in dict.fromkeys(read_triples(path))]
        write_parts(directory, side, lines, rng)
    write_links(directory, [*data.train_links(), *data.validation_links()])
    return {}


def write_parts(
    directory: Path, side: str, lines: Sequence[str], rng: np.random.Generator
) -> None:
    """Write the lines of a graph, without those that are held back for the deltas."""
    order = rng.permutation(len(lines))
    start = 0
    for number, share in enumerate(DELTAS):
        stop = start + max(1, round(share * len(lines)))
        write_lines(directory / f"{side}-{number}.nt", [lines[i] for i in order[start:stop]])
        start = stop
    write_lines(directory / f"{side}.nt", [lines[i] for i in np.sort(order[start:])])


def write_links(directory: Path, links: Iterable[tuple[str, str]]) -> None:
    known = [read_names(directory / f"{side}.nt") for side in SIDES]
    rows = [
        f"{left}\t{right}"
        for left, right in ((as_iri(left), as_iri(right)) for left, right in links)
        if left in known[0] and right in known[1]
    ]
    write_lines(directory / "seeds.tsv", rows)


def read_names(path: Path) -> set[str]:
    names = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        head, _, rest = line.split(" ", 2)
        names.add(head[1:-1])
        if rest.startswith("<"):
            names.add(rest.removesuffix(" .")[1:-1])
    return names


def format_line(head: str, relation: str, tail: str) -> str:
    return f"<{as_iri(head)}> <{as_iri(relation)}> <{as_iri(tail)}> ."


def as_iri(name: str) -> str:
    # Numbers are the names in datasets of the ContEA layout.
    return name if ":" in name else f"urn:id:{name}"


def write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def measure_fit(directory: Path, config: Config) -> Row:
    """Measure a fit from files (in a process of its own)."""
    recorder = RecordedRun(directory / "state")
    with recorder.watch():
        Aligner.create(
            directory / "state",
            directory / "left.nt",
            directory / "right.nt",
            directory / "seeds.tsv",
            config=config,
            progress=recorder,
        )
    return {"operation": "fit", "delta": 0, "steps": recorder.list_steps()}


def measure_update(directory: Path, number: int) -> Row:
    """Measure an update of a state with one of its deltas (in a process of its own)."""
    files = [directory / f"{side}-{number}.nt" for side in SIDES]
    recorder = RecordedRun(directory / "state")
    with recorder.watch():
        aligner = Aligner.open(directory / "state")
        result = aligner.update(files[0], files[1], recorder)
    return {
        "operation": "retraining" if result.reports[-1].trained else "update",
        "delta": sum(path.read_text(encoding="utf-8").count("\n") for path in files),
        "steps": recorder.list_steps(),
    }


def compile_kernels(config: Config) -> Row:
    """Align and update small graphs, so that compiled kernels are in their cache."""
    for shape in ("triples", "literals"):
        with TemporaryDirectory() as scratch:
            write_graphs(3000, shape, 1, Path(scratch))
            measure_fit(Path(scratch), config)
            for number in range(len(DELTAS)):
                measure_update(Path(scratch), number)
    return {}


class RecordedRun(StepRecorder):
    """Records memory and disk as well."""

    def __init__(self, state: Path) -> None:
        super().__init__()
        self._state = state
        self._memory: dict[str, int] = {}
        self._disk: dict[str, int] = {}
        self._ended = threading.Event()
        self._had_version = state.exists()
        self._last_size = measure_directory(state) if state.exists() else 0

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Record what is done inside the block."""
        thread = threading.Thread(target=self._watch_memory, daemon=True)
        thread.start()
        try:
            with self.record():
                yield
        finally:
            self._ended.set()
            thread.join()

    def list_steps(self) -> dict[str, Row]:
        """What each step took."""
        disk = {STORING_LINKS: sum(self._disk.values())}
        if not self._had_version:
            # An update moves bytes to and fro between the database and its log: only their sum
            # means something.
            input_bytes = sum(self._disk.get(name, 0) for name in FIT_STEPS[:2])
            disk = {STORING_INPUT: input_bytes, STORING_LINKS: disk[STORING_LINKS] - input_bytes}
        return {
            name: {
                "cpu_seconds": round(step.cpu_seconds, 4),
                "chunk_seconds": round(step.chunk_seconds, 4),
                "job_count": step.job_count,
                "memory_bytes": self._memory[name],
                "disk_bytes": disk.get(name, 0),
            }
            for name, step in self.steps.items()
        }

    def _close_step(self) -> None:
        super()._close_step()
        self._note_memory()
        size = measure_directory(self._state) if self._state.exists() else 0
        self._disk[self.current] = self._disk.get(self.current, 0) + size - self._last_size
        self._last_size = size

    def _watch_memory(self) -> None:
        while not self._ended.wait(0.01):
            self._note_memory()

    def _note_memory(self) -> None:
        step, memory = self.current, read_anonymous_memory()
        self._memory[step] = max(memory, self._memory.get(step, 0))


def read_anonymous_memory() -> int:
    """Read the memory of this process that is not in a file."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon:")).split()[1]) * 1024


# Coefficients


def fit_coefficients(rows: Sequence[Row]) -> Row:
    """Compute the content of a coefficients file from measured rows."""
    operations: Row = {}
    for operation, names in OPERATIONS.items():
        measured = list_operations(rows, operation)
        operations[operation] = {
            name: fit_step(name, operation, measured) for name in names if measured
        }
    job_count = sum(step["job_count"] for step in operations["fit"].values())
    engines = json.loads(SPARK_FILE.read_text(encoding="utf-8"))
    return {
        "operations": operations,
        "cluster": fit_cluster(engines["rows"], job_count),
        "largest_triples": max(count_statements(row) for row in rows),
    }


def list_operations(rows: Sequence[Row], operation: str) -> list[tuple[dict[str, float], Row]]:
    """The terms and the steps of all measured operations of a kind."""
    return [
        (compute_terms(read_counts(row), done["delta"]), done["steps"])
        for row in rows
        for done in row["operations"]
        if done["operation"] == operation
    ]


def read_counts(row: Row) -> list[GraphCounts]:
    return [GraphCounts(**graph) for graph in row["graphs"]]


def count_statements(row: Row) -> int:
    return sum(graph.statements for graph in read_counts(row))


def fit_step(name: str, operation: str, measured: list[tuple[dict[str, float], Row]]) -> Row:
    """Compute the coefficients of a step."""
    nothing = dict.fromkeys(("cpu_seconds", "chunk_seconds", "memory_bytes", "disk_bytes"), 0)
    steps = []
    for terms, found in measured:
        step = found.get(name, nothing | {"job_count": 0})
        serial = max(0.0, step["cpu_seconds"] - step["chunk_seconds"])
        steps.append((terms, step | {"serial_seconds": serial}))
    largest = max(steps, key=lambda pair: pair[0]["triple"])[1]
    seconds_terms = ("constant", *SECONDS_TERMS.get(name, GRAPH_TERMS))
    memory_terms: tuple[str, ...] = ("constant", *MEMORY_TERMS)
    disk_terms: tuple[str, ...] = memory_terms
    if operation == "update":
        seconds_terms = ("constant", "triple", "literal", *DELTA_TERMS)
        memory_terms, disk_terms = (*memory_terms, *DELTA_TERMS), ("constant", *DELTA_TERMS)
    return {
        "serial_seconds": solve_terms(steps, "serial_seconds", seconds_terms, MIN_SECONDS),
        "chunk_seconds": solve_terms(steps, "chunk_seconds", seconds_terms, MIN_SECONDS),
        "memory_bytes": solve_terms(steps, "memory_bytes", memory_terms, MEGABYTE),
        "disk_bytes": solve_terms(steps, "disk_bytes", disk_terms, MEGABYTE / 100),
        "job_count": largest["job_count"],
    }


def solve_terms(
    steps: list[tuple[dict[str, float], Row]], value: str, terms: Sequence[str], floor: float
) -> dict[str, float]:
    """Find coefficients that are not negative, so that relative errors are small.

    Args:
        steps: The terms and the measured step of each row.
        value: What is predicted.
        terms: The terms to choose from.
        floor: Smaller values count as this one: they do not matter.

    Returns:
        The coefficients that are not zero.
    """
    from scipy.optimize import nnls

    target = np.array([max(0.0, step[value]) for _, step in steps])
    if not target.any():
        return {}
    weight = 1 / np.maximum(target, floor)
    matrix = np.array([[row[term] for term in terms] for row, _ in steps])
    # Columns of one size: a coefficient of a text byte is far smaller than a constant.
    scale = np.maximum((matrix * weight[:, None]).max(axis=0), 1e-300)
    found, _ = nnls(matrix * weight[:, None] / scale, target * weight)
    return {
        term: float(f"{number:.4g}")
        for term, number in zip(terms, found / scale, strict=True)
        if number > 0
    }


def fit_cluster(rows: Sequence[Row], job_count: int) -> Row:
    """Compute what Spark costs from the measurements of the engine.

    Args:
        rows: The rows of `spark_engine.py`.
        job_count: How many steps of a fit have chunks. Spark computes those that are long enough,
            and the shorter ones cost as much in threads: that is part of what a job costs here.

    Returns:
        The fields of `ClusterCoefficients`.
    """
    from scipy.optimize import nnls

    measured = [row for row in rows if "generated" in row["data"]]
    native, driver, wall = (
        np.array([row[name] for row in measured])
        for name in ("native_cpu_seconds", "driver_cpu_seconds", "wall_seconds")
    )
    # What the driver does not do itself, workers do.
    work, waiting = np.maximum(native - driver, 0), wall - driver
    matrix = np.stack([np.full(len(measured), job_count), work / SPARK_CORES], axis=1)
    (per_job, per_second), _ = nnls(matrix / waiting[:, None], np.ones(len(waiting)))
    return {
        "seconds_per_job": round(float(per_job), 4),
        # A worker is no faster than a thread, whatever two measurements say.
        "worker_factor": round(max(1.0, float(per_second)), 4),
    }


# The check


def check_predictions(generated: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """Predict each row by the coefficients of rows of other sizes."""
    checks = []
    for row in rows:
        others = [other for other in generated if other["size"] != row["size"]]
        if len({other["size"] for other in others}) < 2:
            continue
        content = fit_coefficients(others) | {"error_factors": {}}
        model, graphs = CostModel.from_json(content), read_counts(row)
        for done in row["operations"]:
            terms = compute_terms(graphs, done["delta"])
            predicted = model.estimate_steps(done["operation"], terms)
            steps = done["steps"].values()
            values = {
                "seconds": (
                    sum(step.seconds for step in predicted),
                    sum(step["cpu_seconds"] for step in steps),
                ),
                "memory": (
                    max(step.memory_bytes for step in predicted),
                    max(step["memory_bytes"] for step in steps),
                ),
                "disk": (
                    sum(step.disk_bytes for step in predicted),
                    sum(step["disk_bytes"] for step in steps),
                ),
            }
            sizes = [other["size"] for other in others]
            checks.append(
                {
                    "data": row["data"],
                    "shape": row["shape"],
                    "size": row["size"],
                    "statements": count_statements(row),
                    "operation": done["operation"],
                    "delta": done["delta"],
                    "predicted_from": sorted(set(sizes)),
                    "is_larger": count_statements(row) > max(map(count_statements, others)),
                    **{
                        name: {
                            "predicted": round(first, 3),
                            "measured": round(second, 3),
                            "ratio": round(first / second, 3) if second > 0 else None,
                        }
                        for name, (first, second) in values.items()
                    },
                }
            )
    return checks


def measure_errors(checks: Sequence[Row]) -> dict[str, float]:
    """By which factor predictions of a fit were wrong, nine times out of ten at most."""
    factors = {}
    for name in ("seconds", "memory", "disk"):
        ratios = [row[name]["ratio"] for row in checks if row["operation"] == "fit"]
        errors = [max(ratio, 1 / ratio) for ratio in ratios if ratio]
        factors[name] = round(float(np.quantile(errors, 0.9)), 2) if errors else 1.0
    return factors


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def write_json(path: Path, content: Row) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
