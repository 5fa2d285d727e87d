"""Answers become decisions, once each, and can be taken back."""

from __future__ import annotations

import pytest

from everalign import Aligner, ConfigError, SeedError


def list_links(aligner: Aligner) -> set[tuple[str, str]]:
    return {(link.left, link.right) for link in aligner.links()}


def test_kinds_of_answers(towns: Aligner) -> None:
    for entity, kind, shown, expected in (
        ("Bergen", "same", ["Берген"], [("confirmed", "Bergen", "Берген")]),
        ("Trondheim", "different", ["Тронхейм"], [("rejected", "Trondheim", "Тронхейм")]),
        (
            "Rome",
            "none of these",
            ["Рим", "Осло"],
            [("rejected", "Rome", "Рим"), ("rejected", "Rome", "Осло")],
        ),
        ("Oslo", "no counterpart", [], [("no counterpart", "Oslo", "")]),
        ("Fjord", "unsure", [], [("unsure", "Fjord", "")]),
        ("Fjord", "unsure", ["Море"], [("unsure", "Fjord", "Море")]),
    ):
        result = towns.answer(entity, "left", kind, shown, author="ada", comment="why", key=kind)
        if kind == "unsure" and shown:
            continue  # the same key again: what was recorded first
        found = [(row.kind, row.left, row.right) for row in result.decisions]
        assert found == expected
        assert {row.author for row in result.decisions} == {"ada"}
        assert {row.comment for row in result.decisions} == {"why"}
    links = list_links(towns)
    assert ("Bergen", "Берген") in links
    assert not {"Trondheim", "Rome", "Oslo"} & {left for left, _ in links}


def test_right_entities(towns: Aligner) -> None:
    result = towns.answer("Берген", "right", "same", ["Bergen"])
    assert (result.decisions[0].left, result.decisions[0].right) == ("Bergen", "Берген")
    result = towns.answer("Рим", "right", "no counterpart")
    assert (result.decisions[0].left, result.decisions[0].right) == ("", "Рим")


def test_a_repeated_answer_is_recorded_once(towns: Aligner) -> None:
    shown = ["Рим", "Осло", "Рим"]
    first, again = (towns.answer("Rome", "left", "none of these", shown, key="k") for _ in "ab")
    assert first.decisions == again.decisions
    assert [row.key for row in first.decisions] == ["k", "k/2"]
    assert len(towns.decisions()) == 2


def test_seen_version(towns: Aligner) -> None:
    towns.confirm([("Bergen", "Берген")], apply=True)
    seen = towns.answer("Rome", "left", "same", ["Рим"], seen_version=0).decisions[0]
    assert seen.seen_version == 0
    assert towns.answer("Rome", "left", "unsure").decisions[0].seen_version == 1
    for version in (-1, 2):
        with pytest.raises(ConfigError, match="no version"):
            towns.answer("Rome", "left", "unsure", seen_version=version)


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("maybe", []),
        ("same", []),
        ("same", ["Рим", "Осло"]),
        ("different", []),
        ("none of these", []),
        ("no counterpart", ["Рим"]),
    ],
)
def test_answers_that_make_no_sense_are_refused(
    towns: Aligner, kind: str, shown: list[str]
) -> None:
    with pytest.raises(ConfigError):
        towns.answer("Rome", "left", kind, shown)
    assert towns.decisions() == []


def test_unknown_names_are_refused(towns: Aligner) -> None:
    with pytest.raises(SeedError, match="Atlantis"):
        towns.answer("Atlantis", "left", "no counterpart")
    # All or nothing: the first candidate is known.
    with pytest.raises(SeedError, match="Atlantis"):
        towns.answer("Rome", "left", "none of these", ["Рим", "Atlantis"])
    assert towns.decisions() == []


def test_undo(towns: Aligner) -> None:
    links = list_links(towns)
    towns.answer("Rome", "left", "none of these", ["Рим", "Осло"], key="k")
    undone = towns.undo("k", author="ada")
    assert [(row.kind, row.author) for row in undone.decisions] == [("withdrawn", "ada")] * 2
    assert towns.undo("k", author="ada").decisions == undone.decisions
    assert len(towns.decisions()) == 4
    assert list_links(towns) == links
    with pytest.raises(SeedError, match="no decision has the key"):
        towns.undo("other")


def test_undo_restores_what_was_decided_before(towns: Aligner) -> None:
    towns.answer("Bergen", "left", "same", ["Берген"], author="ada")
    towns.answer("Bergen", "left", "different", ["Берген"], author="bo", key="b")
    assert ("Bergen", "Берген") not in list_links(towns)
    towns.undo("b", author="bo")
    assert ("Bergen", "Берген") in list_links(towns)
    # A seed came with a file and not through the inbox.
    towns.answer("Norway", "left", "different", ["Норвегия"], key="seed")
    assert ("Norway", "Норвегия") not in list_links(towns)
    towns.undo("seed")
    assert ("Norway", "Норвегия") in list_links(towns)


def test_undo_leaves_what_was_decided_since(towns: Aligner) -> None:
    towns.answer("Bergen", "left", "different", ["Берген"], author="ada", key="a")
    towns.answer("Bergen", "left", "same", ["Берген"], author="bo")
    assert towns.undo("a").decisions == ()
    assert ("Bergen", "Берген") in list_links(towns)


def test_decisions_are_listed(towns: Aligner) -> None:
    towns.answer("Bergen", "left", "same", ["Берген"], author="ada")
    towns.answer("Rome", "left", "no counterpart", author="bo")
    assert [row.author for row in towns.decisions()] == ["ada", "bo"]
    assert [row.left for row in towns.decisions(author="bo")] == ["Rome"]
    assert [row.left for row in towns.decisions("Берген")] == ["Bergen"]
    assert [row.number for row in towns.decisions(after=1)] == [2]
    assert [row.number for row in towns.decisions(limit=1)] == [1]
