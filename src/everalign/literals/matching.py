"""The literals of two graphs → pairs that say the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from everalign.graph import IntArray, Values
from everalign.literals.equal import equal_keys
from everalign.literals.forms import Form, form_of
from everalign.literals.matches import ValueMatches, best_of
from everalign.literals.near import near_moments, near_numbers
from everalign.literals.settings import LiteralSettings
from everalign.progress import Progress, silent


def match_values(
    left: Values,
    right: Values,
    settings: LiteralSettings = LiteralSettings(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> ValueMatches:
    """The pairs of a left and a right literal that say the same, more or less.

    Literals without a row are left out.

    >>> rows = np.array([[0, 0, 0], [1, 0, 1]], dtype=np.int32)
    >>> left = Values(rows, ["nom"], ['"Ada Lovelace"@fr', '"1815"'])
    >>> right = Values(rows, ["name"], ['"1815-12-10"', '"ada_lovelace"'])
    >>> match_values(left, right).rows()
    [(0, 1, 1.0), (1, 0, 0.5)]
    """
    mine, theirs = _in_use(left), _in_use(right)
    one, two = _forms(left, mine, settings), _forms(right, theirs, settings)
    progress("literals", 0, 0)
    found = best_of(
        [
            equal_keys([form.key for form in one], [form.key for form in two], 1.0),
            near_numbers(one, two, settings),
            near_moments(one, two, settings),
        ],
        settings.least,
    )
    return ValueMatches(mine[found.left], theirs[found.right], found.probability)


def _in_use(values: Values) -> IntArray:
    return np.unique(values.rows[:, 2])


def _forms(values: Values, ids: IntArray, settings: LiteralSettings) -> Sequence[Form]:
    return [form_of(values.literals[at], settings.longest) for at in ids.tolist()]
