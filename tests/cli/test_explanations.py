"""Confidence, full passes and explanations, with a method that can be checked by hand."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import toy as toys

from everalign import Aligner, Config

pytestmark = pytest.mark.slow

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def state(tmp_path: Path, toy: Config) -> Path:
    """A state made in this process; the commands find it by its name."""
    path = tmp_path / "state"
    Aligner.create(path, toys.LEFT, toys.RIGHT, toys.SEEDS, config=toy)
    return path


def refused(result: subprocess.CompletedProcess[str], *words: str) -> None:
    assert result.returncode == 2, result.stdout
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1, result.stderr
    for word in words:
        assert word in result.stderr


def test_notes_are_printed_with_each_version(everalign_toy: Run, tmp_path: Path) -> None:
    toys.write_files(tmp_path)
    files = ("--left", "left.tsv", "--right", "right.tsv", "--seeds", "seeds.tsv")
    made = everalign_toy("init", "state", *files, "--method", "toy", "--merge-rule", "auto")
    assert made.stdout.splitlines()[1] == "note: 3 seeds, 0 full passes"
    updated = everalign_toy("update", "state", "--full")
    assert updated.stdout.startswith("Version 1: 0 links added, 0 revised, 0 retracted; 2 found")
    assert updated.stdout.splitlines()[1:] == ["note: 3 seeds, 1 full passes"]
    status = everalign_toy("status", "state").stdout
    assert "method toy, merge rule latest, one-to-one, seed 0\n" in status
    assert status.count("note: ") == status.count("note: 3 seeds, 1 full passes\n") == 1
    again = json.loads(everalign_toy("update", "state", "--full", "--json").stdout)
    assert again["reports"][0]["notes"] == ["3 seeds, 2 full passes"]
    assert again["reports"][0]["threshold"] == 0.5


def test_links_by_confidence_and_by_precision(everalign_toy: Run, state: Path) -> None:
    def names(*options: object) -> list[str]:
        lines = everalign_toy("links", "state", "--found-only", *options).stdout.splitlines()
        return [line.split("\t")[0] for line in lines]

    assert names() == ["Oslo", "Trondheim"]
    assert names("--min-confidence", 0.3) == ["Oslo", "Trondheim", "Bergen"]
    assert names("--min-confidence", 0.9) == ["Oslo"]
    assert names("--target-precision", 0.52) == ["Oslo", "Trondheim", "Bergen", "Rome"]
    refused = everalign_toy("links", "state", "--at", 0, "--target-precision", 0.52)
    assert refused.stderr == ""
    options = ("--json", "--found-only", "--min-confidence", 0)
    links = json.loads(everalign_toy("links", "state", *options).stdout)
    assert [link["origin"] for link in links] == ["found", "found", "proposed", "proposed"]


def test_invalid_selections_are_refused(
    everalign: Run, everalign_toy: Run, state: Path, dataset: Path
) -> None:
    refused(everalign_toy("links", "state", "--min-confidence", "nan"), "between 0 and 1")
    refused(everalign_toy("links", "state", "--target-precision", 2), "between 0 and 1, not 2.0")
    refused(everalign_toy("links", "state", "--min-score", "nan"), "min_score must be a number")
    both = ("--min-confidence", 0.5, "--target-precision", 0.5)
    refused(everalign_toy("links", "state", *both), "exclude each other")
    refused(everalign("links", "state", "--min-confidence", 0.5), "unknown method 'toy'")
    assert everalign("links", "state").returncode == 0  # without the method, links are links


def test_a_method_without_probabilities_and_explanations(
    everalign: Run, tmp_path: Path, quick: Config
) -> None:
    pytest.importorskip("torch")
    Aligner.create(tmp_path / "state", toys.LEFT, toys.RIGHT, toys.SEEDS, config=quick)
    for option in ("--min-confidence", "--target-precision"):
        words = "scores of method 'contea' are no probabilities", "--min-score"
        refused(everalign("links", "state", option, 0.5), *words)
    refused(everalign("explain", "state", "Oslo"), "method 'contea' cannot explain its links")
    refused(everalign("relations", "state"), "method 'contea' cannot explain its links")


def test_evaluate_has_the_calibration_error(
    everalign_toy: Run, state: Path, tmp_path: Path
) -> None:
    (tmp_path / "gold.tsv").write_text("Oslo\tОсло\nTrondheim\tБерген\n")
    scores = json.loads(everalign_toy("evaluate", "state", "gold.tsv", "--json").stdout)
    assert scores["calibration_error"] == 0.25
    assert "calibration_error" in everalign_toy("evaluate", "state", "gold.tsv").stdout


def test_bench_prints_the_calibration_error(everalign_toy: Run, dataset: Path) -> None:
    run = everalign_toy("bench", dataset, "--snapshots", "0", "--method", "toy")
    heading, line = run.stdout.splitlines()
    assert "calibration error" in heading
    assert len(heading) == len(line)


def test_an_explanation_reads_from_top_to_bottom(everalign_toy: Run, state: Path) -> None:
    printed = everalign_toy("explain", "state", "Oslo", "--candidates", 2, "--evidence", 1)
    assert printed.stdout.splitlines() == [
        "Oslo (left)",
        "  link Oslo – Осло, found, 1.000, since version 0",
        "  1.000  Осло, support 2.000",
        "    1.000  –in→ Norway | –в→ Норвегия (1.000)",
        "    and 1 more evidence item",
        "  0.500  Тронхейм, support 1.000",
        "    1.000  –in→ Norway | –в→ Норвегия (1.000)",
        "  and 3 more candidates",
        "  Тронхейм lost: confidence 0.5 against 1; it shares 1 matched neighbour (support 1) "
        "where the link shares 2 (support 2)",
    ]


def test_an_explanation_of_a_right_entity_with_inverse_relations(
    everalign_toy: Run, state: Path
) -> None:
    Aligner.open(state).update(
        [("Norway", "owns", "Jan Mayen")], [("Норвегия", "владеет", "Ян-Майен")]
    )
    printed = everalign_toy("explain", "state", "Ян-Майен", "--candidates", 1)
    assert printed.stdout.splitlines() == [
        "Ян-Майен (right)",
        "  link Jan Mayen – Ян-Майен, found, 1.000, since version 1",
        "  1.000  Jan Mayen, support 1.000",
        "    1.000  ←owns– Norway | ←владеет– Норвегия (1.000)",
        "  and 1 more candidate",
        "  Sea lost: confidence 0.667 against 1; it shares 1 matched neighbour (support 2) "
        "where the link shares 1 (support 1)",
    ]


def test_json_contains_the_whole_explanation(everalign_toy: Run, state: Path) -> None:
    options = ("--candidates", 0, "--evidence", 0, "--json")
    explanation = json.loads(everalign_toy("explain", "state", "Oslo", *options).stdout)
    (entity_explanation,) = explanation["sides"]
    assert (explanation["entity"], explanation["threshold"]) == ("Oslo", 0.5)
    assert [len(pair["evidence"]) for pair in entity_explanation["candidates"]] == [2, 1, 1, 1, 1]
    assert entity_explanation["candidates"][0]["evidence"][1]["right_relation"] == "у"


def test_invalid_requests_are_refused(everalign_toy: Run, state: Path) -> None:
    refused(everalign_toy("explain", "state", "Atlantis"), "'Atlantis'", "neither")
    refused(everalign_toy("explain", "state", "Oslo", "--evidence", -1), "--evidence")
    refused(everalign_toy("relations", "state", "--min-inclusion", 2), "between 0 and 1")
    options = ("--format", "nt", "--accept", "nan")
    refused(everalign_toy("relations", "state", *options), "between 0 and 1")


def test_relations_that_are_no_iris_are_left_out_of_rdf(everalign_toy: Run, state: Path) -> None:
    result = everalign_toy("relations", "state", "--format", "nt")
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr == "4 statements left out: a name is not a valid absolute IRI\n"


def test_relations_as_a_table_and_as_json(everalign_toy: Run, state: Path) -> None:
    heading, *rows = everalign_toy("relations", "state").stdout.splitlines()
    assert heading == "left in right  right in left  support  left     right"
    assert [row.split()[3:] for row in rows if "touches" in row] == [
        ["touches", "омывает", "(inverse)"], ["touches", "у"]
    ]  # fmt: skip
    few = everalign_toy("relations", "state", "--min-inclusion", 0.6, "--json")
    assert len(json.loads(few.stdout)) == len(rows) - 1 == 3


def test_relations_as_rdf(everalign_toy: Run, tmp_path: Path, toy: Config) -> None:
    left, right, seeds = (
        [tuple(f"urn:{name}" for name in row) for row in rows]
        for rows in (toys.LEFT, toys.RIGHT, toys.SEEDS)
    )
    Aligner.create(tmp_path / "state", left, right, seeds, config=toy)  # type: ignore[arg-type]
    lines = everalign_toy("relations", "state", "--format", "nt", "--accept", 0.4).stdout
    owl, rdfs = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2000/01/rdf-schema#"
    assert sorted(lines.splitlines()) == [
        f"<urn:by> <{rdfs}subPropertyOf> <urn:у> .",
        f"<urn:by> <{owl}inverseOf> <urn:омывает> .",
        f"<urn:touches> <{rdfs}subPropertyOf> <urn:у> .",
        f"<urn:touches> <{owl}inverseOf> <urn:омывает> .",
    ]
