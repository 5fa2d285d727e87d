"""Killed or interrupted at any instant, the store loses nothing and goes on.

Each test lets a process run the same short life of a store, ends it somewhere, looks at what
is left, and lets another process finish. Run as a program, this file is that process.
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

import everalign.store
from everalign.ledger import Event, Kind, Link, fold
from everalign.store import Delta, Store

ROOM = str(Path(everalign.store.__file__).parent)
UPDATES = 2


def delta(number: int) -> Delta:
    return Delta(
        digest=f"content {number}",
        source=f"file {number}",
        arrays={"left_triples": np.full((number + 2, 3), number, dtype=np.int32)},
        new_names={("left", "entity"): [f"left {number}"], ("right", "entity"): ["right"]},
        full=number % 2 == 1,
    )


def proposals(number: int) -> list[Link]:
    return [Link(number, entity, 0.2) for entity in range(number)]


def vectors(number: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.full(10, float(number))


def events(number: int) -> list[Event]:
    came = Event(number, Kind.ADDED, number, number, 0.5, "mutual best match")
    gone = Event(number, Kind.RETRACTED, number - 1, number - 1, 0.5, "no longer found")
    return [came] if number == 0 else [gone, came]


def create_or_open(directory: Path) -> Store:
    if Store.exists(directory):
        return Store.open(directory, write=True)
    return Store.create(directory, {"method": "evidence"})


def finish(store: Store, updates: int = UPDATES) -> None:
    """Bring the store to its last version, from wherever it is."""
    for number in range(updates):
        if store.applied(f"content {number}") is None:
            update(store, number)


def update(store: Store, number: int) -> None:
    if store.pending() is None:
        store.journal(delta(number))
    arrays = {"vectors": vectors(number)}
    store.commit(arrays, events(number), {"number": number}, proposals(number))


def live(directory: Path, updates: int = UPDATES) -> None:
    with create_or_open(directory) as store:
        finish(store, updates)


def live_elsewhere(directory: Path, updates: int = UPDATES) -> subprocess.Popen[bytes]:
    """The same in a process of its own."""
    environment = {"PYTHONPATH": ":".join(entry for entry in sys.path if entry)}
    command = [sys.executable, __file__, str(directory), str(updates)]
    return subprocess.Popen(command, env=environment)


def check(store: Store) -> None:
    """Whatever is there is whole, and there is nothing else."""
    check_versions(store)
    if (pending := store.pending()) is not None:
        same_delta(pending, delta(store.next_version()))


def check_versions(store: Store) -> None:
    count = store.next_version()
    past = [event for number in range(count) for event in events(number)]
    assert store.settings() == {"method": "evidence"}
    assert [version.info for version in store.versions()] == [{"number": n} for n in range(count)]
    assert store.names("left", "entity") == [f"left {number}" for number in range(count)]
    assert store.names("right", "entity") == ["right"] * count
    assert store.events() == past
    assert store.links() == fold(past)
    for number, applied in enumerate(store.deltas()):
        same_delta(applied, delta(number))
        assert store.applied(applied.digest) == number
        assert store.arrays(number)["vectors"].tolist() == vectors(number).tolist()
        assert store.proposals(number) == proposals(number)


def same_delta(stored: Delta, meant: Delta) -> None:
    assert (stored.digest, stored.source, stored.full) == (meant.digest, meant.source, meant.full)
    assert {roll: names for roll, names in stored.new_names.items() if names} == meant.new_names
    assert stored.arrays.keys() == meant.arrays.keys()
    for name, array in meant.arrays.items():
        np.testing.assert_array_equal(stored.arrays[name], array)


def check_and_finish(directory: Path) -> None:
    """What a reader sees is whole, what a writer finds is whole, and the rest can be done."""
    if Store.exists(directory):
        with Store.open(directory, write=False) as reader:
            check(reader)
    with create_or_open(directory) as store:
        check(store)
        finish(store)
        check(store)
        assert store.last_version() == UPDATES - 1
    assert files(directory) == wanted_files()


def files(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def wanted_files() -> set[str]:
    kinds = ["deltas/{}/left_triples", "versions/{}/vectors"]
    kinds += ["versions/{}/everalign-proposals"]
    kinds += ["views/{}/links", "views/{}/rejected"]
    arrays = {f"{kind.format(f'{n:06d}')}.npy" for kind in kinds for n in range(UPDATES)}
    return {"everalign.sqlite", "lock", *arrays}


class Passage(NamedTuple):
    """The store's code about to execute a line, and how the directory looks just then."""

    line: tuple[str, int]
    disk: frozenset[tuple[str, int, int]]


