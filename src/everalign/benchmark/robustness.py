"""Robustness: how far scores and links of a method differ under harmless perturbations."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from everalign._progress import Progress, no_progress
from everalign.aligner import Aligner
from everalign.benchmark.contea_format import ContEADataset
from everalign.benchmark.perturbation import Perturbation, PerturbationKind
from everalign.benchmark.protocol import BenchmarkRun, SnapshotResult, write_result
from everalign.errors import ConfigError

METRICS = ("f1", "precision", "recall", "calibration_error", "touching_calibration_error")
Links = list[tuple[str, str]]
RunCallback = Callable[[int, list[SnapshotResult]], None]


def _ignore_run(number: int, records: list[SnapshotResult]) -> None:
    """Default callback."""


@dataclass(frozen=True)
class RobustnessRun:
    """A benchmark that is run several times under harmless perturbations.

    Attributes:
        benchmark: The benchmark; its first run is without perturbation.
        run_count: Number of runs, at least 2.
        kinds: What is perturbed.
    """

    benchmark: BenchmarkRun
    run_count: int
    kinds: tuple[PerturbationKind, ...] = tuple(PerturbationKind)

    def __post_init__(self) -> None:
        if self.run_count < 2:
            raise ConfigError("a spread needs at least 2 runs")

    def run(
        self,
        directory: Path,
        *,
        on_run: RunCallback = _ignore_run,
        progress: Progress = no_progress,
    ) -> dict[str, Any]:
        """Run the benchmark as often as wanted, or resume an interrupted series.

        Args:
            directory: Where the result and the links of each run are kept until all are done.
            on_run: Called with the number of each run and the results of its snapshots.
            progress: Called with the progress of the method.

        Returns:
            The results of all runs (`runs`) and, for each snapshot, mean and spread of the scores
            and how far the links agree (`snapshots`).
        """
        directory.mkdir(parents=True, exist_ok=True)
        runs, links = [], []
        for number in range(self.run_count):
            perturbation = Perturbation.create(number, self.kinds)
            result, found = _run_once(
                replace(self.benchmark, perturbation=perturbation), directory, number, progress
            )
            on_run(number, result["snapshots"])
            runs.append(result)
            links.append(found)
        shared = {
            key: value
            for key, value in runs[0].items()
            if key not in ("snapshots", "perturbation")
        }
        return {
            **shared,
            "perturbed": list(self.kinds),
            "snapshots": summarise_runs([run["snapshots"] for run in runs], links),
            "runs": [
                {key: run.get(key, {}) for key in ("perturbation", "snapshots")} for run in runs
            ],
        }


def _run_once(
    benchmark: BenchmarkRun, directory: Path, number: int, progress: Progress
) -> tuple[dict[str, Any], list[Links]]:
    """Run a benchmark, and list its links of each snapshot by their names in the dataset."""
    out, links_file = directory / f"run{number}.json", directory / f"links{number}.json"
    if links_file.exists():
        # Also checks that it is the result of the same benchmark.
        saved = json.loads(links_file.read_text(encoding="utf-8"))
        return benchmark.run(out), [[(left, right) for left, right in rows] for rows in saved]
    with TemporaryDirectory(dir=directory) as scratch:
        state = Path(scratch) / "run.state"
        # Without its links, a result is of no use.
        out.unlink(missing_ok=True)
        result = replace(benchmark, kept_state=state).run(out, progress=progress)
        dataset = ContEADataset.open(benchmark.directory)
        data, aligner = benchmark.anonymise(dataset), Aligner.open(state)
        links = []
        for version, record in enumerate(result["snapshots"]):
            # Only links that can be wrong count: others have a gold entity of no version.
            judged = aligner.evaluate(data.gold(record["t"]), at=version, scope="gold")
            record["touching_calibration_error"] = judged.to_dict()["calibration_error"]
            links.append(
                sorted(
                    (data.original_left_name(link.left), data.original_right_name(link.right))
                    for link in aligner.links(at=version)
                    if link.origin == "found"
                )
            )
    write_result(out, result)
    links_file.write_text(json.dumps(links), encoding="utf-8")
    return result, links


def summarise_runs(
    runs: Sequence[Sequence[SnapshotResult]], links: Sequence[Sequence[Collection[Any]]]
) -> list[SnapshotResult]:
    """Compute mean and spread of the scores of several runs, and how far their links agree.

    Args:
        runs: The results of all snapshots of each run.
        links: The links of all snapshots of each run.

    Returns:
        For each snapshot and metric the mean, the standard deviation and the range (greatest less
        least value). `agreement` is the mean over all pairs of runs of the number of common links
        divided by that of all links of either (Jaccard); `always` is the share of all links of
        any run that every run has.

    Example:
        >>> runs = [[{"t": 0, "f1": 0.5}], [{"t": 0, "f1": 0.75}]]
        >>> row = summarise_runs(runs, [[["a", "b"]], [["b"]]])[0]
        >>> row["f1"]["mean"], row["f1"]["range"], row["agreement"]
        (0.625, 0.25, 0.5)
    """
    summary = []
    for number, records in enumerate(zip(*runs, strict=True)):
        row: SnapshotResult = {"t": records[0]["t"]}
        for metric in METRICS:
            values = [record.get(metric) for record in records]
            if None not in values:
                row[metric] = {
                    "mean": float(np.mean(values)),
                    "deviation": float(np.std(values, ddof=1)),
                    "range": float(max(values) - min(values)),
                }
        found = [set(of_run[number]) for of_run in links]
        pairs = list(combinations(found, 2))
        row["agreement"] = float(np.mean([_compare_links(*pair) for pair in pairs]))
        every, any_run = set.intersection(*found), set.union(*found)
        row["always"] = len(every) / len(any_run) if any_run else 1.0
        summary.append(row)
    return summary


def _compare_links(one: set[Any], other: set[Any]) -> float:
    union = one | other
    return len(one & other) / len(union) if union else 1.0
