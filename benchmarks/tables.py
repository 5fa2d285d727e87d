"""Makes the tables of the README and of docs/benchmarks.md from the result files, so that no
number is typed. What is not measured yet is a dash.

python benchmarks/tables.py [--check]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from everalign.paper import published as paper
from everalign.paper.tables import DASH, Table, markdown
from measuring import RESULTS, Row, row_of

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
BENCHMARKS = HERE.parent / "docs" / "benchmarks.md"
LABELS = {"evidence": "evidence", "contea": "ContEA"}
DATASETS = paper.DATASETS
SNAPSHOTS = range(paper.SNAPSHOTS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date")
    check = parser.parse_args().check
    for page in TABLES:
        made = with_tables(page)
        if not check:
            page.write_text(made, encoding="utf-8")
        elif made != page.read_text(encoding="utf-8"):
            sys.exit(f"{page.name} is not made from benchmarks/results: run benchmarks/tables.py")


def with_tables(page: Path) -> str:
    """The text of a page with its tables made anew between their marks."""
    text = page.read_text(encoding="utf-8")
    for name, table in TABLES[page].items():
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, rest = text.split(start)
        after = rest.split(end)[1]
        text = f"{before}{start}\n{markdown(table())}\n{end}{after}"
    return text


def demo_table() -> Table:
    """What `make demo` prints."""
    columns = ["t", "added", "revised", "retracted", "precision", "recall", "f1", "seconds"]
    records = snapshots("demo.json")
    return [columns, *([cell(record[name]) for name in columns] for record in records)]


def quality_table() -> Table:
    """F1 over the snapshots: the published numbers, ContEA of ours, and evidence."""
    table = [["dataset", "F1 of", *(f"t={t}" for t in SNAPSHOTS)]]
    for dataset in DATASETS:
        best, names = best_other(dataset)
        table.append([dataset, "ContEA, published", *over_snapshots(published(dataset, "ContEA"))])
        table.append(["", f"best other published ({names})", *over_snapshots(best)])
        table.append(["", "ContEA, ours", *over_snapshots(f1_of(f"contea_{dataset}.json"))])
        one_round = f1_of(f"contea_{dataset}_one_round.json")
        if one_round:
            table.append(["", "ContEA, without the second round", *over_snapshots(one_round)])
        table.append(["", "**evidence**", *over_snapshots(f1_of(f"evidence_{dataset}.json"))])
        combined = f1_of(f"combined_{dataset}.json")
        if combined:
            table.append(["", "combined", *over_snapshots(combined)])
    return table


def f1_of(name: str) -> dict[int, float]:
    return {record["t"]: record["f1"] for record in snapshots(name)}


def over_snapshots(values: dict[int, float]) -> list[str]:
    return [cell(values.get(t)) for t in SNAPSHOTS]


def cost_table() -> Table:
    """Time and memory, as ratios where they are times."""
    return [
        ["what", "measured", "file"],
        *evidence_costs(),
        *contea_costs(),
        *(whole_run(method, dataset) for method in LABELS for dataset in DATASETS),
        *small_costs(),
    ]


def evidence_costs() -> Table:
    table = []
    for row in rows("evidence_speed.json"):
        what = f"evidence, {row['dataset']}, all snapshots, share of two plain epochs of ContEA"
        told = (
            f"{row['ratio']:.2f} ({row['seconds']:.0f} s of {row['plain_seconds']:.0f} s), "
            f"peak memory {row['peak_rss_mb'] / 1000:.1f} GB"
        )
        table.append([what, told, "evidence_speed.json"])
    return table


def contea_costs() -> Table:
    speed = result("contea_speed.json") or {}
    table = []
    for name, cost in speed.items():
        if name == "epoch_at_t0":
            what = "ContEA, epoch at t=0, times faster than the plain transcription"
            times = cost["yardstick_seconds"], cost["everalign_seconds"]
            told = f"{cost['ratio']:.1f}× ({times[0]:.0f} s → {times[1]:.1f} s)"
            table.append([what, told, "contea_speed.json"])
        elif name.startswith("update_at_"):
            t = name.removeprefix("update_at_t")
            times = cost["update_seconds"], cost["retraining_seconds"]
            what = f"ContEA, update at t={t}, share of the cost of retraining"
            told = f"{cost['ratio']:.2f} ({times[0]:.0f} s of {times[1]:.0f} s)"
            table.append([what, told, "contea_speed.json"])
    return table


def whole_run(method: str, dataset: str) -> list[str]:
    """The time and memory of a benchmark over all snapshots."""
    name = f"{method}_{dataset}.json"
    records = snapshots(name)
    what = f"{LABELS[method]}, {dataset}, all {len(SNAPSHOTS)} snapshots"
    if not records:
        return [what, DASH, name]
    peak = max(record["peak_rss_mb"] for record in records) / 1000
    minutes = sum(record["seconds"] for record in records) / 60
    return [what, f"{minutes:.1f} min, peak memory {peak:.1f} GB", name]


def small_costs() -> Table:
    reading, start = result("reading.json"), result("start.json")
    read = f"{reading['ratio']:.2f}×" if reading else DASH
    started = f"{start['help_seconds']:.2f} s" if start else DASH
    slowest = min(reading["stored"].values()) if reading else 0
    most = max(reading["peak"].values()) if reading else 0
    stored = f"{slowest:,} triples/s, {most:.0f} MB whatever the size" if reading else DASH
    return [
        ["reading N-Triples, speed against pyoxigraph alone", read, "reading.json"],
        ["N-Triples from file to stored ids, one core, slowest shape", stored, "reading.json"],
        ["`everalign --help`", started, "start.json"],
    ]


def evidence_table() -> Table:
    """Quality, calibration and cost of the evidence method at each snapshot."""
    table = [
        ["dataset", "t", "precision", "recall", "F1", "calibration error", "threshold",
         "seconds", "peak memory, MB"]
    ]  # fmt: skip
    for dataset in DATASETS:
        records = snapshots(f"evidence_{dataset}.json")
        for t in SNAPSHOTS:
            record = row_of(records, {"t": t}) or {}
            figures = ("precision", "recall", "f1", "calibration_error", "threshold")
            cells = [cell(record.get(name)) for name in figures]
            costs = [cell(record.get(name), 0) for name in ("seconds", "peak_rss_mb")]
            table.append([dataset if t == 0 else "", str(t), *cells, *costs])
    return table


def speed_table() -> Table:
    """The seconds of each snapshot, and of two plain epochs of ContEA in the same run."""
    heading = ["dataset", *(f"t={t}, s" for t in SNAPSHOTS), "all, s", "two plain epochs, s",
               "ratio", "peak memory, MB"]  # fmt: skip
    table = [heading]
    for dataset in DATASETS:
        row = row_of(rows("evidence_speed.json"), {"dataset": dataset}) or {}
        seconds = dict(enumerate(row.get("snapshot_seconds", [])))
        each = [cell(seconds.get(t), 1) for t in SNAPSHOTS]
        told = [cell(row.get("seconds"), 0), cell(row.get("plain_seconds"), 0)]
        peak = cell(row.get("peak_rss_mb"), 0)
        table.append([dataset, *each, *told, cell(row.get("ratio"), 2), peak])
    return table


def delta_table() -> Table:
    """What an update costs and keeps, by the size of the delta."""
    table = [
        ["dataset", "delta", "triples", "update, s", "fit, s", "ratio", "F1 before",
         "F1, update", "F1, full pass", "F1, fit"]
    ]  # fmt: skip
    for row in sorted(rows("evidence_delta.json"), key=lambda row: (place(row), row["share"])):
        table.append(
            [row["dataset"], f"{row['share']:g}%", cell(row["triples"]),
             cell(row["update_seconds"], 1), cell(row["fit_seconds"], 1), cell(row["ratio"]),
             *(cell(row[f"f1_{name}"]) for name in ("before", "update", "full", "fit"))]
        )  # fmt: skip
    return or_dashes(table)


def scale_table() -> Table:
    """Time and memory of a fit, by the size of the graphs."""
    table = [
        ["triples", "fit, s", "per million triples, s", "the method's memory, MB",
         "peak memory, MB", "F1", "generation, s"]
    ]  # fmt: skip
    for row in sorted(rows("evidence_scale.json"), key=lambda row: row["triples"]):
        millions = (row["left_triples"] + row["right_triples"]) / 1e6
        table.append(
            [f"{row['triples']:,}", cell(row["seconds"], 1), cell(row["seconds"] / millions, 0),
             cell(row["method_mb"], 0), cell(row["peak_rss_mb"], 0), cell(row["f1"]),
             cell(row["generation_seconds"], 1)]
        )  # fmt: skip
    return or_dashes(table)


def robust_table() -> Table:
    """The links of snapshot 0 when less is given, or when some of it is wrong."""
    figures = ("precision", "recall", "f1", "calibration_error", "threshold")
    table = [["dataset", "given", *(name.replace("_", " ") for name in figures), "notes"]]
    for row in sorted(rows("evidence_robust.json"), key=place):
        cells = [cell(row[name]) for name in figures]
        table.append([row["dataset"], row["case"], *cells, "; ".join(row["notes"]) or DASH])
    return or_dashes(table)


def names_table() -> Table:
    """F1 over the snapshots with names, beside the paper's and structure alone."""
    table = [["dataset", "F1 of", *(f"t={t}" for t in SNAPSHOTS)]]
    for dataset in DATASETS:
        first = dataset
        for label in ("Google Translate", "ContEA (fasttext)", "ContEA ∪ Google Translate"):
            told = paper.published_with_names(dataset, label)
            table.append([first, f"{label}, published", *over_snapshots(told)])
            first = ""
        for method in ("names", "contea-names", "contea-names-union"):
            if found := f1_of(f"{method}_{dataset}.json"):
                table.append(["", f"{method}, ours", *over_snapshots(found)])
        for case, label in (("structure", "evidence, structure alone"),
                            ("names", "**evidence, structure and names**")):  # fmt: skip
            row = row_of(rows("evidence_names.json"), {"dataset": dataset, "case": case}) or {}
            found = {record["t"]: record["f1"] for record in row.get("snapshots", [])}
            table.append(["", label, *over_snapshots(found)])
    return table


