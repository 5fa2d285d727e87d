"""What settings of the default method are worth while graphs grow: F1, calibration, lost links.

    python benchmarks/growth_effect.py '{}' '{"earlier_weight": 0.7}'
        [--datasets DIR...] [--samples TRIPLES...] [--seeds 1 2] [--json OUT]

No test link is looked at. Samples are generated with six snapshots. Of a dataset only snapshot 0
is read, and its growth is simulated: entities without a trusted link and half of the validation
links come in three waves with some of their facts, together with a fifth of the facts of the
others. Seeds are given; validation links are not, and take the place of gold links. Links are
judged that touch an entity of these links. `correct_lost` is the share of the right links of the
snapshot before that are links no more.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everalign._progress import no_progress
from everalign.benchmark.protocol import software_versions
from everalign.benchmark.synthetic import SampleConfig
from everalign.config import Config
from everalign.graph import Graph, IntArray
from everalign.methods import AlignmentTask, create_method
from everalign.methods.evidence.method import Evidence
from measurement import (
    RESULTS,
    ResultFile,
    Row,
    list_sample_steps,
    read_tasks,
    run_in_child,
    score_touching,
)

WAVES = 3
# Of the entities that may be late, of the facts of others, and of the facts of late ones.
EARLY_SHARE, LATE_FACT_SHARE, KNOWN_FACT_SHARE = 0.5, 0.2, 0.6

Step = tuple[AlignmentTask, IntArray]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "settings", type=json.loads, nargs="+", help="fields of EvidenceParameters, as JSON"
    )
    parser.add_argument("--datasets", type=Path, nargs="*", default=[])
    parser.add_argument("--samples", type=int, nargs="*", default=[], help="numbers of triples")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--json", type=Path, default=RESULTS / "growth_effect.json")
    arguments = parser.parse_args()
    results = ResultFile(arguments.json, {"software": software_versions()})
    for source in (*arguments.samples, *arguments.datasets):
        name = source.name if isinstance(source, Path) else f"sample {source}"
        for seed in arguments.seeds:
            for settings in arguments.settings:
                work = partial(measure_growth, source, seed, settings)
                key = {"data": name, "seed": seed, "settings": settings}
                results.measure_row(key, partial(run_in_child, work))


def measure_growth(source: Path | int, seed: int, settings: dict[str, Any]) -> Row:
    """Align all snapshots with some settings."""
    method = create_method(Config())
    assert isinstance(method, Evidence)
    method.config = replace(method.config, **settings)
    steps = (
        list_sample_steps(SampleConfig(triples=source, seed=seed))
        if isinstance(source, int)
        else simulate_growth(source, seed)
    )
    snapshots: list[Row] = []
    links, correct = None, set[tuple[int, int]]()
    for task, gold in steps:
        if links is None:
            method.fit(task, no_progress)
        else:
            method.update(replace(task, previous_links=links), no_progress)
        links = method.candidates(task, no_progress).accepted()
        found = {(x, y) for x, y in gold.tolist()}.intersection(links.pairs())
        lost = len(correct - found) / max(1, len(correct))
        snapshots.append(
            score_touching(links, gold) | {"correct_lost": round(lost, 4), "links": len(links)}
        )
        correct = found
    return {"snapshots": snapshots}


def simulate_growth(directory: Path, seed: int) -> Iterator[Step]:
    """Let snapshot 0 of a dataset grow from a part of it, with validation links as gold links."""
    task = read_tasks(directory, 0)[0]
    rng = np.random.default_rng(seed)
    gold = rng.permutation(task.validation)
    early, late = np.split(gold, [len(gold) // 2])
    wave_of_link = rng.integers(1, WAVES + 1, len(late))
    numbers, facts, counts = [], [], []
    for side, graph in enumerate((task.left, task.right)):
        wave = draw_waves(graph, np.concatenate([task.seeds, gold])[:, side], rng)
        wave[late[:, side]] = wave_of_link
        # Numbers are given as entities come.
        number = np.empty(graph.entity_count, dtype=np.int32)
        number[np.argsort(wave, kind="stable")] = np.arange(graph.entity_count)
        numbers.append(number)
        facts.append(draw_facts(graph, wave, number, rng))
        counts.append([int(np.count_nonzero(wave <= t)) for t in range(WAVES + 1)])

    def renumber(links: IntArray) -> IntArray:
        return np.stack([numbers[side][links[:, side]] for side in (0, 1)], axis=1)

    known = 0, 0
    for t in range(WAVES + 1):
        left, right = (
            Graph(rows[wave <= t], counts[side][t], graph.relation_count)
            for side, (graph, (rows, wave)) in enumerate(
                zip((task.left, task.right), facts, strict=True)
            )
        )
        yield (
            AlignmentTask(left, right, renumber(task.seeds), task.validation[:0], *known),
            renumber(np.concatenate([early, late[wave_of_link <= t]])),
        )
        known = left.entity_count, right.entity_count


def draw_waves(graph: Graph, linked: IntArray, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw when each entity comes; those with a given link come first."""
    wave = rng.integers(1, WAVES + 1, graph.entity_count)
    wave[rng.random(graph.entity_count) < EARLY_SHARE] = 0
    wave[linked] = 0
    return wave


def draw_facts(
    graph: Graph, wave: NDArray[np.int64], number: IntArray, rng: np.random.Generator
) -> tuple[IntArray, NDArray[np.int64]]:
    """Draw which facts come, and when: not before their entities."""
    head, relation, tail = graph.triples.T
    when = np.maximum(wave[head], wave[tail])
    is_late = (when == 0) & (rng.random(len(when)) < LATE_FACT_SHARE)
    when = np.where(is_late, rng.integers(1, WAVES + 1, len(when)), when)
    keep = (when == 0) | (rng.random(len(when)) < KNOWN_FACT_SHARE)
    rows = np.stack([number[head], relation, number[tail]], axis=1)
    return rows[keep], when[keep]


if __name__ == "__main__":
    main()