def watch(before_line: Callable[[tuple[str, int]], None], run: Callable[[], None]) -> None:
    """Run something and be called before every line of the store's code."""

    def trace(frame: FrameType, what: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(ROOM):
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
    watch(lambda line: seen.append(Passage(line, look_of(directory))), run)
    return seen


def disk_changes(seen: list[Passage]) -> list[int]:
    return [n for n in range(1, len(seen)) if seen[n].disk != seen[n - 1].disk]


def look_of(directory: Path) -> frozenset[tuple[str, int, int]]:
    looks = ((path, path.stat()) for path in directory.rglob("*"))
    return frozenset((str(path), look.st_size, look.st_mtime_ns) for path, look in looks)


def stop_at(count: int, stop: Callable[[], None], run: Callable[[], None]) -> None:
    """Run something until the store's code is about to execute its line number `count`."""
    lines = itertools.count()

    def before_line(_: tuple[str, int]) -> None:
        if next(lines) == count:
            stop()

    watch(before_line, run)


def kill_myself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt() -> None:
    raise KeyboardInterrupt


def live_until_killed(count: int, directory: Path) -> None:
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            stop_at(count, kill_myself, lambda: live(directory))
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_killed_after_every_single_change_to_the_disk(tmp_path: Path) -> None:
    seen = passages(tmp_path / "whole", lambda: live(tmp_path / "whole"))
    check_and_finish(tmp_path / "whole")
    assert len(disk_changes(seen)) > 30
    for count in disk_changes(seen):
        live_until_killed(count, tmp_path / str(count))
        check_and_finish(tmp_path / str(count))


# An interrupt between opening a file and the block that closes it leaves that to Python.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_interrupted_before_any_line_the_same_store_goes_on(tmp_path: Path) -> None:
    with Store.create(tmp_path / "begun", {"method": "evidence"}) as store:
        update(store, 0)
    shutil.copytree(tmp_path / "begun", tmp_path / "whole")
    with Store.open(tmp_path / "whole", write=True) as store:
        seen = passages(tmp_path / "whole", partial(finish, store))
    last_passages = {passage.line: count for count, passage in enumerate(seen)}
    for count in {*disk_changes(seen), *last_passages.values()}:
        directory = shutil.copytree(tmp_path / "begun", tmp_path / str(count))
        with Store.open(directory, write=True) as store:
            with pytest.raises(KeyboardInterrupt):
                stop_at(count, interrupt, partial(finish, store))
            check(store)
            finish(store)
            check(store)
        assert files(directory) == wanted_files()


def test_killed_at_random_moments(tmp_path: Path) -> None:
    chance = random.Random(7)
    begun = time.perf_counter()
    assert live_elsewhere(tmp_path / "whole").wait() == 0
    duration = time.perf_counter() - begun
    for attempt in range(12):
        with live_elsewhere(tmp_path / str(attempt)) as process:
            time.sleep(duration * chance.uniform(0.5, 1.0))
            process.kill()
        check_and_finish(tmp_path / str(attempt))


def test_readers_see_whole_versions_while_a_writer_is_at_work(tmp_path: Path) -> None:
    with Store.create(tmp_path / "state", {"method": "evidence"}) as store:
        update(store, 0)
    versions: set[int | None] = set()
    # More updates than there is time for: the writer is at work for as long as readers look.
    with live_elsewhere(tmp_path / "state", updates=100_000) as writer:
        try:
            while len(versions) < 5:
                assert writer.poll() is None
                with Store.open(tmp_path / "state", write=False) as reader:
                    check_versions(reader)
                    versions.add(reader.last_version())
        finally:
            writer.kill()
    assert writer.returncode == -signal.SIGKILL


if __name__ == "__main__":
    live(Path(sys.argv[1]), int(sys.argv[2]))
