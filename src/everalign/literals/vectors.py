"""Word vectors in fastText's text form → a vector for each name.

The file's first line may tell how many words and numbers there are; each other line has a word
and its numbers, separated by spaces. It is read line by line, and only words that names have are
kept, so that a file of several gigabytes needs little memory.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from everalign.errors import InputError
from everalign.literals.matches import Floats32, ValueMatches, best_of
from everalign.rdf.opening import text_blocks

TILE = 1024  # rows that are compared at a time


def read_vectors(path: str | Path, words: set[str]) -> tuple[dict[str, Floats32], int]:
    """The vectors of those of the words that the file has, in small letters, and their size."""
    path = Path(path)
    found: dict[str, Floats32] = {}
    size = 0
    for block in text_blocks(path):
        for number, line in block.lines():
            word, _, numbers = line.rstrip().partition(" ")
            if number == 1 and _is_header(word, numbers):
                continue
            if not size:  # the first vector tells whether the file has any, and their size
                size = len(numbers.split())
                _vector(numbers, size, path, number)
            key = word.lower()
            if key in words and key not in found:
                found[key] = _vector(numbers, size, path, number)
    if not size:
        raise InputError("holds no word vectors", path=path)
    return found, size


def _is_header(word: str, numbers: str) -> bool:
    return word.isdecimal() and numbers.isdecimal()


def _vector(numbers: str, size: int, path: Path, line: int) -> Floats32:
    try:
        vector = np.array(numbers.split(), dtype=np.float32)
    except ValueError:
        raise InputError("expected a word and numbers", path=path, line=line) from None
    if len(vector) != size or not np.isfinite(vector).all():
        problem = f"expected a word and {size} finite numbers, found {len(vector)}"
        raise InputError(problem, path=path, line=line)
    return vector


def name_vectors(names: Sequence[str], path: str | Path) -> Floats32:
    """The mean vector of each name's words, in which rare words count more; 0 if none is known.

    A row per name, of length 1 (or 0).
    """
    split = [name.lower().split() for name in names]
    count = Counter(word for words in split for word in set(words))
    known, size = read_vectors(path, set(count))
    vectors = np.zeros((len(names), size), dtype=np.float32)
    for row, words in enumerate(split):
        for word in words:
            if word in known:
                vectors[row] += known[word] * math.log1p(len(names) / count[word])
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(length > 0, length, 1)).astype(np.float32)


def refuse_other_space(left: Floats32, right: Floats32) -> None:
    """Vectors of different sizes cannot be compared."""
    if left.shape[1] != right.shape[1]:
        problem = f"the word vectors have {left.shape[1]} and {right.shape[1]} numbers"
        raise InputError(f"{problem}: they must be of one space")


def near_vectors(left: Floats32, right: Floats32, kept: int, least: float) -> ValueMatches:
    """The pairs of rows of length 1 in which one is among the `kept` nearest of the other.

    A cosine of 1 is a probability of 0.9, one of a half or less none. What is less likely than
    `least` is left out.

    >>> near_vectors(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), 1, 0.1).rows()
    [(0, 0, 0.9), (1, 1, 0.9)]
    """
    refuse_other_space(left, right)
    return best_of(
        [_nearest(left, right, kept, least), _nearest(right, left, kept, least).turned()]
    )


def _nearest(mine: Floats32, theirs: Floats32, kept: int, least: float) -> ValueMatches:
    kept = min(kept, len(theirs))
    parts = [ValueMatches.none()]
    for first in range(0, len(mine) if kept else 0, TILE):
        cosine = mine[first : first + TILE] @ theirs.T
        column = np.argpartition(-cosine, kept - 1, axis=1)[:, :kept]
        chance = 1.8 * (np.take_along_axis(cosine, column, axis=1) - 0.5)
        row, place = np.nonzero(chance >= least)
        parts.append(ValueMatches.of(first + row, column[row, place], chance[row, place]))
    return best_of(parts)
