from __future__ import annotations

from pathlib import Path
from time import perf_counter

import pytest

from everalign.benchmark.synthetic import SampleConfig, generate_sample, write_sample


@pytest.mark.slow
def test_two_hundred_thousand_triples_take_seconds(tmp_path: Path) -> None:
    start = perf_counter()
    write_sample(generate_sample(SampleConfig(triples=200_000)), tmp_path)
    assert perf_counter() - start < 20

    files = [*tmp_path.glob("base/triples_*"), *tmp_path.glob("batch*/new_triples_*")]
    triples = sum(path.read_bytes().count(b"\n") for path in files)
    assert triples == pytest.approx(200_000, rel=0.1)
