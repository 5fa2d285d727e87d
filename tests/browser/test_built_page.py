"""The built files are small, safe, and what the sources make."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "page"
STATIC = ROOT / "src" / "everalign" / "service" / "static"
MAX_BYTES = 60_000


def test_the_page_is_small() -> None:
    sizes = {path.name: len(gzip.compress(path.read_bytes())) for path in STATIC.iterdir()}
    assert {"index.html", "app.js", "app.css"} <= sizes.keys()
    assert sum(sizes.values()) <= MAX_BYTES


def test_nothing_comes_from_other_places() -> None:
    html = (STATIC / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"(?:src|href)=\"([^\"]*)\"", html) == ["/static/app.css", "/static/app.js"]
    assert "<style" not in html
    assert "style=" not in html
    assert re.findall(r"<script[^>]*>(.*?)</script>", html, re.DOTALL) == [""]
    addresses = re.findall(r"https?://[\w.]+", (STATIC / "app.js").read_text(encoding="utf-8"))
    # The names of the markup languages, which no browser opens.
    assert set(addresses) <= {"http://www.w3.org"}
    assert "url(" not in (STATIC / "app.css").read_text(encoding="utf-8")


def test_labels_are_only_text() -> None:
    for path in (PAGE / "src").rglob("*.ts*"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|dangerously|eval\(", text), path


def test_the_lock_file_names_no_registry() -> None:
    lock = (PAGE / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert '"integrity"' in lock


@pytest.mark.slow
@pytest.mark.parametrize("script", ["types", "check"])
def test_the_built_files_are_up_to_date(node_modules: Path, script: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("node is not installed")
    done = subprocess.run(
        [npm, "run", "--silent", script], cwd=PAGE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
