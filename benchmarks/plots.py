"""Draws the figures of the documentation from the result files: docs/figures/*.svg.

    python benchmarks/plots.py [--out DIRECTORY]

Equal results give equal files, byte for byte.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from everalign.plotting import BLUE, GREEN, GREY, ORANGE, add_legend, plot_line, save_figure
from tables import DATASETS, SNAPSHOTS, read_f1, read_published_f1, read_rows

FIGURES_DIRECTORY = Path(__file__).parents[1] / "docs" / "figures"
COLOURS = (GREY, GREEN, ORANGE, BLUE)
DATASET_COLOURS = dict(zip(DATASETS, (BLUE, ORANGE, GREEN), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=FIGURES_DIRECTORY)
    draw_figures(parser.parse_args().out)


def draw_figures(directory: Path) -> None:
    """Write all figures to a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        save_figure(draw, directory / f"{name}.svg")


def draw_f1() -> Figure:
    """Draw F1 over the snapshots, with a panel for each dataset."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    panels = figure.subplots(1, len(DATASETS), sharey=True)
    for panel, dataset in zip(panels, DATASETS, strict=True):
        plot_line(panel, read_f1(f"evidence_{dataset}.json"), BLUE, "evidence")
        plot_line(panel, read_f1(f"contea_{dataset}.json"), ORANGE, "ContEA, ours")
        plot_line(panel, read_published_f1(dataset, "ContEA"), GREY, "ContEA, published")
        panel.set(title=dataset, xlabel="snapshot", xticks=list(SNAPSHOTS), ylim=(0, 1))
    panels[0].set_ylabel("F1")
    panels[-1].legend(frameon=False)
    return figure


def draw_delta() -> Figure:
    """Draw the time of an update relative to a fit, by the size of the delta."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    panel = figure.subplots()
    measured = read_rows("evidence_delta.json")
    for dataset in DATASETS:
        ratios = {row["share"]: row["ratio"] for row in measured if row["dataset"] == dataset}
        plot_line(panel, ratios, DATASET_COLOURS[dataset], dataset)
    panel.set(
        title="An update against a fit from nothing",
        xlabel="delta, percent of all triples",
        ylabel="time of the update / time of a fit",
        xscale="log",
        ylim=(0, 1.05 * max((row["ratio"] for row in measured), default=1)),
    )
    panel.xaxis.set_major_formatter("{x:g}")
    add_legend(panel)
    return figure


def draw_scale() -> Figure:
    """Draw time and memory of a fit by the size of the graphs."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    time, memory = figure.subplots(1, 2)
    measured = read_rows("evidence_scale.json")
    plot_line(
        time, {row["triples"]: row["seconds"] for row in measured}, BLUE, "fit and candidates"
    )
    plot_line(
        memory, {row["triples"]: row["peak_rss_mb"] for row in measured}, BLUE, "whole process"
    )
    plot_line(
        memory, {row["triples"]: row["method_mb"] for row in measured}, ORANGE, "the method's own"
    )
    labels = {"xlabel": "triples of both graphs", "xscale": "log", "yscale": "log"}
    time.set(title="Time of a fit", ylabel="seconds", **labels)
    memory.set(title="Memory of a fit", ylabel="MB", **labels)
    add_legend(memory)
    return figure


def draw_update_cost() -> Figure:
    """Draw the processor time of an update by the size of the delta, and of the graphs."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    by_delta, by_graph = figure.subplots(1, 2)
    measured = [row for row in read_rows("update_cost.json") if row["kind"] == "added"]
    sizes = sorted({row["triples"] for row in measured})
    # The last colour for the largest graphs, whatever sizes were measured.
    for size, colour in zip(sizes[-len(COLOURS) :], COLOURS[-len(sizes) :], strict=True):
        seconds = {row["delta"]: row["cpu_seconds"] for row in measured if row["triples"] == size}
        plot_line(by_delta, seconds, colour, f"{size / 1e6:g} million triples")
    for delta, colour in zip((1, 100, 1_000, 10_000), COLOURS, strict=True):
        seconds = {row["triples"]: row["cpu_seconds"] for row in measured if row["delta"] == delta}
        plot_line(by_graph, seconds, colour, f"{delta:,} added")
    scales = {"xscale": "log", "yscale": "log"}
    by_delta.set(xlabel="added triples", ylabel="processor seconds of an update", **scales)
    by_graph.set(xlabel="triples of both graphs", **scales)
    for panel in (by_delta, by_graph):
        add_legend(panel)
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "f1": draw_f1,
    "delta": draw_delta,
    "scale": draw_scale,
    "update_cost": draw_update_cost,
}


if __name__ == "__main__":
    main()
