"""All words of an entity's literals as a bag of words, and how much two such bags share.

Names are compared letter by letter; descriptions, lists of authors and other long texts are not:
they say the same in other words and in another order. What they share is counted in words, rare
ones more (tf-idf). Words with digits, such as model numbers, are counted apart: they tell products
apart that are described alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign._parallel import fill_chunks
from everalign.literals.matches import FloatArray
from everalign.literals.ngrams import Hashes, Starts, hash_texts
from everalign.literals.parsing import parse_term

CHUNK_SIZE = 16_384  # pairs of one parallel task
MAX_LENGTH = 2_000  # characters of a literal that are split into words
BAG_COLUMNS = 3  # of `compare_word_bags`
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"\S*\d\S*")


def split_words(text: str) -> set[str]:
    """Split a text into words, without regard to case.

    Args:
        text: Any text.

    Returns:
        Its words. What has digits in it is also one word without hyphens and the like, since
        model numbers are written with and without them.

    Example:
        >>> sorted(split_words("Sony PS-LX350H, black"))
        ['black', 'lx350h', 'ps', 'pslx350h', 'sony']
    """
    text = text[:MAX_LENGTH].casefold()
    words = set(_WORD.findall(text))
    for part in _UNSPACED.findall(text):
        joined = "".join(_WORD.findall(part))
        # Joined digits alone are a date, a range or an amount, and no model number.
        if joined and not joined.isdecimal():
            words.add(joined)
    return words


class LiteralWords(NamedTuple):
    """The words of literals.

    Attributes:
        literal: The position of the literal that each word is in.
        word: The hash of each word; its last bit tells whether the word has a digit in it.
    """

    literal: NDArray[np.int64]
    word: Hashes


def list_literal_words(literals: Sequence[str]) -> LiteralWords:
    """List the words of literals.

    Args:
        literals: Literals as N-Triples writes them.

    Returns:
        The words of each literal, each once.

    Example:
        >>> words = list_literal_words(['"Route 66"@en', '"66"'])
        >>> words.literal.tolist(), (words.word & 1).sum().item()
        ([0, 0, 1], 2)
    """
    # Sorted, since the order of a set differs from run to run.
    bags = [sorted(split_words(parse_term(literal).text)) for literal in literals]
    words = [word for bag in bags for word in bag]
    has_digit = np.array([not word.isalpha() for word in words], dtype=np.int64)
    literal = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
    return LiteralWords(literal, hash_texts(words) & ~1 | has_digit)


class WordBags(NamedTuple):
    """The words of entities, each once, and their weights.

    Attributes:
        start: The words of entity x are at `start[x]` to `start[x + 1]`.
        word: The hashes of these words, sorted for each entity.
        weight: The inverse document frequency of each.
        length: The length of the vector of these weights, for each entity.
        code_weight: The sum of the weights of words with digits, for each entity.
    """

    start: Starts
    word: Hashes
    weight: FloatArray
    length: FloatArray
    code_weight: FloatArray

    @staticmethod
    def from_words(start: Starts, word: Hashes, weight: FloatArray) -> WordBags:
        """Build bags from weighted words.

        Args:
            start: The first word of each entity, and the end of the last.
            word: The words, sorted for each entity.
            weight: Their weights.

        Returns:
            The bags.
        """
        entity_count = len(start) - 1
        owner = np.repeat(np.arange(entity_count), np.diff(start))
        # Summed apart for each entity: the result does not depend on which others there are.
        squares = np.bincount(owner, weight.astype(np.float64) ** 2, entity_count)
        codes = np.bincount(owner, weight * (word & 1), entity_count)
        length = np.sqrt(squares).astype(np.float32)
        return WordBags(start, word, weight, length, codes.astype(np.float32))


def group_words(
    entity: NDArray[np.integer], word: Hashes, entity_count: int
) -> tuple[Starts, Hashes]:
    """Group words by entity, each once.

    Args:
        entity: The entity that has each word.
        word: The words.
        entity_count: Number of entities.

    Returns:
        The first word of each entity and the end of the last; and the words, sorted for each.
    """
    order = np.lexsort((word, entity))
    entity, word = entity[order], word[order]
    is_first = np.ones(len(word), dtype=np.bool_)
    is_first[1:] = (entity[1:] != entity[:-1]) | (word[1:] != word[:-1])
    start = np.searchsorted(entity[is_first], np.arange(entity_count + 1))
    return start, word[is_first]


class WordWeights(NamedTuple):
    """The inverse document frequencies of words, where the words of an entity are a document.

    Attributes:
        word: The words of both graphs, sorted.
        weight: The weight of each.
        new_weight: The weight of any other word.
    """

    word: Hashes
    weight: FloatArray
    new_weight: FloatArray

    @staticmethod
    def from_bags(bags: Sequence[tuple[Starts, Hashes]]) -> WordWeights:
        """Count in how many bags each word is.

        Args:
            bags: What `group_words` returned for each graph.

        Returns:
            The weights.
        """
        word, count = np.unique(np.concatenate([words for _, words in bags]), return_counts=True)
        bag_count = 1 + sum(np.count_nonzero(np.diff(start)) for start, _ in bags)
        weight = np.log(bag_count / count).astype(np.float32)
        return WordWeights(word, weight, np.array(np.log(bag_count), dtype=np.float32))

    def look_up(self, word: Hashes) -> FloatArray:
        """Look up the weights of words.

        Args:
            word: The words.

        Returns:
            The weight of each.
        """
        if not len(self.word):
            return np.full(len(word), self.new_weight, dtype=np.float32)
        position = np.minimum(np.searchsorted(self.word, word), len(self.word) - 1)
        return np.where(self.word[position] == word, self.weight[position], self.new_weight)


def compare_word_bags(
    left: WordBags,
    right: WordBags,
    left_rows: NDArray[np.integer],
    right_rows: NDArray[np.integer],
) -> FloatArray:
    """Compare the words of pairs of entities.

    Args:
        left: The words of left entities.
        right: The words of right entities.
        left_rows: The left entity of each pair.
        right_rows: The right entity of each pair.

    Returns:
        A row per pair: the cosine of the two bags, the share of words with digits that the bag
        with less of them has in common with the other, and the weight of the rarest word that
        both have; NaN where an entity has no words, or no words with digits.
    """
    out = np.empty((len(left_rows), BAG_COLUMNS), dtype=np.float32)
    left_ids, right_ids = left_rows.astype(np.int64), right_rows.astype(np.int64)

    def compare_chunk(first: int, end: int) -> FloatArray:
        rows = slice(first, end)
        chunk = np.empty((end - first, BAG_COLUMNS), dtype=np.float32)
        _compare_bags(left, right, left_ids[rows], right_ids[rows], chunk)
        return chunk

    fill_chunks(compare_chunk, out, CHUNK_SIZE)
    return out


@jit_cached()
def _compare_bags(
    left: WordBags,
    right: WordBags,
    left_rows: NDArray[np.int64],
    right_rows: NDArray[np.int64],
    out: FloatArray,
) -> None:
    for row in range(left_rows.size):
        x, y = left_rows[row], right_rows[row]
        i, left_end, j, right_end = (
            left.start[x],
            left.start[x + 1],
            right.start[y],
            right.start[y + 1],
        )
        out[row] = np.nan
        if i == left_end or j == right_end:
            continue
        product, shared_codes, rarest = 0.0, 0.0, 0.0
        while i < left_end and j < right_end:
            if left.word[i] < right.word[j]:
                i += 1
            elif left.word[i] > right.word[j]:
                j += 1
            else:
                weight = left.weight[i]
                product += weight * weight
                shared_codes += weight * (left.word[i] & 1)
                rarest = max(rarest, weight)
                i += 1
                j += 1
        # Rounding can lead beyond 1.
        out[row, 0] = min(product / max(left.length[x] * right.length[y], 1e-6), 1.0)
        codes = min(left.code_weight[x], right.code_weight[y])
        if codes > 0:
            out[row, 1] = min(shared_codes / codes, 1.0)
        out[row, 2] = rarest
