"""Common parts of the measurements: tasks, time and memory, scores and result files.

Long measurements are written row by row: a row that is in the result file is not measured again.
To repeat a measurement, remove the file.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from everalign._progress import Progress, no_progress
from everalign.benchmark.anonymise import AnonymisedDataset, NamePairs
from everalign.benchmark.contea_format import ContEADataset
from everalign.benchmark.metrics import calibration_error, score_links
from everalign.benchmark.protocol import software_versions
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.cli.inputs import read_config as read_command_config
from everalign.config import Config
from everalign.graph import Graph, IntArray, Vocabulary, encode_links, encode_triples
from everalign.io import Triple
from everalign.matching import CandidatePairs
from everalign.methods import AlignmentTask, Method, create_method, get_method_entry

Row: TypeAlias = dict[str, Any]

RESULTS = Path(__file__).parent / "results"


class GraphPair:
    """Two graphs that grow by named triples. Entities that are added later have higher ids.

    >>> graphs = GraphPair()
    >>> graphs.add_triples([("a", "knows", "b")], [("A", "knows", "B")])
    >>> graphs.add_triples([("c", "knows", "a")], [])
    >>> graphs.build_task([("a", "A")], []).known_left_count, graphs.left.entity_count
    (2, 3)
    """

    def __init__(self) -> None:
        self.vocabularies = Vocabulary(), Vocabulary()
        self.left = self.right = Graph.empty()
        self.known_counts = 0, 0

    def add_triples(self, left: Iterable[Triple], right: Iterable[Triple]) -> None:
        """Add the triples of a delta.

        Args:
            left: Triples of the left graph.
            right: Triples of the right graph.
        """
        self.known_counts = self.left.entity_count, self.right.entity_count
        self.left = self.left.with_triples(encode_triples(left, self.vocabularies[0]))
        self.right = self.right.with_triples(encode_triples(right, self.vocabularies[1]))

    def keep_known(self, pairs: NamePairs) -> NamePairs:
        """Keep the pairs whose entities are both in the graphs.

        Args:
            pairs: Pairs of left and right entity.

        Returns:
            The pairs that are kept.
        """
        left, right = (names.entities for names in self.vocabularies)
        return [pair for pair in pairs if pair[0] in left and pair[1] in right]

    def encode_pairs(self, pairs: NamePairs) -> IntArray:
        """Encode pairs of names as pairs of ids.

        Args:
            pairs: Pairs of left and right entity.

        Returns:
            A row for each pair.
        """
        return encode_links(pairs, *self.vocabularies)

    def build_task(self, seeds: NamePairs, validation_links: NamePairs) -> AlignmentTask:
        """Build the task of the current graphs, without links in force.

        Args:
            seeds: Links to train with.
            validation_links: Links to validate with.

        Returns:
            The task; entities of the last delta are new.
        """
        return AlignmentTask(
            self.left,
            self.right,
            self.encode_pairs(seeds),
            self.encode_pairs(validation_links),
            *self.known_counts,
        )


def read_tasks(directory: Path, last: int, seed: int = 0) -> list[AlignmentTask]:
    """Read the tasks of several snapshots, without links in force.

    Args:
        directory: A dataset in the ContEA layout.
        last: The last snapshot.
        seed: Random seed of the anonymisation.

    Returns:
        The tasks of snapshots 0 to `last`.
    """
    data = AnonymisedDataset(ContEADataset.open(directory), seed)
    graphs, tasks = GraphPair(), []
    for t in range(last + 1):
        graphs.add_triples(*data.read_delta(t))
        tasks.append(graphs.build_task(data.seeds(), data.validation_links()))
    return tasks


def list_sample_steps(config: SampleConfig) -> Iterator[tuple[AlignmentTask, IntArray]]:
    """Generate a sample, and list its snapshots.

    Args:
        config: The settings of the sample.

    Yields:
        The task of each snapshot, without links in force, and its gold links.
    """
    sample, graphs = generate_sample(config), GraphPair()
    for t in range(config.snapshots):
        graphs.add_triples(sample.left(t), sample.right(t))
        task = graphs.build_task(sample.seeds, sample.validation_links)
        yield task, graphs.encode_pairs(sample.gold(t))


def score_touching(links: CandidatePairs, gold: IntArray) -> Row:
    """Compare the links that touch an entity of a gold link with the gold links.

    Args:
        links: Accepted candidates.
        gold: The gold links; others are unknown.

    Returns:
        Scores and calibration error.
    """
    judged = mark_touching(links.left, links.right, gold)
    gold_pairs = {(left, right) for left, right in gold.tolist()}
    pairs = [pair for pair, is_judged in zip(links.pairs(), judged, strict=True) if is_judged]
    scores = score_links(pairs, gold_pairs)
    is_correct = [pair in gold_pairs for pair in pairs]
    return {
        "f1": round(scores.f1, 4),
        "precision": round(scores.precision, 4),
        "recall": round(scores.recall, 4),
        "calibration_error": round(calibration_error(links.score[judged].tolist(), is_correct), 4),
    }


def mark_touching(
    left: NDArray[np.integer], right: NDArray[np.integer], gold: IntArray
) -> NDArray[np.bool_]:
    """Mark the pairs with an entity of a gold link.

    Args:
        left: Left entities.
        right: Right entities, as many.
        gold: The gold links.

    Returns:
        A mask over the pairs.
    """
    return np.isin(left, gold[:, 0]) | np.isin(right, gold[:, 1])


@dataclass(frozen=True)
class BaseSnapshot:
    """Snapshot 0 of a dataset: the triples of both graphs, and the three sets of gold links."""

    left: list[Triple]
    right: list[Triple]
    seeds: NamePairs
    validation_links: NamePairs
    test_links: NamePairs

    def find_gold(self, graphs: GraphPair, task: AlignmentTask) -> IntArray:
        """Find the gold links between entities for which the task gives no link.

        Seeds and validation links that the task does not give are to be found as well.

        Args:
            graphs: The graphs of the task.
            task: The task.

        Returns:
            Pairs of ids.
        """
        links = graphs.encode_pairs(
            graphs.keep_known([*self.test_links, *self.seeds, *self.validation_links])
        )
        left_free, right_free = (
            np.isin(links[:, column], ids) for column, ids in enumerate(task.unlinked_entities())
        )
        return links[left_free & right_free]


def read_base_snapshot(directory: Path, seed: int = 0) -> BaseSnapshot:
    """Read snapshot 0 of a dataset, anonymised.

    Args:
        directory: A dataset in the ContEA layout.
        seed: Random seed of the anonymisation.

    Returns:
        The snapshot.
    """
    data = AnonymisedDataset(ContEADataset.open(directory), seed)
    left, right = (list(dict.fromkeys(triples)) for triples in data.read_delta(0))
    return BaseSnapshot(left, right, data.seeds(), data.validation_links(), data.gold(0))


def hold_out_triples(
    triples: list[Triple], percent: float, rng: np.random.Generator
) -> tuple[list[Triple], list[Triple]]:
    """Hold out a random share of the triples.

    Args:
        triples: The triples.
        percent: The share in percent.
        rng: The random generator.

    Returns:
        The other triples and the held-out triples, both in their original order.
    """
    is_held_out = np.zeros(len(triples), dtype=bool)
    count = round(len(triples) * percent / 100)
    is_held_out[rng.choice(len(triples), count, replace=False)] = True
    return (
        [triple for triple, out in zip(triples, is_held_out, strict=True) if not out],
        [triple for triple, out in zip(triples, is_held_out, strict=True) if out],
    )


def time_step(
    step: Callable[[AlignmentTask, Progress], None], method: Method, task: AlignmentTask
) -> tuple[CandidatePairs, float]:
    """Measure a fit or an update together with its candidates.

    Args:
        step: The method's `fit` or `update`.
        method: The method.
        task: The task.

    Returns:
        The candidates and the seconds.
    """
    started = perf_counter()
    step(task, no_progress)
    candidates = method.candidates(task, no_progress)
    return candidates, perf_counter() - started


def keep_task(task: AlignmentTask, graphs: GraphPair) -> AlignmentTask:  # noqa: ARG001
    """Add nothing to a task (the default of `warm_up_method`)."""
    return task


def warm_up_method(
    config: Config, extend_task: Callable[[AlignmentTask, GraphPair], AlignmentTask] = keep_task
) -> None:
    """Fit and update a small sample, so that kernels are compiled and libraries are loaded.

    Args:
        config: The method and its settings.
        extend_task: Adds to the task what the measured tasks have besides triples.
    """
    # Large enough for the translation model, which needs a minimum number of links.
    sample = generate_sample(SampleConfig(triples=4000, snapshots=2))
    method, graphs, links = create_method(config), GraphPair(), CandidatePairs.empty()
    for t, step in enumerate((method.fit, method.update)):
        graphs.add_triples(sample.left(t), sample.right(t))
        task = extend_task(graphs.build_task(sample.seeds, sample.validation_links), graphs)
        links = time_step(step, method, replace(task, previous_links=links))[0].accepted()


def run_in_child(work: Callable[..., Row], *arguments: Any) -> Row:
    """Run a measurement in a new process.

    Args:
        work: The measurement; a function at the top level of a module.
        *arguments: Its arguments.

    Returns:
        The row of the measurement with `process_seconds` and `peak_rss_mb`.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measure_process, work, *arguments).result()


