"""Figures of runs: F1, growth and time over versions or snapshots.

A run is a result of `everalign bench --json`, or a state directory. matplotlib is imported when
a figure is drawn. Equal runs give equal files, byte for byte.
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
from everalign.evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: dict[Any, Any] = {
    # A fixed salt makes the ids in SVG files reproducible.
    "svg.hashsalt": "everalign",
    # Dataset names may contain dollar signs.
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
# The palette of Okabe and Ito, which can be told apart with colour vision deficiency.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#777777"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#e69f00", "#56b4e9", GREY, "#000000")
# Without date and matplotlib version, equal figures are equal files.
METADATA: dict[str, dict[str, None]] = {
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
}
CHANGE_STYLES = {"added": "-", "revised": "--", "retracted": ":"}

Points = Mapping[int, float] | Mapping[float, float]


@dataclass(frozen=True)
class PlottedRun:
    """The records of an alignment by version, or of a benchmark by snapshot.

    Attributes:
        label: The name in the legend.
        scored: Whether the links were compared with gold links.
        records: The values of each version; `t` is its number.
    """

    label: str
    scored: bool
    records: tuple[Mapping[str, Any], ...]

    def get_points(self, value: str) -> dict[int, float]:
        """Return a value by version.

        Args:
            value: The name of the value.

        Returns:
            The values of the versions that have one.

        >>> records = ({"t": 0, "f1": 0.7}, {"t": 1, "f1": 0.5})
        >>> PlottedRun("contea", True, records).get_points("f1")
        {0: 0.7, 1: 0.5}
        """
        return {row["t"]: row[value] for row in self.records if row.get(value) is not None}


def read_runs(paths: Sequence[Path]) -> list[PlottedRun]:
    """Read runs.

    Args:
        paths: Results of `everalign bench --json`, or state directories.

    Returns:
        The runs, with unique labels.

    Raises:
        InputError: If a path is neither, or has no versions.
    """
    runs = [_read_state(path) if path.is_dir() else _read_result(path) for path in paths]
    for run, path in zip(runs, paths, strict=True):
        if not run.records:
            raise InputError("has no versions yet", path=path)
    label_counts = Counter(run.label for run in runs)
    return [
        run if label_counts[run.label] == 1 else replace(run, label=f"{run.label} ({path.stem})")
        for run, path in zip(runs, paths, strict=True)
    ]


def _read_state(path: Path) -> PlottedRun:
    reports = Aligner.open(path).status().reports
    records = (
        # Under the names of benchmark results, so that figures need not tell the two apart.
        asdict(report)
        | {"t": report.version, "links": report.found_links}
        | {kind: getattr(report, f"links_{kind}") for kind in CHANGE_STYLES}
        for report in reports
    )
    return PlottedRun(path.resolve().name, False, tuple(records))


def _read_result(path: Path) -> PlottedRun:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        label = f"{content['method']}, {content['dataset']}"
        records = tuple(_add_correct_count(record) for record in content["snapshots"])
    except FileNotFoundError:
        raise InputError("does not exist", path=path) from None
    except (ValueError, KeyError, TypeError):
        problem = "neither a result of `everalign bench --json` nor a state directory"
        raise InputError(problem, path=path) from None
    return PlottedRun(label, True, records)


def _add_correct_count(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add the number of correct links to the record of a snapshot."""
    # Results have no count of correct links: it follows from the precision. `t` is looked up so
    # that a file without it is rejected while it is read.
    return {**record, "t": record["t"], "links": round(record["precision"] * record["predicted"])}


def draw_runs(runs: Sequence[PlottedRun], figure: str, path: Path) -> None:
    """Draw a figure of runs.

    Args:
        runs: The runs.
        figure: A key of `FIGURES`.
        path: The file to write; its suffix is .svg or .png.

    Raises:
        ConfigError: If the suffix is another one, matplotlib is not installed, or a run does not
            have the values.
    """
    save_figure(lambda: FIGURES[figure](runs), path)


def draw_evaluation(evaluation: Evaluation, path: Path) -> None:
    """Draw scores over the threshold, and how far confidence is from the share of correct links.

    Args:
        evaluation: Scores at some thresholds.
        path: The file to write; its suffix is .svg or .png.

    Raises:
        ConfigError: If the suffix is another one, or matplotlib is not installed.
    """
    save_figure(lambda: _draw_thresholds(evaluation), path)


def save_figure(draw_figure: Callable[[], Figure], path: Path) -> None:
    """Draw a figure in the common style and write it to a file.

    Args:
        draw_figure: Draws the figure; called after matplotlib is known to be installed.
        path: The file to write; its suffix is .svg or .png.

    Raises:
        ConfigError: If the suffix is another one, or matplotlib is not installed.
    """
    if path.suffix.lower() not in METADATA:
        raise ConfigError(f"{path}: unsupported format; expected .svg or .png")
    try:
        from matplotlib import rc_context
    except ModuleNotFoundError as error:
        message = f"figures need {error.name}: pip install 'everalign[plots]'"
        raise ConfigError(message) from error
    with rc_context(STYLE):
        draw_figure().savefig(path, metadata=METADATA[path.suffix.lower()])


