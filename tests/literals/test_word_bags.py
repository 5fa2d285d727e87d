"""Bags of words: which words a text has, and how much two entities share of theirs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.literals.graphs import quoted

from everalign._progress import no_progress
from everalign.graph import AttributeTriples
from everalign.literals import (
    NO_KNOWN_PAIRS,
    CachedMatches,
    LiteralSettings,
    MatchedLiterals,
    compare_word_bags,
)
from everalign.literals.word_bags import MAX_LENGTH, split_words

# Texts of each entity of a graph.
Texts = Sequence[Sequence[str]]
COSINE, CODES, RAREST = range(3)
WORDS = ["red", "Red", "blue", "BLUE", "X-100", "x100", "x 100", "7", "été", "東京"]
TEXTS = st.lists(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), max_size=3),
    min_size=1,
    max_size=6,
)


def build_graph(texts: Texts) -> AttributeTriples:
    literals = sorted({quoted(text) for entity in texts for text in entity})
    rows = [
        (entity, attribute, literals.index(quoted(text)))
        for entity, all_texts in enumerate(texts)
        for attribute, text in enumerate(all_texts)
    ]
    return AttributeTriples(
        np.array(rows, dtype=np.int32).reshape(-1, 3), ["a", "b", "c"], literals
    )


def compare_all(left: Texts, right: Texts) -> NDArray[np.float32] | None:
    """Compare each left entity with each right one: an array by left, right and column."""
    found = MatchedLiterals.find(
        (build_graph(left), build_graph(right)),
        (len(left), len(right)),
        LiteralSettings(),
        no_progress,
        NO_KNOWN_PAIRS,
        CachedMatches.empty(),
    )
    if found is None:
        return None
    left_rows = np.repeat(np.arange(len(left)), len(right))
    right_rows = np.tile(np.arange(len(right)), len(left))
    compared = compare_word_bags(*found.word_bags, left_rows, right_rows)
    return compared.reshape(len(left), len(right), -1)


def compute_plainly(left: Texts, right: Texts) -> list[list[tuple[float, float, float]]]:
    """The same by the formulas."""
    sides = [
        [{word for text in entity for word in split_words(text)} for entity in side]
        for side in (left, right)
    ]
    bags = [bag for side in sides for bag in side if bag]

    def weigh(word: str) -> float:
        return math.log((1 + len(bags)) / sum(word in bag for bag in bags))

    def compare(one: set[str], two: set[str]) -> tuple[float, float, float]:
        if not one or not two:
            return math.nan, math.nan, math.nan
        length = math.prod(math.sqrt(sum(weigh(word) ** 2 for word in bag)) for bag in (one, two))
        codes = min(sum(weigh(word) for word in bag if not word.isalpha()) for bag in (one, two))
        shared = [word for word in one & two if not word.isalpha()]
        return (
            sum(weigh(word) ** 2 for word in one & two) / length,
            sum(map(weigh, shared)) / codes if codes else math.nan,
            max(map(weigh, one & two), default=0),
        )

    return [[compare(one, two) for two in sides[1]] for one in sides[0]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Sony PS-LX350H, black", {"sony", "ps", "lx350h", "pslx350h", "black"}),
        ("pslx350h", {"pslx350h"}),
        ("snake_case ÉTÉ", {"snake", "case", "été"}),
        ("1996-1998", {"1996", "1998"}),  # a range is no model number
        ("3.5mm", {"3", "5mm", "35mm"}),
        ("- / -", set()),
        ("", set()),
    ],
)
def test_the_words_of_a_text(text: str, words: set[str]) -> None:
    assert split_words(text) == words


def test_only_the_beginning_of_a_long_text_is_split() -> None:
    assert split_words("a " * (MAX_LENGTH // 2) + "b") == {"a"}


def test_the_cosine_by_hand() -> None:
    """Three bags. "lake" is in two of them, every other word in one."""
    compared = compare_all([["blue lake", "Lake"], ["hill"]], [["red lake"]])
    assert compared is not None
    common, rare = math.log(4 / 2), math.log(4 / 1)
    expected = common**2 / (common**2 + rare**2)
    assert compared[0, 0, COSINE] == pytest.approx(expected, rel=1e-6)
    assert compared[0, 0, RAREST] == pytest.approx(common)
    assert np.isnan(compared[0, 0, CODES])
    assert compared[1, 0, [COSINE, RAREST]].tolist() == [0, 0]


def test_model_numbers_are_the_same_with_and_without_hyphens() -> None:
    left = [["Sony PS-LX350H turntable"], ["Sony PS-LX250H turntable"]]
    compared = compare_all(left, [["pslx350h record player"]])
    assert compared is not None
    # The right one has a single word with digits, which the first has and the second has not.
    assert compared[:, 0, CODES].tolist() == [1, 0]
    assert compared[0, 0, COSINE] > compared[1, 0, COSINE] == 0


def test_an_entity_without_words_is_compared_with_nothing() -> None:
    compared = compare_all([[], ["–"], ["lake"]], [["lake"]])
    assert compared is not None
    assert np.isnan(compared[:2]).all()
    assert compared[2, 0, COSINE] == 1


@given(TEXTS, TEXTS)
def test_words_are_compared_as_the_formulas_say(left: Texts, right: Texts) -> None:
    compared = compare_all(left, right)
    if compared is not None:
        np.testing.assert_allclose(compared, compute_plainly(left, right), rtol=1e-5, atol=1e-6)


@given(TEXTS, TEXTS)
def test_the_comparison_is_symmetric_and_in_range(left: Texts, right: Texts) -> None:
    compared, swapped = compare_all(left, right), compare_all(right, left)
    if compared is None or swapped is None:
        return
    np.testing.assert_array_equal(compared, swapped.transpose(1, 0, 2))
    known = compared[~np.isnan(compared[..., COSINE])]
    assert ((known[:, COSINE] >= 0) & (known[:, COSINE] <= 1)).all()
    codes = known[:, CODES][~np.isnan(known[:, CODES])]
    assert ((codes >= 0) & (codes <= 1)).all()
    # What shares a word is similar, and nothing else.
    assert ((known[:, COSINE] > 0) == (known[:, RAREST] > 0)).all()
