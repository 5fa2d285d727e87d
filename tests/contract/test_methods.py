"""What every registered method must do, whatever it is inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.contract.conftest import QUICK
from tests.contract.named import labels, with_names
from tests.methods.evidence.samples import NO_LINKS, grown, sampled

from everalign._progress import no_progress
from everalign.benchmark.synthetic import SampleConfig
from everalign.config import Config
from everalign.graph import Graph
from everalign.matching import CandidatePairs
from everalign.methods import AlignmentTask, Method, create_method, get_method_entry

pytestmark = pytest.mark.slow

# Their links are the same whatever the number of threads; sums of matrix products are not.
WHATEVER_THE_THREADS = {"evidence"}
# Without names, some of these find nothing and the others do not show what they can.
FROM_NAMES = {"names", "contea-names", "contea-names-union"}
# What may be kept between versions: so much for what was learned, and so many times the input.
LEARNED_BYTES, TIMES_INPUT = 1_000_000, 20


@pytest.fixture(scope="module")
def snapshots(config: Config) -> list[AlignmentTask]:
    sample = sampled(SampleConfig(triples=1500, snapshots=3))
    if config.method not in FROM_NAMES:
        return sample.problems
    return [with_names(*each) for each in zip(sample.problems, sample.gold, strict=True)]


@dataclass(frozen=True)
class Version:
    """What a method was given and has found, and the bytes that it keeps."""

    problem: AlignmentTask
    found: CandidatePairs
    kept: int


@pytest.fixture(scope="module")
def history(config: Config, snapshots: list[AlignmentTask]) -> list[Version]:
    method = create_method(config)
    return [
        Version(problem, found, sum(array.nbytes for array in method.save().values()))
        for problem, found in zip(snapshots, run(method, snapshots), strict=True)
    ]


def pairs(found: CandidatePairs) -> list[tuple[int, int, float]]:
    columns = found.left.tolist(), found.right.tolist(), found.score.tolist()
    return list(zip(*columns, strict=True))


def run(method: Method, problems: list[AlignmentTask]) -> Iterator[CandidatePairs]:
    """Fit on the first problem, update over the others, each with the links found so far."""
    method.fit(problems[0], no_progress)
    links = method.candidates(problems[0], no_progress)
    yield links
    for problem in problems[1:]:
        method.update(replace(problem, previous_links=links), no_progress)
        links = method.candidates(problem, no_progress)
        yield links


def after_rejection(
    problem: AlignmentTask, found: CandidatePairs, rows: list[int]
) -> AlignmentTask:
    """The problem of the update after people have rejected some of what was found."""
    rejected = np.stack([found.left[rows], found.right[rows]], axis=1).astype(np.int32)
    return replace(
        problem,
        known_left_count=problem.left.entity_count,
        known_right_count=problem.right.entity_count,
        changed_entities=(np.unique(rejected[:, 0]), np.unique(rejected[:, 1])),
        rejected=rejected,
        removed_link_count=len(rejected),
    )


def check_candidates(problem: AlignmentTask, found: CandidatePairs) -> None:
    """One-to-one, between free entities that exist, with finite scores."""
    free_left, free_right = (set(side.tolist()) for side in problem.unlinked_entities())
    assert len(set(found.left.tolist())) == len(found) == len(set(found.right.tolist()))
    assert set(found.left.tolist()) <= free_left
    assert set(found.right.tolist()) <= free_right
    assert np.isfinite(found.score).all()
    assert not set(map(tuple, problem.rejected.tolist())) & set(found.pairs())


def test_candidates_are_one_to_one_and_free(history: list[Version]) -> None:
    for version in history:
        assert len(version.found) > 0
        check_candidates(version.problem, version.found)


def test_calibrated_scores_are_probabilities(config: Config, history: list[Version]) -> None:
    if not get_method_entry(config.method).calibrated:
        pytest.skip("its scores are no probabilities")
    for version in history:
        assert np.all((version.found.score >= 0) & (version.found.score <= 1))
        assert 0 <= version.found.threshold <= 1


def test_what_it_keeps_is_bounded(history: list[Version]) -> None:
    for version in history:
        left, right = version.problem.left.triples, version.problem.right.triples
        assert version.kept < LEARNED_BYTES + TIMES_INPUT * (left.nbytes + right.nbytes)


def test_the_same_seed_gives_the_same_links(
    config: Config, snapshots: list[AlignmentTask], history: list[Version]
) -> None:
    again = run(create_method(config), snapshots[:2])
    assert [pairs(found) for found in again] == [pairs(version.found) for version in history[:2]]


def test_saved_and_loaded_it_goes_on_as_if_nothing_had_happened(
    config: Config, snapshots: list[AlignmentTask], history: list[Version]
) -> None:
    before = create_method(config)
    before.fit(snapshots[0], no_progress)
    after = create_method(config)
    after.load({name: np.array(value) for name, value in before.save().items()})
    assert pairs(after.candidates(snapshots[0], no_progress)) == pairs(
        before.candidates(snapshots[0], no_progress)
    )
    links = before.candidates(snapshots[0], no_progress)
    after.update(replace(snapshots[1], previous_links=links), no_progress)
    assert pairs(after.candidates(snapshots[1], no_progress)) == pairs(history[1].found)


@pytest.mark.parametrize("case", ["no new entity", "one side unchanged", "isolated entities"])
def test_it_takes_every_kind_of_growth(
    config: Config, snapshots: list[AlignmentTask], case: str
) -> None:
    first = snapshots[0]
    n = first.left.entity_count
    delta = {
        "no new entity": [(0, 0, n - 1), (1, 0, n - 2)],
        "one side unchanged": [(n, 0, 0), (n + 1, 0, n)],
        "isolated entities": [(n, 0, n + 1), (n + 2, 0, n + 3)],
    }[case]
    after = grown(first, delta, [])
    *_, found = run(create_method(config), [first, after])
    check_candidates(after, found)


@pytest.mark.parametrize("case", ["triples", "an entity", "a trusted link"])
def test_it_takes_every_kind_of_loss(
    config: Config, snapshots: list[AlignmentTask], case: str
) -> None:
    first = snapshots[0]
    left, seeds, gone = first.left, first.seeds, np.empty(0, dtype=np.int32)
    rows, nobody = left.triples, np.empty(0, dtype=np.int32)
    if case == "triples":
        rows = rows[len(rows) // 20 :]
    elif case == "an entity":
        gone = np.setdiff1d(np.arange(left.entity_count), seeds[:, 0])[:1].astype(np.int32)
        rows = rows[~np.isin(rows[:, [0, 2]], gone).any(axis=1)]
    else:
        seeds = seeds[1:]
    lost = left.triples[: len(left.triples) // 20] if case == "triples" else left.triples
    after = replace(
        first,
        left=replace(left, triples=rows),
        seeds=seeds,
        known_left_count=left.entity_count,
        known_right_count=first.right.entity_count,
        changed_entities=(np.unique(lost[:, [0, 2]]).astype(np.int32), nobody),
        removed_entities=(gone, nobody),
        removed_triple_count=len(left.triples) - len(rows),
        removed_link_count=len(first.seeds) - len(seeds),
    )
    *_, found = run(create_method(config), [first, after])
    check_candidates(after, found)


@pytest.mark.parametrize("full", [False, True])
def test_rejected_pairs_are_no_candidates(
    config: Config, snapshots: list[AlignmentTask], history: list[Version], full: bool
) -> None:
    first, found = snapshots[0], history[0].found
    after = replace(after_rejection(first, found, list(range(0, len(found), 3))), rescore_all=full)
    method = create_method(config)
    *_, now = run(method, [first, after])
    check_candidates(after, now)
    again = create_method(config)
    again.load({name: np.array(value) for name, value in method.save().items()})
    assert pairs(again.candidates(after, no_progress)) == pairs(now)


@pytest.mark.parametrize("method", ["evidence", "names", "contea"])
def test_where_a_pair_is_rejected_the_runner_up_wins(method: str) -> None:
    if get_method_entry(method).extra == "neural":
        pytest.importorskip("torch")
    config, problem = Config(method=method, settings=QUICK.get(method, {})), with_runner_up()
    (found,) = run(create_method(config), [problem])
    assert found.pairs() == [(0, 0)]
    *_, now = run(create_method(config), [problem, after_rejection(problem, found, [0])])
    assert now.pairs() == [(0, 1)]


def with_runner_up() -> AlignmentTask:
    """Left 0 is like right 0 in name and neighbours, and nearly as much like right 1."""
    first, last = 2, 9
    seeds = [(seed, seed) for seed in range(first, last + 1)]
    left = [(0, 0, seed) for seed, _ in seeds]
    right = left + [(1, 0, seed) for seed, _ in seeds[:-1]]
    nobody = np.empty(0, dtype=np.int32)
    return AlignmentTask(
        Graph(np.array(left, dtype=np.int32), last + 1, 1),
        Graph(np.array(right, dtype=np.int32), last + 1, 1),
        np.array(seeds, dtype=np.int32),
        NO_LINKS,
        left_attributes=labels("Alexandra"),
        right_attributes=labels("Alexandra", "Alexandre"),
        removed_entities=(np.array([1], dtype=np.int32), nobody),
    )


def test_it_does_without_validation_links(config: Config, snapshots: list[AlignmentTask]) -> None:
    problem = replace(snapshots[0], validation=NO_LINKS)
    (found,) = run(create_method(config), [problem])
    check_candidates(problem, found)


def test_it_does_without_seeds(config: Config, snapshots: list[AlignmentTask]) -> None:
    bare = [replace(problem, seeds=NO_LINKS, validation=NO_LINKS) for problem in snapshots[:2]]
    for problem, found in zip(bare, run(create_method(config), bare), strict=True):
        check_candidates(problem, found)


def test_one_graph_may_be_empty(config: Config, snapshots: list[AlignmentTask]) -> None:
    first, empty = replace(snapshots[0], seeds=NO_LINKS, validation=NO_LINKS), Graph.empty()
    for problem in (replace(first, left=empty), replace(first, right=empty)):
        (found,) = run(create_method(config), [problem])
        assert len(found) == 0


def test_a_full_update_gives_candidates_for_all(
    config: Config, snapshots: list[AlignmentTask], history: list[Version]
) -> None:
    full = replace(snapshots[1], rescore_all=True)
    *_, found = run(create_method(config), [snapshots[0], full])
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
        found += [pairs(each) for each in run(create_method(config), larger)]
    assert found[0] == found[1]
