"""Whether two source trees give the same links, and what either spends on them.

    python benchmarks/compare_links.py DATASETS --before SRC [--after SRC] [--cases zh demo]

DATASETS is the directory with the ContEA datasets ZH-EN, JA-EN and FR-EN. Each case is written
once as N-Triples and link tables, with entities renamed and triples shuffled by a fixed seed,
and given to the command line of either tree (`init`, `update`, `links`) in a process of its own.

The cases: `zh`, structure alone, snapshots 0 and 1; `names-zh`, `names-ja`, `names-fr`, snapshot
0 with one label for each entity that has an IRI in `base/uris.tsv`; `demo`, the six snapshots
of the generated sample. A case has one row per snapshot, such as `zh-t1`.

Found links are those that were not given as seeds or validation links; F1 compares them with the
gold test links. `cpu_seconds` is the processor time (user and system, all threads) of the
command inside a process that has run a small sample first, so that imports and compiling are not
in it (a run in which numba compiled a loop after all is repeated); `peak_rss_mb` is the peak of
that process after the sample.

Runs are kept in a cache by the contents of tree and input: a broken-off comparison continues
where it was, and a tree is run once for each of the `--repeats`. If a tree calls an option
otherwise than all that are tried, `--flags-before` and `--flags-after` tell it:
`--flags-after validation=--held-out`.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from runpy import run_module
from typing import Any, TypeAlias
from urllib.parse import unquote

import numpy as np

Row: TypeAlias = dict[str, Any]
Pairs: TypeAlias = list[tuple[str, str]]
Triples: TypeAlias = list[tuple[str, str, str]]

RESULT_FILE = Path(__file__).parent / "results" / "compare_links.json"
CACHE = Path(tempfile.gettempdir()) / "compare_links_cache"
PACKAGE = "everalign"
SEED = 0
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
CHILD = "--child"  # how this script starts itself in the process that is measured
# Every spelling that an option has or may get; the first one that the help shows is used.
SPELLINGS = {
    "left": ("--left", "--added-left", "--add-left"),
    "right": ("--right", "--added-right", "--add-right"),
    "seeds": ("--seeds", "--seed-links"),
    "validation": ("--validation", "--valid", "--validation-links", "--valid-links"),
}


@dataclass(frozen=True)
class Case:
    """A dataset, its last snapshot, and whether entities have labels."""

    dataset: str
    last: int
    labels: bool = False


CASES = {
    "zh": Case("ZH-EN", 1),
    "names-zh": Case("ZH-EN", 0, labels=True),
    "names-ja": Case("JA-EN", 0, labels=True),
    "names-fr": Case("FR-EN", 0, labels=True),
    "demo": Case("sample", 5),
}
# Small samples, without and with labels, that are run before time is taken.
WARM_UPS = {False: "warm-up", True: "warm-up-names"}
SCRIPTS = ("東京", "北京")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("datasets", type=Path, help="directory with ZH-EN, JA-EN and FR-EN")
    parser.add_argument("--before", type=Path, required=True, help="directory with everalign")
    parser.add_argument("--after", type=Path, help="the same of the other tree")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--repeats", type=int, default=1, help="runs; the median time counts")
    parser.add_argument("--flags-before", nargs="+", default=[], metavar="NAME=--OPTION")
    parser.add_argument("--flags-after", nargs="+", default=[], metavar="NAME=--OPTION")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--json", type=Path, default=RESULT_FILE, help="result file")
    arguments = parser.parse_args()
    trees = {"before": Tree.at(arguments.before, arguments.flags_before)}
    if arguments.after:
        trees["after"] = Tree.at(arguments.after, arguments.flags_after)
    inputs = Inputs(arguments.cache / "inputs", arguments.datasets, trees["before"])
    repeats = range(arguments.repeats)
    rows: dict[str, Row] = {}
    for name in arguments.cases:
        runs = {
            side: [run_case(tree, inputs, name, n, arguments.cache) for n in repeats]
            for side, tree in trees.items()
        }
        for t in range(CASES[name].last + 1):
            rows[f"{name}-t{t}"] = row = compare_runs(runs, inputs.case(name), t)
            print(f"{name}-t{t}", json.dumps(row), flush=True)
    if arguments.after:
        write_results(arguments.json, rows, trees)


@dataclass(frozen=True)
class Tree:
    """A source tree: where it is, a digest of its sources, how it calls its options."""

    path: Path
    digest: str
    flags: dict[str, str]

    @classmethod
    def at(cls, path: Path, flags: list[str]) -> Tree:
        sources = sorted((path / PACKAGE).rglob("*.py"))
        if not sources:
            raise FileNotFoundError(f"no package {PACKAGE} in {path}")
        return cls(path.resolve(), digest_files(path, sources), dict(f.split("=") for f in flags))

    def run(self, *arguments: str) -> str:
        """What a command of this tree prints."""
        command = [sys.executable, "-m", PACKAGE, *arguments]
        done = subprocess.run(
            command, check=True, env=self.environment(), stdout=subprocess.PIPE, encoding="utf-8"
        )
        return done.stdout

    def options(self, command: str, files: dict[str, str]) -> list[str]:
        """Options of a command that give it the files."""
        words = self.run(command, "--help").split()
        chosen: list[str] = []
        for name, file in files.items():
            spelt = self.flags.get(name) or next((s for s in SPELLINGS[name] if s in words), None)
            if spelt is None:
                raise ValueError(f"no option for {name} in `{command} --help`: use --flags-…")
            chosen += [spelt, file]
        return chosen

    def environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(self.path)}


@dataclass(frozen=True)
class Inputs:
    """The files that both trees read, written when they are first asked for."""

    directory: Path
    datasets: Path
    generator: Tree
    """The tree whose command line writes the sample."""

    def case(self, name: str) -> Path:
        """The directory of a case: per snapshot t graphs tN-left.nt and tN-right.nt; links."""
        directory = self.directory / name
        if not directory.exists():
            self.directory.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.directory) as scratch:
                files = Path(scratch) / name
                files.mkdir()
                self._write(name, files, Path(scratch))
                files.rename(directory)
        return directory

    def _write(self, name: str, files: Path, scratch: Path) -> None:
        if name in WARM_UPS.values():
            case = Case("sample", 1, labels=name == WARM_UPS[True])
            write_case(self._sample(scratch / "sample", 8000, 2), case, files)
            return
        case = CASES[name]
        dataset = self.datasets / case.dataset
        if case.dataset == "sample":
            dataset = self._sample(scratch / "sample", 20_000, case.last + 1)
        write_case(dataset, case, files)

    def _sample(self, directory: Path, triples: int, snapshots: int) -> Path:
        size = ["--triples", str(triples), "--snapshots", str(snapshots), "--seed", str(SEED)]
        self.generator.run("sample", str(directory), *size)
        return directory


def write_case(dataset: Path, case: Case, files: Path) -> None:
    """Write a dataset with the ContEA layout under names that tell nothing.

    Args:
        dataset: Its directory.
        case: The last snapshot, and whether labels are wanted.
        files: The directory to write to.
    """
    graphs = [[read_snapshot(dataset, t, side) for t in range(case.last + 1)] for side in (1, 2)]
    names = [rename_entities(prefix, graphs[i]) for i, prefix in enumerate(("left", "right"))]
    for i, side in enumerate(("left", "right")):
        for t, triples in enumerate(graphs[i]):
            rng = np.random.default_rng([SEED, i, t])
            lines = format_triples(triples, names[i], side, rng)
            (files / f"t{t}-{side}.nt").write_text("".join(lines), encoding="utf-8")
        labels = read_labels(dataset, i) if case.labels else {}
        with (files / f"t0-{side}.nt").open("a", encoding="utf-8") as file:
            file.writelines(format_labels(labels, names[i]))
    links = {"seeds": "base/train_links", "validation": "base/valid_links"}
    for t in range(case.last + 1):
        links[f"t{t}-test"] = f"batch{t}/all_test_links" if t else "base/test_links"
    for name, source in links.items():
        pairs = read_rows(dataset / source)
        lines = [f"{names[0][left]}\t{names[1][right]}\n" for left, right, *_ in pairs]
        (files / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")


def read_snapshot(dataset: Path, t: int, side: int) -> Triples:
    file = f"batch{t}/new_triples_{side}" if t else f"base/triples_{side}"
    return [(head, relation, tail) for head, relation, tail in read_rows(dataset / file)]


def read_rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def read_labels(dataset: Path, side: int) -> dict[str, str]:
    """The readable part of the IRIs in `base/uris.tsv`, or the names that a sample invents.

    Those of a sample get a word in front, in another script on either side: whatever reads
    these scripts is then loaded.
    """
    iris, invented = dataset / "base" / "uris.tsv", dataset / f"names_{side + 1}.tsv"
    if not iris.exists():
        return {entity: f"{SCRIPTS[side]} {label}" for entity, label in read_rows(invented)}
    labels = {entity: read_label(iri) for entity, iri in read_rows(iris)}
    return {entity: label for entity, label in labels.items() if any(map(str.isalpha, label))}


def read_label(iri: str) -> str:
    """What a DBpedia IRI calls its entity.

    >>> read_label("http://fr.dbpedia.org/resource/AC/DC_(%C3%A9dition)")
    'AC/DC (édition)'
    """
    return " ".join(unquote(iri.partition("/resource/")[2]).replace("_", " ").split())


def rename_entities(prefix: str, snapshots: list[Triples]) -> dict[str, str]:
    """An IRI with a random number for each entity; seven digits, so that nobody reads a name."""
    entities = sorted({name for each in snapshots for h, _, x in each for name in (h, x)})
    numbers = np.random.default_rng([SEED, len(prefix)]).permutation(len(entities)).tolist()
    return {
        entity: f"http://{prefix}.example/e{number:07}"
        for entity, number in zip(entities, numbers, strict=True)
    }


def format_triples(
    triples: Triples, names: dict[str, str], prefix: str, rng: np.random.Generator
) -> list[str]:
    """The triples as N-Triples lines in random order."""
    lines = []
    for number in rng.permutation(len(triples)).tolist():
        head, relation, tail = triples[number]
        if "://" not in relation:
            relation = f"http://{prefix}.example/r{int(relation):07}"
        lines.append(f"<{names[head]}> <{relation}> <{names[tail]}> .\n")
    return lines


def format_labels(labels: dict[str, str], names: dict[str, str]) -> list[str]:
    """The labels as N-Triples lines, in the order of the new names."""
    return sorted(
        f"<{name}> <{LABEL}> {json.dumps(labels[entity], ensure_ascii=False)} .\n"
        for entity, name in names.items()
        if entity in labels
    )


def run_case(tree: Tree, inputs: Inputs, name: str, repeat: int, cache: Path) -> Row:
    """The run of a case in a tree: links, time and memory of each snapshot; kept in the cache."""
    files, warm_up = inputs.case(name), inputs.case(WARM_UPS[CASES[name].labels])
    digest = digest_files(files, sorted(files.iterdir()))
    key = f"{name}-{tree.digest[:16]}-{digest[:16]}-{repeat}"
    kept = cache / "runs" / f"{key}.json.gz"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            run = run_commands(tree, files, warm_up, CASES[name].last, Path(scratch) / "first")
            if run["loops_compiled"]:
                run = run_commands(tree, files, warm_up, CASES[name].last, Path(scratch) / "again")
        unfinished = kept.with_suffix(".unfinished")
        unfinished.write_bytes(gzip.compress(json.dumps(run).encode()))
        unfinished.replace(kept)
    result: Row = json.loads(gzip.decompress(kept.read_bytes()))
    return result


def run_commands(tree: Tree, files: Path, warm_up: Path, last: int, scratch: Path) -> Row:
    """Run a case in a child, then read the links of each version."""
    scratch.mkdir()
    state = scratch / "state"
    # The compiler leaves a process larger than it was: it works in a process of its own.
    run_process(tree, case_commands(tree, warm_up, scratch / "compiling", 1), [], scratch)
    before = case_commands(tree, warm_up, scratch / "warm-up", 1)
    run = run_process(tree, before, case_commands(tree, files, state, last), scratch)
    for t, snapshot in enumerate(run["snapshots"]):
        printed = tree.run("links", str(state), "--at", str(t))
        snapshot["links"] = [line.split("\t")[:3] for line in printed.splitlines()]
    return run


def run_process(
    tree: Tree, warm_up: list[list[str]], commands: list[list[str]], scratch: Path
) -> Row:
    """Run commands in a fresh process; those after the warm-up are measured."""
    out = scratch / "out.json"
    child = [sys.executable, str(Path(__file__).resolve()), CHILD, str(tree.path), str(out)]
    steps = [json.dumps(warm_up), json.dumps(commands)]
    subprocess.run([*child, *steps], check=True, env=tree.environment(), stdout=sys.stderr)
    run: Row = json.loads(out.read_text(encoding="utf-8"))
    return run


def case_commands(tree: Tree, files: Path, state: Path, last: int) -> list[list[str]]:
    """The command lines of a case: one init, and an update for each later snapshot."""
    given = {name: str(files / f"{name}.tsv") for name in ("seeds", "validation")}
    commands = []
    for t in range(last + 1):
        graphs = {side: str(files / f"t{t}-{side}.nt") for side in ("left", "right")}
        command = "update" if t else "init"
        options = tree.options(command, graphs if t else graphs | given)
        commands.append([command, str(state), *options])
    return commands


def run_child(tree: str, out: str, warm_up: str, commands: str) -> None:
    """The child: run commands one after the other in this process, and note what each costs."""
    import everalign

    if not Path(everalign.__file__).is_relative_to(tree):
        raise RuntimeError(f"{everalign.__file__} is not in {tree}")
    for command in json.loads(warm_up):
        run_here(command)
    forget_peak_memory()
    compiled = count_compiled(tree)
    snapshots = [run_here(command) for command in json.loads(commands)]
    result = {
        "snapshots": snapshots,
        "peak_rss_mb": peak_memory_mb(),
        "loops_compiled": count_compiled(tree) - compiled,
    }
    Path(out).write_text(json.dumps(result), encoding="utf-8")


def run_here(command: list[str]) -> Row:
    """Run a command line in this process; gives its time."""
    sys.argv = [PACKAGE, *command]
    began, cpu = time.perf_counter(), time.process_time()
    try:
        run_module(PACKAGE, run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
    return {"cpu_seconds": time.process_time() - cpu, "seconds": time.perf_counter() - began}


def count_compiled(tree: str) -> int:
    """How many loops numba has compiled and kept beside the sources."""
    return sum(1 for _ in Path(tree).rglob("*.nbc"))


def forget_peak_memory() -> None:
    """Let the peak of this process begin anew, where the system allows it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_memory_mb() -> float:
    """The peak that getrusage tells would begin with that of the process that started this one."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM:"))
    return round(int(peak.split()[1]) / 1024, 1)


def compare_runs(runs: dict[str, list[Row]], files: Path, t: int) -> Row:
    """One row: how the links of a snapshot differ, and F1, time and memory on either side."""
    given = {
        pair for name in ("seeds", "validation") for pair in read_pairs(files / f"{name}.tsv")
    }
    gold = set(read_pairs(files / f"t{t}-test.tsv"))
    found: dict[str, dict[tuple[str, str], float]] = {}
    row: Row = {}
    for side, repeats in runs.items():
        links = {(a, b): float(score) for a, b, score in repeats[0]["snapshots"][t]["links"]}
        found[side] = {pair: score for pair, score in links.items() if pair not in given}
        row[side] = {
            "links": len(found[side]),
            "f1": round(f1_score(set(found[side]), gold), 4),
            **{
                name: round(statistics.median(run["snapshots"][t][name] for run in repeats), 2)
                for name in ("cpu_seconds", "seconds")
            },
            "peak_rss_mb": statistics.median(run["peak_rss_mb"] for run in repeats),
            "repeats": len(repeats),
        }
    if "after" in found:
        row |= compare_links(found["before"], found["after"])
    return row


def compare_links(
    before: dict[tuple[str, str], float], after: dict[tuple[str, str], float]
) -> Row:
    """How two sets of scored links differ.

    >>> compare_links({("a", "A"): 0.5, ("b", "B"): 1.0}, {("a", "A"): 0.75})
    {'identical_pairs': 1, 'only_before': 1, 'only_after': 0, 'max_score_difference': 0.25}
    """
    both = before.keys() & after.keys()
    return {
        "identical_pairs": len(both),
        "only_before": len(before) - len(both),
        "only_after": len(after) - len(both),
        "max_score_difference": max((abs(before[p] - after[p]) for p in both), default=0.0),
    }


def f1_score(found: set[tuple[str, str]], gold: set[tuple[str, str]]) -> float:
    """F1 of found links.

    >>> f1_score({("a", "A"), ("b", "C")}, {("a", "A"), ("b", "B")})
    0.5
    """
    return 2 * len(found & gold) / max(1, len(found) + len(gold))


def read_pairs(path: Path) -> Pairs:
    return [(left, right) for left, right in read_rows(path)]


def digest_files(root: Path, paths: Iterable[Path]) -> str:
    """A SHA-256 over names and contents of files."""
    digest = hashlib.sha256()
    for path in paths:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return digest.hexdigest()


def write_results(path: Path, rows: dict[str, Row], trees: dict[str, Tree]) -> None:
    content = {
        "trees": {side: tree.digest for side, tree in trees.items()},
        "software": {"python": platform.python_version(), "cores": os.cpu_count()}
        | {package: version(package) for package in ("numpy", "numba", "lightgbm")},
        "measured_on": datetime.now(UTC).date().isoformat(),
        "rows": rows,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        # The package must come from the tree alone, not from beside this script.
        sys.path.pop(0)
        run_child(*sys.argv[2:6])
    else:
        main()
