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
from everalign.literals.translation import find_position

# Postings that are read for a text, those of its rarest features first. What is left are features
# of many texts, which tell least.
MAX_VISITS = 20_000
# If features are left, so many texts with the greatest similarity so far are compared by them.
MAX_CANDIDATES = 100
DIRECT, TRANSLATED = range(2)  # columns of scores
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
        if not len(weighted):
            return self
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
    scores = np.zeros((row_count, 2), dtype=np.float32)
    met = np.empty(row_count + 1, dtype=np.int32)
    query, row, score, best, last = _collect_near(
        queries[0],
        queries[1],
        (postings[0].arrays, postings[1].arrays),
        limits.last,
        limits.added_last,
        scores,
        met,
        neighbours,
    )
    return NearTexts(query, row, score[:, DIRECT], score[:, TRANSLATED], best, last)


class _Entries(NamedTuple):
    """The features of one text that is looked for, and where their postings are."""

    value: FloatArray
    kind: IntArray
    first: Starts
    end: Starts
    added_first: Starts
    added_end: Starts


@jit_cached()
def _collect_near(
    direct: SparseMatrix,
    translated: SparseMatrix,
    postings: tuple[PostingArrays, PostingArrays],
    last: FloatArray,
    added_last: FloatArray,
    scores: FloatArray,
    met: IntArray,
    neighbours: int,
) -> tuple[IntArray, IntArray, FloatArray, FloatArray, FloatArray]:
    query_count = len(direct.start) - 1
    out_query = np.empty(FIRST_OUTPUT_SIZE, dtype=np.int32)
    out_row = np.empty(FIRST_OUTPUT_SIZE, dtype=np.int32)
    out_scores = np.empty((FIRST_OUTPUT_SIZE, 2), dtype=np.float32)
    best, least = np.zeros(query_count, np.float32), np.zeros(query_count, np.float32)
    similarity, nearest = np.empty(neighbours, np.float32), np.empty(neighbours, np.int32)
    used = 0
    for query in range(query_count):
        entries = _list_entries(direct, translated, *postings, query)
        length = entries.end - entries.first + entries.added_end - entries.added_first
        # Those first that add most to a similarity for each posting that is read.
        order = np.argsort(length / np.maximum(entries.value, np.float32(1e-6)))
        read, count = _read_rarest(entries, order, length, *postings, scores, met)
        candidates = met[:count]
        if read < len(order):
            candidates = _keep_best(scores, candidates, MAX_CANDIDATES)
            _complete_scores(entries, order[read:], *postings, scores, candidates)
        similarity[:], nearest[:] = 0, -1
        for row in candidates:
            total = scores[row, DIRECT] + scores[row, TRANSLATED]
            if total > similarity[neighbours - 1]:
                insert_sorted(similarity, nearest, total, row)
        best[query], least[query] = similarity[0], similarity[neighbours - 1]
        for row in candidates:
            total = scores[row, DIRECT] + scores[row, TRANSLATED]
            if _is_listed(row, total, nearest, least[query], last, added_last):
                if used == len(out_query):
                    out_query, out_row = _double(out_query), _double(out_row)
                    out_scores = np.concatenate((out_scores, np.empty_like(out_scores)))
                out_query[used], out_row[used] = query, row
                out_scores[used] = scores[row]
                used += 1
        for k in range(count):
            scores[met[k], DIRECT] = scores[met[k], TRANSLATED] = 0
    return out_query[:used], out_row[:used], out_scores[:used], best, least


@jit_cached()
def _list_entries(
    direct: SparseMatrix,
    translated: SparseMatrix,
    direct_postings: PostingArrays,
    translated_postings: PostingArrays,
    query: int,
) -> _Entries:
    direct_count = direct.start[query + 1] - direct.start[query]
    count = direct_count + translated.start[query + 1] - translated.start[query]
    value, kind = np.empty(count, np.float32), np.zeros(count, np.int32)
    bounds = np.zeros((4, count), dtype=np.int64)
    for k in range(count):
        is_direct = k < direct_count
        postings = direct_postings if is_direct else translated_postings
        queries = direct if is_direct else translated
        entry = queries.start[query] + (k if is_direct else k - direct_count)
        value[k], column = queries.weight[entry], queries.column[entry]
        kind[k] = DIRECT if is_direct else TRANSLATED
        if value[k] > 0 and column + 1 < len(postings.start):
            bounds[0, k], bounds[1, k] = postings.start[column], postings.start[column + 1]
        if value[k] > 0:
            bounds[2, k] = np.searchsorted(postings.added_column, column)
            bounds[3, k] = np.searchsorted(postings.added_column, column, side="right")
    return _Entries(value, kind, bounds[0], bounds[1], bounds[2], bounds[3])


@jit_cached()
def _read_rarest(
    entries: _Entries,
    order: Starts,
    length: Starts,
    direct_postings: PostingArrays,
    translated_postings: PostingArrays,
    scores: FloatArray,
    met: IntArray,
) -> tuple[int, int]:
    """Read postings while there are not too many; returns how many features were read, and how
    many texts are in `met`."""
    visits, count, read = 0, 0, 0
    for k in order:
        visits += length[k]
        if visits > MAX_VISITS and count > 0:
            break
        kind, value = entries.kind[k], entries.value[k]
        postings = direct_postings if kind == DIRECT else translated_postings
        for posting in range(entries.first[k], entries.end[k]):
            row = postings.row[posting]
            met[count] = row  # overwritten unless new: a branch would cost more
            count += scores[row, DIRECT] + scores[row, TRANSLATED] == 0
            scores[row, kind] += value * postings.weight[posting]
        for posting in range(entries.added_first[k], entries.added_end[k]):
            row = postings.added_row[posting]
            met[count] = row
            count += scores[row, DIRECT] + scores[row, TRANSLATED] == 0
            scores[row, kind] += value * postings.added_weight[posting]
        read += 1
    return read, count


@jit_cached()
def _keep_best(scores: FloatArray, rows: IntArray, limit: int) -> IntArray:
    """The rows with the greatest scores, sorted by row."""
    values, best = np.zeros(limit, np.float32), np.full(limit, -1, np.int32)
    for row in rows:
        total = scores[row, DIRECT] + scores[row, TRANSLATED]
        if total > values[limit - 1]:
            insert_sorted(values, best, total, row)
    return np.sort(best[: min(limit, len(rows))])


@jit_cached()
def _complete_scores(
    entries: _Entries,
    left_over: Starts,
    direct_postings: PostingArrays,
    translated_postings: PostingArrays,
    scores: FloatArray,
    rows: IntArray,
) -> None:
    """Add the features that were not read, for some rows; these and postings are sorted."""
    for k in left_over:
        kind, value = entries.kind[k], entries.value[k]
        postings = direct_postings if kind == DIRECT else translated_postings
        place, end = entries.first[k], entries.end[k]
        added_place, added_end = entries.added_first[k], entries.added_end[k]
        for row in rows:
            place = find_position(postings.row, place, end, row)
            if place < end and postings.row[place] == row:
                scores[row, kind] += value * postings.weight[place]
            added_place = find_position(postings.added_row, added_place, added_end, row)
            if added_place < added_end and postings.added_row[added_place] == row:
                scores[row, kind] += value * postings.added_weight[added_place]


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
    return total >= least and bool(np.any(nearest == row))


@jit_cached()
def _double(values: IntArray) -> IntArray:
    """An array of twice the length that begins with the given one."""
    return np.concatenate((values, np.empty_like(values)))
