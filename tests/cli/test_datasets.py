"""Building a dataset, counting it and running a method on it, as a user does."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.benchmark.dataset_builder.wheels import write_wheels

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def options(tmp_path: Path) -> list[object]:
    sources = write_wheels(tmp_path)
    graphs = ["--left", sources.left, "--right", sources.right, "--links", sources.links]
    return [*graphs, "--base-left", sources.base_left, "--base-right", sources.base_right]


@pytest.mark.slow
def test_build_count_and_run(everalign_toy: Run, options: list[object], tmp_path: Path) -> None:
    made = everalign_toy("datasets", "build", "wheels", *options, "--snapshots", 3)
    assert made.returncode == 0, made.stderr
    assert made.stderr == ""
    assert made.stdout.endswith("Wrote 3 snapshots to wheels. Next: everalign bench wheels\n")
    counted = everalign_toy("datasets", "stats", "wheels")
    assert counted.stdout in made.stdout
    rows = json.loads(everalign_toy("datasets", "stats", "wheels", "--json").stdout)
    assert [row["left_triples"] for row in rows] == [10, 12, 14]
    assert {(row["train"], row["valid"]) for row in rows} == {(2, 1)}
    run = everalign_toy("bench", "wheels", "--method", "toy", "--json", "out.json")
    assert run.returncode == 0, run.stderr
    result = json.loads((tmp_path / "out.json").read_text())
    assert [record["gold"] for record in result["snapshots"]] == [row["test"] for row in rows]


def test_skipped_links_are_reported(everalign: Run, options: list[object], tmp_path: Path) -> None:
    with (tmp_path / "links").open("a") as file:
        file.write("nobody\tr-hub0\n")
    made = everalign("datasets", "build", "wheels", *options)
    assert made.stdout.startswith("note: 1 link skipped: entity without triples\n")


@pytest.mark.slow
def test_errors_are_one_line(everalign: Run, options: list[object], tmp_path: Path) -> None:
    for arguments, words in (
        (["build", "x", *options[:4]], "--links"),
        (["build", "x", *options, "--growth", "-1"], "growth must be greater than 0"),
        (["build", "x", *options[:-2]], "snapshot 0 must be given for both graphs or for neither"),
        (["build", ".", *options], "is not empty"),
        (["stats", "nowhere"], "nowhere: is not a directory"),
    ):
        result = everalign("datasets", *arguments)
        assert result.returncode == 2
        assert result.stdout == ""
        assert len(result.stderr.splitlines()) == 1
        assert words in result.stderr
    assert not (tmp_path / "x").exists()