def names_in_short() -> Table:
    """F1 at snapshot 0: the paper's best with names, and evidence with more and less given."""
    cases = ("structure", "names", "no seeds")
    best = "ContEA ∪ Google Translate"
    labels = ("structure alone", "**with names**", "names, not a single trusted link")
    table = [["F1 at t=0", f"{best}, published", *labels]]
    for dataset in DATASETS:
        told = paper.published_with_names(dataset, best)[0]
        found = [
            row_of(rows("evidence_names.json"), {"dataset": dataset, "case": case})
            for case in cases
        ]
        ours = [row["snapshots"][0]["f1"] if row else None for row in found]
        table.append([dataset, *map(cell, (told, *ours))])
    return table


def named_table() -> Table:
    """The links of snapshot 0 from names, from some of them, and from wrong ones."""
    figures = ("precision", "recall", "f1", "calibration_error", "threshold")
    table = [["dataset", "given", *(name.replace("_", " ") for name in figures), "processor, s"]]
    for row in sorted(rows("evidence_names.json"), key=place):
        record = row["snapshots"][0]
        cells = [cell(record[name]) for name in figures]
        cost = cell(record.get("processor_seconds"), 1)
        table.append([row["dataset"], row["case"], *cells, cost])
    return or_dashes(table)


def removal_table() -> Table:
    """What is left when facts are removed and added again."""
    table = [["dataset", "removed", "triples", "F1 before", "F1 without them",
              "F1, fit without them", "F1 after they are back", "update, s"]]  # fmt: skip
    for row in sorted(rows("evidence_removal.json"), key=lambda row: (place(row), row["share"])):
        f1 = [cell(row[f"f1_{step}"]) for step in ("before", "removed", "fit_without", "added")]
        seconds = cell(row["seconds_removed"], 1)
        share = f"{row['share']:g}%"
        table.append([row["dataset"], share, cell(row["triples"]), *f1, seconds])
    return or_dashes(table)


