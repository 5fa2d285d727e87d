"""What seeds teach about names: which left text is known to say the same as which right one."""

from __future__ import annotations

import numpy as np

from everalign.graph import IntArray
from everalign.literals.reading import Literals

FEW = 3  # texts of an entity, up to which each may be its name


def known_texts(left: Literals, right: Literals, seeds: IntArray) -> IntArray:
    """Rows of (left text, right text) that the two members of a seed are called by.

    Members with more than a few texts teach nothing, since which of these belong together is not
    known.
    """
    lefts, rights = (
        _texts_of_entities(side, members)
        for side, members in zip((left, right), seeds.T, strict=True)
    )
    pairs = [
        (one, two)
        for mine, theirs in zip(lefts, rights, strict=True)
        if len(mine) <= FEW and len(theirs) <= FEW
        for one, two in zip(mine, theirs, strict=False)
    ]
    rows = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    _, first = np.unique(rows[:, 0], return_index=True)
    return rows[np.sort(first)]


def _texts_of_entities(literals: Literals, entities: IntArray) -> list[list[int]]:
    """The texts of each entity, in the order of their attributes."""
    rows, text = literals.values.rows, literals.of_rows(literals.texts.text)
    wanted = np.isin(rows[:, 0], entities) & (text >= 0)
    found: dict[int, list[int]] = {}
    order = np.lexsort((rows[wanted, 1], rows[wanted, 0]))
    owners, members = rows[wanted, 0][order], text[wanted][order]
    for entity, member in zip(owners.tolist(), members.tolist(), strict=True):
        found.setdefault(entity, []).append(member)
    return [found.get(entity, []) for entity in entities.tolist()]
