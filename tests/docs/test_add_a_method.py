"""The page "Add a method" leads where it says: to a method that is installed and holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, ROOT, blocks

PAGE = DOCS / "concepts" / "add-a-method.md"
NAME = "shared-neighbours"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of packages with the one of the page, as pip would leave it."""
    directory = tmp_path_factory.mktemp("packages")
    project = tomllib.loads(blocks(PAGE, "toml")[0])["project"]
    (directory / "shared_neighbours.py").write_text(blocks(PAGE, "python")[0])
    about = directory / f"shared_neighbours-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = project["entry-points"].items()
    (about / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
            for group, points in groups
        )
    )
    return directory


def run(packages: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    paths = [str(packages), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.slow
def test_the_command_line_knows_it(installed: Path, tmp_path: Path) -> None:
    listed = run(installed, "everalign", "methods", "--json", cwd=tmp_path)
    assert NAME in [method["name"] for method in json.loads(listed.stdout)]
    demo = run(installed, "everalign", "demo", "--method", NAME, "--triples", "3000", cwd=tmp_path)
    assert demo.returncode == 0, demo.stderr


@pytest.mark.slow
def test_the_contract_tests_run_over_it_and_pass(installed: Path) -> None:
    tests = run(
        installed, "pytest", "tests/contract", "-k", NAME, "-p", "no:cacheprovider", cwd=ROOT
    )
    assert tests.returncode == 0, tests.stdout
    assert " passed" in tests.stdout


@pytest.mark.slow
@pytest.mark.long
def test_a_broken_package_stops_nobody_who_uses_another(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "broken-1.dist-info").mkdir()
    (tmp_path / "broken-1.dist-info" / "METADATA").write_text("Name: broken\nVersion: 1\n")
    points = "[everalign.methods]\nbroken = nowhere:ENTRY\n"
    (tmp_path / "broken-1.dist-info" / "entry_points.txt").write_text(points)
    good = run(
        tmp_path, "everalign", "demo", "--method", "evidence", "--triples", "1000", cwd=tmp_path
    )
    assert good.returncode == 0, good.stderr
    bad = run(tmp_path, "everalign", "demo", "--method", "broken", cwd=tmp_path)
    assert bad.returncode == 2
    assert "method 'broken' (nowhere:ENTRY): ModuleNotFoundError" in bad.stderr
