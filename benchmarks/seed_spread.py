"""F1 of one or two source trees over several seeds: how much of a difference is chance.

    python benchmarks/seed_spread.py DATASET_DIR... --runs DIR [--before SRC] [--seeds 0 1 2]

A seed decides which trusted links are held out and how the classifiers draw samples. Each run is
`everalign bench` in a process of its own, and its result file is kept in the directory `--runs`
as TREE_DATASET_SEED.json: a run that is there is not repeated, a broken-off one is resumed.
Each row of the result is a snapshot of a dataset, with F1 of each tree by seed, the mean, and the
difference of the means with its standard error (of the differences by seed).
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

from everalign.benchmark.protocol import software_versions
from measurement import RESULTS, Row, build_parser

SOURCES = Path(__file__).parent.parent / "src"


def main() -> None:
    parser = build_parser(__doc__, "seed_spread.json")
    parser.add_argument("datasets", type=Path, nargs="+", help="datasets in the ContEA layout")
    parser.add_argument("--runs", type=Path, required=True, help="directory of the runs")
    parser.add_argument("--before", type=Path, help="directory with the other everalign")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--last", type=int, default=5, help="last snapshot")
    arguments = parser.parse_args()
    trees = {"after": SOURCES}
    if arguments.before:
        trees = {"before": arguments.before, **trees}
    arguments.runs.mkdir(parents=True, exist_ok=True)
    scores: dict[tuple[str, str], list[list[float]]] = {}
    for seed in arguments.seeds:
        for dataset in arguments.datasets:
            for name, sources in trees.items():
                out = arguments.runs / f"{name}_{dataset.name}_{seed}.json"
                run = run_bench(sources, dataset, seed, arguments.last, out)
                scores.setdefault((dataset.name, name), []).append(run)
    rows = [
        summarise(dataset.name, snapshot, {name: scores[dataset.name, name] for name in trees})
        for dataset in arguments.datasets
        for snapshot in range(arguments.last + 1)
    ]
    content = {"seeds": arguments.seeds, "software": software_versions(), "rows": rows}
    out = arguments.json or RESULTS / "seed_spread.json"
    out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print(json.dumps(row))


def run_bench(sources: Path, dataset: Path, seed: int, last: int, out: Path) -> list[float]:
    """Run the default method on the snapshots of a dataset; F1 of each."""
    command = [sys.executable, "-m", "everalign", "bench", str(dataset), "--method", "evidence"]
    command += ["--snapshots", f"0-{last}", "--seed", str(seed), "--json", str(out)]
    environment = os.environ | {"PYTHONPATH": str(sources.resolve())}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    snapshots = json.loads(out.read_text(encoding="utf-8"))["snapshots"]
    return [row["f1"] for row in snapshots[: last + 1]]


def summarise(dataset: str, snapshot: int, scores: dict[str, list[list[float]]]) -> Row:
    """Make the row of a snapshot from the scores of each tree, by seed."""
    by_tree = {name: [run[snapshot] for run in runs] for name, runs in scores.items()}
    row: Row = {"dataset": dataset, "snapshot": snapshot}
    for name, values in by_tree.items():
        row[name] = {
            "f1": [round(value, 4) for value in values],
            "mean": round(statistics.mean(values), 4),
        }
    if "before" in by_tree and len(by_tree["after"]) > 1:
        pairs = zip(by_tree["after"], by_tree["before"], strict=True)
        differences = [after - before for after, before in pairs]
        error = statistics.stdev(differences) / math.sqrt(len(differences))
        row["difference"] = round(statistics.mean(differences), 4)
        row["standard_error"] = round(error, 4)
    return row


if __name__ == "__main__":
    main()
