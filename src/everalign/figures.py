"""Figures of one's own runs: F1, growth and time, version after version.

A run is a result of `everalign bench --json`, or a state directory. matplotlib is imported when
a figure is drawn; the same runs give the same file, byte for byte.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everalign.aligner import Aligner
from everalign.errors import ConfigError, InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "everalign",
    "text.parse_math": False,
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
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#777777"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#e69f00", "#56b4e9", GREY, "#000000")
# The date and the version of matplotlib would make each file a new one.
METADATA: dict[str, dict[str, None]] = {
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
}
CHANGES = {"added": "-", "revised": "--", "retracted": ":"}

Points = Mapping[int, float]


@dataclass(frozen=True)
class Run:
    """What happened at each version of an alignment, or at each snapshot of a benchmark.

    `scored` says whether the links were compared with gold links.
    """

    label: str
    scored: bool
    records: tuple[Mapping[str, Any], ...]

    def points(self, value: str) -> dict[int, float]:
        """A figure over the versions; without those that do not have it.

        >>> records = ({"t": 0, "f1": 0.7}, {"t": 1, "f1": 0.5})
        >>> Run("mine", True, records).points("f1")
        {0: 0.7, 1: 0.5}
        """
        return {row["t"]: row[value] for row in self.records if row.get(value) is not None}


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """The runs in these files and state directories, each with a label of its own."""
    runs = [_state(path) if path.is_dir() else _result(path) for path in paths]
    for run, path in zip(runs, paths, strict=True):
        if not run.records:
            raise InputError("has no versions yet", path=path)
    times = Counter(run.label for run in runs)
    return [
        run if times[run.label] == 1 else replace(run, label=f"{run.label} ({path.stem})")
        for run, path in zip(runs, paths, strict=True)
    ]


def _state(path: Path) -> Run:
    reports = Aligner.open(path).status().reports
    return Run(path.resolve().name, False, tuple(asdict(r) | {"t": r.version} for r in reports))


def _result(path: Path) -> Run:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        label = f"{content['method']}, {content['dataset']}"
        records = tuple(_with_correct(record) for record in content["snapshots"])
    except FileNotFoundError:
        raise InputError("does not exist", path=path) from None
    except (ValueError, KeyError, TypeError):
        problem = "is neither a result of `everalign bench --json` nor a state directory"
        raise InputError(problem, path=path) from None
    return Run(label, True, records)


def _with_correct(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record of a snapshot, and how many links were correct."""
    return {**record, "t": record["t"], "links": round(record["precision"] * record["predicted"])}


def draw(runs: Sequence[Run], what: str, path: Path) -> None:
    """Draw one of `FIGURES` into a file whose name ends in .svg or .png."""
    if path.suffix.lower() not in METADATA:
        raise ConfigError(f"{path}: figures are written as .svg or .png")
    save(lambda: FIGURES[what](runs), path)


def save(figure: Callable[[], Figure], path: Path) -> None:
    """Write what is drawn in the style of the house."""
    try:
        from matplotlib import rc_context
    except ModuleNotFoundError as error:
        message = f"figures need {error.name}: pip install 'everalign[plots]'"
        raise ConfigError(message) from error
    with rc_context(STYLE):
        figure().savefig(path, metadata=METADATA[path.suffix.lower()])


def f1_figure(runs: Sequence[Run]) -> Figure:
    """F1 over the snapshots."""
    without = [run.label for run in runs if not run.scored]
    if without:
        raise ConfigError(
            f"{without[0]} is a state: it has no F1, only growth and time; "
            "`everalign evaluate` compares its links with gold links"
        )
    return _one_panel(runs, "f1", title="F1 over the snapshots", ylabel="F1", ylim=(0, 1))


def time_figure(runs: Sequence[Run]) -> Figure:
    """The seconds that each version took."""
    return _one_panel(runs, "seconds", title="Time of each version", ylabel="seconds")


def growth_figure(runs: Sequence[Run]) -> Figure:
    """How many links there are, and what each version changed."""
    figure = _figure(9, 3.8)
    links, changes = figure.subplots(1, 2)
    for run, colour in zip(runs, cycle(COLOURS), strict=False):
        line(links, run.points("links"), colour, _counted(run))
        for name, style in CHANGES.items():
            line(changes, run.points(name), colour, f"{run.label}: {name}", style)
    _over_versions(links, runs, title="Links", ylabel="links")
    _over_versions(changes, runs, title="Changes", ylabel="links")
    return figure


def _counted(run: Run) -> str:
    return f"{run.label}: {'correct' if run.scored else 'in force'}"


def _one_panel(runs: Sequence[Run], value: str, **labels: Any) -> Figure:
    figure = _figure(7, 4)
    panel = figure.subplots()
    for run, colour in zip(runs, cycle(COLOURS), strict=False):
        line(panel, run.points(value), colour, run.label)
    _over_versions(panel, runs, **labels)
    return figure


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _over_versions(panel: Axes, runs: Sequence[Run], **labels: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    word = {True: "snapshot", False: "version"}
    words = dict.fromkeys(word[run.scored] for run in runs)
    panel.set(xlabel=" or ".join(words), **labels)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    if "ylim" not in labels:
        panel.set_ylim(bottom=0)
    with_legend(panel)


def line(panel: Axes, points: Points, colour: str, label: str, style: str = "-") -> None:
    """A line through the points, from left to right; nothing where there are none."""
    if points:
        x, y = zip(*sorted(points.items()), strict=True)
        panel.plot(x, y, color=colour, label=label, linestyle=style)


def with_legend(panel: Axes) -> None:
    """A legend, where there is something to tell apart."""
    if panel.lines:
        panel.legend(frameon=False)


FIGURES: dict[str, Callable[[Sequence[Run]], Figure]] = {
    "f1": f1_figure,
    "growth": growth_figure,
    "time": time_figure,
}
