"""Decisions and every kind of change on the command line."""

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


def read_links(everalign: Run, state: str) -> dict[str, tuple[str, str]]:
    links = json.loads(everalign("links", state, "--json").stdout)
    return {link["left"]: (link["right"], link["origin"]) for link in links}


@pytest.mark.slow
def test_decisions_take_effect_at_once(everalign: Run, state: str, tmp_path: Path) -> None:
    for _ in range(2):
        result = everalign("confirm", state, "Bergen", "Осло", "--author", "ada", "--key", "k")
        assert result.stdout == (
            "Decision 1: confirmed: Bergen – Осло.\nWaiting for the next update.\n"
        )
    assert read_links(everalign, state)["Bergen"] == ("Осло", "given")
    assert "waiting: 1 decision (" in everalign("status", state).stdout
    assert "waiting for the next update (ada, " in everalign("history", state, "Bergen").stdout
    applied = everalign("unsure", state, "Sea", "Осло", "--comment", "ask", "--apply")
    assert "\nVersion 1: " in applied.stdout
    assert read_links(everalign, state)["Bergen"] == ("Осло", "given")
    (tmp_path / "wrong.tsv").write_text("Bergen\tОсло\n", encoding="utf-8")
    everalign("reject", state, "--pairs", "wrong.tsv")
    everalign("update", state, "--full")
    assert read_links(everalign, state).get("Bergen", ("", ""))[0] != "Осло"
    withdrawn = everalign("withdraw", state, "Bergen", "Осло", "--json", "--apply")
    assert len(json.loads(withdrawn.stdout)["reports"]) == 1
    assert everalign("revert", state, 1).stdout.startswith("Version ")
    again = everalign("revert", state, 1)
    assert (again.returncode, again.stdout) == (0, "Nothing to do: equal to version 1.\n")
    assert read_links(everalign, state)["Bergen"] == ("Осло", "given")


@pytest.mark.slow
def test_an_update_without_files_takes_decisions_into_account(everalign: Run, state: str) -> None:
    everalign("confirm", state, "Sea", "Море")
    assert everalign("update", state).stdout.startswith("Version 1: ")
    again = everalign("update", state)
    assert again.returncode == 0
    assert again.stdout == "Nothing to do: no changes given.\n"


@pytest.mark.slow
def test_the_last_decision_given_to_update_counts(
    everalign: Run, state: str, tmp_path: Path
) -> None:
    (tmp_path / "pair.tsv").write_text("Bergen\tОсло\n", encoding="utf-8")
    for decision, linked in [("--reject", False), ("--confirm", True), ("--reject", False)]:
        updated = everalign("update", state, decision, "pair.tsv")
        assert updated.stdout.startswith("Version "), updated.stderr
        assert (read_links(everalign, state).get("Bergen") == ("Осло", "given")) is linked
        again = everalign("update", state, decision, "pair.tsv")
        assert again.returncode == 0
        assert again.stdout == "Nothing to do: everything given is known already.\n"


@pytest.mark.slow
def test_triples_can_be_added_and_removed_repeatedly(
    everalign: Run, state: str, tmp_path: Path
) -> None:
    (tmp_path / "fact.tsv").write_text("Bergen\tby\tSea\n")
    for number, option in enumerate(["--left", "--remove-left"] * 2, 1):
        updated = everalign("update", state, option, "fact.tsv")
        assert updated.stdout.startswith(f"Version {number}: ")
        (row,) = json.loads(everalign("status", state, "--json").stdout)["reports"][number:]
        assert row["left_added_triples"] == (option == "--left")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "content", "effect"),
    [
        ("--left", "Oslo\tnear\tBergen\n", ("left_added_triples", 1)),
        ("--right", "Осло\tу\tБерген\n", ("right_added_triples", 1)),
        ("--remove-left", "Oslo\tby\tSea\n", ("left_removed_triples", 1)),
        ("--remove-right", "Осло\tу\tМоре\n", ("right_removed_triples", 1)),
        ("--remove-left-entities", "Oslo\n", ("left_removed_triples", 2)),
        ("--remove-right-entities", "Осло\n", ("right_removed_triples", 2)),
        ("--seeds", "Sea\tМоре\n", ("links_confirmed", 1)),
        ("--validation", "Sea\tМоре\n", ("links_confirmed", 1)),
        ("--confirm", "Sea\tМоре\n", ("links_confirmed", 1)),
        ("--reject", "Sea\tОсло\n", ("links_rejected", 1)),
        ("--withdraw", "Norway\tНорвегия\n", ("links_withdrawn", 1)),
    ],
)
def test_every_option_of_update_has_its_effect(
    everalign: Run, state: str, tmp_path: Path, option: str, content: str, effect: tuple[str, int]
) -> None:
    (tmp_path / "change.tsv").write_text(content, encoding="utf-8")
    result = everalign("update", state, option, "change.tsv", "--json")
    assert result.returncode == 0, result.stderr
    (report,) = json.loads(result.stdout)["reports"]
    field, count = effect
    assert report[field] == count


