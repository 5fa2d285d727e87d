"""The measurements on a tiny sample, with a method that learns next to nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import evidence_robust
import evidence_scale
import evidence_speed
from everalign.config import Config

pytest.importorskip("torch")

DELTA = Path(__file__).parents[2] / "benchmarks" / "evidence_delta.py"
SETTINGS = {"dim": 8, "proxies": 4, "negatives": 64, "max_epochs": 2, "update_max_epochs": 1}
QUICK = Config(method="contea", settings=SETTINGS)


def deltas(dataset: Path, directory: Path) -> dict[str, Any]:
    """Measure a delta of ten percent in a process of its own; gives the result file."""
    settings, out = directory / "quick.toml", directory / "out.json"
    settings.write_text(QUICK.to_toml())
    options = ["--shares", "10", "--config", str(settings), "--json", str(out)]
    subprocess.run([sys.executable, str(DELTA), str(dataset), *options], check=True, timeout=240)
    result: dict[str, Any] = json.loads(out.read_text())
    return result


@pytest.mark.slow
def test_a_delta_is_measured_once(dataset: Path, tmp_path: Path) -> None:
    result = deltas(dataset, tmp_path)
    (row,) = result["rows"]
    assert (result["method"], result["seed"], row["share"]) == ("contea", 0, 10)
    assert "numpy" in result["software"]
    assert row["triples"] == pytest.approx(0.1 * row["of_triples"], abs=2)
    assert row["ratio"] == row["update_seconds"] / row["fit_seconds"]
    assert deltas(dataset, tmp_path) == result


@pytest.mark.slow
def test_speed_is_told_for_each_snapshot_and_each_plain_epoch(dataset: Path) -> None:
    assert len(evidence_speed.measure_snapshots(dataset, QUICK)["snapshot_seconds"]) == 3
    assert len(evidence_speed.measure_plain_epochs(dataset, 0)["epoch_seconds"]) == 2


@pytest.mark.slow
def test_a_generated_problem_is_the_one_that_is_fitted(tmp_path: Path) -> None:
    path = tmp_path / "problem.npz"
    evidence_scale.write_task(1000, 0, path)
    row = evidence_scale.measure_fit(path, QUICK)
    assert row["left_triples"] + row["right_triples"] == pytest.approx(1000, rel=0.2)
    assert row["memory_before_mb"] > 0
    assert row["gold"] > 0


@pytest.mark.slow
def test_validation_links_that_are_not_given_are_to_be_found(dataset: Path) -> None:
    wrong = evidence_robust.measure_case(dataset, "20% of the given links wrong", QUICK)
    few = evidence_robust.measure_case(dataset, "50 seeds, no validation links", QUICK)
    assert few["valid"] == 0
    assert few["gold"] + few["seeds"] == wrong["gold"] + wrong["seeds"] + wrong["valid"]
