"""What --verbose logs, and how an error that nobody has foreseen is told."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.toy import write_files

import everalign
from everalign import Aligner, Config

Run = Callable[..., subprocess.CompletedProcess[str]]

INIT = ("init", "state", "--left", "left.tsv", "--right", "right.tsv", "--seeds", "seeds.tsv")
STEPS = (
    "everalign.io.reader: left.tsv read as tab-separated: 13 triples, 0 literals, ",
    "everalign.state.store: delta 0 journalled: left.tsv, right.tsv, seeds.tsv (",
    "everalign.pipeline: method toy, fit: ",
    "threshold 0.500",
    "everalign.state.store: version 0 committed, ",
    "everalign.pipeline: version 0: 2 links added, 0 revised, 0 retracted, 2 in force, ",
)
FAILING = """
import sys
from everalign.aligner import Aligner
from everalign.cli.main import main

def fail(state):
    raise KeyError("no such\\nthing")

Aligner.open = fail
main(sys.argv[1:])
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    write_files(tmp_path)


def test_each_step_is_logged_to_standard_error(everalign_toy: Run) -> None:
    run = everalign_toy("-v", *INIT, "--method", "toy")
    assert run.returncode == 0, run.stderr
    for step in STEPS:
        assert step in run.stderr
    assert "DEBUG" not in run.stderr
    assert run.stdout.startswith("Version 0: ")


def test_nothing_is_logged_unless_asked_for(everalign_toy: Run) -> None:
    assert everalign_toy(*INIT, "--method", "toy").stderr == ""


@pytest.mark.slow
def test_the_option_may_follow_the_command_and_be_given_twice(everalign_toy: Run) -> None:
    run = everalign_toy(*INIT, "--method", "toy", "-vv")
    assert " DEBUG everalign.pipeline: method toy, fit: started" in run.stderr
    both = everalign_toy("-v", "update", "state", "--full", "--verbose")
    assert " DEBUG everalign.pipeline: method toy, update: started" in both.stderr


def test_the_option_belongs_to_commands_in_a_group_too(everalign_toy: Run) -> None:
    assert "-v, --verbose" in everalign_toy("datasets", "stats", "--help").stdout


def test_a_program_gets_the_log_of_the_package(
    toy: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    left, right, seeds = (tmp_path / f"{name}.tsv" for name in ("left", "right", "seeds"))
    with caplog.at_level(logging.INFO, logger="everalign"):
        Aligner.create(tmp_path / "state", left, right, seeds, config=toy)
    assert {record.name for record in caplog.records} == {
        "everalign.io.reader",
        "everalign.state.store",
        "everalign.pipeline",
    }
    handlers = logging.getLogger("everalign").handlers
    assert any(isinstance(handler, logging.NullHandler) for handler in handlers)


@pytest.mark.parametrize("verbose", [False, True])
def test_an_unexpected_error_is_one_line_with_where_to_report_it(verbose: bool) -> None:
    command = [sys.executable, "-c", FAILING, *["-v"] * verbose, "status", "state"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 70
    assert run.stdout == ""
    *trace, last = run.stderr.splitlines()
    assert last.startswith("everalign: unexpected error: KeyError: ")
    assert "/everalign/issues" in last
    assert bool(trace) == verbose
    assert ("Traceback" in run.stderr) == verbose


def test_the_version_is_that_of_the_package(everalign_toy: Run) -> None:
    assert everalign_toy("--version").stdout == f"everalign, version {everalign.__version__}\n"
