"""Memory and time of `everalign init` with and without --memory, on generated N-Triples.

    python benchmarks/memory_limit.py [--triples 300000 3000000] [--limits none 1GB]
        [--directory DIRECTORY] [--json OUT]

A size is the number of triples of both graphs. One process generates the files. Each command runs
in a process of its own, whose anonymous memory (RssAnon) and whole memory are read every few
hundredths of a second. `digest` is a hash of all links with their confidences: it is the same with
every limit.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from everalign.aligner import Aligner
from everalign.benchmark.metrics import score_links
from everalign.benchmark.protocol import software_versions
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from measurement import RESULTS, ResultFile, Row, run_in_child

SIZES = (300_000, 3_000_000)
NO_LIMIT = "none"
INTERVAL_SECONDS = 0.03
LEFT, RIGHT, SEEDS, VALIDATION, GOLD = (
    "left.nt",
    "right.nt",
    "seeds.tsv",
    "validation.tsv",
    "gold.tsv",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--triples", type=int, nargs="+", default=SIZES)
    parser.add_argument("--limits", nargs="+", default=[NO_LIMIT, "1GB"])
    parser.add_argument("--labels", action="store_true", help="with labels of the entities")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--directory", type=Path, help="where files and states are, on a disk")
    parser.add_argument("--json", type=Path, default=RESULTS / "memory_limit.json")
    arguments = parser.parse_args()
    header = {"seed": arguments.seed, "software": software_versions()}
    results = ResultFile(arguments.json, header)
    for size in arguments.triples:
        with TemporaryDirectory(dir=arguments.directory) as directory:
            data = Path(directory)
            run_in_child(write_files, data, size, arguments.seed, arguments.labels)
            for limit in arguments.limits:
                key = {"triples": size, "labels": arguments.labels, "limit": limit}
                results.measure_row(key, partial(measure_command, data, limit))


def write_files(data: Path, size: int, seed: int, labels: bool) -> Row:
    """Generate two graphs and their links."""
    sample = generate_sample(SampleConfig(triples=size, snapshots=1, seed=seed))
    sides = (
        (LEFT, sample.left(0), sample.left_labels()),
        (RIGHT, sample.right(0), sample.right_labels()),
    )
    for name, triples, named in sides:
        with (data / name).open("w", encoding="utf-8") as file:
            for head, relation, tail in triples:
                file.write(f"<{head}> <{relation}> <{tail}> .\n")
            if labels:
                for entity, label in named:
                    predicate = "http://www.w3.org/2000/01/rdf-schema#label"
                    file.write(f'<{entity}> <{predicate}> "{label}" .\n')
    lists = (
        (SEEDS, sample.seeds),
        (VALIDATION, sample.validation_links),
        (GOLD, sample.gold(0)),
    )
    for name, links in lists:
        with (data / name).open("w", encoding="utf-8") as file:
            file.writelines(f"{left}\t{right}\n" for left, right in links)
    return {}


def measure_command(data: Path, limit: str) -> Row:
    """Run the command and watch its memory."""
    with TemporaryDirectory(dir=data) as directory:
        state = Path(directory) / "my.state"
        command = [
            *(sys.executable, "-m", "everalign", "init", str(state)),
            *("--left", str(data / LEFT), "--right", str(data / RIGHT)),
            *("--seeds", str(data / SEEDS), "--validation", str(data / VALIDATION)),
            *(() if limit == NO_LIMIT else ("--memory", limit)),
        ]
        row = watch_command(command)
        links = Aligner.open(state).links()
        pairs = [(link.left, link.right) for link in links]
        text = "".join(sorted(f"{n.left} {n.right} {n.score!r}\n" for n in links))
        given = read_links(data / SEEDS) | read_links(data / VALIDATION)
        scores = score_links(set(pairs) - given, read_links(data / GOLD) - given)
        state_bytes = sum(path.stat().st_size for path in state.rglob("*") if path.is_file())
        return row | {
            "f1": scores.f1,
            "links": len(pairs),
            "digest": hashlib.sha256(text.encode()).hexdigest()[:16],
            "state_mb": round(state_bytes / 2**20, 1),
        }


def watch_command(command: list[str]) -> Row:
    """Run a command, and measure time and the peaks of its memory."""
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    # Its output could fill a pipe that nobody reads.
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=dict(os.environ))
    peaks = {"RssAnon": 0, "VmRSS": 0}
    while process.poll() is None:
        for line in read_status(process.pid):
            name, _, value = line.partition(":")
            if name in peaks:
                peaks[name] = max(peaks[name], int(value.split()[0]))
        time.sleep(INTERVAL_SECONDS)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "peak_anonymous_mb": round(peaks["RssAnon"] / 1024, 1),
        "peak_rss_mb": round(peaks["VmRSS"] / 1024, 1),
        "seconds": round(time.perf_counter() - started, 1),
        "cpu_seconds": round(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1
        ),
    }


def read_status(process: int) -> list[str]:
    """Read the state of a process; nothing if it has ended."""
    try:
        return Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return []


def read_links(path: Path) -> set[tuple[str, str]]:
    """Read a table of links."""
    with path.open(encoding="utf-8") as file:
        return {(left, right) for left, right in (line.rstrip("\n").split("\t") for line in file)}


if __name__ == "__main__":
    main()
