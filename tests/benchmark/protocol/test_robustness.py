"""Robustness runs: perturbed but comparable, and able to go on after a break."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from everalign._progress import Progress
from everalign._score_noise import add_score_noise, use_score_noise
from everalign.benchmark.contea_format import ContEADataset
from everalign.benchmark.perturbation import NO_PERTURBATION, Perturbation, PerturbationKind
from everalign.benchmark.protocol import BenchmarkRun
from everalign.benchmark.robustness import RobustnessRun, summarise_runs
from everalign.benchmark.synthetic import SampleConfig, generate_sample, write_sample
from everalign.config import Config
from everalign.errors import ConfigError

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("robustness") / "sample"
    write_sample(generate_sample(SampleConfig(triples=2000, snapshots=2)), directory)
    return directory


@pytest.fixture(scope="module")
def benchmark(dataset: Path) -> BenchmarkRun:
    return BenchmarkRun(dataset, Config(method="evidence"), last_snapshot=1)


@pytest.fixture(scope="module")
def result(benchmark: BenchmarkRun, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return RobustnessRun(benchmark, 2).run(tmp_path_factory.mktemp("runs"))


def test_first_run_is_the_plain_benchmark(
    benchmark: BenchmarkRun, result: dict[str, Any], tmp_path: Path
) -> None:
    plain = benchmark.run(tmp_path / "plain.json")["snapshots"]
    first = result["runs"][0]
    assert first["perturbation"] == {}
    assert [row["f1"] for row in first["snapshots"]] == [row["f1"] for row in plain]


def test_summary_has_spread_of_scores_and_links(result: dict[str, Any]) -> None:
    assert set(result["runs"][1]["perturbation"]) == set(PerturbationKind)
    for t, row in enumerate(result["snapshots"]):
        values = [run["snapshots"][t]["f1"] for run in result["runs"]]
        assert row["f1"]["mean"] == pytest.approx(sum(values) / 2)
        assert row["f1"]["range"] == pytest.approx(abs(values[0] - values[1]))
        # Names differ between the runs: without those of the dataset, nothing would agree.
        assert 0.3 < row["always"] <= row["agreement"] <= 1
        assert row["touching_calibration_error"]["mean"] >= 0


def test_interrupted_series_goes_on(benchmark: BenchmarkRun, tmp_path: Path) -> None:
    series = RobustnessRun(replace(benchmark, last_snapshot=0), 3, (PerturbationKind.NOISE,))
    stopped = False

    def stop_in_second_run(stage: str, number: int, total: int) -> None:
        nonlocal stopped
        if (tmp_path / "links0.json").exists() and not stopped:
            stopped = True
            raise KeyboardInterrupt

    progress: Progress = stop_in_second_run
    with pytest.raises(KeyboardInterrupt):
        series.run(tmp_path, progress=progress)
    calls: Counter[str] = Counter()
    seen: list[int] = []
    result = series.run(
        tmp_path,
        on_run=lambda number, _: seen.append(number),
        progress=lambda stage, _number, _total: calls.update([stage]),
    )
    assert seen == [0, 1, 2]
    assert calls["selecting links"] == 2  # the first run was not repeated
    assert len(result["runs"]) == 3
    other = RobustnessRun(replace(benchmark, last_snapshot=0), 3, (PerturbationKind.ORDER,))
    with pytest.raises(ConfigError, match="perturbation differs"):
        other.run(tmp_path)


def test_order_alone_keeps_names_and_split(benchmark: BenchmarkRun, dataset: Path) -> None:
    data = ContEADataset.open(dataset)
    plain = benchmark.anonymise(data)
    perturbation = Perturbation.create(1, [PerturbationKind.ORDER])
    shuffled = replace(benchmark, perturbation=perturbation).anonymise(data)
    one, other = plain.read_delta(0)[0], shuffled.read_delta(0)[0]
    assert one != other
    assert sorted(one) == sorted(other)
    assert plain.seeds() == shuffled.seeds()


def test_split_divides_the_same_links_anew(benchmark: BenchmarkRun, dataset: Path) -> None:
    data = ContEADataset.open(dataset)
    plain = benchmark.anonymise(data)
    perturbation = Perturbation.create(1, [PerturbationKind.SPLIT])
    split = replace(benchmark, perturbation=perturbation).anonymise(data)
    assert len(split.seeds()) == len(plain.seeds())
    assert set(split.seeds()) != set(plain.seeds())
    assert {*split.seeds(), *split.validation_links()} == {
        *plain.seeds(),
        *plain.validation_links(),
    }


def test_noise_is_tiny_and_only_where_asked_for() -> None:
    scores = np.array([0.0, 0.25, 1.0])
    assert add_score_noise(scores) is scores
    with use_score_noise(3):
        noisy = add_score_noise(scores)
    assert noisy[0] == 0
    assert (noisy[1:] != scores[1:]).all()
    assert np.allclose(noisy, scores, rtol=1e-6, atol=0)
    with NO_PERTURBATION.add_noise(0):
        assert add_score_noise(scores) is scores


def test_links_that_no_run_has_agree() -> None:
    row = summarise_runs([[{"t": 0}], [{"t": 0}]], [[[]], [[]]])[0]
    assert row == {"t": 0, "agreement": 1.0, "always": 1.0}


def test_command_prints_mean_and_spread(everalign_toy: Run, dataset: Path, tmp_path: Path) -> None:
    run = everalign_toy(
        "bench", dataset, "--method", "toy", "--perturb", 2, "--json", "robust.json"
    )
    assert run.returncode == 0, run.stderr
    assert "f1 range" in run.stdout
    result = json.loads((tmp_path / "robust.json").read_text())
    assert [row["t"] for row in result["snapshots"]] == [0, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["robust.json"]


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--perturb", "1"], "x>=2"), (["--perturbation", "order"], "needs that option")],
)
def test_wrong_options(
    everalign_toy: Run, dataset: Path, options: list[str], message: str
) -> None:
    run = everalign_toy("bench", dataset, *options)
    assert run.returncode == 2
    assert message in run.stderr
