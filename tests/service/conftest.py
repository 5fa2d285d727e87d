"""One alignment, and one server of it, for all tests that change nothing or only decide."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.service.servers import Service, build_alignment, run_service


@pytest.fixture(scope="session")
def served_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An alignment with two versions; to be copied by tests that change it."""
    state = tmp_path_factory.mktemp("service") / "cities.state"
    build_alignment(state)
    return state


@pytest.fixture(scope="session")
def service(served_state: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server with a reader, a reviewer and a curator."""
    directory = tmp_path_factory.mktemp("served")
    state, tokens = directory / "cities.state", directory / "tokens.txt"
    shutil.copytree(served_state, state)
    tokens.write_text(
        "# role token name\nreader reader-token-0123456789\n"
        "reviewer reviewer-token-0123456789 Ada Lovelace\n"
    )
    with run_service(state, "--tokens", str(tokens)) as running:
        yield running


@pytest.fixture(scope="session")
def client(service: Service) -> Iterator[httpx.Client]:
    """A client that may do everything."""
    with service.client() as opened:
        yield opened


@pytest.fixture
def own_state(served_state: Path, tmp_path: Path) -> Path:
    """A copy of the alignment, for one test."""
    return Path(shutil.copytree(served_state, tmp_path / "own.state"))
