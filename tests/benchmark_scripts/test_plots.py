"""The figures of the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_same_results_give_the_same_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from plots import FIGURES, draw_figures

    for name in ("one", "two"):
        draw_figures(tmp_path / name)
    for figure in FIGURES:
        one, two = (tmp_path / name / f"{figure}.svg" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
        assert b"<svg" in one.read_bytes()
