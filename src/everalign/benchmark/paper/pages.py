"""The pages of the comparison: Markdown, tab-separated tables and figures.

All numbers are generated from the result files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from everalign.benchmark.paper.cells import BenchmarkCell, CellGrid, PaperDataset
from everalign.benchmark.paper.systems import (
    CONTINUAL,
    INDUCTIVE,
    RETRAINED,
    ComparedSystem,
    read_published,
)
from everalign.benchmark.paper.tables import (
    Table,
    ablation_table,
    correction_table,
    format_file_link,
    format_markdown,
    long_table,
    main_table,
    new_entity_table,
    read_cell_corrections,
    run_table,
    summary_table,
)
from everalign.plotting import COLOURS, GREY, add_legend, plot_line, save_figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

LINE_STYLES = {CONTINUAL: "-", RETRAINED: "--", INDUCTIVE: ":"}


def draw_growth(cells: CellGrid, dataset: PaperDataset) -> Figure:
    """Draw the number of correct links over the snapshots.

    Args:
        cells: The comparison.
        dataset: The dataset.

    Returns:
        The figure.
    """
    figure = _new_figure(7, 4.5)
    panel = figure.subplots()
    gold: dict[int, int] = {}
    for system, (colour, style) in _line_styles(cells.systems):
        records = cells.find_records(system, dataset)
        # Gold links depend on the dataset only: any system that was run tells their number.
        gold |= {t: record["gold"] for t, record in records.items()}
        correct = {t: round(r["recall"] * r["gold"]) for t, r in records.items()}
        plot_line(panel, correct, colour, system.label, style)
    # The paper has no counts of correct links; they follow from recall and the gold links.
    published = {
        t: scores.recall * gold[t]
        for t, scores in read_published(dataset.name, "ContEA").items()
        if t in gold
    }
    plot_line(panel, published, GREY, "ContEA, published", "-.")
    panel.set(title=f"Correct links, {dataset.name}", xlabel="snapshot", ylabel="links")
    panel.set_xticks(range(dataset.snapshot_count))
    panel.set_ylim(bottom=0)
    add_legend(panel)
    return figure


def draw_times(cells: CellGrid) -> Figure:
    """Draw the time of each snapshot, with a panel for each dataset.

    Args:
        cells: The comparison.

    Returns:
        The figure.
    """
    figure = _new_figure(4 + 3 * len(cells.datasets), 4)
    panels = figure.subplots(1, len(cells.datasets), sharey=True, squeeze=False)[0]
    legend_entries: dict[str, Artist] = {}
    for panel, dataset in zip(panels, cells.datasets, strict=True):
        for system, (colour, style) in _line_styles(cells.systems):
            records = cells.find_records(system, dataset)
            seconds = {t: record["seconds"] for t, record in records.items()}
            plot_line(panel, seconds, colour, system.label, style)
        handles, labels = panel.get_legend_handles_labels()
        legend_entries |= dict(zip(labels, handles, strict=True))
        panel.set(title=dataset.name, xlabel="snapshot", yscale="log")
        panel.set_xticks(range(dataset.snapshot_count))
    panels[0].set_ylabel("seconds")
    panels[0].yaxis.set_major_formatter("{x:g}")
    if legend_entries:
        # One legend for all panels: a system may be missing in some of them.
        figure.legend(
            legend_entries.values(), legend_entries, loc="outside right upper", frameon=False
        )
    return figure


def _line_styles(
    systems: Sequence[ComparedSystem],
) -> Iterator[tuple[ComparedSystem, tuple[str, str]]]:
    """Assign a line style by kind to each system, and a colour that is unique in its kind."""
    # There are more systems than colours. Kinds have their own line styles, so that a colour can
    # be used once in each.
    colours = {kind: cycle(COLOURS) for kind in LINE_STYLES}
    for system in systems:
        yield system, (next(colours[system.kind]), LINE_STYLES[system.kind])


def _new_figure(width: float, height: float) -> Figure:
    # Here, since matplotlib is optional. Without pyplot, which would keep figures in memory.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


# The systems of which corrected links are shown.
CASE_STUDY = ("contea", "evidence")


def write_pages(cells: CellGrid, out: Path) -> list[Path]:
    """Write the pages and figures.

    Args:
        cells: The comparison.
        out: The directory to write to; created if it does not exist.

    Returns:
        The files written.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    out.mkdir(parents=True, exist_ok=True)
    pages = make_pages(cells, out)
    for name, text in pages.items():
        (out / name).write_text(text, encoding="utf-8", newline="\n")
    # Drawn by `save_figure`, once it is known that matplotlib is installed.
    figures = {"time.svg": partial(draw_times, cells)}
    for dataset in cells.datasets:
        figures[_growth_file_name(dataset)] = partial(draw_growth, cells, dataset)
    for name, draw_figure in figures.items():
        save_figure(draw_figure, out / name)
    return [out / name for name in (*pages, *figures)]


