"""Every command works where the system lacks what Linux has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from everalign import _platform

Run = Callable[..., subprocess.CompletedProcess[str]]

# What a system without these modules and functions says at their import or use.
BARE_SYSTEM = """
import os, runpy, sys
for name in ("fcntl", "resource"):
    sys.modules[name] = None
for name in ("sched_getaffinity", "sched_setaffinity", "O_DIRECTORY"):
    if hasattr(os, name):
        delattr(os, name)
sys.argv[0] = "everalign"
runpy.run_path({toy!r}, run_name="__main__")
"""

# msvcrt.locking as Windows has it, on top of the record locks of POSIX.
MSVCRT = """
import os
LK_NBLCK = 2
def locking(descriptor, mode, size):
    assert mode == LK_NBLCK
    os.lockf(descriptor, os.F_TLOCK, size)
"""

HOLD = """
import sys
sys.modules["fcntl"] = None
from everalign import _platform
assert _platform.fcntl is None
with open(sys.argv[1], "a+") as file:
    try:
        _platform.lock_file(file)
    except BlockingIOError:
        file.seek(0)
        sys.exit("in use by " + file.read())
    file.write("the first")
    file.flush()
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def bare_everalign(tmp_path: Path) -> Run:
    """The command line, with the toy method, on a system that lacks what Linux has."""
    toy = str(Path(__file__).with_name("toy.py"))
    code = BARE_SYSTEM.format(toy=toy)

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )

    return run


@pytest.mark.slow
def test_an_alignment_on_a_system_without_locks_affinity_and_directory_sync(
    bare_everalign: Run, tmp_path: Path
) -> None:
    (tmp_path / "left.tsv").write_text("a\tr\tb\nb\tr\tc\n")
    (tmp_path / "right.tsv").write_text("A\ts\tB\nB\ts\tC\n")
    (tmp_path / "more.tsv").write_text("c\tr\td\n")
    (tmp_path / "seeds.tsv").write_text("a\tA\n")
    graphs = ["--left", "left.tsv", "--right", "right.tsv", "--seeds", "seeds.tsv"]
    for arguments in (
        ["init", "state", *graphs, "--method", "toy"],
        ["update", "state", "--left", "more.tsv"],
        ["status", "state"],
    ):
        result = bare_everalign(*arguments)
        assert result.returncode == 0, result.stderr
    links = bare_everalign("links", "state")
    assert links.returncode == 0, links.stderr
    assert "a\tA\t" in links.stdout


@pytest.mark.skipif(not hasattr(os, "lockf"), reason="stands on POSIX record locks")
def test_the_lock_of_windows_keeps_a_second_process_out(tmp_path: Path) -> None:
    """And the second can read who holds it."""
    (tmp_path / "msvcrt.py").write_text(MSVCRT)
    paths = [str(tmp_path), *sys.path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-c", HOLD, str(tmp_path / "lock")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        second = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert second.stderr == "in use by the first\n"
        first.communicate("")
    third = subprocess.run(
        command, env=environment, input="", capture_output=True, text=True, check=True
    )
    assert third.stdout == "held\n"


def test_all_cpus_count_where_none_are_assigned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    cpus = _platform.available_cpus()
    assert cpus == list(range(os.cpu_count() or 1))
    with _platform.restrict_cpus({0}):
        assert _platform.available_cpus() == cpus


def test_restricting_cpus_ends_with_the_block() -> None:
    before = _platform.available_cpus()
    with _platform.restrict_cpus({before[0]}):
        inside = _platform.available_cpus()
    assert len(inside) == 1 or not hasattr(os, "sched_setaffinity")
    assert _platform.available_cpus() == before


def test_a_directory_that_cannot_be_synced_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _platform.sync_directory(tmp_path)
    monkeypatch.delattr(os, "O_DIRECTORY", raising=False)
    _platform.sync_directory(tmp_path / "absent")


def test_peak_memory_is_in_megabytes_or_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 10 < _platform.peak_memory_mb() < 1_000_000
    if _platform.resource is not None:
        monkeypatch.setattr(_platform, "resource", None)
        assert _platform.peak_memory_mb() == 0
