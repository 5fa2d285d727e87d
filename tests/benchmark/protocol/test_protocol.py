"""The benchmark protocol: honest about ids, and able to go on after a break."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests import toy as toys

from everalign._progress import Progress
from everalign.aligner import Aligner
from everalign.benchmark.contea_format import ContEADataset
from everalign.benchmark.metrics import (
    Correction,
    calibration_error,
    find_corrections,
    read_corrections,
    score_links,
)
from everalign.benchmark.protocol import BenchmarkRun, SnapshotResult
from everalign.benchmark.synthetic import SampleConfig, generate_sample, write_sample
from everalign.config import Config
from everalign.errors import ConfigError, InputError
from everalign.matching import CandidatePairs
from everalign.methods import METHODS, AlignmentTask, MethodEntry, StateArrays, register_method


class ById:
    """A cheat: the n-th free left entity is the n-th free right one."""

    def fit(self, problem: AlignmentTask, progress: Progress) -> None: ...

    def update(self, problem: AlignmentTask, progress: Progress) -> None: ...

    def candidates(self, problem: AlignmentTask, progress: Progress) -> CandidatePairs:
        left, right = problem.unlinked_entities()
        count = min(len(left), len(right))
        return CandidatePairs.from_columns(left[:count], right[:count], np.ones(count))

    def save(self) -> StateArrays:
        return {"nothing": np.zeros(1)}

    def load(self, arrays: StateArrays) -> None: ...


@pytest.fixture
def cheat() -> Iterator[Config]:
    register_method(MethodEntry("by-id", "links by id", lambda settings, seed: ById()))
    yield Config(method="by-id")
    del METHODS["by-id"]


def leaky_dataset(directory: Path, pairs: int = 300) -> Path:
    """A dataset in which entity i and entity -i are the same, and stand in the same line."""
    base = directory / "base"
    base.mkdir(parents=True)
    lines = range(1, pairs)
    (base / "triples_1").write_text("".join(f"{i}\t0\t{i + 1}\n" for i in lines))
    (base / "triples_2").write_text("".join(f"-{i}\t1\t-{i + 1}\n" for i in lines))
    links = [f"{i}\t-{i}\n" for i in lines]
    for name, part in [("train", links[:60]), ("valid", links[60:90]), ("test", links[90:])]:
        (base / f"{name}_links").write_text("".join(part))
    return directory


def test_ids_and_file_order_tell_nothing(tmp_path: Path, cheat: Config) -> None:
    data = leaky_dataset(tmp_path / "leaky")
    result = BenchmarkRun(data, cheat, 0, 0).run(tmp_path / "out.json")
    assert result["snapshots"][0]["f1"] < 0.05


@pytest.mark.slow
def test_the_score_does_not_depend_on_the_ids_of_a_dataset(tmp_path: Path) -> None:
    """The same graphs under other ids and in another order give the same score, but for noise."""
    pytest.importorskip("torch")
    one, two = tmp_path / "one", tmp_path / "two"
    for directory in (one, two):
        write_sample(generate_sample(SampleConfig(triples=4000, snapshots=1)), directory)
    for name in ("triples_1", "triples_2"):
        file = two / "base" / name
        file.write_text("".join(sorted(file.read_text().splitlines(keepends=True))))
    settings = {"dim": 32, "max_epochs": 60, "validate_every": 10}
    config = Config(method="contea", settings=settings)
    scores = [
        BenchmarkRun(data, config, 0, 0).run(tmp_path / f"{data.name}.json")["snapshots"][0]["f1"]
        for data in (one, two)
    ]
    assert scores[0] > 0.2
    assert scores[0] == pytest.approx(scores[1], abs=0.1)


@pytest.mark.slow
def test_the_records_have_what_the_paper_reports(
    tmp_path: Path, dataset: Path, quick: Config
) -> None:
    seen: list[SnapshotResult] = []
    out = tmp_path / "out.json"
    BenchmarkRun(dataset, quick, 0, 2).run(out, on_result=seen.append)
    result = json.loads(out.read_text())
    assert result["snapshots"] == seen
    assert [record["t"] for record in seen] == [0, 1, 2]
    assert (result["dataset"], result["method"], result["seed"]) == ("sample", "contea", 0)
    assert result["config"]["merge_rule"] == "best", "not auto: a run is known by what it does"
    links = 0
    for record in seen:
        assert (record["calibration_error"], record["threshold"]) == (None, None)
        links += record["added"] + record["revised"] - record["retracted"]
        assert record["predicted"] == links
        assert record["peak_rss_mb"] > 0
    assert seen[0]["new_entity_recall"] is None
    assert 0 <= seen[2]["new_entity_recall"] <= 1
    assert seen[0]["correct_lost"] is None
    assert 0 <= seen[2]["correct_lost"] <= seen[2]["retracted"] + seen[2]["revised"]


@pytest.mark.slow
def test_a_run_that_was_broken_off_goes_on_where_it_was(
    tmp_path: Path, dataset: Path, quick: Config
) -> None:
    class BreakError(Exception):
        pass

    def break_off(record: SnapshotResult) -> None:
        if record["t"] == 1:
            raise BreakError

    out, straight = tmp_path / "broken.json", tmp_path / "straight.json"
    benchmark = BenchmarkRun(dataset, quick, 0, 2)
    with pytest.raises(BreakError):
        benchmark.run(out, on_result=break_off)
    (state,) = tmp_path.glob("broken.json.*.state")
    before = [report.made_at for report in Aligner.open(state).status().reports]
    assert len(before) == 2
    resumed = benchmark.run(out)["snapshots"]
    expected = benchmark.run(straight)["snapshots"]
    assert resumed[0]["seconds"] != expected[0]["seconds"], "what was done is not done again"
    for mine, theirs in zip(resumed, expected, strict=True):
        for figure in ("precision", "recall", "predicted", "added", "revised", "retracted"):
            assert mine[figure] == theirs[figure]


@pytest.mark.slow
def test_a_finished_run_is_not_run_again(tmp_path: Path, dataset: Path, quick: Config) -> None:
    out = tmp_path / "out.json"
    first = BenchmarkRun(dataset, quick, 0, 0).run(out)
    assert BenchmarkRun(dataset, quick, 0, 0).run(out)["snapshots"] == first["snapshots"]


@pytest.mark.slow
def test_another_run_is_not_overwritten(tmp_path: Path, dataset: Path, quick: Config) -> None:
    out = tmp_path / "out.json"
    BenchmarkRun(dataset, quick, 0, 0).run(out)
    with pytest.raises(ConfigError, match="result of another run"):
        BenchmarkRun(dataset, replace(quick, settings={**quick.settings, "dim": 4}), 0, 0).run(out)


def test_a_snapshot_that_is_not_there(tmp_path: Path, dataset: Path, quick: Config) -> None:
    with pytest.raises(InputError, match="has snapshots 0-2, not 0-5"):
        BenchmarkRun(dataset, quick, 0, 5).run(tmp_path / "out.json")


def test_a_calibrated_method_is_held_to_its_word(tmp_path: Path, toy: Config) -> None:
    base = tmp_path / "towns" / "base"
    base.mkdir(parents=True)
    test = [("Oslo", "Осло"), ("Trondheim", "Берген")]
    files: dict[str, Sequence[tuple[str, ...]]] = {
        "triples_1": toys.LEFT,
        "triples_2": toys.RIGHT,
        "train_links": toys.SEEDS,
        "valid_links": [("Fjord", "Океан")],
        "test_links": test,
    }
    for name, rows in files.items():
        (base / name).write_text("".join("\t".join(row) + "\n" for row in rows))
    (record,) = BenchmarkRun(base.parent, toy).run(tmp_path / "out.json")["snapshots"]
    assert record["threshold"] == 0.5
    # Oslo is right with 1.0, Trondheim wrong with 0.5.
    assert record["calibration_error"] == pytest.approx(0.25)
    names = list(record)
    assert names[names.index("f1") + 1 :][:2] == ["calibration_error", "threshold"]


def test_the_calibration_error_weighs_bins_by_their_links() -> None:
    sure, half = [0.95, 0.95, 0.95, 0.95], [0.5, 0.5]
    right = [True, True, True, False, True, False]
    # The upper bin promises 0.95 and keeps 0.75 for 4 links of 6; the other one is right.
    assert calibration_error(sure + half, right) == pytest.approx(0.2 * 4 / 6)
    assert calibration_error(sure + half, right, bins=1) == pytest.approx(0.8 - 4 / 6)
    assert calibration_error([1.0, 0.0], [True, False]) == 0
    assert calibration_error([], []) == 0


def test_scores_without_a_denominator_are_zero() -> None:
    nothing = score_links([], [])
    assert (nothing.precision, nothing.recall, nothing.f1) == (0, 0, 0)


@pytest.mark.slow
def test_no_run_goes_on_with_the_state_of_another(
    tmp_path: Path, dataset: Path, quick: Config
) -> None:
    def break_off(record: SnapshotResult) -> None:
        raise InterruptedError

    out, straight = tmp_path / "out.json", tmp_path / "straight.json"
    with pytest.raises(InterruptedError):
        BenchmarkRun(dataset, quick, 0, 1).run(out, on_result=break_off)
    out.unlink()
    later = BenchmarkRun(dataset, quick, 1, 1)
    mine, theirs = (later.run(path)["snapshots"][0]["predicted"] for path in (out, straight))
    assert mine == theirs
    with pytest.raises(ConfigError, match="result of another run"):
        BenchmarkRun(dataset, quick, 0, 1).run(out)


@pytest.mark.slow
def test_another_dataset_of_the_same_name_is_another_run(tmp_path: Path, quick: Config) -> None:
    out = tmp_path / "out.json"
    for seed, folder in enumerate(("one", "two")):
        write_sample(
            generate_sample(SampleConfig(triples=1500, snapshots=1, seed=seed)),
            tmp_path / folder / "s",
        )
    BenchmarkRun(tmp_path / "one" / "s", quick).run(out)
    with pytest.raises(ConfigError, match="content differs"):
        BenchmarkRun(tmp_path / "two" / "s", quick).run(out)


@pytest.mark.parametrize("content", ["[]", "5", "{}", "nonsense"])
def test_a_file_that_is_no_result_is_not_overwritten(
    tmp_path: Path, dataset: Path, quick: Config, content: str
) -> None:
    out = tmp_path / "out.json"
    out.write_text(content)
    with pytest.raises(ConfigError, match="not a benchmark result"):
        BenchmarkRun(dataset, quick).run(out)
    assert out.read_text() == content


@pytest.mark.slow
@pytest.mark.parametrize("file", ["base/test_links", "base/train_links"])
def test_a_link_of_nobody_is_told_with_its_file(
    tmp_path: Path, dataset: Path, quick: Config, file: str
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(dataset, broken)
    with (broken / file).open("a") as links:
        links.write("x\ty\n")
    with pytest.raises(InputError, match=rf"{file}: 'x' is not an entity of the left graph"):
        BenchmarkRun(broken, quick, 0, 0).run(tmp_path / "out.json")


@pytest.mark.slow
def test_a_snapshot_that_adds_nothing_is_refused(
    tmp_path: Path, dataset: Path, quick: Config
) -> None:
    idle = tmp_path / "idle"
    shutil.copytree(dataset, idle)
    for name in ("new_triples_1", "new_triples_2"):
        shutil.copy(idle / "batch1" / name, idle / "batch2" / name)
    with pytest.raises(InputError, match="snapshot 2 adds no triples"):
        BenchmarkRun(idle, quick).run(tmp_path / "out.json")


def test_corrections_share_an_entity_with_what_was_wrong() -> None:
    before = {("a", "y"): 0.3, ("c", "z"): 0.4, ("d", "w"): 0.9}
    now = {("a", "x"): 0.8, ("b", "y"): 0.7, ("c", "v"): 0.6, ("d", "w"): 0.9}
    found = find_corrections(before, now, [("a", "x"), ("b", "y"), ("c", "z"), ("d", "w")])
    # a got its x, y its b; c – z was right and is lost, d – w was right all the time.
    assert found == [
        Correction("a", "y", 0.3, "a", "x", 0.8),
        Correction("a", "y", 0.3, "b", "y", 0.7),
    ]


@pytest.mark.slow
def test_corrected_links_are_kept_by_the_names_of_the_dataset(tmp_path: Path) -> None:
    dataset = tmp_path / "sample"
    # Large enough that a few links are corrected.
    write_sample(generate_sample(SampleConfig(triples=3000, snapshots=3, seed=3)), dataset)
    last = BenchmarkRun(dataset, Config()).run(tmp_path / "out.json")["snapshots"][-1]
    rows = read_corrections(tmp_path / "out.corrected.tsv")
    # A correct link may correct two wrong ones.
    assert (
        len({(row.corrected_left, row.corrected_right) for row in rows}) == last["corrected"] > 0
    )
    gold = set(ContEADataset.open(dataset).test_links(2))
    for row in rows:
        assert (row.corrected_left, row.corrected_right) in gold
        assert (row.left, row.right) not in gold
        assert row.left == row.corrected_left or row.right == row.corrected_right