def draw_f1(runs: Sequence[PlottedRun]) -> Figure:
    """Draw F1 over the snapshots.

    Args:
        runs: Results of benchmarks.

    Returns:
        The figure.

    Raises:
        ConfigError: If a run is a state directory, which has no F1.
    """
    unscored = [run.label for run in runs if not run.scored]
    if unscored:
        raise ConfigError(
            f"{unscored[0]} is a state directory and has no F1; "
            "`everalign evaluate` compares its links with gold links"
        )
    return _draw_one_panel(runs, "f1", title="F1 over the snapshots", ylabel="F1", ylim=(0, 1))


def draw_seconds(runs: Sequence[PlottedRun]) -> Figure:
    """Draw the time of each version.

    Args:
        runs: The runs.

    Returns:
        The figure.
    """
    return _draw_one_panel(runs, "seconds", title="Time of each version", ylabel="seconds")


def draw_link_counts(runs: Sequence[PlottedRun]) -> Figure:
    """Draw the number of links and of changes at each version.

    Args:
        runs: The runs.

    Returns:
        The figure, with a panel for links and one for changes.
    """
    figure = _new_figure(9, 3.8)
    links, changes = figure.subplots(1, 2)
    for run, colour in zip(runs, cycle(COLOURS), strict=False):
        plot_line(links, run.get_points("links"), colour, _format_link_label(run))
        for name, style in CHANGE_STYLES.items():
            plot_line(changes, run.get_points(name), colour, f"{run.label}: {name}", style)
    _label_version_axis(links, runs, title="Links", ylabel="links")
    _label_version_axis(changes, runs, title="Changes", ylabel="links")
    return figure


def _draw_thresholds(evaluation: Evaluation) -> Figure:
    figure = _new_figure(9, 3.8)
    scores, calibration = figure.subplots(1, 2)
    rows = evaluation.thresholds
    for name, colour in zip(("precision", "recall", "f1"), COLOURS, strict=False):
        plot_line(scores, {row.threshold: getattr(row, name) for row in rows}, colour, name)
    scores.set(title="Scores by threshold", xlabel="threshold", xlim=(0, 1), ylim=(0, 1.02))
    add_legend(scores)
    calibration.plot([0, 1], [0, 1], color=GREY, linestyle=":", marker="", label="calibrated")
    points = {
        row.band_confidence: row.band_precision
        for row in rows
        if row.band_confidence is not None and row.band_precision is not None
    }
    plot_line(calibration, points, BLUE, "links")
    labels = {"xlabel": "mean confidence", "ylabel": "share of correct links"}
    calibration.set(title="Calibration", xlim=(0, 1), ylim=(0, 1.02), **labels)
    add_legend(calibration)
    return figure


def _format_link_label(run: PlottedRun) -> str:
    return f"{run.label}: {'correct' if run.scored else 'in force'}"


def _draw_one_panel(runs: Sequence[PlottedRun], value: str, **labels: Any) -> Figure:
    figure = _new_figure(7, 4)
    panel = figure.subplots()
    for run, colour in zip(runs, cycle(COLOURS), strict=False):
        plot_line(panel, run.get_points(value), colour, run.label)
    _label_version_axis(panel, runs, **labels)
    return figure


def _new_figure(width: float, height: float) -> Figure:
    # Not by pyplot, which keeps figures in memory and looks for a display.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _label_version_axis(panel: Axes, runs: Sequence[PlottedRun], **labels: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    units = dict.fromkeys("snapshot" if run.scored else "version" for run in runs)
    panel.set(xlabel=" or ".join(units), **labels)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    # Counts and times start at 0: a cut axis would exaggerate differences.
    if "ylim" not in labels:
        panel.set_ylim(bottom=0)
    add_legend(panel)


def plot_line(panel: Axes, points: Points, colour: str, label: str, style: str = "-") -> None:
    """Plot a line through points; nothing if there are none.

    Args:
        panel: The axes.
        points: Values by version.
        colour: The colour of the line.
        label: The label in the legend.
        style: The matplotlib line style.
    """
    if points:
        x, y = zip(*sorted(points.items()), strict=True)
        panel.plot(x, y, color=colour, label=label, linestyle=style)


def add_legend(panel: Axes) -> None:
    """Add a legend, unless the panel has no lines.

    Args:
        panel: The axes.
    """
    if panel.lines:
        panel.legend(frameon=False)


FIGURES: dict[str, Callable[[Sequence[PlottedRun]], Figure]] = {
    "f1": draw_f1,
    "growth": draw_link_counts,
    "time": draw_seconds,
}
