"""The tables of the paper: what was measured beside what was published."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import mean

from everalign.evaluation.corrections import Correction, read_corrections
from everalign.evaluation.protocol import Record
from everalign.paper.cells import Cell, Cells, Dataset
from everalign.paper.published import Published, published

Table = list[list[str]]
DASH = "–"
QUALITY = ("precision", "recall", "f1")
MEASURED = ("new_entity_recall", "corrected", "seconds", "peak_rss_mb")
EXAMPLES = 8  # corrections that a page shows; the file beside the run has more


def main_table(cells: Cells, dataset: Dataset, out: Path) -> Table:
    """Tables 2 to 4: precision, recall and F1, and how far F1 is from the published one."""
    times = range(dataset.snapshots)
    table = [["system", "P / R / F1", *(f"t={t}" for t in times)]]
    for system in cells.systems:
        ours, theirs = cells.records(system, dataset), published(dataset.name, system.label)
        source = _source(cells.of(system, dataset), out)
        table.append([system.label, source, *(_quality(ours.get(t)) for t in times)])
        if theirs:
            table.append(["", "published", *(_published(theirs.get(t)) for t in times)])
            table.append(["", "F1, difference", *_differences(_f1(ours), _f1_of(theirs), times)])
    return table


def new_entity_table(cells: Cells, dataset: Dataset, out: Path) -> Table:
    """Table 5: recall on the gold links with an entity that is new."""
    times = range(1, dataset.snapshots)
    table = [["system", "recall", *(f"t={t}" for t in times)]]
    for system in cells.systems:
        records = cells.records(system, dataset)
        ours = {t: record["new_entity_recall"] for t, record in records.items()}
        theirs = {
            t: figures.new_entity_recall
            for t, figures in published(dataset.name, system.label).items()
            if figures.new_entity_recall is not None
        }
        source = _source(cells.of(system, dataset), out)
        table.append([system.label, source, *(short(ours.get(t)) for t in times)])
        if theirs:
            table.append(["", "published", *(short(theirs.get(t)) for t in times)])
    return table


def ablation_table(cells: Cells, dataset: Dataset) -> Table:
    """F1 of ContEA and of its variants, and what each variant loses against it."""
    times = range(1, dataset.snapshots)
    variants = [system for system in cells.systems if system.method == "contea"]
    table = [["system", "F1", *(f"t={t}" for t in times)]]
    whole: dict[str, Mapping[int, float]] = {}
    for system in variants:
        for who, f1 in (
            ("ours", _f1(cells.records(system, dataset))),
            ("published", _f1_of(published(dataset.name, system.label))),
        ):
            if who == "published" and not f1:
                continue
            label = system.label if who == "ours" else ""
            table.append([label, who, *(short(f1.get(t)) for t in times)])
            if who in whole:
                change = f"{who}, against {variants[0].label}"
                table.append(["", change, *_differences(f1, whole[who], times)])
            whole.setdefault(who, f1)
    return table


def correction_table(rows: Sequence[Correction], last: int) -> Table:
    """Table 7, the case study: wrong links at first, and what became of them."""
    table = [["link at t=0", "score", f"link at t={last}", "score"]]
    for row in rows[:EXAMPLES]:
        before = f"{_entity(row.left)} – {_entity(row.right)}"
        after = f"{_entity(row.corrected_left)} – {_entity(row.corrected_right)}"
        table.append([before, short(row.score), after, short(row.corrected_score)])
    return table


def corrections_of(cell: Cell) -> list[Correction]:
    """The corrected links that are kept of a run; none if it is of the days before they were."""
    there = cell.complete and cell.corrections.exists()
    return read_corrections(cell.corrections) if there else []


def summary_table(cells: Cells) -> Table:
    """Mean F1 over the snapshots that the paper has, ours and the published one."""
    heading = [f"{d.name}, {who}" for d in cells.datasets for who in ("ours", "published")]
    table = [["system", "kind", *heading]]
    for system in cells.systems:
        row = [system.label, system.kind]
        for dataset in cells.datasets:
            theirs = _f1_of(published(dataset.name, system.label))
            times = list(theirs) or range(system.since, dataset.snapshots)
            for f1 in (_f1(cells.records(system, dataset)), theirs):
                there = all(t in f1 for t in times)
                row.append(short(mean(f1[t] for t in times) if there else None))
        table.append(row)
    return table


def run_table(cells: Cells, out: Path) -> Table:
    """Which snapshots are there of each system, and the hours that they took."""
    table = [["system", *(dataset.name for dataset in cells.datasets)]]
    for system in cells.systems:
        row = [system.label]
        for dataset in cells.datasets:
            mine = cells.of(system, dataset)
            times = [record["t"] for cell in mine for record in cell.records]
            hours = sum(cell.core_hours for cell in mine)
            told = f"t={_spans(times)}: {hours:.2f} h ({_links(mine, out)})"
            row.append(told if times else DASH)
        table.append(row)
    return table


def long_table(cells: Cells, dataset: Dataset) -> Table:
    """Everything that there is of a dataset, a row for each system and snapshot."""
    names = ["system", "kind", "t", *QUALITY, *(f"published_{name}" for name in QUALITY)]
    names += ["published_new_entity_recall", *MEASURED, "file"]
    table = [names]
    for system in cells.systems:
        theirs = published(dataset.name, system.label)
        file = {record["t"]: cell.file.name for cell in cells.of(system, dataset)
                for record in cell.records}  # fmt: skip
        ours = cells.records(system, dataset)
        for t in range(dataset.snapshots):
            record = ours.get(t, {})
            said = [getattr(theirs.get(t), n, None) for n in (*QUALITY, "new_entity_recall")]
            values = [*(record.get(n) for n in QUALITY), *said, *(record.get(n) for n in MEASURED)]
            plain = [_plain(value) for value in values]
            table.append([system.label, system.kind, str(t), *plain, file.get(t, "")])
    return table


def markdown(table: Table) -> str:
    """A table as Markdown; its first row is the heading.

    >>> print(markdown([["t", "F1"], ["0", ".713"]]))
    | t | F1 |
    |---|---|
    | 0 | .713 |
    """
    lines = ["| " + " | ".join(row) + " |" for row in table]
    lines.insert(1, "|" + "---|" * len(table[0]))
    return "\n".join(lines)


def short(value: float | None) -> str:
    """A share as the paper prints it.

    >>> short(0.25), short(1.0), short(None)
    ('.250', '1.000', '–')
    """
    return DASH if value is None else f"{value:.3f}".removeprefix("0")


def linked(file: Path, text: str, out: Path) -> str:
    """A link from the pages to a file."""
    return f"[{text}]({Path(os.path.relpath(file, out)).as_posix()})"


def _source(cells: Sequence[Cell], out: Path) -> str:
    """The word "ours" with links to the runs that are there."""
    there = [cell for cell in cells if cell.records]
    if len(there) == 1 and len(there[0].snapshots) > 1:
        return linked(there[0].file, "ours", out)
    return f"ours ({_links(there, out)})" if there else "ours"


def _links(cells: Sequence[Cell], out: Path) -> str:
    there = [cell for cell in cells if cell.records]
    one = len(there) == 1 and len(there[0].snapshots) > 1
    return ", ".join(linked(c.file, "file" if one else f"{c.snapshots[0]}", out) for c in there)


def _spans(times: Sequence[int]) -> str:
    """Some snapshots in few words.

    >>> _spans([0, 1, 2, 5])
    '0-2, 5'
    """
    starts = [t for t in times if t - 1 not in times]
    ends = [t for t in times if t + 1 not in times]
    spans = zip(sorted(starts), sorted(ends), strict=True)
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in spans)


def _quality(record: Record | None) -> str:
    return "/".join(short(record[name]) for name in QUALITY) if record else DASH


def _published(figures: Published | None) -> str:
    return "/".join(short(getattr(figures, name)) for name in QUALITY) if figures else DASH


def _f1(records: Mapping[int, Record]) -> dict[int, float]:
    return {t: record["f1"] for t, record in records.items()}


def _f1_of(figures: Mapping[int, Published]) -> dict[int, float]:
    return {t: each.f1 for t, each in figures.items()}


def _differences(
    mine: Mapping[int, float], other: Mapping[int, float], times: Collection[int]
) -> list[str]:
    return [f"{mine[t] - other[t]:+.3f}" if t in mine and t in other else DASH for t in times]


def _entity(name: str) -> str:
    """What people call an entity: the end of its IRI, or its number."""
    if name.isdecimal():
        return f"entity {name}"
    return name.rstrip("/").rpartition("/")[2].replace("_", " ").replace("|", "\\|")


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
