"""What tests of several rooms share: a small dataset, quick settings, the real data."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.toy import register_toy

from everalign.benchmark.synthetic import SampleConfig, generate_sample, write_sample
from everalign.config import Config
from everalign.methods import METHODS

# The same examples in every run, so that a change is to blame when a test fails; to look for
# new ones: pytest --hypothesis-profile random. No deadline: a busy machine is no mistake.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None)
settings.load_profile("steady")

Run = Callable[..., subprocess.CompletedProcess[str]]
QUICK = {"dim": 8, "proxies": 4, "negatives": 64, "max_epochs": 4, "update_max_epochs": 2}


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated dataset of about a thousand triples over three snapshots."""
    directory = tmp_path_factory.mktemp("data") / "sample"
    write_sample(generate_sample(SampleConfig(triples=1500, snapshots=3)), directory)
    return directory


@pytest.fixture(scope="session")
def quick() -> Config:
    """ContEA so small that it learns next to nothing, but in no time."""
    return Config(method="contea", settings=QUICK)


@pytest.fixture(scope="session")
def quick_toml(tmp_path_factory: pytest.TempPathFactory, quick: Config) -> Path:
    path = tmp_path_factory.mktemp("config") / "quick.toml"
    path.write_text(quick.to_toml())
    return path


@pytest.fixture
def toy() -> Iterator[Config]:
    """A method small enough to check by hand: calibrated, and it gives reasons."""
    register_toy()
    yield Config(method="toy")
    del METHODS["toy"]


@pytest.fixture
def everalign(tmp_path: Path) -> Run:
    """Run the command line in a process of its own, in an empty directory."""
    return runner(tmp_path, "-m", "everalign")


@pytest.fixture
def everalign_toy(tmp_path: Path) -> Run:
    """The same, where the method "toy" is known."""
    return runner(tmp_path, str(Path(__file__).with_name("toy.py")))


def runner(directory: Path, *program: str) -> Run:
    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *program, *map(str, arguments)],
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The datasets of the paper; where they are absent, the test is skipped."""
    directory = Path(__file__).parents[2] / "shared" / "data" / "contea"
    if not directory.is_dir():
        pytest.skip("needs the ContEA datasets in ../shared/data/contea")
    return directory
