"""A training that was killed goes on from its last checkpoint, with the same links."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from everalign import Aligner
from everalign._progress import no_progress
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.state import checkpoints

# Runs `init` and kills itself when a round begins.
KILLED = """
import os, signal, sys
from everalign import Aligner
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.state import checkpoints

checkpoints.MIN_SECONDS = 0.0
path, last = sys.argv[1], int(sys.argv[2])
sample = generate_sample(SampleConfig(triples=3000, snapshots=1))

def kill(step, number, count):
    if step == "learning" and number == last:
        os.kill(os.getpid(), signal.SIGKILL)

Aligner.create(path, sample.left(0), sample.right(0), sample.seeds, progress=kill)
"""


def create_alignment(path: Path, steps: list[tuple[str, int]]) -> list[tuple[str, str, float]]:
    sample = generate_sample(SampleConfig(triples=3000, snapshots=1))

    def note_step(step: str, number: int, count: int) -> None:
        steps.append((step, number))

    Aligner.create(path, sample.left(0), sample.right(0), sample.seeds, progress=note_step)
    with Aligner.open(path) as aligner:
        return [(link.left, link.right, link.score) for link in aligner.links()]


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, float]]:
    return create_alignment(tmp_path_factory.mktemp("whole") / "a.state", [])


@pytest.mark.slow
@pytest.mark.parametrize(("killed_in", "goes_on_in"), [(1, 0), (2, 1), (5, 3)])
def test_goes_on(
    tmp_path: Path, links: list[tuple[str, str, float]], killed_in: int, goes_on_in: int
) -> None:
    path = tmp_path / "a.state"
    command = [sys.executable, "-c", KILLED, str(path), str(killed_in)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert len(list(path.glob("cache/checkpoint-*/*"))) == 1
    steps: list[tuple[str, int]] = []
    assert create_alignment(path, steps) == links
    assert "propagating" not in {step for step, _ in steps}
    assert min(number for step, number in steps if step == "learning") == goes_on_in
    assert not list(path.glob("cache/checkpoint-*"))


@pytest.mark.slow
def test_damaged_checkpoint_is_not_used(
    tmp_path: Path, links: list[tuple[str, str, float]]
) -> None:
    path = tmp_path / "a.state"
    subprocess.run([sys.executable, "-c", KILLED, str(path), "2"], check=False)
    (file,) = path.glob("cache/checkpoint-*/*/*")
    content = bytearray(file.read_bytes())
    content[-100] ^= 1
    file.write_bytes(content)
    steps: list[tuple[str, int]] = []
    assert create_alignment(path, steps) == links
    assert ("propagating", 0) in steps


def test_short_computations_leave_none(tmp_path: Path) -> None:
    assert checkpoints.MIN_SECONDS > 1
    sample = generate_sample(SampleConfig(triples=1000, snapshots=1))
    path = tmp_path / "a.state"
    seen: list[Path] = []

    def look(step: str, number: int, count: int) -> None:
        no_progress(step, number, count)
        seen.extend(path.glob("cache/checkpoint-*"))

    Aligner.create(path, sample.left(0), sample.right(0), sample.seeds, progress=look)
    assert not seen
