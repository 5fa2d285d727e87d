"""Makes the tables of the README from the result files, so that no number is typed.

python benchmarks/tables.py [--check]
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
DATASETS = ("ZH-EN", "JA-EN", "FR-EN")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date")
    check = parser.parse_args().check
    text = README.read_text(encoding="utf-8")
    made = with_tables(text)
    if check and made != text:
        sys.exit("README.md is not made from benchmarks/results: run benchmarks/tables.py")
    README.write_text(made, encoding="utf-8")


def with_tables(text: str) -> str:
    """The README with its tables made anew between their marks."""
    tables = {"demo": demo_table(), "quality": quality_table(), "cost": cost_table()}
    for name, table in tables.items():
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, rest = text.split(start)
        after = rest.split(end)[1]
        text = f"{before}{start}\n{table}\n{end}{after}"
    return text


def demo_table() -> str:
    """What `make demo` prints."""
    columns = ["t", "added", "revised", "retracted", "precision", "recall", "f1", "seconds"]
    records = (result("demo.json") or {"snapshots": []})["snapshots"]
    return markdown([columns, *([cell(record[name]) for name in columns] for record in records)])


def cell(value: float) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def quality_table() -> str:
    """F1 over the snapshots beside the published numbers."""
    rows = [["dataset", "", *(f"t={t}" for t in range(6))]]
    for dataset in DATASETS:
        run = result(f"contea_{dataset}.json")
        if run is None:
            continue
        paper = published(dataset, "ContEA")
        rows.append([dataset, "paper", *(paper.get(t, "–") for t in range(6))])
        rows.append(["", "**EverAlign**", *f1_over_snapshots(run)])
        one_round = result(f"contea_{dataset}_one_round.json")
        if one_round is not None:
            rows.append(["", "without the second round", *f1_over_snapshots(one_round)])
    return markdown(rows)


def f1_over_snapshots(run: dict[str, Any]) -> list[str]:
    found = {record["t"]: f"{record['f1']:.3f}" for record in run["snapshots"]}
    return [found.get(t, "–") for t in range(6)]


def cost_table() -> str:
    """Time and memory, as ratios where they are times."""
    rows = [["what", "measured", "file"]]
    speed = result("contea_speed.json")
    if speed:
        epoch = speed["epoch_at_t0"]
        rows.append(
            ["epoch at t=0, times faster than the plain transcription",
             f"{epoch['ratio']:.1f}× ({epoch['yardstick_seconds']:.0f} s → "
             f"{epoch['everalign_seconds']:.1f} s)", "contea_speed.json"]
        )  # fmt: skip
        for name, update in speed.items():
            if name.startswith("update_at_"):
                snapshot = name.removeprefix("update_at_t")
                rows.append(
                    [f"update at t={snapshot}, share of the cost of retraining",
                     f"{update['ratio']:.2f} ({update['update_seconds']:.0f} s of "
                     f"{update['retraining_seconds']:.0f} s)", "contea_speed.json"]
                )  # fmt: skip
    for dataset in DATASETS:
        run = result(f"contea_{dataset}.json")
        if run:
            peak = max(record["peak_rss_mb"] for record in run["snapshots"]) / 1000
            seconds = sum(record["seconds"] for record in run["snapshots"])
            rows.append(
                [f"{dataset}, all {len(run['snapshots'])} snapshots",
                 f"{seconds / 60:.0f} min, peak memory {peak:.1f} GB", f"contea_{dataset}.json"]
            )  # fmt: skip
    reading = result("reading.json")
    if reading:
        rows.append(
            ["reading N-Triples, speed against pyoxigraph alone", f"{reading['ratio']:.2f}×",
             "reading.json"]
        )  # fmt: skip
    start = result("start.json")
    if start:
        rows.append(["`everalign --help`", f"{start['help_seconds']:.2f} s", "start.json"])
    return markdown(rows)


def published(dataset: str, method: str) -> dict[int, str]:
    with (HERE / "published.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    mine = [row for row in rows if (row["dataset"], row["method"]) == (dataset, method)]
    return {int(row["t"]): row["f1"] for row in mine}


def result(name: str) -> dict[str, Any] | None:
    path = HERE / "results" / name
    if not path.exists():
        return None
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
