"""On the paper's own datasets, where they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from everalign.benchmark.contea_format import ContEADataset, write_rows
from everalign.benchmark.dataset_builder import BuildConfig, SourceGraphs, build_dataset
from everalign.benchmark.dataset_statistics import compute_statistics
from everalign.benchmark.protocol import BenchmarkRun
from everalign.config import Config
from everalign.graph import Graph, Vocabulary, build_union_graph, encode_triples

pytestmark = pytest.mark.slow

# Table 1 of the paper: triples of the left and right graph, and test links, at each snapshot;
# and train and validation links, which stay the same.
TABLE_1 = {
    "ZH-EN": [(70414, 95142, 12682), (103982, 154833, 14213), (137280, 213405, 16296),
              (173740, 278076, 18716), (213814, 351659, 21473), (258311, 434683, 24678)],
    "JA-EN": [(77214, 93484, 13127), (112268, 150636, 15079), (147097, 207056, 18092),
              (185398, 270469, 21690), (227852, 341432, 25656), (274884, 421971, 29782)],
    "FR-EN": [(105998, 115722, 13048), (148274, 184132, 15875), (191697, 251591, 20481),
              (239861, 326689, 25753), (293376, 411528, 31564), (352886, 507793, 37592)],
}  # fmt: skip


GIVEN = {"ZH-EN": (3623, 1811), "JA-EN": (3750, 1875), "FR-EN": (3727, 1863)}


@pytest.mark.parametrize("name", TABLE_1)
def test_the_statistics_are_those_of_the_paper(real_data: Path, name: str) -> None:
    rows = compute_statistics(real_data / name)
    assert [(row.left_triples, row.right_triples, row.test) for row in rows] == TABLE_1[name]
    assert {(row.train, row.valid) for row in rows} == {GIVEN[name]}
    # The paper's graphs gain no relations, and dataset builds hold to that.
    assert len({(row.left_relations, row.right_relations) for row in rows}) == 1


def test_a_build_from_the_papers_base_splits_as_the_paper_did(
    real_data: Path, tmp_path: Path
) -> None:
    dataset = ContEADataset.open(real_data / "ZH-EN")
    large = tmp_path / "left", tmp_path / "right"
    for side, path in enumerate(large):
        files = [dataset.delta_files(t)[side] for t in range(3)]
        path.write_bytes(b"".join(file.read_bytes() for file in files))
    links = tmp_path / "links"
    write_rows(
        links, [*dataset.train_links(), *dataset.validation_links(), *dataset.test_links(2)]
    )
    build_dataset(
        SourceGraphs(*large, links, *dataset.delta_files(0)),
        tmp_path / "built",
        BuildConfig(snapshots=2),
    )
    base, first = compute_statistics(tmp_path / "built")
    assert (base.left_triples, base.right_triples, base.test) == TABLE_1["ZH-EN"][0]
    assert (base.train, base.valid) == GIVEN["ZH-EN"]
    # A fifth is drawn, and more comes between the entities that are there then.
    assert first.left_triples > 1.2 * base.left_triples
    assert first.right_triples > 1.2 * base.right_triples
    assert (first.left_repeated, first.right_repeated) == (0, 0)


def test_merged_edges_and_relation_sets_of_the_union(real_data: Path) -> None:
    dataset = ContEADataset.open(real_data / "ZH-EN")
    graphs = [
        Graph.empty().with_triples(encode_triples(path, Vocabulary()))
        for path in dataset.delta_files(0)
    ]
    union = build_union_graph(graphs[0], graphs[1])
    assert (union.node_count, len(union.target), union.set_count) == (38960, 259545, 14096)


@pytest.mark.long
def test_a_few_epochs_reach_most_of_the_published_quality(real_data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    config = Config(method="contea", settings={"max_epochs": 8, "bootstrap": 0})
    result = BenchmarkRun(real_data / "ZH-EN", config, 0, 0).run(tmp_path / "out.json")
    assert result["snapshots"][0]["f1"] > 0.6


def test_evidence_finds_most_links_at_once(real_data: Path, tmp_path: Path) -> None:
    result = BenchmarkRun(real_data / "ZH-EN", Config(method="evidence"), 0, 0).run(
        tmp_path / "out.json"
    )
    (first,) = result["snapshots"]
    assert first["f1"] > 0.8
    assert first["calibration_error"] < 0.05
