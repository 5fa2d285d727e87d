"""Three ways to the same graphs: updates, a full pass after each update, and a fresh start.

    python benchmarks/full_pass.py DATASET_DIR... [--samples 1 2 3] [--last 5] [--json OUT]

A dataset in the ContEA layout is fitted at snapshot 0 and updated with each later one. After each
update, a copy of the method aligns everything again (`full`), and once more (`again`, which must
change nothing); another method is fitted on all triples of the snapshot (`fresh`). F1 is that of
the accepted links against the gold test links. --samples are random seeds of generated samples
with 20,000 triples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from everalign.benchmark.anonymise import AnonymisedDataset
from everalign.benchmark.contea_format import ContEADataset
from everalign.benchmark.synthetic import SampleConfig
from everalign.config import Config
from everalign.graph import IntArray
from everalign.matching import CandidatePairs
from everalign.methods import AlignmentTask, Method, create_method
from measurement import (
    GraphPair,
    Row,
    build_parser,
    list_sample_steps,
    open_results,
    read_config,
    run_in_child,
    score_candidates,
    time_step,
)

SAMPLE_TRIPLES = 20_000
SCORES = ("f1", "precision", "recall", "calibration_error")
Step = tuple[AlignmentTask, IntArray]


def main() -> None:
    parser = build_parser(__doc__, "full_pass.json")
    parser.add_argument("datasets", type=Path, nargs="*")
    parser.add_argument("--samples", type=int, nargs="*", default=[])
    parser.add_argument("--last", type=int, default=5, help="the last snapshot")
    arguments = parser.parse_args()
    config, results = read_config(arguments), open_results(arguments)
    sources: list[Path | int] = [*arguments.datasets, *arguments.samples]
    for source in sources:
        name = f"sample {source}" if isinstance(source, int) else ContEADataset.open(source).name
        measure = partial(run_in_child, measure_paths, source, arguments.last, config)
        results.measure_row({"dataset": name, "last": arguments.last}, measure)


def measure_paths(source: Path | int, last: int, config: Config) -> Row:
    """Score the links of all ways at each snapshot."""
    steps = (
        list_sample_steps(SampleConfig(triples=SAMPLE_TRIPLES, seed=source))
        if isinstance(source, int)
        else list_steps(source, config)
    )
    method, links, snapshots = create_method(config), CandidatePairs.empty(), []
    for t, (snapshot, gold) in enumerate(steps):
        if t > last:
            break
        task = replace(snapshot, previous_links=links)
        found, _ = time_step(method.update if t else method.fit, method, task)
        links = found.accepted()
        if not t:
            continue
        full = copy_method(method, config)
        whole = replace(task, rescore_all=True)
        fresh = create_method(config)
        ways = {
            "update": found,
            "full": time_step(full.update, full, whole)[0],
            "again": time_step(full.update, full, whole)[0],
            "fresh": time_step(
                fresh.fit, fresh, replace(task, known_left_count=0, known_right_count=0)
            )[0],
        }
        scores = {name: score_candidates(pairs, gold, config) for name, pairs in ways.items()}
        snapshots.append(
            {"t": t} | {way: {name: row[name] for name in SCORES} for way, row in scores.items()}
        )
    return {"snapshots": snapshots}


def copy_method(method: Method, config: Config) -> Method:
    """Copy a fitted method by way of its saved state."""
    copy = create_method(config)
    copy.load(method.save())
    return copy


def list_steps(directory: Path, config: Config) -> Iterator[Step]:
    """The task and the gold links of each snapshot of a dataset."""
    dataset = ContEADataset.open(directory)
    data, graphs = AnonymisedDataset(dataset, config.seed), GraphPair()
    for t in range(dataset.snapshot_count):
        graphs.add_triples(*data.read_delta(t))
        task = graphs.build_task(data.seeds(), data.validation_links())
        yield task, graphs.encode_pairs(data.gold(t))


if __name__ == "__main__":
    main()
