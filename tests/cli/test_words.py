"""Confirm, reject, withdraw, revert and every kind of change, as a user runs them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

LEFT = [("Oslo", "in", "Norway"), ("Bergen", "in", "Norway"), ("Oslo", "by", "Sea")]
RIGHT = [("Осло", "в", "Норвегия"), ("Берген", "в", "Норвегия"), ("Осло", "у", "Море")]


@pytest.fixture
def state(everalign: Run, tmp_path: Path) -> str:
    for name, rows in (("left", LEFT), ("right", RIGHT)):
        table = "".join("\t".join(row) + "\n" for row in rows)
        (tmp_path / f"{name}.tsv").write_text(table, encoding="utf-8")
    (tmp_path / "seeds.tsv").write_text("Norway\tНорвегия\n", encoding="utf-8")
    files = "--left", "left.tsv", "--right", "right.tsv", "--seeds", "seeds.tsv"
    made = everalign("init", "s", *files)
    assert made.returncode == 0, made.stderr
    return "s"


def found(everalign: Run, state: str) -> dict[str, tuple[str, str]]:
    links = json.loads(everalign("links", state, "--json").stdout)
    return {link["left"]: (link["right"], link["origin"]) for link in links}


def test_words_of_people(everalign: Run, state: str, tmp_path: Path) -> None:
    said = everalign("confirm", state, "Bergen", "Осло")
    assert said.stdout.startswith("version 1: ")
    assert found(everalign, state)["Bergen"] == ("Осло", "given")
    assert everalign("confirm", state, "Bergen", "Осло").stdout == (
        "nothing to do: confirmed already\n"
    )
    (tmp_path / "wrong.tsv").write_text("Bergen\tОсло\n", encoding="utf-8")
    everalign("reject", state, "--pairs", "wrong.tsv")
    everalign("update", state, "--full")
    assert found(everalign, state).get("Bergen", ("", ""))[0] != "Осло"
    taken_back = everalign("withdraw", state, "Bergen", "Осло", "--json")
    assert len(json.loads(taken_back.stdout)["reports"]) == 1
    back = everalign("revert", state, 1)
    assert back.returncode == 0
    assert found(everalign, state)["Bergen"] == ("Осло", "given")


def test_a_patch_and_files_of_every_sort_make_one_version(
    everalign: Run, state: str, tmp_path: Path
) -> None:
    (tmp_path / "week.rdfp").write_text("TX .\nA <urn:x> <urn:r> <urn:y> .\nTC .\n")
    (tmp_path / "lost.tsv").write_text("Осло\tу\tМоре\nОсло\tу\tНебо\n", encoding="utf-8")
    (tmp_path / "gone.txt").write_text("Bergen\n")
    files = "--left", "week.rdfp", "--remove-right", "lost.tsv", "--drop-left", "gone.txt"
    said = everalign("update", state, *files)
    assert said.returncode == 0, said.stderr
    assert "1 removal names what is not there" in said.stdout
    status = json.loads(everalign("status", state, "--json").stdout)
    assert (status["left_triples"], status["right_triples"]) == (3, 2)
    assert (status["left_entities"], status["right_entities"]) == (5, 3)


def test_removals_of_nothing_but_what_is_not_there_are_counted(
    everalign: Run, state: str, tmp_path: Path
) -> None:
    (tmp_path / "lost.tsv").write_text("Oslo\tin\tSea\nOslo\tin\tAtlantis\n")
    said = everalign("update", state, "--remove-left", "lost.tsv")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout == "nothing to do: of what is to be removed, 2 rows are not there\n"


def test_lines_that_cannot_be_read_are_skipped_only_if_asked(
    everalign: Run, state: str, tmp_path: Path
) -> None:
    (tmp_path / "more.nt").write_text("<urn:a> <urn:r> <urn:b> .\nnonsense\n")
    refused = everalign("update", state, "--left", "more.nt")
    assert refused.returncode == 2
    assert "more.nt, line 2" in refused.stderr
    said = everalign("update", state, "--left", "more.nt", "--skip-errors", "--json")
    assert said.returncode == 0
    assert json.loads(said.stdout)["reports"]
    assert "more.nt: 1 place was skipped" in said.stderr
    assert "skipped: more.nt, line 2: " in said.stderr


def test_a_filter_says_what_it_left_out(everalign: Run, state: str, tmp_path: Path) -> None:
    (tmp_path / "more.nt").write_text("<urn:a> <urn:r> <urn:b> .\n<urn:a> <urn:s> <urn:c> .\n")
    said = everalign("update", state, "--left", "more.nt", "--graph-filter", "predicate=urn:r")
    assert "more.nt: 1 statement was left out by the filter" in said.stderr
    status = json.loads(everalign("status", state, "--json").stdout)
    assert status["left_triples"] == len(LEFT) + 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("confirm", "s"), "give LEFT and RIGHT, or --pairs FILE"),
        (("confirm", "s", "Oslo", "Атлантида"), "'Атлантида' is no entity of the right graph"),
        (("withdraw", "s", "Oslo", "Осло"), "was neither given nor confirmed nor rejected"),
        (("revert", "s", 9), "s has no version 9"),
        (("update", "s", "--left", "no/*.nt"), "no file matches this pattern"),
        (("update", "s", "--graph-filter", "colour=red"), "is no rule to choose by"),
    ],
)
def test_a_mistake_is_one_line(
    everalign: Run, state: str, arguments: tuple[str, ...], problem: str
) -> None:
    said = everalign(*arguments)
    assert said.returncode == 2
    assert problem in said.stderr
    assert said.stderr.count("\n") == 1
