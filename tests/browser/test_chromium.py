"""Without Chromium, the tests of the page are skipped with a word, but not where CI=true."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.browser.chromium import install_chromium
from tests.browser.conftest import give_up

PROGRAM = Path(__file__).with_name("chromium.py")
REASON = "there is no Chromium, and no apt-get to install it with"


@pytest.fixture
def no_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program can be found."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("EVERALIGN_CHROMIUM", raising=False)


@pytest.mark.usefixtures("no_programs")
@pytest.mark.parametrize(
    ("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)]
)
def test_what_becomes_of_a_test(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match=REASON):
        give_up(install_chromium())


@pytest.mark.usefixtures("no_programs")
@pytest.mark.parametrize(
    ("ci", "code", "word"),
    [("", 0, f"{REASON}: the tests of the page will be skipped"), ("true", 1, REASON)],
)
def test_what_make_browser_says(ci: str, code: int, word: str) -> None:
    environment = os.environ | {"CI": ci}
    done = subprocess.run(
        [sys.executable, PROGRAM], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, (done.stdout + done.stderr).strip()) == (code, word)
