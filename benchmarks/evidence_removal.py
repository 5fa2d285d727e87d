"""What removing facts costs and leaves behind.

    python benchmarks/evidence_removal.py DATASET_DIR [--shares 1 5] [--json OUT]

An alignment of snapshot 0 is made. Then a share of the triples of either graph (in percent,
chosen at random) is removed in one update, and added again in another. All goes through the
façade and its state directory, as for a user. F1 is that of the links in force, at each of the
three versions; a fit of the smaller graphs from nothing stands beside the second.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from everalign import Aligner, Change, Config
from everalign.rdf import ContEADataset
from measuring import Given, Row, config_of, in_child, options, read_given, results_of, split

SHARES = (1.0, 5.0)


def main() -> None:
    parser = options(__doc__, "evidence_removal.json")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES, help="in percent")
    arguments = parser.parse_args()
    name, config = ContEADataset.open(arguments.dataset).name, config_of(arguments)
    results = results_of(arguments)
    for share in arguments.shares:
        measure = partial(in_child, remove_and_add, arguments.dataset, share, config)
        results.row({"dataset": name, "share": share}, measure)


def remove_and_add(dataset: Path, percent: float, config: Config) -> Row:
    """The F1 and the seconds of each version."""
    given = read_given(dataset, config.seed)
    rng = np.random.default_rng(config.seed)
    (left, lost_left), (right, lost_right) = (
        split(side, percent, rng) for side in (given.left, given.right)
    )
    with TemporaryDirectory() as scratch:
        aligner = Aligner.create(
            f"{scratch}/state", given.left, given.right, given.seeds, given.valid, config
        )
        aligner.update(change=Change(remove_left=lost_left, remove_right=lost_right))
        aligner.update(lost_left, lost_right)
        known = _known(given, left, right)
        fewer = Aligner.create(f"{scratch}/fewer", left, right, *known, config)
        row: Row = {"triples": len(lost_left) + len(lost_right)}
        for version, step in enumerate(("before", "removed", "added")):
            report = aligner.status().reports[version]
            row[f"f1_{step}"] = aligner.evaluate(given.test, at=version).f1
            row[f"seconds_{step}"] = report.seconds
            row[f"retracted_{step}"] = report.retracted
        return row | {"f1_fit_without": fewer.evaluate(given.test).f1}


def _known(
    given: Given, left: list[tuple[str, str, str]], right: list[tuple[str, str, str]]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The trusted links whose entities have a fact left."""
    lefts, rights = ({name for h, _, t in side for name in (h, t)} for side in (left, right))
    seeds, valid = (
        [pair for pair in pairs if pair[0] in lefts and pair[1] in rights]
        for pairs in (given.seeds, given.valid)
    )
    return seeds, valid


if __name__ == "__main__":
    main()
