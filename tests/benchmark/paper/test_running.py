"""Cells are run, go on after a kill, and fail alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from everalign.benchmark.paper import (
    BenchmarkCell,
    CellFailure,
    CellGrid,
    ComparedSystem,
    PaperDataset,
    run_cells,
)
from everalign.benchmark.protocol import SnapshotResult

pytestmark = pytest.mark.slow

Run = Callable[..., subprocess.CompletedProcess[str]]
QUICK = {"dim": 8, "proxies": 4, "negatives": 64, "max_epochs": 4, "validate_every": 2}


def without_costs(results: Path) -> dict[str, list[SnapshotResult]]:
    """What the runs have found, whatever it has cost."""
    return {
        file.name: [
            {name: value for name, value in record.items() if name in ("t", "f1", "predicted")}
            for record in json.loads(file.read_text())["snapshots"]
        ]
        for file in sorted(results.glob("*.json"))
    }


@pytest.mark.long
def test_killed_and_run_again_it_goes_on_to_the_same_pages(
    everalign: Run, dataset: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    results, pages = tmp_path / "results", tmp_path / "pages"
    command = ["paper", dataset, "--systems", "evidence", "--results", results, "--output", pages]
    file = results / "evidence_sample.json"
    with subprocess.Popen(
        [sys.executable, "-m", "everalign", *map(str, command)], stdout=subprocess.DEVNULL
    ) as process:
        while process.poll() is None and not file.exists():
            time.sleep(0.001)
        process.kill()
    assert process.returncode == -9, "the process was done before it could be killed"
    (state,) = results.glob("*.state")
    wait_until_free(state)
    seconds = json.loads(file.read_text())["snapshots"][0]["seconds"]

    again = everalign(*command)
    assert again.returncode == 0, again.stderr
    assert not list(results.glob("*.state"))
    records = json.loads(file.read_text())["snapshots"]
    assert [record["t"] for record in records] == [0, 1, 2]
    assert records[0]["seconds"] == seconds, "what was done is not done again"

    straight = tmp_path / "straight"
    assert everalign(*command[:-3], straight, "--output", pages).returncode == 0
    assert without_costs(straight) == without_costs(results)

    before = {page.name: page.read_bytes() for page in pages.iterdir()}
    once_more = everalign(*command[:-3], straight, "--output", pages, "--no-run")
    assert once_more.returncode == 0, once_more.stderr
    assert {page.name: page.read_bytes() for page in pages.iterdir()} == before


def wait_until_free(state: Path) -> None:
    """Until the process of the cell has seen that the one it worked for is gone."""
    import fcntl

    lock = next(state.glob("*lock*"))
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with lock.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.05)
            else:
                return
    raise AssertionError("the cell goes on although its command was killed")


def test_a_failing_cell_does_not_stop_the_rest(dataset: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    systems = [
        ComparedSystem("Nobody", "nobody", "continual", "no-such-method", "latest"),
        ComparedSystem(
            "Dual-AMN", "dual-amn", "retraining", "dual-amn", "latest", QUICK, first_snapshot=1
        ),
    ]
    cells = CellGrid(systems, [PaperDataset.open(dataset)], tmp_path)
    seen: list[tuple[str, int]] = []
    told: list[CellFailure] = []

    def watch(cell: BenchmarkCell, record: SnapshotResult) -> None:
        seen.append((cell.system.name, record["t"]))

    failures = run_cells(cells, watch, told.append)
    assert failures == told
    assert [failure.cell.name for failure in told] == ["nobody, sample, t=0-2"]
    assert told[0].problem.startswith("unknown method 'no-such-method'; choose from evidence")
    assert seen == [("dual-amn", 1), ("dual-amn", 2)]
    records = cells.find_records(systems[1], cells.datasets[0])
    # Fitted at the snapshot alone, and yet it is known which entities are new.
    assert all(0 <= record["new_entity_recall"] <= 1 for record in records.values())
    run_cells(cells.list_cells(systems[1], cells.datasets[0]), watch, told.append)
    assert len(seen) == 2, "what is there is not run again"


@pytest.mark.long
def test_side_by_side_cells_find_the_same_on_a_share_of_the_cores(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVERALIGN_THREADS", raising=False)
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores")
    system = ComparedSystem("Evidence", "evidence", "retraining", "evidence", "latest")
    cores = len(os.sched_getaffinity(0))
    seen: list[int] = []
    told: list[CellFailure] = []
    for jobs, share in (1, cores), (cores, 1):
        results = tmp_path / str(jobs)
        cells = CellGrid([system], [PaperDataset.open(dataset)], results)
        run_cells(cells, lambda _, record: seen.append(record["t"]), told.append, jobs)
        files = [json.loads(file.read_text()) for file in results.glob("*.json")]
        assert {file["software"]["cores"] for file in files} == {share}
    assert not told
    assert sorted(seen) == [0, 0, 1, 1, 2, 2]
    assert without_costs(tmp_path / "1") == without_costs(tmp_path / str(cores))


def test_more_jobs_than_cores_are_refused(everalign: Run, dataset: Path, tmp_path: Path) -> None:
    run = everalign(
        "paper", dataset, "--jobs", "9999", "--results", tmp_path, "--output", tmp_path
    )
    assert run.returncode == 2
    assert "9999 jobs need at least 9999 cores, found " in run.stderr
    assert not list(tmp_path.glob("*.json"))


def test_a_failure_makes_the_exit_code_one(everalign: Run, dataset: Path, tmp_path: Path) -> None:
    """A file that holds no run is refused, told, and left as it is; the pages are written."""
    pytest.importorskip("matplotlib")
    results = tmp_path / "results"
    results.mkdir()
    (results / "evidence_sample.json").write_text("mine")
    run = everalign(
        "paper",
        dataset,
        "--systems",
        "evidence",
        "--results",
        results,
        "--output",
        tmp_path / "out",
    )
    assert run.returncode == 1
    assert "evidence, sample, t=0-2 failed:" in run.stderr
    assert (results / "evidence_sample.json").read_text() == "mine"
    assert "| evidence | ours | – | – | – |" in (tmp_path / "out" / "sample.md").read_text()


def test_without_runs_the_pages_have_dashes(everalign: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run = everalign(
        "paper", "--no-run", "--results", tmp_path / "none", "--output", tmp_path / "out"
    )
    assert run.returncode == 0, run.stderr
    page = (tmp_path / "out" / "JA-EN.md").read_text()
    assert "| ContEA | ours | – | – | – | – | – | – |" in page
    assert "Total time: 0.00 core hours." in page
    listed = everalign("paper", "--list", "--systems", "contea", "--results", tmp_path / "none")
    assert listed.stdout.count("missing") == 3


def test_mistakes_are_told_in_a_line(everalign: Run) -> None:
    unknown = everalign("paper", "--no-run", "--systems", "nobody")
    assert unknown.returncode == 2
    assert "unknown system 'nobody'; known systems: mtranse" in unknown.stderr
    nothing = everalign("paper")
    assert nothing.returncode == 2
    assert "give the directories of datasets to run, or --no-run" in nothing.stderr
