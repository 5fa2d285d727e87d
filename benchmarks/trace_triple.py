"""The way of one triple: what one `everalign update` with a single N-Triples line runs through.

    python benchmarks/trace_triple.py --tree src [--name NAME] [--json FILE]

A small sample is generated and aligned by the sources in TREE; then `python -m everalign update`
runs once in a fresh interpreter with `sys.setprofile` (in threads as well), with one line as the
delta: a triple between two entities that have no relation yet. Everything before that update
(sample, init, a first update of a copy that compiles loops) is not traced.

How things are counted:

- Functions: the distinct functions, methods and lambdas of the package that are entered while
  the command runs, told apart by file and first line. Bodies of modules and classes are not
  functions, comprehensions and generator expressions belong to the function around them. What
  numba has compiled is one call to the tracer, so loops inside it are not seen.
- Files: those with at least one such function.
- Switches of file or package: put the functions in the order in which they are first entered;
  each neighbour in another file (or in another directory) is one switch. That is how often a
  reader who follows the triple for the first time has to turn to another place.
- Calls: how often functions of the package are entered in all.
- Selects from names: SELECT statements on the state's table of names. That table is the one
  which holds the entities' IRIs; it is looked for in the state, not known by its name. Name
  lists read: those of them that ask for names (no aggregate such as `count`) and are not bound
  to one delta (no equality on a column with a foreign key).
- Array reads: calls of `numpy.lib.format.read_array` (numpy.load ends there too) and memory
  maps that numpy opens. TOML: calls of `tomllib.loads`. SHA-256: digests begun.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from runpy import run_module
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]

RESULT_FILE = Path(__file__).parent / "results" / "trace_triple.json"
PACKAGE = "everalign"
TRIPLES = 4000
TRACED = "--traced"  # how this script starts itself as the child
COUNTED = ("calls", "array_reads", "toml_parsed", "digests")
FUNCTION_FLAGS = 0x1 | 0x2  # CO_OPTIMIZED | CO_NEWLOCALS: neither module nor class body
NOT_FUNCTIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
NUMPY_READ = ("read_array", "open_memmap")
_AGGREGATE = re.compile(r"\s*SELECT\s+(?:\w+\()*(?:count|max|min|sum)\(", re.IGNORECASE)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tree", type=Path, required=True, help="directory that holds everalign")
    parser.add_argument("--name", default="after", help="key in the result file")
    parser.add_argument("--version", help="version to record, such as a commit")
    parser.add_argument("--triples", type=int, default=TRIPLES, help="size of the sample")
    parser.add_argument("--json", type=Path, default=RESULT_FILE, help="result file")
    parser.add_argument("--list", action="store_true", help="print the functions in their order")
    arguments = parser.parse_args()
    trace = trace_update(arguments.tree, arguments.triples)
    if arguments.list:
        print("\n".join(f"{file}:{line} {name}" for file, line, name in trace["functions"]))
    row = summarise(trace) | {
        "sample_triples": arguments.triples,
        "version": arguments.version,
        "python": platform.python_version(),
        "measured_on": datetime.now(UTC).date().isoformat(),
    }
    results = json.loads(arguments.json.read_text("utf-8")) if arguments.json.exists() else {}
    results[arguments.name] = row
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(row, indent=1))


def trace_update(tree: Path, triples: int = TRIPLES) -> Row:
    """Trace one update with one triple.

    Args:
        tree: The directory that holds the package, such as `src`.
        triples: The size of the sample that the triple is added to.

    Returns:
        `functions` in the order in which they are first entered (file, line, name), and counters
        of calls, statements and reads.
    """
    with TemporaryDirectory() as scratch:
        directory = Path(scratch)
        state = prepare_state(tree, directory, triples)
        delta = directory / "delta.nt"
        delta.write_text(new_triple(directory / "sample"), encoding="utf-8")
        update = ["update", str(state), "--left", str(delta)]
        warm = directory / "warm"
        shutil.copytree(state, warm)
        run_command(tree, "update", str(warm), "--left", str(delta))
        out = directory / "trace.json"
        child = [sys.executable, str(Path(__file__).resolve()), TRACED]
        command = [*child, str(tree.resolve()), str(out), *update]
        subprocess.run(command, check=True, env=environment(tree), stdout=subprocess.DEVNULL)
        trace: Row = json.loads(out.read_text(encoding="utf-8"))
        trace["counts"] |= count_selects(trace.pop("selects"), state)
        return trace


def prepare_state(tree: Path, directory: Path, triples: int) -> Path:
    """A state directory over a generated sample."""
    base, state = directory / "sample" / "base", directory / "state"
    size = ["--triples", str(triples), "--snapshots", "1"]
    run_command(tree, "sample", str(directory / "sample"), *size)
    graphs = ["--left", str(base / "triples_1"), "--right", str(base / "triples_2")]
    run_command(tree, "init", str(state), *graphs, "--seeds", str(base / "train_links"))
    return state


def new_triple(sample: Path) -> str:
    """One N-Triples line with known entities of the left graph that have no relation so far."""
    lines = (sample / "base" / "triples_1").read_text(encoding="utf-8").splitlines()
    known = [tuple(line.split("\t")) for line in lines]
    head, relation, _ = known[0]
    related = {tail for first, _, tail in known if first == head}
    tail = next(last for _, name, last in known if name == relation and last not in related)
    return f"<{head}> <{relation}> <{tail}> .\n"


def count_selects(selects: list[str], state: Path) -> dict[str, int]:
    """How many of the statements read names, and how many of these a whole list of them."""
    database = next(path for path in sorted(state.rglob("*")) if _is_sqlite(path))
    with closing(sqlite3.connect(database)) as connection:
        table = find_names_table(connection)
        keys = [row[3] for row in connection.execute(f'PRAGMA foreign_key_list("{table}")')]
    on_names = [sql for sql in selects if re.search(rf'\bFROM\s+"?{table}\b', sql, re.IGNORECASE)]
    of_one_delta = re.compile(rf"\b({'|'.join(keys)})\s*=\s*\d" if keys else r"(?!)")
    lists = [sql for sql in on_names if not (_AGGREGATE.match(sql) or of_one_delta.search(sql))]
    return {
        "sql_selects": len(selects),
        "selects_from_names": len(on_names),
        "name_lists_read": len(lists),
    }


def find_names_table(connection: sqlite3.Connection) -> str:
    """The table that has most values which are entities of the sample."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    found: dict[str, int] = {table: _count_entities(connection, table) for (table,) in tables}
    return max(found, key=lambda table: found[table])


