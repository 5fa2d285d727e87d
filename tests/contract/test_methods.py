"""What every registered method must do, whatever it is inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from everalign.config import Config
from everalign.graph import Graph, Vocabulary, take_links, take_triples
from everalign.matching import Candidates
from everalign.methods import METHODS, Method, Problem, make_method
from everalign.progress import silent
from everalign.sample import SampleConfig, generate

QUICK = {
    "contea": {"dim": 8, "proxies": 4, "negatives": 64, "max_epochs": 4, "update_max_epochs": 2}
}


@pytest.fixture(params=METHODS)
def config(request: pytest.FixtureRequest) -> Config:
    if METHODS[request.param].extra == "neural":
        pytest.importorskip("torch")
    return Config(method=request.param, settings=QUICK.get(request.param, {}))


@pytest.fixture(scope="module")
def snapshots() -> list[Problem]:
    """A generated dataset as the problems of its snapshots, without links in force."""
    sample = generate(SampleConfig(triples=1500, snapshots=3))
    sides = Vocabulary(), Vocabulary()
    graphs = Graph.empty(), Graph.empty()
    problems: list[Problem] = []
    for t in range(3):
        old = graphs
        graphs = (
            old[0].grown(take_triples(sample.left(t), sides[0])),
            old[1].grown(take_triples(sample.right(t), sides[1])),
        )
        seeds = take_links(sample.seeds, *sides)
        valid = take_links(sample.valid, *sides)
        sizes = old[0].entities, old[1].entities
        problems.append(Problem(*graphs, seeds, valid, *sizes))
    return problems


def pairs(found: Candidates) -> list[tuple[int, int, float]]:
    columns = found.left.tolist(), found.right.tolist(), found.score.tolist()
    return list(zip(*columns, strict=True))


def run(method: Method, problems: list[Problem]) -> Iterator[Candidates]:
    """Fit on the first problem, update over the others, each with the links found so far."""
    method.fit(problems[0], silent)
    links = method.candidates(problems[0], silent)
    yield links
    for problem in problems[1:]:
        method.update(replace(problem, links=links), silent)
        links = method.candidates(problem, silent)
        yield links


def check_candidates(problem: Problem, found: Candidates) -> None:
    """One-to-one, between free entities that exist, with finite scores."""
    free_left, free_right = (set(side.tolist()) for side in problem.free())
    assert len(set(found.left.tolist())) == len(found) == len(set(found.right.tolist()))
    assert set(found.left.tolist()) <= free_left
    assert set(found.right.tolist()) <= free_right
    assert np.isfinite(found.score).all()


def test_candidates_are_one_to_one_and_free(config: Config, snapshots: list[Problem]) -> None:
    for problem, found in zip(snapshots, run(make_method(config), snapshots), strict=True):
        assert len(found) > 0
        check_candidates(problem, found)


def test_the_same_seed_gives_the_same_links(config: Config, snapshots: list[Problem]) -> None:
    one, two = (list(run(make_method(config), snapshots[:2])) for _ in range(2))
    assert [pairs(found) for found in one] == [pairs(found) for found in two]


def test_saved_and_loaded_it_goes_on_as_if_nothing_had_happened(
    config: Config, snapshots: list[Problem]
) -> None:
    straight = make_method(config)
    _, expected = run(straight, snapshots[:2])
    before = make_method(config)
    before.fit(snapshots[0], silent)
    after = make_method(config)
    after.load({name: np.array(value) for name, value in before.save().items()})
    assert pairs(after.candidates(snapshots[0], silent)) == pairs(
        before.candidates(snapshots[0], silent)
    )
    links = before.candidates(snapshots[0], silent)
    after.update(replace(snapshots[1], links=links), silent)
    assert pairs(after.candidates(snapshots[1], silent)) == pairs(expected)


def grown(problem: Problem, left: list[tuple[int, int, int]]) -> Problem:
    """The problem after the left graph has gained triples and the right one none."""
    return replace(
        problem,
        left=problem.left.grown(np.array(left, dtype=np.int32).reshape(-1, 3)),
        old_left=problem.left.entities,
        old_right=problem.right.entities,
    )


@pytest.mark.parametrize("case", ["no new entity", "one side unchanged", "isolated entities"])
def test_it_takes_every_kind_of_growth(
    config: Config, snapshots: list[Problem], case: str
) -> None:
    first = snapshots[0]
    n = first.left.entities
    delta = {
        "no new entity": [(0, 0, n - 1), (1, 0, n - 2)],
        "one side unchanged": [(n, 0, 0), (n + 1, 0, n)],
        "isolated entities": [(n, 0, n + 1), (n + 2, 0, n + 3)],
    }[case]
    *_, found = run(make_method(config), [first, grown(first, delta)])
    check_candidates(grown(first, delta), found)


def test_it_does_without_validation_links(config: Config, snapshots: list[Problem]) -> None:
    problem = replace(snapshots[0], valid=np.empty((0, 2), dtype=np.int32))
    (found,) = run(make_method(config), [problem])
    check_candidates(problem, found)
