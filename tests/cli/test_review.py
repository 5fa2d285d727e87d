"""Reviewing in a pseudo-terminal, reports, and decisions in files."""

from __future__ import annotations

import codecs
import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests import toy as toys

from everalign import Aligner, Config

pytestmark = pytest.mark.slow

pty = pytest.importorskip("pty", reason="needs pseudo-terminals")

Run = Callable[..., subprocess.CompletedProcess[str]]
TIMEOUT_SECONDS = 60


@pytest.fixture
def aligner(tmp_path: Path, toy: Config) -> Aligner:
    return Aligner.create(tmp_path / "state", toys.LEFT, toys.RIGHT, toys.SEEDS, config=toy)


class Terminal:
    """The command `review` in a pseudo-terminal."""

    def __init__(self, directory: Path, *options: str) -> None:
        self._own, its_own = pty.openpty()
        program = Path(toys.__file__)
        self.process = subprocess.Popen(
            [sys.executable, str(program), "review", "state", *options],
            cwd=directory,
            stdin=its_own,
            stdout=its_own,
            stderr=its_own,
            close_fds=True,
        )
        os.close(its_own)
        self.text = ""
        self._position = 0
        # What is read may end within a character.
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def read_until(self, pattern: str) -> str:
        """Read until a pattern comes; gives what comes after the last one, up to its end."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not (match := re.search(pattern, self.text[self._position :])):
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._own], [], [], max(0.0, left))
            assert ready, f"{pattern!r} did not come; the terminal shows\n{self.text}"
            try:
                data = self._decoder.decode(os.read(self._own, 4096))
            except OSError:
                data = ""
            assert data, f"{pattern!r} did not come before the end of\n{self.text}"
            self.text = (self.text + data).replace("\r\n", "\n")
        self._position += match.end()
        return match.string[: match.end()]

    def press(self, keys: str) -> None:
        os.write(self._own, keys.encode())

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._own)


@pytest.fixture
def terminal(aligner: Aligner, tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path, "--author", "ada", "--side", "both")
    yield opened
    opened.close()


def list_decisions(aligner: Aligner) -> list[tuple[str, str, str]]:
    return [(row.kind, row.left, row.right) for row in aligner.decisions()]


def test_keys(aligner: Aligner, terminal: Terminal) -> None:
    shown = terminal.read_until(r"\[1 of 100\] .*\n(.*\n)+?.* \| ")
    assert "Bergen  (left, unlinked)" in shown
    assert "1  Берген, 0.333" in shown
    terminal.press("?")
    terminal.read_until("q  quit")
    terminal.press("e")
    terminal.read_until("0.333  confidence\n.*Norway")
    # No such candidate, and a key that means nothing.
    terminal.press("5zc")
    terminal.read_until("Comment")
    terminal.press("by the sea\n")
    terminal.press("1")
    terminal.read_until(r"same\n(.*\n)*\[2 of 100\] Rome")
    assert list_decisions(aligner) == [("confirmed", "Bergen", "Берген")]
    assert (aligner.decisions()[0].author, aligner.decisions()[0].comment) == ("ada", "by the sea")
    terminal.press("u")
    terminal.read_until(r"undone: Bergen\n(.*\n)*\[1 of 100\] Bergen")
    terminal.press("a")
    terminal.read_until(r"\[2 of 100\] Rome")
    terminal.press("x")
    terminal.read_until(r"\[3 of 100\] Trondheim")
    terminal.press("u")
    terminal.read_until(r"\[2 of 100\] Rome")
    terminal.press("0")
    terminal.read_until(r"\[3 of 100\] Trondheim")
    terminal.press("s")
    terminal.read_until(r"unsure\n(.*\n)*\[4 of 100\] Тронхейм  \(right")
    terminal.press("n")
    terminal.read_until("nothing more to ask")
    terminal.read_until("4 answers recorded")
    assert terminal.process.wait(TIMEOUT_SECONDS) == 0
    assert list_decisions(aligner) == [
        ("confirmed", "Bergen", "Берген"),
        ("withdrawn", "Bergen", "Берген"),
        ("confirmed", "Bergen", "Берген"),
        ("rejected", "Rome", "Рим"),
        ("withdrawn", "Rome", "Рим"),
        ("rejected", "Rome", "Рим"),
        ("unsure", "Trondheim", ""),
        ("no counterpart", "", "Тронхейм"),
    ]
    assert [row.seen_version for row in aligner.decisions()] == [0] * 8


def test_later_and_quit(aligner: Aligner, terminal: Terminal) -> None:
    terminal.read_until(r"\[1 of 100\] Bergen")
    terminal.press(" ")
    terminal.read_until(r"later\n(.*\n)*\[1 of 100\] Rome")
    terminal.press("u")
    terminal.read_until("nothing to undo")
    terminal.press("q")
    terminal.read_until("0 answers recorded")
    assert terminal.process.wait(TIMEOUT_SECONDS) == 0
    assert list_decisions(aligner) == []


def test_review_needs_a_terminal(everalign_toy: Run, aligner: Aligner) -> None:
    result = everalign_toy("review", "state")
    assert result.returncode == 2
    assert "review needs a terminal" in result.stderr


def test_report(everalign_toy: Run, aligner: Aligner, tmp_path: Path) -> None:
    result = everalign_toy("report", "state", "-o", "report.html", "--title", "Towns & <sea>")
    assert result.returncode == 0, result.stderr
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<title>Towns &amp; &lt;sea&gt;</title>" in text


def test_decisions(everalign_toy: Run, aligner: Aligner, tmp_path: Path) -> None:
    aligner.answer("Oslo", "left", "same", ["Осло"], author="ada")
    aligner.answer("Oslo", "left", "different", ["Осло"], author="bo", comment="no")
    table = everalign_toy("decisions", "list", "state").stdout.splitlines()
    assert len(table) == 3
    assert "rejected" in table[2]
    chosen = everalign_toy("decisions", "list", "state", "--author", "bo", "--json")
    found = json.loads(chosen.stdout)
    assert [row["comment"] for row in found] == ["no"]
    disputed = everalign_toy("decisions", "list", "state", "--disagreements", "--json")
    assert len(json.loads(disputed.stdout)) == 4
    (tmp_path / "d.sssom.tsv").write_text("subject_id\nOslo\n")
    refused = everalign_toy("decisions", "import", "state", "d.sssom.tsv")
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1
