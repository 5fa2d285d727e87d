"""What a setting of the default method is worth: F1, calibration and time for several values.

    python benchmarks/setting_effect.py min_support_share 0 0.05 0.15
        [--datasets DIR:SNAPSHOT...] [--samples TRIPLES:SEED...] [--numberings 2] [--json OUT]

No test link is looked at: of a dataset, the validation links are not given, and take the place of
the gold links; samples are generated. Each run numbers the entities and relations in another
order, as results that differ by that alone are no results. Links and candidates are judged that
touch an entity of these links. `average_precision` is that of all candidates by confidence.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

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
    mark_touching,
    read_tasks,
    run_in_child,
    score_touching,
    warm_up_method,
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("setting", help="a field of EvidenceParameters")
    parser.add_argument("values", type=json.loads, nargs="+", help="its values, as JSON")
    parser.add_argument("--datasets", nargs="*", default=[], metavar="DIR:SNAPSHOT")
    parser.add_argument("--samples", nargs="*", default=[], metavar="TRIPLES:SEED")
    parser.add_argument("--numberings", type=int, default=2)
    parser.add_argument("--json", type=Path, default=RESULTS / "setting_effect.json")
    arguments = parser.parse_args()
    results = ResultFile(arguments.json, {"software": software_versions()})
    for source in (*arguments.datasets, *arguments.samples):
        name = f"sample {source}" if source in arguments.samples else Path(source).name
        for numbering in range(arguments.numberings):
            for value in arguments.values:
                key = {"setting": arguments.setting, "data": name, "numbering": numbering}
                work = partial(measure_value, name, source, arguments.setting, value, numbering)
                results.measure_row(key | {"value": value}, partial(run_in_child, work))


def measure_value(name: str, source: str, setting: str, value: Any, numbering: int) -> Row:
    """Fit with one value of a setting, and judge the links."""
    task, gold = read_sample(source) if name.startswith("sample") else read_dataset(source)
    task, gold = renumber_task(task, gold, numbering)
    warm_up_method(Config())
    method = create_method(Config())
    assert isinstance(method, Evidence)
    method.config = replace(method.config, **{setting: value})
    started = process_time()
    method.fit(task, no_progress)
    seconds = process_time() - started
    links = method.candidates(task, no_progress).accepted()
    return score_touching(links, gold) | {
        "average_precision": round(compute_average_precision(method, gold), 4),
        "cpu_seconds": round(seconds, 2),
    }


def read_dataset(source: str) -> tuple[AlignmentTask, IntArray]:
    """Read a snapshot of a dataset without its validation links, and these."""
    directory, _, snapshot = source.rpartition(":")
    task = read_tasks(Path(directory), int(snapshot))[-1]
    return replace(task, validation=task.validation[:0]), task.validation


def read_sample(source: str) -> tuple[AlignmentTask, IntArray]:
    """Generate a sample and find its gold links."""
    triples, seed = map(int, source.split(":"))
    (step,) = list_sample_steps(SampleConfig(triples=triples, snapshots=1, seed=seed))
    return step


def renumber_task(
    task: AlignmentTask, gold: IntArray, seed: int
) -> tuple[AlignmentTask, IntArray]:
    """Number entities and relations in another order; new entities stay behind the known ones."""
    rng = np.random.default_rng(seed)
    orders, graphs = [], []
    for graph, known in (
        (task.left, task.known_left_count),
        (task.right, task.known_right_count),
    ):
        entities = np.concatenate(
            [rng.permutation(known), known + rng.permutation(graph.entity_count - known)]
        ).astype(np.int32)
        relations = rng.permutation(graph.relation_count).astype(np.int32)
        head, relation, tail = graph.triples.T
        triples = np.stack([entities[head], relations[relation], entities[tail]], axis=1)
        graphs.append(Graph.from_parts([triples]))
        orders.append(entities)

    def renumber(links: IntArray) -> IntArray:
        return np.stack([orders[side][links[:, side]] for side in (0, 1)], axis=1)

    task = replace(
        task,
        left=graphs[0],
        right=graphs[1],
        seeds=renumber(task.seeds),
        validation=renumber(task.validation),
    )
    return task, renumber(gold)


def compute_average_precision(method: Evidence, gold: IntArray) -> float:
    """The area under the precision-recall curve of all candidates."""
    scores = method.candidate_scores()
    judged = mark_touching(scores.left, scores.right, gold)
    left, right, confidence = (column[judged] for column in scores)
    gold_pairs = {(x, y) for x, y in gold.tolist()}
    order = np.argsort(-confidence, kind="stable")
    is_right = np.array(
        [
            pair in gold_pairs
            for pair in zip(left[order].tolist(), right[order].tolist(), strict=True)
        ]
    )
    precision = np.cumsum(is_right) / np.arange(1, len(is_right) + 1)
    return float(precision[is_right].sum() / len(gold))


if __name__ == "__main__":
    main()
