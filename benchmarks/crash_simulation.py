"""Cut the power at every system call of a series of commands; nothing acknowledged is lost.

    python benchmarks/crash_simulation.py --states 1000 [--seed 0] [--json OUT]

The series of `kill_test.py` is run once, a part of it while a view is open, and all that it does
to the disk is recorded with `strace` (Linux), what SQLite writes included. From the recording,
states are made in which a disk may be after a power cut: after every single operation, and at
random. What was forced to the disk by then is there; of the rest, writes are dropped, torn and
reordered, sizes and names are those of before or after (`disk_model.py` says exactly what may
happen). A fifth of the states come from recordings that begin in such a state: the power is cut
again while or after a command recovers from it.

In each state, all that was acknowledged before must be there, `verify` must find nothing once a
writer has opened the state, and the series must run to the same result as without a power cut. The
result file has the number of states and what was recorded. A state that fails is named by its
number, and `--only NUMBER` makes it again.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from disk_model import (
    Operation,
    choose_harshness,
    list_acknowledged,
    simulate_cut,
    write_state,
)
from disk_trace import can_trace, record_program
from everalign import Aligner
from everalign.benchmark.protocol import software_versions
from everalign.methods import METHODS, MethodEntry, register_method
from everalign.state import StateStore
from kill_test import SameId, check_acknowledged, describe, find_backup, run_steps
from measurement import RESULTS, ResultFile, Row

# A file system in memory: what is simulated need not reach a disk.
MEMORY = Path("/dev/shm")
# In directories that are not there yet either.
STATE = Path("alignments", "first", "state")
# One state in so many comes from a recovery that is recorded, and each recording gives so many.
RECOVERY_SHARE, STATES_OF_RECOVERY = 5, 20


class Recording(NamedTuple):
    """A run of the series.

    Attributes:
        operations: What it did to the disk.
        first: How many of them only make what was there before.
        done: The names of the steps that were acknowledged before it.
        wanted: What `describe` says of a run without a power cut.
    """

    operations: list[Operation]
    first: int
    done: list[str]
    wanted: list[object]


class Result(NamedTuple):
    """What a simulation covered.

    Attributes:
        states: The number of states.
        recordings: The number of recorded runs of the series.
        cuts: The number of different moments at which the power was cut.
        operations: How many operations of each kind the first recording has.
        failures: What went wrong, for each state with a failure.
    """

    states: int
    recordings: int
    cuts: int
    operations: dict[str, int]
    failures: list[str]


def simulate_crashes(states: int, seed: int = 0, only: int | None = None) -> Result:
    """Record the series, and check states after power cuts.

    Args:
        states: The number of states.
        seed: Of the random numbers.
        only: Check only the state with this number.

    Returns:
        What was covered, and what went wrong.
    """
    register_series_method()
    with make_directory() as directory:
        recording = record_series(directory, [], None)
    from_recoveries = states // RECOVERY_SHARE
    plan: list[tuple[Recording, range]] = [(recording, range(states - from_recoveries))]
    for first in range(states - from_recoveries, states, STATES_OF_RECOVERY):
        numbers = range(first, min(first + STATES_OF_RECOVERY, states))
        if only is None or only in numbers:
            plan.append((record_recovery(recording, f"{seed} recovery {first}"), numbers))
    failures, cuts = list[str](), set[tuple[int, int]]()
    for place, (source, numbers) in enumerate(plan):
        chosen = [number for number in numbers if only in (None, number)]
        for number, cut, failure in check_states(source, chosen, seed):
            cuts.add((place, cut))
            if failure:
                failures.append(f"state {number}: {failure}")
                print(failures[-1], file=sys.stderr, flush=True)
    kinds = Counter(type(op).__name__ for op in recording.operations)
    return Result(states, len(plan), len(cuts), dict(sorted(kinds.items())), failures)


def register_series_method() -> None:
    """Register the method of the series, in this process and those that it forks."""
    if "same-id" not in METHODS:
        entry = MethodEntry("same-id", "same numbers", lambda *_: SameId(), merge_rule="best")
        register_method(entry)


def record_series(directory: Path, done: Sequence[str], wanted: list[object] | None) -> Recording:
    """Run the series in a process that is traced.

    Args:
        directory: The directory for the state directory and its backup.
        done: The names of the steps that were acknowledged before.
        wanted: What `describe` says of a run without a power cut; None if this is one.

    Returns:
        The recording.
    """
    with TemporaryDirectory() as name:
        acknowledged = Path(name).resolve() / "acknowledged"
        command = [sys.executable, __file__, "--run", str(directory), str(acknowledged), *done]
        operations, first = record_program(command, directory, acknowledged)
    return Recording(operations, first, [*done], wanted or describe(directory / STATE))


def record_recovery(recording: Recording, seed: str) -> Recording:
    """Record the series from a state after a power cut.

    Args:
        recording: A run of the series; the power is cut somewhere in it.
        seed: Of the random numbers.

    Returns:
        The recording.
    """
    rng = random.Random(seed)
    cut = rng.randint(recording.first, len(recording.operations))
    with make_directory() as directory:
        done = restore_state(recording, cut, rng, directory)
        return record_series(directory, done, recording.wanted)


def check_states(
    recording: Recording, numbers: Sequence[int], seed: int
) -> Iterator[tuple[int, int, str]]:
    """Check states of a recording, in two processes.

    Args:
        recording: The recording.
        numbers: The numbers of the states.
        seed: Of the random numbers.

    Yields:
        The number of each state, the moment of its power cut, and what is wrong.
    """
    global _recording  # noqa: PLW0603 (processes inherit it, which is faster than to send it)
    _recording = recording
    cuts = choose_cuts(recording, numbers, seed)
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        failures = pool.map(_check_state, numbers, cuts, [seed] * len(cuts))
        yield from zip(numbers, cuts, failures, strict=True)


_recording: Recording | None = None


def choose_cuts(recording: Recording, numbers: Sequence[int], seed: int) -> list[int]:
    """Choose when the power is cut: after each operation once, acknowledged steps first.

    Args:
        recording: The recording.
        numbers: The numbers of the states.
        seed: Of the random numbers.

    Returns:
        A number of operations for each state, the same for the same number; at random if there
        are more states than operations.
    """
    moments = range(recording.first, len(recording.operations) + 1)
    every = random.Random(seed).sample(moments, len(moments))
    # Right after a step was acknowledged, there is most to lose.
    every.sort(key=lambda cut: not list_acknowledged(recording.operations[max(0, cut - 1) : cut]))
    return [
        every[number] if number < len(every) else random.Random(number).choice(moments)
        for number in numbers
    ]


def _check_state(number: int, cut: int, seed: int) -> str:
    assert _recording is not None
    rng = random.Random(f"{seed} state {number}")
    with make_directory() as directory:
        done = restore_state(_recording, cut, rng, directory)
        try:
            check_directory(directory, done, _recording.wanted)
        # Whatever a command raises after a power cut is a failure of it.
        except Exception as error:
            return f"cut after {cut} operations, {done[-1:]} acknowledged: {error!r}"
    return ""


def restore_state(
    recording: Recording, cut: int, rng: random.Random, directory: Path
) -> list[str]:
    """Write a state after a power cut.

    Args:
        recording: The recording.
        cut: The number of operations before the power cut.
        rng: Random numbers.
        directory: An empty directory.

    Returns:
        The steps that were acknowledged by then.
    """
    before = recording.operations[:cut]
    harshness = choose_harshness(rng)
    state = simulate_cut(before, harshness, rng)
    write_state(state, directory, rng, garbage=harshness.garbage)
    return [*recording.done, *list_acknowledged(before)]


def check_directory(directory: Path, done: Sequence[str], wanted: list[object]) -> None:
    """Check a state after a power cut.

    Args:
        directory: The directory with the state directory and its backup.
        done: The steps that were acknowledged before.
        wanted: What `describe` says of a run without a power cut.

    Raises:
        AssertionError: Something is lost, damaged, or another result.
    """
    state = directory / STATE
    check_acknowledged(state, [*done])
    if Aligner.exists(state):
        StateStore.open(state, write=True).close()
        if findings := Aligner(state).verify().findings:
            raise AssertionError(f"damaged: {findings}")
    run_steps(state, done=done)
    for copy in (state, find_backup(state)):
        if describe(copy) != wanted:
            raise AssertionError(f"{copy.name} differs from a run without a power cut")


@contextmanager
def make_directory() -> Iterator[Path]:
    """Make a directory for one state, in memory where the system has it.

    Yields:
        The directory.
    """
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        yield Path(name).resolve()


def run_recorded(directory: Path, acknowledged: Path, done: Sequence[str]) -> None:
    """Run the series; this is the process that is traced.

    Args:
        directory: The directory for the state directory and its backup.
        acknowledged: The file to which the names of finished steps are written.
        done: The names of the steps that were acknowledged before.
    """
    register_series_method()
    state = directory / STATE
    with acknowledged.open("ab", buffering=0) as file, ExitStack() as views:

        def acknowledge(step: str) -> None:
            file.write(step.encode())
            # While somebody reads, SQLite leaves decisions in its write-ahead log.
            if step == "confirm":
                views.enter_context(Aligner(state).session()).status()
            elif step == "second":
                views.close()

        run_steps(state, acknowledge, done)


def measure_states(states: int, seed: int, only: int | None) -> Row:
    """Simulate power cuts; end the program if something is lost.

    Args:
        states: The number of states.
        seed: Of the random numbers.
        only: Check only the state with this number.

    Returns:
        What was covered.
    """
    result = simulate_crashes(states, seed, only)
    if result.failures:
        sys.exit(f"{len(result.failures)} of {result.states} states are not as they must be")
    row = result._asdict()
    del row["failures"]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--states", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="check only the state with this number")
    parser.add_argument("--json", type=Path, default=RESULTS / "crash_simulation.json")
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        directory, acknowledged, *done = options.run
        run_recorded(Path(directory), Path(acknowledged), done)
        return
    if not can_trace():
        sys.exit("strace is not there or may not trace: apt-get install strace")
    if options.only is not None:
        print(measure_states(options.states, options.seed, options.only))
        return
    software = software_versions() | {"sqlite": sqlite3.sqlite_version}
    results = ResultFile(options.json, {"software": software})
    key = {"states": options.states, "seed": options.seed}
    results.measure_row(key, lambda: measure_states(options.states, options.seed, None))


if __name__ == "__main__":
    main()
