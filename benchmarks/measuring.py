"""What the measurements share: problems, time and memory, scores and result files.

A measurement that takes long is kept row by row: a row that its result file has already is not
measured again. To measure anew, remove the file.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from everalign.cli.alignment import configuration
from everalign.config import Config
from everalign.evaluation.disguise import DisguisedDataset, Pairs
from everalign.evaluation.metrics import calibration_error, score
from everalign.evaluation.protocol import software
from everalign.graph import Graph, IntArray, Vocabulary, take_links, take_triples
from everalign.matching import Candidates
from everalign.methods import Method, Problem, entry_of, make_method
from everalign.progress import Progress, silent
from everalign.rdf import ContEADataset, Triple
from everalign.sample import SampleConfig, generate

Row: TypeAlias = dict[str, Any]

RESULTS = Path(__file__).parent / "results"


class GrowingGraphs:
    """Two graphs that grow by triples of names; an entity that comes later has a higher id.

    >>> graphs = GrowingGraphs()
    >>> graphs.grow([("a", "knows", "b")], [("A", "knows", "B")])
    >>> graphs.grow([("c", "knows", "a")], [])
    >>> graphs.problem([("a", "A")], []).old_left, graphs.left.entities
    (2, 3)
    """

    def __init__(self) -> None:
        self.names = Vocabulary(), Vocabulary()
        self.left = self.right = Graph.empty()
        self.old = 0, 0

    def grow(self, left: Iterable[Triple], right: Iterable[Triple]) -> None:
        """Take in what a delta adds to either side."""
        self.old = self.left.entities, self.right.entities
        self.left = self.left.grown(take_triples(left, self.names[0]))
        self.right = self.right.grown(take_triples(right, self.names[1]))

    def known(self, pairs: Pairs) -> Pairs:
        """Those of the pairs whose entities are both there."""
        left, right = (names.entities for names in self.names)
        return [pair for pair in pairs if pair[0] in left and pair[1] in right]

    def ids(self, pairs: Pairs) -> IntArray:
        return take_links(pairs, *self.names)

    def problem(self, seeds: Pairs, valid: Pairs) -> Problem:
        """The graphs as they are, with what came last as new and no links in force."""
        return Problem(self.left, self.right, self.ids(seeds), self.ids(valid), *self.old)


def read_problems(directory: Path, last: int, seed: int = 0) -> list[Problem]:
    """The problems of snapshots 0 to `last`, without links in force."""
    data = DisguisedDataset(ContEADataset.open(directory), seed)
    graphs, problems = GrowingGraphs(), []
    for t in range(last + 1):
        graphs.grow(*data.delta(t))
        problems.append(graphs.problem(data.seeds(), data.valid()))
    return problems


@dataclass(frozen=True)
class Given:
    """Snapshot 0 of a dataset: the triples of either side, and links of three sorts."""

    left: list[Triple]
    right: list[Triple]
    seeds: Pairs
    valid: Pairs
    test: Pairs

    def gold(self, graphs: GrowingGraphs, problem: Problem) -> IntArray:
        """The gold links to be found: those between entities that no given link speaks for.

        Where a problem gives fewer seeds or validation links, the rest of them are to be found.
        """
        links = graphs.ids(graphs.known([*self.test, *self.seeds, *self.valid]))
        free = [np.isin(links[:, side], ids) for side, ids in enumerate(problem.free())]
        return links[free[0] & free[1]]


def read_given(directory: Path, seed: int = 0) -> Given:
    """Snapshot 0 of a dataset, with entities renamed and triples shuffled."""
    data = DisguisedDataset(ContEADataset.open(directory), seed)
    left, right = (list(dict.fromkeys(side)) for side in data.delta(0))
    return Given(left, right, data.seeds(), data.valid(), data.gold(0))


def split(
    triples: list[Triple], percent: float, rng: np.random.Generator
) -> tuple[list[Triple], list[Triple]]:
    """The triples without a random share of them, and that share; both in their order."""
    held = np.zeros(len(triples), dtype=bool)
    count = round(len(triples) * percent / 100)
    held[rng.choice(len(triples), count, replace=False)] = True
    kept = [triple for triple, out in zip(triples, held, strict=True) if not out]
    return kept, [triple for triple, out in zip(triples, held, strict=True) if out]


def timed(
    step: Callable[[Problem, Progress], None], method: Method, problem: Problem
) -> tuple[Candidates, float]:
    """What the method finds after its `fit` or `update`, and the seconds of both together."""
    started = perf_counter()
    step(problem, silent)
    found = method.candidates(problem, silent)
    return found, perf_counter() - started


def as_it_is(problem: Problem, graphs: GrowingGraphs) -> Problem:  # noqa: ARG001
    """Nothing but triples."""
    return problem


def warm_up(config: Config, given: Callable[[Problem, GrowingGraphs], Problem] = as_it_is) -> None:
    """A fit and an update of a tiny sample, so that loops are compiled and libraries loaded.

    `given` puts into the problem what the measured ones have beside triples. The sample has enough
    trusted links to learn a lexicon from.
    """
    sample = generate(SampleConfig(triples=4000, snapshots=2))
    method, graphs, links = make_method(config), GrowingGraphs(), Candidates.none()
    for t, step in enumerate((method.fit, method.update)):
        graphs.grow(sample.left(t), sample.right(t))
        problem = given(graphs.problem(sample.seeds, sample.valid), graphs)
        links = timed(step, method, replace(problem, links=links))[0].accepted()


def in_child(work: Callable[..., Row], *arguments: Any) -> Row:
    """The row that `work` gives in a fresh process, with its seconds and peak memory in all."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measured, work, *arguments).result()


