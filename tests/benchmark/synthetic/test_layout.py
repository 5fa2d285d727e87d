from __future__ import annotations

from pathlib import Path

import pytest

from everalign.benchmark.synthetic import Sample, write_sample


@pytest.fixture(scope="module")
def directory(small_sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sample") / "not" / "yet" / "there"
    write_sample(small_sample, directory)
    return directory


def _rows(path: Path) -> list[tuple[str, ...]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines]


def test_the_base_reads_back(small_sample: Sample, directory: Path) -> None:
    base = directory / "base"
    assert _rows(base / "triples_1") == small_sample.left(0)
    assert _rows(base / "triples_2") == small_sample.right(0)
    assert _rows(base / "train_links") == small_sample.seeds
    assert _rows(base / "valid_links") == small_sample.validation_links
    assert _rows(base / "test_links") == small_sample.gold(0)


@pytest.mark.parametrize("snapshot", [1, 2])
def test_the_batches_read_back(small_sample: Sample, directory: Path, snapshot: int) -> None:
    batch = directory / f"batch{snapshot}"
    assert _rows(batch / "new_triples_1") == small_sample.left(snapshot)
    assert _rows(batch / "new_triples_2") == small_sample.right(snapshot)
    assert _rows(batch / "all_test_links") == small_sample.gold(snapshot)
    assert _rows(batch / "new_test_links") == small_sample.new_gold(snapshot)


def test_there_is_a_batch_for_each_later_snapshot(directory: Path) -> None:
    assert {path.name for path in directory.iterdir() if path.is_dir()} == {
        "base",
        "batch1",
        "batch2",
    }


def test_the_names_read_back(small_sample: Sample, directory: Path) -> None:
    assert _rows(directory / "names_1.tsv") == list(small_sample.left_labels())
    assert _rows(directory / "names_2.tsv") == list(small_sample.right_labels())


def test_the_readme_states_the_settings(directory: Path) -> None:
    readme = (directory / "README").read_text(encoding="utf-8")
    assert "triples = 2000\nsnapshots = 3\nseed = 0\n" in readme
