"""How fast triples are read, as a ratio to pyoxigraph alone on the same file.

    python benchmarks/reading.py [--json benchmarks/results/reading.json]

Four shapes of N-Triples: ``entities`` (IRIs only: the figures at the top of the result),
``literals`` (the tail of every second line is one), ``blank_nodes`` and ``escapes`` (one in
the tail of every tenth line, so that no block is spared). Each reader is a plain ``for`` loop
over the file; the readers take turns, and the best of three times counts.

``stored`` is the whole way from the file to the ids of a graph, literals included, in triples
per second of one core (processor time, so that other work on the machine does not count).
``peak`` is the memory of a process that reads a file, and one of ten times its size, in MiB.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import pyoxigraph

from everalign.graph.names import Vocabulary
from everalign.graph.taking import take
from everalign.rdf import read_triples

TRIPLES = 300_000
ENTITIES = 100_000
RELATIONS = 300
ROUNDS = 3
SEED = 7
OTHER_SHAPES = ("literals", "blank_nodes", "escapes")


def entity(number: int) -> str:
    return f"http://example.org/resource/Entity_{number}"


def tail_in_shape(shape: str, line: int, number: int) -> str:
    if shape == "literals" and line % 2:
        return f'"the value {number} of line {line}"@en'
    if shape == "blank_nodes" and line % 10 == 0:
        return f"_:b{number}"
    if shape == "escapes" and line % 10 == 0:
        return f"<{entity(number)}\\u00E9>"
    return f"<{entity(number)}>"


def write_n_triples(path: Path, shape: str, triples: int = TRIPLES) -> None:
    generator = random.Random(SEED)
    with path.open("w", encoding="utf-8") as file:
        for line in range(triples):
            head = entity(generator.randrange(ENTITIES))
            relation = f"http://example.org/ontology/relation_{generator.randrange(RELATIONS)}"
            tail = tail_in_shape(shape, line, generator.randrange(ENTITIES))
            file.write(f"<{head}> <{relation}> {tail} .\n")


def write_table(path: Path, n_triples: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines("\t".join(triple) + "\n" for triple in read_triples(n_triples))


def exhaust(items: Iterable[object]) -> None:
    for _ in items:
        pass


def intern(triples: Iterable[tuple[str, str, str]]) -> None:
    """The work of the next room: each name becomes a number."""
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}
    rows = []
    for head, relation, tail in triples:
        head_id = entities.setdefault(head, len(entities))
        relation_id = relations.setdefault(relation, len(relations))
        rows.append((head_id, relation_id, entities.setdefault(tail, len(entities))))


def best_times(readers: dict[str, Callable[[], None]]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(ROUNDS):
        for name, read in readers.items():
            start = perf_counter()
            read()
            times[name].append(perf_counter() - start)
    return {name: round(min(taken), 4) for name, taken in times.items()}


def pyoxigraph_alone(path: Path) -> None:
    exhaust(pyoxigraph.parse(path=path, format=pyoxigraph.RdfFormat.N_TRIPLES))


def measure_shape(directory: Path, shape: str) -> dict[str, float]:
    path = directory / f"{shape}.nt"
    write_n_triples(path, shape)
    readers: dict[str, Callable[[], None]] = {
        "pyoxigraph_seconds": lambda: pyoxigraph_alone(path),
        "everalign_seconds": lambda: exhaust(read_triples(path)),
    }
    if shape == "entities":
        table = directory / "entities.tsv"
        write_table(table, path)
        readers["tsv_seconds"] = lambda: exhaust(read_triples(table))
        readers["everalign_and_interning_seconds"] = lambda: intern(read_triples(path))
    times = best_times(readers)
    ratio = times["pyoxigraph_seconds"] / times["everalign_seconds"]
    return times | {"ratio": round(ratio, 3)}


def stored_per_second(path: Path) -> int:
    """How many triples a second become ids of a graph, on one core."""
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        taken = take(path, Vocabulary())
        times.append(process_time() - start)
    return round((len(taken.triples) + len(taken.literals)) / min(times))


def peak_memory(path: Path) -> float:
    """The memory in MiB of a process that reads the file and keeps nothing."""
    # The system's own count: that of getrusage begins with the memory of the parent process.
    code = (
        "import re, sys; from everalign.rdf import TripleReader\n"
        "for _ in TripleReader(sys.argv[1]).statements(): pass\n"
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    command = [sys.executable, "-c", code, str(path)]
    return round(int(subprocess.check_output(command)) / 1024, 1)


def measure_stored(directory: Path) -> dict[str, object]:
    files = {shape: directory / f"{shape}.nt" for shape in ("entities", *OTHER_SHAPES)}
    large = directory / "large.nt"
    write_n_triples(large, "literals", 10 * TRIPLES)
    stored = {shape: stored_per_second(path) for shape, path in files.items()}
    peak = {"once": peak_memory(files["literals"]), "ten_times": peak_memory(large)}
    return {"stored": stored, "peak": peak}


def measure() -> dict[str, object]:
    with TemporaryDirectory() as name:
        directory = Path(name)
        entities = measure_shape(directory, "entities")
        others = {shape: measure_shape(directory, shape) for shape in OTHER_SHAPES}
        stored = measure_stored(directory)
    versions = {"python": platform.python_version(), "pyoxigraph": pyoxigraph.__version__}
    return {"triples": TRIPLES, **entities, **others, **stored, **versions}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how fast triples are read.")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/reading.json"))
    path: Path = parser.parse_args().json
    result = json.dumps(measure(), indent=2) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(result, encoding="utf-8")
    print(result, end="")


if __name__ == "__main__":
    main()
