"""Quality at snapshot 0 with fewer or wrong inputs.

    python benchmarks/evidence_robust.py DATASET_DIR [--cases "50 seeds"] [--json OUT]

The cases differ in the input of a fit: no validation links, wrong seeds, half of the left
triples, few seeds. Every gold link between entities without a given link is to be found,
including seeds that are not given; links of entities that have lost all their triples are not.
Each case runs in a new process, after a small sample for compilation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from everalign.benchmark.anonymise import NamePairs
from everalign.benchmark.contea_format import ContEADataset
from everalign.config import Config
from everalign.methods import create_method
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

SnapshotChange = Callable[[BaseSnapshot, np.random.Generator], BaseSnapshot]


def main() -> None:
    parser = build_parser(__doc__, "evidence_robust.json")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    arguments = parser.parse_args()
    name, config = ContEADataset.open(arguments.dataset).name, read_config(arguments)
    results = open_results(arguments)
    for case in arguments.cases:
        measure = partial(run_in_child, measure_case, arguments.dataset, case, config)
        results.measure_row({"dataset": name, "case": case}, measure)


def measure_case(dataset: Path, case: str, config: Config) -> Row:
    """Fit with the input of a case and score the links."""
    warm_up_method(config)
    original = read_base_snapshot(dataset, config.seed)
    snapshot = CASES[case](original, np.random.default_rng(config.seed))
    graphs = GraphPair()
    graphs.add_triples(snapshot.left, snapshot.right)
    task = graphs.build_task(
        graphs.keep_known(snapshot.seeds), graphs.keep_known(snapshot.validation_links)
    )
    method = create_method(config)
    candidates, seconds = time_step(method.fit, method, task)
    return {
        "seeds": len(task.seeds),
        "valid": len(task.validation),
        "seconds": seconds,
        **score_candidates(candidates, original.find_gold(graphs, task), config),
    }


def keep_all(snapshot: BaseSnapshot, rng: np.random.Generator) -> BaseSnapshot:  # noqa: ARG001
    return snapshot


def drop_validation_links(snapshot: BaseSnapshot, rng: np.random.Generator) -> BaseSnapshot:  # noqa: ARG001
    return replace(snapshot, validation_links=[])


def corrupt_links(percent: float) -> SnapshotChange:
    def change(snapshot: BaseSnapshot, rng: np.random.Generator) -> BaseSnapshot:
        seeds, validation_links = (
            swap_right_entities(links, percent, rng)
            for links in (snapshot.seeds, snapshot.validation_links)
        )
        return replace(snapshot, seeds=seeds, validation_links=validation_links)

    return change


def drop_half_of_left(snapshot: BaseSnapshot, rng: np.random.Generator) -> BaseSnapshot:
    return replace(snapshot, left=hold_out_triples(snapshot.left, 50, rng)[0])


def keep_few_seeds(count: int) -> SnapshotChange:
    def change(snapshot: BaseSnapshot, rng: np.random.Generator) -> BaseSnapshot:
        chosen = rng.permutation(len(snapshot.seeds))[:count].tolist()
        return replace(
            snapshot, seeds=[snapshot.seeds[row] for row in chosen], validation_links=[]
        )

    return change


def swap_right_entities(pairs: NamePairs, percent: float, rng: np.random.Generator) -> NamePairs:
    """Make a share of the pairs wrong by exchanging their right entities.

    >>> pairs = [("a", "A"), ("b", "B"), ("c", "C"), ("d", "D")]
    >>> mixed = swap_right_entities(pairs, 50, np.random.default_rng(0))
    >>> sum(pair in pairs for pair in mixed), sorted(right for _, right in mixed)
    (2, ['A', 'B', 'C', 'D'])
    """
    chosen = rng.choice(len(pairs), round(len(pairs) * percent / 100), replace=False)
    swapped = list(pairs)
    for target, source in zip(chosen.tolist(), np.roll(chosen, 1).tolist(), strict=True):
        swapped[target] = pairs[target][0], pairs[source][1]
    return swapped


CASES: dict[str, SnapshotChange] = {
    "default": keep_all,
    "no validation links": drop_validation_links,
    "10% of the given links wrong": corrupt_links(10),
    "20% of the given links wrong": corrupt_links(20),
    "half of the left triples": drop_half_of_left,
    "500 seeds, no validation links": keep_few_seeds(500),
    "200 seeds, no validation links": keep_few_seeds(200),
    "50 seeds, no validation links": keep_few_seeds(50),
}


if __name__ == "__main__":
    main()
