"""Cost and effect of removed triples.

    python benchmarks/evidence_removal.py DATASET_DIR [--shares 1 5] [--json OUT]

An alignment of snapshot 0 is created. Then a random share of the triples of each graph (in
percent) is removed in one update and added again in another, through `Aligner` and its state
directory. F1 is that of the links in force at each of the three versions; a fit of the smaller
graphs is measured for comparison with the second.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from everalign import Aligner, ChangeSet, Config
from everalign.benchmark.contea_format import ContEADataset
from measurement import (
    BaseSnapshot,
    Row,
    build_parser,
    hold_out_triples,
    open_results,
    read_base_snapshot,
    read_config,
    run_in_child,
)

# In percent.
SHARES = (1.0, 5.0)


def main() -> None:
    parser = build_parser(__doc__, "evidence_removal.json")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES, help="in percent")
    arguments = parser.parse_args()
    name, config = ContEADataset.open(arguments.dataset).name, read_config(arguments)
    results = open_results(arguments)
    for share in arguments.shares:
        measure = partial(run_in_child, measure_removal, arguments.dataset, share, config)
        results.measure_row({"dataset": name, "share": share}, measure)


def measure_removal(dataset: Path, percent: float, config: Config) -> Row:
    """Measure F1 and seconds of each version."""
    snapshot = read_base_snapshot(dataset, config.seed)
    rng = np.random.default_rng(config.seed)
    (left, removed_left), (right, removed_right) = (
        hold_out_triples(side, percent, rng) for side in (snapshot.left, snapshot.right)
    )
    with TemporaryDirectory() as scratch:
        aligner = Aligner.create(
            f"{scratch}/state",
            snapshot.left,
            snapshot.right,
            snapshot.seeds,
            snapshot.validation_links,
            config,
        )
        aligner.update(change=ChangeSet(removed_left=removed_left, removed_right=removed_right))
        aligner.update(removed_left, removed_right)
        links = _keep_known_links(snapshot, left, right)
        smaller = Aligner.create(f"{scratch}/smaller", left, right, *links, config)
        row: Row = {"triples": len(removed_left) + len(removed_right)}
        for version, step in enumerate(("before", "removed", "added")):
            report = aligner.status().reports[version]
            row[f"f1_{step}"] = aligner.evaluate(snapshot.test_links, at=version).f1
            row[f"seconds_{step}"] = report.seconds
            row[f"retracted_{step}"] = report.links_retracted
        return row | {"f1_fit_without": smaller.evaluate(snapshot.test_links).f1}


def _keep_known_links(
    snapshot: BaseSnapshot, left: list[tuple[str, str, str]], right: list[tuple[str, str, str]]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Keep the seeds and validation links whose entities still have a triple."""
    left_entities, right_entities = (
        {name for head, _, tail in triples for name in (head, tail)} for triples in (left, right)
    )
    seeds, validation_links = (
        [pair for pair in pairs if pair[0] in left_entities and pair[1] in right_entities]
        for pairs in (snapshot.seeds, snapshot.validation_links)
    )
    return seeds, validation_links


if __name__ == "__main__":
    main()
