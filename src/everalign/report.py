"""A report of an alignment: one HTML file with its charts, to be mailed or archived (internal)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate

from everalign.history import list_decisions, list_differences
from everalign.select import Selection, is_calibrated, iterate_links
from everalign.session import AlignmentSession
from everalign.summary import summarise_alignment
from everalign.types import (
    AlignmentStatus,
    AlignmentSummary,
    LinkDifference,
    VersionReport,
)
from everalign.view import AlignmentView

# Corrections that are listed; a first training after much has changed revises thousands.
MAX_CORRECTIONS = 100
CORRECTION_KINDS = ("retracted", "rejected", "withdrawn", "revised")
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class ReportLink:
    """A link as a report shows it: labels and names of both entities, confidence."""

    left: tuple[str, str]
    right: tuple[str, str]
    confidence: float


@dataclass(frozen=True)
class ThresholdRow:
    """What is expected if found links below a confidence are left out.

    Attributes:
        threshold: The least confidence.
        links: How many found links there are.
        precision: The mean of their confidences.
    """

    threshold: float
    links: int
    precision: float


@dataclass(frozen=True)
class ReportContent:
    """All that a report shows.

    Attributes:
        title: Its title.
        status: The state of the alignment.
        summary: How much is linked, and how surely.
        corrections: What the last version has corrected.
        correction_count: How many corrections there are.
        thresholds: What is expected at some confidences; empty if scores are no probabilities.
        doubtful: The found links with the least confidence.
        answers: How many decisions each author has taken, by kind.
        disagreements: How many entities people disagree about.
    """

    title: str
    status: AlignmentStatus
    summary: AlignmentSummary
    corrections: Sequence[LinkDifference]
    correction_count: int
    thresholds: Sequence[ThresholdRow]
    doubtful: Sequence[ReportLink]
    answers: Sequence[tuple[str, Counter[str]]]
    disagreements: int


def collect_report(
    session: AlignmentSession, view: AlignmentView, title: str, doubtful: int
) -> ReportContent:
    """Collect what a report shows.

    Args:
        session: The open alignment.
        view: A view of the same.
        title: The title of the report.
        doubtful: How many of the most doubtful links to list.

    Returns:
        The content.
    """
    status = view.status()
    assert status.version is not None, "a view has a version"
    corrections: list[LinkDifference] = []
    if status.version > 0:
        differences = list_differences(session, status.version - 1, status.version)
        corrections = [row for row in differences if row.kind in CORRECTION_KINDS]
    found = list(iterate_links(session, Selection(found_only=True), None))
    weakest = sorted(found, key=lambda link: link.score)[:doubtful]
    left, right = (
        {name: view.label(name, "left") for name in {link.left for link in weakest}},
        {name: view.label(name, "right") for name in {link.right for link in weakest}},
    )
    answers: dict[str, Counter[str]] = {}
    for decision in list_decisions(session):
        answers.setdefault(decision.author, Counter())[decision.kind] += 1
    scores = [link.score for link in found] if is_calibrated(session) else []
    return ReportContent(
        title,
        status,
        summarise_alignment(session),
        corrections[:MAX_CORRECTIONS],
        len(corrections),
        list(_measure_thresholds(scores)),
        [ReportLink((left[x.left], x.left), (right[x.right], x.right), x.score) for x in weakest],
        sorted(answers.items()),
        len(view.disagreements()),
    )


def _measure_thresholds(scores: Sequence[float]) -> Iterator[ThresholdRow]:
    best_first = sorted(scores, reverse=True)
    totals = list(accumulate(best_first))
    for threshold in THRESHOLDS:
        count = sum(score >= threshold for score in best_first)
        if count:
            yield ThresholdRow(threshold, count, totals[count - 1] / count)


def format_report(content: ReportContent) -> str:
    """Format a report.

    Args:
        content: What it shows.

    Returns:
        HTML without scripts, and without anything from elsewhere.
    """
    status, summary = content.status, content.summary
    sections = [
        _format_overview(status, summary, content.disagreements),
        _format_section("Links by version", _draw_versions(status.reports)),
        _format_section("Confidence of found links", _draw_confidence(summary.confidence))
        if summary.confidence
        else "",
        _format_thresholds(content.thresholds),
        _format_versions(status.reports),
        _format_corrections(content),
        _format_doubtful(content.doubtful),
        _format_answers(content.answers),
    ]
    title = escape(content.title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        # Nothing is loaded and nothing runs, whatever a label contains.
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{title}</h1>{''.join(sections)}</body></html>\n"
    )


def _format_section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def _format_overview(
    status: AlignmentStatus, summary: AlignmentSummary, disagreements: int
) -> str:
    last = status.reports[-1]
    rows: list[tuple[str, object]] = [
        ("Version", f"{status.version}, made {last.made_at[:16].replace('T', ' ')} UTC"),
        ("Method", status.method),
        ("Found links", summary.found_links),
        ("Given links", summary.given_links),
        ("Proposals below the threshold", summary.proposals),
        ("Left entities with a link", _format_share(summary.left.linked, summary.left.entities)),
        (
            "Right entities with a link",
            _format_share(summary.right.linked, summary.right.entities),
        ),
        ("Decisions that are waiting", status.waiting_decisions),
        ("Open disagreements", disagreements),
    ]
    if summary.doubtful is not None:
        rows.insert(3, ("Found links with a confidence below 0.8", f"{summary.doubtful:.1%}"))
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{_format_value(value)}</td></tr>'
        for name, value in rows
    )
    return _format_section("Overview", f"<table>{body}</table>")


def _format_thresholds(rows: Sequence[ThresholdRow]) -> str:
    if not rows:
        return ""
    cells = [[f"{row.threshold:g}", row.links, f"{row.precision:.1%}"] for row in rows]
    table = _format_table(["Confidence at least", "Found links", "Expected precision"], cells)
    return _format_section("Thresholds", table)


def _format_versions(reports: Sequence[VersionReport]) -> str:
    names = ["Version", "Made", "From", "Found", "Added", "Revised", "Retracted", "Confirmed",
             "Rejected"]  # fmt: skip
    rows = [
        [
            report.version,
            report.made_at[:16].replace("T", " "),
            report.source,
            report.found_links,
            report.links_added,
            report.links_revised,
            report.links_retracted,
            report.links_confirmed,
            report.links_rejected,
        ]
        for report in reversed(reports)
    ]
    return _format_section("Versions", _format_table(names, rows))


def _format_corrections(content: ReportContent) -> str:
    if not content.corrections:
        return _format_section("Corrections", "<p>The last version has corrected no link.</p>")
    rows = [
        [row.kind, row.left, row.right, _format_score(row.before), row.reason]
        for row in content.corrections
    ]
    table = _format_table(["What", "Left", "Right", "Confidence before", "Why"], rows)
    more = content.correction_count - len(rows)
    note = f"<p>and {more:,} more</p>" if more else ""
    return _format_section("Corrections of the last version", table + note)


def _format_doubtful(links: Sequence[ReportLink]) -> str:
    if not links:
        return ""
    rows = "".join(
        f"<tr><td>{_format_entity(*link.left)}</td><td>{_format_entity(*link.right)}</td>"
        f'<td class="n">{link.confidence:.3f}</td></tr>'
        for link in links
    )
    head = "<thead><tr><th>Left</th><th>Right</th><th>Confidence</th></tr></thead>"
    table = f'<div class="wide"><table>{head}<tbody>{rows}</tbody></table></div>'
    return _format_section("The most doubtful links", table)


def _format_answers(answers: Sequence[tuple[str, Counter[str]]]) -> str:
    if not answers:
        return ""
    kinds = sorted({kind for _, counts in answers for kind in counts})
    rows = [
        [author or "(no name)", *(counts[kind] for kind in kinds)] for author, counts in answers
    ]
    return _format_section("Decisions by author", _format_table(["Author", *kinds], rows))


def _format_entity(label: str, name: str) -> str:
    # The direction of a label is its own, whatever is beside it.
    return f"<bdi>{escape(label)}</bdi><br><small>{escape(name)}</small>"


def _format_table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(f"<tr>{''.join(map(_format_cell, row))}</tr>" for row in rows)
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _format_cell(value: object) -> str:
    style = ' class="n"' if isinstance(value, int) else ""
    return f"<td{style}>{_format_value(value)}</td>"


def _format_value(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else f"<bdi>{escape(str(value))}</bdi>"


def _format_share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}" + (f" ({part / whole:.0%})" if whole else "")


def _format_score(score: float | None) -> str:
    return "" if score is None else f"{score:.3f}"


# Charts. All are drawn in a box of this size, which grows with the page.
WIDTH, HEIGHT, MARGIN = 640, 220, 28


def _draw_versions(reports: Sequence[VersionReport]) -> str:
    values = [report.found_links for report in reports]
    labels = [str(report.version) for report in reports]
    return _draw_bars(values, labels, "Found links of each version")


def _draw_confidence(counts: Sequence[int]) -> str:
    labels = [f"{number / 10:.1f}" for number in range(len(counts))]
    return _draw_bars(counts, labels, "Found links in each tenth of the confidence")


def _draw_bars(values: Sequence[int], labels: Sequence[str], title: str) -> str:
    """Draw bars with their values above and labels below."""
    greatest = max([*values, 1])
    step = (WIDTH - 2 * MARGIN) / max(1, len(values))
    # Labels that would not fit beside each other are left out.
    every = max(1, -(-len(values) * 40 // (WIDTH - 2 * MARGIN)))
    parts = []
    for number, (value, label) in enumerate(zip(values, labels, strict=True)):
        height = (HEIGHT - 2 * MARGIN) * value / greatest
        left, top = MARGIN + number * step, HEIGHT - MARGIN - height
        parts.append(
            f'<rect x="{left + step * 0.1:.1f}" y="{top:.1f}" width="{step * 0.8:.1f}" '
            f'height="{height:.1f}"><title>{escape(label)}: {value:,}</title></rect>'
        )
        if number % every == 0:
            middle = left + step / 2
            parts.append(f'<text x="{middle:.1f}" y="{HEIGHT - 8}">{escape(label)}</text>')
            parts.append(f'<text x="{middle:.1f}" y="{top - 6:.1f}">{value:,}</text>')
    # The first child is its name for those who do not see it.
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><title>{escape(title)}</title>'
        f"{''.join(parts)}</svg>"
    )


_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--line:#d0d7de;--bar:#3b73af}
@media (prefers-color-scheme:dark){
:root{--ink:#e6edf3;--paper:#0d1117;--line:#30363d;--bar:#6ea8e0}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);
max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}
th,td{text-align:start;padding:.3rem .6rem;border-bottom:1px solid var(--line);
vertical-align:top;overflow-wrap:anywhere}
th{font-weight:600;overflow-wrap:normal}
.n{text-align:end;font-variant-numeric:tabular-nums}
.wide{overflow-x:auto}
small{opacity:.75}
svg{width:100%;height:auto;font-size:12px}
rect{fill:var(--bar)}
text{fill:var(--ink);text-anchor:middle}
@media print{section{break-inside:avoid}}
"""