@pytest.mark.slow
def test_a_patch_and_other_files_make_one_version(
    everalign: Run, state: str, tmp_path: Path
) -> None:
    (tmp_path / "week.rdfp").write_text("TX .\nA <urn:x> <urn:r> <urn:y> .\nTC .\n")
    (tmp_path / "removed.tsv").write_text("Осло\tу\tМоре\nОсло\tу\tНебо\n", encoding="utf-8")
    (tmp_path / "entities.txt").write_text("Bergen\n")
    files = (
        "--left",
        "week.rdfp",
        "--remove-right",
        "removed.tsv",
        "--remove-left-entities",
        "entities.txt",
    )
    result = everalign("update", state, *files)
    assert result.returncode == 0, result.stderr
    assert "1 removal without effect: no such statement." in result.stdout
    status = json.loads(everalign("status", state, "--json").stdout)
    assert (status["left_triples"], status["right_triples"]) == (3, 2)
    assert (status["left_entities"], status["right_entities"]) == (5, 3)


@pytest.mark.slow
def test_removals_of_unknown_triples_make_no_version(
    everalign: Run, state: str, tmp_path: Path
) -> None:
    (tmp_path / "removed.tsv").write_text("Oslo\tin\tSea\nOslo\tin\tAtlantis\n")
    result = everalign("update", state, "--remove-left", "removed.tsv")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "Nothing to do: 2 rows to remove are not there.\n"


@pytest.mark.slow
def test_lines_that_cannot_be_read_are_skipped_only_if_asked(
    everalign: Run, state: str, tmp_path: Path
) -> None:
    (tmp_path / "more.nt").write_text("<urn:a> <urn:r> <urn:b> .\nnonsense\n")
    refused = everalign("update", state, "--left", "more.nt")
    assert refused.returncode == 2
    assert "more.nt:2" in refused.stderr
    result = everalign("update", state, "--left", "more.nt", "--skip-errors", "--json")
    assert result.returncode == 0
    assert json.loads(result.stdout)["reports"]
    assert "more.nt: 1 error skipped\n" in result.stderr
    assert "more.nt:2: skipped: " in result.stderr


@pytest.mark.slow
def test_a_filter_says_what_it_left_out(everalign: Run, state: str, tmp_path: Path) -> None:
    (tmp_path / "more.nt").write_text("<urn:a> <urn:r> <urn:b> .\n<urn:a> <urn:s> <urn:c> .\n")
    result = everalign("update", state, "--left", "more.nt", "--graph-filter", "predicate=urn:r")
    assert "more.nt: 1 statement filtered out\n" in result.stderr
    status = json.loads(everalign("status", state, "--json").stdout)
    assert status["left_triples"] == len(LEFT) + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("confirm", "s"), "give LEFT and RIGHT, or --pairs FILE"),
        (("confirm", "s", "Oslo", "Атлантида"), "'Атлантида' is not in the right graph"),
        (("withdraw", "s", "Oslo", "Осло"), "was neither given nor confirmed nor rejected"),
        (("revert", "s", 9), "s has no version 9"),
        (("update", "s", "--left", "no/*.nt"), "no file matches this pattern"),
        (("update", "s", "--graph-filter", "colour=red"), "invalid filter rule"),
    ],
)
def test_an_error_is_one_line(
    everalign: Run, state: str, arguments: tuple[str, ...], problem: str
) -> None:
    result = everalign(*arguments)
    assert result.returncode == 2
    assert problem in result.stderr
    assert result.stderr.count("\n") == 1
