"""What an update costs and keeps, by the size of the delta.

    python benchmarks/evidence_delta.py DATASET_DIR [--shares 1 10] [--json OUT]

A share of the triples of snapshot 0 (in percent, of either graph, chosen at random) is held
back. The method is fitted on the rest and then updated with what was held back: in the normal
way, and in a full pass that looks at everything again. A fit of the whole from nothing stands
beside them. All times are with the candidates; the loading of what the fit has learned is told
apart. Each row runs in a process of its own, and a tiny sample is fitted and updated there
before the clock starts, so that no time goes into compiling.

Seeds and validation links with an entity that only the delta brings are not given at all; like
the test links, they are to be found. F1 is that of the accepted links.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from everalign.config import Config
from everalign.graph import IntArray
from everalign.matching import Candidates
from everalign.methods import Arrays, Problem, make_method
from everalign.rdf import ContEADataset
from measuring import (
    Given,
    GrowingGraphs,
    Row,
    config_of,
    in_child,
    options,
    read_given,
    results_of,
    scores,
    split,
    timed,
    warm_up,
)

SHARES = (0.1, 0.3, 1.0, 3.0, 10.0, 20.0)


def main() -> None:
    parser = options(__doc__, "evidence_delta.json")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES, help="in percent")
    arguments = parser.parse_args()
    name, config = ContEADataset.open(arguments.dataset).name, config_of(arguments)
    results = results_of(arguments)
    for share in arguments.shares:
        measure = partial(in_child, update_and_fit, arguments.dataset, share, config)
        results.row({"dataset": name, "share": share}, measure)


@dataclass(frozen=True)
class Step:
    """The problem before a delta and after it, and the gold links after it."""

    before: Problem
    after: Problem
    gold: IntArray


def hold_back(given: Given, percent: float, seed: int) -> Step:
    """A delta of some percent of the triples; entities that only it has get the highest ids."""
    rng = np.random.default_rng(seed)
    left, new_left = split(given.left, percent, rng)
    right, new_right = split(given.right, percent, rng)
    graphs = GrowingGraphs()
    graphs.grow(left, right)
    links = graphs.known(given.seeds), graphs.known(given.valid)
    before = graphs.problem(*links)
    graphs.grow(new_left, new_right)
    after = graphs.problem(*links)
    return Step(before, after, given.gold(graphs, after))


def update_and_fit(dataset: Path, percent: float, config: Config) -> Row:
    """The seconds and the F1 of an update, a full pass and a fit from nothing."""
    warm_up(config)
    step = hold_back(read_given(dataset, config.seed), percent, config.seed)
    method = make_method(config)
    before, _ = timed(method.fit, method, step.before)
    after = replace(step.after, links=before.accepted())
    state = method.save()
    updated, update_seconds, load_seconds = update(config, state, after)
    full, full_seconds, _ = update(config, state, replace(after, full=True))
    method = make_method(config)
    fitted, fit_seconds = timed(method.fit, method, replace(step.after, old_left=0, old_right=0))
    found = {"before": before, "update": updated, "full": full, "fit": fitted}
    return {
        "triples": triples(step.after) - triples(step.before),
        "of_triples": triples(step.after),
        "update_seconds": update_seconds,
        "load_seconds": load_seconds,
        "full_seconds": full_seconds,
        "fit_seconds": fit_seconds,
        "ratio": update_seconds / fit_seconds,
        **{f"f1_{name}": scores(links, step.gold, config)["f1"] for name, links in found.items()},
    }


def update(config: Config, state: Arrays, problem: Problem) -> tuple[Candidates, float, float]:
    """What an update from this state finds, its seconds, and those of loading the state."""
    method = make_method(config)
    started = perf_counter()
    method.load(state)
    load_seconds = perf_counter() - started
    return *timed(method.update, method, problem), load_seconds


def triples(problem: Problem) -> int:
    return len(problem.left.triples) + len(problem.right.triples)


if __name__ == "__main__":
    main()
