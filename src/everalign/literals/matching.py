"""The literals of two graphs → pairs that say the same."""

from __future__ import annotations

import numpy as np

from everalign.graph import IntArray
from everalign.literals.equal import MOST, equal_keys
from everalign.literals.likeness import likeness
from everalign.literals.matches import ValueMatches, best_of, expanded
from everalign.literals.near import near_moments, near_numbers
from everalign.literals.reading import Literals
from everalign.literals.settings import LiteralSettings
from everalign.literals.similar import ENOUGH, search
from everalign.literals.teaching import known_texts
from everalign.literals.texts import Texts, translated_by
from everalign.literals.translations import read_translations
from everalign.literals.vectors import name_vectors, near_vectors
from everalign.progress import Progress, silent

DEFAULTS = LiteralSettings()
NO_SEEDS: IntArray = np.empty((0, 2), dtype=np.int32)
STEPS = 2
SAME_CORE = 0.6  # of two texts of which one has a qualifier
OTHER_QUALIFIER = np.float32(0.3)  # of two texts with different ones


def match_literals(
    left: Literals,
    right: Literals,
    settings: LiteralSettings = DEFAULTS,
    progress: Progress = silent,
    seeds: IntArray = NO_SEEDS,
) -> ValueMatches:
    """The pairs of a left and a right literal that say the same, more or less, by their ids.

    `seeds` are rows of (left, right) entities known to be the same: from their names is learned
    how names are translated.

    >>> from everalign.graph import Values
    >>> rows = np.array([[0, 0, 0], [1, 0, 1]], dtype=np.int32)
    >>> left = Values(rows, ["nom"], ['"Ada Lovelace"@fr', '"1815"'])
    >>> right = Values(rows, ["name"], ['"1815-12-10"', '"ada_lovelace"'])
    >>> match_literals(Literals(left), Literals(right)).rows()
    [(0, 1, 1.0), (1, 0, 0.5)]
    """
    progress("equal literals", 0, STEPS)
    parts = [
        equal_keys([form.key for form in left.forms], [form.key for form in right.forms], 1.0),
        near_numbers(left.forms, right.forms, settings),
        near_moments(left.forms, right.forms, settings),
    ]
    progress("similar names", 1, STEPS)
    texts = left.texts, right.texts
    if settings.translations:
        texts = translated_by(texts[0], read_translations(settings.translations)), texts[1]
    parts.append(_similar(*texts, settings, known_texts(left, right, seeds)))
    found = best_of(parts, settings.least)
    progress("similar names", STEPS, STEPS)
    return ValueMatches(left.used[found.left], right.used[found.right], found.probability)


def _similar(
    left: Texts, right: Texts, settings: LiteralSettings, known: IntArray
) -> ValueMatches:
    """Similar texts, as places of forms."""
    if not len(left) or not len(right):
        return ValueMatches.none()
    found = search(left, right, settings.similar, known)
    chance = likeness(left, right, found, taught=len(known) >= ENOUGH)
    likely = chance >= settings.least
    pairs = ValueMatches(found.left[likely], found.right[likely], chance[likely])
    parts = [pairs, _same_core(left, right)]
    if settings.left_vectors:
        one = name_vectors(left.raw, settings.left_vectors)
        two = name_vectors(right.raw, settings.right_vectors)
        parts.append(near_vectors(one, two, settings.similar, settings.least))
    return expanded(best_of(parts), left.text, right.text, MOST)


def _same_core(left: Texts, right: Texts) -> ValueMatches:
    """Texts that are equal but for what stands in parentheses at their end."""
    same = equal_keys(left.core, right.core, SAME_CORE)
    both = left.qualified()[same.left] & right.qualified()[same.right]
    return same._replace(probability=np.where(both, OTHER_QUALIFIER, same.probability))
