"""Texts as hashes: of their n-grams and words, and of whole texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.graph import IntArray

Hashes: TypeAlias = NDArray[np.int64]
Starts: TypeAlias = NDArray[np.int64]

WHOLE_WORDS = 0  # in place of a length: words instead of n-grams


class TextFeatures(NamedTuple):
    """The features of texts as parallel arrays, an entry per occurrence.

    Attributes:
        row: The number of the text.
        feature: The hash of the feature.
    """

    row: IntArray
    feature: Hashes


def extract_ngrams(texts: Sequence[str], length: int, salt: int) -> TextFeatures:
    """Hash the n-grams of the words of each text, with a space before and after each word.

    Args:
        texts: Normalised texts.
        length: The number of characters, or `WHOLE_WORDS`.
        salt: Features with different salts are different.

    Returns:
        An entry per n-gram, in the order of the texts.

    Example:
        >>> features = extract_ngrams(["ab b", "b"], 2, salt=1)
        >>> features.row.tolist()  # " a", "ab", "b ", " b", "b "; " b", "b "
        [0, 0, 0, 0, 0, 1, 1]
        >>> len(set(features.feature.tolist()))
        4
    """
    codes, start = _list_characters([f" {text} " for text in texts])
    row, hashes = np.empty(len(codes), dtype=np.int32), np.empty(len(codes), dtype=np.int64)
    count = _hash_ngrams(codes, start, length, salt, row, hashes)
    return TextFeatures(row[:count], hashes[:count])


def hash_texts(texts: Sequence[str]) -> Hashes:
    """Hash whole texts, the same in every process.

    Args:
        texts: The texts.

    Returns:
        A hash per text, of 64 bits: of ten million texts, two have the same with a probability of
        three in a million.
    """
    codes, start = _list_characters(texts)
    hashes = np.empty(len(texts), dtype=np.int64)
    _hash_ranges(codes, start, hashes)
    return hashes


def concatenate_features(parts: Sequence[TextFeatures]) -> TextFeatures:
    """Put features of several kinds of the same texts together.

    Args:
        parts: The features, one set per kind.

    Returns:
        All of them.
    """
    return TextFeatures(
        np.concatenate([part.row for part in parts]),
        np.concatenate([part.feature for part in parts]),
    )


def _list_characters(texts: Sequence[str]) -> tuple[NDArray[np.uint32], Starts]:
    """The characters of all texts, and where each text begins."""
    # One number per character, so that compiled code can index characters; "replace" for lone
    # surrogates, which escapes in a file can make.
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "replace"), dtype=np.uint32)
    start = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=start[1:])
    return codes, start


@jit_cached()
def _hash_ngrams(
    codes: NDArray[np.uint32],
    start: Starts,
    length: int,
    salt: int,
    row: IntArray,
    hashes: Hashes,
) -> int:
    """Fill `row` and `hashes`; returns how many entries there are (FNV-1a with extra mixing)."""
    count = 0
    for text in range(len(start) - 1):
        end = start[text + 1]
        for first in range(start[text], end):
            last = _find_ngram_end(codes, first, end, length)
            if last > first:
                row[count] = text
                hashes[count] = _hash_range(codes, first, last, salt)
                count += 1
    return count


@jit_cached()
def _hash_ranges(codes: NDArray[np.uint32], start: Starts, hashes: Hashes) -> None:
    for text in range(len(hashes)):
        hashes[text] = _hash_range(codes, start[text], start[text + 1], 0)


@jit_cached(inline="always")
def _hash_range(codes: NDArray[np.uint32], first: int, last: int, salt: int) -> np.int64:
    value = np.int64(salt + 1)
    for position in range(first, last):
        value = (value ^ np.int64(codes[position])) * np.int64(1099511628211)
        value ^= value >> np.int64(29)
    return value


@jit_cached(inline="always")
def _find_ngram_end(codes: NDArray[np.uint32], first: int, end: int, length: int) -> int:
    """Where the n-gram that starts at `first` ends; `first` itself if none starts there."""
    if length == 0:  # a word, from the space before it on
        last = first + 1
        while last < end and codes[last] != 32:
            last += 1
        return last if codes[first] == 32 and last > first + 1 else first
    last = first + length
    if last > end or (codes[first] == 32 and (length == 1 or codes[first + 1] == 32)):
        return first
    for position in range(first + 1, last - 1):
        if codes[position] == 32:
            return first
    return last
