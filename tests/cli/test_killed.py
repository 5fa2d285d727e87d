"""Real processes, really killed: the last version stays whole, the delta stays pending."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")

Run = Callable[..., subprocess.CompletedProcess[str]]
Moment = Callable[[Path, float], bool]


def after(seconds: float) -> Moment:
    return lambda state, running: running > seconds


def once_there(*parts: str) -> Moment:
    return lambda state, running: state.joinpath(*parts).exists()


def kill_at(moment: Moment, state: Path, *arguments: object) -> bool:
    """Start a command and kill it at a moment; False if it was done before."""
    started = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "everalign", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while process.poll() is None and not moment(state, time.monotonic() - started):
            time.sleep(0.0005)
        process.kill()
    return process.returncode == -9


def state_of(everalign: Run, state: Path) -> tuple[str, str]:
    links = everalign("links", state, "--json")
    history = everalign("history", state, "--json")
    assert links.returncode == history.returncode == 0, links.stderr + history.stderr
    return links.stdout, history.stdout


@pytest.fixture(scope="module")
def commands(dataset: Path, quick_toml: Path) -> tuple[list[object], list[object]]:
    base, batch = dataset / "base", dataset / "batch1"
    return (
        [
            "--left",
            base / "triples_1",
            "--right",
            base / "triples_2",
            "--seeds",
            base / "train_links",
            "--valid",
            base / "valid_links",
            "--config",
            quick_toml,
        ],
        ["--left", batch / "new_triples_1", "--right", batch / "new_triples_2"],
    )


INIT_MOMENTS = {
    "early": after(0.3),
    "as the catalogue appears": once_there("everalign.sqlite"),
    "as the delta is written": once_there("deltas", "000000"),
    "while fitting": lambda state, running: _stands(state, 1.0),
    "as the version is written": once_there("versions", "000000"),
}


def _stands(state: Path, seconds: float) -> bool:
    """Whether the catalogue was last written some time ago: the method is at work."""
    catalogue = state / "everalign.sqlite"
    return catalogue.exists() and time.time() - catalogue.stat().st_mtime > seconds


@pytest.mark.parametrize("name", INIT_MOMENTS)
def test_init_killed_and_run_again_is_as_if_nothing_had_happened(
    everalign: Run, tmp_path: Path, commands: tuple[list[object], list[object]], name: str
) -> None:
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    assert everalign("init", straight, *commands[0]).returncode == 0
    assert kill_at(INIT_MOMENTS[name], broken, "init", broken, *commands[0])
    again = everalign("init", broken, *commands[0])
    assert again.returncode == 0, again.stderr
    assert state_of(everalign, broken) == state_of(everalign, straight)


UPDATE_MOMENTS = {
    "early": after(0.3),
    "as the delta is written": once_there("deltas", "000001"),
    "as the version is written": once_there("versions", "000001"),
    "as the links are written": once_there("views", "000001"),
}


@pytest.mark.parametrize("name", UPDATE_MOMENTS)
def test_update_killed_and_run_again_is_as_if_nothing_had_happened(
    everalign: Run, tmp_path: Path, commands: tuple[list[object], list[object]], name: str
) -> None:
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    for state in (straight, broken):
        assert everalign("init", state, *commands[0]).returncode == 0
    assert everalign("update", straight, *commands[1]).returncode == 0
    before = state_of(everalign, broken)

    assert kill_at(UPDATE_MOMENTS[name], broken, "update", broken, *commands[1])
    assert state_of(everalign, broken) == before, "the last version is whole"
    status = json.loads(everalign("status", broken, "--json").stdout)
    assert status["version"] == 0
    if name == "as the version is written":
        assert status["pending"] == "new_triples_1, new_triples_2"
        finished = everalign("update", broken)  # the delta need not be given again
    else:
        finished = everalign("update", broken, *commands[1])
    assert finished.returncode == 0, finished.stderr
    assert state_of(everalign, broken) == state_of(everalign, straight)
