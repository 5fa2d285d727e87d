"""Statistics of a dataset that was counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from everalign.benchmark.contea_format import DatasetWriter
from everalign.benchmark.dataset_statistics import SnapshotStatistics, compute_statistics
from everalign.errors import InputError


def test_a_dataset_counted_by_hand(tmp_path: Path) -> None:
    with DatasetWriter.create(tmp_path) as dataset:
        left, right = [("a", "r", "b"), ("b", "s", "c")], [("x", "u", "y")]
        dataset.write_base(left, right, [("a", "x")], [("b", "y")], [("c", "z")])
        more = [("a", "r", "b"), ("c", "r", "d"), ("c", "s", "d")]
        dataset.write_batch(1, more, [], [("c", "z"), ("d", "v")], [("d", "v")])
    assert compute_statistics(tmp_path) == [
        SnapshotStatistics(0, 2, 1, 1, 1, 1, 3, 2, 2, 1, 0, 0),
        SnapshotStatistics(1, 5, 1, 1, 1, 2, 4, 2, 2, 1, 1, 0),
    ]


def test_what_is_no_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="base/triples_1 is missing"):
        compute_statistics(tmp_path)


def test_a_dataset_that_was_broken_off_leaves_nothing(tmp_path: Path) -> None:
    def begin() -> None:
        with DatasetWriter.create(tmp_path / "broken") as dataset:
            dataset.write_base([("a", "r", "b")], [], [], [], [])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin()
    assert list((tmp_path / "broken").iterdir()) == []
