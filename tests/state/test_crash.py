"""Killed or interrupted at any moment, the store loses nothing and can continue.

Each test runs the same few updates in a process, ends it somewhere, checks what is left, and lets
another process finish. Run as a program, this file is that process.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest

import everalign.state
from everalign.errors import StateDamagedError, StateError
from everalign.state import Delta, NameKind, Side, StateStore
from everalign.state.ledger import EventKind, LedgerEvent, ScoredPair, replay_events
from everalign.state.method_output import MethodOutput

PACKAGE = str(Path(everalign.state.__file__).parent)
UPDATES = 3


def read_names(store: StateStore, side: Side, kind: NameKind) -> list[str]:
    names = store.open_names(side, kind)
    return names.read_range(0, len(names))


def delta(number: int) -> Delta:
    return Delta(
        digest=f"content {number}",
        source=f"file {number}",
        arrays={"left_triples": np.full((number + 2, 3), number, dtype=np.int32)},
        new_names={("left", "entity"): [f"left {number}"], ("right", "entity"): ["right"]},
        rescore_all=number % 2 == 1,
    )


def proposals(number: int) -> list[ScoredPair]:
    return [ScoredPair(number, entity, 0.2) for entity in range(number)]


def vectors(number: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.full(10, float(number))


def events(number: int) -> list[LedgerEvent]:
    added = LedgerEvent(number, EventKind.ADDED, number, number, 0.5, "mutual best match")
    retracted = LedgerEvent(
        number, EventKind.RETRACTED, number - 1, number - 1, 0.5, "no longer found"
    )
    return [added] if number == 0 else [retracted, added]


def create_or_open(directory: Path) -> StateStore:
    if StateStore.exists(directory):
        return StateStore.open(directory, write=True)
    return StateStore.create(directory, {"method": "evidence"})


def finish_updates(store: StateStore, updates: int = UPDATES) -> None:
    """Bring the store to its last version, from wherever it is."""
    for number in range(updates):
        if store.next_version() <= number:
            apply_update(store, number)


def apply_update(store: StateStore, number: int) -> None:
    if store.pending_delta() is None:
        store.journal_delta(delta(number))
    method = MethodOutput.from_all({"vectors": vectors(number)}, proposals(number))
    store.commit_version(method, events(number), {"number": number})


def run_updates(directory: Path, updates: int = UPDATES) -> None:
    with create_or_open(directory) as store:
        finish_updates(store, updates)


def start_updates(directory: Path, updates: int = UPDATES) -> subprocess.Popen[bytes]:
    """The same in a process of its own."""
    environment = {"PYTHONPATH": ":".join(entry for entry in sys.path if entry)}
    command = [sys.executable, __file__, str(directory), str(updates)]
    return subprocess.Popen(command, env=environment)


def check_store(store: StateStore, directory: Path) -> None:
    """Check that all that is stored is complete, and that there is nothing else."""
    check_versions(store, directory)
    if (pending := store.pending_delta()) is not None:
        assert_same_delta(pending, delta(store.next_version()))


def check_versions(store: StateStore, directory: Path) -> None:
    count = store.next_version()
    past = [event for number in range(count) for event in events(number)]
    assert store.read_settings() == {"method": "evidence"}
    assert [version.info for version in store.list_versions()] == [
        {"number": n} for n in range(count)
    ]
    assert read_names(store, "left", "entity") == [f"left {number}" for number in range(count)]
    assert read_names(store, "right", "entity") == ["right"] * count
    assert store.read_events() == past
    assert store.read_links() == replay_events(past)
    for number, applied in enumerate(store.read_deltas()):
        assert_same_delta(applied, delta(number))
    for number in range(max(0, count - 2), count):
        try:
            assert store.load_method(number)[0]["vectors"].tolist() == vectors(number).tolist()
            assert store.read_proposals(number) == proposals(number)
        except StateDamagedError:
            raise
        except StateError:
            # A writer has made two versions since.
            with StateStore.open(directory, write=False) as newer:
                assert newer.next_version() >= number + 3


def assert_same_delta(stored: Delta, meant: Delta) -> None:
    assert (stored.digest, stored.source, stored.rescore_all) == (
        meant.digest,
        meant.source,
        meant.rescore_all,
    )
    assert {key: names for key, names in stored.new_names.items() if names} == meant.new_names
    assert stored.arrays.keys() == meant.arrays.keys()
    for name, array in meant.arrays.items():
        np.testing.assert_array_equal(stored.arrays[name], array)


def check_and_finish(directory: Path) -> None:
    """Check what a reader and a writer see, and that the remaining updates can be done."""
    if StateStore.exists(directory):
        with StateStore.open(directory, write=False) as reader:
            check_store(reader, directory)
    with create_or_open(directory) as store:
        check_store(store, directory)
        finish_updates(store)
        check_store(store, directory)
        assert store.last_version() == UPDATES - 1
    assert files(directory) == wanted_files()


def files(directory: Path) -> set[str]:
    """All files but SQLite's own, which stay until the inbox is next opened."""
    names = {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
    return names - {"inbox.sqlite-wal", "inbox.sqlite-shm"}


def wanted_files() -> set[str]:
    deltas = {f"deltas/{number:06d}/arrays.bundle" for number in range(UPDATES)}
    # The last version keeps its arrays, and the one before it.
    arrays = {f"versions/{number:06d}/arrays.bundle" for number in (UPDATES - 2, UPDATES - 1)}
    return {"everalign.sqlite", "inbox.sqlite", "lock", *deltas, *arrays}


class Passage(NamedTuple):
    """The store's code about to execute a line, and how the directory looks just then."""

    line: tuple[str, int]
    disk: frozenset[tuple[str, int, int]]


def watch(before_line: Callable[[tuple[str, int]], None], run: Callable[[], None]) -> None:
    """Run something and be called before every line of the store's code."""

    def trace(frame: FrameType, what: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if what == "line":
            before_line((frame.f_code.co_filename, frame.f_lineno))
        return trace

    usual = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(usual)


def passages(directory: Path, run: Callable[[], None]) -> list[Passage]:
    """Every line of the store's code that a run executes, in order."""
    seen: list[Passage] = []
    watch(lambda line: seen.append(Passage(line, disk_state(directory))), run)
    return seen


def disk_changes(seen: list[Passage]) -> list[int]:
    return [n for n in range(1, len(seen)) if seen[n].disk != seen[n - 1].disk]


def disk_state(directory: Path) -> frozenset[tuple[str, int, int]]:
    entries = ((path, path.stat()) for path in directory.rglob("*"))
    return frozenset((str(path), stat.st_size, stat.st_mtime_ns) for path, stat in entries)


def stop_at(count: int, stop: Callable[[], None], run: Callable[[], None]) -> None:
    """Run something until the store's code is about to execute its line number `count`."""
    lines = itertools.count()

    def before_line(_: tuple[str, int]) -> None:
        if next(lines) == count:
            stop()

    watch(before_line, run)


def kill_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt() -> None:
    raise KeyboardInterrupt


def run_until_killed(count: int, directory: Path) -> None:
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            stop_at(count, kill_process, lambda: run_updates(directory))
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.slow
def test_killed_after_every_single_change_to_the_disk(tmp_path: Path) -> None:
    seen = passages(tmp_path / "whole", lambda: run_updates(tmp_path / "whole"))
    check_and_finish(tmp_path / "whole")
    assert len(disk_changes(seen)) > 30
    for count in disk_changes(seen):
        run_until_killed(count, tmp_path / str(count))
        check_and_finish(tmp_path / str(count))


# An interrupt between opening a file and the block that closes it leaves that to Python.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_interrupted_before_any_line_the_same_store_goes_on(tmp_path: Path) -> None:
    with StateStore.create(tmp_path / "begun", {"method": "evidence"}) as store:
        apply_update(store, 0)
    shutil.copytree(tmp_path / "begun", tmp_path / "whole")
    with StateStore.open(tmp_path / "whole", write=True) as store:
        seen = passages(tmp_path / "whole", partial(finish_updates, store))
    last_passages = {passage.line: count for count, passage in enumerate(seen)}
    for count in {*disk_changes(seen), *last_passages.values()}:
        directory = shutil.copytree(tmp_path / "begun", tmp_path / str(count))
        with StateStore.open(directory, write=True) as store:
            with pytest.raises(KeyboardInterrupt):
                stop_at(count, interrupt, partial(finish_updates, store))
            check_store(store, directory)
            finish_updates(store)
            check_store(store, directory)
        # The next writer removes what was to be removed.
        StateStore.open(directory, write=True).close()
        assert files(directory) == wanted_files()


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path: Path) -> None:
    rng = random.Random(7)
    begun = time.perf_counter()
    assert start_updates(tmp_path / "whole").wait() == 0
    duration = time.perf_counter() - begun
    for attempt in range(12):
        with start_updates(tmp_path / str(attempt)) as process:
            time.sleep(duration * rng.uniform(0.5, 1.0))
            process.kill()
        check_and_finish(tmp_path / str(attempt))


def test_readers_see_whole_versions_while_a_writer_is_at_work(tmp_path: Path) -> None:
    with StateStore.create(tmp_path / "state", {"method": "evidence"}) as store:
        apply_update(store, 0)
    versions: set[int | None] = set()
    # More updates than there is time for: the writer is at work for as long as readers look.
    with start_updates(tmp_path / "state", updates=100_000) as writer:
        try:
            while len(versions) < 5:
                assert writer.poll() is None
                with StateStore.open(tmp_path / "state", write=False) as reader:
                    check_versions(reader, tmp_path / "state")
                    versions.add(reader.last_version())
        finally:
            writer.kill()
    assert writer.returncode == -signal.SIGKILL


if __name__ == "__main__":
    run_updates(Path(sys.argv[1]), int(sys.argv[2]))
