from __future__ import annotations

from typing import Any

import pytest

from everalign.benchmark.synthetic import SampleConfig
from everalign.errors import ConfigError


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"triples": 999}, "triples must be at least 1000, got 999"),
        ({"snapshots": 0}, "snapshots must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"growth": -0.1}, "growth must be at least 0, got -0.1"),
        ({"missing_share": 0.96}, "missing_share must be at most 0.95, got 0.96"),
        ({"misspelt_share": float("nan")}, "misspelt_share must be at least 0, got nan"),
        ({"validation_share": 1.1}, "validation_share must be at most 1, got 1.1"),
        (
            {"seed_share": 0.7, "validation_share": 0.4},
            "seed_share and validation_share together must be at most 1",
        ),
    ],
)
def test_a_value_out_of_range_is_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}$"):
        SampleConfig(**setting)


def test_the_whole_gold_of_snapshot_0_may_be_given_away() -> None:
    config = SampleConfig(seed_share=0.75, validation_share=0.25)
    assert config.seed_share + config.validation_share == 1
