"""The layout of the ContEA datasets, built by hand and as published."""

from __future__ import annotations

from pathlib import Path

import pytest

from everalign.benchmark.contea_format import ContEADataset
from everalign.errors import InputError
from everalign.io import read_triples

PUBLISHED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A dataset with a base and two batches, in which each file has a line of its own."""
    files = {
        "base/triples_1": "1\t1\t2",
        "base/triples_2": "11\t11\t12",
        "base/train_links": "1\t11",
        "base/valid_links": "2\t12",
        "base/test_links": "3\t13",
        "batch1/new_triples_1": "1\t1\t4",
        "batch1/new_triples_2": "11\t11\t14",
        "batch1/all_test_links": "3\t13\n4\t14",
        "batch2/new_triples_1": "1\t1\t5",
        "batch2/new_triples_2": "11\t11\t15",
        "batch2/all_test_links": "3\t13\n4\t14\n5\t15",
    }
    for name, content in files.items():
        path = tmp_path / "XX-EN" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    return tmp_path / "XX-EN"


def test_snapshots_are_found(directory: Path) -> None:
    dataset = ContEADataset.open(directory)
    assert (dataset.name, dataset.snapshot_count) == ("XX-EN", 3)


def test_deltas_and_links_belong_to_their_snapshot(directory: Path) -> None:
    dataset = ContEADataset.open(directory)
    assert [list(read_triples(path)) for path in dataset.delta_files(0)] == [
        [("1", "1", "2")],
        [("11", "11", "12")],
    ]
    assert dataset.delta_files(2) == (
        directory / "batch2" / "new_triples_1",
        directory / "batch2" / "new_triples_2",
    )
    assert (dataset.train_links(), dataset.validation_links()) == ([("1", "11")], [("2", "12")])
    assert dataset.test_links(0) == [("3", "13")]
    assert dataset.test_links(2) == [("3", "13"), ("4", "14"), ("5", "15")]


@pytest.mark.parametrize("missing", ["base/triples_2", "base/valid_links", "batch1/new_triples_1"])
def test_a_missing_file_is_named(directory: Path, missing: str) -> None:
    (directory / missing).unlink()
    with pytest.raises(InputError) as caught:
        ContEADataset.open(directory)
    assert str(caught.value) == (
        f"{directory}: not a dataset in the ContEA layout: {missing} is missing"
    )


def test_a_gap_between_the_batches_is_named(directory: Path) -> None:
    (directory / "batch1").rename(directory / "batch3")
    with pytest.raises(InputError, match="batch1/new_triples_1 is missing"):
        ContEADataset.open(directory)


def test_a_path_that_is_not_a_directory_is_refused(directory: Path) -> None:
    for path in (directory / "nowhere", directory / "base" / "triples_1"):
        with pytest.raises(InputError, match="is not a directory"):
            ContEADataset.open(path)


@pytest.mark.parametrize("snapshot", [-1, 3])
def test_a_snapshot_that_does_not_exist_is_refused(directory: Path, snapshot: int) -> None:
    dataset = ContEADataset.open(directory)
    with pytest.raises(InputError, match=rf"has no snapshot {snapshot}; the last one is 2"):
        dataset.delta_files(snapshot)
    with pytest.raises(InputError, match=rf"has no snapshot {snapshot}; the last one is 2"):
        dataset.test_links(snapshot)


@pytest.mark.slow
@pytest.mark.skipif(not PUBLISHED.exists(), reason="the datasets are not in ../shared/data")
@pytest.mark.parametrize("name", ["ZH-EN", "JA-EN", "FR-EN"])
def test_the_published_datasets_are_read_whole(name: str) -> None:
    dataset = ContEADataset.open(PUBLISHED / "contea" / name)
    assert dataset.snapshot_count == 6
    for path in dataset.delta_files(0) + dataset.delta_files(5):
        assert sum(1 for _ in read_triples(path)) == path.read_bytes().count(b"\n")
    train, valid, test = (
        len(dataset.train_links()),
        len(dataset.validation_links()),
        len(dataset.test_links(0)),
    )
    assert train / (train + valid + test) == pytest.approx(0.2, abs=0.001)
    assert valid / (train + valid + test) == pytest.approx(0.1, abs=0.001)


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the datasets are not in ../shared/data")
def test_real_iris_have_the_same_name_in_both_formats(tmp_path: Path) -> None:
    lines = (PUBLISHED / "dbp15k" / "zh_en" / "ent_ids_1").read_text("utf-8").splitlines()
    iris = [line.split("\t")[1] for line in lines]
    for name, line in (("a.tsv", "{}\turn:r\turn:x\n"), ("a.nt", "<{}> <urn:r> <urn:x> .\n")):
        (tmp_path / name).write_text("".join(map(line.format, iris)), "utf-8")
        assert [head for head, _, _ in read_triples(tmp_path / name)] == iris
