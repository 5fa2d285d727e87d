"""Figures of runs: which numbers they show, and that the same runs give the same file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.toy import LEFT, RIGHT, SEEDS

from everalign import Aligner
from everalign.config import Config
from everalign.errors import ConfigError, InputError
from everalign.plotting import FIGURES, PlottedRun, draw_runs, read_runs


@pytest.fixture
def result(tmp_path: Path) -> Path:
    """What `everalign bench` would write, of two snapshots."""
    records = [
        {"t": 0, "precision": 0.8, "f1": 0.7, "predicted": 10, "added": 10, "revised": 0,
         "retracted": 0, "seconds": 4.0},
        {"t": 1, "precision": 0.5, "f1": 0.6, "predicted": 18, "added": 9, "revised": 2,
         "retracted": 3, "seconds": 1.5},
    ]  # fmt: skip
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"method": "toy", "dataset": "XX-$EN$", "snapshots": records}))
    return path


@pytest.fixture
def state(tmp_path: Path, toy: Config) -> Path:
    """An alignment with two versions: Oslo and Trondheim found, then Bergen as well."""
    left, right = LEFT[:5], RIGHT[:4]
    aligner = Aligner.create(tmp_path / "my.state", left, right, SEEDS[:2], config=toy)
    aligner.update(LEFT[5:], RIGHT[4:])
    return tmp_path / "my.state"


def drawn(runs: list[PlottedRun], what: str, path: Path) -> str:
    pytest.importorskip("matplotlib")
    draw_runs(runs, what, path)
    return path.read_text(encoding="utf-8")


def test_a_result_shows_its_correct_links(result: Path) -> None:
    (run,) = read_runs([result])
    assert run.label == "toy, XX-$EN$"
    assert run.get_points("f1") == {0: 0.7, 1: 0.6}
    assert run.get_points("links") == {0: 8, 1: 9}
    assert run.get_points("retracted") == {0: 0, 1: 3}


def test_a_state_shows_its_links_in_force(state: Path) -> None:
    (run,) = read_runs([state])
    reports = Aligner.open(state).status().reports
    assert run.label == "my.state"
    assert run.get_points("links") == {0: reports[0].found_links, 1: reports[1].found_links}
    assert run.get_points("seconds") == {0: reports[0].seconds, 1: reports[1].seconds}
    assert reports[0].found_links > 0


@pytest.mark.slow
@pytest.mark.parametrize("what", FIGURES)
def test_the_same_runs_give_the_same_file(result: Path, what: str, tmp_path: Path) -> None:
    runs = read_runs([result])
    one, two = (drawn(runs, what, tmp_path / f"{name}.svg") for name in ("one", "two"))
    assert one == two
    assert "toy, XX-$EN$" in one
    assert "snapshot" in one


def test_results_and_states_share_a_figure(result: Path, state: Path, tmp_path: Path) -> None:
    figure = drawn(read_runs([result, state]), "growth", tmp_path / "growth.svg")
    for text in ("toy, XX-$EN$: correct", "my.state: in force", "my.state: revised"):
        assert f"<!-- {text} -->" in figure
    assert "<!-- snapshot or version -->" in figure


def test_runs_of_one_method_are_told_apart_by_their_files(result: Path) -> None:
    again = result.with_name("again.json")
    again.write_bytes(result.read_bytes())
    labels = [run.label for run in read_runs([result, again])]
    assert labels == ["toy, XX-$EN$ (mine)", "toy, XX-$EN$ (again)"]


def test_a_png(result: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("one.png", "two.png"):
        draw_runs(read_runs([result]), "time", tmp_path / name)
    one, two = ((tmp_path / name).read_bytes() for name in ("one.png", "two.png"))
    assert one == two
    assert one.startswith(b"\x89PNG")


def test_a_state_has_no_f1(state: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(ConfigError, match=r"my\.state is a state directory and has no F1"):
        draw_runs(read_runs([state]), "f1", tmp_path / "f1.svg")


def test_other_formats_are_refused(result: Path) -> None:
    with pytest.raises(ConfigError, match=r"unsupported format; expected \.svg or \.png"):
        draw_runs(read_runs([result]), "f1", result)


@pytest.mark.parametrize("content", ["no JSON", "[]", '{"rows": []}', '{"snapshots": [{}]}'])
def test_what_is_no_result_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"other\.json: neither a result"):
        read_runs([path])


def test_a_run_that_has_not_begun_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "begun.json"
    path.write_text('{"method": "toy", "dataset": "x", "snapshots": []}')
    with pytest.raises(InputError, match="has no versions yet"):
        read_runs([path])