def place(row: Row) -> int:
    """Where the dataset of a row stands; one that is not the paper's comes last."""
    return DATASETS.index(row["dataset"]) if row["dataset"] in DATASETS else len(DATASETS)


def or_dashes(table: Table) -> Table:
    return table if len(table) > 1 else [*table, [DASH] * len(table[0])]


def published(dataset: str, label: str) -> dict[int, float]:
    """The F1 of a system at each snapshot, as the paper has it."""
    return {t: figures.f1 for t, figures in paper.published(dataset, label).items()}


def best_other(dataset: str) -> tuple[dict[int, float], str]:
    """The best published F1 at each snapshot that is not ContEA's, and who has it."""
    others = [name for name in paper.published_systems() if not name.startswith("ContEA")]
    ranked = [(f1, t, name) for name in others for t, f1 in published(dataset, name).items()]
    best = {t: (f1, name) for f1, t, name in sorted(ranked)}
    names = dict.fromkeys(best[t][1] for t in sorted(best))
    return {t: f1 for t, (f1, _) in best.items()}, ", ".join(names)


def snapshots(name: str) -> list[Row]:
    """The records of a benchmark; none if it has not been run."""
    records: list[Row] = (result(name) or {"snapshots": []})["snapshots"]
    return records


def rows(name: str) -> list[Row]:
    """The rows of a measurement; none if it has not been run."""
    found: list[Row] = (result(name) or {"rows": []})["rows"]
    return found


def result(name: str) -> dict[str, Any] | None:
    path = RESULTS / name
    if not path.exists():
        return None
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def cell(value: float | None, digits: int = 3) -> str:
    """A number as text; nothing is a dash.

    >>> cell(0.25), cell(12.345, 1), cell(7), cell(None)
    ('0.250', '12.3', '7', '–')
    """
    if value is None:
        return DASH
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


TABLES: dict[Path, dict[str, Callable[[], Table]]] = {
    README: {
        "demo": demo_table,
        "quality": quality_table,
        "names": names_in_short,
        "cost": cost_table,
    },
    BENCHMARKS: {
        "evidence": evidence_table,
        "speed": speed_table,
        "delta": delta_table,
        "scale": scale_table,
        "robust": robust_table,
        "names": names_table,
        "named": named_table,
        "removal": removal_table,
    },
}


if __name__ == "__main__":
    main()
