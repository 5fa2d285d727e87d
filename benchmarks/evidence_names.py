"""Effect of entity names: links from structure alone, and from structure and names.

    python benchmarks/evidence_names.py DATASET_DIR [--cases "no seeds"] [--last 0] [--json OUT]

Names are taken from the IRIs of `base/uris.tsv`, as one attribute `name` per graph: most entities
of snapshot 0 have one, later ones have none. Entities are anonymised and keep their names. Cases:
structure alone and with names over all snapshots; snapshot 0 without given links, with the names
of a random half of the entities, and with a tenth of the names of each graph swapped. Each case
runs in a new process, after a small sample for compilation. `seconds` is the time of a fit or
update with its candidates; `processor_seconds` is its processor time, which does not depend on
other processes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np

from everalign.benchmark.anonymise import AnonymisedDataset, NamePairs
from everalign.benchmark.contea_format import ContEADataset
from everalign.config import Config
from everalign.graph import AttributeTriples, NameIndex
from everalign.graph.iri_names import extract_iri_names, quote_literal
from everalign.matching import CandidatePairs
from everalign.methods import AlignmentTask, create_method
from measurement import (
    GraphPair,
    Row,
    build_parser,
    open_results,
    read_config,
    run_in_child,
    score_candidates,
    time_step,
    warm_up_method,
)

# The name of each entity that has one.
EntityNames = dict[str, str]
NamesChange = Callable[[EntityNames, np.random.Generator], EntityNames]


@dataclass(frozen=True)
class NamesCase:
    """How names are changed, whether links are given, and whether all snapshots are run."""

    change: NamesChange
    with_links: bool = True
    all_snapshots: bool = False


def main() -> None:
    parser = build_parser(__doc__, "evidence_names.json")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    parser.add_argument("--last", type=int, default=5, help="the last snapshot")
    arguments = parser.parse_args()
    name, config = ContEADataset.open(arguments.dataset).name, read_config(arguments)
    results = open_results(arguments)
    for case in arguments.cases:
        last = arguments.last if CASES[case].all_snapshots else 0
        measure = partial(run_in_child, measure_case, arguments.dataset, case, last, config)
        results.measure_row({"dataset": name, "case": case, "last": last}, measure)


def measure_case(dataset: Path, case: str, last: int, config: Config) -> Row:
    """Run a case and score the links of each snapshot."""
    warm_up_method(config, add_foreign_names)
    data = AnonymisedDataset(ContEADataset.open(dataset), config.seed)
    settings, rng = CASES[case], np.random.default_rng(config.seed)
    both_names = [settings.change(names, rng) for names in read_entity_names(data)]
    graphs, method, links = GraphPair(), create_method(config), CandidatePairs.empty()
    snapshots: list[Row] = []
    for t in range(last + 1):
        graphs.add_triples(*data.read_delta(t))
        task = replace(build_named_task(graphs, data, settings, both_names), previous_links=links)
        before = process_time()
        candidates, seconds = time_step(method.update if t else method.fit, method, task)
        cost = {"seconds": seconds, "processor_seconds": process_time() - before}
        links = candidates.accepted()
        gold = graphs.encode_pairs(select_gold(data, t, settings.with_links))
        snapshots.append({"t": t, **cost, **score_candidates(candidates, gold, config)})
    return {"names": [len(names) for names in both_names], "snapshots": snapshots}


def build_named_task(
    graphs: GraphPair, data: AnonymisedDataset, case: NamesCase, both_names: list[EntityNames]
) -> AlignmentTask:
    """Build the task of the current graphs, with the names of their entities."""
    task = graphs.build_task(data.seeds(), data.validation_links())
    if not case.with_links:
        task = replace(task, seeds=task.seeds[:0], validation=task.validation[:0])
    left, right = (
        encode_names(names, vocabulary.entities)
        for names, vocabulary in zip(both_names, graphs.vocabularies, strict=True)
    )
    return replace(task, left_attributes=left, right_attributes=right)


def add_foreign_names(task: AlignmentTask, graphs: GraphPair) -> AlignmentTask:
    """Add names in two scripts to a sample, so that transliteration is loaded for both."""
    left, right = (
        encode_names({name: f"{script} {name[-8:]}" for name in entities}, entities)
        for script, entities in zip(
            ("東京タワー", "北京"),
            (vocabulary.entities for vocabulary in graphs.vocabularies),
            strict=True,
        )
    )
    return replace(task, left_attributes=left, right_attributes=right)


def select_gold(data: AnonymisedDataset, t: int, with_links: bool) -> NamePairs:
    """Select the gold links; if no links are given, seeds and validation links are to be found."""
    return data.gold(t) if with_links else [*data.gold(t), *data.seeds(), *data.validation_links()]


def read_entity_names(data: AnonymisedDataset) -> tuple[EntityNames, EntityNames]:
    """Read the names in the IRIs of the entities of snapshot 0, left and right."""
    iris = data.dataset.read_iris()
    left, right = (
        _extract_names(
            {name for head, _, tail in triples for name in (head, tail)}, iris, original_name
        )
        for triples, original_name in zip(
            data.read_delta(0), (data.original_left_name, data.original_right_name), strict=True
        )
    )
    return left, right


def _extract_names(
    entities: set[str], iris: dict[str, str], original_name: Callable[[str], str]
) -> EntityNames:
    with_iri = sorted(entity for entity in entities if original_name(entity) in iris)
    names = extract_iri_names([iris[original_name(entity)] for entity in with_iri])
    return {entity: name for entity, name in zip(with_iri, names, strict=True) if name}


def encode_names(names: EntityNames, entities: NameIndex) -> AttributeTriples:
    """Encode names as literals of one attribute.

    >>> entities = NameIndex(["a", "b"])
    >>> values = encode_names({"b": "Ada", "a": "Ada", "c": "Eve"}, entities)
    >>> values.triples.tolist(), values.literals
    ([[1, 0, 0], [0, 0, 0]], ['"Ada"'])
    """
    numbers: dict[str, int] = {}
    rows = [
        (number, 0, numbers.setdefault(quote_literal(name), len(numbers)))
        for entity, name in names.items()
        if (number := entities.find(entity)) is not None
    ]
    return AttributeTriples(np.array(rows, dtype=np.int32).reshape(-1, 3), ["name"], list(numbers))


def drop_names(names: EntityNames, rng: np.random.Generator) -> EntityNames:  # noqa: ARG001
    return {}


def keep_names(names: EntityNames, rng: np.random.Generator) -> EntityNames:  # noqa: ARG001
    return names


def keep_half(names: EntityNames, rng: np.random.Generator) -> EntityNames:
    """Keep the names of a random half of the entities."""
    is_kept = rng.random(len(names)) < 0.5
    return {entity: names[entity] for entity, kept in zip(names, is_kept, strict=True) if kept}


def swap_tenth(names: EntityNames, rng: np.random.Generator) -> EntityNames:
    """Swap a tenth of the names among their entities.

    >>> mixed = swap_tenth({str(n): str(n) for n in range(20)}, np.random.default_rng(0))
    >>> sum(entity != name for entity, name in mixed.items()), len(set(mixed.values()))
    (2, 20)
    """
    entities = list(names)
    chosen = rng.choice(len(entities), len(entities) // 10, replace=False)
    swapped = dict(names)
    for target, source in zip(chosen.tolist(), np.roll(chosen, 1).tolist(), strict=True):
        swapped[entities[target]] = names[entities[source]]
    return swapped


CASES = {
    "structure": NamesCase(drop_names, all_snapshots=True),
    "names": NamesCase(keep_names, all_snapshots=True),
    "no seeds": NamesCase(keep_names, with_links=False),
    "half of the names": NamesCase(keep_half),
    "10% of the names swapped": NamesCase(swap_tenth),
}


if __name__ == "__main__":
    main()
