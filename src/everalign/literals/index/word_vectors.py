"""Vectors of texts, and the nearest ones of new texts.

Unlike all else in the index, a new text is compared with all texts of the other side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from everalign.literals.index.arrays import ArrayBundle, Rows, SortedTable
from everalign.literals.matches import FloatArray, LiteralMatches, merge_matches
from everalign.literals.matching import LiteralMatching
from everalign.literals.ngrams import hash_texts
from everalign.literals.vectors import WeightedWords, find_nearest_vectors, split_words


@dataclass(frozen=True)
class TextVectors(ArrayBundle):
    """The vectors of the texts of one side; without columns if there are none.

    Attributes:
        vectors: The vector of each text.
        added_vectors: The vectors of texts since the last training.
        word: The number of each word that names had at the last training, by its hash.
        word_vectors: The vector of each word.
        word_weight: How much each word tells.
    """

    vectors: FloatArray
    added_vectors: FloatArray
    word: SortedTable
    word_vectors: FloatArray
    word_weight: NDArray[np.float64]

    @staticmethod
    def build(matching: LiteralMatching, side: int) -> TextVectors:
        """Store the vectors of one side.

        Args:
            matching: How literals were matched.
            side: 0 for left, 1 for right.

        Returns:
            The stored vectors.
        """
        vectors = matching.vectors[side]
        no_words = WeightedWords({}, vectors[:0], np.empty(0))
        words = no_words if matching.words is None else matching.words[side]
        rows = np.arange(len(words.row), dtype=np.int32)
        table = SortedTable.build(hash_texts(list(words.row)), rows)
        return TextVectors(vectors, vectors[:0], table, words.vectors, words.weight)

    def embed(self, names: Sequence[str]) -> FloatArray:
        """Compute the vectors of new texts.

        Args:
            names: Their normal forms.

        Returns:
            A row per text; words that no text had at the last training do not count.
        """
        if not self.word_vectors.shape[1]:
            return np.empty((len(names), 0), dtype=np.float32)
        words = sorted({word for name in names for word in split_words(name)})
        row = self.word.find_first(hash_texts(words)).tolist()
        known = {word: number for word, number in zip(words, row, strict=True) if number >= 0}
        return WeightedWords(known, self.word_vectors, self.word_weight).embed(names)

    def append(self, names: Sequence[str]) -> TextVectors:
        """Add texts.

        Args:
            names: Their normal forms.

        Returns:
            Vectors with theirs.
        """
        if not self.word_vectors.shape[1]:
            return self
        return replace(self, added_vectors=np.concatenate([self.added_vectors, self.embed(names)]))


def match_new_vectors(
    queries: FloatArray, rows: Rows, other: TextVectors, neighbours: int, min_probability: float
) -> LiteralMatches:
    """Find the nearest texts of new ones.

    Args:
        queries: The vectors of new texts.
        rows: Their rows.
        other: The vectors of the other side.
        neighbours: How many of the nearest are kept for each.
        min_probability: Less probable pairs are dropped.

    Returns:
        Pairs of the row of a new text and one of the other side.
    """
    if not queries.shape[1]:
        return LiteralMatches.empty()
    found = []
    for first_row, vectors in ((0, other.vectors), (len(other.vectors), other.added_vectors)):
        near = find_nearest_vectors(queries, vectors, neighbours, min_probability)
        found.append(
            LiteralMatches.from_columns(rows[near.left], first_row + near.right, near.probability)
        )
    return merge_matches(found)
