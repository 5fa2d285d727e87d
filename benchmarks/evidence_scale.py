"""Time and memory by the size of the graphs, on generated samples.

    python benchmarks/evidence_scale.py [--triples 10000 1000000] [--json OUT]

A size is the number of triples of both graphs. One process generates the sample, another one fits
it and finds the candidates, after a small sample for compilation. `memory_before_mb` is the
memory of that process with graphs and libraries loaded; `method_mb` is what the peak adds to it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np

from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.config import Config
from everalign.graph import Graph
from everalign.methods import AlignmentTask, create_method
from measurement import (
    GraphPair,
    Row,
    build_parser,
    open_results,
    read_config,
    read_memory_mb,
    run_in_child,
    score_candidates,
    time_step,
    warm_up_method,
)

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)


def main() -> None:
    parser = build_parser(__doc__, "evidence_scale.json")
    parser.add_argument("--triples", type=int, nargs="+", default=SIZES)
    arguments = parser.parse_args()
    config, results = read_config(arguments), open_results(arguments)
    for size in arguments.triples:
        results.measure_row({"triples": size}, partial(measure_size, size, config))


def measure_size(size: int, config: Config) -> Row:
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "task.npz"
        generated = run_in_child(write_task, size, config.seed, path)
        fitted = run_in_child(measure_fit, path, config)
    return {
        "generation_seconds": generated["generation_seconds"],
        "generation_peak_rss_mb": generated["peak_rss_mb"],
        **fitted,
        "method_mb": round(fitted["peak_rss_mb"] - fitted["memory_before_mb"], 1),
    }


def write_task(size: int, seed: int, path: Path) -> Row:
    """Generate a sample and write it as ids."""
    started = perf_counter()
    sample = generate_sample(SampleConfig(triples=size, snapshots=1, seed=seed))
    graphs = GraphPair()
    graphs.add_triples(sample.left(0), sample.right(0))
    seconds = perf_counter() - started
    np.savez(
        path,
        left=graphs.left.triples,
        right=graphs.right.triples,
        seeds=graphs.encode_pairs(sample.seeds),
        valid=graphs.encode_pairs(sample.validation_links),
        gold=graphs.encode_pairs(sample.gold(0)),
    )
    return {"generation_seconds": seconds}


def measure_fit(path: Path, config: Config) -> Row:
    """Measure the seconds and memory of a fit, and the quality of its links."""
    warm_up_method(config)
    with np.load(path) as arrays:
        left, right = (Graph.from_parts([arrays[side]]) for side in ("left", "right"))
        task = AlignmentTask(left, right, arrays["seeds"], arrays["valid"])
        gold = arrays["gold"]
    memory_before = read_memory_mb()
    method = create_method(config)
    began = process_time()
    candidates, seconds = time_step(method.fit, method, task)
    cpu_seconds = process_time() - began
    return {
        "left_triples": len(left.triples),
        "right_triples": len(right.triples),
        "left_entities": left.entity_count,
        "right_entities": right.entity_count,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "memory_before_mb": memory_before,
        **score_candidates(candidates, gold, config),
    }


if __name__ == "__main__":
    main()
