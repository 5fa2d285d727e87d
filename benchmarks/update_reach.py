"""How far small updates reach, and whether they keep the quality of the links.

    python benchmarks/update_reach.py DATASET_DIR… --runs DIRECTORY [--before RESULTS] [--json OUT]

Reach: triples of the last snapshot are held back at random, the rest is aligned, and deltas of a
few held-back triples follow one another. Each changes some links; `links_changed` counts those
that are added, revised or retracted by each delta, and `links_in_force` all links there are.

Quality: the benchmark over all snapshots, with its F1 at each and the F1 of an earlier result
(`evidence_DATASET.json` in the directory RESULTS).

What is interrupted goes on if DIRECTORY is given again.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from everalign import Aligner
from everalign.benchmark.anonymise import AnonymisedDataset
from everalign.benchmark.contea_format import ContEADataset
from everalign.benchmark.protocol import BenchmarkRun
from everalign.config import Config
from growing_states import build_addition, measure_update
from measurement import RESULTS, Row, build_parser, open_results, read_config, run_in_child

DELTA_TRIPLES, DELTAS = 10, 20


def main() -> None:
    parser = build_parser(__doc__, "update_reach.json")
    parser.add_argument("datasets", type=Path, nargs="+", help="datasets in the ContEA layout")
    parser.add_argument("--runs", type=Path, required=True, help="directory of interrupted runs")
    parser.add_argument("--before", type=Path, default=RESULTS, help="directory of other results")
    parser.add_argument(
        "--reach-of", nargs="*", default=["ZH-EN"], help="datasets to hold back of"
    )
    arguments = parser.parse_args()
    config, results = read_config(arguments), open_results(arguments)
    for dataset in arguments.datasets:
        if dataset.name in arguments.reach_of:
            measure = partial(run_in_child, measure_reach, dataset, config)
            results.measure_row({"dataset": dataset.name, "measured": "reach"}, measure)
    for dataset in arguments.datasets:
        measure = partial(compare_quality, dataset, config, arguments.runs, arguments.before)
        results.measure_row({"dataset": dataset.name, "measured": "quality"}, measure)


def measure_reach(dataset: Path, config: Config) -> Row:
    """Count the links that small deltas change."""
    source = ContEADataset.open(dataset)
    data, last = AnonymisedDataset(source, config.seed), source.snapshot_count - 1
    rows = [
        (side, triple)
        for side, triples in enumerate(data.read_snapshot(last))
        for triple in dict.fromkeys(triples)
    ]
    order = np.random.default_rng(config.seed).permutation(len(rows))
    held_back = [rows[place] for place in order[: DELTA_TRIPLES * DELTAS]]
    present = [rows[place] for place in np.sort(order[len(held_back) :])]
    left, right = ([triple for side, triple in present if side == index] for index in (0, 1))
    with TemporaryDirectory() as scratch:
        aligner = Aligner.create(
            Path(scratch) / "state",
            left,
            right,
            data.seeds(),
            data.validation_links(),
            config,
        )
        updates = [
            measure_update(aligner, build_addition(held_back[first : first + DELTA_TRIPLES]))
            for first in range(0, len(held_back), DELTA_TRIPLES)
        ]
        status = aligner.status()
    return {
        "t": last,
        "triples": len(rows),
        "delta": DELTA_TRIPLES,
        "links_in_force": status.found_links,
        "links_changed": [update["links_changed"] for update in updates],
        "cpu_seconds": [round(update["cpu_seconds"], 4) for update in updates],
    }


def compare_quality(dataset: Path, config: Config, runs: Path, before: Path) -> Row:
    """Run the benchmark and compare its F1 with that of an earlier result."""
    runs.mkdir(parents=True, exist_ok=True)
    out = runs / f"{config.method}_{dataset.name}.json"
    result = run_in_child(run_benchmark, dataset, config, out)
    earlier = json.loads((before / out.name).read_text(encoding="utf-8"))
    f1, f1_before = (
        {record["t"]: record["f1"] for record in run["snapshots"]} for run in (result, earlier)
    )
    return {
        "f1": list(f1.values()),
        "f1_before": [f1_before[t] for t in f1],
        "differences": [round(f1[t] - f1_before[t], 5) for t in f1],
        "seconds": [record["seconds"] for record in result["snapshots"]],
    }


def run_benchmark(dataset: Path, config: Config, out: Path) -> Row:
    """Run the benchmark, or go on with it."""
    return BenchmarkRun(dataset, config).run(out)


if __name__ == "__main__":
    main()