def _is_sqlite(path: Path) -> bool:
    return path.is_file() and path.read_bytes().startswith(b"SQLite format 3")


def _count_entities(connection: sqlite3.Connection, table: str) -> int:
    rows = connection.execute(f'SELECT * FROM "{table}"').fetchall()
    values = (str(value) for row in rows for value in row)
    return sum(value.startswith("http://left.example/entity") for value in values)


def run_command(tree: Path, *arguments: str) -> None:
    """Run the command line of a tree."""
    command = [sys.executable, "-m", PACKAGE, *arguments]
    subprocess.run(command, check=True, env=environment(tree), stdout=subprocess.DEVNULL)


def environment(tree: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(tree.resolve())}


def summarise(trace: Row) -> Row:
    """The figures of a trace.

    >>> order = [["a/x.py", 1, "f"], ["a/y.py", 1, "g"], ["a/y.py", 9, "h"], ["b/z.py", 1, "i"]]
    >>> row = summarise({"functions": order, "counts": {"calls": 7}})
    >>> row["functions"], row["files"], row["switches_of_file"], row["switches_of_package"]
    (4, 3, 2, 1)
    """
    files = [file for file, _, _ in trace["functions"]]
    return {
        "functions": len(files),
        "files": len(set(files)),
        "switches_of_file": count_switches(files),
        "switches_of_package": count_switches([file.rpartition("/")[0] for file in files]),
        **trace["counts"],
    }


def count_switches(places: list[str]) -> int:
    """How often neighbours differ."""
    return sum(here != there for here, there in pairwise(places))


class Tracer:
    """Notes functions of the package when they are first entered, and counts the rest."""

    def __init__(self, root: Path) -> None:
        self.root = f"{root.resolve()}{os.sep}"
        self.functions: dict[CodeType, None] = {}
        self.counts: Counter[str] = Counter()
        self.selects: list[str] = []

    def profile(self, frame: FrameType, event: str, argument: object) -> None:
        """Called by the interpreter for each call of a function."""
        if event == "c_call":
            self._count_digest(frame, argument)
            return
        if event != "call":
            return
        code = frame.f_code
        if code.co_filename.startswith(self.root):
            if code.co_flags & FUNCTION_FLAGS == FUNCTION_FLAGS:
                self.counts["calls"] += 1
                # Arrays of a state are read without functions of numpy.
                self.counts["array_reads"] += code.co_name == "view_array"
                self.functions.setdefault(code)
        elif code.co_name in NUMPY_READ and "numpy" in code.co_filename:
            self.counts["array_reads"] += 1
        elif code.co_name == "loads" and "tomllib" in code.co_filename:
            self.counts["toml_parsed"] += 1

    def _count_digest(self, frame: FrameType, function: object) -> None:
        name = getattr(function, "__name__", "")
        # hashlib.new and hashlib.file_digest ask OpenSSL for an algorithm by its name.
        by_name = name == "new" and frame.f_locals.get("name") == "sha256"
        if by_name or name in ("sha256", "openssl_sha256", "xxh3_128_hexdigest"):
            self.counts["digests"] += 1

    def statement(self, sql: str) -> None:
        """Called by SQLite for each statement that runs."""
        if sql.split()[:1] == ["SELECT"]:
            self.selects.append(sql)

    def result(self) -> Row:
        kept = [code for code in self.functions if code.co_name not in NOT_FUNCTIONS]
        rows = [
            (code.co_filename.removeprefix(self.root), code.co_firstlineno, code.co_name)
            for code in kept
        ]
        counts = {name: self.counts[name] for name in COUNTED}
        return {"functions": rows, "counts": counts, "selects": self.selects}


def run_traced(tree: str, out: str, command: list[str]) -> None:
    """The child: run the command line under the tracer and write what was seen."""
    tracer = Tracer(Path(tree) / PACKAGE)
    connect = sqlite3.connect

    def connect_traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_trace_callback(tracer.statement)
        return connection

    sqlite3.connect = connect_traced  # type: ignore[assignment]
    sys.argv = [PACKAGE, *command]
    # What any command imports is loaded before the trace begins; what `update` imports is not.
    import_module(f"{PACKAGE}.__main__")
    del sys.modules[f"{PACKAGE}.__main__"]  # it runs once more, as the command
    threading.setprofile(tracer.profile)
    sys.setprofile(tracer.profile)
    try:
        run_module(PACKAGE, run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    Path(out).write_text(json.dumps(tracer.result()), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == [TRACED]:
        # The package must come from the tree alone, not from beside this script.
        sys.path.pop(0)
        run_traced(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        main()
