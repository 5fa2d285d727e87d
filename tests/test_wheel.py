"""The wheel is all that a user needs: it works in an environment without the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

import everalign
from everalign._kernel_archive import ARCHIVE_PATH
from everalign._kernel_build import build_archive

ROOT = Path(__file__).parents[1]

# Without the paths of editable installs, which lead back to the checkout.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
WHERE = "import everalign, sys; everalign.Aligner; print(everalign.__file__, *sys.path, sep='\\n')"


def run(*command: object, cwd: Path, timeout: int = 280, **variables: str) -> str:
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=CLEAN | variables,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=True,
    ).stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as `make wheel` does it."""
    dist = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", dist, ROOT, cwd=dist)
    (built,) = dist.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment that has the wheel."""
    return install(wheel, tmp_path_factory.mktemp("installed"))


def install(wheel: Path, directory: Path) -> Path:
    """Install the wheel in a new environment, which borrows its dependencies."""
    home = directory / "env"
    venv.create(home, with_pip=False, system_site_packages=False)
    programs = home / ("Scripts" if os.name == "nt" else "bin")
    site = Path(run(programs / "python", "-c", SITE, cwd=home).strip())
    pip = (sys.executable, "-m", "pip", "--python", programs / "python")
    run(*pip, "install", "--no-deps", "--no-index", wheel, cwd=home)
    # A path that is added this way is searched last, and its own .pth files are not read: so
    # the editable install of the checkout stays out of sight.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return programs


SITE = "import sysconfig; print(sysconfig.get_path('purelib'))"


SUFFIXES = (
    ".py",
    ".tsv",
    ".jsonld",
    ".typed",
    ".html",
    ".css",
    ".js",
    ".txt",
    ".properties",
    ".json",
)


@pytest.mark.slow
def test_the_wheel_has_the_data_files_and_nothing_else(wheel: Path) -> None:
    names = set(ZipFile(wheel).namelist())
    package = ROOT / "src" / "everalign"
    sources = [path for path in package.rglob("*") if path.suffix in SUFFIXES]
    wanted = {path.relative_to(package.parent).as_posix() for path in sources}
    assert "everalign/py.typed" in wanted
    assert "everalign/service/static/app.js" in wanted
    # The checkout may have compiled kernels; then the wheel is for one platform.
    if ARCHIVE_PATH.exists():
        wanted.add(f"everalign/{ARCHIVE_PATH.name}")
    assert ("-none-any" in wheel.name) == (not ARCHIVE_PATH.exists())
    assert {name for name in names if ".dist-info/" not in name} == wanted
    assert any(name.endswith("/licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_the_wheel_works_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    file, *paths = run(installed / "python", "-c", WHERE, cwd=tmp_path).splitlines()
    assert Path(file).is_relative_to(installed.parent)
    assert not any(Path(path).is_relative_to(ROOT / "src") for path in paths)
    version = run(installed / "everalign", "--version", cwd=tmp_path)
    assert version == f"everalign, version {everalign.__version__}\n"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_demo_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    demo = installed / "everalign", "demo", "--triples", "1000"
    # With the loops compiled anew, as at the first use after an installation.
    lines = run(*demo, cwd=tmp_path).splitlines()
    assert "precision" in lines[0]
    assert [line.split()[0] for line in lines[1:-1]] == list("012345")
    assert lines[-1] == f"Open the result: {demo[0]} serve everalign-demo.state"
    assert (tmp_path / "everalign-demo.state").is_dir()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_first_use_compiles_for_three_seconds_at_most(tmp_path: Path) -> None:
    build_archive()
    pip = sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", tmp_path
    run(*pip, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    installed = install(wheel, tmp_path)
    run(installed / "everalign", "sample", "twins", "--triples", "5000", cwd=tmp_path)
    recorder = installed / "python", ROOT / "benchmarks" / "compile_time.py", "--record"
    base = tmp_path / "twins" / "base"
    options = {
        "--left": base / "triples_1",
        "--right": base / "triples_2",
        "--seeds": base / "train_links",
    }
    command = (*recorder, "init", "my.state", *(part for pair in options.items() for part in pair))
    record = json.loads(run(*command, cwd=tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache")))
    compiled = {event["kernel"]: event["seconds"] for event in record["events"]}
    assert sum(event["seconds"] for event in record["events"]) <= 3, compiled
