"""Large graphs from files to links: generate, ingest, fit, and a small update, by command.

    python benchmarks/large_graphs.py --directory WORK [--triples 1000000 10000000]
        [--memory 4GB] [--json OUT]

A size is the number of triples of both graphs, without literals. The sample is written as
N-Triples, `everalign init` reads and aligns it, and `everalign update` adds its second snapshot,
about 0.01% of the triples. `ingest` ends when the triples are stored as ids, which the log of
`init` says, and `fit` is the rest of the command. Each stage has the seconds on the clock and of
all processors, the peaks of its memory (`anonymous` without pages of files), and the bytes that
it leaves on the disk. `f1` is against the gold links that were not given.

Every stage is a process of its own. A stage that is done is in WORK/<size>/stages.json and is not
run again; one that was interrupted begins anew. WORK needs about 160 bytes for each triple, and
with --memory as much again for arrays.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from time import perf_counter, sleep

from everalign.benchmark.contea_format import ContEADataset
from everalign.benchmark.protocol import software_versions
from everalign.benchmark.synthetic import (
    SampleConfig,
    TripleFormat,
    generate_sample,
    write_sample,
)
from measurement import RESULTS, ResultFile, Row

SIZES = (1_000_000, 3_000_000, 10_000_000)
NO_LIMIT = "none"
INTERVAL_SECONDS = 0.1
# The line of the log with which triples and names are stored.
JOURNALLED = "delta 0 journalled"
# What --memory logs at its end.
MAPPED = re.compile(r"at most (\S+ \S+) of arrays were in files")
# Late facts would make the update larger: they are missing instead, so that the first snapshot
# is as dense as with the default settings.
GROWTH, LATE_SHARE, MISSING_SHARE = 0.0001, 0.0, 0.32


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--directory", type=Path, required=True, help="for files and states")
    parser.add_argument("--triples", type=int, nargs="+", default=SIZES)
    parser.add_argument("--memory", default=NO_LIMIT, help="the option of the commands")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=RESULTS / "large_graphs.json")
    parser.add_argument("--generate", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.generate:
        generate(arguments.directory, arguments.triples[0], arguments.seed)
        return
    results = ResultFile(arguments.json, {"seed": arguments.seed, "software": software_versions()})
    for size in arguments.triples:
        key = {"triples": size, "memory": arguments.memory}
        run = LargeGraphRun(arguments.directory / str(size), size, arguments.memory)
        results.measure_row(key, partial(run.measure, arguments.seed))


def generate(directory: Path, size: int, seed: int) -> None:
    """Generate a sample of two snapshots and write it as N-Triples."""
    sample = generate_sample(
        SampleConfig(
            triples=size,
            snapshots=2,
            seed=seed,
            growth=GROWTH,
            late_share=LATE_SHARE,
            missing_share=MISSING_SHARE,
        )
    )
    write_sample(sample, directory, file_format=TripleFormat.N_TRIPLES, with_labels=False)


class LargeGraphRun:
    """All stages of one size.

    Args:
        directory: Where the files of this size are.
        size: The number of triples.
        memory: The limit of memory of the commands, or `NO_LIMIT`.
    """

    def __init__(self, directory: Path, size: int, memory: str) -> None:
        self.size = size
        self.sample = directory / "sample"
        # Names for a limit: stages of several limits use the same sample.
        self.state = directory / f"{memory}.state"
        self._stage_file = directory / "stages.json"
        self._memory = memory

    def measure(self, seed: int) -> Row:
        """Run all stages that are not done yet.

        Args:
            seed: The seed of the sample.

        Returns:
            The values of each stage.
        """
        generated = self._run_stage("generate", partial(self._generate, seed))
        created = self._run_stage(f"init {self._memory}", self._create)
        scored = self._run_stage(f"evaluate {self._memory}", partial(self._evaluate, 0))
        updated = self._run_stage(f"update {self._memory}", self._update)
        scored_again = self._run_stage(
            f"evaluate again {self._memory}", partial(self._evaluate, 1)
        )
        stages = (generated, created, updated)
        return {
            "cores": os.cpu_count(),
            "machine": platform.machine(),
            "generate": generated,
            "ingest": created.pop("ingest"),
            "fit": created.pop("fit"),
            "init": created,
            "update": updated,
            "f1": scored["f1"],
            "f1_after_update": scored_again["f1"],
            "scores": {"init": scored, "update": scored_again},
            "seconds": round(sum(stage["seconds"] for stage in stages), 1),
        }

    def _run_stage(self, name: str, run: Callable[[], Row]) -> Row:
        """Return what a stage has measured, now or in an earlier run."""
        text = self._stage_file.read_text(encoding="utf-8") if self._stage_file.exists() else "{}"
        stages: dict[str, Row] = json.loads(text)
        if name not in stages:
            self._stage_file.parent.mkdir(parents=True, exist_ok=True)
            stages[name] = run()
            print(self.size, name, json.dumps(stages[name]), flush=True)
            part = self._stage_file.with_suffix(".part")
            part.write_text(json.dumps(stages, indent=1), encoding="utf-8")
            part.replace(self._stage_file)
        return stages[name]

    def _generate(self, seed: int) -> Row:
        remove_directory(self.sample)
        command = [sys.executable, __file__, "--generate", "--directory", str(self.sample)]
        row = CommandWatch([*command, "--triples", str(self.size), "--seed", str(seed)]).run()
        counts = [count_lines(path) for path in self._dataset.delta_files(0)]
        added = [count_lines(path) for path in self._dataset.delta_files(1)]
        return row | {
            "left_triples": counts[0],
            "right_triples": counts[1],
            "update_triples": sum(added),
            "disk_bytes": measure_directory(self.sample),
        }

    def _create(self) -> Row:
        remove_directory(self.state)
        left, right = self._dataset.delta_files(0)
        base = left.parent
        watch = self._watch(
            *("init", self.state, "--left", left, "--right", right),
            *("--seeds", base / "train_links", "--validation", base / "valid_links"),
        )
        return watch.run(JOURNALLED) | {"disk_bytes": measure_directory(self.state)}

    def _update(self) -> Row:
        output = subprocess.check_output(
            [sys.executable, "-m", "everalign", "status", str(self.state), "--json"]
        )
        if json.loads(output)["version"] != 0:
            sys.exit(f"{self.state}: has been updated already; remove it to begin anew")
        left, right = self._dataset.delta_files(1)
        row = self._watch("update", self.state, "--left", left, "--right", right).run()
        return row | {"disk_bytes": measure_directory(self.state)}

    def _evaluate(self, snapshot: int) -> Row:
        folder = self.sample / ("batch1" if snapshot else "base")
        gold = folder / ("all_test_links" if snapshot else "test_links")
        command = [sys.executable, "-m", "everalign", "evaluate", str(self.state), str(gold)]
        output = subprocess.check_output([*command, "--scope", "all", "--json"])
        scores: Row = json.loads(output)
        return {name: value for name, value in scores.items() if name != "thresholds"}

    @property
    def _dataset(self) -> ContEADataset:
        return ContEADataset.open(self.sample)

    def _watch(self, *arguments: object) -> CommandWatch:
        limit = [] if self._memory == NO_LIMIT else ["--memory", self._memory]
        command = [sys.executable, "-m", "everalign", "-v", *map(str, arguments), *limit]
        return CommandWatch(command)


class CommandWatch:
    """Runs a command and measures its time and memory, in two parts if its log divides them.

    Args:
        command: The command with its arguments.
    """

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._peaks = {"RssAnon": 0, "VmRSS": 0}
        self._mapped = ""

    def run(self, divider: str | None = None) -> Row:
        """Run the command.

        Args:
            divider: A part of the line of the log between `ingest` and `fit`.

        Returns:
            The values of the whole command, and of the two parts if there is a divider.

        Raises:
            SystemExit: The command has failed.
        """
        started = perf_counter()
        process = subprocess.Popen(
            self._command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        sampler = threading.Thread(target=self._sample_memory, args=(process.pid,), daemon=True)
        sampler.start()
        assert process.stderr is not None
        first: Row | None = None
        for line in process.stderr:
            sys.stderr.write(line)
            if found := MAPPED.search(line):
                self._mapped = found[1]
            if divider is not None and divider in line:
                seconds, cpu_seconds = perf_counter() - started, read_cpu_seconds(process.pid)
                first = self._build_row(seconds, cpu_seconds)
                self._peaks = dict.fromkeys(self._peaks, 0)
        # With the usage of this child alone.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{' '.join(self._command)}: exit code {process.returncode}")
        seconds, cpu_seconds = perf_counter() - started, usage.ru_utime + usage.ru_stime
        if divider is None:
            return self._build_row(seconds, cpu_seconds)
        assert first is not None, "the log has no such line"
        second = self._build_row(seconds - first["seconds"], cpu_seconds - first["cpu_seconds"])
        whole = {"seconds": round(seconds, 1), "cpu_seconds": round(cpu_seconds, 1)}
        return whole | {"ingest": first, "fit": second}

    def _build_row(self, seconds: float, cpu_seconds: float) -> Row:
        row: Row = {
            "seconds": round(seconds, 1),
            "cpu_seconds": round(cpu_seconds, 1),
            "peak_rss_mb": round(self._peaks["VmRSS"] / 1024, 1),
            "peak_anonymous_mb": round(self._peaks["RssAnon"] / 1024, 1),
        }
        return row | ({"mapped": self._mapped} if self._mapped else {})

    def _sample_memory(self, process_id: int) -> None:
        while lines := read_process_file(process_id, "status").splitlines():
            for line in lines:
                name, _, value = line.partition(":")
                if name in self._peaks:
                    self._peaks[name] = max(self._peaks[name], int(value.split()[0]))
            sleep(INTERVAL_SECONDS)


def read_cpu_seconds(process_id: int) -> float:
    """Read the seconds of all processors that a process has used.

    Args:
        process_id: The process.

    Returns:
        The seconds, user and system together.
    """
    # The name of the program, in parentheses, may have spaces in it.
    fields = read_process_file(process_id, "stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_process_file(process_id: int, name: str) -> str:
    """Read a file of /proc; empty if the process has ended."""
    try:
        return Path(f"/proc/{process_id}/{name}").read_text(encoding="utf-8")
    except OSError:
        return ""


def count_lines(path: Path) -> int:
    """Count the lines of a file."""
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in read_blocks(file.read))


def read_blocks(read: Callable[[int], bytes]) -> Iterable[bytes]:
    """Read blocks of some megabytes."""
    while block := read(1 << 22):
        yield block


def measure_directory(directory: Path) -> int:
    """Measure the bytes of all files below a directory."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def remove_directory(directory: Path) -> None:
    """Remove what an interrupted stage has left behind."""
    if directory.exists():
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
