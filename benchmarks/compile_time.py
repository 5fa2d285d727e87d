"""What numba compiles at the first use after an installation, and how long that takes.

python benchmarks/compile_time.py [--triples N] [--seed N] [--without-archive] [--json OUT]

Runs `init` and `update` on a generated sample, once as it is and once with names, dates and
numbers, each in a process of its own. Numba's cache is empty at first and is then filled, as it
would be for a user. A row of the result is a command; `kernels` has what it compiled: seconds
without those of called functions, how often, and the argument types. Results with and without the
archive of compiled kernels are kept side by side in one file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from everalign._kernel_archive import open_archive
from everalign.benchmark.protocol import software_versions
from everalign.benchmark.synthetic import Sample, SampleConfig, generate_sample

RESULTS = Path(__file__).parent / "results" / "compile_time.json"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
XSD = "http://www.w3.org/2001/XMLSchema#"


def record_compilation() -> None:
    """Run the command line and print what numba compiled to standard output, as JSON."""
    # Before numba is imported by the package, which the listener has to see.
    from numba.core import event

    listener = build_listener(event)
    register: Any = event.register
    register("numba:compile", listener)
    sys.argv[0] = "everalign"
    from everalign.cli.main import main

    started = perf_counter()
    output, sys.stdout = sys.stdout, sys.stderr
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.stdout = output
    print(json.dumps({"seconds": perf_counter() - started, "events": listener.rows}))


def build_listener(event: Any) -> Any:
    """Build a listener that measures each compilation without those that it causes."""

    class Compilations(event.Listener):  # type: ignore[misc]
        def __init__(self) -> None:
            self.open: list[list[float]] = []
            self.rows: list[dict[str, Any]] = []

        def on_start(self, _: Any) -> None:
            self.open.append([perf_counter(), 0.0])

        def on_end(self, ended: Any) -> None:
            started, inner = self.open.pop()
            seconds = perf_counter() - started
            if self.open:
                self.open[-1][1] += seconds
            function = ended.data["dispatcher"].py_func
            self.rows.append(
                {
                    "kernel": f"{function.__module__}.{function.__qualname__}",
                    "seconds": seconds - inner,
                    "types": str(ended.data["args"]),
                }
            )

    return Compilations()


def write_graphs(sample: Sample, directory: Path, *, with_literals: bool) -> None:
    """Write both graphs of both snapshots as N-Triples, and the trusted links."""
    for side, labels in (("left", sample.left_labels()), ("right", sample.right_labels())):
        names, described = dict(labels), set[str]()
        for snapshot in range(2):
            with (directory / f"{side}-{snapshot}.nt").open("w", encoding="utf-8") as file:
                for head, relation, tail in getattr(sample, side)(snapshot):
                    file.write(f"<{head}> <{relation}> <{tail}> .\n")
                    for entity in {head, tail} - described if with_literals else ():
                        described.add(entity)
                        number = len(described)
                        prefix = f"<{entity}> <http://{side}.example/property"
                        file.write(f'<{entity}> {LABEL} "{names.get(entity, entity)}" .\n')
                        file.write(f'{prefix}/size> "{number}"^^<{XSD}integer> .\n')
                        file.write(f'{prefix}/since> "19{10 + number % 90}"^^<{XSD}gYear> .\n')
    for name in ("seeds", "validation_links"):
        lines = (f"{left}\t{right}\n" for left, right in getattr(sample, name))
        (directory / name).write_text("".join(lines), encoding="utf-8")


def measure_commands(sample: Sample, kind: str, cache: Path) -> list[dict[str, Any]]:
    """Measure `init` and `update` in processes of their own."""
    with TemporaryDirectory() as scratch:
        directory = Path(scratch)
        write_graphs(sample, directory, with_literals=kind == "literals")
        links = ["--seeds", "seeds", "--validation", "validation_links"]
        rows = []
        for snapshot, command in enumerate(("init", "update")):
            graphs = ["--left", f"left-{snapshot}.nt", "--right", f"right-{snapshot}.nt"]
            options = [command, "my.state", *graphs, *(links if command == "init" else ())]
            run = subprocess.run(
                [sys.executable, Path(__file__).resolve(), "--record", *options],
                env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
                cwd=directory,
                check=True,
                stdout=subprocess.PIPE,
            )
            rows.append({"graphs": kind, "command": command} | summarise(json.loads(run.stdout)))
    return rows


def summarise(record: dict[str, Any]) -> dict[str, Any]:
    """Sum up what a command compiled."""
    kernels: dict[str, dict[str, Any]] = {}
    for row in record["events"]:
        kernel = kernels.setdefault(row["kernel"], {"seconds": 0.0, "count": 0, "types": []})
        kernel["seconds"] = round(kernel["seconds"] + row["seconds"], 3)
        kernel["count"] += 1
        # Those of numba's own functions are many, and nothing here can change them.
        if row["kernel"].startswith("everalign."):
            kernel["types"].append(row["types"])
    ranked = sorted(kernels.items(), key=lambda item: -item[1]["seconds"])
    return {
        "command_seconds": round(record["seconds"], 1),
        "compile_seconds": round(sum(row["seconds"] for row in record["events"]), 2),
        "compiled": len(record["events"]),
        "kernels": dict(ranked),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triples", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without-archive", action="store_true")
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.without_archive:
        os.environ["NUMBA_OPT"] = "3"  # numba's own value; said aloud, it turns the archive off
    elif open_archive() is None:
        parser.error("there is no archive to use: python -m everalign._kernel_build")
    sample = generate_sample(SampleConfig(triples=options.triples, snapshots=2, seed=options.seed))
    rows = []
    with TemporaryDirectory() as cache:
        for kind in ("structure", "literals"):
            rows += measure_commands(sample, kind, Path(cache))
    for row in rows:
        print({name: value for name, value in row.items() if name != "kernels"})
    result = json.loads(options.json.read_text()) if options.json.exists() else {}
    result["without_archive" if options.without_archive else "with_archive"] = {
        "triples": options.triples,
        "seed": options.seed,
        "versions": software_versions(),
        "rows": rows,
    }
    options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        del sys.argv[1]
        record_compilation()
    else:
        main()
