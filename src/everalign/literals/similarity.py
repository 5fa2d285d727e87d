"""How similar two texts are: pairs from the n-gram index, scored by logistic regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everalign._parallel import thread_count
from everalign.graph import IntArray
from everalign.literals.entity_names import EntityNames
from everalign.literals.matches import FloatArray
from everalign.literals.parsing import TextTable
from everalign.literals.text_search import SimilarTexts

MAX_PROBABILITY = 0.95  # texts that are not equal are never certain to say the same

# The features of a pair of texts:
#   direct       inner product of the two in the n-gram index
#   translated   the same with the translation of the left text
#   letters      edit similarity of the Latin forms
#   words        the same with sorted words
#   unqualified  edit similarity without qualifiers
#   phonetic     edit similarity of sorted phonetic keys
#   relative     direct + translated, as a share of the best pair of either text
FEATURES = ("direct", "translated", "letters", "words", "unqualified", "phonetic", "relative")
# Fitted by logistic regression without negative weights on the train and validation links of
# the three ContEA datasets (docs/decisions/0014-literals.md). Features without a weight got 0.
SAME_SCRIPT_WEIGHTS = {
    "words": 1.2, "unqualified": 4.9, "phonetic": 0.2, "relative": 11.0, "intercept": -14.7,
}  # fmt: skip
OTHER_SCRIPT_WEIGHTS = {
    "letters": 5.1, "words": 2.0, "unqualified": 3.4, "phonetic": 0.8, "relative": 7.3,
    "intercept": -14.1,
}  # fmt: skip
# Those where the left texts were translated by what known pairs teach.
SAME_SCRIPT_WEIGHTS_TRANSLATED = {
    "words": 0.5, "unqualified": 5.0, "phonetic": 0.4, "relative": 12.3, "intercept": -15.6,
}  # fmt: skip
OTHER_SCRIPT_WEIGHTS_TRANSLATED = {
    "translated": 1.5, "letters": 2.6, "words": 0.5, "unqualified": 4.0, "phonetic": 0.7,
    "relative": 10.0, "intercept": -14.6,
}  # fmt: skip


def estimate_match_probabilities(
    left: TextTable, right: TextTable, pairs: SimilarTexts, *, translated: bool
) -> FloatArray:
    """Estimate the probability that the two texts of each pair say the same.

    Args:
        left: The left texts.
        right: The right texts.
        pairs: The pairs.
        translated: Whether the search translated the left texts.

    Returns:
        A probability per pair, below `MAX_PROBABILITY`.
    """
    other_script = left.non_latin[pairs.left] != right.non_latin[pairs.right]
    features = compute_pair_features(left, right, pairs)
    return _apply_weights(features, other_script, translated)


def bound_match_probabilities(
    pairs: SimilarTexts, other_script: NDArray[np.bool_], *, translated: bool
) -> FloatArray:
    """Compute the highest probability that each pair of texts can have, whatever the texts are.

    Args:
        pairs: The pairs.
        other_script: Whether one of the two texts of a pair is not in Latin letters.
        translated: Whether the search translated the left texts.

    Returns:
        What `estimate_match_probabilities` never exceeds.
    """
    # No feature is above 1 and no weight below 0.
    features = np.ones((len(pairs.left), len(FEATURES)), dtype=np.float32)
    for name in ("direct", "translated", "relative"):
        features[:, FEATURES.index(name)] = getattr(pairs, name)
    return _apply_weights(features, other_script, translated)


def compute_pair_features(left: TextTable, right: TextTable, pairs: SimilarTexts) -> FloatArray:
    """Compute what the match probability rests on.

    Args:
        left: The left texts.
        right: The right texts.
        pairs: The pairs.

    Returns:
        A row per pair with a column for each of `FEATURES`.
    """
    from rapidfuzz.fuzz import ratio, token_sort_ratio

    columns = {
        "direct": pairs.direct,
        "translated": pairs.translated,
        "letters": _compare_texts(ratio, left.latin, right.latin, pairs),
        "words": _compare_texts(token_sort_ratio, left.latin, right.latin, pairs),
        "unqualified": _compare_texts(ratio, left.unqualified, right.unqualified, pairs),
        "phonetic": _compare_texts(
            token_sort_ratio, left.phonetic_keys, right.phonetic_keys, pairs
        ),
        "relative": pairs.relative,
    }
    return np.stack([columns[name] for name in FEATURES], axis=1)


def compute_name_similarity(
    left: EntityNames,
    right: EntityNames,
    left_entities: NDArray[np.signedinteger],
    right_entities: NDArray[np.signedinteger],
) -> FloatArray:
    """Compute the edit similarity of the names of pairs of entities.

    The n-gram index lists only the nearest texts, without regard to the graphs. Where the
    graphs propose a pair, its names are compared directly.

    Args:
        left: The names of left entities.
        right: The names of right entities.
        left_entities: The left entity of each pair.
        right_entities: The right entity of each pair.

    Returns:
        The similarity of the most similar names of each pair, from 0 to 1; NaN where one of
        the two has no name.
    """
    pair, left_text, right_text = _pair_names(left, right, left_entities, right_entities)
    similarity = np.full(len(left_entities), -1, dtype=np.float32)
    found = _compare_names(
        [left.texts.latin[text] for text in left_text.tolist()],
        [right.texts.latin[text] for text in right_text.tolist()],
    )
    np.maximum.at(similarity, pair, found)
    similarity[similarity < 0] = np.nan
    return similarity


def _apply_weights(
    features: FloatArray, other_script: NDArray[np.bool_], translated: bool
) -> FloatArray:
    """The logistic regression."""
    weights = (
        (OTHER_SCRIPT_WEIGHTS_TRANSLATED, SAME_SCRIPT_WEIGHTS_TRANSLATED)
        if translated
        else (OTHER_SCRIPT_WEIGHTS, SAME_SCRIPT_WEIGHTS)
    )
    pair_weights = np.where(other_script[:, None], *map(_order_weights, weights))
    logit = (features * pair_weights[:, :-1]).sum(axis=1) + pair_weights[:, -1]
    probability: FloatArray = (MAX_PROBABILITY / (1 + np.exp(-logit))).astype(np.float32)
    return probability


def _order_weights(weights: Mapping[str, float]) -> NDArray[np.float64]:
    return np.array([weights.get(name, 0.0) for name in (*FEATURES, "intercept")])


def _compare_texts(
    scorer: Any, left: Sequence[str], right: Sequence[str], pairs: SimilarTexts
) -> FloatArray:
    left_texts = [left[row] for row in pairs.left.tolist()]
    right_texts = [right[row] for row in pairs.right.tolist()]
    return _score_pairs(scorer, left_texts, right_texts) / np.float32(100)


def _score_pairs(scorer: Any, left: Sequence[str], right: Sequence[str]) -> FloatArray:
    from rapidfuzz.process import cpdist

    scores: FloatArray = cpdist(
        left, right, scorer=scorer, dtype=np.float32, workers=thread_count()
    )
    return scores


def _pair_names(
    left: EntityNames,
    right: EntityNames,
    left_entities: NDArray[np.signedinteger],
    right_entities: NDArray[np.signedinteger],
) -> tuple[NDArray[np.int64], IntArray, IntArray]:
    """Each name of the left entity with each name of the right one: pair, left and right text."""
    left_count = np.diff(left.start)[left_entities]
    right_count = np.diff(right.start)[right_entities]
    count = left_count * right_count
    pair = np.repeat(np.arange(len(left_entities)), count)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
    # The number within a pair counts through all combinations of its names.
    i, j = np.divmod(within, np.maximum(right_count[pair], 1))
    left_text = left.text[left.start[left_entities[pair]] + i]
    return pair, left_text, right.text[right.start[right_entities[pair]] + j]


def _compare_names(left: Sequence[str], right: Sequence[str]) -> FloatArray:
    from rapidfuzz.fuzz import ratio, token_sort_ratio

    if not left:
        return np.empty(0, dtype=np.float32)
    letters = _score_pairs(ratio, left, right)
    words = _score_pairs(token_sort_ratio, left, right)
    best: FloatArray = np.maximum(letters, words)
    return best / np.float32(100)
