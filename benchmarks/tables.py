"""Fills the tables of the documentation with numbers from the result files.

    python benchmarks/tables.py [--check]

A dash means not measured.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from everalign.benchmark.paper import systems as paper
from everalign.benchmark.paper.tables import DASH, Table, format_markdown
from measurement import RESULTS, Row, find_row

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
BENCHMARKS = HERE.parent / "docs" / "benchmarks.md"
EARLIER_CONFIDENCE = HERE.parent / "docs" / "decisions" / "0033-earlier-confidence.md"
FEWER_CANDIDATES = HERE.parent / "docs" / "decisions" / "0032-fewer-candidates.md"
LABELS = {"evidence": "evidence", "contea": "ContEA"}
DATASETS = paper.DATASETS
SNAPSHOTS = range(paper.SNAPSHOTS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="only check whether the tables are up to date"
    )
    check = parser.parse_args().check
    for page in TABLES:
        text = fill_tables(page)
        if not check:
            page.write_text(text, encoding="utf-8")
        elif text != page.read_text(encoding="utf-8"):
            sys.exit(f"{page.name}: tables are not up to date; run benchmarks/tables.py")


def fill_tables(page: Path) -> str:
    """Return the text of a page with all tables replaced between their markers."""
    text = page.read_text(encoding="utf-8")
    for name, table in TABLES[page].items():
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, rest = text.split(start)
        after = rest.split(end)[1]
        text = f"{before}{start}\n{format_markdown(table())}\n{end}{after}"
    return text


def demo_table() -> Table:
    """The output of `make demo`."""
    columns = ["t", "added", "revised", "retracted", "precision", "recall", "f1", "seconds"]
    records = read_snapshots("demo.json")
    return [columns, *([format_number(record[name]) for name in columns] for record in records)]


def quality_table() -> Table:
    """F1 by snapshot: published numbers, ContEA and evidence."""
    table = [["dataset", "F1 of", *(f"t={t}" for t in SNAPSHOTS)]]
    for dataset in DATASETS:
        best, names = find_best_published(dataset)
        table.append(
            [
                dataset,
                "ContEA, published",
                *format_by_snapshot(read_published_f1(dataset, "ContEA")),
            ]
        )
        table.append(["", f"best other published ({names})", *format_by_snapshot(best)])
        table.append(["", "ContEA, ours", *format_by_snapshot(read_f1(f"contea_{dataset}.json"))])
        one_round = read_f1(f"contea_{dataset}_one_round.json")
        if one_round:
            table.append(["", "ContEA, without the second round", *format_by_snapshot(one_round)])
        table.append(
            ["", "**evidence**", *format_by_snapshot(read_f1(f"evidence_{dataset}.json"))]
        )
        combined = read_f1(f"combined_{dataset}.json")
        if combined:
            table.append(["", "combined", *format_by_snapshot(combined)])
    return table


def read_f1(name: str) -> dict[int, float]:
    return {record["t"]: record["f1"] for record in read_snapshots(name)}


def format_by_snapshot(values: dict[int, float]) -> list[str]:
    return [format_number(values.get(t)) for t in SNAPSHOTS]


def cost_table() -> Table:
    """Time and memory; times as ratios where possible."""
    return [
        ["what", "measured", "file"],
        *evidence_cost_rows(),
        *contea_cost_rows(),
        *(run_cost_row(method, dataset) for method in LABELS for dataset in DATASETS),
        *small_cost_rows(),
    ]


def evidence_cost_rows() -> Table:
    table = []
    for row in read_rows("evidence_speed.json"):
        what = f"evidence, {row['dataset']}, all snapshots, share of two plain epochs of ContEA"
        text = (
            f"{row['ratio']:.2f} ({row['seconds']:.0f} s of {row['plain_seconds']:.0f} s), "
            f"peak memory {row['peak_rss_mb'] / 1000:.1f} GB"
        )
        table.append([what, text, "evidence_speed.json"])
    return table


def contea_cost_rows() -> Table:
    speed = read_result("contea_speed.json") or {}
    table = []
    for name, cost in speed.items():
        if name == "epoch_at_t0":
            what = "ContEA, epoch at t=0, times faster than the plain transcription"
            times = cost["yardstick_seconds"], cost["everalign_seconds"]
            text = f"{cost['ratio']:.1f}× ({times[0]:.0f} s → {times[1]:.1f} s)"
            table.append([what, text, "contea_speed.json"])
        elif name.startswith("update_at_"):
            t = name.removeprefix("update_at_t")
            times = cost["update_seconds"], cost["retraining_seconds"]
            what = f"ContEA, update at t={t}, share of the cost of retraining"
            text = f"{cost['ratio']:.2f} ({times[0]:.0f} s of {times[1]:.0f} s)"
            table.append([what, text, "contea_speed.json"])
    return table


def run_cost_row(method: str, dataset: str) -> list[str]:
    """Time and memory of a benchmark over all snapshots."""
    name = f"{method}_{dataset}.json"
    records = read_snapshots(name)
    what = f"{LABELS[method]}, {dataset}, all {len(SNAPSHOTS)} snapshots"
    if not records:
        return [what, DASH, name]
    peak = max(record["peak_rss_mb"] for record in records) / 1000
    minutes = sum(record["seconds"] for record in records) / 60
    return [what, f"{minutes:.1f} min, peak memory {peak:.1f} GB", name]


def small_cost_rows() -> Table:
    reading, start = read_result("reading.json"), read_result("start.json")
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
         "right links lost", "seconds", "peak memory, MB"]
    ]  # fmt: skip
    for dataset in DATASETS:
        records, earlier = read_snapshots(f"evidence_{dataset}.json"), Row()
        for t in SNAPSHOTS:
            record = find_row(records, {"t": t}) or {}
            figures = ("precision", "recall", "f1", "calibration_error", "threshold")
            cells = [format_number(record.get(name)) for name in figures]
            # Of those that were links before the update.
            correct = round((earlier.get("precision") or 0) * (earlier.get("predicted") or 0))
            lost = record.get("correct_lost")
            cells.append(DASH if lost is None or not correct else f"{lost / correct:.1%}")
            costs = [format_number(record.get(name), 0) for name in ("seconds", "peak_rss_mb")]
            table.append([dataset if t == 0 else "", str(t), *cells, *costs])
            earlier = record
    return table


def speed_table() -> Table:
    """Seconds of each snapshot, and of two epochs of plain ContEA in the same run."""
    heading = ["dataset", *(f"t={t}, s" for t in SNAPSHOTS), "all, s", "two plain epochs, s",
               "ratio", "peak memory, MB"]  # fmt: skip
    table = [heading]
    for dataset in DATASETS:
        row = find_row(read_rows("evidence_speed.json"), {"dataset": dataset}) or {}
        seconds = dict(enumerate(row.get("snapshot_seconds", [])))
        by_snapshot = [format_number(seconds.get(t), 1) for t in SNAPSHOTS]
        costs = [format_number(row.get("seconds"), 0), format_number(row.get("plain_seconds"), 0)]
        peak = format_number(row.get("peak_rss_mb"), 0)
        table.append([dataset, *by_snapshot, *costs, format_number(row.get("ratio"), 2), peak])
    return table


def delta_table() -> Table:
    """Cost and quality of an update by the size of the delta."""
    table = [
        ["dataset", "delta", "triples", "update, s", "fit, s", "ratio", "F1 before",
         "F1, update", "F1, full pass", "F1, fit"]
    ]  # fmt: skip
    for row in sorted(
        read_rows("evidence_delta.json"), key=lambda row: (dataset_rank(row), row["share"])
    ):
        table.append(
            [
                row["dataset"],
                f"{row['share']:g}%",
                format_number(row["triples"]),
                format_number(row["update_seconds"], 1),
                format_number(row["fit_seconds"], 1),
                format_number(row["ratio"]),
                *(
                    format_number(row[f"f1_{name}"])
                    for name in ("before", "update", "full", "fit")
                ),
            ]
        )
    return add_dashes(table)


def scale_table() -> Table:
    """Time and memory of a fit by the size of the graphs."""
    table = [
        ["triples", "fit, s", "processor, s", "per million triples, processor s",
         "the method's memory, MB", "peak memory, MB", "F1"]
    ]  # fmt: skip
    for row in sorted(read_rows("evidence_scale.json"), key=lambda row: row["triples"]):
        millions = (row["left_triples"] + row["right_triples"]) / 1e6
        # Not measured until lately.
        cpu_seconds = row.get("cpu_seconds")
        table.append(
            [
                f"{row['triples']:,}",
                format_number(row["seconds"], 1),
                format_number(cpu_seconds, 1),
                format_number(cpu_seconds and cpu_seconds / millions, 1),
                format_number(row["method_mb"], 0),
                format_number(row["peak_rss_mb"], 0),
                format_number(row["f1"]),
            ]
        )
    return add_dashes(table)


def large_graph_table() -> Table:
    """From N-Triples to links under a limit of memory."""
    table = [
        ["triples", "--memory", "generate, min", "ingest, min", "fit, min", "update, s",
         "anonymous memory, MB", "F1"]
    ]  # fmt: skip
    for row in read_rows("large_graphs.json"):
        count = row["generate"]["left_triples"] + row["generate"]["right_triples"]
        peak = max(row[stage]["peak_anonymous_mb"] for stage in ("ingest", "fit"))
        minutes = (row[stage]["seconds"] / 60 for stage in ("generate", "ingest", "fit"))
        table.append(
            [
                f"{count:,}",
                row["memory"],
                *(format_number(value, 1) for value in minutes),
                format_number(row["update"]["seconds"], 1),
                format_number(peak, 0),
                format_number(row["f1"]),
            ]
        )
    return add_dashes(table)


def seed_table() -> Table:
    """F1 over seeds, before and after the state that follows deltas."""
    table = [["dataset", "t", "before", "after", "difference", "standard error"]]
    for row in read_rows("seed_spread.json"):
        cells = [
            f"{row[tree]['mean']:.4f} ({min(row[tree]['f1']):.4f} – {max(row[tree]['f1']):.4f})"
            for tree in ("before", "after")
        ]
        table.append(
            [
                row["dataset"],
                str(row["snapshot"]),
                *cells,
                f"{row['difference']:+.4f}",
                format_number(row["standard_error"], 4),
            ]
        )
    return add_dashes(table)


def update_cost_table() -> Table:
    """Cost of an update by the sizes of delta and graphs."""
    table = [
        ["triples", "delta", "processor, s", "smallest – largest, s", "trained again",
         "written, MB", "kept, MB", "private memory, MB"]
    ]  # fmt: skip
    rows = read_rows("update_cost.json")
    for row in sorted(rows, key=lambda row: (row["triples"], row["kind"], row["delta"])):
        spread = " – ".join(format_number(seconds, 2) for seconds in row["cpu_spread"])
        table.append(
            [
                f"{row['triples']:,}",
                f"{row['delta']:,} {row['kind']}",
                format_number(row["cpu_seconds"], 2),
                spread if row["repeats"] > 1 else DASH,
                "yes" if row["retrained"] else "no",
                format_number(row["written_bytes"] / 1e6, 2),
                format_number(row["grown_bytes"] / 1e6, 2),
                format_number(row.get("peak_private_dirty_mb"), 0),
            ]
        )
    return add_dashes(table)


def spark_table() -> Table:
    """Apache Spark against threads."""
    table = [["data", "threads, s", "driver, s", "Spark and workers, s", "ratio", "same links"]]
    for row in read_rows("spark_engine.json"):
        names = ("native_cpu_seconds", "driver_cpu_seconds", "worker_cpu_seconds")
        table.append(
            [
                row["data"],
                *(format_number(row[name], 1) for name in names),
                format_number(row["ratio"], 2),
                "yes" if row["same_links"] else "no",
            ]
        )
    return add_dashes(table)


def install_table() -> Table:
    """Size of an installation before and after kernels came with the package."""
    measured = json.loads((RESULTS / "install_size.json").read_text(encoding="utf-8"))
    labels = [label for label in ("before", "after") if label in measured]
    names = {name for label in labels for name in measured[label]["packages_mb"]}
    largest = sorted(
        names,
        key=lambda name: -max(measured[label]["packages_mb"].get(name, 0) for label in labels),
    )[:8]
    rows = [["wheel", *(format_number(measured[label]["wheel_mb"], 1) for label in labels)]]
    for name in largest:
        sizes = (measured[label]["packages_mb"].get(name) for label in labels)
        rows.append([name, *(format_number(size, 1) for size in sizes)])
    totals = (measured[label]["total_mb"] for label in labels)
    rows.append(["all packages", *(format_number(total, 1) for total in totals)])
    return add_dashes([["MB", *labels], *rows])


def compile_table() -> Table:
    """What is compiled when a command runs for the first time."""
    table = [["graphs", "command", "compiling, s", "command, s", "compiled functions"]]
    for row in json.loads((RESULTS / "compile_time.json").read_text(encoding="utf-8"))[
        "with_archive"
    ]["rows"]:
        table.append(
            [
                row["graphs"],
                f"`{row['command']}`",
                format_number(float(row["compile_seconds"]), 1),
                format_number(float(row["command_seconds"]), 1),
                str(row["compiled"]),
            ]
        )
    return add_dashes(table)


def long_use_table() -> Table:
    """Cost of a long history, of decisions, and of the questions that a session answers."""
    table = [["what", "value"]]
    for row in read_rows("history_cost.json"):
        title = f"{row['updates']} updates of 0.1% on {row['triples']:,} triples"
        growth = row["state_bytes"] / row["fresh_state_bytes"]
        table += [
            [f"{title}: last ten against the first ten", format_number(row["last_to_first"], 2)],
            [f"{title}: state against a fresh one", format_number(growth, 2)],
        ]
    for row in read_rows("decision_cost.json"):
        if row["measured"] == "cost":
            title = (
                f"decision after {row['decisions']:,} decisions and {row['versions']:,} versions"
            )
            table += [
                [f"{title}, processor ms", format_number(1e3 * row["cpu_seconds"], 1)],
                ["the same, 95th percentile", format_number(1e3 * row["cpu_seconds_p95"], 1)],
            ]
        else:
            per_second = format_number(row["decisions_per_second"], 0)
            table += [
                [
                    "decisions a second of four processes during updates (100 asked for)",
                    per_second,
                ],
                ["of these lost or doubled", str(row["lost"] + row["doubled"])],
            ]
    for row in read_rows("session_speed.json"):
        title = f"session, {row['entities']:,} entities, {row['state']}"
        for name in ("open", "load", "explain", "search_prefix", "links_page"):
            value = format_number(row[f"{name}_ms"]["p95"], 1)
            table.append([f"{title}: {name.replace('_', ' ')}, p95 ms", value])
    return table


def service_table() -> Table:
    """Start of a server, answers to readers, decisions, and memory."""
    table = [["what", "value"]]
    for row in read_rows("service_load.json"):
        loads = row["load_average"]
        for name, label in (("page", "the page"), ("questions", "the first 20 questions")):
            start = row["start"][name]
            seconds = f"{format_number(start['wall'], 2)} ({format_number(start['cpu'], 2)})"
            table.append([f"start to {label}, seconds (processor)", seconds])
        for name, figures in row["endpoints"].items():
            title = f"one request: {name}, processor ms"
            table.append([title, format_number(figures["cpu_ms"], 1)])
        for name, label in (
            ("closed_loop", "20 clients without a pause"),
            ("people", "20 clients that pause for a second"),
        ):
            figures = row[name]
            title = f"{label}, load average before {format_number(loads[name], 1)}"
            table += [
                [f"{title}: median and p95 ms", _format_percentiles(figures)],
                [f"{label}: processor ms a request", format_number(figures["cpu_ms"], 1)],
            ]
        table.append(
            ["their decisions: median and p95 ms", _format_percentiles(row["people"]["answers"])]
        )
        decisions = row["decisions"]
        title = f"{decisions['count']:,} decisions of 4 clients during an update and a kill"
        table += [
            [f"{title}: median and p95 ms", _format_percentiles(decisions)],
            ["of these lost or recorded twice", str(decisions["lost"] + decisions["twice"])],
            ["peak memory of the server, MB", str(row["peak_rss_mb"])],
            ["of its memory not shared with files, MB", str(row["private_mb"])],
        ]
    return table


def _format_percentiles(figures: dict[str, float]) -> str:
    return f"{format_number(figures['median_ms'], 1)}, {format_number(figures['p95_ms'], 1)}"


def robust_table() -> Table:
    """Quality at snapshot 0 with fewer or wrong inputs."""
    figures = ("precision", "recall", "f1", "calibration_error", "threshold")
    table = [["dataset", "given", *(name.replace("_", " ") for name in figures), "notes"]]
    for row in sorted(read_rows("evidence_robust.json"), key=dataset_rank):
        cells = [format_number(row[name]) for name in figures]
        table.append([row["dataset"], row["case"], *cells, "; ".join(row["notes"]) or DASH])
    return add_dashes(table)


def names_table() -> Table:
    """F1 by snapshot with names, published and own, and with structure alone."""
    table = [["dataset", "F1 of", *(f"t={t}" for t in SNAPSHOTS)]]
    for dataset in DATASETS:
        first = dataset
        for label in ("Google Translate", "ContEA (fasttext)", "ContEA ∪ Google Translate"):
            published = paper.read_published_with_names(dataset, label)
            table.append([first, f"{label}, published", *format_by_snapshot(published)])
            first = ""
        for method in ("names", "contea-names", "contea-names-union"):
            if own_f1 := read_f1(f"{method}_{dataset}.json"):
                table.append(["", f"{method}, ours", *format_by_snapshot(own_f1)])
        for case, label in (("structure", "evidence, structure alone"),
                            ("names", "**evidence, structure and names**")):  # fmt: skip
            row = (
                find_row(read_rows("evidence_names.json"), {"dataset": dataset, "case": case})
                or {}
            )
            f1 = {record["t"]: record["f1"] for record in row.get("snapshots", [])}
            table.append(["", label, *format_by_snapshot(f1)])
    return table


def names_summary_table() -> Table:
    """F1 at snapshot 0: the best published result with names, and cases of evidence."""
    cases = ("structure", "names", "no seeds")
    best = "ContEA ∪ Google Translate"
    labels = ("structure alone", "**with names**", "names, not a single trusted link")
    table = [["F1 at t=0", f"{best}, published", *labels]]
    for dataset in DATASETS:
        published = paper.read_published_with_names(dataset, best)[0]
        case_rows = [
            find_row(read_rows("evidence_names.json"), {"dataset": dataset, "case": case})
            for case in cases
        ]
        ours = [row["snapshots"][0]["f1"] if row else None for row in case_rows]
        table.append([dataset, *map(format_number, (published, *ours))])
    return table


def names_cases_table() -> Table:
    """Quality at snapshot 0 with all, some and wrong names."""
    figures = ("precision", "recall", "f1", "calibration_error", "threshold")
    table = [["dataset", "given", *(name.replace("_", " ") for name in figures), "processor, s"]]
    for row in sorted(read_rows("evidence_names.json"), key=dataset_rank):
        record = row["snapshots"][0]
        cells = [format_number(record[name]) for name in figures]
        cost = format_number(record.get("processor_seconds"), 1)
        table.append([row["dataset"], row["case"], *cells, cost])
    return add_dashes(table)


def real_data_table() -> Table:
    """Quality on real data: means and spreads over repeats, and updates beside fresh starts."""
    table = [["pair", "seeds", "precision", "recall", "F1", "least to greatest F1",
              "calibration error", "F1 after an update", "F1, full"]]  # fmt: skip
    rows = read_rows("real_data.json")
    for pair in dict.fromkeys(row["pair"] for row in rows):
        for seeds in (0.0, 0.2):
            chosen = [row for row in rows if row["pair"] == pair and row["seeds"] == seeds]
            plain = [row for row in chosen if not row["held_back"]]
            # One row repeats a draw in another order.
            plain = [row for row in plain if seeds == 0 or row["draw"] == row["shuffle"]]
            figures = [
                average([row[name] for row in plain])
                for name in ("precision", "recall", "f1", "calibration_error")
            ]
            f1 = [row["f1"] for row in plain]
            updated = [row for row in chosen if row["held_back"]]
            later = [average([row[step]["f1"] for row in updated]) for step in ("updated", "full")]
            cells = list(map(format_number, figures))
            spread = f"{min(f1):.3f} – {max(f1):.3f}"
            table.append(
                [pair, f"{seeds:.0%}", *cells[:3], spread, cells[3], *map(format_number, later)]
            )
    return add_dashes(table)


def average(values: list[float]) -> float | None:
    """Return the mean; None if there are no values."""
    return sum(values) / len(values) if values else None


def target_precision_table() -> Table:
    """Precision and number of links for each target precision."""
    targets = ("0.9", "0.95", "0.99")
    names = [name for target in targets for name in (f"{target}: precision", "links")]
    table = [["data", "t", "seeds", *names, "said"]]
    for row in read_rows("target_precision.json"):
        if row["validation"]:
            continue
        chosen = [row[target] for target in targets]
        cells = [
            cell for one in chosen for cell in (format_number(one["precision"]), str(one["links"]))
        ]
        problems = [target for target in targets if row[target]["problem"]]
        seeds = f"{row['seeds']:.0%}" if "seeds" in row else "given"
        said = f"no promise of {', '.join(problems)}" if problems else ""
        table.append([row["data"], str(row["t"]), seeds, *cells, said])
    return add_dashes(table)


def full_pass_table() -> Table:
    """F1 of updates, of full passes after them, and of fresh starts."""
    ways = ("update", "full", "again", "fresh")
    names = ("update", "full pass", "second full pass", "fresh start")
    table = [["data", "t", *(f"F1, {name}" for name in names)]]
    for row in read_rows("full_pass.json"):
        for snapshot in row["snapshots"]:
            cells = [format_number(snapshot[way]["f1"]) for way in ways]
            name = row["dataset"] if snapshot["t"] == 1 else ""
            table.append([name, str(snapshot["t"]), *cells])
    return add_dashes(table)


def setting_table(setting: str) -> Table:
    """Mean of F1, calibration and time for each value of a setting, and the range of F1."""
    names = ("average_precision", "calibration_error", "cpu_seconds")
    table = [["data", "value", "runs", "F1", "range", *(name.replace("_", " ") for name in names)]]
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in read_rows("setting_effect.json"):
        if row["setting"] == setting:
            groups.setdefault((row["data"], json.dumps(row["value"])), []).append(row)
    for (data, value), rows in groups.items():
        f1 = [row["f1"] for row in rows]
        means = [format_number(average([row[name] for row in rows])) for name in names]
        spread = format_number(max(f1) - min(f1))
        table.append([data, value, str(len(rows)), format_number(average(f1)), spread, *means])
    return add_dashes(table)


def growth_table() -> Table:
    """Means over seeds and later snapshots for settings under growth."""
    names = {
        "f1": "F1",
        "precision": "precision",
        "recall": "recall",
        "calibration_error": "calibration error",
        "correct_lost": "right links lost",
    }
    table = [["data", "settings", "seeds", *names.values(), "F1, last snapshot"]]
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in read_rows("growth_effect.json"):
        settings = ", ".join(f"{name} = {value}" for name, value in row["settings"].items())
        groups.setdefault((row["data"], settings), []).append(row)
    for (data, settings), rows in groups.items():
        later = [snapshot for row in rows for snapshot in row["snapshots"][1:]]
        means = [format_number(average([row[name] for row in later])) for name in names]
        last = format_number(average([row["snapshots"][-1]["f1"] for row in rows]))
        table.append([data, settings, str(len(rows)), *means, last])
    return add_dashes(table)


def robustness_table() -> Table:
    """Mean and range of scores under harmless perturbations, and how far links agree."""
    metrics = {"f1": "F1", "precision": "precision", "touching_calibration_error": "calibration"}
    columns = [column for name in metrics.values() for column in (f"{name}: mean", "range")]
    table = [["dataset", "t", "runs", *columns, "links that all runs have"]]
    for dataset in DATASETS:
        result = read_result(f"robustness_{dataset}.json")
        if result is None:
            continue
        for row in result["snapshots"]:
            cells = [
                format_number(row[metric][figure])
                for metric in metrics
                for figure in ("mean", "range")
            ]
            name = dataset if row["t"] == 0 else ""
            runs = str(len(result["runs"]))
            table.append([name, str(row["t"]), runs, *cells, f"{row['always']:.1%}"])
    return add_dashes(table)


def removal_table() -> Table:
    """Quality after triples are removed and added again."""
    table = [["dataset", "removed", "triples", "F1 before", "F1 without them",
              "F1, fit without them", "F1 after they are back", "update, s"]]  # fmt: skip
    for row in sorted(
        read_rows("evidence_removal.json"), key=lambda row: (dataset_rank(row), row["share"])
    ):
        f1 = [
            format_number(row[f"f1_{step}"])
            for step in ("before", "removed", "fit_without", "added")
        ]
        seconds = format_number(row["seconds_removed"], 1)
        share = f"{row['share']:g}%"
        table.append([row["dataset"], share, format_number(row["triples"]), *f1, seconds])
    return add_dashes(table)


def dataset_rank(row: Row) -> int:
    """Rank the dataset of a row in the order of the paper; other datasets come last."""
    return DATASETS.index(row["dataset"]) if row["dataset"] in DATASETS else len(DATASETS)


def add_dashes(table: Table) -> Table:
    return table if len(table) > 1 else [*table, [DASH] * len(table[0])]


def read_published_f1(dataset: str, label: str) -> dict[int, float]:
    """Read the published F1 of a system by snapshot."""
    return {t: figures.f1 for t, figures in paper.read_published(dataset, label).items()}


def find_best_published(dataset: str) -> tuple[dict[int, float], str]:
    """Find the best published F1 by snapshot except ContEA, and the systems that have it."""
    others = [name for name in paper.list_published_systems() if not name.startswith("ContEA")]
    ranked = [
        (f1, t, name) for name in others for t, f1 in read_published_f1(dataset, name).items()
    ]
    best = {t: (f1, name) for f1, t, name in sorted(ranked)}
    names = dict.fromkeys(best[t][1] for t in sorted(best))
    return {t: f1 for t, (f1, _) in best.items()}, ", ".join(names)


def read_snapshots(name: str) -> list[Row]:
    """Read the snapshot results of a benchmark; empty if it has not been run."""
    records: list[Row] = (read_result(name) or {"snapshots": []})["snapshots"]
    return records


def read_rows(name: str) -> list[Row]:
    """Read the rows of a measurement; empty if it has not been run."""
    rows: list[Row] = (read_result(name) or {"rows": []})["rows"]
    return rows


def read_result(name: str) -> dict[str, Any] | None:
    path = RESULTS / name
    if not path.exists():
        return None
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def format_number(value: float | None, digits: int = 3) -> str:
    """Format a number; None is a dash.

    >>> format_number(0.25), format_number(12.345, 1), format_number(7), format_number(None)
    ('0.250', '12.3', '7', '–')
    """
    if value is None:
        return DASH
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


TABLES: dict[Path, dict[str, Callable[[], Table]]] = {
    README: {
        "demo": demo_table,
        "quality": quality_table,
        "names": names_summary_table,
        "cost": cost_table,
    },
    BENCHMARKS: {
        "evidence": evidence_table,
        "speed": speed_table,
        "delta": delta_table,
        "scale": scale_table,
        "large graphs": large_graph_table,
        "seeds": seed_table,
        "update cost": update_cost_table,
        "spark": spark_table,
        "first use": compile_table,
        "install size": install_table,
        "long use": long_use_table,
        "service": service_table,
        "robust": robust_table,
        "names": names_table,
        "named": names_cases_table,
        "real data": real_data_table,
        "target precision": target_precision_table,
        "removal": removal_table,
        "full pass": full_pass_table,
        "robustness": robustness_table,
    },
    EARLIER_CONFIDENCE: {"growth": growth_table},
    FEWER_CANDIDATES: {"support share": partial(setting_table, "min_support_share")},
}


if __name__ == "__main__":
    main()
