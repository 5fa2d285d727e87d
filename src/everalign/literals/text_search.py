"""The search for similar texts: n-gram features of both sides, and the nearest texts by them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.literals.matches import FloatArray
from everalign.literals.ngram_index import (
    NearestRows,
    SparseMatrix,
    add_matrices,
    compute_row_products,
    inverse_frequency,
    number_features,
    scale_rows,
    search_nearest_rows,
    select_rows,
    weight_columns,
)
from everalign.literals.ngrams import (
    WHOLE_WORDS,
    Hashes,
    TextFeatures,
    concatenate_features,
    extract_ngrams,
)
from everalign.literals.parsing import TextTable
from everalign.literals.translation import (
    TokenisedTexts,
    TranslationModel,
    translate_known_texts,
)

MIN_KNOWN_PAIRS = 30  # fewer pairs teach a translation model next to nothing
MAX_TESTED_PAIRS = 2000  # that tell whether translation helps: more would not change the answer
# Share of texts in other scripts from which on a side counts as written in another script:
# a few foreign titles are in every graph.
MIN_NON_LATIN_SHARE = 0.01
NGRAM_LENGTH = 3
NON_LATIN_NGRAM_LENGTH = 2  # a Han character says as much as a syllable or more
# Features of different kinds must differ, so each kind in a matrix has its own salt.
WORD_SALT, LATIN_SALT, NON_LATIN_SALT, PHONETIC_SALT = 0, 3, 10, 0
# Not 0, by which it will be divided.
MIN_BEST = np.float32(1e-6)
NO_KNOWN_PAIRS: IntArray = np.empty((0, 2), dtype=np.int32)


class SimilarTexts(NamedTuple):
    """Pairs of texts worth comparing, with their similarity in the n-gram index.

    Attributes:
        left: The left text of each pair.
        right: The right text of each pair.
        direct: The similarity of the two as they are.
        translated: The similarity with the translation of the left text.
        relative: The sum of both as a share of that of the best pair of either text.
    """

    left: NDArray[np.signedinteger]
    right: NDArray[np.signedinteger]
    direct: FloatArray
    translated: FloatArray
    relative: FloatArray

    def select(self, chosen: NDArray[np.bool_]) -> SimilarTexts:
        """Select some pairs.

        Args:
            chosen: Which ones.

        Returns:
            These pairs.
        """
        return SimilarTexts(
            self.left[chosen],
            self.right[chosen],
            self.direct[chosen],
            self.translated[chosen],
            self.relative[chosen],
        )


class SearchFeatures(NamedTuple):
    """The features by which texts are searched, as columns.

    Attributes:
        hashes: The hashes of each family of features, sorted; the columns of a family follow
            those of the one before.
        weight: The inverse document frequency of each column.
        text_count: The number of texts of both sides, from which the frequencies are.
    """

    hashes: tuple[Hashes, ...]
    weight: FloatArray
    text_count: int


class SearchTranslation(NamedTuple):
    """How left texts are translated into features of right ones.

    Attributes:
        hashes: The hashes of the tokens of left texts, sorted: the source tokens of the model.
        model: The model for texts that are not among the known pairs.
        rows: The translation of each left text.
    """

    hashes: Hashes
    model: TranslationModel
    rows: SparseMatrix


class TextSearch(NamedTuple):
    """The texts of two graphs as weighted features, and the nearest texts by them.

    Attributes:
        features: The features.
        phonetic: Whether phonetic keys are compared as well.
        left: The features of each left text.
        right: The features of each right text.
        translation: The translations of left texts, if enough pairs were known.
        nearest: The pairs in which either text is among the nearest of the other.
    """

    features: SearchFeatures
    phonetic: bool
    left: SparseMatrix
    right: SparseMatrix
    translation: SearchTranslation | None
    nearest: NearestRows

    @staticmethod
    def run(
        left: TextTable, right: TextTable, neighbours: int, known_pairs: IntArray
    ) -> TextSearch:
        """Search the nearest texts of each text.

        Args:
            left: The left texts.
            right: The right texts.
            neighbours: How many of the nearest are kept for each text.
            known_pairs: Rows of (left text, right text) that say the same, each left text once;
                they teach how left texts translate. Too few are not used.

        Returns:
            What was found, and by which features.
        """
        # Sound is compared where scripts differ: transliterations mix up letters.
        phonetic = is_other_script(left) != is_other_script(right)
        left_rows, right_rows, features = _weight_features(
            extract_search_features(left, phonetic),
            extract_search_features(right, phonetic),
            (len(left), len(right)),
        )
        translation = None
        searched = left_rows
        if len(known_pairs) >= MIN_KNOWN_PAIRS:
            translation = _translate_left(left, right_rows, features.weight, known_pairs)
            # One search for both: the product with a sum is the sum of the products.
            searched = add_matrices(left_rows, translation.rows)
            if not _finds_more(searched, left_rows, right_rows, known_pairs):
                translation, searched = None, left_rows
        nearest = search_nearest_rows(searched, right_rows, len(features.weight), neighbours)
        return TextSearch(features, phonetic, left_rows, right_rows, translation, nearest)

    def list_pairs(self) -> SimilarTexts:
        """List the pairs in which either text is among the nearest of the other.

        Returns:
            The pairs, sorted.
        """
        pairs, column_count = self.nearest.pairs, len(self.features.weight)
        direct, translated = pairs.probability, np.zeros(len(pairs.left), dtype=np.float32)
        if self.translation is not None:
            direct, translated = (
                compute_row_products(rows, self.right, pairs, column_count)
                for rows in (self.left, self.translation.rows)
            )
        total = direct + translated
        relative = np.minimum(
            _divide_by_best(pairs.left, total), _divide_by_best(pairs.right, total)
        )
        return SimilarTexts(pairs.left, pairs.right, direct, translated, relative)


def search_similar_texts(
    left: TextTable, right: TextTable, neighbours: int, known_pairs: IntArray
) -> SimilarTexts:
    """Find the pairs of texts in which either is among the nearest of the other.

    Args:
        left: The left texts.
        right: The right texts.
        neighbours: How many of the nearest are kept for each text.
        known_pairs: See `TextSearch.run`.

    Returns:
        The pairs, sorted.
    """
    return TextSearch.run(left, right, neighbours, known_pairs).list_pairs()


def build_ngram_rows(left: TextTable, right: TextTable) -> tuple[SparseMatrix, SparseMatrix, int]:
    """Build weighted n-gram vectors of texts, with the same columns on both sides.

    Args:
        left: The left texts.
        right: The right texts.

    Returns:
        The left rows, the right rows and the number of columns.
    """
    left_rows, right_rows, features = _weight_features(
        extract_search_features(left, False),
        extract_search_features(right, False),
        (len(left), len(right)),
    )
    return left_rows, right_rows, len(features.weight)


def is_other_script(texts: TextTable) -> bool:
    """Tell whether texts in other scripts than Latin are more than exceptions.

    Args:
        texts: The texts of one graph.

    Returns:
        True if their share is above `MIN_NON_LATIN_SHARE`.
    """
    return bool(len(texts) and texts.non_latin.mean() > MIN_NON_LATIN_SHARE)


def _weight_features(
    left: list[TextFeatures], right: list[TextFeatures], row_counts: tuple[int, int]
) -> tuple[SparseMatrix, SparseMatrix, SearchFeatures]:
    """The features of both sides, each family scaled to length 1 in a row."""
    hashes: list[Hashes] = []
    weights: list[FloatArray] = []
    left_parts: list[SparseMatrix] = []
    right_parts: list[SparseMatrix] = []
    for left_family, right_family in zip(left, right, strict=True):
        left_matrix, right_matrix, feature = number_features(left_family, right_family, row_counts)
        offset = sum(map(len, weights))
        weight = inverse_frequency(left_matrix, right_matrix, len(feature))
        left_parts.append(weight_columns(left_matrix, weight).shift_columns(offset))
        right_parts.append(weight_columns(right_matrix, weight).shift_columns(offset))
        hashes.append(feature)
        weights.append(weight)
    features = SearchFeatures(tuple(hashes), np.concatenate(weights), sum(row_counts))
    return add_matrices(*left_parts), add_matrices(*right_parts), features


def extract_search_features(texts: TextTable, phonetic: bool) -> list[TextFeatures]:
    """Extract the features by which texts are searched, in families that are scaled apart.

    Args:
        texts: The texts of one graph.
        phonetic: Whether phonetic keys are compared as well.

    Returns:
        Words and n-grams; beside them, if they are compared, those of phonetic keys.
    """
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


def extract_search_tokens(texts: TextTable) -> TextFeatures:
    """Extract the tokens by which texts are translated for the search.

    The name tokens of `tokenise_names` are fewer, which makes the explained share fast, but
    translate into worse searches (docs/decisions/0017-one-translation-model.md).

    Args:
        texts: The texts of one graph.

    Returns:
        Words and n-grams of the Latin form, and characters of other scripts.
    """
    return concatenate_features(
        [
            extract_ngrams(texts.latin, WHOLE_WORDS, WORD_SALT),
            extract_ngrams(texts.latin, NGRAM_LENGTH, LATIN_SALT),
            *(_extract_non_latin(texts, length) for length in (1, NON_LATIN_NGRAM_LENGTH)),
        ]
    )


def _extract_non_latin(texts: TextTable, length: int) -> TextFeatures:
    pairs = zip(texts.normalised, texts.non_latin.tolist(), strict=True)
    own_script = [text if non_latin else "" for text, non_latin in pairs]
    return extract_ngrams(own_script, length, NON_LATIN_SALT + length)


def _translate_left(
    left: TextTable, right_rows: SparseMatrix, weight: FloatArray, known_pairs: IntArray
) -> SearchTranslation:
    tokens = extract_search_tokens(left)
    nothing = TextFeatures(tokens.row[:0], tokens.feature[:0])
    matrix, _, hashes = number_features(tokens, nothing, (len(left), 0))
    source = TokenisedTexts(matrix.start, matrix.column, np.ones(len(hashes), dtype=np.float32))
    target = TokenisedTexts(right_rows.start, right_rows.column, weight)
    rows, model = translate_known_texts(source, target, known_pairs)
    return SearchTranslation(hashes, model, scale_rows(rows))


def _finds_more(
    translated: SparseMatrix, direct: SparseMatrix, right: SparseMatrix, known_pairs: IntArray
) -> bool:
    """Whether more known texts have their partner as the nearest text if they are translated.

    A known text is translated without what its own pair teaches, so that the answer holds for
    unknown texts too. Within one language a translation mostly adds noise.
    """
    pairs = known_pairs[:MAX_TESTED_PAIRS]
    return _count_found(translated, right, pairs) > _count_found(direct, right, pairs)


def _count_found(left: SparseMatrix, right: SparseMatrix, known_pairs: IntArray) -> int:
    """The number of left texts whose nearest right text is the known one."""
    rows = select_rows(left, known_pairs[:, 0].astype(np.int64))
    column_count = 1 + int(max(rows.column.max(initial=0), right.column.max(initial=0)))
    pairs = search_nearest_rows(rows, right, column_count, 1).pairs
    is_nearest = _divide_by_best(pairs.left, pairs.probability) >= 1
    return int(np.count_nonzero(is_nearest & (known_pairs[pairs.left, 1] == pairs.right)))


def _divide_by_best(row: IntArray, similarity: FloatArray) -> FloatArray:
    best = np.full(int(row.max(initial=-1)) + 1, MIN_BEST, dtype=np.float32)
    np.maximum.at(best, row, similarity)
    return similarity / best[row]
