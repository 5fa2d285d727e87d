"""What goes in comes out, version by version."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from everalign.ledger import Event, Kind, Link, confirm, fold, reject
from everalign.store import Delta, Store, digest_of


def added(version: int, left: int, right: int, score: float = 0.8) -> Event:
    return Event(version, Kind.ADDED, left, right, score, "mutual best match")


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
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "state", {"method": "evidence"}) as store:
        yield store


def test_a_new_store_is_empty_and_remembers_its_settings(store: Store) -> None:
    assert store.settings() == {"method": "evidence"}
    assert store.last_version() is None
    assert store.next_version() == 0
    assert store.versions() == []
    assert store.events() == []
    assert store.names("left", "entity") == []
    assert store.pending() is None
    assert dict(store.links().links) == {}


def test_a_state_exists_once_it_is_made(store: Store, tmp_path: Path) -> None:
    assert Store.exists(tmp_path / "state")
    assert not Store.exists(tmp_path)


def test_a_journaled_delta_is_pending_and_changes_nothing_else(store: Store) -> None:
    store.journal(FIRST)
    pending = store.pending()
    assert pending is not None
    assert (pending.digest, pending.source) == ("first", "left.ttl, right.ttl")
    assert pending.counts == {"left triples": 2}
    assert list(pending.arrays) == ["left_triples", "seeds"]
    np.testing.assert_array_equal(pending.arrays["left_triples"], [[0, 0, 1], [1, 0, 2]])
    assert pending.arrays["seeds"].shape == (0, 2)
    assert pending.new_names["left", "entity"] == ["a", "b", "c"]
    assert pending.new_names["right", "relation"] == []
    assert store.applied("first") is None
    assert list(store.deltas()) == []
    assert store.names("left", "entity") == []


def test_a_commit_applies_the_pending_delta(store: Store) -> None:
    store.journal(FIRST)
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    version = store.commit({"vectors": vectors}, [added(0, 1, 0)], {"seconds": 1.5})
    assert version == store.last_version() == store.applied("first") == 0
    assert store.pending() is None
    assert store.names("left", "entity") == ["a", "b", "c"]
    assert store.names("right", "entity") == ["α"]
    assert [delta.digest for delta in store.deltas()] == ["first"]
    assert store.events() == [added(0, 1, 0)]
    assert store.links() == fold([added(0, 1, 0)])
    np.testing.assert_array_equal(store.arrays(0)["vectors"], vectors)
    assert store.arrays(0)["vectors"].dtype == np.float32
    (facts,) = store.versions()
    assert (facts.number, facts.delta, facts.info) == (0, "first", {"seconds": 1.5})


def test_everything_is_there_after_reopening(store: Store, tmp_path: Path) -> None:
    store.journal(FIRST)
    store.commit({"vectors": np.ones(2)}, [added(0, 1, 0)], {})
    store.journal(SECOND)
    store.commit({"vectors": np.zeros(2)}, [added(1, 2, 1)], {})
    store.close()
    with Store.open(tmp_path / "state", write=False) as reader:
        assert reader.names("left", "entity") == ["a", "b", "c", "d\n", "e\x00"]
        assert [dict(delta.new_names)["left", "entity"] for delta in reader.deltas()] == [
            ["a", "b", "c"],
            ["d\n", "e\x00"],
        ]
        assert reader.arrays(0)["vectors"].tolist() == [1, 1]
        assert reader.arrays(1)["vectors"].tolist() == [0, 0]
        assert list(reader.links(0).links) == [(1, 0)]
        assert list(reader.links(1).links) == [(1, 0), (2, 1)]


def test_a_persons_word_is_a_version_without_a_delta_that_keeps_the_arrays(store: Store) -> None:
    store.journal(FIRST)
    store.commit({"vectors": np.ones(2)}, [added(0, 1, 0), added(0, 2, 1)], {})
    store.commit({}, confirm(store.links(), [(1, 0)], 1), {})
    store.commit({}, reject(store.links(), [(2, 1)], 2), {})
    assert store.arrays(2)["vectors"].tolist() == [1, 1]
    assert [facts.delta for facts in store.versions()] == ["first", None, None]
    assert store.links(1).confirmed == {(1, 0)}
    assert store.links().rejected == {(2, 1)}
    store.journal(SECOND)
    store.commit({"vectors": np.zeros(2)}, [], {})
    assert store.links() == fold(store.events())
    assert store.links(1) == fold([event for event in store.events() if event.version < 2])


def test_events_of_an_entity_of_a_pair_and_since_a_version(store: Store) -> None:
    events = [added(0, 1, 10), added(0, 2, 20)]
    store.commit({}, events, {})
    later = Event(1, Kind.REVISED, 1, 20, 0.9, "replaces", other_left=2, other_right=10)
    store.commit({}, [later], {})
    assert store.events(left=1) == [events[0], later]
    assert store.events(right=20) == [events[1], later]
    assert store.events(left=1, right=10) == [events[0]]
    assert store.events(since=1) == [later]


def test_proposals_are_kept_apart_from_what_the_method_remembers(store: Store) -> None:
    store.journal(FIRST)
    store.commit({"vectors": np.ones(2)}, [], {}, [Link(1, 0, 0.2)])
    store.commit({}, reject(store.links(), [(2, 1)], 1), {})
    store.journal(SECOND)
    store.commit({}, [], {}, [])
    assert store.proposals(0) == store.proposals(1) == [Link(1, 0, 0.2)]
    assert store.proposals(2) == []
    assert list(store.arrays(1)) == ["vectors"]


def test_a_full_pass_is_journaled_as_one(store: Store) -> None:
    store.journal(Delta("full", "full pass", {}, full=True))
    pending = store.pending()
    assert pending is not None
    assert pending.full
    store.commit({}, [], {})
    store.journal(SECOND)
    store.commit({}, [], {})
    assert [delta.full for delta in store.deltas()] == [True, False]


def make_older(directory: Path) -> None:
    """Take out what later formats have added to format 1."""
    names = "side TEXT, sort TEXT CHECK (sort IN ('entity', 'relation')), id INTEGER, text TEXT"
    with closing(sqlite3.connect(directory / "everalign.sqlite")) as connection:
        connection.execute("ALTER TABLE delta DROP COLUMN is_full")
        connection.execute("ALTER TABLE delta DROP COLUMN asks_method")
        connection.execute("ALTER TABLE name RENAME TO later_name")
        connection.execute(
            f"CREATE TABLE name ({names}, delta INTEGER, PRIMARY KEY (side, sort, id)) "
            "WITHOUT ROWID"
        )
        connection.execute("INSERT INTO name SELECT * FROM later_name")
        connection.execute("DROP TABLE later_name")
        connection.commit()
        connection.execute("PRAGMA user_version = 1")


def format_of(directory: Path) -> int:
    with closing(sqlite3.connect(directory / "everalign.sqlite")) as connection:
        number: int = connection.execute("PRAGMA user_version").fetchone()[0]
        return number


def test_a_state_of_format_1_is_read_as_it_is_and_goes_on_as_the_last_one(
    store: Store, tmp_path: Path
) -> None:
    store.journal(FIRST)
    store.commit({"vectors": np.ones(2)}, [added(0, 1, 0)], {})
    store.journal(SECOND)
    store.close()
    make_older(tmp_path / "state")
    with Store.open(tmp_path / "state", write=False) as reader:
        pending = reader.pending()
        assert pending is not None
        assert not pending.full
        assert [delta.full for delta in reader.deltas()] == [False]
        assert reader.proposals(0) == []
        assert list(reader.links().links) == [(1, 0)]
    assert format_of(tmp_path / "state") == 1
    with Store.open(tmp_path / "state", write=True) as writer:
        writer.commit({}, [], {}, [Link(2, 0, 0.1)])
        writer.journal(Delta("full", "full pass", {}, full=True))
        writer.commit({}, [], {})
        assert [delta.full for delta in writer.deltas()] == [False, False, True]
        assert writer.proposals(1) == [Link(2, 0, 0.1)]
    assert format_of(tmp_path / "state") == 3


def test_a_reader_stays_with_the_version_it_opened(store: Store, tmp_path: Path) -> None:
    store.journal(FIRST)
    store.commit({}, [added(0, 1, 0)], {})
    with Store.open(tmp_path / "state", write=False) as reader:
        store.journal(SECOND)
        store.commit({}, [added(1, 2, 1)], {})
        assert reader.last_version() == 0
        assert len(reader.names("left", "entity")) == 3
        assert list(reader.links().links) == [(1, 0)]
        assert [delta.digest for delta in reader.deltas()] == ["first"]
        assert reader.applied("second") is None
        assert reader.events(since=1) == []
    with Store.open(tmp_path / "state", write=False) as reader:
        assert reader.last_version() == 1


def test_a_delta_is_known_by_its_rows_not_by_their_order_number_or_width() -> None:
    rows = np.array([[0, 0, 1], [0, 0, 2], [5, 1, 0]], dtype=np.int32)
    digest = digest_of({"left_triples": rows, "seeds": np.empty((0, 2), np.int32)})
    again = np.concatenate([rows[::-1], rows]).astype(np.int64)
    assert digest == digest_of({"seeds": np.empty((0, 2), np.int64), "left_triples": again})
    assert digest != digest_of({"right_triples": rows, "seeds": np.empty((0, 2), np.int32)})
    assert digest != digest_of({"left_triples": rows[:2], "seeds": np.empty((0, 2), np.int32)})
