"""Scores against gold links that judge some of the links, all of them, or come from decisions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import toy as toys
from tests.conftest import Run

from everalign import Aligner, Config
from everalign.benchmark.metrics import score_links, score_thresholds
from everalign.errors import ConfigError, InputError

OSLO, TRONDHEIM, BERGEN = ("Oslo", "Осло"), ("Trondheim", "Тронхейм"), ("Bergen", "Берген")


@pytest.fixture
def towns(tmp_path: Path, toy: Config) -> Aligner:
    """Oslo is linked with 1.0, Trondheim with 0.5; Bergen (1/3) and Rome (1/4) are proposals."""
    return Aligner.create(tmp_path / "state", toys.LEFT, toys.RIGHT, toys.SEEDS, config=toy)


def test_links_that_no_gold_entity_touches_are_not_judged(towns: Aligner) -> None:
    scores = towns.evaluate([OSLO])
    assert (scores.scope, scores.coverage, scores.unjudged) == ("gold", 0.5, 1)
    assert (scores.precision, scores.recall) == (1, 1)


def test_every_link_is_judged_where_asked_for(towns: Aligner) -> None:
    scores = towns.evaluate([OSLO], scope="all")
    assert (scores.scope, scores.unjudged) == ("all", 0)
    assert (scores.precision, scores.recall) == (0.5, 1)


def test_gold_links_of_all_linked_entities_judge_all_links(towns: Aligner) -> None:
    scores = towns.evaluate([OSLO, TRONDHEIM, BERGEN])
    assert (scores.scope, scores.coverage) == ("all", 1)
    assert (scores.predicted, scores.gold, scores.correct) == (2, 3, 2)


def test_a_link_to_another_entity_than_the_gold_link_is_wrong(towns: Aligner) -> None:
    scores = towns.evaluate([("Bergen", "Осло")])
    assert (scores.scope, scores.predicted, scores.correct) == ("gold", 1, 0)


def test_unknown_entities_are_counted_and_missed(towns: Aligner) -> None:
    scores = towns.evaluate([OSLO, ("Atlantis", "Атлантида"), ("Rome", "Ром")])
    assert (scores.unknown, scores.swapped) == (2, 0)
    assert scores.recall == pytest.approx(1 / 3)


def test_swapped_sides_are_noticed(towns: Aligner) -> None:
    scores = towns.evaluate([OSLO[::-1], TRONDHEIM[::-1], ("Атлантида", "Atlantis")])
    assert (scores.swapped, scores.unknown) == (2, 1)
    assert (scores.predicted, scores.correct) == (2, 2)
    # Also if only some are.
    scores = towns.evaluate([OSLO[::-1], TRONDHEIM, ("Atlantis", "Атлантида")])
    assert (scores.swapped, scores.unknown, scores.correct) == (1, 1, 2)
    # An entity of both graphs says nothing about the sides.
    assert not towns.evaluate([("Fish", "Fish")]).swapped


def test_proposals_count_below_the_threshold(towns: Aligner) -> None:
    rows = towns.evaluate([OSLO, BERGEN], thresholds=[0.5, 0.3, 0.9]).thresholds
    # Trondheim and Rome are not judged.
    assert [(row.threshold, row.predicted, row.correct, row.recall) for row in rows] == [
        (0.3, 2, 2, 1.0),
        (0.5, 1, 1, 0.5),
        (0.9, 1, 1, 0.5),
    ]
    assert [(row.band_links, row.band_confidence, row.band_precision) for row in rows] == [
        (1, pytest.approx(1 / 3), 1.0),
        (0, None, None),
        (1, 1.0, 1.0),
    ]


@given(
    st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 5)), st.floats(0, 1), max_size=12),
    st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5))),
    st.lists(st.floats(0, 1), min_size=1, max_size=5),
)
def test_a_threshold_is_a_selection_of_links(
    links: dict[tuple[int, int], float], gold: set[tuple[int, int]], thresholds: list[float]
) -> None:
    rows = score_thresholds(links, gold, thresholds)
    assert [row.threshold for row in rows] == sorted(set(thresholds))
    for row in rows:
        plain = score_links([pair for pair in links if links[pair] >= row.threshold], gold)
        assert (row.precision, row.recall, row.f1) == (plain.precision, plain.recall, plain.f1)
    assert sum(row.band_links for row in rows) == rows[0].predicted


def test_decisions_judge_the_links_before_them(towns: Aligner) -> None:
    towns.confirm([OSLO])
    towns.reject([TRONDHEIM])
    towns.confirm([BERGEN])
    # Oslo was found and is right, Trondheim was found and is wrong, Bergen was not found.
    waiting = towns.evaluate(None)
    assert (waiting.predicted, waiting.gold, waiting.correct) == (2, 2, 1)
    assert waiting.scope == "gold"
    towns.update()
    assert towns.evaluate(None) == waiting
    towns.withdraw([TRONDHEIM])
    assert towns.evaluate(None).precision == 1


def test_an_entity_without_counterpart_makes_its_link_wrong(towns: Aligner) -> None:
    towns.no_counterpart(right=["Осло"])
    scores = towns.evaluate(None)
    assert (scores.predicted, scores.gold, scores.correct) == (1, 0, 0)


def test_seeds_are_no_decisions(towns: Aligner) -> None:
    with pytest.raises(InputError, match="nothing was confirmed or rejected"):
        towns.evaluate(None)
    towns.confirm([OSLO], apply=True)
    # At version 1 the method knows it.
    with pytest.raises(InputError, match="nothing was confirmed or rejected"):
        towns.evaluate(None, at=1)
    assert towns.evaluate(None, at=0).correct == 1


def test_wrong_wishes_are_refused(towns: Aligner) -> None:
    with pytest.raises(ConfigError, match="scope must be one of gold, all, not 'some'"):
        towns.evaluate([OSLO], scope="some")
    with pytest.raises(ConfigError, match="threshold must lie between 0 and 1"):
        towns.evaluate([OSLO], thresholds=[1.5])
    towns.confirm([OSLO])
    with pytest.raises(ConfigError, match="decisions judge some links only"):
        towns.evaluate(None, scope="all")


def test_the_command_says_what_it_judged(
    everalign_toy: Run, towns: Aligner, tmp_path: Path
) -> None:
    (tmp_path / "gold.tsv").write_text("Осло\tOslo\n")
    printed = everalign_toy("evaluate", "state", "gold.tsv", "--thresholds").stdout
    assert "note: left and right are swapped in 1 gold link; they" in printed
    assert "name 50% of the linked entities: only links that touch" in printed
    assert "band confidence" in printed
    scores = json.loads(
        everalign_toy("evaluate", "state", "--gold", "gold.tsv", "--scope", "all", "--json").stdout
    )
    assert (scores["precision"], scores["scope"], scores["swapped"]) == (0.5, "all", 1)


def test_decisions_serve_as_gold_on_the_command_line(
    everalign_toy: Run, towns: Aligner, tmp_path: Path
) -> None:
    towns.confirm([OSLO])
    shown = everalign_toy("evaluate", "state", "--gold", "decisions", "--json")
    assert json.loads(shown.stdout)["correct"] == 1
    for arguments in (["gold.tsv", "--gold", "decisions"], []):
        refused = everalign_toy("evaluate", "state", *arguments)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "give the gold links once" in refused.stderr


def test_a_figure_shows_the_thresholds(everalign_toy: Run, towns: Aligner, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "gold.tsv").write_text("Oslo\tОсло\n")
    run = everalign_toy("evaluate", "state", "gold.tsv", "--plot", "curve.svg")
    assert (run.returncode, run.stderr) == (0, "")
    assert (tmp_path / "curve.svg").read_text(encoding="utf-8").count("<path") > 10
    refused = everalign_toy("evaluate", "state", "gold.tsv", "--plot", "curve.pdf")
    assert refused.returncode == 2
    assert "expected .svg or .png" in refused.stderr
