"""Draws the figures of the documentation from the result files: docs/figures/*.svg.

    python benchmarks/plots.py [--out DIRECTORY]

The same results give the same files, byte for byte.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tables import DATASETS, SNAPSHOTS, f1_of, published, rows

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "everalign",
    "font.size": 10,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#dddddd",
    "lines.linewidth": 2,
    "lines.marker": "o",
    "lines.markersize": 5,
}
# Colours that people who see few of them can tell apart, and that print well.
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#777777"
COLOUR_OF = dict(zip(DATASETS, (BLUE, ORANGE, GREEN), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=FIGURES)
    draw_all(parser.parse_args().out)


def draw_all(directory: Path) -> None:
    """Write every figure into the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        for name, draw in DRAWN.items():
            # The date and the version of matplotlib would make each file a new one.
            metadata = {"Date": None, "Creator": None}
            draw().savefig(directory / f"{name}.svg", metadata=metadata)


def f1_figure() -> Figure:
    """F1 over the snapshots, one panel for each dataset."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    panels = figure.subplots(1, len(DATASETS), sharey=True)
    for panel, dataset in zip(panels, DATASETS, strict=True):
        line(panel, f1_of(f"evidence_{dataset}.json"), BLUE, "evidence")
        line(panel, f1_of(f"contea_{dataset}.json"), ORANGE, "ContEA, ours")
        line(panel, published(dataset, "ContEA"), GREY, "ContEA, published")
        panel.set(title=dataset, xlabel="snapshot", xticks=list(SNAPSHOTS), ylim=(0, 1))
    panels[0].set_ylabel("F1")
    panels[-1].legend(frameon=False)
    return figure


def delta_figure() -> Figure:
    """The cost of an update as a share of a fit, over the size of the delta."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    panel = figure.subplots()
    found = rows("evidence_delta.json")
    for dataset in DATASETS:
        mine = {row["share"]: row["ratio"] for row in found if row["dataset"] == dataset}
        line(panel, mine, COLOUR_OF[dataset], dataset)
    panel.set(
        title="An update against a fit from nothing",
        xlabel="delta, percent of all triples",
        ylabel="time of the update / time of a fit",
        xscale="log",
        ylim=(0, 1.05 * max((row["ratio"] for row in found), default=1)),
    )
    panel.xaxis.set_major_formatter("{x:g}")
    with_legend(panel)
    return figure


def scale_figure() -> Figure:
    """Seconds and memory of a fit over the size of the graphs."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    time, memory = figure.subplots(1, 2)
    found = rows("evidence_scale.json")
    line(time, {row["triples"]: row["seconds"] for row in found}, BLUE, "fit and candidates")
    line(memory, {row["triples"]: row["peak_rss_mb"] for row in found}, BLUE, "whole process")
    line(memory, {row["triples"]: row["method_mb"] for row in found}, ORANGE, "the method's own")
    labels = {"xlabel": "triples of both graphs", "xscale": "log", "yscale": "log"}
    time.set(title="Time of a fit", ylabel="seconds", **labels)
    memory.set(title="Memory of a fit", ylabel="MB", **labels)
    with_legend(memory)
    return figure


def line(panel: Axes, points: dict[int, float], colour: str, label: str) -> None:
    """A line through the points, from left to right; nothing where there are none."""
    if points:
        x, y = zip(*sorted(points.items()), strict=True)
        panel.plot(x, y, color=colour, label=label)


def with_legend(panel: Axes) -> None:
    if panel.lines:
        panel.legend(frameon=False)


DRAWN: dict[str, Callable[[], Figure]] = {
    "f1": f1_figure,
    "delta": delta_figure,
    "scale": scale_figure,
}


if __name__ == "__main__":
    main()
