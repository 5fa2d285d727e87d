"""How time and memory grow with the graphs, on generated samples.

    python benchmarks/evidence_scale.py [--triples 10000 1000000] [--json OUT]

Each size is that of both graphs together. One process generates the sample, another one fits it
and finds the candidates; a tiny sample is fitted there before the clock starts, so that no time
goes into compiling. `memory_before_mb` is what that process has with the graphs and all
libraries loaded; what the peak adds to it is the method's own.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from everalign.config import Config
from everalign.graph import Graph
from everalign.methods import Problem, make_method
from everalign.sample import SampleConfig, generate
from measuring import (
    GrowingGraphs,
    Row,
    config_of,
    in_child,
    memory_mb,
    options,
    results_of,
    scores,
    timed,
    warm_up,
)

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)


def main() -> None:
    parser = options(__doc__, "evidence_scale.json")
    parser.add_argument("--triples", type=int, nargs="+", default=SIZES)
    arguments = parser.parse_args()
    config, results = config_of(arguments), results_of(arguments)
    for size in arguments.triples:
        results.row({"triples": size}, partial(generate_and_fit, size, config))


def generate_and_fit(size: int, config: Config) -> Row:
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "problem.npz"
        generated = in_child(write_problem, size, config.seed, path)
        fitted = in_child(fit, path, config)
    return {
        "generation_seconds": generated["generation_seconds"],
        "generation_peak_rss_mb": generated["peak_rss_mb"],
        **fitted,
        "method_mb": round(fitted["peak_rss_mb"] - fitted["memory_before_mb"], 1),
    }


def write_problem(size: int, seed: int, path: Path) -> Row:
    """Generate a sample and write it down as ids."""
    started = perf_counter()
    sample = generate(SampleConfig(triples=size, snapshots=1, seed=seed))
    graphs = GrowingGraphs()
    graphs.grow(sample.left(0), sample.right(0))
    seconds = perf_counter() - started
    np.savez(
        path,
        left=graphs.left.triples,
        right=graphs.right.triples,
        seeds=graphs.ids(sample.seeds),
        valid=graphs.ids(sample.valid),
        gold=graphs.ids(sample.gold(0)),
    )
    return {"generation_seconds": seconds}


def fit(path: Path, config: Config) -> Row:
    """The seconds of a fit, the memory before it, and how good the links are."""
    warm_up(config)
    with np.load(path) as arrays:
        left, right = (Graph.assembled([arrays[side]]) for side in ("left", "right"))
        problem = Problem(left, right, arrays["seeds"], arrays["valid"])
        gold = arrays["gold"]
    before = memory_mb()
    method = make_method(config)
    found, seconds = timed(method.fit, method, problem)
    return {
        "left_triples": len(left.triples),
        "right_triples": len(right.triples),
        "left_entities": left.entities,
        "right_entities": right.entities,
        "seconds": seconds,
        "memory_before_mb": before,
        **scores(found, gold, config),
    }


if __name__ == "__main__":
    main()
