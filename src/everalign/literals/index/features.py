"""Texts as features, with the weights and translations of the last training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.literals.index.arrays import ArrayBundle, SortedTable
from everalign.literals.matches import FloatArray
from everalign.literals.ngram_index import (
    SparseMatrix,
    add_matrices,
    build_matrix,
    scale_rows,
)
from everalign.literals.ngrams import Hashes, Starts, TextFeatures
from everalign.literals.parsing import TextTable
from everalign.literals.text_search import (
    SearchFeatures,
    SearchTranslation,
    extract_search_features,
    extract_search_tokens,
)
from everalign.literals.translation import TokenisedTexts, TranslationModel, translate_texts

# Features of different families with the same hash are different features.
FAMILY_FACTOR = np.int64(0x5851F42D4C957F2D)


@dataclass(frozen=True)
class FeatureColumns(ArrayBundle):
    """The columns of features, with the weights of the last training.

    Attributes:
        column: The column of each feature, by its hash.
        weight: The weight of each column of the last training.
        new_weight: The weight of a feature that no text had then.
        phonetic: Whether phonetic keys are compared as well.
    """

    column: SortedTable
    weight: FloatArray
    new_weight: FloatArray
    phonetic: NDArray[np.bool_]

    @staticmethod
    def build(features: SearchFeatures, phonetic: bool) -> FeatureColumns:
        """Store the features of a search.

        Args:
            features: The features.
            phonetic: Whether phonetic keys are among them.

        Returns:
            Their columns.
        """
        keys = [_mix_family(hashes, family) for family, hashes in enumerate(features.hashes)]
        columns = np.arange(len(features.weight), dtype=np.int32)
        # As if one text had it.
        new_weight = np.float32(np.log1p(features.text_count))
        return FeatureColumns(
            SortedTable.build(np.concatenate(keys), columns),
            features.weight,
            np.array(new_weight),
            np.array(phonetic),
        )

    def number(self, families: Sequence[TextFeatures], count: int) -> _NumberedTexts:
        """Number the features of texts.

        Args:
            families: The features of the texts, in families.
            count: The number of texts.

        Returns:
            The texts as weighted features, and the columns with those that are new.
        """
        columns, matrices = self, []
        for family, features in enumerate(families):
            keys = _mix_family(features.feature, family)
            columns = columns._append_new(keys)
            column = columns.column.find_first(keys)
            end = len(columns.weight) + len(columns.column.added_key)
            matrix = build_matrix(features.row, column.astype(np.int64), count, end)
            matrices.append(scale_rows(columns._weight_entries(matrix)))
        return _NumberedTexts(add_matrices(*matrices), columns)

    def _append_new(self, keys: Hashes) -> FeatureColumns:
        new = np.unique(keys[self.column.find_first(keys) < 0])
        first = len(self.weight) + len(self.column.added_key)
        table = self.column.append(new, np.arange(first, first + len(new)))
        return FeatureColumns(table, self.weight, self.new_weight, self.phonetic)

    def _weight_entries(self, matrix: SparseMatrix) -> SparseMatrix:
        weight = np.full(len(matrix.column), self.new_weight, dtype=np.float32)
        is_trained = matrix.column < len(self.weight)
        weight[is_trained] = self.weight[matrix.column[is_trained]]
        return matrix._replace(weight=weight)


class _NumberedTexts(NamedTuple):
    rows: SparseMatrix
    columns: FeatureColumns


def _mix_family(hashes: Hashes, family: int) -> Hashes:
    return hashes ^ (FAMILY_FACTOR * np.int64(family))


@dataclass(frozen=True)
class Translator(ArrayBundle):
    """How left texts are translated into features of right ones, as it was learned last.

    Attributes:
        token: The source token of the model, by the hash of the token.
        start: The translations of source token s are at `start[s]` to `start[s + 1]`.
        target: The column of each.
        probability: How probable it is.
    """

    token: SortedTable
    start: Starts
    target: IntArray
    probability: FloatArray

    @staticmethod
    def build(translation: SearchTranslation | None) -> Translator:
        """Store what a search learned.

        Args:
            translation: How it translated texts, if it did.

        Returns:
            The translator; one without tokens if nothing was translated.
        """
        if translation is None:
            no_token = SortedTable.build(np.empty(0, np.int64), np.empty(0, np.int32))
            nothing = np.empty(0, np.int32), np.empty(0, np.float32)
            return Translator(no_token, np.zeros(1, np.int64), *nothing)
        tokens = np.arange(len(translation.hashes), dtype=np.int32)
        table = SortedTable.build(translation.hashes, tokens)
        return Translator(table, *translation.model[:3])

    @property
    def has_learned(self) -> bool:
        """Whether there is anything to translate by."""
        return len(self.start) > 1

    def translate(self, texts: TextTable, weight: FloatArray) -> SparseMatrix:
        """Translate left texts.

        Args:
            texts: The texts.
            weight: The weight of each column.

        Returns:
            The features of their translations, scaled.
        """
        tokens = extract_search_tokens(texts)
        token = self.token.find_first(tokens.feature)
        known = token >= 0
        matrix = build_matrix(
            tokens.row[known], token[known].astype(np.int64), len(texts), len(self.start)
        )
        source = TokenisedTexts(matrix.start, matrix.column, matrix.weight)
        no_inverse = self.probability[:0]
        model = TranslationModel(self.start, self.target, self.probability, no_inverse)
        only_model = np.zeros(len(texts), dtype=np.int64)
        return scale_rows(translate_texts(source, weight, [model], only_model))


def extract_queries(
    texts: TextTable, columns: FeatureColumns
) -> tuple[SparseMatrix, FeatureColumns]:
    """Turn texts into weighted features.

    Args:
        texts: The texts.
        columns: The columns of known features.

    Returns:
        The features of each text, and the columns with new features.
    """
    families = extract_search_features(texts, bool(columns.phonetic))
    return columns.number(families, len(texts))
