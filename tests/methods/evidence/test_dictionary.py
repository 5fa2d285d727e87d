"""Dictionaries from matched names: by hand, and that no pair is weighed by its own entry."""

from __future__ import annotations

import numpy as np
import pytest
from tests.methods.evidence.naming import values

from everalign.graph import IntArray
from everalign.literals import Literals
from everalign.methods.evidence.dictionary import BACK, FORTH, explained, learn_dictionaries
from everalign.methods.evidence.texts import names_of, similarity
from everalign.methods.evidence.units import Units, units_of

LEFT = {0: "mana rosso", 1: "mana blu", 2: "lago rosso", 3: "lago blu", 4: "lago", 5: "solo"}
RIGHT = {0: "red hand", 1: "blue hand", 2: "red lake", 3: "blue lake", 4: "lake", 5: "only"}


def units(names: dict[int, str]) -> Units:
    return units_of(names_of(Literals(values(names)), len(names)))


def pairs(*rows: tuple[int, int]) -> IntArray:
    return np.array(rows, dtype=np.int32).reshape(-1, 2)


def shares(known: IntArray, matches: IntArray, asked: tuple[int, int]) -> tuple[float, float]:
    left, right = units(LEFT), units(RIGHT)
    sure = np.ones(len(matches), dtype=np.float32)
    made = learn_dictionaries(left, right, known, (matches[:, 0], matches[:, 1], sure))
    (row,) = explained(made, left, right, *np.array([asked], dtype=np.int32).T)
    return float(row[FORTH]), float(row[BACK])


def test_words_that_were_seen_together_explain_a_new_pair() -> None:
    known = pairs((0, 0), (1, 1), (2, 2))
    right, wrong = (shares(known, pairs(), (3, other)) for other in (3, 0))
    assert min(right) > 2 * max(wrong)


def test_a_word_seen_once_alone_by_hand() -> None:
    """5 and 5: one word each, seen once. Shared out wholly, with half a sight of doubt."""
    assert shares(pairs((5, 5)), pairs(), (5, 5)) == pytest.approx((1 / 1.5, 1 / 1.5))


@pytest.mark.parametrize("entity", [4, 5])
def test_no_pair_is_weighed_by_its_own_entry(entity: int) -> None:
    mine = (entity, entity)
    assert shares(pairs(), pairs(mine), mine) == (0, 0)


def test_an_entity_without_a_name_is_not_compared() -> None:
    left, right = (names_of(Literals(values({0: "Ada"})), 2) for _ in range(2))
    one, two = np.array([0, 0, 1], dtype=np.int32), np.array([0, 1, 1], dtype=np.int32)
    assert similarity(left, right, one, two).tolist() == pytest.approx(
        [1, np.nan, np.nan], nan_ok=True
    )
    parts = units_of(left), units_of(right)
    made = learn_dictionaries(*parts, pairs((0, 0)), (one[:0], two[:0], np.empty(0, np.float32)))
    assert np.isnan(explained(made, *parts, one, two)).tolist() == [
        [False] * 2,
        [True] * 2,
        [True] * 2,
    ]
