"""Rows of three ids as members of a set: what is missing, what is left, which word is the last."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign.graph.values import NO_ROWS, IntArray

Mask = NDArray[np.bool_]


def distinct(rows: IntArray) -> IntArray:
    """Each row once, in the order in which they first came."""
    return missing(NO_ROWS, rows)


def missing(known: IntArray, rows: IntArray) -> IntArray:
    """Those of the rows that are not known, each once, in their order.

    >>> known, rows = np.array([[0, 0, 1]]), np.array([[1, 0, 2], [0, 0, 1], [1, 0, 2]])
    >>> missing(known, rows).tolist()
    [[1, 0, 2]]
    """
    both = np.concatenate([known, rows])
    _, first = np.unique(_keys(both), return_index=True)
    first.sort()
    return both[first[first >= len(known)]]


def among(rows: IntArray, others: IntArray) -> Mask:
    """Which of the rows are among the others.

    >>> among(np.array([[0, 0, 1], [1, 0, 2]]), np.array([[1, 0, 2]])).tolist()
    [False, True]
    """
    keys = _keys(np.concatenate([rows, others]))
    return np.isin(keys[: len(rows)], keys[len(rows) :])


def last_words(rows: IntArray, words: NDArray[np.integer]) -> tuple[IntArray, NDArray[np.integer]]:
    """Each row once, with the last word that was said of it.

    >>> rows, words = last_words(np.array([[0, 0, 1], [1, 0, 2], [0, 0, 1]]), np.array([1, 1, 0]))
    >>> rows.tolist(), words.tolist()
    ([[1, 0, 2], [0, 0, 1]], [1, 0])
    """
    _, last = np.unique(_keys(rows)[::-1], return_index=True)
    at = np.sort(len(rows) - 1 - last)
    return rows[at], words[at]


def _keys(rows: IntArray) -> NDArray[np.int64] | NDArray[np.void]:
    """Each row as one value: a number where it fits into one, which is faster to sort."""
    sizes = rows.max(axis=0, initial=0).tolist() if len(rows) else [0, 0, 0]
    if (sizes[0] + 1) * (sizes[1] + 1) * (sizes[2] + 1) < 2**63:
        one, two, three = rows.astype(np.int64).T
        keys: NDArray[np.int64] = (one * (sizes[1] + 1) + two) * (sizes[2] + 1) + three
        return keys
    whole = np.ascontiguousarray(rows)
    return whole.view([("", whole.dtype)] * 3).ravel()
