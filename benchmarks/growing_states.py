"""Generated alignments that grow: state directories, deltas for them, and what an update costs.

A random part of the triples of a generated sample is held back, and the rest is aligned once.
Deltas are drawn from what was held back, so that they look like growth: facts of known entities,
and entities that no fact mentioned before.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from everalign import Aligner, ChangeSet
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.config import Config
from everalign.io import Triple
from measurement import Row, run_in_child

SIDES = ("left", "right")
# At most this share of a graph is held back, and at most so many triples.
HELD_BACK_SHARE, MAX_HELD_BACK = 0.1, 150_000
# So many triples of the aligned graphs are noted, for deltas that remove some.
REMOVABLE = 10_000

SideTriple = tuple[int, Triple]


@dataclass(frozen=True)
class GrowingState:
    """A state directory of a generated sample, and triples to change it by.

    Attributes:
        directory: The state directory; work on a copy of it.
        held_back: Triples that it lacks, in random order, with the side of each.
        present: Some triples that it has, in random order, with the side of each.
        facts: What was measured when it was built.
    """

    directory: Path
    held_back: list[SideTriple]
    present: list[SideTriple]
    facts: Row

    @contextmanager
    def copy_state(self) -> Iterator[Aligner]:
        """Copy the state directory; the copy is removed afterwards.

        Yields:
            The alignment in the copy.
        """
        copy = self.directory.with_name("copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.directory, copy)
        # Mapped pages of files that are not yet on the disk would count as changed memory.
        os.sync()
        try:
            yield Aligner.open(copy)
        finally:
            shutil.rmtree(copy)


def open_state(
    states: Path, triples: int, config: Config, share: float = HELD_BACK_SHARE
) -> GrowingState:
    """Open the state of a generated sample; build it if it is not there.

    Args:
        states: Directory of all generated states.
        triples: Triples of both graphs, with those that are held back.
        config: The method and its settings.
        share: Share of the triples that is held back, up to `MAX_HELD_BACK`.

    Returns:
        The state.
    """
    directory = states / f"{triples}-{share:g}-{config.seed}"
    if not (directory / "facts.json").exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        facts = run_in_child(build_state, directory, triples, config, share)
        (directory / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
    kept = json.loads((directory / "triples.json").read_text(encoding="utf-8"))
    held_back, present = (
        [(side, (head, relation, tail)) for side, (head, relation, tail) in kept[name]]
        for name in ("held_back", "present")
    )
    return GrowingState(
        directory / "state",
        held_back,
        present,
        json.loads((directory / "facts.json").read_text(encoding="utf-8")),
    )


def build_state(directory: Path, triples: int, config: Config, share: float) -> Row:
    """Generate a sample, hold triples back, and align the rest (in a process of its own)."""
    sample = generate_sample(SampleConfig(triples=triples, snapshots=1, seed=config.seed))
    rng = np.random.default_rng(config.seed)
    rows = [(0, triple) for triple in dict.fromkeys(sample.left(0))]
    rows += [(1, triple) for triple in dict.fromkeys(sample.right(0))]
    order = rng.permutation(len(rows))
    cut = min(int(len(rows) * share), MAX_HELD_BACK)
    chosen = {
        "held_back": [rows[place] for place in order[:cut]],
        "present": [rows[place] for place in order[cut : cut + REMOVABLE]],
    }
    (directory / "triples.json").write_text(json.dumps(chosen), encoding="utf-8")
    present = [rows[place] for place in np.sort(order[cut:])]
    left, right = ([triple for side, triple in present if side == index] for index in (0, 1))
    known = [
        {name for triple in graph for name in (triple[0], triple[2])} for graph in (left, right)
    ]
    seeds, validation = (
        [pair for pair in pairs if pair[0] in known[0] and pair[1] in known[1]]
        for pairs in (sample.seeds, sample.validation_links)
    )
    del sample, rows, present
    began = time.process_time()
    Aligner.create(directory / "state", left, right, seeds, validation, config)
    return {
        "triples_aligned": len(left) + len(right),
        "triples_held_back": cut,
        "entities": sum(map(len, known)),
        "create_cpu_seconds": time.process_time() - began,
        "state_bytes": measure_directory(directory / "state"),
    }


def build_addition(triples: list[SideTriple]) -> ChangeSet:
    """Build the delta that adds triples.

    Args:
        triples: Triples with their side.

    Returns:
        The delta.
    """
    left, right = ([triple for side, triple in triples if side == index] for index in (0, 1))
    return ChangeSet(added_left=left, added_right=right)


def build_removal(triples: list[SideTriple]) -> ChangeSet:
    """Build the delta that removes triples.

    Args:
        triples: Triples with their side.

    Returns:
        The delta.
    """
    left, right = ([triple for side, triple in triples if side == index] for index in (0, 1))
    return ChangeSet(removed_left=left, removed_right=right)


def measure_update(aligner: Aligner, change: ChangeSet) -> Row:
    """Measure one update in this process.

    Args:
        aligner: The alignment.
        change: The delta.

    Returns:
        Processor and wall seconds, bytes given to the operating system to write, by how much the
        state directory grows, and how many links change, and whether the method
        was trained again.
    """
    size, written = measure_directory(aligner.state), read_written_bytes()
    wall, cpu = time.perf_counter(), time.process_time()
    result = aligner.update(change=change)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    (report,) = result.reports
    return {
        "cpu_seconds": cpu,
        "wall_seconds": wall,
        "written_bytes": read_written_bytes() - written,
        "grown_bytes": measure_directory(aligner.state) - size,
        "retrained": report.trained,
        "links_changed": report.links_added + report.links_revised + report.links_retracted,
    }


def measure_directory(directory: Path) -> int:
    """Measure the files of a directory.

    Args:
        directory: The directory.

    Returns:
        The bytes of all files in it.
    """
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def read_written_bytes() -> int:
    """Read how many bytes this process has given to the operating system to write.

    Returns:
        The bytes, of all calls since it started.
    """
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


def read_private_mb() -> dict[str, float]:
    """Read the memory that only this process has.

    Returns:
        `private_dirty_mb`, which nothing but this process can give back, and
        `private_clean_mb`, pages of mapped files that are in the files as well.
    """
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines}
    return {
        "private_dirty_mb": sizes["Private_Dirty"],
        "private_clean_mb": sizes["Private_Clean"],
    }


class MemoryPeak:
    """Watches the private memory of this process in a thread of its own."""

    def __init__(self, interval: float = 0.01) -> None:
        """Begin to watch.

        Args:
            interval: Seconds between two looks.
        """
        self.values = read_private_mb()
        self._ended = threading.Event()
        self._interval = interval
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def finish(self) -> dict[str, float]:
        """End it.

        Returns:
            The highest values of `read_private_mb`.
        """
        self._ended.set()
        self._thread.join()
        return {f"peak_{name}": round(value, 1) for name, value in self.values.items()}

    def _watch(self) -> None:
        while not self._ended.wait(self._interval):
            for name, value in read_private_mb().items():
                self.values[name] = max(value, self.values[name])
