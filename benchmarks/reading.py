"""Speed of reading triples, relative to pyoxigraph on the same file.

    python benchmarks/reading.py [--json benchmarks/results/reading.json] [--tables]

Four kinds of N-Triples: ``entities`` (IRIs only: the values at the top of the result),
``literals`` (every second tail is a literal), ``blank_nodes`` and ``escapes`` (one in the tail of
every tenth line, so that each block has some). Each reader is a plain ``for`` loop over the file;
the readers take turns, and the best of three times is reported.

``stored`` is the whole path from the file to the ids of a graph, literals included, in triples
per second of processor time. ``table_cells`` is the number of cells of a CSV file that become
statements per second of processor time. ``peak`` is the memory in MiB of a process that reads a
file, and one of ten times its size.
"""

from __future__ import annotations

import argparse
import csv
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

from everalign.graph.encoding import encode_statements
from everalign.graph.names import Vocabulary
from everalign.io import Table, TripleReader, read_triples

TRIPLES = 300_000
ENTITIES = 100_000
RELATIONS = 300
ROUNDS = 3
CSV_ROWS = 50_000
SEED = 7
OTHER_SHAPES = ("literals", "blank_nodes", "escapes")


def entity_iri(number: int) -> str:
    return f"http://example.org/resource/Entity_{number}"


def format_tail(shape: str, line: int, number: int) -> str:
    if shape == "literals" and line % 2:
        return f'"the value {number} of line {line}"@en'
    if shape == "blank_nodes" and line % 10 == 0:
        return f"_:b{number}"
    if shape == "escapes" and line % 10 == 0:
        return f"<{entity_iri(number)}\\u00E9>"
    return f"<{entity_iri(number)}>"


def write_ntriples(path: Path, shape: str, triples: int = TRIPLES) -> None:
    generator = random.Random(SEED)
    with path.open("w", encoding="utf-8") as file:
        for line in range(triples):
            head = entity_iri(generator.randrange(ENTITIES))
            relation = f"http://example.org/ontology/relation_{generator.randrange(RELATIONS)}"
            tail = format_tail(shape, line, generator.randrange(ENTITIES))
            file.write(f"<{head}> <{relation}> {tail} .\n")


def write_table(path: Path, n_triples: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines("\t".join(triple) + "\n" for triple in read_triples(n_triples))


def consume(items: Iterable[object]) -> None:
    for _ in items:
        pass


def assign_ids(triples: Iterable[tuple[str, str, str]]) -> None:
    """Replace names by ids in pure Python, for comparison with the encoder."""
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}
    rows = []
    for head, relation, tail in triples:
        head_id = entities.setdefault(head, len(entities))
        relation_id = relations.setdefault(relation, len(relations))
        rows.append((head_id, relation_id, entities.setdefault(tail, len(entities))))


def measure_best_times(readers: dict[str, Callable[[], None]]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(ROUNDS):
        for name, read in readers.items():
            start = perf_counter()
            read()
            times[name].append(perf_counter() - start)
    return {name: round(min(seconds), 4) for name, seconds in times.items()}


def parse_with_pyoxigraph(path: Path) -> None:
    consume(pyoxigraph.parse(path=path, format=pyoxigraph.RdfFormat.N_TRIPLES))


def measure_shape(directory: Path, shape: str) -> dict[str, float]:
    path = directory / f"{shape}.nt"
    write_ntriples(path, shape)
    readers: dict[str, Callable[[], None]] = {
        "pyoxigraph_seconds": lambda: parse_with_pyoxigraph(path),
        "everalign_seconds": lambda: consume(read_triples(path)),
    }
    if shape == "entities":
        table = directory / "entities.tsv"
        write_table(table, path)
        readers["tsv_seconds"] = lambda: consume(read_triples(table))
        readers["everalign_and_interning_seconds"] = lambda: assign_ids(read_triples(path))
    times = measure_best_times(readers)
    ratio = times["pyoxigraph_seconds"] / times["everalign_seconds"]
    return times | {"ratio": round(ratio, 3)}


def measure_encoding(path: Path) -> int:
    """Measure the number of triples per second of processor time that become ids."""
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        encoded = encode_statements(path, Vocabulary())
        times.append(process_time() - start)
    return round((len(encoded.triples) + len(encoded.literals)) / min(times))


def write_csv(path: Path) -> None:
    """Write a table of ten columns: ids, texts, numbers, dates, links and lists."""
    generator = random.Random(SEED)
    header = ["id", "name", "text", "price", "year", "brand", "city", "tags", "day", "code"]
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(header)
        for row in range(CSV_ROWS):
            number = generator.randrange(1_000_000)
            texts = [f"p{row}", f"Product {number}", f"large, red, number {row} " * 3]
            numbers = [f"{number / 100:.2f}", 1900 + number % 120, f"b{number % 500}"]
            others = ["Zürich" if row % 3 else "", "a|b", f"2024-0{row % 9 + 1}-11", f"00{row}"]
            table.writerow([*texts, *numbers, *others])


def measure_csv(directory: Path) -> int:
    """Measure the number of cells per second of processor time."""
    path = directory / "table.csv"
    write_csv(path)
    table = Table(path, link_columns=["brand"], split={"tags": "|"})
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        consume(TripleReader(table).statements())
        times.append(process_time() - start)
    return round(10 * CSV_ROWS / min(times))


def measure_peak_memory(path: Path) -> float:
    """Measure the peak memory in MiB of a process that reads a file and keeps nothing."""
    # Not getrusage, whose peak includes the memory of the parent process.
    code = (
        "import re, sys; from everalign.io import TripleReader\n"
        "for _ in TripleReader(sys.argv[1]).statements(): pass\n"
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    command = [sys.executable, "-c", code, str(path)]
    return round(int(subprocess.check_output(command)) / 1024, 1)


def measure_storage(directory: Path) -> dict[str, object]:
    files = {shape: directory / f"{shape}.nt" for shape in ("entities", *OTHER_SHAPES)}
    large = directory / "large.nt"
    write_ntriples(large, "literals", 10 * TRIPLES)
    stored = {shape: measure_encoding(path) for shape, path in files.items()}
    peak = {
        "once": measure_peak_memory(files["literals"]),
        "ten_times": measure_peak_memory(large),
    }
    return {"stored": stored, "peak": peak}


def measure_reading() -> dict[str, object]:
    with TemporaryDirectory() as name:
        directory = Path(name)
        entities = measure_shape(directory, "entities")
        others = {shape: measure_shape(directory, shape) for shape in OTHER_SHAPES}
        stored = measure_storage(directory)
        stored["table_cells"] = measure_csv(directory)
    versions = {"python": platform.python_version(), "pyoxigraph": pyoxigraph.__version__}
    return {"triples": TRIPLES, **entities, **others, **stored, **versions}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how fast triples are read.")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/reading.json"))
    parser.add_argument(
        "--tables", action="store_true", help="measure CSV only, and keep the other results"
    )
    arguments = parser.parse_args()
    path: Path = arguments.json
    if arguments.tables:
        with TemporaryDirectory() as name:
            cells = {"table_cells": measure_csv(Path(name))}
        measured = json.loads(path.read_text(encoding="utf-8")) | cells
    else:
        measured = measure_reading()
    result = json.dumps(measured, indent=2) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(result, encoding="utf-8")
    print(result, end="")


if __name__ == "__main__":
    main()