def _measure_process(work: Callable[..., Row], *arguments: Any) -> Row:
    started = perf_counter()
    row = work(*arguments)
    return row | {
        "process_seconds": perf_counter() - started,
        "peak_rss_mb": read_memory_mb("VmHWM"),
    }


def read_memory_mb(field: str = "VmRSS") -> float:
    """Read the memory of this process.

    Args:
        field: `VmRSS` for the current memory, `VmHWM` for the peak.

    Returns:
        The memory in MB.
    """
    # Not getrusage, whose peak includes the memory of the parent process.
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    value = next(line for line in lines if line.startswith(f"{field}:")).split()[1]
    return round(int(value) / 1024, 1)


def score_candidates(candidates: CandidatePairs, gold: IntArray, config: Config) -> Row:
    """Compare the accepted candidates with gold links.

    Args:
        candidates: The candidates of a method.
        gold: The gold links.
        config: The configuration of the method.

    Returns:
        Scores, calibration error, threshold and notes.
    """
    links = candidates.accepted()
    gold_pairs = {(left, right) for left, right in gold.tolist()}
    is_correct = [pair in gold_pairs for pair in links.pairs()]
    calibrated = get_method_entry(config.method).calibrated
    return score_links(links.pairs(), gold_pairs).to_dict() | {
        "calibration_error": calibration_error(links.score.tolist(), is_correct)
        if calibrated
        else None,
        "threshold": candidates.threshold if math.isfinite(candidates.threshold) else None,
        "notes": list(candidates.notes),
    }


