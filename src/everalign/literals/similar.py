"""Texts that resemble each other: found by the rare pieces that they share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from everalign.graph import IntArray
from everalign.literals.grams import (
    WORDS,
    Found,
    Sparse,
    beside,
    joined,
    numbered,
    pieces,
)
from everalign.literals.lexicon import translated
from everalign.literals.matches import Floats32
from everalign.literals.nearest import lengthened, nearest_rows, products, rarity, weighed
from everalign.literals.texts import Texts

ENOUGH = 30  # known pairs, from which on something can be learned from them
FOREIGN = 0.01  # share of foreign texts, from which on sounds are compared


NO_KNOWN: IntArray = np.empty((0, 2), dtype=np.int32)


class Search(NamedTuple):
    """Pairs of texts worth comparing: how near they are, as they stand and translated."""

    left: IntArray
    right: IntArray
    direct: Floats32
    translated: Floats32


def search(left: Texts, right: Texts, kept: int, known: IntArray) -> Search:
    """The pairs of texts of which one is among the `kept` nearest of the other.

    `known` are rows of (left text, right text) known to say the same, each left text once; the
    left texts are translated by what these teach.
    """
    sounds = has_foreign(left) != has_foreign(right)
    mine, theirs, weight = _compared(
        _families(left, sounds), _families(right, sounds), (len(left), len(right))
    )
    if len(known) < ENOUGH:
        near = nearest_rows(mine, theirs, len(weight), kept)
        return Search(*near, np.zeros(len(near.left), dtype=np.float32))
    units, _, _ = numbered(_units(left), Found.none(), (len(left), 0))
    spoken = lengthened(translated(units, theirs, known, weight))
    near = nearest_rows(beside(mine, spoken), theirs, len(weight), kept)
    direct, other = (products(rows, theirs, near, len(weight)) for rows in (mine, spoken))
    return Search(near.left, near.right, direct, other)


def _compared(
    left: list[Found], right: list[Found], rows: tuple[int, int]
) -> tuple[Sparse, Sparse, Floats32]:
    """The features of both sides, each family of length 1 in a row, and their weights."""
    weights: list[Floats32] = []
    mine: list[Sparse] = []
    theirs: list[Sparse] = []
    for one, two in zip(left, right, strict=True):
        a, b, columns = numbered(one, two, rows)
        first, weight = sum(map(len, weights)), rarity(a, b, columns)
        mine.append(weighed(a, weight).shifted(first))
        theirs.append(weighed(b, weight).shifted(first))
        weights.append(weight)
    return beside(*mine), beside(*theirs), np.concatenate(weights)


def texts_as_rows(left: Texts, right: Texts) -> tuple[Sparse, Sparse, int]:
    """The texts of both sides as rows over the same columns, and how many columns there are."""
    sizes = len(left), len(right)
    one, two, weight = _compared(_families(left, False), _families(right, False), sizes)
    return one, two, len(weight)


def has_foreign(texts: Texts) -> bool:
    """Whether texts in other scripts than the Latin one are no exception."""
    return bool(len(texts) and texts.foreign.mean() > FOREIGN)


def _families(texts: Texts, sounds: bool) -> list[Found]:
    """Words, pieces of words and signs of other scripts; beside them sounds, if wanted."""
    looks = [pieces(texts.latin, WORDS, 0), pieces(texts.latin, 3, 3)]
    if texts.foreign.any():
        looks.append(pieces(_foreign(texts), 2, 12))
    return [joined(looks), pieces(texts.sounds, 3, 0)] if sounds else [joined(looks)]


def _units(texts: Texts) -> Found:
    """What is translated: words and pieces of them in Latin form, signs of other scripts."""
    parts = [pieces(texts.latin, WORDS, 0), pieces(texts.latin, 3, 3)]
    foreign = _foreign(texts)
    return joined([*parts, *(pieces(foreign, length, 10 + length) for length in (1, 2))])


def _foreign(texts: Texts) -> list[str]:
    return [raw if own else "" for raw, own in zip(texts.raw, texts.foreign.tolist(), strict=True)]
