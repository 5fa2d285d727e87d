"""ContEA over time: what learns, what is frozen, and how new entities start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from everalign.graph import Graph, unite  # noqa: E402
from everalign.matching import Candidates  # noqa: E402
from everalign.methods import Problem  # noqa: E402
from everalign.methods.contea import ContEASettings  # noqa: E402
from everalign.methods.contea.method import ContEA  # noqa: E402
from everalign.methods.neural.growth import inductive_start  # noqa: E402
from everalign.progress import silent  # noqa: E402

SMALL = ContEASettings(dim=8, proxies=4, negatives=16, max_epochs=6, update_max_epochs=3)
ENTITIES = 24


def ring(size: int) -> list[tuple[int, int, int]]:
    """A ring with chords, so that every entity has a few neighbours."""
    return [(i, 0, (i + 1) % size) for i in range(size)] + [
        (i, 1, (i * 5 + 3) % size) for i in range(size)
    ]


def first_problem() -> Problem:
    graph = Graph.of(ring(ENTITIES))
    pairs = np.array([(i, i) for i in range(ENTITIES)], dtype=np.int32)
    return Problem(graph, graph, seeds=pairs[::2], valid=pairs[1:8:2])


def grown(problem: Problem, new: list[tuple[int, int, int]]) -> Problem:
    rows = np.array(new, dtype=np.int32)
    free = np.arange(9, ENTITIES, 2)
    return replace(
        problem,
        left=problem.left.grown(rows),
        right=problem.right.grown(rows),
        old_left=problem.left.entities,
        old_right=problem.right.entities,
        links=Candidates.of(free, free, np.linspace(0.1, 0.9, len(free))),
    )


NEW = [(ENTITIES, 0, 0), (2, 1, ENTITIES), (ENTITIES + 1, 0, 4), (ENTITIES + 1, 1, ENTITIES + 2)]


@pytest.fixture
def fitted() -> ContEA:
    method = ContEA(SMALL, seed=0)
    method.fit(first_problem(), silent)
    return method


def learned(method: ContEA, settings: ContEASettings, problem: Problem) -> ContEA:
    again = ContEA(settings, seed=0)
    again.load(method.save())
    again.update(problem, silent)
    return again


def test_new_entities_learn_and_the_rest_of_the_inner_layer_is_frozen(fitted: ContEA) -> None:
    problem = grown(first_problem(), NEW)
    untaught = learned(fitted, replace(SMALL, trusted=0, replay=False), problem).save()
    # A patience that never ends, and validation that cannot choose the start again.
    taught = learned(fitted, replace(SMALL, update_learning_rate=0.05), problem)
    before, after = fitted.save(), taught.save()
    new_left, new_right = slice(24, 27), slice(51, 54)
    old_right_now, old_right_then = slice(27, 51), slice(24, 48)

    for new in (new_left, new_right):
        moved = np.abs(after["entity"][new] - untaught["entity"][new]).max(axis=1)
        assert (moved > 1e-4).all(), "each new entity's embedding learns"
    np.testing.assert_array_equal(after["entity"][:24], before["entity"][:24])
    np.testing.assert_array_equal(after["entity"][old_right_now], before["entity"][old_right_then])
    np.testing.assert_array_equal(after["relation"], before["relation"])
    np.testing.assert_array_equal(after["attention"], before["attention"])
    assert np.abs(after["gate"] - before["gate"]).max() > 1e-4
    assert np.abs(after["proxy"] - before["proxy"]).max() > 1e-4


def test_without_trusted_links_and_replay_nothing_but_the_start_happens(fitted: ContEA) -> None:
    after = learned(
        fitted, replace(SMALL, trusted=0, replay=False), grown(first_problem(), NEW)
    ).save()
    np.testing.assert_array_equal(after["gate"], fitted.save()["gate"])


def test_retraining_starts_from_nothing(fitted: ContEA) -> None:
    after = learned(fitted, replace(SMALL, retrain=True), grown(first_problem(), NEW)).save()
    assert np.abs(after["entity"][:24] - fitted.save()["entity"][:24]).min() > 0


def test_new_entities_start_ring_by_ring_from_the_known_ones() -> None:
    # 0 and 1 are known; 2 knows both, 3 knows only 2, 4 and 5 know only each other.
    union = unite(Graph.of([(0, 0, 1), (2, 0, 0), (2, 0, 1), (3, 0, 2), (4, 0, 5)]), Graph.empty())
    entity = np.array([[1, 0], [0, 1], [9, 9], [9, 9], [7, 7], [8, 8]], dtype=np.float32)
    inductive_start(union, entity, np.array([True, True, False, False, False, False]))
    assert entity.tolist() == [[1, 0], [0, 1], [0.5, 0.5], [0.5, 0.5], [7, 7], [8, 8]]


def test_a_new_relation_gets_a_place_and_old_ones_keep_theirs(fitted: ContEA) -> None:
    after = learned(fitted, SMALL, grown(first_problem(), [(0, 2, ENTITIES)])).save()
    before = fitted.save()
    left_forward, right_forward = slice(0, 2), slice(3, 5)
    left_inverse, right_inverse = slice(6, 8), slice(9, 11)
    np.testing.assert_array_equal(after["relation"][left_forward], before["relation"][0:2])
    np.testing.assert_array_equal(after["relation"][right_forward], before["relation"][2:4])
    np.testing.assert_array_equal(after["relation"][left_inverse], before["relation"][4:6])
    np.testing.assert_array_equal(after["relation"][right_inverse], before["relation"][6:8])


def test_part_of_the_seeds_is_held_out_where_no_validation_links_are_given() -> None:
    problem = replace(first_problem(), valid=np.empty((0, 2), dtype=np.int32))
    method = ContEA(SMALL, seed=0)
    method.fit(problem, silent)
    assert len(method.candidates(problem, silent)) > 0
