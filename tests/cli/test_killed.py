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

from everalign import Aligner, ChangeSet, Config, Link, LinkEvent
from everalign.state import StateStore

pytest.importorskip("torch")

pytestmark = pytest.mark.slow

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
    if not StateStore.exists(copy):
        return 0
    with StateStore.open(copy, write=False) as store:
        return store.next_version()


def content(state: Path) -> tuple[list[Link], list[LinkEvent]]:
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
            "validation": base / "valid_links",
        },
        {"left": batch / "new_triples_1", "right": batch / "new_triples_2"},
    )


def options(given: dict[str, Path]) -> list[object]:
    return [part for name, path in given.items() for part in (f"--{name}", path)]


def run_everalign(*arguments: object) -> None:
    command = [sys.executable, "-m", "everalign", *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory,
    files: tuple[dict[str, Path], dict[str, Path]],
    quick_toml: Path,
) -> tuple[Path, Path]:
    """The states after init and after the update where nobody was killed.

    Loops that were compiled by this process and loops that were loaded from its cache may round
    differently, so both steps run in processes that load them, as those that are killed do.
    """
    directory = tmp_path_factory.mktemp("undisturbed")
    for name in ("warm-up", "first"):
        init = ["init", directory / name, *options(files[0]), "--config", quick_toml]
        run_everalign(*init)
        shutil.copytree(directory / name, directory / f"{name}-updated")
        run_everalign("update", directory / f"{name}-updated", *options(files[1]))
    first, second = directory / "first", directory / "first-updated"
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


@pytest.mark.parametrize("given_again", [True, False], ids=["given again", "finished"])
def test_a_delta_that_comes_for_the_second_time_is_applied_once_though_killed(
    everalign_toy: Run, tmp_path: Path, toy: Config, given_again: bool
) -> None:
    fact, state = tmp_path / "fact.tsv", tmp_path / "state"
    fact.write_text("Rome\thas\tFish\n")
    slow = Config(method="toy", settings={"seconds": 1.5})
    aligner = Aligner.create(state, toys.LEFT, toys.RIGHT, toys.SEEDS, config=slow)
    aligner.update(left=fact)
    aligner.update(change=ChangeSet(removed_left=fact))
    arguments = ["update", state, "--left", fact]
    kill_at(once_pending(state), state, *arguments, program=(toys.__file__,))
    assert len(aligner.status().reports) == 3
    resumed = everalign_toy(*(arguments if given_again else arguments[:2]))
    assert resumed.returncode == 0, resumed.stderr
    printed = resumed.stdout.splitlines()
    assert printed[0].startswith("Version 3: ")
    assert ("Nothing to do: everything given is known already." in printed) is given_again
    assert [report.left_added_triples for report in aligner.status().reports][1:] == [1, 0, 1]
    assert aligner.status().left_triples == len(toys.LEFT) + 1


def test_decisions_are_taken_up_once_though_killed(
    everalign_toy: Run, tmp_path: Path, toy: Config
) -> None:
    state, slow = tmp_path / "state", Config(method="toy", settings={"seconds": 1.5})
    aligner = Aligner.create(state, toys.LEFT, toys.RIGHT, toys.SEEDS, config=slow)
    aligner.confirm([("Rome", "Рим")])
    kill_at(once_pending(state), state, "update", state, program=(toys.__file__,))
    assert aligner.status().pending == "earlier decisions"
    assert everalign_toy("update", state).stdout.startswith("Version 1: ")
    again = everalign_toy("update", state)
    assert again.stdout == "Nothing to do: no changes given.\n"
    assert aligner.status().reports[-1].notes == ("4 seeds, 0 full passes",)


def once_pending(directory: Path) -> Moment:
    """The delta is in the journal, so the method is about to begin or at work."""
    return lambda state, running: Aligner.open(directory).status().pending is not None
