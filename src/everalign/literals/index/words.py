"""The words of the literals of two graphs, kept so that bags of words of few entities are fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from everalign.graph import IntArray
from everalign.literals.index.arrays import Array, ArrayBundle, SortedTable
from everalign.literals.matches import FloatArray
from everalign.literals.word_bags import (
    LiteralWords,
    WordBags,
    WordWeights,
    compare_word_bags,
    group_words,
    list_literal_words,
)

MAX_WORDS = 1 << 30  # all words of a literal


@dataclass(frozen=True)
class WordIndex(ArrayBundle):
    """The words of literals.

    Attributes:
        left: The words of each left literal, by its id.
        right: The words of each right literal, by its id.
        word: All words at the last training, sorted.
        weight: Their inverse document frequencies then.
        new_weight: That of any other word.
    """

    left: SortedTable
    right: SortedTable
    word: Array
    weight: FloatArray
    new_weight: FloatArray

    @staticmethod
    def build(
        literal_ids: tuple[IntArray, IntArray],
        words: tuple[LiteralWords, LiteralWords],
        weights: WordWeights,
    ) -> WordIndex:
        """Store the words of the literals of two graphs.

        Args:
            literal_ids: The ids of left and of right literals.
            words: The words of each.
            weights: The weights of all words.

        Returns:
            The index.
        """
        left, right = (
            SortedTable.build(ids.astype(np.int32)[literal], word)
            for ids, (literal, word) in zip(literal_ids, words, strict=True)
        )
        return WordIndex(left, right, *weights)

    def add_literals(self, side: int, ids: IntArray, literals: Sequence[str]) -> WordIndex:
        """Add the words of new literals.

        Args:
            side: 0 for the left graph, 1 for the right.
            ids: The ids of the literals, none of which is known.
            literals: The literals as N-Triples writes them.

        Returns:
            An index with them.
        """
        words = list_literal_words(literals)
        if side == 0:
            return replace(self, left=self.left.append(ids[words.literal], words.word))
        return replace(self, right=self.right.append(ids[words.literal], words.word))

    def compare_entities(
        self,
        left_entities: IntArray,
        right_entities: IntArray,
        left_triples: IntArray,
        right_triples: IntArray,
    ) -> FloatArray:
        """Compare the words of pairs of entities.

        Args:
            left_entities: The left entity of each pair.
            right_entities: The right entity of each pair.
            left_triples: All attribute triples of the left entities of these pairs.
            right_triples: The same on the right.

        Returns:
            See `compare_word_bags`.
        """
        bags, rows = [], []
        for table, entities, triples in (
            (self.left, left_entities, left_triples),
            (self.right, right_entities, right_triples),
        ):
            distinct, row = np.unique(entities, return_inverse=True)
            number, word = table.find_all(triples[:, 2], MAX_WORDS)
            owner = np.searchsorted(distinct, triples[number, 0])
            start, words = group_words(owner, word, len(distinct))
            weights = WordWeights(self.word, self.weight, self.new_weight).look_up(words)
            bags.append(WordBags.from_words(start, words, weights))
            rows.append(row)
        return compare_word_bags(bags[0], bags[1], rows[0], rows[1])
