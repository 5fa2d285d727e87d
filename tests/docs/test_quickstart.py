"""The quickstart and the first commands of the README do what they say, one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import Run
from tests.docs.pages import DOCS, ROOT, SHELL, all_blocks, blocks, check_output, split_block


@pytest.mark.slow
def test_the_quickstart_runs(everalign: Run, tmp_path: Path) -> None:
    output, entity = "", ""
    for block in all_blocks(DOCS / "quickstart.md"):
        if block.language == "text":
            check_output(block.code, output)
        elif block.language == "sh" and block.runs:
            printed = []
            for _, *arguments in split_block(block.code):
                run = everalign(*(entity if word == "ENTITY" else word for word in arguments))
                assert run.returncode == 0, f"{arguments}: {run.stderr}"
                printed.append(run.stdout)
                if arguments[0] == "links" and not entity:
                    entity = run.stdout.partition("\t")[0]
            output = "".join(printed)
    assert output


@pytest.mark.slow
def test_the_first_commands_of_the_readme_run(everalign: Run) -> None:
    _, first_try, *_ = blocks(ROOT / "README.md", *SHELL)
    commands = [words for words in split_block(first_try) if words[0] == "everalign"]
    assert len(commands) == 5
    for _, *arguments in commands:
        run = everalign(*arguments)
        assert run.returncode == 0, f"{arguments}: {run.stderr}"
