"""Real processes, really killed: the last version stays whole, the delta stays pending."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import toy as toys

from everalign import Aligner, Config, Happening, Link
from everalign.store import Store

pytest.importorskip("torch")

Run = Callable[..., subprocess.CompletedProcess[str]]
Moment = Callable[[Path, float], bool]
EVERALIGN = ("-m", "everalign")


def after(seconds: float) -> Moment:
    return lambda state, running: running > seconds


def once_there(*parts: str) -> Moment:
    return lambda state, running: state.joinpath(*parts).exists()


def while_learning(state: Path, running: float) -> bool:
    """The catalogue was last written some time ago: the method is at work."""
    catalogue = state / "everalign.sqlite"
    return catalogue.exists() and time.time() - catalogue.stat().st_mtime > 0.5


def kill_at(
    moment: Moment, state: Path, *arguments: object, program: tuple[str, ...] = EVERALIGN
) -> None:
    """Start a command and kill it at a moment; on a busy machine this can need several tries."""
    before = state.with_name("before")
    if state.exists():
        shutil.copytree(state, before)
    versions = version_count(state)
    for _ in range(10):
        started = time.monotonic()
        with subprocess.Popen(
            [sys.executable, *program, *map(str, arguments)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            while process.poll() is None and not moment(state, time.monotonic() - started):
                time.sleep(0.0005)
            process.kill()
        if process.returncode == -9 and version_count(state) == versions:
            return
        assert process.returncode in (0, -9), f"the command failed: exit code {process.returncode}"
        shutil.rmtree(state, ignore_errors=True)
        if before.exists():
            shutil.copytree(before, state)
    raise AssertionError("the process was done each time before it could be killed")


def version_count(state: Path) -> int:
    """Counted in a copy: a reader would mend what a kill has left behind."""
    copy = state.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    if not state.exists():
        return 0
    shutil.copytree(state, copy)
    if not Store.exists(copy):
        return 0
    with Store.open(copy, write=False) as store:
        return store.next_version()


def content(state: Path) -> tuple[list[Link], list[Happening]]:
    aligner = Aligner.open(state)
    return aligner.links(), aligner.history()


@pytest.fixture(scope="module")
def files(dataset: Path) -> tuple[dict[str, Path], dict[str, Path]]:
    """What is given to init, and to the update after it."""
    base, batch = dataset / "base", dataset / "batch1"
    return (
        {
            "left": base / "triples_1",
            "right": base / "triples_2",
            "seeds": base / "train_links",
            "valid": base / "valid_links",
        },
        {"left": batch / "new_triples_1", "right": batch / "new_triples_2"},
    )


def options(given: dict[str, Path]) -> list[object]:
    return [part for name, path in given.items() for part in (f"--{name}", path)]


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory,
    files: tuple[dict[str, Path], dict[str, Path]],
    quick_toml: Path,
) -> tuple[Path, Path]:
    """The states after init and after the update where nobody was killed."""
    directory = tmp_path_factory.mktemp("undisturbed")
    first, second = directory / "first", directory / "second"
    left, right, seeds, valid = files[0].values()
    Aligner.create(first, left, right, seeds, valid, Config.read(quick_toml))
    shutil.copytree(first, second)
    Aligner.open(second).update(files[1]["left"], files[1]["right"])
    return first, second


INIT_MOMENTS: dict[str, Moment] = {
    "early": after(0.3),
    "as the catalogue appears": once_there("everalign.sqlite"),
    "as the delta is written": once_there("deltas", "000000"),
    "while learning": while_learning,
    "as the version is written": once_there("versions", "000000"),
}


@pytest.mark.parametrize("name", INIT_MOMENTS)
def test_init_killed_and_run_again_is_as_if_nothing_had_happened(
    everalign: Run,
    tmp_path: Path,
    files: tuple[dict[str, Path], dict[str, Path]],
    quick_toml: Path,
    undisturbed: tuple[Path, Path],
    name: str,
) -> None:
    state = tmp_path / "state"
    arguments = ["init", state, *options(files[0]), "--config", quick_toml]
    kill_at(INIT_MOMENTS[name], state, *arguments)
    again = everalign(*arguments)
    assert again.returncode == 0, again.stderr
    assert content(state) == content(undisturbed[0])


UPDATE_MOMENTS: dict[str, Moment] = {
    "early": after(0.3),
    "as the delta is written": once_there("deltas", "000001"),
    "as the version is written": once_there("versions", "000001"),
    "as the links are written": once_there("views", "000001"),
}


@pytest.mark.parametrize("name", UPDATE_MOMENTS)
def test_update_killed_and_run_again_is_as_if_nothing_had_happened(
    everalign: Run,
    tmp_path: Path,
    files: tuple[dict[str, Path], dict[str, Path]],
    undisturbed: tuple[Path, Path],
    name: str,
) -> None:
    state = tmp_path / "state"
    shutil.copytree(undisturbed[0], state)
    kill_at(UPDATE_MOMENTS[name], state, "update", state, *options(files[1]))
    assert content(state) == content(undisturbed[0]), "the last version is whole"
    if name == "as the version is written":
        assert Aligner.open(state).status().pending == "new_triples_1, new_triples_2"
        again = everalign("update", state)  # the delta need not be given again
    else:
        again = everalign("update", state, *options(files[1]))
    assert again.returncode == 0, again.stderr
    assert content(state) == content(undisturbed[1])


@pytest.mark.parametrize("delta", [[], ["--left", "new.tsv"]], ids=["alone", "with a delta"])
@pytest.mark.parametrize("again", [["--full"], []], ids=["asked for again", "finished"])
def test_a_full_pass_that_was_killed_is_still_a_full_pass_and_only_one(
    everalign_toy: Run, tmp_path: Path, toy: Config, delta: list[str], again: list[str]
) -> None:
    (tmp_path / "new.tsv").write_text("Rome\thas\tFish\n")
    state, slow = tmp_path / "state", Config(method="toy", settings={"seconds": 1.5})
    Aligner.create(state, toys.LEFT, toys.RIGHT, toys.SEEDS, config=slow)
    given = [str(tmp_path / word) if word == "new.tsv" else word for word in delta]
    arguments = ["update", state, "--full", *given]
    at_work = once_pending(state)
    kill_at(at_work, state, *arguments, program=(toys.__file__,))
    aligner = Aligner.open(state)
    assert aligner.status().pending == ("new.tsv, full pass" if delta else "full pass")
    assert len(aligner.status().reports) == 1
    resumed = everalign_toy("update", state, *again, *(given if again else []))
    assert resumed.returncode == 0, resumed.stderr
    assert [report.notes for report in aligner.status().reports] == [
        ("3 seeds, 0 full passes",), ("3 seeds, 1 full passes",)
    ]  # fmt: skip
    assert aligner.status().pending is None


def once_pending(directory: Path) -> Moment:
    """The delta is in the journal, so the method is about to begin or at work."""
    return lambda state, running: Aligner.open(directory).status().pending is not None
