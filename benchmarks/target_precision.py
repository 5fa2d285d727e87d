"""Whether `--target-precision` delivers the precision that it is given.

    python benchmarks/target_precision.py [--datasets DIR...] [--samples 20000...] [--real DIR]
        [--validation] [--json OUT]

Each dataset is aligned up to a snapshot, and then links are chosen for each target. Only links
that touch an entity of the gold links are judged: gold links of real data are incomplete.
`problem` is what `everalign links` says where a target cannot be promised.

With `--validation` the validation links of snapshot 0 are not given but take the place of the gold
links, and samples have other random seeds: on these the method was chosen. Gold links are for
scores alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from everalign import Aligner, Config
from everalign.benchmark.anonymise import AnonymisedDataset, NamePairs
from everalign.benchmark.contea_format import ContEADataset
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.io import Triple
from measurement import Row, build_parser, open_results, read_config, run_in_child
from real_data import PAIRS, SEED_SHARE, read_pair, select_one_to_one

TARGETS = (0.9, 0.95, 0.99)
LAST_SNAPSHOT = 5
REPEATS = 1
SAMPLE_SEED, VALIDATION_SAMPLE_SEEDS = 0, (1, 2)

# What one snapshot adds, and the gold links after it.
Step = tuple[list[Triple], list[Triple], NamePairs]


def main() -> None:
    parser = build_parser(__doc__, "target_precision.json")
    parser.add_argument("--datasets", type=Path, nargs="*", default=[])
    parser.add_argument("--samples", type=int, nargs="*", default=[], help="numbers of triples")
    parser.add_argument("--real", type=Path, help="directory with one directory for each pair")
    parser.add_argument("--validation", action="store_true", help="choose on validation links")
    arguments = parser.parse_args()
    results, config = open_results(arguments), read_config(arguments)
    validation = arguments.validation
    for dataset in arguments.datasets:
        for t in [0] if validation else [0, LAST_SNAPSHOT]:
            key = {"data": dataset.name, "draw": 0, "t": t, "validation": validation}
            work = partial(measure_dataset, dataset, config, t, validation=validation)
            results.measure_row(key, partial(run_in_child, work))
    for triples in arguments.samples:
        for seed in VALIDATION_SAMPLE_SEEDS if validation else (SAMPLE_SEED,):
            for t in (0, LAST_SNAPSHOT):
                key = {"data": f"sample {triples}", "draw": seed, "t": t, "validation": validation}
                work = partial(measure_sample, triples, seed, config, t)
                results.measure_row(key, partial(run_in_child, work))
    for pair in PAIRS if arguments.real else ():
        for draw in range(REPEATS):
            for seeds in (0.0, SEED_SHARE):
                key = {"data": pair, "draw": draw, "t": 0, "seeds": seeds, "validation": False}
                work = partial(measure_real, arguments.real, pair, config, draw, seeds)
                results.measure_row(key, partial(run_in_child, work))


def measure_dataset(dataset: Path, config: Config, last: int, *, validation: bool) -> Row:
    """Align a dataset up to a snapshot."""
    data = AnonymisedDataset(ContEADataset.open(dataset), config.seed)
    known = data.validation_links()
    steps = ((*data.read_delta(t), known if validation else data.gold(t)) for t in range(last + 1))
    return measure_steps(steps, data.seeds(), [] if validation else known, config)


def measure_sample(triples: int, seed: int, config: Config, last: int) -> Row:
    """Align a generated sample up to a snapshot."""
    sample = generate_sample(SampleConfig(triples=triples, seed=seed))
    steps = ((sample.left(t), sample.right(t), sample.gold(t)) for t in range(last + 1))
    return measure_steps(steps, sample.seeds, sample.validation_links, config)


def measure_real(data: Path, pair: str, config: Config, draw: int, seeds: float) -> Row:
    """Align a pair of real graphs, with a share of the gold links as seeds."""
    left, right, gold = read_pair(data, PAIRS[pair], random.Random(draw))
    random.Random(draw).shuffle(gold)
    trusted = select_one_to_one(gold[: round(seeds * len(gold))])
    return measure_steps(iter([(left, right, gold)]), trusted, [], config)


def measure_steps(
    steps: Iterator[Step], seeds: NamePairs, validation: NamePairs, config: Config
) -> Row:
    """Align snapshot after snapshot, and choose links of the last one for each target."""
    with TemporaryDirectory() as directory:
        state = Path(directory, "a.state")
        left, right, gold = next(steps)
        aligner = Aligner.create(state, left, right, seeds, validation, config)
        for left, right, later_gold in steps:
            aligner.update(left=left, right=right)
            gold = later_gold
        return {str(target): choose(aligner, target, gold) for target in TARGETS}


def choose(aligner: Aligner, target: float, gold: NamePairs) -> Row:
    """Choose links for a target, and judge those that touch an entity of the gold links."""
    links = list(aligner.iterate_links(target_precision=target, found_only=True))
    lefts, rights, pairs = {x for x, _ in gold}, {y for _, y in gold}, set(gold)
    judged = [(x.left, x.right) for x in links if x.left in lefts or x.right in rights]
    correct = sum(pair in pairs for pair in judged)
    return {
        "links": len(links),
        "judged": len(judged),
        "precision": round(correct / len(judged), 4) if judged else None,
        "recall": round(correct / len(pairs), 4),
        "problem": aligner.find_target_problem(target),
    }


if __name__ == "__main__":
    main()
