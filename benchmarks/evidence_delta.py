"""Cost and quality of an update by the size of the delta.

    python benchmarks/evidence_delta.py DATASET_DIR [--shares 1 10] [--json OUT]

A random share of the triples of snapshot 0 (percent of each graph) is held out. The method is
fitted on the rest and then updated with the delta: once incrementally, once with all entities
rescored. A fit on all triples is measured for comparison. Times include the candidates; the time
to load the fitted state is reported separately. Each row is measured in a new process that has
fitted and updated a small sample before, so that compilation is not included.

Seeds and validation links with an entity that only the delta has are not given; like the test
links, they are to be found. F1 is that of the accepted links.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from everalign.benchmark.contea_format import ContEADataset
from everalign.config import Config
from everalign.graph import IntArray
from everalign.matching import CandidatePairs
from everalign.methods import AlignmentTask, StateArrays, create_method
from measurement import (
    BaseSnapshot,
    GraphPair,
    Row,
    build_parser,
    hold_out_triples,
    open_results,
    read_base_snapshot,
    read_config,
    run_in_child,
    score_candidates,
    time_step,
    warm_up_method,
)

# In percent.
SHARES = (0.1, 0.3, 1.0, 3.0, 10.0, 20.0)


def main() -> None:
    parser = build_parser(__doc__, "evidence_delta.json")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES, help="in percent")
    arguments = parser.parse_args()
    name, config = ContEADataset.open(arguments.dataset).name, read_config(arguments)
    results = open_results(arguments)
    for share in arguments.shares:
        measure = partial(run_in_child, measure_delta, arguments.dataset, share, config)
        results.measure_row({"dataset": name, "share": share}, measure)


@dataclass(frozen=True)
class DeltaTask:
    """The tasks before and after a delta, and the gold links after it."""

    before: AlignmentTask
    after: AlignmentTask
    gold: IntArray


def build_delta_task(snapshot: BaseSnapshot, percent: float, seed: int) -> DeltaTask:
    """Hold out a share of the triples; entities that only the delta has get the highest ids."""
    rng = np.random.default_rng(seed)
    left, new_left = hold_out_triples(snapshot.left, percent, rng)
    right, new_right = hold_out_triples(snapshot.right, percent, rng)
    graphs = GraphPair()
    graphs.add_triples(left, right)
    links = graphs.keep_known(snapshot.seeds), graphs.keep_known(snapshot.validation_links)
    before = graphs.build_task(*links)
    graphs.add_triples(new_left, new_right)
    after = graphs.build_task(*links)
    return DeltaTask(before, after, snapshot.find_gold(graphs, after))


def measure_delta(dataset: Path, percent: float, config: Config) -> Row:
    """Measure an incremental update, an update that rescores all entities, and a fit."""
    warm_up_method(config)
    step = build_delta_task(read_base_snapshot(dataset, config.seed), percent, config.seed)
    method = create_method(config)
    before, _ = time_step(method.fit, method, step.before)
    after = replace(step.after, previous_links=before.accepted())
    state = method.save()
    updated, update_seconds, load_seconds = measure_update(config, state, after)
    full, full_seconds, _ = measure_update(config, state, replace(after, rescore_all=True))
    method = create_method(config)
    fitted, fit_seconds = time_step(
        method.fit, method, replace(step.after, known_left_count=0, known_right_count=0)
    )
    candidates_by_step = {"before": before, "update": updated, "full": full, "fit": fitted}
    return {
        "triples": count_triples(step.after) - count_triples(step.before),
        "of_triples": count_triples(step.after),
        "update_seconds": update_seconds,
        "load_seconds": load_seconds,
        "full_seconds": full_seconds,
        "fit_seconds": fit_seconds,
        "ratio": update_seconds / fit_seconds,
        **{
            f"f1_{name}": score_candidates(links, step.gold, config)["f1"]
            for name, links in candidates_by_step.items()
        },
    }


def measure_update(
    config: Config, state: StateArrays, task: AlignmentTask
) -> tuple[CandidatePairs, float, float]:
    """Return the candidates of an update, its seconds, and the seconds to load the state."""
    method = create_method(config)
    started = perf_counter()
    method.load(state)
    load_seconds = perf_counter() - started
    return *time_step(method.update, method, task), load_seconds


def count_triples(task: AlignmentTask) -> int:
    return len(task.left.triples) + len(task.right.triples)


if __name__ == "__main__":
    main()
