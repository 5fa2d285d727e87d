"""Word vectors in the text format of fastText → a vector for each name.

The first line of the file may hold the number of words and of dimensions; each other line has a
word and its numbers, separated by spaces. It is read line by line, and only words that names
have are kept, so that a file of several gigabytes needs little memory.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.errors import InputError
from everalign.io.streams import read_text_blocks
from everalign.literals.matches import FloatArray, LiteralMatches, merge_matches

TILE_SIZE = 1024  # rows that are compared at a time
# A cosine of 1 is a probability of 0.9, one of a half or less none, linear between them: an
# estimate, since no vectors of linked names were at hand.
MIN_COSINE, PROBABILITY_SLOPE = 0.5, 1.8


def read_vectors(path: str | Path, words: set[str]) -> tuple[dict[str, FloatArray], int]:
    """Read the vectors of some words.

    Args:
        path: A file in the text format of fastText, optionally compressed.
        words: The words wanted, in lower case.

    Returns:
        The vectors of those words that the file has, and the number of dimensions.

    Raises:
        InputError: A line that is needed is broken, or the file has no vectors.
    """
    path = Path(path)
    vectors: dict[str, FloatArray] = {}
    dimension = 0
    for block in read_text_blocks(path):
        for number, line in block.lines():
            word, _, numbers = line.rstrip().partition(" ")
            if number == 1 and word.isdecimal() and numbers.isdecimal():
                continue  # the header
            if not dimension:  # the first vector tells whether the file has any, and their size
                dimension = len(numbers.split())
                _parse_vector(numbers, dimension, path, number)
            # Files list frequent words first, so that the first of several spellings is kept.
            key = word.lower()
            if key in words and key not in vectors:
                vectors[key] = _parse_vector(numbers, dimension, path, number)
    if not dimension:
        raise InputError("holds no word vectors", path=path)
    return vectors, dimension


def _parse_vector(numbers: str, dimension: int, path: Path, line: int) -> FloatArray:
    try:
        vector = np.array(numbers.split(), dtype=np.float32)
    except ValueError:
        raise InputError("expected a word and numbers", path=path, line=line) from None
    if len(vector) != dimension or not np.isfinite(vector).all():
        problem = f"expected a word and {dimension} finite numbers, found {len(vector)}"
        raise InputError(problem, path=path, line=line)
    return vector


def compute_name_vectors(names: Sequence[str], path: str | Path) -> FloatArray:
    """Compute the mean of the vectors of each name's words; rare words weigh more.

    Args:
        names: Normalised names.
        path: A file of word vectors.

    Returns:
        A row of length 1 per name; zeros if none of its words is in the file.

    Raises:
        InputError: The file is broken.
    """
    return WeightedWords.read(names, path).embed(names)


class WeightedWords(NamedTuple):
    """The words of names, with vectors and weights.

    Attributes:
        row: The number of each word.
        vectors: The vector of each word.
        weight: How much each word tells: rare ones more.
    """

    row: Mapping[str, int]
    vectors: FloatArray
    weight: NDArray[np.float64]

    @staticmethod
    def read(names: Sequence[str], path: str | Path) -> WeightedWords:
        """Read the vectors of the words of names.

        Args:
            names: Normalised names.
            path: A file of word vectors.

        Returns:
            Those words that the file has.

        Raises:
            InputError: The file is broken.
        """
        frequency = Counter(word for name in names for word in set(split_words(name)))
        word_vectors, dimension = read_vectors(path, set(frequency))
        weight = [math.log1p(len(names) / frequency[word]) for word in word_vectors]
        vectors = np.array(list(word_vectors.values()), dtype=np.float32).reshape(-1, dimension)
        rows = {word: row for row, word in enumerate(word_vectors)}
        return WeightedWords(rows, vectors, np.array(weight))

    def embed(self, names: Sequence[str]) -> FloatArray:
        """Compute the weighted mean of the vectors of each name's words.

        Args:
            names: Normalised names.

        Returns:
            A row of length 1 per name; zeros if none of its words is known.
        """
        sums = np.zeros((len(names), self.vectors.shape[1]), dtype=np.float32)
        for position, name in enumerate(names):
            for word in split_words(name):
                row = self.row.get(word)
                if row is not None:
                    sums[position] += self.vectors[row] * float(self.weight[row])
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        return (sums / np.where(length > 0, length, 1)).astype(np.float32)


def split_words(name: str) -> list[str]:
    """Split a name into the words that have vectors.

    Args:
        name: A normalised name.

    Returns:
        Its words in lower case.
    """
    return name.lower().split()


def check_same_dimension(left: FloatArray, right: FloatArray) -> None:
    """Check that vectors of two sides can be compared.

    Args:
        left: A row per left name.
        right: A row per right name.

    Raises:
        InputError: They have different numbers of dimensions.
    """
    if left.shape[1] != right.shape[1]:
        problem = f"the word vectors have {left.shape[1]} and {right.shape[1]} numbers"
        raise InputError(f"{problem}: they must be of one space")


def match_vectors(
    left: FloatArray, right: FloatArray, neighbours: int, min_probability: float
) -> LiteralMatches:
    """Find the pairs of rows in which either is among the nearest of the other.

    Args:
        left: Rows of length 1.
        right: The same on the right.
        neighbours: How many of the nearest are kept for each row.
        min_probability: Less probable pairs are dropped.

    Returns:
        Pairs of rows with a probability that grows with their cosine.

    Raises:
        InputError: The two have different numbers of dimensions.

    Example:
        >>> match_vectors(np.eye(2, dtype="f4"), np.eye(2, dtype="f4"), 1, 0.1).to_rows()
        [(0, 0, 0.9), (1, 1, 0.9)]
    """
    check_same_dimension(left, right)
    forward = find_nearest_vectors(left, right, neighbours, min_probability)
    backward = find_nearest_vectors(right, left, neighbours, min_probability).swap_sides()
    return merge_matches([forward, backward])


def find_nearest_vectors(
    queries: FloatArray, rows: FloatArray, neighbours: int, min_probability: float
) -> LiteralMatches:
    """Find the nearest rows of some vectors.

    Args:
        queries: Rows of length 1.
        rows: Rows of length 1 among which the nearest are found.
        neighbours: How many of the nearest are kept.
        min_probability: Less probable pairs are dropped.

    Returns:
        Pairs of a query and a row.
    """
    neighbours = min(neighbours, len(rows))
    found = [LiteralMatches.empty()]
    for first in range(0, len(queries) if neighbours else 0, TILE_SIZE):
        cosine = queries[first : first + TILE_SIZE] @ rows.T
        # No order is needed, since pairs are sorted by id when they are merged.
        nearest = np.argpartition(-cosine, neighbours - 1, axis=1)[:, :neighbours]
        nearest_cosine = np.take_along_axis(cosine, nearest, axis=1)
        probability = PROBABILITY_SLOPE * (nearest_cosine - MIN_COSINE)
        query, slot = np.nonzero(probability >= min_probability)
        found.append(
            LiteralMatches.from_columns(
                first + query, nearest[query, slot], probability[query, slot]
            )
        )
    return merge_matches(found)
