"""What seeds teach about names: which left text is known to say the same as which right one."""

from __future__ import annotations

import numpy as np

from everalign.graph import IntArray, Values
from everalign.literals.texts import Texts

FEW = 3  # texts of an entity, up to which each may be its name


def known_texts(
    values: tuple[Values, Values],
    used: tuple[IntArray, IntArray],
    texts: tuple[Texts, Texts],
    seeds: IntArray,
) -> IntArray:
    """Rows of (left text, right text) that the two members of a seed are called by.

    `used` are the ids of the literals that the texts were made from, in order. Members with more
    than a few texts teach nothing, since which of these belong together is not known.
    """
    left, right = (
        _texts_of_entities(values[side], used[side], texts[side], seeds[:, side])
        for side in range(2)
    )
    pairs = [
        (one, two)
        for mine, theirs in zip(left, right, strict=True)
        if len(mine) <= FEW and len(theirs) <= FEW
        for one, two in zip(mine, theirs, strict=False)
    ]
    rows = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    _, first = np.unique(rows[:, 0], return_index=True)
    return rows[np.sort(first)]


def _texts_of_entities(
    values: Values, used: IntArray, texts: Texts, entities: IntArray
) -> list[list[int]]:
    """The texts of each entity, in the order of their attributes."""
    text = texts.text[np.searchsorted(used, values.rows[:, 2])]
    wanted = np.isin(values.rows[:, 0], entities) & (text >= 0)
    found: dict[int, list[int]] = {}
    order = np.lexsort((values.rows[wanted, 1], values.rows[wanted, 0]))
    owners, members = values.rows[wanted, 0][order], text[wanted][order]
    for entity, member in zip(owners.tolist(), members.tolist(), strict=True):
        found.setdefault(entity, []).append(member)
    return [found.get(entity, []) for entity in entities.tolist()]