def make_pages(cells: CellGrid, out: Path) -> dict[str, str]:
    """Format the pages.

    Args:
        cells: The comparison.
        out: The directory of the pages, to which links are relative.

    Returns:
        The text of each page by file name.
    """
    pages = {"README.md": _build_index_page(cells, out)}
    for dataset in cells.datasets:
        pages[f"{dataset.name}.md"] = _build_dataset_page(cells, dataset, out)
        pages[f"{dataset.name}.tsv"] = _format_tsv(long_table(cells, dataset))
    return pages


def _build_index_page(cells: CellGrid, out: Path) -> str:
    pages = [
        f"- [{dataset.name}]({dataset.name}.md), also [as a table]({dataset.name}.tsv)"
        for dataset in cells.datasets
    ]
    return _join_paragraphs(
        "# Reproduction of the ContEA paper",
        "All systems of *Facing Changes: Continual Entity Alignment for Growing Knowledge "
        "Graphs* (ISWC 2022), its variants of ContEA, and the methods of EverAlign, evaluated "
        "with the same protocol and compared with the published numbers. A dash means not run, "
        "or not in the paper.",
        _describe_runs(cells, cells, out),
        "\n".join(pages),
        "## Mean F1 over the snapshots",
        "Mean over the snapshots in the paper; for the variants of ContEA, all but the first.",
        format_markdown(summary_table(cells)),
        "## Time",
        "![Seconds of each snapshot](time.svg)",
        "Solid lines: continual systems; dashed: retraining; dotted: inductive. Times are not "
        "normalised by the number of cores, which is in each result file. Runs that shared a "
        "core took longer.",
        "## Runs",
        "Finished snapshots and their time in core hours.",
        format_markdown(run_table(cells, out)),
    )


def _build_dataset_page(cells: CellGrid, dataset: PaperDataset, out: Path) -> str:
    dataset_cells = [cell for cell in cells if cell.dataset == dataset]
    return _join_paragraphs(
        f"# {dataset.name}",
        _describe_runs(cells, dataset_cells, out),
        "## Precision, recall and F1",
        format_markdown(main_table(cells, dataset, out)),
        "## New entities",
        "Recall on the gold links with an entity that is not in the previous snapshot.",
        format_markdown(new_entity_table(cells, dataset, out)),
        "## Growth of correct links",
        f"![Correct links over the snapshots]({_growth_file_name(dataset)})",
        "## Ablation",
        "ContEA without trusted links (TA), without both trusted links and replay of seeds (ASA), "
        "and retrained at each snapshot.",
        format_markdown(ablation_table(cells, dataset)),
        "## Corrected links",
        "Links that are wrong at the first snapshot and corrected at the last one, with the "
        "highest scores.",
        *(
            part
            for system in cells.systems
            if system.name in CASE_STUDY and system.kind == CONTINUAL
            for cell in cells.list_cells(system, dataset)
            for part in (f"### By {system.label}", _build_case_study(cell, out))
        ),
    )


def _build_case_study(cell: BenchmarkCell, out: Path) -> str:
    rows = read_cell_corrections(cell)
    if not rows:
        return "No run with corrected links."
    last = cell.records[-1]
    link = format_file_link(cell.corrections_file, f"{len(rows)} corrections", out)
    summary = f"{last['corrected']} correct links replace wrong ones; see {link}."
    return _join_paragraphs(summary, format_markdown(correction_table(rows, last["t"]))).rstrip()


def _describe_runs(cells: CellGrid, shown: Iterable[BenchmarkCell], out: Path) -> str:
    """Describe how a page was generated: command, seed, versions and time."""
    started = [cell for cell in shown if cell.records]
    hours = sum(cell.core_hours for cell in started)
    versions: defaultdict[str, set[str]] = defaultdict(set)
    for cell in started:
        for name, version in (cell.result or {}).get("software", {}).items():
            if version is not None:
                versions[name].add(str(version))
    software = ", ".join(
        f"{name} {' and '.join(sorted(found))}" for name, found in versions.items()
    )
    results = format_file_link(cells.results_directory, "these results", out)
    return (
        f"Generated by `everalign paper` from {results} with seed {cells.seed}. "
        f"Total time: {hours:.2f} core hours" + (f" ({software})." if software else ".")
    )


def _growth_file_name(dataset: PaperDataset) -> str:
    return f"{dataset.name}-growth.svg"


def _join_paragraphs(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"


def _format_tsv(table: Table) -> str:
    return "".join("\t".join(row) + "\n" for row in table)
