"""Completion by the shell, asked as the scripts of the shells ask."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests import toy as toys

from everalign import Aligner, Config


def complete(directory: Path, words: str) -> list[str]:
    """What bash is offered for the last word."""
    environment = {
        **os.environ,
        "_EVERALIGN_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    program = "import sys; sys.argv[0] = 'everalign'; from everalign.cli.main import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return [line.partition(",")[2] for line in run.stdout.splitlines() if line]


def test_commands_states_and_versions_are_completed(tmp_path: Path, toy: Config) -> None:
    Aligner.create(tmp_path / "my.state", toys.LEFT, toys.RIGHT, toys.SEEDS, config=toy)
    (tmp_path / "other").mkdir()
    assert complete(tmp_path, "everalign lin") == ["links"]
    assert complete(tmp_path, "everalign links ") == ["my.state"]
    assert complete(tmp_path, "everalign links my.state --at ") == ["0"]
    assert complete(tmp_path, "everalign diff my.state 0 ") == ["0"]
    assert complete(tmp_path, "everalign links other --at ") == []


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".local/share/bash-completion/completions/everalign"),
        ("zsh", ".zfunc/_everalign"),
        ("fish", ".config/fish/completions/everalign.fish"),
    ],
)
def test_a_script_is_installed(tmp_path: Path, shell: str, file: str) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "SHELL": f"/bin/{shell}"}
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        environment.pop(name, None)
    run = subprocess.run(
        [sys.executable, "-m", "everalign", "--install-completion"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert run.stdout.startswith(f"Wrote {tmp_path / file}.")
    assert "_EVERALIGN_COMPLETE" in (tmp_path / file).read_text(encoding="utf-8")


def test_an_unknown_shell_has_to_be_named(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "SHELL": "/bin/csh"}
    run = subprocess.run(
        [sys.executable, "-m", "everalign", "--install-completion"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 2
    assert "name the shell" in run.stderr
    assert list(tmp_path.iterdir()) == []
