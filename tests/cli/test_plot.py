"""The command that draws runs, with matplotlib and without."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import runner

Run = Callable[..., subprocess.CompletedProcess[str]]

WITHOUT_MATPLOTLIB = """
import sys
sys.modules["matplotlib"] = None
from everalign.cli.main import main
main()
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def result(everalign_toy: Run, dataset: Path, tmp_path: Path) -> Path:
    """A run over the first two snapshots of the sample."""
    command = ["bench", dataset, "--method", "toy", "--snapshots", "0-1", "--json", "toy.json"]
    assert everalign_toy(*command).returncode == 0
    return tmp_path / "toy.json"


def test_a_benchmark_is_drawn(everalign: Run, result: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for metric in ("f1", "growth", "time"):
        run = everalign("plot", result, "--metric", metric, "--output", f"{metric}.svg")
        assert run.returncode == 0, run.stderr
        assert run.stdout == f"Wrote {metric}.svg ({metric} of 1 run).\n"
        name = json.loads(result.read_text())["dataset"]
        assert f"toy, {name}" in (tmp_path / f"{metric}.svg").read_text(encoding="utf-8")


def test_errors_are_one_line(everalign: Run, result: Path, tmp_path: Path) -> None:
    for arguments, words in (
        (["nowhere.json", "--output", "x.svg"], "nowhere.json: does not exist"),
        ([result, "--output", "x.pdf"], ".svg or .png"),
        ([tmp_path, "--output", "x.svg"], "not an EverAlign state directory"),
        (["--output", "x.svg"], "RUNS"),
    ):
        run = everalign("plot", *arguments)
        assert run.returncode == 2
        assert len(run.stderr.splitlines()) == 1
        assert words in run.stderr
    assert list(tmp_path.glob("x.*")) == []


def test_without_matplotlib_the_extra_is_named(result: Path, tmp_path: Path) -> None:
    run = runner(tmp_path, "-c", WITHOUT_MATPLOTLIB)("plot", result, "--output", "f1.svg")
    assert run.returncode == 2
    assert run.stderr == ("everalign: figures need matplotlib: pip install 'everalign[plots]'\n")
