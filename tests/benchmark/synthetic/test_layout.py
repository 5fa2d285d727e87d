from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from everalign.benchmark.contea_format import ContEADataset, write_rows
from everalign.benchmark.synthetic import (
    Sample,
    SampleConfig,
    TripleFormat,
    generate_sample,
    write_sample,
)
from everalign.benchmark.synthetic.lines import TripleLines
from everalign.io import read_triples


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


@pytest.mark.parametrize("file_format", TripleFormat)
def test_lines_are_the_same_however_they_are_formatted(
    file_format: TripleFormat, tmp_path: Path
) -> None:
    config = SampleConfig(triples=2_000, snapshots=2, left_duplicate_share=0.2)
    sample = generate_sample(config)
    write_sample(sample, tmp_path / "sample", file_format=file_format, with_labels=False)
    dataset = ContEADataset.open(tmp_path / "sample")
    for t in range(2):
        read = [list(read_triples(path)) for path in dataset.delta_files(t)]
        assert read == [sample.left(t), sample.right(t)]
        assert dataset.test_links(t) == sample.gold(t)
    assert dataset.train_links() == sample.seeds
    assert dataset.validation_links() == sample.validation_links
    assert not list((tmp_path / "sample").glob("names_*"))
    plain = tmp_path / "plain.tsv"
    write_rows(plain, sample.left(0))
    left, _ = dataset.delta_files(0)
    if file_format is TripleFormat.TSV:
        assert left.read_bytes() == plain.read_bytes()
    else:
        lines = (f"<{head}> <{name}> <{tail}> .\n" for head, name, tail in sample.left(0))
        assert left.read_text(encoding="ascii") == "".join(lines)


def test_a_sample_of_many_blocks_of_lines_is_whole() -> None:
    lines = TripleLines("x/", np.arange(9, dtype=np.uint32), ["r", "long"], TripleFormat.TSV)
    triples = np.random.default_rng(0).integers(0, 2, (150_000, 3))
    blocks = list(lines.format_blocks(triples))
    assert len(blocks) > 1
    relations = ("r", "long")
    expected = [f"x/{h:08x}\t{relations[r]}\tx/{t:08x}" for h, r, t in triples.tolist()]
    assert b"".join(blocks).decode().splitlines() == expected