def _measured(work: Callable[..., Row], *arguments: Any) -> Row:
    started = perf_counter()
    row = work(*arguments)
    return row | {
        "process_seconds": perf_counter() - started,
        "peak_rss_mb": memory_mb("VmHWM"),
    }


def memory_mb(field: str = "VmRSS") -> float:
    """The memory that this process has (VmRSS), or the most that it has had (VmHWM).

    The peak that getrusage tells would begin with the peak of the process that started this one.
    """
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    told = next(line for line in lines if line.startswith(f"{field}:"))
    return round(int(told.split()[1]) / 1024, 1)


def scores(found: Candidates, gold: IntArray, config: Config) -> Row:
    """How the accepted links compare with gold links, and what the method says of them."""
    links = found.accepted()
    true = {(left, right) for left, right in gold.tolist()}
    right = [pair in true for pair in links.pairs()]
    calibrated = entry_of(config.method).calibrated
    return score(links.pairs(), true).to_dict() | {
        "calibration_error": calibration_error(links.score.tolist(), right)
        if calibrated
        else None,
        "threshold": found.threshold if math.isfinite(found.threshold) else None,
        "notes": list(found.notes),
    }


class Results:
    """A result file that is written row by row; `about` says what its rows have in common."""

    def __init__(self, path: Path, about: Row) -> None:
        self.path = path
        self.about = about
        self.rows = self._earlier()

    def row(self, key: Row, measure: Callable[[], Row]) -> Row:
        """The row with this key: from the file, or measured now and added to it."""
        found = row_of(self.rows, key)
        if found is None:
            found = key | measure()
            self.rows.append(found)
            self._write()
        print(json.dumps(found), flush=True)
        return found

    def _earlier(self) -> list[Row]:
        if not self.path.exists():
            return []
        content = json.loads(self.path.read_text(encoding="utf-8"))
        other = [name for name, value in self.about.items() if content.get(name) != value]
        if other:
            sys.exit(f"{self.path} holds another run ({other[0]} differs): choose another file")
        rows: list[Row] = content["rows"]
        return rows

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_name(self.path.name + ".unfinished")
        text = json.dumps(self.about | {"rows": self.rows}, indent=1) + "\n"
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(self.path)


def row_of(rows: list[Row], key: Row) -> Row | None:
    """The row that has all the values of the key.

    >>> row_of([{"t": 0, "f1": 0.8}, {"t": 1, "f1": 0.6}], {"t": 1})
    {'t': 1, 'f1': 0.6}
    """
    return next((row for row in rows if key.items() <= row.items()), None)


def options(about: str | None, out: str) -> argparse.ArgumentParser:
    """The options that every measurement of a method has."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--method", help="instead of the default method")
    parser.add_argument("--config", type=Path, help="settings as TOML")
    parser.add_argument("--json", type=Path, default=RESULTS / out, help="the result file")
    return parser


def config_of(arguments: argparse.Namespace) -> Config:
    return configuration(arguments.config, arguments.method, None, None)


def results_of(arguments: argparse.Namespace) -> Results:
    """The result file of a run, for rows of the same configuration and software."""
    config = config_of(arguments)
    about = {"method": config.method, "seed": config.seed, "config": asdict(config)}
    return Results(arguments.json, about | {"software": software()})
