"""Charts of an alignment for notebooks, made with Altair, which is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from everalign.errors import ConfigError
from everalign.evaluation import Evaluation
from everalign.history import describe_status
from everalign.overview import (
    CalibrationBin,
    calibrate_decisions,
    count_histogram,
    estimate_thresholds,
    read_scores,
)
from everalign.select import is_calibrated
from everalign.session import AlignmentSession

if TYPE_CHECKING:
    import altair

Value = TypeVar("Value")
Row = dict[str, Any]

# The palette of Okabe and Ito, which can be told apart with colour vision deficiency.
COLOURS = {
    "found": "#0072b2",
    "proposed": "#e69f00",
    "given": "#009e73",
    "rejected": "#d55e00",
    "precision": "#0072b2",
    "recall": "#d55e00",
    "f1": "#009e73",
}
WIDTH, HEIGHT = 420, 260


class AlignmentCharts:
    """Draws charts of an alignment; `Aligner.charts` makes it.

    Each chart is an `altair.Chart`, which notebooks show, and which can be changed and saved. It
    holds the numbers that it shows, and no names of entities. Requires Altair: pip install
    'everalign[charts]'.

    Args:
        read: Opens the alignment; each chart is of the version that is the last one then.
    """

    def __init__(self, read: Callable[[], AlignmentSession]) -> None:
        self._read = read

    def draw_confidence(self) -> altair.Chart:
        """Draw how many found links and proposals there are by confidence.

        Returns:
            A histogram with 20 ranges.

        Raises:
            ConfigError: Altair is not installed.
        """
        alt = import_altair()
        bins = count_histogram(self._use(read_scores))
        rows = [
            {"start": row.start, "end": row.end, "state": state, "links": getattr(row, state)}
            for row in bins
            for state in ("found", "proposed")
        ]
        chart: altair.Chart = _build_chart(alt, rows, "Confidence").mark_bar().encode(
            alt.X("start:Q").bin("binned").title("confidence").scale(domain=(0, 1)),
            alt.X2("end"),
            alt.Y("links:Q").title("links"),
            _colour(alt, "state", ("found", "proposed")),
            tooltip=["start:Q", "end:Q", "state:N", "links:Q"],
        )  # fmt: skip
        return chart

    def draw_versions(self) -> altair.Chart:
        """Draw how many links of each state were in force in each version.

        Returns:
            A bar for each version.

        Raises:
            ConfigError: Altair is not installed.
        """
        alt = import_altair()
        rows = self._use(_count_versions)
        chart: altair.Chart = _build_chart(alt, rows, "Links by version").mark_bar().encode(
            alt.X("version:O"),
            alt.Y("links:Q").title("links"),
            _colour(alt, "state", ("given", "found", "rejected")),
            tooltip=["version:O", "made_at:N", "state:N", "links:Q"],
        )  # fmt: skip
        return chart

    def draw_thresholds(self, evaluation: Evaluation | None = None) -> altair.Chart:
        """Draw precision and recall over the least confidence of a link.

        Args:
            evaluation: Scores at thresholds, such as `Aligner.evaluate` gives; None to draw what
                is expected if the confidences are right.

        Returns:
            Lines for precision and recall, and for F1 if they were measured.

        Raises:
            ConfigError: Altair is not installed, the evaluation has no thresholds, or the scores
                of the method are no probabilities.
        """
        alt = import_altair()
        names = ["precision", "recall"]
        if evaluation is None:
            title = "Expected precision and recall"
            rows = [asdict(row) for row in self._use(_read_estimates)]
        else:
            title = "Measured precision and recall"
            rows = _list_thresholds(evaluation)
            names.append("f1")
        melted = _melt(rows, names)
        chart: altair.Chart = _build_chart(alt, melted, title).mark_line().encode(
            alt.X("threshold:Q").title("least confidence").scale(domain=(0, 1)),
            alt.Y("value:Q").title(None).scale(domain=(0, 1)),
            _colour(alt, "score", names),
            tooltip=["threshold:Q", "score:N", "value:Q", "links:Q"],
        )  # fmt: skip
        return chart

    def draw_calibration(self, evaluation: Evaluation | None = None) -> altair.LayerChart:
        """Draw how many links are right by confidence.

        Args:
            evaluation: Scores at thresholds by gold links; None to draw what people decided about
                found links.

        Returns:
            A point for each range of the confidence, and the line where it is right.

        Raises:
            ConfigError: Altair is not installed, or the evaluation has no thresholds.
        """
        alt = import_altair()
        rows = (
            [_describe_bin(row) for row in self._use(_read_calibration)]
            if evaluation is None
            else _list_bands(evaluation)
        )
        ends: list[Row] = [{"confidence": 0, "correct": 0}, {"confidence": 1, "correct": 1}]
        x = alt.X("confidence:Q").scale(domain=(0, 1))
        y = alt.Y("correct:Q").title("share that is right").scale(domain=(0, 1))
        line = alt.Chart(alt.Data(values=ends)).mark_line(color="#999", strokeDash=[4, 4])
        points = _build_chart(alt, rows, "Calibration").mark_point(filled=True, opacity=1)
        size = alt.Size("links:Q").title("links").scale(range=(30, 400))
        tooltip = ["confidence:Q", "correct:Q", "links:Q"]
        layers = line.encode(x, y), points.encode(x, y, size, tooltip=tooltip)
        chart: altair.LayerChart = alt.layer(*layers)
        return chart

    def _use(self, read: Callable[[AlignmentSession], Value]) -> Value:
        with self._read() as session:
            return read(session)


def import_altair() -> Any:
    """Import Altair.

    Returns:
        The module.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        import altair
    except ImportError as error:
        raise ConfigError("charts need Altair: run pip install 'everalign[charts]'") from error
    return altair


