"""A state that tests copy: to make one takes seconds."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.state.small_states import make_state


@pytest.fixture(scope="session")
def whole_state(tmp_path_factory: pytest.TempPathFactory, dataset: Path) -> Path:
    """An alignment of the evidence method; not to be changed."""
    state = tmp_path_factory.mktemp("whole") / "state"
    make_state(state, dataset)
    return state
