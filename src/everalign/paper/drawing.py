"""The figures of the paper: correct links as they grow, and the time of each snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from everalign.figures import COLOURS, GREY, line, with_legend
from everalign.paper.cells import Cells, Dataset
from everalign.paper.published import published
from everalign.paper.systems import CONTINUAL, INDUCTIVE, RETRAINED, System

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

STYLE_OF = {CONTINUAL: "-", RETRAINED: "--", INDUCTIVE: ":"}


def growth_figure(cells: Cells, dataset: Dataset) -> Figure:
    """How many links are correct at each snapshot; the published ContEA from its recall."""
    figure = _figure(7, 4.5)
    panel = figure.subplots()
    gold: dict[int, int] = {}
    for system, (colour, style) in _looks(cells.systems):
        records = cells.records(system, dataset)
        gold |= {t: record["gold"] for t, record in records.items()}
        correct = {t: round(r["recall"] * r["gold"]) for t, r in records.items()}
        line(panel, correct, colour, system.label, style)
    theirs = published(dataset.name, "ContEA")
    said = {t: each.recall * gold[t] for t, each in theirs.items() if t in gold}
    line(panel, said, GREY, "ContEA, published", "-.")
    panel.set(title=f"Correct links, {dataset.name}", xlabel="snapshot", ylabel="links")
    panel.set_xticks(range(dataset.snapshots))
    panel.set_ylim(bottom=0)
    with_legend(panel)
    return figure


def time_figure(cells: Cells) -> Figure:
    """The seconds of each snapshot, a panel for each dataset."""
    figure = _figure(4 + 3 * len(cells.datasets), 4)
    panels = figure.subplots(1, len(cells.datasets), sharey=True, squeeze=False)[0]
    drawn: dict[str, Artist] = {}
    for panel, dataset in zip(panels, cells.datasets, strict=True):
        for system, (colour, style) in _looks(cells.systems):
            records = cells.records(system, dataset)
            seconds = {t: record["seconds"] for t, record in records.items()}
            line(panel, seconds, colour, system.label, style)
        handles, labels = panel.get_legend_handles_labels()
        drawn |= dict(zip(labels, handles, strict=True))
        panel.set(title=dataset.name, xlabel="snapshot", yscale="log")
        panel.set_xticks(range(dataset.snapshots))
    panels[0].set_ylabel("seconds")
    panels[0].yaxis.set_major_formatter("{x:g}")
    if drawn:
        figure.legend(drawn.values(), drawn, loc="outside right upper", frameon=False)
    return figure


def _looks(systems: Sequence[System]) -> Iterator[tuple[System, tuple[str, str]]]:
    """A colour and a style for each system: the style tells its kind, the colour which it is."""
    colours = {kind: cycle(COLOURS) for kind in STYLE_OF}
    for system in systems:
        yield system, (next(colours[system.kind]), STYLE_OF[system.kind])


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
