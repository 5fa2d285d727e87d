"""Kill commands at every step that reaches the disk, and at random; nothing acknowledged is lost.

    python benchmarks/kill_test.py --kills 1000

A child process runs a series of commands: init, updates, decisions, a revert, compact, backup. It
dies at the n-th call that writes to the disk or at the n-th moment inside of SQLite. Files that it
had not forced to the disk by then lose their ends, as after a power cut. Then everything that was
acknowledged must be there, the same series must run to its end, and the result must be the same as
without a kill.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import signal
import sqlite3
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from everalign import Aligner, Config
from everalign._progress import Progress
from everalign.matching import CandidatePairs
from everalign.methods import AlignmentTask, MethodEntry, StateArrays, register_method

LEFT = [(f"l{n}", f"l-r{n % 3}", f"l{(n * 7 + 1) % 20}") for n in range(40)]
RIGHT = [(f"r{n}", f"r-r{n % 3}", f"r{(n * 7 + 1) % 20}") for n in range(40)]
SEEDS = [(f"l{n}", f"r{n}") for n in range(6)]
# Without a training that takes seconds: what is stored and how is the same for every method.
CONFIG = Config(method="same-id")
CALLS = ("fsync", "replace", "rename", "mkdir", "unlink", "rmdir")
# The version that takes up the confirmation, wherever the series was killed before.
CONFIRMED_VERSION = 2
REVERTED_STEPS = ("second", "revert")
# Instructions of SQLite's virtual machine between two moments at which a child may die.
SQLITE_STEP = 500

Act = Callable[[Path], object]


class SameId:
    """Links entities that have the same number, and stores a large array."""

    def fit(self, task: AlignmentTask, progress: Progress) -> None:
        """Learn nothing."""

    def update(self, task: AlignmentTask, progress: Progress) -> None:
        """Learn nothing."""

    def candidates(self, task: AlignmentTask, progress: Progress) -> CandidatePairs:  # noqa: ARG002
        """Propose what is free on both sides."""
        both = np.intersect1d(*task.unlinked_entities())
        return CandidatePairs.from_columns(both, both, np.full(len(both), 0.9))

    def save(self) -> StateArrays:
        """Return some array."""
        return {"numbers": np.arange(1000)}

    def load(self, arrays: StateArrays) -> None:
        """Check that it is the same array."""
        assert arrays["numbers"].tolist() == list(range(1000))


class Step(NamedTuple):
    """A command of the series, and what shows that it was done."""

    name: str
    act: Act


def find_backup(state: Path) -> Path:
    """Return where the series makes its backup.

    Args:
        state: The state directory.

    Returns:
        The path of the backup, in a directory that is made for it.
    """
    return state.with_name("copies") / "backup"


def list_steps() -> list[Step]:
    """The series; each step can be run again, those up to a revert until it is acknowledged.

    Returns:
        The steps in order.
    """

    def confirm(state: Path) -> None:
        Aligner(state).confirm([("l9", "r9")], author="ada", keys=["k1"], apply=True)

    def reject(state: Path) -> None:
        Aligner(state).reject([("l8", "r9")], author="bo", keys=["k2"])

    return [
        Step("init", lambda state: Aligner.create(state, LEFT, RIGHT, SEEDS, config=CONFIG)),
        Step("update", lambda state: Aligner(state).update(left=[("l1", "l-r0", "new")])),
        Step("confirm", confirm),
        Step("reject", reject),
        Step("second", lambda state: Aligner(state).update(right=[("r1", "r-r0", "n")])),
        Step("revert", lambda state: Aligner(state).revert(CONFIRMED_VERSION)),
        Step("third", lambda state: Aligner(state).update(right=[("r2", "r-r0", "m")])),
        Step("compact", lambda state: Aligner(state).compact()),
        Step("backup", lambda state: Aligner(state).backup(find_backup(state))),
    ]


def run_steps(
    state: Path,
    acknowledge: Callable[[str], None] = lambda _: None,
    done: Collection[str] = (),
) -> None:
    """Run the series from its beginning; what is done already is done again without effect.

    Args:
        state: The state directory.
        acknowledge: Called with the name of each step that has returned.
        done: The names of the steps that were acknowledged before. What a revert has undone is
            not done again once the revert is acknowledged.
    """
    left_out = REVERTED_STEPS if "revert" in done else ()
    for step in list_steps():
        if step.name not in left_out:
            step.act(state)
            acknowledge(step.name)


def watch_disk(reach: Callable[[], None], synced: Callable[[str], None]) -> None:
    """Patch this process: be called before each call that changes the disk, and inside of SQLite.

    Args:
        reach: Called at each such point.
        synced: Called with the path of each file that has been forced to the disk.
    """
    for name in CALLS:
        setattr(os, name, _patch(getattr(os, name), name, reach, synced))
    connect = sqlite3.connect

    def connect_watched(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_progress_handler(reach, SQLITE_STEP)
        return connection

    sqlite3.connect = connect_watched  # type: ignore[assignment]


def _patch(
    call: Callable[..., Any], name: str, reach: Callable[[], None], synced: Callable[[str], None]
) -> Callable[..., Any]:
    def patched(*arguments: Any, **options: Any) -> Any:
        reach()
        result = call(*arguments, **options)
        if name == "fsync":
            with suppress(OSError):
                synced(str(Path(f"/proc/self/fd/{arguments[0]}").readlink()))
        return result

    return patched


def run_child(
    state: Path, die_at: int | None, earlier: Collection[str] = ()
) -> tuple[list[str], int]:
    """Run the series in a process of its own.

    Args:
        state: The state directory.
        die_at: The point at which the process dies; None for never.
        earlier: The names of the steps that were acknowledged before.

    Returns:
        The names of the steps that were acknowledged, and how many points were reached.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        code = 1
        with suppress(BaseException):
            _run_watched(state, die_at, writer, earlier)
            code = 0
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as stream:
        lines = stream.read().splitlines()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise AssertionError(f"the series failed in a child that was to die at {die_at}")
    # A copy is written under another name, which it loses when all of it is on the disk.
    synced = {
        line.removeprefix("synced ").replace("backup.partial", "backup")
        for line in lines
        if line.startswith("synced ")
    }
    known = state.parent / "synced"
    # What an earlier child has forced to the disk stays there, also if that child was not killed.
    synced |= set(known.read_text().splitlines()) if known.exists() else set()
    known.write_text("\n".join(sorted(synced)))
    if code != 0:
        tear_files(state.parent, synced)
    points = [int(line.removeprefix("points ")) for line in lines if line.startswith("points ")]
    done = [line.removeprefix("done ") for line in lines if line.startswith("done ")]
    return done, points[-1] if points else 0


