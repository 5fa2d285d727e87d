"""A real browser on the real service."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.browser.chromium import FLAGS, find_chromium, install_chromium, take_turns
from tests.browser.graphs import build_state, write_graphs

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "page"
TOKEN = "a-token-for-the-tests-of-the-page"


def give_up(reason: str) -> None:
    """Skip the test; where the machine is made for tests, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """The packages of the page for developers; `npm ci` installs them if they are missing."""
    modules = PAGE / "node_modules"
    with take_turns("node"):
        if not (modules / "axe-core" / "axe.min.js").exists():
            npm = shutil.which("npm")
            if npm is None:
                give_up("node is not installed")
            done = subprocess.run([str(npm), "ci"], cwd=PAGE, capture_output=True, check=False)
            if done.returncode != 0:
                give_up(f"npm ci does not work: {done.stderr.decode()[-300:]}")
    return modules


@pytest.fixture(scope="session")
def axe(node_modules: Path) -> str:
    """The source of axe-core, which finds obstacles for people with disabilities."""
    return (node_modules / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    problem = install_chromium()
    if problem:
        give_up(problem)
    # Here, since the tests of the built files run without it.
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two graphs with names in several scripts, and their alignment `names.state`."""
    base = tmp_path_factory.getbasetemp()
    # The processes of a test run have a directory each in one that they share.
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    directory = shared / "browser-graphs"
    with take_turns("graphs"):
        if not directory.exists():
            directory.mkdir()
            write_graphs(directory)
            build_state(directory)
    return directory


@dataclass
class Served:
    """A running service."""

    url: str
    invitation: str
    state: Path
    data: Path


@contextmanager
def serve(state: Path, data: Path) -> Iterator[Served]:
    """Run `everalign serve` until the end of the block."""
    command = [sys.executable, "-m", "everalign", "serve", str(state), "--port", "0", "--no-open"]
    command += ["--data", str(data), "--token", TOKEN]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        text = ""
        while "Reconciliation" not in text:
            line = process.stdout.readline()
            assert line, f"the service has ended: {text}"
            text += line
        url = re.search(r"at (http://\S+)", text)
        invitation = re.search(r"(http://\S+\?token=\S+)", text)
        assert url, text
        assert invitation, text
        yield Served(url[1], invitation[1], state, data)
    finally:
        process.terminate()
        process.wait(timeout=30)
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture(scope="module")
def served(graphs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The service on a copy of the alignment, for the tests of one module."""
    state = tmp_path_factory.mktemp("served") / "names.state"
    shutil.copytree(graphs / "names.state", state)
    with serve(state, graphs) as running:
        yield running


@pytest.fixture(scope="module")
def cookies(browser: Any, served: Served) -> Any:
    """The cookie of a browser that has opened the printed address."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.invitation)
    page.wait_for_selector("#heading")
    stored = context.storage_state()
    context.close()
    return stored


@dataclass
class Window:
    """A page in the browser, and what it complained about."""

    page: Any
    context: Any
    url: str
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(self.url + path)
        self.page.wait_for_selector("#heading")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def heading(self) -> str:
        return str(self.page.inner_text("#heading"))

    def read(self, path: str) -> Any:
        """Ask the service, with the cookie of the page."""
        return self.context.request.get(f"{self.url}/api/v1{path}").json()


OpenWindow = Callable[..., Window]


@pytest.fixture
def open_window(browser: Any, served: Served, cookies: Any) -> Iterator[OpenWindow]:
    """Open windows; at the end none of them may have complained."""
    windows: list[Window] = []

    def open_one(width: int = 1280, height: int = 900, colours: str = "light") -> Window:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=colours,
            # What the browser remembers belongs to one test; the cookie is for all.
            storage_state={"cookies": cookies["cookies"], "origins": []},
        )
        page = context.new_page()
        window = Window(page, context, served.url)
        page.on("pageerror", lambda error: window.complaints.append(str(error)))
        page.on(
            "console",
            lambda message: (
                window.complaints.append(f"{message.text} {message.location}")
                if message.type in ("error", "warning")
                else None
            ),
        )
        windows.append(window)
        return window

    yield open_one
    for window in windows:
        window.context.close()
    assert [complaint for window in windows for complaint in window.complaints] == []
