"""Charts as Vega-Lite: which numbers they hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests import toy as toys

from everalign import Aligner, Config, ConfigError, StateError

altair = pytest.importorskip("altair")


@pytest.fixture
def towns(tmp_path: Path, toy: Config) -> Aligner:
    """Oslo 1.0 and Trondheim 0.5 are linked; Bergen 0.33 and Rome 0.25 are proposals."""
    return Aligner.create(tmp_path / "state", toys.LEFT, toys.RIGHT, toys.SEEDS, config=toy)


def read_rows(chart: Any) -> list[dict[str, Any]]:
    """Read the data of a chart, which is valid Vega-Lite, as a notebook gets it."""
    content = chart.to_dict(validate=True)
    layers = content.get("layer", [content])
    rows: list[dict[str, Any]] = layers[-1]["data"]["values"]
    return rows


def test_histogram_of_confidence(towns: Aligner) -> None:
    rows = read_rows(towns.charts().draw_confidence())
    assert len(rows) == 40
    counts = [(row["state"], round(row["start"], 2), row["links"]) for row in rows if row["links"]]
    assert counts == [
        ("proposed", 0.25, 1),
        ("proposed", 0.3, 1),
        ("found", 0.5, 1),
        ("found", 0.95, 1),
    ]


def test_links_over_versions(towns: Aligner) -> None:
    towns.reject([("Oslo", "Осло")], apply=True)
    rows = read_rows(towns.charts().draw_versions())
    counts = {(row["version"], row["state"]): row["links"] for row in rows}
    assert counts == {
        (0, "given"): 3,
        (0, "found"): 2,
        (0, "rejected"): 0,
        (1, "given"): 3,
        (1, "found"): 1,
        (1, "rejected"): 1,
    }


def test_expected_precision_and_recall(towns: Aligner) -> None:
    rows = read_rows(towns.charts().draw_thresholds())
    at_half = {row["score"]: row for row in rows if row["threshold"] == 0.5}
    assert at_half["precision"]["links"] == 2
    assert at_half["precision"]["value"] == pytest.approx(1.5 / 2)
    assert at_half["recall"]["value"] == pytest.approx(1.5 / (1 + 1 / 2 + 1 / 3 + 1 / 4))


def test_measured_precision_recall_and_calibration(towns: Aligner) -> None:
    gold = [("Oslo", "Осло"), ("Trondheim", "Берген")]
    evaluation = towns.evaluate(gold, thresholds=[0.0, 0.5, 0.9])
    rows = read_rows(towns.charts().draw_thresholds(evaluation))
    values = {(row["threshold"], row["score"]): row["value"] for row in rows}
    assert (values[0.5, "precision"], values[0.5, "recall"], values[0.5, "f1"]) == (0.5, 0.5, 0.5)
    assert (values[0.9, "precision"], values[0.9, "recall"]) == (1.0, 0.5)
    points = read_rows(towns.charts().draw_calibration(evaluation))
    assert points[-2:] == [
        {"confidence": 0.5, "correct": 0.0, "links": 1},
        {"confidence": 1.0, "correct": 1.0, "links": 1},
    ]
    with pytest.raises(ConfigError, match="no thresholds"):
        towns.charts().draw_thresholds(towns.evaluate(gold))


def test_calibration_by_decisions(towns: Aligner) -> None:
    assert read_rows(towns.charts().draw_calibration()) == []
    towns.confirm([("Oslo", "Осло")])
    towns.reject([("Trondheim", "Тронхейм")])
    assert read_rows(towns.charts().draw_calibration()) == [
        {"confidence": 0.5, "correct": 0.0, "links": 1},
        {"confidence": 1.0, "correct": 1.0, "links": 1},
    ]


def test_no_chart_names_an_entity(towns: Aligner) -> None:
    charts = towns.charts()
    drawn = (charts.draw_confidence, charts.draw_versions, charts.draw_thresholds)
    assert all("Осло" not in draw().to_json(ensure_ascii=False) for draw in drawn)


def test_altair_is_imported_when_a_chart_is_drawn(
    towns: Aligner, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import sys; from everalign import AlignmentCharts; sys.exit('altair' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ConfigError, match=r"pip install 'everalign\[charts\]'"):
        towns.charts().draw_confidence()


def test_without_a_version_there_is_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(StateError):
        Aligner(tmp_path).charts()
