"""The pages: Markdown, tables for other programs, figures. Nothing on them is typed by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from everalign.figures import save
from everalign.paper.cells import Cell, Cells, Dataset
from everalign.paper.drawing import growth_figure, time_figure
from everalign.paper.systems import CONTINUAL
from everalign.paper.tables import (
    Table,
    ablation_table,
    correction_table,
    corrections_of,
    linked,
    long_table,
    main_table,
    markdown,
    new_entity_table,
    run_table,
    summary_table,
)

CASE_STUDY = ("contea", "evidence")


def write_pages(cells: Cells, out: Path) -> list[Path]:
    """Write the pages and draw the figures into a directory; which files these are."""
    out.mkdir(parents=True, exist_ok=True)
    pages = make_pages(cells, out)
    for name, text in pages.items():
        (out / name).write_text(text, encoding="utf-8", newline="\n")
    drawn = {"time.svg": partial(time_figure, cells)}
    for dataset in cells.datasets:
        drawn[_growth(dataset)] = partial(growth_figure, cells, dataset)
    for name, figure in drawn.items():
        save(figure, out / name)
    return [out / name for name in (*pages, *drawn)]


def make_pages(cells: Cells, out: Path) -> dict[str, str]:
    """The text of every page by its file name, with links that hold in the directory `out`."""
    pages = {"README.md": _index(cells, out)}
    for dataset in cells.datasets:
        pages[f"{dataset.name}.md"] = _page(cells, dataset, out)
        pages[f"{dataset.name}.tsv"] = _tsv(long_table(cells, dataset))
    return pages


def _index(cells: Cells, out: Path) -> str:
    pages = [f"- [{d.name}]({d.name}.md), and the same [as a table]({d.name}.tsv)"
             for d in cells.datasets]  # fmt: skip
    return _joined(
        "# The ContEA paper, measured again",
        "Every system of *Facing Changes: Continual Entity Alignment for Growing Knowledge "
        "Graphs* (ISWC 2022), its variants of ContEA and the methods of EverAlign by one "
        "protocol, beside the published numbers. A dash stands for what has not been run, or "
        "is not in the paper.",
        _made(cells, cells, out),
        "\n".join(pages),
        "## Mean F1 over the snapshots",
        "Over those that the paper has: for its variants of ContEA all but the first.",
        markdown(summary_table(cells)),
        "## Time",
        "![Seconds of each snapshot](time.svg)",
        "Continual systems are drawn through, retraining ones dashed, inductive ones dotted. Runs "
        "on one core and on two are drawn alike; each run file says how many it had. Where "
        "several ran side by side on a core, they took the longer for it.",
        "## Runs",
        "The snapshots that are there, and the hours of one core that they took.",
        markdown(run_table(cells, out)),
    )


def _page(cells: Cells, dataset: Dataset, out: Path) -> str:
    mine = [cell for cell in cells if cell.dataset == dataset]
    return _joined(
        f"# {dataset.name}",
        _made(cells, mine, out),
        "## Precision, recall and F1",
        markdown(main_table(cells, dataset, out)),
        "## New entities",
        "Recall on the gold links with an entity that the snapshot before did not have.",
        markdown(new_entity_table(cells, dataset, out)),
        "## Growth of correct links",
        f"![Correct links over the snapshots]({_growth(dataset)})",
        "## Ablation",
        "ContEA without trusted links (TA), without these and without replayed seeds (ASA), and "
        "learned anew at each snapshot.",
        markdown(ablation_table(cells, dataset)),
        "## Links that were corrected",
        "Wrong at the first snapshot, right at the last: the surest.",
        *(
            part
            for system in cells.systems
            if system.name in CASE_STUDY and system.kind == CONTINUAL
            for cell in cells.of(system, dataset)
            for part in (f"### By {system.label}", _case_study(cell, out))
        ),
    )


def _case_study(cell: Cell, out: Path) -> str:
    rows = corrections_of(cell)
    if not rows:
        return "There is no run yet that has kept its corrected links."
    last = cell.records[-1]
    kept = linked(cell.corrections, f"{len(rows)} of the wrong ones are kept", out)
    counted = f"{last['corrected']} links are right where one or two wrong ones were; {kept}."
    return _joined(counted, markdown(correction_table(rows, last["t"]))).rstrip()


def _made(cells: Cells, mine: Iterable[Cell], out: Path) -> str:
    """How a page was made: the command, the seed, the versions, the hours."""
    runs = [cell for cell in mine if cell.records]
    hours = sum(cell.core_hours for cell in runs)
    versions: defaultdict[str, set[str]] = defaultdict(set)
    for cell in runs:
        for name, version in (cell.result or {}).get("software", {}).items():
            if version is not None:
                versions[name].add(str(version))
    with_these = ", ".join(f"{name} {' and '.join(sorted(v))}" for name, v in versions.items())
    return (
        f"Made by `everalign paper` from {linked(cells.results, 'these runs', out)}, with seed "
        f"{cells.seed}. They took {hours:.2f} hours of one core"
        + (f" ({with_these})." if with_these else ".")
    )


def _growth(dataset: Dataset) -> str:
    return f"{dataset.name}-growth.svg"


def _joined(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"


def _tsv(table: Table) -> str:
    return "".join("\t".join(row) + "\n" for row in table)
