"""What the README claims is what was measured, and what was measured is good enough."""

from __future__ import annotations

from typing import Any

import pytest

import tables


def measured(name: str) -> dict[str, Any]:
    result = tables.result(name)
    assert result is not None, f"benchmarks/results/{name} is not there"
    return result


def test_the_tables_of_the_readme_are_made_from_the_results() -> None:
    text = tables.README.read_text(encoding="utf-8")
    assert tables.with_tables(text) == text, "run: python benchmarks/tables.py"


@pytest.mark.parametrize("dataset", tables.DATASETS)
def test_every_snapshot_is_at_least_as_good_as_published(dataset: str) -> None:
    published = tables.published(dataset, "ContEA")
    records = measured(f"contea_{dataset}.json")["snapshots"]
    assert [record["t"] for record in records] == [0, 1, 2, 3, 4, 5]
    for record in records:
        assert record["f1"] > float(published[record["t"]]) - 0.01
        assert record["peak_rss_mb"] < 6000


def test_the_floors_of_zh_en() -> None:
    records = measured("contea_ZH-EN.json")["snapshots"]
    floors = [0.70, 0.546, 0.458, 0.396, 0.348, 0.312]
    assert all(record["f1"] >= floor for record, floor in zip(records, floors, strict=True))


def test_speed() -> None:
    speed = measured("contea_speed.json")
    assert speed["epoch_at_t0"]["ratio"] >= 8
    updates = [value for name, value in speed.items() if name.startswith("update_at_")]
    assert updates
    assert all(update["ratio"] <= 1 / 3 for update in updates)
    assert measured("reading.json")["ratio"] >= 0.5
    assert measured("start.json")["help_seconds"] < 0.3
