"""How fast a whole benchmark is: all snapshots against two epochs of the yardstick.

    python benchmarks/evidence_speed.py DATASET_DIR [--json OUT]

The method runs in a process of its own: a fit of snapshot 0 and an update for each later one,
with the candidates of each. Before the clock starts a tiny sample is fitted and updated, so that
no time goes into compiling. The yardstick is ContEA's formulas in plain PyTorch (yardstick.py):
two epochs over the seeds of snapshot 0. Both are measured in one run, on the same machine.
`peak_rss_mb` is of the method's whole process, with the reading of the dataset. The file has a
row for each dataset.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from everalign.config import Config
from everalign.matching import Candidates
from everalign.methods import make_method
from everalign.rdf import ContEADataset
from measuring import Row, config_of, in_child, options, read_problems, results_of, timed, warm_up

PLAIN_EPOCHS = 2


def main() -> None:
    parser = options(__doc__, "evidence_speed.json")
    parser.add_argument("dataset", type=Path)
    arguments = parser.parse_args()
    dataset, config = arguments.dataset, config_of(arguments)
    key = {"dataset": ContEADataset.open(dataset).name}
    results_of(arguments).row(key, lambda: against_the_yardstick(dataset, config))


def against_the_yardstick(dataset: Path, config: Config) -> Row:
    ours = in_child(all_snapshots, dataset, config)
    plain = in_child(plain_epochs, dataset, config.seed)
    seconds, plain_seconds = sum(ours["snapshot_seconds"]), sum(plain["epoch_seconds"])
    return {
        "snapshot_seconds": ours["snapshot_seconds"],
        "seconds": seconds,
        "peak_rss_mb": ours["peak_rss_mb"],
        "plain_epoch_seconds": plain["epoch_seconds"],
        "plain_seconds": plain_seconds,
        "plain_peak_rss_mb": plain["peak_rss_mb"],
        "ratio": seconds / plain_seconds,
    }


def all_snapshots(dataset: Path, config: Config) -> Row:
    """The seconds of the fit and of each update."""
    warm_up(config)
    last = ContEADataset.open(dataset).snapshots - 1
    method, links, seconds = make_method(config), Candidates.none(), []
    for t, problem in enumerate(read_problems(dataset, last, config.seed)):
        step = method.update if t else method.fit
        found, taken = timed(step, method, replace(problem, links=links))
        links = found.accepted()
        seconds.append(taken)
    return {"snapshot_seconds": seconds}


def plain_epochs(dataset: Path, seed: int) -> Row:
    """The seconds of each epoch of the yardstick; how far it has learned does not change them."""
    from yardstick import plain_epoch_seconds

    (problem,) = read_problems(dataset, 0, seed)
    graphs = problem.left, problem.right
    return {
        "epoch_seconds": [plain_epoch_seconds(*graphs, problem.seeds) for _ in range(PLAIN_EPOCHS)]
    }


if __name__ == "__main__":
    main()
