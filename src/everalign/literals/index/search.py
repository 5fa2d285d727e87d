"""Search for texts similar to new ones: an inverted index that grows, with frozen weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from everalign._numba import jit_cached
from everalign.graph import IntArray
from everalign.literals.index.arrays import ArrayBundle, Rows
from everalign.literals.index.texts import NearestLimits
from everalign.literals.matches import FloatArray
from everalign.literals.ngram_index import (
    SparseMatrix,
    insert_sorted,
    invert_matrix,
)
from everalign.literals.ngrams import Starts

FIRST_OUTPUT_SIZE = 1024


@dataclass(frozen=True)
class Postings(ArrayBundle):
    """An inverted index: the texts with each feature.

    Attributes:
        start: Those of column c are at `start[c]` to `start[c + 1]`.
        row: The text of each posting.
        weight: The weight of the feature in it.
        added_column: The columns of postings since the last training, sorted.
        added_row: Their texts.
        added_weight: Their weights.
    """

    start: Starts
    row: IntArray
    weight: FloatArray
    added_column: IntArray
    added_row: IntArray
    added_weight: FloatArray

    @staticmethod
    def build(rows: SparseMatrix, column_count: int) -> Postings:
        """Invert a matrix.

        Args:
            rows: The features of each text.
            column_count: The number of columns.

        Returns:
            The index.
        """
        no_row = np.empty(0, dtype=np.int32)
        inverted = invert_matrix(rows, column_count)
        return Postings(*inverted, no_row, no_row, np.empty(0, dtype=np.float32))

    def append(self, rows: SparseMatrix, first_row: int) -> Postings:
        """Add texts.

        Args:
            rows: Their features.
            first_row: The number of the first of them.

        Returns:
            An index with them.
        """
        weighted = np.flatnonzero(rows.weight > 0)
        owner = np.repeat(np.arange(first_row, first_row + rows.row_count), np.diff(rows.start))
        order = weighted[np.argsort(rows.column[weighted], kind="stable")]
        place = np.searchsorted(self.added_column, rows.column[order], side="right")
        return Postings(
            self.start,
            self.row,
            self.weight,
            np.insert(self.added_column, place, rows.column[order]),
            np.insert(self.added_row, place, owner[order]),
            np.insert(self.added_weight, place, rows.weight[order]),
        )

    @property
    def arrays(self) -> PostingArrays:
        """The arrays for compiled functions."""
        return PostingArrays(*(getattr(self, name) for name in PostingArrays._fields))


class PostingArrays(NamedTuple):
    """The arrays of `Postings`."""

    start: Starts
    row: IntArray
    weight: FloatArray
    added_column: IntArray
    added_row: IntArray
    added_weight: FloatArray


class NearTexts(NamedTuple):
    """Texts near to those looked for.

    Attributes:
        query: The number of the text looked for, ascending.
        row: A text of the other side.
        direct: The similarity of the two as they are.
        translated: The similarity with the translation of the left one.
        best: For each text looked for, the similarity of the nearest one.
        last: That of the last one that is listed.
    """

    query: Rows
    row: Rows
    direct: FloatArray
    translated: FloatArray
    best: FloatArray
    last: FloatArray


def find_near_texts(
    queries: tuple[SparseMatrix, SparseMatrix],
    postings: tuple[Postings, Postings],
    limits: NearestLimits,
    row_count: int,
    neighbours: int,
) -> NearTexts:
    """Find the texts of the other side that are near to new ones.

    Args:
        queries: The features to look up directly and for the translation.
        postings: The indexes of the other side to look them up in.
        limits: How similar the nearest ones of the texts of the other side are. Texts behind
            them are new as well: they list nothing yet, and search for themselves.
        row_count: The number of texts of the other side.
        neighbours: How many of the nearest are kept for each text.

    Returns:
        The nearest ones of each text, and those others among whose nearest it is.
    """
    # Made here, where the system gives memory only for those texts that are met.
    scores = np.zeros((2, row_count), dtype=np.float32)
    met = np.empty(row_count + 1, dtype=np.int32)
    direct, translated = queries
    return NearTexts(
        *_collect_near(
            direct,
            translated,
            postings[0].arrays,
            postings[1].arrays,
            limits.last,
            limits.added_last,
            scores,
            met,
            neighbours,
        )
    )


@jit_cached()
def _collect_near(
    direct: SparseMatrix,
    translated: SparseMatrix,
    direct_postings: PostingArrays,
    translated_postings: PostingArrays,
    last: FloatArray,
    added_last: FloatArray,
    scores: FloatArray,
    met: IntArray,
    neighbours: int,
) -> tuple[IntArray, IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    query_count = len(direct.start) - 1
    out_query = np.empty(FIRST_OUTPUT_SIZE, dtype=np.int32)
    out_row = np.empty_like(out_query)
    out_scores = np.empty((2, FIRST_OUTPUT_SIZE), dtype=np.float32)
    best, least = np.zeros(query_count, np.float32), np.zeros(query_count, np.float32)
    nearest, similarity = np.empty(neighbours, np.int32), np.empty(neighbours, np.float32)
    used = 0
    for query in range(query_count):
        count = _add_scores(direct, query, direct_postings, scores, 0, met, 0)
        count = _add_scores(translated, query, translated_postings, scores, 1, met, count)
        similarity[:] = 0
        nearest[:] = -1
        for k in range(count):
            total = scores[0, met[k]] + scores[1, met[k]]
            if total > similarity[neighbours - 1]:
                insert_sorted(similarity, nearest, total, met[k])
        best[query], least[query] = similarity[0], similarity[neighbours - 1]
        for k in range(count):
            row = met[k]
            total = scores[0, row] + scores[1, row]
            if _is_listed(row, total, nearest, least[query], last, added_last):
                if used == len(out_query):
                    out_query, out_row = _double(out_query), _double(out_row)
                    wider = np.empty((2, 2 * used), dtype=np.float32)
                    wider[:, :used] = out_scores
                    out_scores = wider
                out_query[used], out_row[used] = query, row
                out_scores[:, used] = scores[:, row]
                used += 1
            scores[:, row] = 0
    return (
        out_query[:used],
        out_row[:used],
        out_scores[0, :used],
        out_scores[1, :used],
        best,
        least,
    )


@jit_cached()
def _add_scores(
    queries: SparseMatrix,
    query: int,
    postings: PostingArrays,
    scores: FloatArray,
    kind: int,
    met: IntArray,
    count: int,
) -> int:
    """Add up the products with all texts that share a feature; `met` lists these texts."""
    for entry in range(queries.start[query], queries.start[query + 1]):
        value, column = queries.weight[entry], queries.column[entry]
        if value == 0:
            continue
        if column + 1 < len(postings.start):
            for k in range(postings.start[column], postings.start[column + 1]):
                row = postings.row[k]
                met[count] = row  # overwritten unless new: a branch would cost more
                count += scores[0, row] + scores[1, row] == 0
                scores[kind, row] += value * postings.weight[k]
        k = np.searchsorted(postings.added_column, column)
        while k < len(postings.added_column) and postings.added_column[k] == column:
            row = postings.added_row[k]
            met[count] = row
            count += scores[0, row] + scores[1, row] == 0
            scores[kind, row] += value * postings.added_weight[k]
            k += 1
    return count


@jit_cached()
def _is_listed(
    row: int,
    total: float,
    nearest: IntArray,
    least: float,
    last: FloatArray,
    added_last: FloatArray,
) -> bool:
    """Whether a text is among the nearest of the query, or the query among its nearest."""
    if row < len(last):
        if total > last[row]:
            return True
    elif row < len(last) + len(added_last) and total > added_last[row - len(last)]:
        return True
    if total < least:
        return False
    return bool(np.any(nearest == row))


@jit_cached()
def _double(values: IntArray) -> IntArray:
    """An array of twice the length that begins with the given one."""
    wider = np.empty(2 * len(values), dtype=values.dtype)
    wider[: len(values)] = values
    return wider
