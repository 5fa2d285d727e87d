"""After a power cut at any system call, nothing acknowledged is lost, and commands can go on."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import crash_simulation
from disk_model import (
    ROOT,
    DiskState,
    Harshness,
    NameChange,
    Operation,
    Resize,
    Sync,
    Write,
    choose_content,
    list_acknowledged,
    simulate_cut,
    write_state,
)
from disk_trace import can_trace, record_program
from everalign.methods import METHODS
from everalign.state import StateStore

needs_tracer = pytest.mark.skipif(
    not can_trace(), reason="strace is not there or may not trace (apt-get install strace)"
)
PROGRAM = """
import os, sys
from pathlib import Path
directory, acknowledged = map(Path, sys.argv[1:])
(directory / "new").mkdir()
with (directory / "new" / "first").open("wb", buffering=0) as file:
    file.write(b"xb")
    file.write(b"cd")
    os.pwrite(file.fileno(), b"a", 0)
    os.fsync(file.fileno())
acknowledged.write_text("done")
(directory / "new" / "first").rename(directory / "new" / "second")
folder = os.open(directory / "new", os.O_RDONLY)
os.fsync(folder)
os.unlink("old", dir_fd=os.open(directory, os.O_RDONLY))
"""
CREATION = """
import sys
from pathlib import Path
from everalign.state import StateStore
from everalign.state.backup import copy_state
directory = Path(sys.argv[1])
StateStore.create(directory / "new" / "newer" / "state", {}).close()
copy_state(directory / "new" / "newer" / "state", directory / "copies" / "first" / "backup")
"""
GENTLE, HARSH = Harshness(512, False, False), Harshness(512, True, True)


@pytest.fixture(autouse=True)
def _forget_method() -> Iterator[None]:
    yield
    METHODS.pop("same-id", None)


@needs_tracer
@pytest.mark.slow
def test_nothing_acknowledged_is_lost() -> None:
    result = crash_simulation.simulate_crashes(40, seed=1)
    assert result.failures == []
    assert (result.states, result.recordings) == (40, 2)


@needs_tracer
@pytest.mark.slow
def test_a_forgotten_sync_is_found() -> None:
    crash_simulation.register_series_method()
    with crash_simulation.make_directory() as directory:
        recording = crash_simulation.record_series(directory, [], None)
    directories = _list_directories(recording.operations)
    forgetful = recording._replace(
        operations=[
            op
            for op in recording.operations
            if not (isinstance(op, Sync) and op.node in directories)
        ]
    )
    found = [failure for *_, failure in crash_simulation.check_states(forgetful, range(20), 0)]
    assert any(found)


@needs_tracer
def test_system_calls_are_recorded_with_what_they_write(tmp_path: Path) -> None:
    directory, acknowledged = tmp_path / "files", tmp_path / "acknowledged"
    directory.mkdir()
    (directory / "old").write_bytes(b"old")
    operations, first = record_program(
        [sys.executable, "-c", PROGRAM, str(directory), str(acknowledged)], directory, acknowledged
    )
    assert list_acknowledged(operations) == ["done"]
    assert operations[:first][-2:] == [Sync(ROOT), Sync(1)]
    # The names "new" and "old" are the ones that are not forced to the disk.
    kept = {
        _list_files(simulate_cut(operations, HARSH, random.Random(seed)), tmp_path / str(seed))
        for seed in range(40)
    }
    second = ("new/second", b"abcd")
    old = ("old", b"old")
    assert kept == {(second, old), (second,), (old,), ()}


@needs_tracer
def test_parents_of_a_new_state_and_of_a_backup_are_there(tmp_path: Path) -> None:
    directory = tmp_path / "files"
    directory.mkdir()
    operations, _ = record_program(
        [sys.executable, "-c", CREATION, str(directory)], directory, tmp_path / "acknowledged"
    )
    for seed in range(20):
        left = tmp_path / str(seed)
        left.mkdir()
        rng = random.Random(seed)
        write_state(simulate_cut(operations, HARSH, rng), left, rng, garbage=True)
        for state in (left / "new" / "newer" / "state", left / "copies" / "first" / "backup"):
            StateStore.open(state, write=False).close()


def test_sectors_are_kept_or_lost_one_by_one() -> None:
    old, new = b"o" * 1024, b"n" * 1024
    found = {
        choose_content([Write(1, 0, old)], [Write(1, 0, new)], GENTLE, random.Random(seed))
        for seed in range(100)
    }
    assert found == {left * 512 + right * 512 for left in (b"o", b"n") for right in (b"o", b"n")}


def test_what_was_cut_off_does_not_come_back() -> None:
    pending: list[Write | Resize] = [Resize(1, 0), Write(1, 512, b"n" * 512)]
    found = {
        choose_content([Write(1, 0, b"o" * 1024)], pending, GENTLE, random.Random(seed))
        for seed in range(100)
    }
    zeros = bytes(512)
    assert found == {b"o" * 1024, b"", zeros + b"n" * 512, zeros + zeros}


def test_names_of_a_directory_are_kept_in_order_unless_they_may_be_reordered() -> None:
    operations: list[Operation] = [
        op
        for node, name in enumerate(["first", "second"], start=1)
        for op in (Resize(node, 0), NameChange(((ROOT, name, node),)))
    ]
    for harshness, wanted in [
        (GENTLE, [[], ["first"], ["first", "second"]]),
        (HARSH, [[], ["first"], ["first", "second"], ["second"]]),
    ]:
        states = (simulate_cut(operations, harshness, random.Random(seed)) for seed in range(100))
        assert sorted({tuple(state.names[ROOT]) for state in states}) == list(map(tuple, wanted))


def test_what_was_synced_is_there() -> None:
    operations: list[Operation] = [
        Resize(1, 0),
        NameChange(((ROOT, "file", 1),)),
        Write(1, 0, b"content"),
        Sync(1),
        Sync(ROOT),
        NameChange(((ROOT, "file", None), (ROOT, "renamed", 1))),
    ]
    for seed in range(50):
        state = simulate_cut(operations, HARSH, random.Random(seed))
        assert [*state.names[ROOT]] in (["file"], ["renamed"])
        assert state.contents == {1: b"content"}


def _list_directories(operations: list[Operation]) -> set[int]:
    nodes = {node for op in operations if isinstance(op, NameChange) for *_, node in op.entries}
    files = {op.node for op in operations if isinstance(op, Write | Resize)}
    return {ROOT} | {node for node in nodes if node is not None} - files


def _list_files(state: DiskState, directory: Path) -> tuple[tuple[str, bytes], ...]:
    directory.mkdir()
    write_state(state, directory, random.Random(0), garbage=False)
    return tuple(
        (path.relative_to(directory).as_posix(), path.read_bytes())
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    )
