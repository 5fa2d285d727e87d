"""What the store refuses to do, and its messages."""

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
from everalign.state import Delta, StateStore
from everalign.state.ledger import EventKind, LedgerEvent, ScoredPair
from everalign.state.method_output import MethodOutput

DELTA = Delta(
    "first",
    "left.ttl",
    {"left_triples": np.arange(300).reshape(-1, 3)},
    {("left", "entity"): ["a", "b"]},
)
HOLDER = """
import sys
from everalign.state import StateStore
with StateStore.open(sys.argv[1], write=True):
    sys.stdout.write("ready")
    sys.stdout.flush()
    sys.stdin.read()
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with StateStore.create(tmp_path / "state", {}) as store:
        store.journal_delta(DELTA)
        store.commit_version(
            MethodOutput.from_all({"vectors": np.ones(100)}, [ScoredPair(1, 10, 0.2)]), [], {}
        )
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
            StateStore.open(state, write=True)
        with StateStore.open(state, write=False) as reader:
            assert reader.last_version() == 0


def test_a_killed_writer_leaves_no_lock(state: Path) -> None:
    with another_writer(state) as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert str(holder.pid) in (state / "lock").read_text()
        with StateStore.open(state, write=True) as store:
            assert store.last_version() == 0


def test_a_process_cannot_open_a_store_for_writing_twice(state: Path) -> None:
    with StateStore.open(state, write=True), pytest.raises(StateLockedError):
        StateStore.open(state, write=True)


def test_a_lock_is_respected_before_its_holder_has_written_who_it_is(state: Path) -> None:
    with StateStore.open(state, write=True):
        (state / "lock").write_text("")
        with pytest.raises(StateLockedError, match="state is in use by another process"):
            StateStore.open(state, write=True)


@pytest.mark.parametrize("write", [True, False])
def test_another_format_is_refused_and_nothing_is_changed(state: Path, write: bool) -> None:
    (state / "deltas" / "000001").mkdir()
    with closing(sqlite3.connect(state / "everalign.sqlite")) as connection:
        connection.execute("PRAGMA user_version = 2")
    message = r"another version of EverAlign \(format 2, expected 1\)"
    with pytest.raises(StateFormatError, match=message):
        StateStore.open(state, write=write)
    assert (state / "deltas" / "000001").exists()


@pytest.mark.parametrize("write", [True, False])
def test_a_directory_that_is_no_state_directory_is_refused_and_not_changed(
    tmp_path: Path, write: bool
) -> None:
    for directory in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(StateError, match="is not an EverAlign state directory"):
            StateStore.open(directory, write=write)
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "everalign.sqlite")) as connection:
        connection.execute("CREATE TABLE other (thing)")
    with pytest.raises(StateError, match="is not an EverAlign state directory"):
        StateStore.open(tmp_path, write=False)


def test_no_state_directory_is_created_over_another_or_among_other_files(state: Path) -> None:
    with pytest.raises(StateError, match="state is already an EverAlign state directory"):
        StateStore.create(state, {})
    (state / "everalign.sqlite").unlink()
    with pytest.raises(StateError, match="state is not empty: it contains 000000"):
        StateStore.create(state, {})
    (state.parent / "notes").mkdir()
    (state.parent / "notes" / "shopping.txt").touch()
    with pytest.raises(StateError, match=r"notes is not empty: it contains shopping\.txt"):
        StateStore.create(state.parent / "notes", {})
    assert [file.name for file in (state.parent / "notes").iterdir()] == ["shopping.txt"]


def flip_a_byte(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[20] ^= 1  # of the table of contents
    file.write_bytes(content)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-80])


@pytest.mark.parametrize("damage", [flip_a_byte, truncate, Path.unlink])
def test_damaged_files_are_named(state: Path, damage: Callable[[Path], None]) -> None:
    for file in state.rglob("arrays.bundle"):
        damage(file)
    with StateStore.open(state, write=False) as store:
        with pytest.raises(StateDamagedError, match=r"deltas/000000/arrays\.bundle"):
            next(store.read_deltas()).arrays["left_triples"]
        with pytest.raises(StateDamagedError, match=r"versions/000000/arrays\.bundle"):
            store.load_method(0)[0]["vectors"]
        with pytest.raises(StateDamagedError, match=r"versions/000000/arrays\.bundle"):
            store.read_proposals(0)


def test_a_damaged_database_is_named(state: Path) -> None:
    (state / "everalign.sqlite").write_bytes(b"not a database " * 1000)
    with pytest.raises(StateDamagedError, match=r"everalign\.sqlite is damaged"):
        StateStore.open(state, write=True)


def test_one_pending_delta_at_a_time(state: Path) -> None:
    with StateStore.open(state, write=True) as store:
        store.journal_delta(Delta("second", "more.ttl", {}))
        with pytest.raises(StateError, match="another delta that is not yet applied"):
            store.journal_delta(Delta("third", "more.ttl", {}))


def test_a_reader_writes_nothing(state: Path) -> None:
    with StateStore.open(state, write=False) as reader:
        with pytest.raises(StateError, match="open for reading only"):
            reader.journal_delta(Delta("second", "more.ttl", {}))
        with pytest.raises(StateError, match="open for reading only"):
            reader.commit_version(MethodOutput(), [], {})


@pytest.mark.parametrize("version", [-1, 1])
def test_an_unknown_version_is_refused(state: Path, version: int) -> None:
    with StateStore.open(state, write=False) as store:
        with pytest.raises(StateError, match=f"has no version {version}"):
            store.read_proposals(version)
        with pytest.raises(StateError, match=f"has no version {version}"):
            store.read_links(version)


@pytest.mark.parametrize(
    "event",
    [
        LedgerEvent(1, EventKind.ADDED, np.int64(3), 4, 0.5, ""),  # type: ignore[arg-type]
        LedgerEvent(1, EventKind.ADDED, 3, 4, float("nan"), ""),
    ],
)
def test_events_that_could_not_be_read_back_are_refused(state: Path, event: LedgerEvent) -> None:
    with StateStore.open(state, write=True) as store:
        with pytest.raises(sqlite3.IntegrityError):
            store.commit_version(MethodOutput(), [event], {})
        assert store.last_version() == 0


def test_events_of_another_version_are_refused(state: Path) -> None:
    with StateStore.open(state, write=True) as store, pytest.raises(ValueError, match="version 1"):
        store.commit_version(MethodOutput(), [LedgerEvent(0, EventKind.ADDED, 3, 4, 0.5, "")], {})


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("version", "number"),
        ("delta", "version"),
        ("name", "hash"),
        ("name_count", "count"),
        ("event", "version"),
    ],
)
@pytest.mark.parametrize("change", ["DELETE FROM {table}", "UPDATE {table} SET {column} = 7"])
def test_rows_cannot_be_changed_by_hand(state: Path, table: str, column: str, change: str) -> None:
    with StateStore.open(state, write=True) as store:
        store.commit_version(MethodOutput(), [LedgerEvent(1, EventKind.ADDED, 3, 4, 0.5, "")], {})
    with (
        closing(sqlite3.connect(state / "everalign.sqlite")) as connection,
        pytest.raises(sqlite3.IntegrityError, match=f"rows of table {table} cannot be changed"),
    ):
        connection.execute(change.format(table=table, column=column))


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
    with StateStore.open(state, write=True) as store:
        store.journal_delta(Delta("second", "more.ttl", {}))
        with files_no_larger_than(size), pytest.raises(StateError, match="cannot be"):
            store.commit_version(MethodOutput.from_all({"vectors": large}, []), [], {})
        events = [
            LedgerEvent(1, EventKind.ADDED, entity, entity, 0.5, "") for entity in range(1000)
        ]
        with files_no_larger_than(size), pytest.raises(StateError, match="cannot be"):
            store.commit_version(MethodOutput(), events, {})
        assert store.last_version() == 0
        assert store.load_method(0)[0]["vectors"].tolist() == [1] * 100
        store.commit_version(MethodOutput.from_all({"vectors": large}, []), events, {})
        assert [delta.digest for delta in store.read_deltas()][1:] == ["second"]
        np.testing.assert_array_equal(store.load_method(1)[0]["vectors"], large)
        assert store.read_events() == events
