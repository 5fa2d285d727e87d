"""The tables say what the runs and the paper say."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from everalign.benchmark.metrics import Correction, write_corrections
from everalign.benchmark.paper import (
    SYSTEMS,
    BenchmarkCell,
    CellGrid,
    make_pages,
    open_datasets,
    select_systems,
)
from everalign.benchmark.paper.systems import DATASETS, list_published_systems, read_published
from everalign.benchmark.paper.tables import summary_table
from everalign.errors import ConfigError


def keep(cell: BenchmarkCell, f1: float, seconds: float = 1800.0) -> None:
    """Leave a result as a run would, with the same F1 at all its snapshots."""
    records = [
        {"t": t, "precision": f1, "recall": f1, "f1": f1, "predicted": 10, "gold": 10,
         "new_entity_recall": f1 if t else None, "corrected": 7, "seconds": seconds,
         "peak_rss_mb": 1.0}
        for t in cell.snapshots
    ]  # fmt: skip
    config = asdict(cell.system.build_config(cell.seed))
    result = {"dataset": cell.dataset.name, "config": config, "content": "", "first":
              cell.snapshots[0], "software": {"python": "3.11"}, "snapshots": records}  # fmt: skip
    cell.result_file.parent.mkdir(parents=True, exist_ok=True)
    cell.result_file.write_text(json.dumps(result))


def cells_in(directory: Path, seed: int = 0) -> CellGrid:
    return CellGrid(SYSTEMS, open_datasets([]), directory, seed)


def row_after(page: str, system: str, below: int) -> list[str]:
    """The row of a system in the first table of a page, or one below it."""
    lines = page.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"| {system} |"))
    return [cell.strip() for cell in lines[start + below].split("|")[1:-1]]


def test_every_published_system_can_be_run_and_is_named_once() -> None:
    assert {system.label for system in SYSTEMS} >= set(list_published_systems())
    assert len({system.name for system in SYSTEMS}) == len(SYSTEMS)


def test_the_published_numbers() -> None:
    assert read_published("FR-EN", "ContEA w/o TA")[3].precision == 0.379
    assert read_published("ZH-EN", "DINGAL-O")[5].new_entity_recall == 0.006
    assert read_published("JA-EN", "ContEA")[5].new_entity_recall is None
    assert 0 not in read_published("ZH-EN", "ContEA retraining")
    assert read_published("sample", "ContEA") == {}


def test_ours_stand_beside_the_published(tmp_path: Path) -> None:
    cells = cells_in(tmp_path / "runs")
    (contea,) = [cell for cell in cells if cell.result_file.name == "contea_ZH-EN.json"]
    keep(contea, 0.5)
    page = make_pages(cells, tmp_path / "pages")["ZH-EN.md"]
    ours, theirs, difference = (row_after(page, "ContEA", below) for below in range(3))
    assert ours[:3] == ["ContEA", "[ours](../runs/contea_ZH-EN.json)", ".500/.500/.500"]
    assert theirs[2] == ".843/.604/.703"
    assert difference[2:] == ["-0.203", "-0.046", "+0.042", "+0.104", "+0.152", "+0.188"]
    assert "seed 0. Total time: 3.00 core hours (python 3.11)." in page


def test_a_retraining_system_has_a_cell_for_each_snapshot(tmp_path: Path) -> None:
    cells = cells_in(tmp_path)
    (dual_amn,) = select_systems("Dual-AMN")
    mine = cells.list_cells(dual_amn, cells.datasets[0])
    assert [cell.result_file.name for cell in mine] == [
        f"dual-amn_ZH-EN_t{t}.json" for t in range(6)
    ]
    keep(mine[3], 0.25)
    page = make_pages(cells, tmp_path)["ZH-EN.md"]
    row = row_after(page, "Dual-AMN", 0)
    assert row[1:] == ["ours ([3](dual-amn_ZH-EN_t3.json))", "–", "–", "–", ".250/.250/.250", "–",
                       "–"]  # fmt: skip
    # Its mean would be over one snapshot, the published one is over six.
    assert summary_table(cells)[6][2:4] == ["–", ".380"]


def test_the_tsv_holds_the_same(tmp_path: Path) -> None:
    cells = cells_in(tmp_path)
    keep(next(cell for cell in cells if cell.result_file.name == "contea_ZH-EN.json"), 0.5)
    text = make_pages(cells, tmp_path)["ZH-EN.tsv"]
    rows = list(csv.DictReader(text.splitlines(), delimiter="\t"))
    assert len(rows) == 6 * len(SYSTEMS)
    (row,) = [row for row in rows if (row["system"], row["t"]) == ("ContEA", "5")]
    assert (row["f1"], row["published_f1"], row["published_new_entity_recall"]) == (
        "0.500", "0.312", "0.095"
    )  # fmt: skip
    assert (row["new_entity_recall"], row["file"]) == ("0.500", "contea_ZH-EN.json")


def test_an_ablation_tells_what_is_lost(tmp_path: Path) -> None:
    cells = cells_in(tmp_path)
    for name, f1 in (("contea", 0.5), ("contea-without-trusted", 0.4)):
        keep(next(cell for cell in cells if cell.result_file.name == f"{name}_ZH-EN.json"), f1)
    ablation = make_pages(cells, tmp_path)["ZH-EN.md"].partition("## Ablation")[2]
    ours = row_after(ablation, "ContEA w/o TA", 1)
    theirs = row_after(ablation, "ContEA w/o TA", 3)
    assert ours[1:3] == ["ours, against ContEA", "-0.100"]
    assert theirs[1:3] == ["published, against ContEA", "-0.009"]


def test_the_case_study_names_entities_as_people_do(tmp_path: Path) -> None:
    cells = cells_in(tmp_path)
    cell = next(cell for cell in cells if cell.result_file.name == "evidence_FR-EN.json")
    keep(cell, 0.5)
    iri, other = "http://dbpedia.org/resource/", "http://fr.dbpedia.org/resource/"
    wembley = f"{other}Stade_de_Wembley"
    row = Correction(wembley, f"{iri}White_Hart_Lane", 0.3, wembley, "41", 0.875)
    write_corrections(cell.corrections_file, [row])
    page = make_pages(cells, tmp_path)["FR-EN.md"]
    assert (
        "| Stade de Wembley – White Hart Lane | .300 | Stade de Wembley – entity 41 | .875 |"
        in (page)
    )
    assert "7 correct links replace wrong ones" in page
    assert "[1 corrections](evidence_FR-EN.corrected.tsv)" in page


def test_another_run_is_not_taken_for_ours(tmp_path: Path) -> None:
    keep(next(iter(cells_in(tmp_path))), 0.5)
    assert next(iter(cells_in(tmp_path))).complete
    assert not next(iter(cells_in(tmp_path, seed=1))).records


def test_an_unknown_system_is_told_with_the_known() -> None:
    with pytest.raises(
        ConfigError, match="unknown system 'dual'; known systems: mtranse, gcn-align"
    ):
        select_systems("contea,dual")


def test_the_pages_of_the_documentation_are_made_from_the_results() -> None:
    root = Path(__file__).parents[3]
    out = root / "docs" / "results"
    for name, text in make_pages(cells_in(root / "benchmarks" / "results"), out).items():
        assert (out / name).read_text(encoding="utf-8") == text, "run: everalign paper --no-run"
    for name in DATASETS:
        assert (out / f"{name}-growth.svg").exists()
