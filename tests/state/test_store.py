"""What is stored is read back, version by version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from everalign.state import Delta, NameKind, Side, StateStore, compute_digest
from everalign.state.ledger import (
    EventKind,
    LedgerEvent,
    ScoredPair,
    confirm_pairs,
    reject_pairs,
    replay_events,
)
from everalign.state.method_output import MethodOutput


def read_names(store: StateStore, side: Side, kind: NameKind) -> list[str]:
    names = store.open_names(side, kind)
    return names.read_range(0, len(names))


def added(version: int, left: int, right: int, score: float = 0.8) -> LedgerEvent:
    return LedgerEvent(version, EventKind.ADDED, left, right, score, "mutual best match")


FIRST = Delta(
    digest="first",
    source="left.ttl, right.ttl",
    arrays={
        "left_triples": np.array([[0, 0, 1], [1, 0, 2]], dtype=np.int32),
        "seeds": np.empty((0, 2), dtype=np.int32),
    },
    new_names={
        ("left", "entity"): ["a", "b", "c"],
        ("left", "relation"): ["knows"],
        ("right", "entity"): ["α"],
    },
    counts={"left triples": 2},
)
SECOND = Delta("second", "more.ttl", {}, {("left", "entity"): ["d\n", "e\x00"]})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StateStore]:
    with StateStore.create(tmp_path / "state", {"method": "evidence"}) as store:
        yield store


def test_a_new_store_is_empty_and_has_its_settings(store: StateStore) -> None:
    assert store.read_settings() == {"method": "evidence"}
    assert store.last_version() is None
    assert store.next_version() == 0
    assert store.list_versions() == []
    assert store.read_events() == []
    assert read_names(store, "left", "entity") == []
    assert store.pending_delta() is None
    assert dict(store.read_links().links) == {}


def test_a_state_directory_exists_once_it_is_created(store: StateStore, tmp_path: Path) -> None:
    assert StateStore.exists(tmp_path / "state")
    assert not StateStore.exists(tmp_path)


def test_a_journalled_delta_is_pending_and_changes_nothing_else(store: StateStore) -> None:
    store.journal_delta(FIRST)
    pending = store.pending_delta()
    assert pending is not None
    assert (pending.digest, pending.source) == ("first", "left.ttl, right.ttl")
    assert pending.counts == {"left triples": 2}
    assert list(pending.arrays) == ["left_triples", "seeds"]
    np.testing.assert_array_equal(pending.arrays["left_triples"], [[0, 0, 1], [1, 0, 2]])
    assert pending.arrays["seeds"].shape == (0, 2)
    assert pending.new_names["left", "entity"] == ["a", "b", "c"]
    assert pending.new_names["right", "relation"] == []
    assert list(store.read_deltas()) == []
    assert read_names(store, "left", "entity") == []


def test_a_commit_applies_the_pending_delta(store: StateStore) -> None:
    store.journal_delta(FIRST)
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    version = store.commit_version(
        MethodOutput.from_all({"vectors": vectors}, []), [added(0, 1, 0)], {"seconds": 1.5}
    )
    assert version == store.last_version() == 0
    assert store.pending_delta() is None
    assert read_names(store, "left", "entity") == ["a", "b", "c"]
    assert read_names(store, "right", "entity") == ["α"]
    assert [delta.digest for delta in store.read_deltas()] == ["first"]
    assert store.read_events() == [added(0, 1, 0)]
    assert store.read_links() == replay_events([added(0, 1, 0)])
    np.testing.assert_array_equal(store.load_method(0)[0]["vectors"], vectors)
    assert store.load_method(0)[0]["vectors"].dtype == np.float32
    (facts,) = store.list_versions()
    assert (facts.number, facts.delta, facts.info) == (0, "first", {"seconds": 1.5})


def test_everything_is_read_back_after_reopening(store: StateStore, tmp_path: Path) -> None:
    store.journal_delta(FIRST)
    store.commit_version(MethodOutput.from_all({"vectors": np.ones(2)}, []), [added(0, 1, 0)], {})
    store.journal_delta(SECOND)
    store.commit_version(MethodOutput.from_all({"vectors": np.zeros(2)}, []), [added(1, 2, 1)], {})
    store.close()
    with StateStore.open(tmp_path / "state", write=False) as reader:
        assert read_names(reader, "left", "entity") == ["a", "b", "c", "d\n", "e\x00"]
        assert [dict(delta.new_names)["left", "entity"] for delta in reader.read_deltas()] == [
            ["a", "b", "c"],
            ["d\n", "e\x00"],
        ]
        assert reader.load_method(0)[0]["vectors"].tolist() == [1, 1]
        assert reader.load_method(1)[0]["vectors"].tolist() == [0, 0]
        assert list(reader.read_links(0).links) == [(1, 0)]
        assert list(reader.read_links(1).links) == [(1, 0), (2, 1)]


def test_a_version_without_a_delta_keeps_the_arrays(
    store: StateStore,
) -> None:
    store.journal_delta(FIRST)
    store.commit_version(
        MethodOutput.from_all({"vectors": np.ones(2)}, []), [added(0, 1, 0), added(0, 2, 1)], {}
    )
    store.commit_version(MethodOutput(), confirm_pairs(store.read_links(), [(1, 0)], 1), {})
    store.commit_version(MethodOutput(), reject_pairs(store.read_links(), [(2, 1)], 2), {})
    assert store.load_method(2)[0]["vectors"].tolist() == [1, 1]
    assert [facts.delta for facts in store.list_versions()] == ["first", None, None]
    assert store.read_links(1).confirmed_pairs == {(1, 0)}
    assert store.read_links().rejected_pairs == {(2, 1)}
    store.journal_delta(SECOND)
    store.commit_version(MethodOutput.from_all({"vectors": np.zeros(2)}, []), [], {})
    assert store.read_links() == replay_events(store.read_events())
    assert store.read_links(1) == replay_events(
        [event for event in store.read_events() if event.version < 2]
    )


def test_events_of_an_entity_of_a_pair_and_since_a_version(store: StateStore) -> None:
    events = [added(0, 1, 10), added(0, 2, 20)]
    store.commit_version(MethodOutput(), events, {})
    later = LedgerEvent(
        1, EventKind.REVISED, 1, 20, 0.9, "replaces", competing_left=2, competing_right=10
    )
    store.commit_version(MethodOutput(), [later], {})
    assert store.read_events(left=1) == [events[0], later]
    assert store.read_events(right=20) == [events[1], later]
    assert store.read_events(left=1, right=10) == [events[0]]
    assert store.read_events(since=1) == [later]


def test_proposals_are_separate_from_the_arrays_of_the_method(store: StateStore) -> None:
    store.journal_delta(FIRST)
    store.commit_version(
        MethodOutput.from_all({"vectors": np.ones(2)}, [ScoredPair(1, 0, 0.2)]), [], {}
    )
    store.commit_version(MethodOutput(), reject_pairs(store.read_links(), [(2, 1)], 1), {})
    store.journal_delta(SECOND)
    store.commit_version(MethodOutput.from_all({}, []), [], {})
    assert store.read_proposals(0) == store.read_proposals(1) == [ScoredPair(1, 0, 0.2)]
    assert store.read_proposals(2) == []
    assert list(store.load_method(1)[0]) == ["vectors"]


def test_a_delta_that_rescores_all_is_read_back_as_one(store: StateStore) -> None:
    store.journal_delta(Delta("full", "full pass", {}, rescore_all=True))
    pending = store.pending_delta()
    assert pending is not None
    assert pending.rescore_all
    store.commit_version(MethodOutput(), [], {})
    store.journal_delta(SECOND)
    store.commit_version(MethodOutput(), [], {})
    assert [delta.rescore_all for delta in store.read_deltas()] == [True, False]


def test_several_deltas_may_have_the_same_digest(store: StateStore) -> None:
    for _ in range(2):
        store.journal_delta(replace(FIRST, new_names={}))
        store.commit_version(MethodOutput(), [], {})
    assert [delta.digest for delta in store.read_deltas()] == ["first", "first"]


def test_a_reader_stays_with_the_version_it_opened(store: StateStore, tmp_path: Path) -> None:
    store.journal_delta(FIRST)
    store.commit_version(MethodOutput(), [added(0, 1, 0)], {})
    with StateStore.open(tmp_path / "state", write=False) as reader:
        store.journal_delta(SECOND)
        store.commit_version(MethodOutput(), [added(1, 2, 1)], {})
        assert reader.last_version() == 0
        assert len(read_names(reader, "left", "entity")) == 3
        assert list(reader.read_links().links) == [(1, 0)]
        assert [delta.digest for delta in reader.read_deltas()] == ["first"]
        assert reader.read_events(since=1) == []
    with StateStore.open(tmp_path / "state", write=False) as reader:
        assert reader.last_version() == 1


def test_a_digest_ignores_the_order_of_rows_duplicates_and_dtypes() -> None:
    rows = np.array([[0, 0, 1], [0, 0, 2], [5, 1, 0]], dtype=np.int32)
    digest = compute_digest({"left_triples": rows, "seeds": np.empty((0, 2), np.int32)})
    again = np.concatenate([rows[::-1], rows]).astype(np.int64)
    assert digest == compute_digest({"seeds": np.empty((0, 2), np.int64), "left_triples": again})
    assert digest != compute_digest({"right_triples": rows, "seeds": np.empty((0, 2), np.int32)})
    assert digest != compute_digest(
        {"left_triples": rows[:2], "seeds": np.empty((0, 2), np.int32)}
    )
