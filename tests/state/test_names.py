"""Names in the database: found by text and by id, counted by version, never read back wrong."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from everalign.changeset import ChangeSet, StateBefore, encode_change_set
from everalign.errors import StateDamagedError
from everalign.graph import NameIndex
from everalign.graph.names import FEW_NAMES, LOOKUP_SHARE
from everalign.session import AlignmentSession
from everalign.state import Delta, NameList, StateStore
from everalign.state.facts import SnapshotFacts
from everalign.state.method_output import MethodOutput

MANY = 40_000
# Shared beginnings, as IRIs have, so that texts differ in a few bytes only.
NAMES = [f"http://example.org/resource/entity_{number:05}" for number in range(MANY)]


@pytest.fixture(scope="module")
def large_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph that is one chain of many entities."""
    state = tmp_path_factory.mktemp("names") / "state"
    chain = np.arange(MANY - 1, dtype=np.int32)
    triples = np.stack([chain, np.zeros_like(chain), chain + 1], axis=1)
    arrays = {"left_added_triples": triples, "right_added_triples": triples[:1]}
    names: dict[NameList, list[str]] = {
        ("left", "entity"): NAMES,
        ("left", "relation"): ["next"],
        ("right", "entity"): ["a", "b"],
        ("right", "relation"): ["next"],
    }
    with StateStore.create(state, {}) as store:
        store.journal_delta(Delta("first", "", arrays, names))
        store.commit_version(MethodOutput(), [], {})
    return state


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StateStore]:
    with StateStore.create(tmp_path / "state", {}) as store:
        yield store


def add_names(store: StateStore, *names: str) -> None:
    store.journal_delta(Delta("", "", {}, {("left", "entity"): names}))
    store.commit_version(MethodOutput(), [], {})


def test_names_are_found_by_text_and_by_id(large_state: Path) -> None:
    with StateStore.open(large_state, write=False) as store:
        names = store.open_names("left", "entity")
        ids = random.Random(0).sample(range(MANY), 1200)
        assert names.read_names(ids) == {number: NAMES[number] for number in ids}
        wanted = [NAMES[number] for number in ids]
        assert names.find_ids([*wanted, "unknown", ""]) == dict(zip(wanted, ids, strict=True))
        assert names.read_range(MANY - 2, MANY) == NAMES[-2:]
        # The same text on the other side, or as another kind, is another name.
        assert store.open_names("right", "entity").find_ids(["a", *wanted]) == {"a": 0}
        assert store.open_names("left", "literal").find_ids(wanted) == {}


def test_unusual_names_are_found_again(store: StateStore) -> None:
    unusual = ["", " ", "a\x00b", "a", "Ä", "A\u0308", '"two\nlines"@en', "🌍" * 3000]
    add_names(store, *unusual)
    names = store.open_names("left", "entity")
    assert names.read_range(0, len(unusual)) == unusual
    assert names.find_ids(unusual) == {name: number for number, name in enumerate(unusual)}
    # Half of a surrogate pair can be asked for, and cannot be stored.
    assert names.find_ids(["\ud83c"]) == {}


def test_names_are_counted_by_version(store: StateStore) -> None:
    assert len(store.open_names("left", "entity")) == 0
    add_names(store, "a", "b")
    store.commit_version(MethodOutput(), [], {})  # without a delta
    add_names(store)
    add_names(store, "c")
    store.journal_delta(Delta("", "", {}, {("left", "entity"): ["pending"]}))
    counts = [store.count_names("left", "entity", version) for version in range(4)]
    assert counts == [2, 2, 2, 3]
    assert store.count_names("right", "entity", 3) == 0
    names = store.open_names("left", "entity")
    assert (len(names), names.find_ids(["c", "pending"])) == (3, {"c": 2})


