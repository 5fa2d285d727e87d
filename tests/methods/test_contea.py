"""ContEA over time: what is trained, what is frozen, how new entities are initialised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from everalign._progress import no_progress  # noqa: E402
from everalign.graph import Graph, build_union_graph  # noqa: E402
from everalign.matching import CandidatePairs  # noqa: E402
from everalign.methods import AlignmentTask  # noqa: E402
from everalign.methods.contea import ContEASettings  # noqa: E402
from everalign.methods.contea.method import ContEA  # noqa: E402
from everalign.methods.neural.initialisation import initialise_from_neighbours  # noqa: E402

SMALL = ContEASettings(dim=8, proxies=4, negatives=16, max_epochs=6, update_max_epochs=3)
ENTITIES = 24


def ring(size: int) -> list[tuple[int, int, int]]:
    """A ring with chords, so that every entity has a few neighbours."""
    return [(i, 0, (i + 1) % size) for i in range(size)] + [
        (i, 1, (i * 5 + 3) % size) for i in range(size)
    ]


def first_task() -> AlignmentTask:
    graph = Graph.from_triples(ring(ENTITIES))
    pairs = np.array([(i, i) for i in range(ENTITIES)], dtype=np.int32)
    return AlignmentTask(graph, graph, seeds=pairs[::2], validation=pairs[1:8:2])


def grown(task: AlignmentTask, new: list[tuple[int, int, int]]) -> AlignmentTask:
    rows = np.array(new, dtype=np.int32)
    free = np.arange(9, ENTITIES, 2)
    return replace(
        task,
        left=task.left.with_triples(rows),
        right=task.right.with_triples(rows),
        known_left_count=task.left.entity_count,
        known_right_count=task.right.entity_count,
        previous_links=CandidatePairs.from_columns(free, free, np.linspace(0.1, 0.9, len(free))),
    )


NEW = [(ENTITIES, 0, 0), (2, 1, ENTITIES), (ENTITIES + 1, 0, 4), (ENTITIES + 1, 1, ENTITIES + 2)]


@pytest.fixture
def fitted() -> ContEA:
    method = ContEA(SMALL, seed=0)
    method.fit(first_task(), no_progress)
    return method


def updated(method: ContEA, settings: ContEASettings, task: AlignmentTask) -> ContEA:
    loaded = ContEA(settings, seed=0)
    loaded.load(method.save())
    loaded.update(task, no_progress)
    return loaded


def test_new_entities_are_trained_and_the_inner_layer_is_frozen(fitted: ContEA) -> None:
    task = grown(first_task(), NEW)
    initialised = updated(fitted, replace(SMALL, trusted=0, replay=False), task).save()
    # A patience that never ends, and validation that cannot choose the start loaded.
    tuned = updated(fitted, replace(SMALL, update_learning_rate=0.05), task)
    before, after = fitted.save(), tuned.save()
    new_left, new_right = slice(24, 27), slice(51, 54)
    old_right_now, old_right_then = slice(27, 51), slice(24, 48)

    for new in (new_left, new_right):
        moved = np.abs(after["entity"][new] - initialised["entity"][new]).max(axis=1)
        assert (moved > 1e-4).all(), "each new entity's embedding is trained"
    np.testing.assert_array_equal(after["entity"][:24], before["entity"][:24])
    np.testing.assert_array_equal(after["entity"][old_right_now], before["entity"][old_right_then])
    np.testing.assert_array_equal(after["relation"], before["relation"])
    np.testing.assert_array_equal(after["attention"], before["attention"])
    assert np.abs(after["gate"] - before["gate"]).max() > 1e-4
    assert np.abs(after["proxy"] - before["proxy"]).max() > 1e-4


def test_without_trusted_links_and_replay_nothing_is_trained(fitted: ContEA) -> None:
    after = updated(
        fitted, replace(SMALL, trusted=0, replay=False), grown(first_task(), NEW)
    ).save()
    np.testing.assert_array_equal(after["gate"], fitted.save()["gate"])


def test_retraining_starts_from_scratch(fitted: ContEA) -> None:
    after = updated(fitted, replace(SMALL, retrain=True), grown(first_task(), NEW)).save()
    assert np.abs(after["entity"][:24] - fitted.save()["entity"][:24]).min() > 0


def test_new_entities_are_initialised_ring_by_ring() -> None:
    # 0 and 1 are known; 2 is next to both, 3 only to 2, 4 and 5 only to each other.
    union = build_union_graph(
        Graph.from_triples([(0, 0, 1), (2, 0, 0), (2, 0, 1), (3, 0, 2), (4, 0, 5)]), Graph.empty()
    )
    entity = np.array([[1, 0], [0, 1], [9, 9], [9, 9], [7, 7], [8, 8]], dtype=np.float32)
    initialise_from_neighbours(union, entity, np.array([True, True, False, False, False, False]))
    assert entity.tolist() == [[1, 0], [0, 1], [0.5, 0.5], [0.5, 0.5], [7, 7], [8, 8]]


def test_known_relations_keep_their_rows_when_one_is_added(fitted: ContEA) -> None:
    after = updated(fitted, SMALL, grown(first_task(), [(0, 2, ENTITIES)])).save()
    before = fitted.save()
    left_forward, right_forward = slice(0, 2), slice(3, 5)
    left_inverse, right_inverse = slice(6, 8), slice(9, 11)
    np.testing.assert_array_equal(after["relation"][left_forward], before["relation"][0:2])
    np.testing.assert_array_equal(after["relation"][right_forward], before["relation"][2:4])
    np.testing.assert_array_equal(after["relation"][left_inverse], before["relation"][4:6])
    np.testing.assert_array_equal(after["relation"][right_inverse], before["relation"][6:8])


def test_part_of_the_seeds_is_held_out_where_no_validation_links_are_given() -> None:
    task = replace(first_task(), validation=np.empty((0, 2), dtype=np.int32))
    method = ContEA(SMALL, seed=0)
    method.fit(task, no_progress)
    assert len(method.candidates(task, no_progress)) > 0
