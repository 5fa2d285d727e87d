"""What people try first: a dozen entities of their own, a few trusted links, and a week later."""

from __future__ import annotations

from pathlib import Path

import pytest

from everalign import Aligner
from everalign.io import Triple

TOWNS = {
    "Paris": "France", "Lyon": "France", "Berlin": "Allemagne", "Munich": "Allemagne",
    "Madrid": "Espagne", "Séville": "Espagne", "Rome": "Italie", "Florence": "Italie",
}  # fmt: skip
SECOND_WEEK = {"Nice": "France", "Vérone": "Italie"}
IN_ENGLISH = {
    "Allemagne": "Germany", "Espagne": "Spain", "Italie": "Italy",
    "Séville": "Seville", "Vérone": "Verona",
}  # fmt: skip


def pair(name: str) -> tuple[str, str]:
    """What something is called here and there; a number there says nothing."""
    return f"http://fr.example/{name}", f"http://en.example/Q{sum(map(ord, name))}"


def facts(towns: dict[str, str]) -> tuple[list[Triple], list[Triple]]:
    """In which countries the towns are, and the labels of both, in either graph."""
    names = dict.fromkeys([*towns, *towns.values()])
    left = [(pair(town)[0], "pays", pair(land)[0]) for town, land in towns.items()]
    right = [(pair(town)[1], "country", pair(land)[1]) for town, land in towns.items()]
    left += [(pair(name)[0], "label", f'"{name}"@fr') for name in names]
    right += [(pair(name)[1], "label", f'"{IN_ENGLISH.get(name, name)}"@en') for name in names]
    return left, right


@pytest.mark.parametrize("seeds", [["Allemagne", "Espagne", "Italie"], [*TOWNS, *TOWNS.values()]])
def test_a_handful_of_named_towns(tmp_path: Path, seeds: list[str]) -> None:
    given = [pair(name) for name in dict.fromkeys(seeds)]
    aligner = Aligner.create(tmp_path / "state", *facts(TOWNS), given)
    first = {(link.left, link.right) for link in aligner.links()}
    assert first == {pair(name) for name in [*TOWNS, *TOWNS.values()]}
    aligner.update(*facts(SECOND_WEEK))
    second = {(link.left, link.right) for link in aligner.links()}
    assert second == first | {pair(name) for name in SECOND_WEEK}
