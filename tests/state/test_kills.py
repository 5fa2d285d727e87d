"""Killed at any point that reaches the disk, commands can be run again and lose nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kill_test
from everalign.methods import METHODS


@pytest.fixture(autouse=True)
def _forget_method() -> Iterator[None]:
    yield
    METHODS.pop("same-id", None)


@pytest.mark.parametrize("kills", [8, pytest.param(50, marks=pytest.mark.slow)])
def test_nothing_acknowledged_is_lost(kills: int) -> None:
    assert kill_test.run_trials(kills, seed=kills) > 100