def _build_chart(alt: Any, rows: Sequence[Row], title: str) -> Any:
    # The data as they are, not as a data frame: no other library is needed.
    return alt.Chart(alt.Data(values=list(rows)), title=title, width=WIDTH, height=HEIGHT)


def _colour(alt: Any, field: str, names: Sequence[str]) -> Any:
    scale = alt.Scale(domain=list(names), range=[COLOURS[name] for name in names])
    return alt.Color(f"{field}:N").title(None).scale(scale)


def _melt(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    return [
        {"threshold": row["threshold"], "links": row["links"], "score": name, "value": row[name]}
        for row in rows
        for name in names
        if row[name] is not None
    ]


def _read_estimates(session: AlignmentSession) -> Sequence[Any]:
    if not is_calibrated(session):
        raise ConfigError("the scores of this method are no probabilities: nothing is expected")
    return estimate_thresholds(read_scores(session))


def _read_calibration(session: AlignmentSession) -> list[CalibrationBin]:
    return calibrate_decisions(session, session.store.inbox.read_range(0))


def _count_versions(session: AlignmentSession) -> list[Row]:
    return [
        {"version": report.version, "made_at": report.made_at, "state": state, "links": count}
        for report in describe_status(session).reports
        for state, count in zip(
            ("given", "found", "rejected"), session.store.count_links(report.version), strict=True
        )
    ]


def _list_thresholds(evaluation: Evaluation) -> list[Row]:
    return [
        {
            "threshold": row.threshold,
            "links": row.predicted,
            "precision": row.precision,
            "recall": row.recall,
            "f1": row.f1,
        }
        for row in _check_thresholds(evaluation)
    ]


def _list_bands(evaluation: Evaluation) -> list[Row]:
    return [
        {
            "confidence": row.band_confidence,
            "correct": row.band_precision,
            "links": row.band_links,
        }
        for row in _check_thresholds(evaluation)
        if row.band_links
    ]


def _check_thresholds(evaluation: Evaluation) -> Sequence[Any]:
    if not evaluation.thresholds:
        raise ConfigError("the evaluation has no thresholds: evaluate with `thresholds=[…]`")
    return evaluation.thresholds


def _describe_bin(row: CalibrationBin) -> Row:
    return {"confidence": row.mean_confidence, "correct": row.correct, "links": row.count}
