from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from everalign.benchmark.synthetic import SampleConfig, generate_sample, write_sample

CONFIG = SampleConfig(triples=3_000, snapshots=3, seed=11)


def _files(config: SampleConfig, directory: Path) -> dict[str, bytes]:
    write_sample(generate_sample(config), directory)
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in paths}


def test_the_same_config_gives_the_same_bytes(tmp_path: Path) -> None:
    assert _files(CONFIG, tmp_path / "one") == _files(CONFIG, tmp_path / "two")


def test_another_seed_gives_another_sample(tmp_path: Path) -> None:
    one = _files(CONFIG, tmp_path / "one")
    two = _files(replace(CONFIG, seed=12), tmp_path / "two")
    assert one.keys() == two.keys()
    assert all(one[name] != two[name] for name in one)


def test_a_sample_answers_the_same_each_time_it_is_asked() -> None:
    sample = generate_sample(CONFIG)
    assert sample.left(1) == sample.left(1)
    assert list(sample.right_labels()) == list(sample.right_labels())
