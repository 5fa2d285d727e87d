"""The tutorial of two CSV files does what it says, command after command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.conftest import Run
from tests.docs.pages import DOCS, all_blocks, split_block

PAGE = DOCS / "tutorial-csv.md"
SAVED = ("abt.csv", "buy.csv", "known.csv", "abt-2.csv")


@pytest.mark.slow
def test_the_tutorial_runs(everalign: Run, tmp_path: Path) -> None:
    texts = [block.code for block in all_blocks(PAGE) if block.language == "text"]
    told = texts.pop(2)
    named = re.findall(r"as `([\w.-]+csv)`", PAGE.read_text("utf-8"))
    assert tuple(named) == SAVED
    for name, text in zip(SAVED, texts, strict=True):
        (tmp_path / name).write_text(text, "utf-8")
    commands = [
        words
        for block in all_blocks(PAGE)
        if block.language == "sh"
        for words in split_block(block.code)
    ]
    assert len(commands) == 8
    runs = {}
    for _, *arguments in commands:
        runs[arguments[0]] = run = everalign(*arguments)
        assert run.returncode == 0, f"{arguments}: {run.stderr}"
    assert runs["init"].stderr == told
    scores = runs["evaluate"].stdout.splitlines()[1].split()
    assert float(scores[1]) == 1.0  # recall
    exported = (tmp_path / "links.tsv").read_text("utf-8")
    assert "5644\t10312779\t" in exported
    assert "7606" not in exported
    assert "left   12 entities, 8 triples" in runs["status"].stdout  # 8 rows, 4 brands
