"""The names of entities as texts, and how similar those of a pair are.

Which literals say the same is asked without looking at the graphs, so only the nearest are
found. Once the graphs propose a pair, its two names can be compared directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.literals import Literals
from everalign.methods.evidence.side import Floats, Starts
from everalign.parallel import threads

MOST = 3  # names of an entity that are compared
LONGEST = 100  # characters of a name; what is longer tells of an entity, but is no name


class Names(NamedTuple):
    """The names of entity x are those texts whose numbers are in `which`, from `start[x]` to
    `start[x + 1]`: `folded` as they are written, `latin` in Latin letters."""

    start: Starts
    which: IntArray
    folded: list[str]
    latin: NDArray[np.object_]

    @property
    def first(self) -> IntArray:
        """The number of the first name of every entity, -1 where it has none."""
        has = np.diff(self.start) > 0
        return np.where(has, np.append(self.which, -1)[self.start[:-1]], -1).astype(np.int32)


def names_of(literals: Literals, entities: int) -> Names:
    """The names of all entities: of each, what its most telling attribute of texts says.

    An attribute is the more telling the more entities have it, and the fewer share a value.
    """
    texts, rows, text = literals.texts, literals.values.rows, literals.of_rows(literals.texts.text)
    fits = np.array([0 < len(each) <= LONGEST for each in texts.raw] + [False], dtype=np.bool_)
    rows, text = rows[fits[text]], text[fits[text]]
    rank = _ranks(rows, len(literals.values.attributes))
    order = np.lexsort((rows[:, 2], rank[rows[:, 1]], rows[:, 0]))
    rows, text = rows[order], text[order]
    first = np.searchsorted(rows[:, 0], rows[:, 0])
    best = rows[:, 1] == rows[first, 1]
    near = np.arange(len(rows)) - first < MOST
    keep = best & near
    start = np.searchsorted(rows[keep, 0], np.arange(entities + 1))
    return Names(start, text[keep], texts.raw, np.array(texts.latin, dtype=np.object_))


def _ranks(rows: IntArray, attributes: int) -> NDArray[np.int64]:
    """The place of each attribute among the telling ones, the most telling first."""
    telling = np.zeros(attributes)
    for attribute in range(attributes):
        mine = rows[rows[:, 1] == attribute]
        if len(mine):
            having, values = len(np.unique(mine[:, 0])), len(np.unique(mine[:, 2]))
            telling[attribute] = having * values / len(mine)
    ranks = np.empty(attributes, dtype=np.int64)
    ranks[np.argsort(-telling, kind="stable")] = np.arange(attributes)
    return ranks


def similarity(left: Names, right: Names, one: IntArray, two: IntArray) -> Floats:
    """How similar the names of each pair are, from 0 to 1; NaN where one has none."""
    pair, a, b = _name_pairs(left, right, one, two)
    found = _similar(left.latin[a].tolist(), right.latin[b].tolist())
    out = np.full(len(one), -1, dtype=np.float32)
    np.maximum.at(out, pair, found)
    out[out < 0] = np.nan
    return out


def _name_pairs(
    left: Names, right: Names, one: IntArray, two: IntArray
) -> tuple[NDArray[np.int64], IntArray, IntArray]:
    """Every name of the left with every name of the right, for all pairs."""
    many, many2 = np.diff(left.start)[one], np.diff(right.start)[two]
    pair = np.repeat(np.arange(len(one)), many * many2)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(many * many2) - many * many2, many * many2)
    a, b = np.divmod(within, np.maximum(many2[pair], 1))
    return pair, left.which[left.start[one[pair]] + a], right.which[right.start[two[pair]] + b]


def _similar(left: Sequence[str], right: Sequence[str]) -> Floats:
    from rapidfuzz import fuzz, process

    if not left:
        return np.empty(0, dtype=np.float32)
    plain, sorted_ = (
        process.cpdist(left, right, scorer=scorer, dtype=np.float32, workers=threads())
        for scorer in (fuzz.ratio, fuzz.token_sort_ratio)
    )
    best: Floats = np.maximum(plain, sorted_) / np.float32(100)
    return best
