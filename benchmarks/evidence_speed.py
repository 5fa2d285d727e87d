"""Speed of a whole benchmark: all snapshots against two epochs of ContEA in plain PyTorch.

    python benchmarks/evidence_speed.py DATASET_DIR [--json OUT]

The method runs in a new process: a fit of snapshot 0 and an update for each later snapshot, with
the candidates of each, after a small sample for compilation. It is compared with two epochs of
the reference implementation of ContEA (yardstick.py) over the seeds of snapshot 0, measured in
the same run on the same machine. `peak_rss_mb` is that of the whole process, including the
reading of the dataset. The file has a row for each dataset.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from everalign.benchmark.contea_format import ContEADataset
from everalign.config import Config
from everalign.matching import CandidatePairs
from everalign.methods import create_method
from measurement import (
    Row,
    build_parser,
    open_results,
    read_config,
    read_tasks,
    run_in_child,
    time_step,
    warm_up_method,
)

PLAIN_EPOCHS = 2


def main() -> None:
    parser = build_parser(__doc__, "evidence_speed.json")
    parser.add_argument("dataset", type=Path)
    arguments = parser.parse_args()
    dataset, config = arguments.dataset, read_config(arguments)
    key = {"dataset": ContEADataset.open(dataset).name}
    open_results(arguments).measure_row(key, lambda: measure_speed(dataset, config))


def measure_speed(dataset: Path, config: Config) -> Row:
    own = run_in_child(measure_snapshots, dataset, config)
    plain = run_in_child(measure_plain_epochs, dataset, config.seed)
    seconds, plain_seconds = sum(own["snapshot_seconds"]), sum(plain["epoch_seconds"])
    return {
        "snapshot_seconds": own["snapshot_seconds"],
        "seconds": seconds,
        "peak_rss_mb": own["peak_rss_mb"],
        "plain_epoch_seconds": plain["epoch_seconds"],
        "plain_seconds": plain_seconds,
        "plain_peak_rss_mb": plain["peak_rss_mb"],
        "ratio": seconds / plain_seconds,
    }


def measure_snapshots(dataset: Path, config: Config) -> Row:
    """Measure the seconds of the fit and of each update."""
    warm_up_method(config)
    last = ContEADataset.open(dataset).snapshot_count - 1
    method, links, seconds = create_method(config), CandidatePairs.empty(), []
    for t, task in enumerate(read_tasks(dataset, last, config.seed)):
        step = method.update if t else method.fit
        candidates, taken = time_step(step, method, replace(task, previous_links=links))
        links = candidates.accepted()
        seconds.append(taken)
    return {"snapshot_seconds": seconds}


def measure_plain_epochs(dataset: Path, seed: int) -> Row:
    """Measure the seconds of epochs of the reference; they do not depend on the parameters."""
    from yardstick import measure_plain_epoch

    (task,) = read_tasks(dataset, 0, seed)
    graphs = task.left, task.right
    return {
        "epoch_seconds": [measure_plain_epoch(*graphs, task.seeds) for _ in range(PLAIN_EPOCHS)]
    }


if __name__ == "__main__":
    main()
