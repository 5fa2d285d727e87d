"""How the links of snapshot 0 suffer when less is given, or when some of it is wrong.

    python benchmarks/evidence_robust.py DATASET_DIR [--cases "50 seeds"] [--json OUT]

The cases differ in what a fit is given: no validation links, wrong seeds, half of the left
triples, few seeds. Every gold link between entities that no given link speaks for is to be
found, so seeds that are not given are; links of entities that have lost all their triples are
not. Each case runs in a process of its own, after a tiny sample for compiling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from everalign.config import Config
from everalign.evaluation.disguise import Pairs
from everalign.methods import make_method
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

Change = Callable[[Given, np.random.Generator], Given]


def main() -> None:
    parser = options(__doc__, "evidence_robust.json")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    arguments = parser.parse_args()
    name, config = ContEADataset.open(arguments.dataset).name, config_of(arguments)
    results = results_of(arguments)
    for case in arguments.cases:
        measure = partial(in_child, fit, arguments.dataset, case, config)
        results.row({"dataset": name, "case": case}, measure)


def fit(dataset: Path, case: str, config: Config) -> Row:
    """Fit what the case gives, and score the links."""
    warm_up(config)
    whole = read_given(dataset, config.seed)
    given = CASES[case](whole, np.random.default_rng(config.seed))
    graphs = GrowingGraphs()
    graphs.grow(given.left, given.right)
    problem = graphs.problem(graphs.known(given.seeds), graphs.known(given.valid))
    method = make_method(config)
    found, seconds = timed(method.fit, method, problem)
    return {
        "seeds": len(problem.seeds),
        "valid": len(problem.valid),
        "seconds": seconds,
        **scores(found, whole.gold(graphs, problem), config),
    }


def unchanged(given: Given, rng: np.random.Generator) -> Given:  # noqa: ARG001
    return given


def without_validation(given: Given, rng: np.random.Generator) -> Given:  # noqa: ARG001
    return replace(given, valid=[])


def with_wrong_links(percent: float) -> Change:
    def change(given: Given, rng: np.random.Generator) -> Given:
        seeds, valid = (wrong(links, percent, rng) for links in (given.seeds, given.valid))
        return replace(given, seeds=seeds, valid=valid)

    return change


def with_half_of_the_left(given: Given, rng: np.random.Generator) -> Given:
    return replace(given, left=split(given.left, 50, rng)[0])


def with_few_seeds(count: int) -> Change:
    def change(given: Given, rng: np.random.Generator) -> Given:
        chosen = rng.permutation(len(given.seeds))[:count].tolist()
        return replace(given, seeds=[given.seeds[n] for n in chosen], valid=[])

    return change


def wrong(pairs: Pairs, percent: float, rng: np.random.Generator) -> Pairs:
    """The pairs with some percent of them wrong: each has the right entity of the next one.

    >>> pairs = [("a", "A"), ("b", "B"), ("c", "C"), ("d", "D")]
    >>> mixed = wrong(pairs, 50, np.random.default_rng(0))
    >>> sum(pair in pairs for pair in mixed), sorted(right for _, right in mixed)
    (2, ['A', 'B', 'C', 'D'])
    """
    chosen = rng.choice(len(pairs), round(len(pairs) * percent / 100), replace=False)
    mixed = list(pairs)
    for here, there in zip(chosen.tolist(), np.roll(chosen, 1).tolist(), strict=True):
        mixed[here] = pairs[here][0], pairs[there][1]
    return mixed


CASES: dict[str, Change] = {
    "default": unchanged,
    "no validation links": without_validation,
    "10% of the given links wrong": with_wrong_links(10),
    "20% of the given links wrong": with_wrong_links(20),
    "half of the left triples": with_half_of_the_left,
    "500 seeds, no validation links": with_few_seeds(500),
    "200 seeds, no validation links": with_few_seeds(200),
    "50 seeds, no validation links": with_few_seeds(50),
}


if __name__ == "__main__":
    main()
