"""Quality on real data with literals: product lists, publications, restaurants, works of music.

    python benchmarks/real_data.py DATA_DIR [--pairs abt-buy] [--held-back] [--json OUT]

Each pair of graphs is aligned without trusted links and with a random fifth of the gold links as
seeds. The statements are shuffled before they are given, since the order of a file can reveal the
gold links. Restaurants are named anew: by hashes, which say nothing ("hashed"), by the class with
another number ("renumbered"), and by the names of others ("misnamed"), which mislead. Only links
that touch an entity of the gold links are judged. Without seeds, repeats differ in the order of
the statements and in the new names; with seeds, in the drawn seeds as well.

`--held-back` adds what is needed to compare an update with a fresh start: a random tenth of the
statements is held back, added by an update, and then everything is aligned again (`full`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from everalign import Aligner, Config
from everalign.benchmark.anonymise import NamePairs
from everalign.io import Triple, TripleReader
from everalign.io.links import read_links
from measurement import Row, build_parser, open_results, read_config, run_in_child

SEED_SHARE = 0.2
HELD_BACK_SHARE = 0.1
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

# New names of entities, given all statements of a graph.
Renaming = Callable[[list[Triple], random.Random], dict[str, str]]


def keep_names(statements: list[Triple], rng: random.Random) -> dict[str, str]:  # noqa: ARG001
    """Keep the names as they are."""
    return {}


def hash_names(statements: list[Triple], rng: random.Random) -> dict[str, str]:
    """Name every instance by a hash, which tells nothing."""
    salt = str(rng.random())
    return {
        name: "http://example.org/" + sha256((salt + name).encode()).hexdigest()[:16]
        for name in _list_instances(statements)
    }


def renumber_names(statements: list[Triple], rng: random.Random) -> dict[str, str]:
    """Name every instance by its class and a number in random order, which misleads."""
    names = _list_instances(statements)
    numbers = list(range(len(names)))
    rng.shuffle(numbers)
    return {
        name: f"http://example.org/{name.rstrip('0123456789').rpartition('-')[2]}{number}"
        for name, number in zip(names, numbers, strict=True)
    }


def misname(statements: list[Triple], rng: random.Random) -> dict[str, str]:
    """Name every instance by the first text of another one, which misleads more."""
    texts: dict[str, str] = {}
    for head, _, tail in sorted(statements):
        if tail.startswith('"') and len(tail) < 60:
            texts.setdefault(head, "".join(c if c.isalnum() else "_" for c in tail[1:-1]))
    names = _list_instances(statements)
    others = list(texts.values())
    return {
        name: f"http://example.org/{number}/{rng.choice(others)}"
        for number, name in enumerate(names)
    }


def _list_instances(statements: list[Triple]) -> list[str]:
    return sorted({head for head, relation, _ in statements if relation == TYPE})


@dataclass(frozen=True)
class RealPair:
    """Two graphs with gold links, and how their entities are named anew."""

    left: str
    right: str
    gold: str
    rename: Renaming = keep_names


PAIRS = {
    "abt-buy": RealPair(
        "abt-buy/Abt.csv", "abt-buy/Buy.csv", "abt-buy/abt_buy_perfectMapping.csv"
    ),
    "dblp-acm": RealPair(
        "dblp-acm/DBLP2.csv", "dblp-acm/ACM.csv", "dblp-acm/DBLP-ACM_perfectMapping.csv"
    ),
    **{
        f"restaurants {name}": RealPair(
            "restaurants/restaurant1.rdf",
            "restaurants/restaurant2.rdf",
            "restaurants/restaurant1_restaurant2_goldstandard.rdf",
            rename,
        )
        for name, rename in (
            ("hashed", hash_names),
            ("renumbered", renumber_names),
            ("misnamed", misname),
        )
    },
    "doremus-4": RealPair("doremus-4/PP-2.owl", "doremus-4/BnF-2.owl", "doremus-4/refalign.rdf"),
}


def main() -> None:
    parser = build_parser(__doc__, "real_data.json")
    parser.add_argument("data", type=Path, help="directory with one directory for each pair")
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=PAIRS)
    parser.add_argument("--repeats", type=int, default=5, help="orders, draws and splits")
    parser.add_argument("--held-back", action="store_true", help="also hold back a tenth")
    arguments = parser.parse_args()
    config, results = read_config(arguments), open_results(arguments)
    for pair in arguments.pairs:
        for case in list_cases(arguments.repeats, held_back=arguments.held_back):
            key = {"pair": pair} | case
            measure = partial(measure_pair, arguments.data, config, **key)
            results.measure_row(key, partial(run_in_child, measure))


def list_cases(repeats: int, *, held_back: bool) -> list[Row]:
    """List what is measured of each pair: orders of statements, draws of seeds, splits."""
    cases: list[Row] = []
    for number in range(repeats):
        plain = {"shuffle": number, "held_back": False}
        cases.append({"seeds": 0.0, "draw": 0} | plain)
        cases.append({"seeds": SEED_SHARE, "draw": number} | plain)
        if number == 1:
            # Another order of the same input: the difference is what the order changes.
            cases.append({"seeds": SEED_SHARE, "draw": 0} | plain)
    if held_back:
        cases += [
            {"seeds": seeds, "draw": number, "shuffle": number, "held_back": True}
            for number in range(repeats)
            for seeds in (0.0, SEED_SHARE)
        ]
    return cases


def measure_pair(
    data: Path,
    config: Config,
    *,
    pair: str,
    seeds: float,
    draw: int,
    shuffle: int,
    held_back: bool,
) -> Row:
    """Align a pair of graphs and score the links; with an update if a tenth is held back."""
    left, right, gold = read_pair(data, PAIRS[pair], random.Random(shuffle))
    random.Random(draw).shuffle(gold)
    trusted = select_one_to_one(gold[: round(seeds * len(gold))])
    share = HELD_BACK_SHARE if held_back else 0.0
    graphs = _hold_back(left, share), _hold_back(right, share)
    known = [{head for head, _, _ in early} for early, _ in graphs]
    # A trusted link can only be given when both graphs have its entities.
    trusted = [link for link in trusted if link[0] in known[0] and link[1] in known[1]]
    with TemporaryDirectory() as directory:
        started = process_time()
        state = Path(directory, "state")
        aligner = Aligner.create(state, graphs[0][0], graphs[1][0], trusted, config=config)
        row = score(aligner, gold)
        if held_back:
            aligner.update(left=graphs[0][1], right=graphs[1][1])
            row = {"before": row, "updated": score(aligner, gold)}
            aligner.update(full=True)
            row["full"] = score(aligner, gold)
        return row | {"cpu_seconds": process_time() - started}


def _hold_back(statements: list[Triple], share: float) -> tuple[list[Triple], list[Triple]]:
    """Split shuffled statements into those that are there at first and those that come later."""
    count = round(share * len(statements))
    return statements[count:], statements[:count]


def score(aligner: Aligner, gold: NamePairs) -> Row:
    """Score the links that touch an entity of the gold links."""
    found = aligner.evaluate(gold, scope="gold").to_dict()
    names = ("precision", "recall", "f1", "calibration_error", "predicted", "gold", "correct")
    return {name: found[name] for name in names}


def read_pair(
    data: Path, pair: RealPair, rng: random.Random
) -> tuple[list[Triple], list[Triple], NamePairs]:
    """Read two graphs, shuffled, and the gold links."""
    graphs, renamings = [], []
    for path in (pair.left, pair.right):
        statements = [
            row
            for batch in TripleReader(data / path).statements()
            for row in (*batch.triples, *batch.literals)
        ]
        new_names = pair.rename(statements, rng)
        rows = [
            (new_names.get(head, head), relation, new_names.get(tail, tail))
            for head, relation, tail in statements
        ]
        rng.shuffle(rows)
        graphs.append(rows)
        renamings.append(new_names)
    gold = [
        (renamings[0].get(link.left, link.left), renamings[1].get(link.right, link.right))
        for link in read_links(data / pair.gold)
    ]
    return graphs[0], graphs[1], gold


def select_one_to_one(links: Sequence[tuple[str, str]]) -> NamePairs:
    """Keep the first link of each entity: trusted links are one-to-one."""
    used: set[tuple[int, str]] = set()
    kept = []
    for left, right in links:
        if not used & {(0, left), (1, right)}:
            used |= {(0, left), (1, right)}
            kept.append((left, right))
    return kept


if __name__ == "__main__":
    main()
