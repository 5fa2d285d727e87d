"""The tables of the comparison: own results beside published numbers."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import mean

from everalign.benchmark.metrics import Correction, read_corrections
from everalign.benchmark.paper.cells import BenchmarkCell, CellGrid, PaperDataset
from everalign.benchmark.paper.systems import PublishedScores, read_published
from everalign.benchmark.protocol import SnapshotResult

Table = list[list[str]]
DASH = "–"
QUALITY = ("precision", "recall", "f1")
MEASURED = ("new_entity_recall", "corrected", "seconds", "peak_rss_mb")
# Enough to illustrate; the page links to the file with more of them.
SHOWN_CORRECTIONS = 8


def main_table(cells: CellGrid, dataset: PaperDataset, out: Path) -> Table:
    """Build the table of precision, recall and F1 (Tables 2 to 4 of the paper).

    Args:
        cells: The comparison.
        dataset: The dataset.
        out: The directory of the pages, to which links are relative.

    Returns:
        Up to three rows for each system: own and published scores, and the difference in F1.
    """
    snapshots = range(dataset.snapshot_count)
    table = [["system", "P / R / F1", *(f"t={t}" for t in snapshots)]]
    for system in cells.systems:
        own = cells.find_records(system, dataset)
        published = read_published(dataset.name, system.label)
        source = _link_own_results(cells.list_cells(system, dataset), out)
        table.append([system.label, source, *(_format_scores(own.get(t)) for t in snapshots)])
        if published:
            formatted = (_format_published(published.get(t)) for t in snapshots)
            table.append(["", "published", *formatted])
            differences = _format_differences(
                _f1_by_snapshot(own), _published_f1_by_snapshot(published), snapshots
            )
            table.append(["", "F1, difference", *differences])
    return table


def new_entity_table(cells: CellGrid, dataset: PaperDataset, out: Path) -> Table:
    """Build the table of recall on gold links with a new entity (Table 5 of the paper).

    Args:
        cells: The comparison.
        dataset: The dataset.
        out: The directory of the pages, to which links are relative.

    Returns:
        One or two rows for each system: own and published recall.
    """
    # At snapshot 0, no entity is new.
    snapshots = range(1, dataset.snapshot_count)
    table = [["system", "recall", *(f"t={t}" for t in snapshots)]]
    for system in cells.systems:
        records = cells.find_records(system, dataset)
        own = {t: record["new_entity_recall"] for t, record in records.items()}
        published = {
            t: scores.new_entity_recall
            for t, scores in read_published(dataset.name, system.label).items()
            if scores.new_entity_recall is not None
        }
        source = _link_own_results(cells.list_cells(system, dataset), out)
        table.append([system.label, source, *(format_share(own.get(t)) for t in snapshots)])
        if published:
            formatted = (format_share(published.get(t)) for t in snapshots)
            table.append(["", "published", *formatted])
    return table


def ablation_table(cells: CellGrid, dataset: PaperDataset) -> Table:
    """Build the table of the variants of ContEA.

    Args:
        cells: The comparison.
        dataset: The dataset.

    Returns:
        F1 of each variant, own and published, and the difference from full ContEA.
    """
    # The variants differ in updates only: at snapshot 0 they are the same.
    snapshots = range(1, dataset.snapshot_count)
    variants = [system for system in cells.systems if system.method == "contea"]
    table = [["system", "F1", *(f"t={t}" for t in snapshots)]]
    # The first of the variants is ContEA itself.
    full_f1: dict[str, Mapping[int, float]] = {}
    for system in variants:
        for origin, f1 in (
            ("ours", _f1_by_snapshot(cells.find_records(system, dataset))),
            ("published", _published_f1_by_snapshot(read_published(dataset.name, system.label))),
        ):
            if origin == "published" and not f1:
                continue
            label = system.label if origin == "ours" else ""
            table.append([label, origin, *(format_share(f1.get(t)) for t in snapshots)])
            if origin in full_f1:
                heading = f"{origin}, against {variants[0].label}"
                table.append(["", heading, *_format_differences(f1, full_f1[origin], snapshots)])
            full_f1.setdefault(origin, f1)
    return table


def correction_table(rows: Sequence[Correction], last_snapshot: int) -> Table:
    """Build the table of corrected links (Table 7 of the paper).

    Args:
        rows: The corrections.
        last_snapshot: The snapshot of the correct links.

    Returns:
        A row for each of the first corrections.
    """
    table = [["link at t=0", "score", f"link at t={last_snapshot}", "score"]]
    for row in rows[:SHOWN_CORRECTIONS]:
        before = f"{_format_entity(row.left)} – {_format_entity(row.right)}"
        after = f"{_format_entity(row.corrected_left)} – {_format_entity(row.corrected_right)}"
        table.append([before, format_share(row.score), after, format_share(row.corrected_score)])
    return table


def read_cell_corrections(cell: BenchmarkCell) -> list[Correction]:
    """Read the corrected links of a cell.

    Args:
        cell: The cell.

    Returns:
        The corrections; empty if the cell is not complete or has no file of them.
    """
    exists = cell.complete and cell.corrections_file.exists()
    return read_corrections(cell.corrections_file) if exists else []


def summary_table(cells: CellGrid) -> Table:
    """Build the table of mean F1.

    Args:
        cells: The comparison.

    Returns:
        A row for each system: own and published mean over the snapshots of the paper.
    """
    heading = [f"{d.name}, {origin}" for d in cells.datasets for origin in ("ours", "published")]
    table = [["system", "kind", *heading]]
    for system in cells.systems:
        row = [system.label, system.kind]
        for dataset in cells.datasets:
            published = _published_f1_by_snapshot(read_published(dataset.name, system.label))
            # Both means are over the snapshots that the paper has.
            snapshots = list(published) or range(system.first_snapshot, dataset.snapshot_count)
            for f1 in (_f1_by_snapshot(cells.find_records(system, dataset)), published):
                # A mean over fewer snapshots could not be compared with the other one.
                complete = all(t in f1 for t in snapshots)
                row.append(format_share(mean(f1[t] for t in snapshots) if complete else None))
        table.append(row)
    return table


def run_table(cells: CellGrid, out: Path) -> Table:
    """Build the table of finished snapshots and their core hours.

    Args:
        cells: The comparison.
        out: The directory of the pages, to which links are relative.

    Returns:
        A row for each system, a column for each dataset.
    """
    table = [["system", *(dataset.name for dataset in cells.datasets)]]
    for system in cells.systems:
        row = [system.label]
        for dataset in cells.datasets:
            own_cells = cells.list_cells(system, dataset)
            snapshots = [record["t"] for cell in own_cells for record in cell.records]
            hours = sum(cell.core_hours for cell in own_cells)
            links = _link_cells(own_cells, out)
            text = f"t={_format_ranges(snapshots)}: {hours:.2f} h ({links})"
            row.append(text if snapshots else DASH)
        table.append(row)
    return table


def long_table(cells: CellGrid, dataset: PaperDataset) -> Table:
    """Build the table of all numbers of a dataset, for other programs.

    Args:
        cells: The comparison.
        dataset: The dataset.

    Returns:
        A row for each system and snapshot.
    """
    names = ["system", "kind", "t", *QUALITY, *(f"published_{name}" for name in QUALITY)]
    names += ["published_new_entity_recall", *MEASURED, "file"]
    table = [names]
    for system in cells.systems:
        published = read_published(dataset.name, system.label)
        file_names = {
            record["t"]: cell.result_file.name
            for cell in cells.list_cells(system, dataset)
            for record in cell.records
        }
        own = cells.find_records(system, dataset)
        for t in range(dataset.snapshot_count):
            # Snapshots that were not run have a row too, so that all tables have the same shape.
            record, scores = own.get(t, {}), published.get(t)
            values = [
                *(record.get(name) for name in QUALITY),
                *(getattr(scores, name, None) for name in (*QUALITY, "new_entity_recall")),
                *(record.get(name) for name in MEASURED),
            ]
            formatted = [_format_value(value) for value in values]
            table.append([system.label, system.kind, str(t), *formatted, file_names.get(t, "")])
    return table


def format_markdown(table: Table) -> str:
    """Format a table as Markdown.

    Args:
        table: The rows; the first one is the heading.

    Returns:
        The lines without a final line break.

    >>> print(format_markdown([["t", "F1"], ["0", ".713"]]))
    | t | F1 |
    |---|---|
    | 0 | .713 |
    """
    lines = ["| " + " | ".join(row) + " |" for row in table]
    lines.insert(1, "|" + "---|" * len(table[0]))
    return "\n".join(lines)


def format_share(value: float | None) -> str:
    """Format a share with three digits and without the leading zero, as the paper does.

    Args:
        value: The share.

    Returns:
        The text; a dash for None.

    >>> format_share(0.25), format_share(1.0), format_share(None)
    ('.250', '1.000', '–')
    """
    return DASH if value is None else f"{value:.3f}".removeprefix("0")


def format_file_link(file: Path, text: str, out: Path) -> str:
    """Format a Markdown link to a file.

    Args:
        file: The target.
        text: The text of the link.
        out: The directory of the page.

    Returns:
        The link with a relative path.
    """
    # `Path.relative_to` cannot lead to a directory beside `out`.
    return f"[{text}]({Path(os.path.relpath(file, out)).as_posix()})"


def _link_own_results(cells: Sequence[BenchmarkCell], out: Path) -> str:
    """Format the word "ours" with links to the result files."""
    started = [cell for cell in cells if cell.records]
    if len(started) == 1 and len(started[0].snapshots) > 1:
        return format_file_link(started[0].result_file, "ours", out)
    return f"ours ({_link_cells(started, out)})" if started else "ours"


def _link_cells(cells: Sequence[BenchmarkCell], out: Path) -> str:
    """Format links to the result files: one for all snapshots, or one for each of them."""
    started = [cell for cell in cells if cell.records]
    is_single = len(started) == 1 and len(started[0].snapshots) > 1
    return ", ".join(
        format_file_link(cell.result_file, "file" if is_single else f"{cell.snapshots[0]}", out)
        for cell in started
    )


def _format_ranges(snapshots: Sequence[int]) -> str:
    """Format snapshot numbers as ranges.

    >>> _format_ranges([0, 1, 2, 5])
    '0-2, 5'
    """
    starts = [t for t in snapshots if t - 1 not in snapshots]
    ends = [t for t in snapshots if t + 1 not in snapshots]
    ranges = zip(sorted(starts), sorted(ends), strict=True)
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)


def _format_scores(record: SnapshotResult | None) -> str:
    return "/".join(format_share(record[name]) for name in QUALITY) if record else DASH


def _format_published(scores: PublishedScores | None) -> str:
    return "/".join(format_share(getattr(scores, name)) for name in QUALITY) if scores else DASH


def _f1_by_snapshot(records: Mapping[int, SnapshotResult]) -> dict[int, float]:
    return {t: record["f1"] for t, record in records.items()}


def _published_f1_by_snapshot(published: Mapping[int, PublishedScores]) -> dict[int, float]:
    return {t: scores.f1 for t, scores in published.items()}


def _format_differences(
    f1: Mapping[int, float], baseline: Mapping[int, float], snapshots: Collection[int]
) -> list[str]:
    return [
        f"{f1[t] - baseline[t]:+.3f}" if t in f1 and t in baseline else DASH for t in snapshots
    ]


def _format_entity(name: str) -> str:
    """Format an entity by the last part of its IRI, or by its number."""
    # Entities without an IRI are numbers in the published datasets.
    if name.isdecimal():
        return f"entity {name}"
    # A bar would end the cell of a Markdown table.
    return name.rstrip("/").rpartition("/")[2].replace("_", " ").replace("|", "\\|")


def _format_value(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
