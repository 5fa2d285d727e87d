"""How similar two texts are: pairs from the n-gram index, scored by logistic regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._parallel import thread_count
from everalign.graph import IntArray
from everalign.literals.entity_names import EntityNames
from everalign.literals.matches import FloatArray
from everalign.literals.ngram_index import (
    WHOLE_WORDS,
    SparseMatrix,
    TextFeatures,
    add_matrices,
    compute_row_products,
    concatenate_features,
    extract_ngrams,
    inverse_frequency,
    number_features,
    scale_rows,
    search_nearest_rows,
    weight_columns,
)
from everalign.literals.parsing import TextTable
from everalign.literals.translation import TokenisedTexts, translate_texts

MIN_KNOWN_PAIRS = 30  # fewer pairs teach a translation model next to nothing
# Share of texts in other scripts from which on a side counts as written in another script:
# a few foreign titles are in every graph.
MIN_NON_LATIN_SHARE = 0.01
NGRAM_LENGTH = 3
NON_LATIN_NGRAM_LENGTH = 2  # a Han character says as much as a syllable or more
# Features of different kinds must differ, so each kind in a matrix has its own salt.
WORD_SALT, LATIN_SALT, NON_LATIN_SALT, PHONETIC_SALT = 0, 3, 10, 0
MAX_PROBABILITY = 0.95  # texts that are not equal are never certain to say the same
NO_KNOWN_PAIRS: IntArray = np.empty((0, 2), dtype=np.int32)

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


class SimilarTexts(NamedTuple):
    """Pairs of texts worth comparing, with their similarity in the n-gram index.

    Attributes:
        left: The left text of each pair.
        right: The right text of each pair.
        direct: The similarity of the two as they are.
        translated: The similarity with the translation of the left text.
    """

    left: IntArray
    right: IntArray
    direct: FloatArray
    translated: FloatArray


def search_similar_texts(
    left: TextTable, right: TextTable, neighbours: int, known_pairs: IntArray
) -> SimilarTexts:
    """Find the pairs of texts in which either is among the nearest of the other.

    Args:
        left: The left texts.
        right: The right texts.
        neighbours: How many of the nearest are kept for each text.
        known_pairs: Rows of (left text, right text) that say the same, each left text once;
            they teach how left texts translate. Too few are not used.

    Returns:
        The pairs, sorted.
    """
    # Sound is compared where scripts differ: transliterations mix up letters.
    phonetic = is_other_script(left) != is_other_script(right)
    left_rows, right_rows, weight = _weight_features(
        _extract_features(left, phonetic),
        _extract_features(right, phonetic),
        (len(left), len(right)),
    )
    if len(known_pairs) < MIN_KNOWN_PAIRS:
        near = search_nearest_rows(left_rows, right_rows, len(weight), neighbours)
        return SimilarTexts(*near, np.zeros(len(near.left), dtype=np.float32))
    features = TokenisedTexts(right_rows.start, right_rows.column, weight)
    translated = scale_rows(translate_texts(_tokenise_ngrams(left), features, known_pairs))
    # One search for both: the product with a sum is the sum of the products.
    both = add_matrices(left_rows, translated)
    near = search_nearest_rows(both, right_rows, len(weight), neighbours)
    direct, of_translation = (
        compute_row_products(rows, right_rows, near, len(weight))
        for rows in (left_rows, translated)
    )
    return SimilarTexts(near.left, near.right, direct, of_translation)


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
    weights = (
        (OTHER_SCRIPT_WEIGHTS_TRANSLATED, SAME_SCRIPT_WEIGHTS_TRANSLATED)
        if translated
        else (OTHER_SCRIPT_WEIGHTS, SAME_SCRIPT_WEIGHTS)
    )
    other_script = left.non_latin[pairs.left] != right.non_latin[pairs.right]
    pair_weights = np.where(other_script[:, None], *map(_order_weights, weights))
    features = compute_pair_features(left, right, pairs)
    logit = (features * pair_weights[:, :-1]).sum(axis=1) + pair_weights[:, -1]
    probability: FloatArray = (MAX_PROBABILITY / (1 + np.exp(-logit))).astype(np.float32)
    return probability


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

    total = pairs.direct + pairs.translated
    columns = {
        "direct": pairs.direct,
        "translated": pairs.translated,
        "letters": _compare_texts(ratio, left.latin, right.latin, pairs),
        "words": _compare_texts(token_sort_ratio, left.latin, right.latin, pairs),
        "unqualified": _compare_texts(ratio, left.unqualified, right.unqualified, pairs),
        "phonetic": _compare_texts(
            token_sort_ratio, left.phonetic_keys, right.phonetic_keys, pairs
        ),
        "relative": np.minimum(
            _divide_by_best(pairs.left, total), _divide_by_best(pairs.right, total)
        ),
    }
    return np.stack([columns[name] for name in FEATURES], axis=1)


def build_ngram_rows(left: TextTable, right: TextTable) -> tuple[SparseMatrix, SparseMatrix, int]:
    """Build weighted n-gram vectors of texts, with the same columns on both sides.

    Args:
        left: The left texts.
        right: The right texts.

    Returns:
        The left rows, the right rows and the number of columns.
    """
    left_rows, right_rows, weight = _weight_features(
        _extract_features(left, False), _extract_features(right, False), (len(left), len(right))
    )
    return left_rows, right_rows, len(weight)


def is_other_script(texts: TextTable) -> bool:
    """Tell whether texts in other scripts than Latin are more than exceptions.

    Args:
        texts: The texts of one graph.

    Returns:
        True if their share is above `MIN_NON_LATIN_SHARE`.
    """
    return bool(len(texts) and texts.non_latin.mean() > MIN_NON_LATIN_SHARE)


def compute_name_similarity(
    left: EntityNames, right: EntityNames, left_entities: IntArray, right_entities: IntArray
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


def _order_weights(weights: Mapping[str, float]) -> NDArray[np.float64]:
    return np.array([weights.get(name, 0.0) for name in (*FEATURES, "intercept")])


def _weight_features(
    left: list[TextFeatures], right: list[TextFeatures], row_counts: tuple[int, int]
) -> tuple[SparseMatrix, SparseMatrix, FloatArray]:
    """The features of both sides, each family scaled to length 1 in a row, and all weights."""
    weights: list[FloatArray] = []
    left_parts: list[SparseMatrix] = []
    right_parts: list[SparseMatrix] = []
    for left_family, right_family in zip(left, right, strict=True):
        left_matrix, right_matrix, columns = number_features(left_family, right_family, row_counts)
        offset = sum(map(len, weights))
        weight = inverse_frequency(left_matrix, right_matrix, columns)
        left_parts.append(weight_columns(left_matrix, weight).shift_columns(offset))
        right_parts.append(weight_columns(right_matrix, weight).shift_columns(offset))
        weights.append(weight)
    return add_matrices(*left_parts), add_matrices(*right_parts), np.concatenate(weights)


def _extract_features(texts: TextTable, phonetic: bool) -> list[TextFeatures]:
    """Families of features: words and n-grams; beside them those of phonetic keys."""
    spelling = [
        extract_ngrams(texts.latin, WHOLE_WORDS, WORD_SALT),
        extract_ngrams(texts.latin, NGRAM_LENGTH, LATIN_SALT),
    ]
    if texts.non_latin.any():
        spelling.append(_extract_non_latin(texts, NON_LATIN_NGRAM_LENGTH))
    families = [concatenate_features(spelling)]
    if phonetic:
        families.append(extract_ngrams(texts.phonetic_keys, NGRAM_LENGTH, PHONETIC_SALT))
    return families


def _tokenise_ngrams(texts: TextTable) -> TokenisedTexts:
    """The search tokens: words and n-grams of the Latin form, characters of other scripts.

    The name tokens of `tokenise_texts` are fewer, which makes the explained share fast, but
    translate into worse searches (docs/decisions/0017-one-translation-model.md).
    """
    tokens = concatenate_features(
        [
            extract_ngrams(texts.latin, WHOLE_WORDS, WORD_SALT),
            extract_ngrams(texts.latin, NGRAM_LENGTH, LATIN_SALT),
            *(_extract_non_latin(texts, length) for length in (1, NON_LATIN_NGRAM_LENGTH)),
        ]
    )
    nothing = TextFeatures(tokens.row[:0], tokens.feature[:0])
    matrix, _, count = number_features(tokens, nothing, (len(texts), 0))
    return TokenisedTexts(matrix.start, matrix.column, np.ones(count, dtype=np.float32))


def _extract_non_latin(texts: TextTable, length: int) -> TextFeatures:
    pairs = zip(texts.normalised, texts.non_latin.tolist(), strict=True)
    own_script = [text if non_latin else "" for text, non_latin in pairs]
    return extract_ngrams(own_script, length, NON_LATIN_SALT + length)


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


def _divide_by_best(row: IntArray, similarity: FloatArray) -> FloatArray:
    # Not 0, by which it will be divided.
    best = np.full(int(row.max(initial=-1)) + 1, 1e-6, dtype=np.float32)
    np.maximum.at(best, row, similarity)
    return similarity / best[row]


def _pair_names(
    left: EntityNames, right: EntityNames, left_entities: IntArray, right_entities: IntArray
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
