"""How likely two similar texts say the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everalign.literals.matches import Floats32
from everalign.literals.similar import Search
from everalign.literals.texts import Texts
from everalign.parallel import threads

Floats = NDArray[np.float32]
SURELY = 0.95  # what is not equal is never certain
# How much each sign counts, and what all of them must outweigh: by logistic regression on the
# train and valid links of the three ContEA datasets. See docs/decisions/0014-literals.md.
SAME_SCRIPT = (0.0, 0.0, 0.0, 1.2, 4.9, 0.2, 11.0, -14.7)
ACROSS = (0.0, 0.0, 5.1, 2.0, 3.4, 0.8, 7.3, -14.1)
SAME_SCRIPT_TAUGHT = (0.0, 0.0, 0.0, 0.5, 5.0, 0.4, 12.3, -15.6)
ACROSS_TAUGHT = (0.0, 1.5, 2.6, 0.5, 4.0, 0.7, 10.0, -14.6)


def likeness(left: Texts, right: Texts, found: Search, *, taught: bool) -> Floats32:
    """How likely the two texts of each pair say the same.

    `taught` says that translations were learned from names known to be the same.
    """
    signs, across = signs_of(left, right, found)
    same, other = (SAME_SCRIPT_TAUGHT, ACROSS_TAUGHT) if taught else (SAME_SCRIPT, ACROSS)
    weights = np.where(across[:, None], np.array(other), np.array(same))
    total = (signs * weights[:, :-1]).sum(axis=1) + weights[:, -1]
    chance: Floats32 = (SURELY / (1 + np.exp(-total))).astype(np.float32)
    return chance


def signs_of(left: Texts, right: Texts, found: Search) -> tuple[Floats, NDArray[np.bool_]]:
    """What speaks for each pair (a column per sign), and which pairs are across scripts.

    The signs: nearness as they stand; translated; letters in order; words in any order; the same
    without qualifiers; sounds; and how near the pair is to the best one of its two texts.
    """
    from rapidfuzz.fuzz import ratio, token_sort_ratio

    one, two = found.left.tolist(), found.right.tolist()
    across = left.foreign[found.left] != right.foreign[found.right]
    near = found.direct + found.translated
    columns = [
        found.direct,
        found.translated,
        _each(ratio, left.latin, right.latin, one, two),
        _each(token_sort_ratio, left.latin, right.latin, one, two),
        _each(ratio, left.core, right.core, one, two),
        _each(token_sort_ratio, left.sounds, right.sounds, one, two),
        np.minimum(_of_best(found.left, near), _of_best(found.right, near)),
    ]
    return np.stack(columns, axis=1), across


def _each(
    scorer: Any, left: Sequence[str], right: Sequence[str], one: list[int], two: list[int]
) -> Floats:
    from rapidfuzz.process import cpdist

    mine, theirs = [left[at] for at in one], [right[at] for at in two]
    scores: Floats = cpdist(mine, theirs, scorer=scorer, dtype=np.float32, workers=threads())
    return scores / np.float32(100)


def _of_best(row: NDArray[np.int32], near: Floats32) -> Floats32:
    best = np.full(int(row.max(initial=-1)) + 1, 1e-6, dtype=np.float32)
    np.maximum.at(best, row, near)
    return near / best[row]
