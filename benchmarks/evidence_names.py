"""What names are worth: links from structure alone, and from structure and names.

    python benchmarks/evidence_names.py DATASET_DIR [--cases "no seeds"] [--last 0] [--json OUT]

Names are those in the IRIs of `base/uris.tsv`, as one attribute `name` per side: most entities of
snapshot 0 have one, and none of those that come later. Entities are disguised; names go with
them. The cases: structure alone and with names over all snapshots; snapshot 0 without any trusted
link, with the names of a random half of the entities, and with a tenth of the names of either
side handed round among their entities. Each case runs in a process of its own, after a tiny
sample for compiling; `seconds` are of a fit or an update with its candidates, and
`processor_seconds` what of them is its own work, whatever else the machine does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np

from everalign.config import Config
from everalign.evaluation.disguise import DisguisedDataset, Pairs
from everalign.graph import Names, Values
from everalign.literals import names_of_iris, quoted
from everalign.matching import Candidates
from everalign.methods import Problem, make_method
from everalign.rdf import ContEADataset
from measuring import (
    GrowingGraphs,
    Row,
    config_of,
    in_child,
    options,
    results_of,
    scores,
    timed,
    warm_up,
)

Called = dict[str, str]  # a name for each entity that has one
Change = Callable[[Called, np.random.Generator], Called]


@dataclass(frozen=True)
class Case:
    """What is done to the names, whether trusted links are given, and over which snapshots."""

    change: Change
    trusted: bool = True
    snapshots: bool = False


def main() -> None:
    parser = options(__doc__, "evidence_names.json")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    parser.add_argument("--last", type=int, default=5, help="the last snapshot")
    arguments = parser.parse_args()
    name, config = ContEADataset.open(arguments.dataset).name, config_of(arguments)
    results = results_of(arguments)
    for case in arguments.cases:
        last = arguments.last if CASES[case].snapshots else 0
        measure = partial(in_child, run, arguments.dataset, case, last, config)
        results.row({"dataset": name, "case": case, "last": last}, measure)


def run(dataset: Path, case: str, last: int, config: Config) -> Row:
    """Fit and update as the case says, and score the links of each snapshot."""
    warm_up(config, with_foreign_names)
    data = DisguisedDataset(ContEADataset.open(dataset), config.seed)
    what, rng = CASES[case], np.random.default_rng(config.seed)
    called = [what.change(names, rng) for names in names_in(data)]
    graphs, method, links = GrowingGraphs(), make_method(config), Candidates.none()
    snapshots: list[Row] = []
    for t in range(last + 1):
        graphs.grow(*data.delta(t))
        problem = replace(problem_of(graphs, data, what, called), links=links)
        before = process_time()
        found, seconds = timed(method.update if t else method.fit, method, problem)
        cost = {"seconds": seconds, "processor_seconds": process_time() - before}
        links = found.accepted()
        gold = graphs.ids(to_be_found(data, t, what.trusted))
        snapshots.append({"t": t, **cost, **scores(found, gold, config)})
    return {"names": [len(names) for names in called], "snapshots": snapshots}


def problem_of(
    graphs: GrowingGraphs, data: DisguisedDataset, case: Case, called: list[Called]
) -> Problem:
    """The graphs as they are, with the names of entities that are in them."""
    problem = graphs.problem(data.seeds(), data.valid())
    if not case.trusted:
        problem = replace(problem, seeds=problem.seeds[:0], valid=problem.valid[:0])
    left, right = (
        values_of(names, side.entities) for names, side in zip(called, graphs.names, strict=True)
    )
    return replace(problem, left_values=left, right_values=right)


def with_foreign_names(problem: Problem, graphs: GrowingGraphs) -> Problem:
    """A sample's problem with names in two scripts, so that the readers of both are loaded."""
    left, right = (
        values_of({name: f"{script} {name[-8:]}" for name in entities}, entities)
        for script, entities in zip(
            ("東京タワー", "北京"), (n.entities for n in graphs.names), strict=True
        )
    )
    return replace(problem, left_values=left, right_values=right)


def to_be_found(data: DisguisedDataset, t: int, trusted: bool) -> Pairs:
    """The gold links; where no links are given, those that would have been are to be found."""
    return data.gold(t) if trusted else [*data.gold(t), *data.seeds(), *data.valid()]


def names_in(data: DisguisedDataset) -> tuple[Called, Called]:
    """The names in the IRIs of the left and of the right entities of snapshot 0."""
    iris = data.dataset.iris()
    left, right = (
        _called({name for h, _, x in side for name in (h, x)}, iris, own)
        for side, own in zip(data.delta(0), (data.left_name, data.right_name), strict=True)
    )
    return left, right


def _called(entities: set[str], iris: dict[str, str], own: Callable[[str], str]) -> Called:
    having = sorted(entity for entity in entities if own(entity) in iris)
    names = names_of_iris([iris[own(entity)] for entity in having])
    return {entity: name for entity, name in zip(having, names, strict=True) if name}


def values_of(called: Called, entities: Names) -> Values:
    """The names as literals of one attribute.

    >>> entities = Names(["a", "b"])
    >>> values = values_of({"b": "Ada", "a": "Ada", "c": "Eve"}, entities)
    >>> values.rows.tolist(), values.literals
    ([[1, 0, 0], [0, 0, 0]], ['"Ada"'])
    """
    numbers: dict[str, int] = {}
    rows = [
        (number, 0, numbers.setdefault(quoted(name), len(numbers)))
        for entity, name in called.items()
        if (number := entities.find(entity)) is not None
    ]
    return Values(np.array(rows, dtype=np.int32).reshape(-1, 3), ["name"], list(numbers))


def none(called: Called, rng: np.random.Generator) -> Called:  # noqa: ARG001
    return {}


def unchanged(called: Called, rng: np.random.Generator) -> Called:  # noqa: ARG001
    return called


def half(called: Called, rng: np.random.Generator) -> Called:
    """The names of a random half of the entities."""
    keep = rng.random(len(called)) < 0.5
    return {entity: called[entity] for entity, kept in zip(called, keep, strict=True) if kept}


def swapped(called: Called, rng: np.random.Generator) -> Called:
    """The same names, a tenth of them handed on to another entity.

    >>> mixed = swapped({str(n): str(n) for n in range(20)}, np.random.default_rng(0))
    >>> sum(entity != name for entity, name in mixed.items()), len(set(mixed.values()))
    (2, 20)
    """
    entities = list(called)
    chosen = rng.choice(len(entities), len(entities) // 10, replace=False)
    mixed = dict(called)
    for here, there in zip(chosen.tolist(), np.roll(chosen, 1).tolist(), strict=True):
        mixed[entities[here]] = called[entities[there]]
    return mixed


CASES = {
    "structure": Case(none, snapshots=True),
    "names": Case(unchanged, snapshots=True),
    "no seeds": Case(unchanged, trusted=False),
    "half of the names": Case(half),
    "10% of the names swapped": Case(swapped),
}


if __name__ == "__main__":
    main()
