"""Draws the figures of the documentation from the result files: docs/figures/*.svg.

    python benchmarks/plots.py [--out DIRECTORY]

The same results give the same files, byte for byte.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from everalign.figures import BLUE, GREEN, GREY, ORANGE, line, save, with_legend
from tables import DATASETS, SNAPSHOTS, f1_of, published, rows

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
COLOUR_OF = dict(zip(DATASETS, (BLUE, ORANGE, GREEN), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=FIGURES)
    draw_all(parser.parse_args().out)


def draw_all(directory: Path) -> None:
    """Write every figure into the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWN.items():
        save(draw, directory / f"{name}.svg")


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


DRAWN: dict[str, Callable[[], Figure]] = {
    "f1": f1_figure,
    "delta": delta_figure,
    "scale": scale_figure,
}


if __name__ == "__main__":
    main()
