"""What every registered method must do, whatever it is inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.contract.named import with_names
from tests.methods.evidence.samples import NO_LINKS, grown, sampled

from everalign.config import Config
from everalign.graph import Graph
from everalign.matching import Candidates
from everalign.methods import Method, Problem, entry_of, make_method
from everalign.progress import silent
from everalign.sample import SampleConfig

# Their links are the same whatever the number of threads; sums of matrix products are not.
WHATEVER_THE_THREADS = {"evidence"}
# Without names, some of these find nothing and the others do not show what they can.
FROM_NAMES = {"names", "contea-names", "contea-names-union"}
# What may be kept between versions: so much for what was learned, and so many times the input.
LEARNED_BYTES, TIMES_INPUT = 1_000_000, 20


@pytest.fixture(scope="module")
def snapshots(config: Config) -> list[Problem]:
    sample = sampled(SampleConfig(triples=1500, snapshots=3))
    if config.method not in FROM_NAMES:
        return sample.problems
    return [with_names(*each) for each in zip(sample.problems, sample.gold, strict=True)]


@dataclass(frozen=True)
class Version:
    """What a method was given and has found, and the bytes that it keeps."""

    problem: Problem
    found: Candidates
    kept: int


@pytest.fixture(scope="module")
def history(config: Config, snapshots: list[Problem]) -> list[Version]:
    method = make_method(config)
    return [
        Version(problem, found, sum(array.nbytes for array in method.save().values()))
        for problem, found in zip(snapshots, run(method, snapshots), strict=True)
    ]


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


def test_candidates_are_one_to_one_and_free(history: list[Version]) -> None:
    for version in history:
        assert len(version.found) > 0
        check_candidates(version.problem, version.found)


def test_calibrated_scores_are_probabilities(config: Config, history: list[Version]) -> None:
    if not entry_of(config.method).calibrated:
        pytest.skip("its scores are no probabilities")
    for version in history:
        assert np.all((version.found.score >= 0) & (version.found.score <= 1))
        assert 0 <= version.found.threshold <= 1


def test_what_it_keeps_is_bounded(history: list[Version]) -> None:
    for version in history:
        left, right = version.problem.left.triples, version.problem.right.triples
        assert version.kept < LEARNED_BYTES + TIMES_INPUT * (left.nbytes + right.nbytes)


def test_the_same_seed_gives_the_same_links(
    config: Config, snapshots: list[Problem], history: list[Version]
) -> None:
    again = run(make_method(config), snapshots[:2])
    assert [pairs(found) for found in again] == [pairs(version.found) for version in history[:2]]


def test_saved_and_loaded_it_goes_on_as_if_nothing_had_happened(
    config: Config, snapshots: list[Problem], history: list[Version]
) -> None:
    before = make_method(config)
    before.fit(snapshots[0], silent)
    after = make_method(config)
    after.load({name: np.array(value) for name, value in before.save().items()})
    assert pairs(after.candidates(snapshots[0], silent)) == pairs(
        before.candidates(snapshots[0], silent)
    )
    links = before.candidates(snapshots[0], silent)
    after.update(replace(snapshots[1], links=links), silent)
    assert pairs(after.candidates(snapshots[1], silent)) == pairs(history[1].found)


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
    after = grown(first, delta, [])
    *_, found = run(make_method(config), [first, after])
    check_candidates(after, found)


@pytest.mark.parametrize("case", ["triples", "an entity", "a trusted link"])
def test_it_takes_every_kind_of_loss(config: Config, snapshots: list[Problem], case: str) -> None:
    first = snapshots[0]
    left, seeds, gone = first.left, first.seeds, np.empty(0, dtype=np.int32)
    rows, nobody = left.triples, np.empty(0, dtype=np.int32)
    if case == "triples":
        rows = rows[len(rows) // 20 :]
    elif case == "an entity":
        gone = np.setdiff1d(np.arange(left.entities), seeds[:, 0])[:1].astype(np.int32)
        rows = rows[~np.isin(rows[:, [0, 2]], gone).any(axis=1)]
    else:
        seeds = seeds[1:]
    lost = left.triples[: len(left.triples) // 20] if case == "triples" else left.triples
    after = replace(
        first,
        left=replace(left, triples=rows),
        seeds=seeds,
        old_left=left.entities,
        old_right=first.right.entities,
        changed=(np.unique(lost[:, [0, 2]]).astype(np.int32), nobody),
        gone=(gone, nobody),
        lost_triples=len(left.triples) - len(rows),
        lost_links=len(first.seeds) - len(seeds),
    )
    *_, found = run(make_method(config), [first, after])
    check_candidates(after, found)


def test_it_does_without_validation_links(config: Config, snapshots: list[Problem]) -> None:
    problem = replace(snapshots[0], valid=NO_LINKS)
    (found,) = run(make_method(config), [problem])
    check_candidates(problem, found)


def test_it_does_without_seeds(config: Config, snapshots: list[Problem]) -> None:
    bare = [replace(problem, seeds=NO_LINKS, valid=NO_LINKS) for problem in snapshots[:2]]
    for problem, found in zip(bare, run(make_method(config), bare), strict=True):
        check_candidates(problem, found)


def test_one_graph_may_be_empty(config: Config, snapshots: list[Problem]) -> None:
    first, empty = replace(snapshots[0], seeds=NO_LINKS, valid=NO_LINKS), Graph.empty()
    for problem in (replace(first, left=empty), replace(first, right=empty)):
        (found,) = run(make_method(config), [problem])
        assert len(found) == 0


def test_a_full_update_gives_candidates_for_all(
    config: Config, snapshots: list[Problem], history: list[Version]
) -> None:
    full = replace(snapshots[1], full=True)
    *_, found = run(make_method(config), [snapshots[0], full])
    check_candidates(full, found)
    assert len(found) > 0.5 * len(history[1].found)


def test_the_number_of_threads_changes_nothing(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    if config.method not in WHATEVER_THE_THREADS:
        pytest.skip("promises this for one number of threads only")
    # So large that work is done in parts.
    larger, found = sampled(SampleConfig(triples=12_000, snapshots=1)).problems, []
    for threads in ("1", "3"):
        monkeypatch.setenv("EVERALIGN_THREADS", threads)
        found += [pairs(each) for each in run(make_method(config), larger)]
    assert found[0] == found[1]
