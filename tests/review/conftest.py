"""An alignment that can be checked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import toy as toys

from everalign import Aligner, Config


@pytest.fixture
def towns(tmp_path: Path, toy: Config) -> Aligner:
    """Oslo 1.0 and Trondheim 0.5 are linked; Bergen 0.33 and Rome 0.25 are proposals."""
    return Aligner.create(tmp_path / "state", toys.LEFT, toys.RIGHT, toys.SEEDS, config=toy)
