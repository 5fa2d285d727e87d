"""The search for similar texts translates where that finds more, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from tests.literals.graphs import NONE, best, texts

from everalign.graph import IntArray
from everalign.literals import match_literals

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
COUNT, KNOWN = 300, 200
SEEDS: IntArray = np.stack([np.arange(KNOWN)] * 2, axis=1).astype(np.int32)
# Another language: each letter is another one, so that no word looks like its translation.
CIPHER = str.maketrans("abdefgiklmnoprstu", "ywqxzhvjcywqxzhvj")


def draw_names() -> list[str]:
    """Names of three words, each of which several names have."""
    rng = np.random.default_rng(7)
    words = ["".join(rng.choice(SYLLABLES, 3)) for _ in range(60)]
    names = {" ".join(rng.choice(words, 3, replace=False)) for _ in range(2 * COUNT)}
    return sorted(names)[:COUNT]


def misspell(name: str, number: int) -> str:
    """Another letter at another place in each name: no rule that a translation could learn."""
    place = number * 7 % len(name)
    return name[:place] + "vwxyz"[number % 5] + name[place + 1 :]


def find_own(names: list[str], other_names: list[str], seeds: IntArray) -> int:
    """The number of names without a known pair whose likeliest partner is the right one."""
    found = best(texts(*names), texts(*other_names), seeds)
    return sum(found.get(number) == number for number in range(KNOWN, COUNT))


def test_names_of_another_language_are_translated() -> None:
    names = draw_names()
    other_names = [name.translate(CIPHER) for name in names]
    assert find_own(names, other_names, NONE) < 5
    assert find_own(names, other_names, SEEDS) > 0.9 * (COUNT - KNOWN)


def test_within_a_language_known_pairs_change_nothing() -> None:
    names = draw_names()
    other_names = [misspell(name, number) for number, name in enumerate(names)]
    assert find_own(names, other_names, NONE) > 0.95 * (COUNT - KNOWN)
    left, right = texts(*names), texts(*other_names)
    with_seeds = match_literals(left, right, seeds=SEEDS).to_rows()
    assert with_seeds == match_literals(left, right).to_rows()


@pytest.mark.parametrize("wrong", [False, True])
def test_known_pairs_that_teach_nothing_are_not_used(wrong: bool) -> None:
    """Either too few, or pairs of names that have nothing in common."""
    names = draw_names()
    other_names = [name.translate(CIPHER) for name in names]
    seeds = SEEDS[:5]
    if wrong:
        order = np.random.default_rng(0).permutation(KNOWN)
        seeds = np.stack([np.arange(KNOWN), order], axis=1).astype(np.int32)
    left, right = texts(*names), texts(*other_names)
    with_seeds = match_literals(left, right, seeds=seeds).to_rows()
    assert with_seeds == match_literals(left, right).to_rows()
