"""A sample never mixes with what is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from everalign.benchmark.synthetic import SampleConfig, generate_sample, write_sample
from everalign.errors import InputError


def test_a_directory_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "README"
    mine.write_text("mine")
    with pytest.raises(InputError, match="is not empty"):
        write_sample(generate_sample(SampleConfig(triples=1000, snapshots=1)), tmp_path)
    assert mine.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [mine]
