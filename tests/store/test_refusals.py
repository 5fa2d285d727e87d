"""What the store refuses to do, and how it says so."""

from __future__ import annotations

import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from everalign.errors import (
    StateDamagedError,
    StateError,
    StateFormatError,
    StateLockedError,
)
from everalign.ledger import Event, Kind, Link
from everalign.store import Delta, Store

DELTA = Delta("first", "left.ttl", {"left_triples": np.arange(300).reshape(-1, 3)})
HOLDER = """
import sys
from everalign.store import Store
with Store.open(sys.argv[1], write=True):
    sys.stdout.write("ready")
    sys.stdout.flush()
    sys.stdin.read()
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with Store.create(tmp_path / "state", {}) as store:
        store.journal(DELTA)
        store.commit({"vectors": np.ones(100)}, [], {}, [Link(1, 10, 0.2)])
    return tmp_path / "state"


@contextmanager
def another_writer(state: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", HOLDER, str(state)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env={"PYTHONPATH": path()}) as holder:
        assert holder.stdout is not None
        assert holder.stdout.read(5) == b"ready"
        yield holder
        holder.kill()


def path() -> str:
    return ":".join(entry for entry in sys.path if entry)


def test_a_second_writer_is_told_who_the_first_is(state: Path) -> None:
    with another_writer(state) as holder:
        message = rf"state is in use by process {holder.pid} \(-c .*, since \d{{4}}-.*\)$"
        with pytest.raises(StateLockedError, match=message):
            Store.open(state, write=True)
        with Store.open(state, write=False) as reader:
            assert reader.last_version() == 0


def test_a_killed_writer_is_no_obstacle(state: Path) -> None:
    with another_writer(state) as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert str(holder.pid) in (state / "lock").read_text()
        with Store.open(state, write=True) as store:
            assert store.last_version() == 0


def test_one_process_is_one_writer_too(state: Path) -> None:
    with Store.open(state, write=True), pytest.raises(StateLockedError):
        Store.open(state, write=True)


def test_a_lock_whose_holder_has_not_yet_signed_is_respected(state: Path) -> None:
    with Store.open(state, write=True):
        (state / "lock").write_text("")
        with pytest.raises(StateLockedError, match="state is in use by another process"):
            Store.open(state, write=True)


@pytest.mark.parametrize("write", [True, False])
def test_a_newer_format_is_left_alone(state: Path, write: bool) -> None:
    (state / "deltas" / "000001").mkdir()
    with closing(sqlite3.connect(state / "everalign.sqlite")) as connection:
        connection.execute("PRAGMA user_version = 4")
    message = r"newer EverAlign \(format 4; this one reads up to 3\)"
    with pytest.raises(StateFormatError, match=message):
        Store.open(state, write=write)
    assert (state / "deltas" / "000001").exists()


@pytest.mark.parametrize("write", [True, False])
def test_a_directory_that_is_no_state_is_left_alone(tmp_path: Path, write: bool) -> None:
    for directory in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(StateError, match="is not an EverAlign state directory"):
            Store.open(directory, write=write)
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_another_program_is_no_state(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "everalign.sqlite")) as connection:
        connection.execute("CREATE TABLE other (thing)")
    with pytest.raises(StateError, match="is not an EverAlign state directory"):
        Store.open(tmp_path, write=False)


def test_no_state_is_made_over_another_or_among_other_files(state: Path) -> None:
    with pytest.raises(StateError, match="state is an EverAlign state directory already"):
        Store.create(state, {})
    (state / "everalign.sqlite").unlink()
    with pytest.raises(StateError, match="state holds other files, such as 000000"):
        Store.create(state, {})
    (state.parent / "notes").mkdir()
    (state.parent / "notes" / "shopping.txt").touch()
    with pytest.raises(StateError, match=r"notes holds other files, such as shopping\.txt"):
        Store.create(state.parent / "notes", {})
    assert [file.name for file in (state.parent / "notes").iterdir()] == ["shopping.txt"]


def flip_a_byte(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-8])


@pytest.mark.parametrize("damage", [flip_a_byte, truncate, Path.unlink])
def test_damaged_files_are_named(state: Path, damage: Callable[[Path], None]) -> None:
    for file in state.rglob("*.npy"):
        damage(file)
    with Store.open(state, write=False) as store:
        with pytest.raises(StateDamagedError, match=r"deltas/000000/left_triples\.npy"):
            next(store.deltas()).arrays["left_triples"]
        with pytest.raises(StateDamagedError, match=r"versions/000000/vectors\.npy"):
            store.arrays(0)
        with pytest.raises(StateDamagedError, match=r"versions/000000/everalign-proposals\.npy"):
            store.proposals(0)
        with pytest.raises(StateDamagedError, match=r"views/000000/(links|rejected)\.npy"):
            store.links()


def test_a_damaged_database_is_named(state: Path) -> None:
    (state / "everalign.sqlite").write_bytes(b"not a database " * 1000)
    with pytest.raises(StateDamagedError, match=r"everalign\.sqlite is damaged"):
        Store.open(state, write=True)


def test_one_pending_delta_at_a_time(state: Path) -> None:
    with Store.open(state, write=True) as store:
        store.journal(Delta("second", "more.ttl", {}))
        with pytest.raises(StateError, match="another delta that is not yet applied"):
            store.journal(Delta("third", "more.ttl", {}))


def test_what_was_applied_is_not_journaled_again(state: Path) -> None:
    with (
        Store.open(state, write=True) as store,
        pytest.raises(StateError, match=r"left\.ttl was applied before, by version 0"),
    ):
        store.journal(DELTA)


def test_a_reader_writes_nothing(state: Path) -> None:
    with Store.open(state, write=False) as reader:
        with pytest.raises(StateError, match="open for reading only"):
            reader.journal(Delta("second", "more.ttl", {}))
        with pytest.raises(StateError, match="open for reading only"):
            reader.commit({}, [], {})


@pytest.mark.parametrize("version", [-1, 1])
def test_a_version_that_is_not_there(state: Path, version: int) -> None:
    with Store.open(state, write=False) as store:
        with pytest.raises(StateError, match=f"has no version {version}"):
            store.arrays(version)
        with pytest.raises(StateError, match=f"has no version {version}"):
            store.proposals(version)
        with pytest.raises(StateError, match=f"has no version {version}"):
            store.links(version)


@pytest.mark.parametrize("name", ["", "../vectors", ".hidden", "a b", "everalign-proposals"])
def test_array_names_that_are_no_file_names(state: Path, name: str) -> None:
    with Store.open(state, write=True) as store, pytest.raises(ValueError, match="be called"):
        store.commit({name: np.ones(1)}, [], {})


@pytest.mark.parametrize(
    "event",
    [
        Event(1, Kind.ADDED, np.int64(3), 4, 0.5, ""),  # type: ignore[arg-type]
        Event(1, Kind.ADDED, 3, 4, float("nan"), ""),
    ],
)
def test_events_that_could_not_be_read_back_do_not_get_in(state: Path, event: Event) -> None:
    with Store.open(state, write=True) as store:
        with pytest.raises(sqlite3.IntegrityError):
            store.commit({}, [event], {})
        assert store.last_version() == 0


def test_events_of_another_version_do_not_get_in(state: Path) -> None:
    with Store.open(state, write=True) as store, pytest.raises(ValueError, match="version 1"):
        store.commit({}, [Event(0, Kind.ADDED, 3, 4, 0.5, "")], {})


@pytest.mark.parametrize("table", ["version", "delta", "event"])
@pytest.mark.parametrize("change", ["DELETE FROM {}", "UPDATE {} SET version = 7"])
def test_not_even_by_hand(state: Path, table: str, change: str) -> None:
    with Store.open(state, write=True) as store:
        store.commit({}, [Event(1, Kind.ADDED, 3, 4, 0.5, "")], {})
    by_hand = change.format(table).replace("version SET version", "version SET number")
    with (
        closing(sqlite3.connect(state / "everalign.sqlite")) as connection,
        pytest.raises(sqlite3.IntegrityError, match=f"rows of {table} are kept"),
    ):
        connection.execute(by_hand)


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


@pytest.mark.parametrize("size", [100_000, 10_000])
def test_a_full_disk_loses_nothing_and_the_store_goes_on(state: Path, size: int) -> None:
    large = np.arange(100_000.0)
    with Store.open(state, write=True) as store:
        store.journal(Delta("second", "more.ttl", {}))
        with files_no_larger_than(size), pytest.raises(StateError, match="cannot be"):
            store.commit({"vectors": large}, [], {})
        events = [Event(1, Kind.ADDED, entity, entity, 0.5, "") for entity in range(1000)]
        with files_no_larger_than(size), pytest.raises(StateError, match="cannot be"):
            store.commit({}, events, {})
        assert store.last_version() == 0
        assert store.arrays(0)["vectors"].tolist() == [1] * 100
        store.commit({"vectors": large}, events, {})
        assert store.applied("second") == 1
        np.testing.assert_array_equal(store.arrays(1)["vectors"], large)
        assert store.events() == events
