"""Finds Chromium for the tests of the page, and installs Debian's if there is none.

Run as a program, it does that and says what it has found: `make browser`.
"""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Labels in Chinese, Japanese and emoji need fonts to be seen; the tests do not.
PACKAGES = ("chromium", "fonts-wqy-zenhei", "fonts-noto-color-emoji")
FLAGS = (
    "--no-sandbox",  # there is none in a container, and the pages are our own
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_chromium() -> str | None:
    """Find a Chromium that is installed.

    Returns:
        The path of the program; None if there is none.
    """
    wanted = os.environ.get("EVERALIGN_CHROMIUM")
    return wanted or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def take_turns(what: str) -> Iterator[None]:
    """Let the processes of a test run install something one after the other.

    Args:
        what: What they install.
    """
    # By user, since a file of another one cannot be opened.
    name = f"everalign-{what}-{getpass.getuser()}.lock"
    with (Path(tempfile.gettempdir()) / name).open("w") as lock:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install_chromium() -> str:
    """Install Debian's Chromium where that is possible without a question.

    Returns:
        Why there is no Chromium; empty if there is one.
    """
    if find_chromium():
        return ""
    apt = shutil.which("apt-get")
    if apt is None:
        return "there is no Chromium, and no apt-get to install it with"
    command = [apt] if os.geteuid() == 0 else ["sudo", "--non-interactive", apt]
    with take_turns("chromium"):
        if find_chromium():
            return ""
        for step in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
            try:
                subprocess.run([*command, *step], check=True, capture_output=True, timeout=280)
            except (OSError, subprocess.SubprocessError) as error:
                return f"there is no Chromium, and it cannot be installed: {error}"
    return "" if find_chromium() else "apt-get has installed no Chromium"


if __name__ == "__main__":
    problem = install_chromium()
    # Where a machine is made for tests, they must not be skipped.
    if problem and os.environ.get("CI") == "true":
        sys.exit(problem)
    if problem:
        problem += ": the tests of the page will be skipped"
    sys.stdout.write(f"{problem or find_chromium()}\n")
