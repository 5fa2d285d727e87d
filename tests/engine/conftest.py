"""Apache Spark for the tests of the engine; where it cannot be had, they are skipped."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from everalign.engine.spark import SparkEngine


@pytest.fixture(scope="session")
def spark_installed() -> None:
    if find_spec("pyspark") is None:
        pytest.skip("Apache Spark is not installed: pip install 'everalign[spark]'")
    if shutil.which("java") is None:
        pytest.skip("Apache Spark needs Java 17 or newer, and there is no java")


@pytest.fixture(scope="module")
def engine(
    spark_installed: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkEngine]:
    path: Path = tmp_path_factory.mktemp("engine")
    with SparkEngine(path / "run", "local[2]", min_items=200) as engine:
        yield engine


@pytest.fixture
def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