class ResultFile:
    """A result file that is written row by row."""

    def __init__(self, path: Path, header: Row) -> None:
        """Open a result file.

        Args:
            path: The file; it need not exist.
            header: The values that all rows have in common, such as seed and configuration.
        """
        self.path = path
        self.header = header
        self.rows = self._read_rows()

    def measure_row(self, key: Row, measure: Callable[[], Row]) -> Row:
        """Return a row of the file; measure and add it if it is missing.

        Args:
            key: The values that identify the row.
            measure: Measures the other values.

        Returns:
            The row.
        """
        row = find_row(self.rows, key)
        if row is None:
            row = key | measure()
            self.rows.append(row)
            self._write()
        print(json.dumps(row), flush=True)
        return row

    def _read_rows(self) -> list[Row]:
        if not self.path.exists():
            return []
        content = json.loads(self.path.read_text(encoding="utf-8"))
        # As it would be read: JSON has no tuples.
        header = json.loads(json.dumps(self.header))
        differing = [name for name, value in header.items() if content.get(name) != value]
        if differing:
            sys.exit(
                f"{self.path}: result of another run ({differing[0]} differs); use another file"
            )
        rows: list[Row] = content["rows"]
        return rows

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(self.path.name + ".unfinished")
        text = json.dumps(self.header | {"rows": self.rows}, indent=1) + "\n"
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(self.path)


def find_row(rows: list[Row], key: Row) -> Row | None:
    """Find the row with all values of a key.

    Args:
        rows: The rows.
        key: The values.

    Returns:
        The row, or None.

    >>> find_row([{"t": 0, "f1": 0.8}, {"t": 1, "f1": 0.6}], {"t": 1})
    {'t': 1, 'f1': 0.6}
    """
    return next((row for row in rows if key.items() <= row.items()), None)


def build_parser(description: str | None, out: str) -> argparse.ArgumentParser:
    """Build a parser with the options of every measurement of a method.

    Args:
        description: The docstring of the script.
        out: The default name of the result file.

    Returns:
        The parser.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--method", help="method to measure (default: the default method)")
    parser.add_argument("--config", type=Path, help="settings as TOML")
    parser.add_argument("--json", type=Path, default=RESULTS / out, help="the result file")
    return parser


def read_config(arguments: argparse.Namespace) -> Config:
    """Read the configuration that the options select.

    Args:
        arguments: The parsed options.

    Returns:
        The configuration.
    """
    return read_command_config(arguments.config, arguments.method, None, None)


def open_results(arguments: argparse.Namespace) -> ResultFile:
    """Open the result file, for rows of the same configuration and software.

    Args:
        arguments: The parsed options.

    Returns:
        The result file.
    """
    config = read_config(arguments)
    header = {"method": config.method, "seed": config.seed, "config": asdict(config)}
    return ResultFile(arguments.json, header | {"software": software_versions()})
