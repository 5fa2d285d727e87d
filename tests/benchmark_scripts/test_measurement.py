"""What the measurements share: problems, scores, processes and result files."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import numpy as np
import pytest

import evidence_names
import evidence_robust
import measurement
import tables
from everalign.benchmark.protocol import software_versions
from everalign.config import Config
from everalign.matching import CandidatePairs
from evidence_delta import build_delta_task
from measurement import BaseSnapshot, GraphPair, ResultFile, Row

LEFT = [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d"), ("d", "r", "a")]
RIGHT = [("A", "R", "B"), ("B", "R", "C"), ("C", "R", "D"), ("D", "R", "A")]
SNAPSHOT = BaseSnapshot(LEFT, RIGHT, [("a", "A")], [("b", "B")], [("c", "C"), ("d", "D")])


@pytest.mark.parametrize("module", [measurement, tables, evidence_names, evidence_robust])
def test_the_examples_are_true(module: object) -> None:
    failed, tried = doctest.testmod(module)  # type: ignore[arg-type]
    assert tried > 0
    assert failed == 0


def test_held_back_triples_come_later_and_so_do_their_entities() -> None:
    chain = [(f"e{n}", "r", f"e{n + 1}") for n in range(100)]
    pairs = [(f"e{n}", f"e{n}") for n in range(101)]
    given = BaseSnapshot(chain, chain, pairs[:40], pairs[40:50], pairs[50:])
    step = build_delta_task(given, 40, seed=0)
    before, after = step.before, step.after
    assert len(before.left.triples) == len(before.right.triples) == 60
    assert len(after.left.triples) == len(after.right.triples) == 100
    assert after.left.triples[:60].tolist() == before.left.triples.tolist()
    assert (after.known_left_count, after.known_right_count) == (
        before.left.entity_count,
        before.right.entity_count,
    )
    assert after.left.entity_count == 101 > before.left.entity_count
    given_links = np.concatenate([after.seeds, after.validation])
    assert given_links[:, 0].max() < before.left.entity_count
    assert len(given_links) + len(step.gold) == len(pairs)


def test_links_that_are_not_given_are_to_be_found() -> None:
    graphs = GraphPair()
    graphs.add_triples(LEFT, RIGHT)
    few = graphs.build_task([("a", "A")], [])
    assert (
        SNAPSHOT.find_gold(graphs, few).tolist()
        == graphs.encode_pairs([("c", "C"), ("d", "D"), ("b", "B")]).tolist()
    )


def test_a_wrong_link_takes_its_entities_out_of_the_gold_links() -> None:
    graphs = GraphPair()
    graphs.add_triples(LEFT, RIGHT)
    misled = graphs.build_task([("a", "B")], [("b", "A")])
    assert (
        SNAPSHOT.find_gold(graphs, misled).tolist()
        == graphs.encode_pairs(SNAPSHOT.test_links).tolist()
    )


def test_only_accepted_links_are_scored() -> None:
    candidates = CandidatePairs.from_columns(
        [0, 1, 2], [0, 3, 2], [0.75, 0.75, 0.25], threshold=0.5
    )
    scores = measurement.score_candidates(
        candidates, np.array([[0, 0], [2, 2]], dtype=np.int32), Config()
    )
    assert (scores["precision"], scores["recall"], scores["f1"]) == (0.5, 0.5, 0.5)
    assert scores["calibration_error"] == 0.25
    assert scores["threshold"] == 0.5


def test_a_method_without_probabilities_has_no_calibration_error() -> None:
    candidates = CandidatePairs.from_columns([0], [0], [7.5])
    scores = measurement.score_candidates(
        candidates, np.array([[0, 0]], dtype=np.int32), Config(method="contea")
    )
    assert scores["calibration_error"] is None
    assert scores["threshold"] is None
    json.dumps(scores, allow_nan=False)


@pytest.mark.slow
def test_a_child_is_a_process_of_its_own_and_tells_its_memory() -> None:
    own = np.ones(300 * 2**20, dtype=np.int8)
    small = measurement.run_in_child(software_versions)
    assert small["peak_rss_mb"] < measurement.read_memory_mb("VmHWM") - 200
    assert small["process_seconds"] >= 0
    assert own.sum() == len(own)


def test_a_row_is_measured_once(tmp_path: Path) -> None:
    path, calls = tmp_path / "results" / "out.json", []

    def measure() -> Row:
        calls.append(1)
        return {"seconds": len(calls)}

    for _ in range(2):
        results = ResultFile(path, {"seed": 0})
        assert results.measure_row({"share": 1.0}, measure) == {"share": 1.0, "seconds": 1}
    results.measure_row({"share": 3.0}, measure)
    written = json.loads(path.read_text())
    assert written["seed"] == 0
    assert [row["seconds"] for row in written["rows"]] == [1, 2]


def test_the_rows_of_another_run_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    ResultFile(path, {"seed": 0}).measure_row({"share": 1.0}, dict)
    with pytest.raises(SystemExit, match="seed differs"):
        ResultFile(path, {"seed": 1})
