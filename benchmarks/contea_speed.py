"""How fast ContEA is here: an epoch against the yardstick, an update against retraining.

    python benchmarks/contea_speed.py DATASET_DIR [--snapshot 1] [--json OUT]

Both members of a ratio are measured in this one run, on the same machine.
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

from everalign.evaluation.protocol import software
from everalign.graph import unite
from everalign.methods import Problem
from everalign.methods.contea.method import ContEA
from everalign.methods.contea.settings import ContEASettings
from everalign.methods.contea.stages import Training
from everalign.methods.neural.chance import Chance
from everalign.methods.neural.encoder import Encoder
from everalign.methods.neural.training import learn_epoch, rmsprop
from everalign.progress import silent
from measuring import RESULTS, read_problems
from yardstick import plain_epoch_seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--snapshot", type=int, default=1)
    parser.add_argument("--json", type=Path, default=RESULTS / "contea_speed.json")
    arguments = parser.parse_args()
    problems = read_problems(arguments.dataset, arguments.snapshot)
    result = {
        "dataset": arguments.dataset.name,
        "seed": 0,
        "epoch_at_t0": epochs(problems[0]),
        f"update_at_t{arguments.snapshot}": update_against_retraining(problems),
        "software": software(),
    }
    arguments.json.parent.mkdir(exist_ok=True)
    arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


def epochs(problem: Problem) -> dict[str, Any]:
    """One epoch by the yardstick, and the median of three by the product."""
    mine = [product_epoch_seconds(problem) for _ in range(4)][1:]  # the first one compiles
    plain = plain_epoch_seconds(problem.left, problem.right, problem.seeds)
    ours = statistics.median(mine)
    return {"yardstick_seconds": plain, "everalign_seconds": ours, "ratio": plain / ours}


def product_epoch_seconds(problem: Problem) -> float:
    settings, chance = ContEASettings(), Chance(0)
    graph = unite(problem.left, problem.right)
    encoder = Encoder(
        graph.nodes, 2 * graph.relations, dim=settings.dim, depth=settings.depth,
        proxies=settings.proxies, generator=chance.torch,
    )  # fmt: skip
    pairs = problem.seeds.astype(np.int64) + np.array([0, problem.left.entities])
    stage = Training(encoder, graph, pairs, settings, chance)
    learner = rmsprop(stage, settings.learning_rate)
    started = time.perf_counter()
    learn_epoch(stage, learner, chance.numpy)
    return time.perf_counter() - started


def update_against_retraining(problems: list[Problem]) -> dict[str, Any]:
    """The last snapshot by an update, and by retraining from nothing; both with matching."""
    method = ContEA(ContEASettings(), seed=0)
    method.fit(problems[0], silent)
    links = method.candidates(problems[0], silent)
    for problem in problems[1:]:
        started = time.perf_counter()
        method.update(replace(problem, links=links), silent)
        links = method.candidates(problem, silent)
        update = time.perf_counter() - started
    retrained = ContEA(ContEASettings(), seed=0)
    started = time.perf_counter()
    retrained.fit(problems[-1], silent)
    retrained.candidates(problems[-1], silent)
    retraining = time.perf_counter() - started
    return {
        "update_seconds": update,
        "retraining_seconds": retraining,
        "ratio": update / retraining,
    }


if __name__ == "__main__":
    main()