def test_a_flipped_bit_never_leads_to_a_wrong_name(store: StateStore, tmp_path: Path) -> None:
    names = NAMES[:60]
    add_names(store, *names)
    add_names(store, *NAMES[60:70])
    store.close()
    file = tmp_path / "state" / "everalign.sqlite"
    intact = file.read_bytes()
    rng = random.Random(0)
    damaged = 0
    for _ in range(400):
        content = bytearray(intact)
        # Where no text is, bytes are mostly unused.
        text = rng.choice(NAMES[:70]).encode()
        position = intact.index(text) + rng.randrange(-20, len(text))
        content[position] ^= 1 << rng.randrange(8)
        file.write_bytes(content)
        try:
            with StateStore.open(tmp_path / "state", write=False) as reader:
                stored = reader.open_names("left", "entity")
                found = stored.find_ids(NAMES[:70])
                assert all(NAMES[number] == name for name, number in found.items())
                assert stored.read_names(range(70)) == dict(enumerate(NAMES[:70]))
                assert stored.read_range(0, 70) == NAMES[:70]
        except StateDamagedError:
            damaged += 1
    assert damaged > 200


def test_a_missing_name_is_noticed(store: StateStore) -> None:
    add_names(store, "a", "b", "c")
    with pytest.raises(
        StateDamagedError, match=r"everalign\.sqlite is damaged: names are missing"
    ):
        store.open_names("left", "entity").read_names([2, 3])


def test_a_few_names_are_looked_up_and_many_are_loaded_once(large_state: Path) -> None:
    class CountingSource:
        """Counts the names that are read."""

        def __init__(self, store: StateStore) -> None:
            self.names = store.open_names("left", "entity")
            self.read_count = 0

        def __len__(self) -> int:
            return len(self.names)

        def find_ids(self, names: Sequence[str]) -> dict[str, int]:
            self.read_count += len(names)
            return self.names.find_ids(names)

        def read_names(self, ids: Sequence[int]) -> dict[int, str]:
            self.read_count += len(ids)
            return self.names.read_names(ids)

        def read_range(self, start: int, stop: int) -> list[str]:
            self.read_count += stop - start
            return self.names.read_range(start, stop)

    with StateStore.open(large_state, write=False) as store:
        source = CountingSource(store)
        names = NameIndex(stored=source)
        assert names.get_or_add_ids([NAMES[7], "new", NAMES[7], "new"]).tolist() == [7, MANY] * 2
        assert (names[8], names[-1], names[MANY - 1 :]) == (NAMES[8], "new", [NAMES[-1], "new"])
        assert names.list_names_after(MANY) == ["new"]
        assert source.read_count <= 5
        assert FEW_NAMES < MANY
        half = NAMES[: MANY // 2]
        assert names.find_ids(half).tolist() == list(range(MANY // 2))
        assert [names.find(name) for name in half] == list(range(MANY // 2))
        assert list(names) == [*NAMES, "new"]
        assert source.read_count <= MANY * (1 + 1 / LOOKUP_SHARE) + 5


def test_a_small_change_does_not_load_the_names(large_state: Path) -> None:
    with AlignmentSession.open(large_state, write=True) as session:
        snapshot = session.snapshot
        before_change = StateBefore(SnapshotFacts(snapshot), snapshot.decisions)
        change = ChangeSet(
            added_left=[(NAMES[5], "next", "new")],
            removed_left=[(NAMES[8], "next", NAMES[9])],
            seeds=[(NAMES[70], "a")],
        )
        tracemalloc.start()
        try:
            vocabularies = session.vocabularies
            before, _ = tracemalloc.get_traced_memory()
            delta = encode_change_set(change, vocabularies, before_change)
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert delta.arrays["left_added_triples"].tolist() == [[5, 0, MANY]]
    assert delta.arrays["left_removed_triples"].tolist() == [[8, 0, 9]]
    assert delta.arrays["seeds"].tolist() == [[70, 0]]
    assert delta.new_names["left", "entity"] == ["new"]
    # All names in memory would be more than 100 bytes each; numpy imports some of its modules.
    assert after - before < 50 * MANY
