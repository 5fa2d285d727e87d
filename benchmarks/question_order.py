"""Which order of questions corrects links fastest, with simulated reviewers.

    python benchmarks/question_order.py DATASET_DIR... [--validation] [--states DIR] [--json OUT]

Snapshot 0 of each dataset, anonymised, is aligned; then questions are asked in one batch, answered
from the gold links, and the alignment is updated with the answers. With `--validation`, the
validation links are not given but take the place of the gold links: questions are about their
entities alone, and as many fewer are asked. On these the order was chosen, since the gold links
are for scores alone.

A reviewer sees the five best candidates. If the right one is among them the answer is "same", else
"none of these". A reviewer who errs in 5% of the answers then says "none of these" where one is
right, or takes the first where none is.

Orders: `random` asks about links in force at random. `corrected links` sorts left entities by the
expected number of corrected links: the sum of the confidences of the five if the entity is
unlinked, else that of the others plus half of what is missing to 1. `f1` weighs corrections by
what they add to F1. `both sides` asks about entities of both graphs; `distinct` asks no two
questions of a batch whose best candidates overlap; `exclusive` lets candidates that exclude each
other share out a probability of 1; `neighbours` adds what an answer may help the neighbours.

`direct` is F1 if the answers change nothing but the pairs that they are about, `f1` after the
update, `others` the change of F1 among entities that nobody was asked about.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter

import numpy as np

from everalign import Aligner, ChangeSet, Config
from everalign.benchmark.anonymise import AnonymisedDataset
from everalign.benchmark.contea_format import ContEADataset
from everalign.methods import CandidateScores
from everalign.methods.evidence.method import Evidence
from everalign.review.order import (
    MAX_CANDIDATES,
    NO_LINK,
    GainWeights,
    LinkedEntities,
    RankedQuestions,
    group_candidates,
    rank_questions,
)
from everalign.session import AlignmentSession
from everalign.state.intervals import PairStatus
from measurement import Row, build_parser, open_results, read_config, run_in_child

Pair = tuple[int, int]
SIZES = (100, 300, 1000)
ERROR_RATES = (0.0, 0.05)
CORRECTED = GainWeights()
# With F1 = 2c / (f + g), a right link more is worth 2 - F1, a wrong one less F1, in units of
# 1 / (f + g); F1 is taken to be 0.8.
F1_WORTH = GainWeights(added=1.2, replaced=2.0, removed=0.8, displaced=0.8)


@dataclass(frozen=True)
class Order:
    """An order of questions.

    Attributes:
        weights: What each correction is worth.
        both_sides: Whether entities of both graphs are asked about, or left ones alone.
        distinct: Whether no two questions of a batch have the same best pair.
        neighbour_worth: Worth of an open neighbour of an entity whose counterpart becomes known.
    """

    weights: GainWeights
    both_sides: bool = False
    distinct: bool = False
    neighbour_worth: float = 0.0


ORDERS = {
    "random": Order(CORRECTED),
    "corrected links": Order(CORRECTED),
    "corrected links, both sides": Order(CORRECTED, both_sides=True),
    "corrected links, both sides, distinct": Order(CORRECTED, both_sides=True, distinct=True),
    "corrected links, neighbours": Order(CORRECTED, neighbour_worth=0.02),
    "f1": Order(F1_WORTH),
    "f1, exclusive": Order(replace(F1_WORTH, exclusive=True)),
    "f1, both sides, distinct": Order(F1_WORTH, both_sides=True, distinct=True),
    "f1, neighbours": Order(F1_WORTH, neighbour_worth=0.02),
}
VALIDATION_DIVISOR = 7  # there are a seventh as many validation links as gold links


@dataclass(frozen=True)
class Alignment:
    """An alignment with its gold links, in ids."""

    state: Path
    names: tuple[list[str], list[str]]
    gold: frozenset[Pair]
    given: frozenset[Pair]
    found: frozenset[Pair]
    scores: CandidateScores
    open_neighbours: tuple[np.ndarray, np.ndarray]
    pool: tuple[frozenset[int], frozenset[int]] | None

    def is_asked(self, side: int, entity: int) -> bool:
        return self.pool is None or entity in self.pool[side]

    def measure_f1(self, links: Iterable[Pair]) -> float:
        if self.pool is None:
            return measure_f1(links, self.gold)
        lefts, rights = self.pool
        return measure_f1([p for p in links if p[0] in lefts or p[1] in rights], self.gold)

    @property
    def links(self) -> LinkedEntities:
        left, right = (np.full(len(names), NO_LINK) for names in self.names)
        for x, y in self.found:
            left[x], right[y] = y, x
        return LinkedEntities(left, right)


def main() -> None:
    parser = build_parser(__doc__, "question_order.json")
    parser.add_argument("datasets", type=Path, nargs="*")
    parser.add_argument("--validation", action="store_true", help="choose on validation links")
    parser.add_argument("--states", type=Path, help="directory of states to use again")
    parser.add_argument("--orders", nargs="*", default=list(ORDERS), choices=list(ORDERS))
    arguments = parser.parse_args()
    results, config = open_results(arguments), read_config(arguments)
    with tempfile.TemporaryDirectory() as directory:
        states = arguments.states or Path(directory)
        for dataset, size, order in product(arguments.datasets, SIZES, arguments.orders):
            name = dataset.name + (" validation" if arguments.validation else "")
            count = size // VALIDATION_DIVISOR if arguments.validation else size
            for error_rate in ERROR_RATES if order != "random" else (0.0,):
                key = {"dataset": name, "order": order, "questions": count, "errors": error_rate}
                work = (dataset, states, config, arguments.validation, order, count, error_rate)
                results.measure_row(key, partial(run_in_child, ask, *work))


def ask(
    dataset: Path,
    states: Path,
    config: Config,
    validation: bool,
    order: str,
    size: int,
    error_rate: float,
) -> Row:
    """Ask questions in an order, and measure the links before and after."""
    alignment = open_alignment(dataset, states, config, validation=validation)
    rng = np.random.default_rng(config.seed)
    questions = list(choose_questions(alignment, order, size, rng))
    confirmed, rejected = answer(alignment, questions, error_rate, rng)
    before = alignment.measure_f1(alignment.found)
    direct = alignment.measure_f1(correct(alignment.found, confirmed, rejected))
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / "state"
        shutil.copytree(alignment.state, copy)
        change = ChangeSet(
            confirmed=name_pairs(alignment, confirmed), rejected=name_pairs(alignment, rejected)
        )
        started = perf_counter()
        Aligner.open(copy).update(change=change)
        seconds = perf_counter() - started
        after = read_links(copy) - alignment.given
    asked = {x for x, _ in confirmed | rejected}, {y for _, y in confirmed | rejected}

    def leave_out(pairs: Iterable[Pair]) -> set[Pair]:
        return {pair for pair in pairs if pair[0] not in asked[0] and pair[1] not in asked[1]}

    others = [
        measure_f1(leave_out(links), leave_out(alignment.gold))
        for links in (alignment.found, after)
    ]
    return {
        "confirmed": len(confirmed),
        "rejected": len(rejected),
        "f1_before": round(before, 4),
        "direct": round(direct - before, 4),
        "f1": round(alignment.measure_f1(after) - before, 4),
        "others": round(others[1] - others[0], 4),
        "seconds": round(seconds, 2),
    }


def open_alignment(
    dataset: Path, states: Path, config: Config, *, validation: bool = False
) -> Alignment:
    """Align a dataset, or open what was aligned before."""
    data = AnonymisedDataset(ContEADataset.open(dataset), config.seed)
    given, gold = data.validation_links(), data.gold(0)
    if validation:
        given, gold = [], given
    state = states / f"{dataset.name}{'.validation' if validation else ''}.state"
    if not Aligner.exists(state):
        Aligner.create(state, *data.read_delta(0), data.seeds(), given, config)
    with AlignmentSession.open(state) as session:
        indexes = session.entity_names()
        left, right = ([index[n] for n in range(len(index))] for index in indexes)
        links = {
            status: frozenset(row.pair for row in session.store.iterate_links(status))
            for status in (PairStatus.GIVEN, PairStatus.FOUND)
        }
        method = session.load_method()
        assert isinstance(method, Evidence)
        found, scores = links[PairStatus.FOUND], method.candidate_scores()
        ids = [{name: number for number, name in enumerate(names)} for names in (left, right)]
        pairs = frozenset((ids[0][x], ids[1][y]) for x, y in gold if x in ids[0] and y in ids[1])
        pool = frozenset(x for x, _ in pairs), frozenset(y for _, y in pairs)
        return Alignment(
            state,
            (left, right),
            pairs,
            links[PairStatus.GIVEN],
            found,
            scores,
            count_open_neighbours(method, links),
            pool if validation else None,
        )


def count_open_neighbours(
    method: Evidence, links: dict[PairStatus, frozenset[Pair]]
) -> tuple[np.ndarray, np.ndarray]:
    """Count the neighbours without a link of each entity, each by how well it is determined."""
    counts = []
    for side in (0, 1):
        view = method._state.blocks.adjacency[side].view
        is_open = np.ones(view.node_count, dtype=bool)
        is_open[[pair[side] for pairs in links.values() for pair in pairs]] = False
        is_open[view.entity_count :] = False
        start, stop = view.start[: view.entity_count], view.stop[: view.entity_count]
        weight = view.functionality * is_open[view.neighbour]
        total = np.append(0.0, np.cumsum(weight, dtype=np.float64))
        counts.append(total[stop] - total[start])
    return counts[0], counts[1]


def choose_questions(
    alignment: Alignment, order: str, size: int, rng: np.random.Generator
) -> Iterator[tuple[int, int]]:
    """Choose entities to ask about: side and id."""
    if order == "random":
        lefts = np.array(sorted(x for x, _ in alignment.found if alignment.is_asked(0, x)))
        yield from ((0, int(x)) for x in rng.permutation(lefts)[:size])
        return
    chosen_order = ORDERS[order]
    weights = chosen_order.weights
    sizes = len(alignment.names[0]), len(alignment.names[1])
    blocks = group_candidates(alignment.scores, sizes, exclusive=weights.exclusive)
    ranked = rank_questions(blocks, alignment.links, weights)
    if chosen_order.neighbour_worth:
        ranked = add_help(alignment, ranked, chosen_order.neighbour_worth)
    covered: tuple[set[int], set[int]] = (set(), set())
    chosen = 0
    for side, entity, best in zip(*(ranked[n].tolist() for n in (0, 1, 3)), strict=True):
        if not alignment.is_asked(side, entity) or (side == 1 and not chosen_order.both_sides):
            continue
        if chosen_order.distinct and (entity in covered[side] or best in covered[1 - side]):
            continue
        covered[side].add(entity)
        covered[1 - side].add(best)
        yield side, entity
        chosen += 1
        if chosen == size:
            return


def add_help(alignment: Alignment, ranked: RankedQuestions, worth: float) -> RankedQuestions:
    """Add what an answer may help the neighbours: those of both entities that have no link."""
    counts, is_left = alignment.open_neighbours, ranked.side == 0
    left = np.where(is_left, ranked.entity, ranked.best)
    right = np.where(is_left, ranked.best, ranked.entity)
    reached = np.minimum(counts[0][left], counts[1][right])
    gain = ranked.gain * (1 + worth * reached)
    order = np.argsort(-gain, kind="stable")
    return RankedQuestions(
        ranked.side[order], ranked.entity[order], gain[order], ranked.best[order]
    )


def answer(
    alignment: Alignment,
    questions: Iterable[tuple[int, int]],
    error_rate: float,
    rng: np.random.Generator,
) -> tuple[set[Pair], set[Pair]]:
    """Answer questions: confirmed and rejected pairs. The last answer about an entity counts."""
    partner = {0: dict(alignment.gold), 1: {y: x for x, y in alignment.gold}}
    taken: tuple[dict[int, Pair], dict[int, Pair]] = ({}, {})
    rejected: set[Pair] = set()
    for side, entity in questions:
        shown = list_candidates(alignment.scores, side, entity)
        right = partner[side].get(entity)
        choice = right if right in shown else None
        if rng.random() < error_rate:
            choice = shown[0] if choice is None else None
        pairs = [(entity, other) if side == 0 else (other, entity) for other in shown]
        if choice is None:
            rejected.update(pairs)
        else:
            pair = pairs[shown.index(choice)]
            for index in (0, 1):
                old = taken[index].pop(pair[index], None)
                if old is not None:
                    taken[1 - index].pop(old[1 - index], None)
            taken[0][pair[0]] = taken[1][pair[1]] = pair
    confirmed = set(taken[0].values())
    return confirmed, rejected - confirmed


def list_candidates(scores: CandidateScores, side: int, entity: int) -> list[int]:
    """List the best candidates of an entity."""
    rows = np.flatnonzero(scores[side] == entity)
    others = scores[1 - side][rows]
    order = np.lexsort((others, -scores.confidence[rows]))[:MAX_CANDIDATES]
    return [int(other) for other in others[order]]


def correct(
    found: Iterable[Pair], confirmed: Iterable[Pair], rejected: Iterable[Pair]
) -> set[Pair]:
    """Change the links that answers are about, and no other."""
    lefts, rights = {x for x, _ in confirmed}, {y for _, y in confirmed}
    wrong = set(rejected)
    kept = {p for p in found if p not in wrong and p[0] not in lefts and p[1] not in rights}
    return kept | set(confirmed)


def read_links(state: Path) -> frozenset[Pair]:
    """Read the links in force of the last version."""
    with AlignmentSession.open(state) as session:
        return frozenset(
            row.pair
            for status in (PairStatus.GIVEN, PairStatus.FOUND)
            for row in session.store.iterate_links(status)
        )


def name_pairs(alignment: Alignment, pairs: Iterable[Pair]) -> list[tuple[str, str]] | None:
    """Give pairs their names; None if there are none."""
    left, right = alignment.names
    return [(left[x], right[y]) for x, y in sorted(pairs)] or None


def measure_f1(links: Iterable[Pair], gold: Iterable[Pair]) -> float:
    """Compute F1."""
    links, gold = set(links), set(gold)
    return 2 * len(links & gold) / max(1, len(links) + len(gold))


if __name__ == "__main__":
    main()
