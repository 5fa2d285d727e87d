"""Reading large graphs takes little memory: numbers are held, and each name once."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from everalign._progress import no_progress
from everalign.benchmark.dataset_builder import read_large_graph

TRIPLES, ENTITIES = 100_000, 1_000


@pytest.mark.slow
def test_memory_is_that_of_a_few_numbers_for_each_triple(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("w") as file:
        for number in range(TRIPLES):
            head, step = number % ENTITIES, number // ENTITIES
            file.write(f"http://example.org/{head}\tr\thttp://example.org/{head + step}\n")
    tracemalloc.start()
    graph = read_large_graph(path, None, no_progress)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(graph.triples) == TRIPLES
    assert peak < 80 * TRIPLES  # a triple of names alone would take more than 100 bytes