def _run_watched(state: Path, die_at: int | None, writer: int, earlier: Collection[str]) -> None:
    points = itertools.count(1)
    last = 0

    def reach() -> None:
        nonlocal last
        last = next(points)
        if last == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def tell(line: str) -> None:
        os.write(writer, f"{line}\n".encode())

    watch_disk(reach, lambda path: tell(f"synced {path}"))
    run_steps(state, lambda name: tell(f"done {name}"), earlier)
    tell(f"points {last}")


def tear_files(directory: Path, synced: set[str]) -> None:
    """Drop the second half of array files that were not forced to the disk.

    Args:
        directory: The directory of states.
        synced: Paths of files that were.
    """
    for path in directory.rglob("*.bundle"):
        if str(path).replace("backup.partial", "backup") not in synced:
            os.truncate(path, path.stat().st_size // 2)


def describe(state: Path) -> list[object]:
    """What has to be the same at the end, whatever was killed.

    Args:
        state: The state directory.

    Returns:
        Links of now, decisions of people, and the end of the history.
    """
    aligner = Aligner(state)
    findings = aligner.verify().findings
    if findings:
        raise AssertionError(f"{state} is damaged: {findings}")
    links = sorted((link.left, link.right, link.score, link.origin) for link in aligner.links())
    decided = [(e.kind, e.left, e.right, e.author) for e in aligner.history() if e.author]
    return [links, decided]


def check_acknowledged(state: Path, done: list[str]) -> None:
    """Check that nothing is lost that a killed process has acknowledged.

    Args:
        state: The state directory.
        done: The names of the acknowledged steps.
    """
    if not done:
        return
    aligner = Aligner.open(state)
    history = {(event.kind, event.left, event.author) for event in aligner.history()}
    status = aligner.status()
    wanted = {
        "init": status.version is not None,
        "update": status.left_triples == len(set(LEFT)) + 1,
        "confirm": ("confirmed", "l9", "ada") in history,
        "reject": ("rejected", "l8", "bo") in history,
        # The revert may have been done as well.
        "second": any(report.right_added_triples for report in status.reports[1:]),
        "revert": any(report.source.startswith("revert") for report in status.reports),
        "third": status.right_triples == len(set(RIGHT)) + 1,
        "compact": True,
        "backup": Aligner.exists(find_backup(state)),
    }
    lost = [name for name in done if not wanted[name]]
    if lost:
        raise AssertionError(f"{state} has lost {lost}")


def run_trial(directory: Path, deaths: list[int], wanted: list[object]) -> None:
    """Let a series die several times, and finish it.

    Args:
        directory: An empty directory.
        deaths: The points at which one process after the other dies.
        wanted: What `describe` says without a kill.
    """
    state, done = directory / "state", set[str]()
    for die_at in deaths:
        acknowledged, _ = run_child(state, die_at, done)
        done.update(acknowledged)
        check_acknowledged(state, acknowledged)
    run_steps(state, done=done)
    for copy in (state, find_backup(state)):
        if describe(copy) != wanted:
            raise AssertionError(f"{copy} differs after deaths at {deaths}")


def run_trials(kills: int, seed: int = 0) -> int:
    """Run trials until there were enough kills: at every point first, then at random ones.

    Args:
        kills: The number of kills.
        seed: Of the random numbers.

    Returns:
        The number of points at which the series can be killed.
    """
    register_method(MethodEntry("same-id", "same numbers", lambda *_: SameId(), merge_rule="best"))
    rng = random.Random(seed)
    with TemporaryDirectory() as name:
        first = Path(name, "first")
        first.mkdir()
        _, count = run_child(first / "state", None)
        wanted = describe(first / "state")
        every = rng.sample(range(1, count + 1), count)
        done = 0
        for number in itertools.count():
            if done >= kills:
                return count
            deaths = every[number : number + 1] or rng.choices(range(1, count), k=3)
            directory = Path(name, str(number))
            directory.mkdir()
            run_trial(directory, deaths, wanted)
            done += len(deaths)
    raise AssertionError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    count = run_trials(options.kills, options.seed)
    print(f"{options.kills} kills at {count} points: nothing acknowledged was lost")


if __name__ == "__main__":
    main()
