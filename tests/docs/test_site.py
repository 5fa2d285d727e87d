"""The site builds without a warning, is whole, and needs nothing from elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.docs.pages import ROOT

import everalign as package
from everalign.cli.main import everalign

ELSEWHERE = ("http://", "https://", "//")


class Page(HTMLParser):
    """The anchors of a page, where it leads, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif "src" in values:
            self.loaded.append(values["src"])
        elif tag == "link" and "href" in values:
            self.loaded.append(values["href"])


@pytest.mark.slow
def test_the_site(tmp_path: Path) -> None:
    """One test for all of it: the site is built once, also where tests run side by side."""
    site = build_site(tmp_path / "site")
    check_links(site)
    check_origins(site)
    check_reference(site)


def build_site(directory: Path) -> dict[Path, Page]:
    """The pages of the site, by their files."""
    build = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(directory)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert build.returncode == 0, build.stderr
    assert build.stderr == ""
    # The page for addresses that do not exist has addresses from the root of a server.
    files = (path for path in directory.rglob("*.html") if path.name != "404.html")
    return {path: Page(path) for path in files}


def page_of(site: dict[Path, Page], name: str) -> Page:
    (page,) = [page for path, page in site.items() if path.as_posix().endswith(f"/site/{name}")]
    return page


def check_links(site: dict[Path, Page]) -> None:
    """Every link, image, script and anchor exists."""
    for path, page in site.items():
        for target in [*page.links, *page.loaded]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert there.exists(), f"{path}: {target}"
            if parts.fragment and there in site:
                # Material's own "back to the top" has no element.
                anchors = site[there].anchors | {"__top"}
                assert unquote(parts.fragment) in anchors, f"{path}: {target}"


def check_origins(site: dict[Path, Page]) -> None:
    """Nothing is loaded from elsewhere."""
    for page in site.values():
        assert [url for url in page.loaded if url.startswith(ELSEWHERE)] == []


def check_reference(site: dict[Path, Page]) -> None:
    """Every command and every public name has a section."""
    commands = page_of(site, "reference/commands.html").anchors
    for name, command in everalign.commands.items():
        nested = [f"{name}-{inner}" for inner in getattr(command, "commands", {})]
        assert set(nested or [name]) <= commands
    names = page_of(site, "reference/api.html").anchors
    assert {f"{package.__name__}.{name}" for name in package.__all__} <= names
