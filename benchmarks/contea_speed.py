"""Speed of ContEA: an epoch against plain PyTorch, an update against retraining.

    python benchmarks/contea_speed.py DATASET_DIR [--snapshot 1] [--json OUT]

Both times of a ratio are measured in the same run on the same machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from everalign._progress import no_progress
from everalign.benchmark.protocol import software_versions
from everalign.graph import build_union_graph
from everalign.methods import AlignmentTask
from everalign.methods.contea.method import ContEA
from everalign.methods.contea.settings import ContEASettings
from everalign.methods.contea.stages import InitialTraining
from everalign.methods.neural.encoder import Encoder
from everalign.methods.neural.training import RandomGenerators, create_rmsprop, train_epoch
from measurement import RESULTS, read_tasks
from yardstick import measure_plain_epoch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--snapshot", type=int, default=1)
    parser.add_argument("--json", type=Path, default=RESULTS / "contea_speed.json")
    arguments = parser.parse_args()
    tasks = read_tasks(arguments.dataset, arguments.snapshot)
    result = {
        "dataset": arguments.dataset.name,
        "seed": 0,
        "epoch_at_t0": compare_epochs(tasks[0]),
        f"update_at_t{arguments.snapshot}": compare_update(tasks),
        "software": software_versions(),
    }
    arguments.json.parent.mkdir(exist_ok=True)
    arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


def compare_epochs(task: AlignmentTask) -> dict[str, Any]:
    """Compare one epoch of the reference with the median of three epochs of EverAlign."""
    # The first epoch includes compilation.
    own_seconds = statistics.median([measure_epoch(task) for _ in range(4)][1:])
    plain_seconds = measure_plain_epoch(task.left, task.right, task.seeds)
    return {
        "yardstick_seconds": plain_seconds,
        "everalign_seconds": own_seconds,
        "ratio": plain_seconds / own_seconds,
    }


def measure_epoch(task: AlignmentTask) -> float:
    """Measure the seconds of one epoch over the seeds."""
    settings, random = ContEASettings(), RandomGenerators(0)
    graph = build_union_graph(task.left, task.right)
    encoder = Encoder(
        graph.node_count, 2 * graph.relation_count, dim=settings.dim, depth=settings.depth,
        proxies=settings.proxies, generator=random.torch,
    )  # fmt: skip
    pairs = task.seeds.astype(np.int64) + np.array([0, task.left.entity_count])
    stage = InitialTraining(encoder, graph, pairs, settings, random)
    optimiser = create_rmsprop(stage, settings.learning_rate)
    started = time.perf_counter()
    train_epoch(stage, optimiser, random.numpy)
    return time.perf_counter() - started


def compare_update(tasks: list[AlignmentTask]) -> dict[str, Any]:
    """Compare an update to the last snapshot with retraining on it, both with matching."""
    method = ContEA(ContEASettings(), seed=0)
    method.fit(tasks[0], no_progress)
    links = method.candidates(tasks[0], no_progress)
    for task in tasks[1:]:
        started = time.perf_counter()
        method.update(replace(task, previous_links=links), no_progress)
        links = method.candidates(task, no_progress)
        update_seconds = time.perf_counter() - started
    retrained = ContEA(ContEASettings(), seed=0)
    started = time.perf_counter()
    retrained.fit(tasks[-1], no_progress)
    retrained.candidates(tasks[-1], no_progress)
    retraining_seconds = time.perf_counter() - started
    return {
        "update_seconds": update_seconds,
        "retraining_seconds": retraining_seconds,
        "ratio": update_seconds / retraining_seconds,
    }


if __name__ == "__main__":
    main()
