"""What a fit from nothing costs in two source trees, and whether both give the same links.

    python benchmarks/fit_speed.py DATASET_DIR --before SRC [--after SRC] [--snapshots 0 5]

Each fit of the default method runs in a process of its own, with one thread, the two trees in
turn. `cpu_seconds` is the processor time (user and system) of the fit and its candidates, after a
small sample for imports and compilation; a run in which numba compiled a loop after all is
repeated. The median of the repeats counts, and `ratio` is after divided by before. `same_links`
tells whether all pairs, scores and the threshold are equal, bit for bit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from compare_links import Row, Tree, count_compiled

RESULT_FILE = Path(__file__).parent / "results" / "fit_speed.json"
SOURCES = Path(__file__).parent.parent / "src"
CHILD = "--child"  # how this script starts itself in the process that is measured


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", type=Path, help="a dataset in the ContEA layout")
    parser.add_argument("--before", type=Path, required=True, help="directory with everalign")
    parser.add_argument("--after", type=Path, default=SOURCES, help="the same of the other tree")
    parser.add_argument("--snapshots", type=int, nargs="+", default=[0, 5])
    parser.add_argument("--repeats", type=int, default=3, help="runs of each fit")
    parser.add_argument("--json", type=Path, default=RESULT_FILE, help="result file")
    arguments = parser.parse_args()
    trees = {
        "before": Tree.at(arguments.before, []),
        "after": Tree.at(arguments.after, []),
    }
    rows = []
    for snapshot in arguments.snapshots:
        rows.append(compare_fits(trees, arguments.dataset, snapshot, arguments.repeats))
        print(json.dumps(rows[-1]), flush=True)
    write_results(arguments.json, trees, rows)


def compare_fits(trees: dict[str, Tree], dataset: Path, snapshot: int, repeats: int) -> Row:
    """Fit a snapshot in both trees in turn; one row of the result."""
    runs: dict[str, list[Row]] = {side: [] for side in trees}
    for _ in range(repeats):
        for side, tree in trees.items():
            runs[side].append(run_fit(tree, dataset, snapshot))
    seconds = {
        side: [round(run["cpu_seconds"], 2) for run in of_side] for side, of_side in runs.items()
    }
    median = {side: statistics.median(values) for side, values in seconds.items()}
    digests = {run["digest"] for of_side in runs.values() for run in of_side}
    return {
        "dataset": dataset.name,
        "snapshot": snapshot,
        "cpu_seconds": seconds,
        "ratio": round(median["after"] / median["before"], 3),
        "same_links": len(digests) == 1,
        "candidates": runs["after"][0]["candidates"],
    }


def run_fit(tree: Tree, dataset: Path, snapshot: int) -> Row:
    """Fit a snapshot in a process of its own, without compiling."""
    child = [sys.executable, str(Path(__file__).resolve()), CHILD, str(tree.path)]
    environment = tree.environment() | {"EVERALIGN_THREADS": "1", "OMP_NUM_THREADS": "1"}
    while True:
        done = subprocess.run(
            [*child, str(dataset), str(snapshot)],
            check=True,
            env=environment,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        run: Row = json.loads(done.stdout)
        if not run["loops_compiled"]:
            return run


def measure_fit(tree: str, dataset: str, snapshot: str) -> Row:
    """The child: fit once, and tell the time and a digest of the result."""
    import everalign
    from everalign.config import Config
    from everalign.methods import create_method
    from measurement import read_tasks, time_step, warm_up_method

    if not Path(everalign.__file__).is_relative_to(tree):
        raise RuntimeError(f"{everalign.__file__} is not in {tree}")
    config = Config(method="evidence")
    warm_up_method(config)
    task = read_tasks(Path(dataset), int(snapshot))[-1]
    compiled = count_compiled(tree)
    method, began = create_method(config), time.process_time()
    candidates, _ = time_step(method.fit, method, task)
    seconds = time.process_time() - began
    digest = hashlib.sha256(str(candidates.threshold).encode())
    for column in (candidates.left, candidates.right, candidates.score):
        digest.update(column.tobytes())
    return {
        "cpu_seconds": seconds,
        "candidates": len(candidates.score),
        "digest": digest.hexdigest(),
        "loops_compiled": count_compiled(tree) - compiled,
    }


def write_results(path: Path, trees: dict[str, Tree], rows: list[Row]) -> None:
    from everalign.benchmark.protocol import software_versions

    content = {
        "trees": {side: tree.digest for side, tree in trees.items()},
        "software": software_versions(),
        "measured_on": datetime.now(UTC).date().isoformat(),
        "rows": rows,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        print(json.dumps(measure_fit(*sys.argv[2:5])))
    else:
        main()
