"""The tutorial does what it says, on the real data, command after command."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, ROOT, all_blocks, check_output

pytestmark = pytest.mark.slow

DATA = ROOT.parent / "shared" / "data" / "dbp15k"


def test_the_tutorial_runs(tmp_path: Path) -> None:
    if not DATA.is_dir():
        pytest.skip("DBP15K is not there: it belongs into ../shared/data/dbp15k")
    found = all_blocks(DOCS / "tutorial.md")
    commands = [
        line for block in found if block.language == "sh" for line in block.code.splitlines()
    ]
    explanation, patch = [block.code for block in found if block.language == "text"]
    (tmp_path / "week-2.rdfp").write_text(patch, encoding="utf-8")
    assert len(commands) == 10
    said = {command: run(command, tmp_path) for command in commands}
    names, scores = (line.split() for line in said[commands[2]].splitlines()[:2])
    assert float(scores[names.index("recall")]) > 0.95
    check_output(explanation, said[commands[3]])
    assert "name in the IRI" in said[commands[3]]
    assert "facts of its entities were removed" not in said[commands[5]]
    links = (tmp_path / "links.sssom.tsv").read_text(encoding="utf-8")
    assert "frdbr:Saint-Joseph-de-Coleraine" in links
    feed = (tmp_path / "links-since-0.rdfp").read_text(encoding="utf-8")
    assert feed.startswith("H id ")


def run(command: str, directory: Path) -> str:
    """What a command prints; it has to end well."""
    words = [word.replace("../shared/data/dbp15k", str(DATA)) for word in shlex.split(command)]
    assert words[0] == "everalign"
    done = subprocess.run(
        [sys.executable, "-m", "everalign", *words[1:]],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
