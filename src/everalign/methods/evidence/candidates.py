"""Tables of pairs: candidates, their match probabilities and competitors, the selected ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.cardinality import Cardinality
from everalign.graph import IntArray
from everalign.matching import mark_listed_pairs
from everalign.methods.evidence.adjacency import (
    BoolArray,
    FloatArray,
    OffsetArray,
    find_first,
)
from everalign.methods.evidence.sorting import sort_stably

LEFT, RIGHT = range(2)  # sides

# Columns of `rank_competitors`.
BEST_OTHER, SHARE, RANK, COUNT = range(4)

# Below this many rows, counting the better ones is faster than sorting.
MIN_SORTED_ROWS = 32


class CandidateTable(NamedTuple):
    """Candidate pairs, sorted by left and then by right id.

    Attributes:
        left: Left entity of each row.
        right: Right entity of each row.
        left_start: The rows of left entity x are those from `left_start[x]` to
            `left_start[x + 1]`.
        right_start: The same for right entities and the rows in `right_order`.
        right_order: The rows, sorted by right entity.
    """

    left: IntArray
    right: IntArray
    left_start: OffsetArray
    right_start: OffsetArray
    right_order: OffsetArray

    @staticmethod
    def from_pairs(
        left: NDArray[np.integer], right: NDArray[np.integer], sizes: tuple[int, int]
    ) -> CandidateTable:
        """Build the table of pairs in any order; repeated pairs are kept once.

        Args:
            left: Left entities.
            right: Right entities.
            sizes: Number of left and right entities.

        Returns:
            The table.

        Example:
            >>> pairs = np.array([1, 0, 1]), np.array([0, 2, 0])
            >>> table = CandidateTable.from_pairs(*pairs, (2, 3))
            >>> table.left.tolist(), table.right.tolist()
            ([0, 1], [2, 0])
        """
        # Copied: compiled code is there for arrays that may be written alone.
        ids = np.array(left, dtype=np.int32), np.array(right, dtype=np.int32)
        pairs = _sort_pairs(*ids, _count_offsets(ids[LEFT], sizes[LEFT]))
        return CandidateTable._from_sorted(*pairs, sizes)

    @staticmethod
    def _from_sorted(left: IntArray, right: IntArray, sizes: tuple[int, int]) -> CandidateTable:
        """Build the table of distinct pairs that are sorted by left and then by right id."""
        right_start = _count_offsets(right, sizes[1])
        return CandidateTable(
            left,
            right,
            _count_offsets(left, sizes[0]),
            right_start,
            _sort_rows(right, right_start),
        )

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of left and right entities."""
        return len(self.left_start) - 1, len(self.right_start) - 1

    def find_rows(
        self, left: NDArray[np.integer], right: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Find the rows of some pairs.

        Args:
            left: Left entities.
            right: Right entities, as many.

        Returns:
            The row of each pair; -1 for pairs that are not in the table.
        """
        return _find_rows(
            self.left_start, self.right, left.astype(np.int64), right.astype(np.int64)
        )

    def select_rows(self, keep: BoolArray) -> CandidateTable:
        """Select some rows.

        Args:
            keep: Which rows to keep.

        Returns:
            The table of these rows, in the same order.
        """
        return CandidateTable._from_sorted(self.left[keep], self.right[keep], self.sizes)


class MatchProbabilities(NamedTuple):
    """The current match probability P(x ≡ x') of each row of a table.

    Attributes:
        table: Candidates.
        probability: Match probability of each.
    """

    table: CandidateTable
    probability: FloatArray

    @staticmethod
    def from_pairs(
        left: NDArray[np.integer],
        right: NDArray[np.integer],
        probability: FloatArray,
        sizes: tuple[int, int],
    ) -> MatchProbabilities:
        """Build the probabilities of pairs.

        Args:
            left: Left entities; pairs are distinct and sorted by left and then by right id.
            right: Right entities.
            probability: Match probability of each pair.
            sizes: Number of left and right entities.

        Returns:
            The pairs as a table, with their probabilities.
        """
        return MatchProbabilities(CandidateTable.from_pairs(left, right, sizes), probability)

    @staticmethod
    def empty(sizes: tuple[int, int]) -> MatchProbabilities:
        """Build the probabilities of no pair.

        Args:
            sizes: Number of left and right entities.

        Returns:
            An empty table without probabilities.
        """
        no_ids = np.empty(0, dtype=np.int32)
        return MatchProbabilities.from_pairs(no_ids, no_ids, np.empty(0, np.float32), sizes)

    def look_up(self, table: CandidateTable) -> FloatArray:
        """Look up the probabilities of the pairs of another table.

        Args:
            table: The other table.

        Returns:
            A probability for each of its rows; 0 for unknown pairs. Not to be changed.
        """
        if table is self.table:
            return self.probability
        rows = self.table.find_rows(table.left, table.right)
        # Row -1 is the appended 0.
        return np.append(self.probability, np.float32(0))[rows]

    def drop_pairs(self, pairs: IntArray) -> MatchProbabilities:
        """Leave out some pairs.

        Args:
            pairs: Rows of (left, right), in the table or not.

        Returns:
            The probabilities of the other pairs.
        """
        if not len(pairs):
            return self
        keep = ~mark_listed_pairs(self.table.left, self.table.right, pairs)
        return MatchProbabilities(self.table.select_rows(keep), self.probability[keep])

    def select_at_least(self, min_probability: float) -> MatchProbabilities:
        """Select the most probable pairs.

        Args:
            min_probability: Less probable pairs are left out.

        Returns:
            The selected pairs and their probabilities.
        """
        keep = self.probability >= min_probability
        return MatchProbabilities(self.table.select_rows(keep), self.probability[keep])


def _count_offsets(entity: NDArray[np.integer], entity_count: int) -> OffsetArray:
    offsets = np.zeros(entity_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(entity, minlength=entity_count), out=offsets[1:])
    return offsets


@jit_cached()
def _sort_pairs(
    left: IntArray, right: IntArray, left_start: OffsetArray
) -> tuple[IntArray, IntArray]:
    """Sort pairs by left and then by right id, each pair once.

    `left_start` tells how often each left id comes, with repeated pairs.
    """
    # By counting, and then the few of each left entity: most come nearly sorted, so that memory is
    # read and written in order.
    sorted_right = np.empty(left.size, dtype=np.int32)
    place = left_start.copy()
    for n in range(left.size):
        sorted_right[place[left[n]]] = right[n]
        place[left[n]] += 1
    sorted_left = np.empty(left.size, dtype=np.int32)
    count = 0
    for x in range(left_start.size - 1):
        ids = sorted_right[left_start[x] : left_start[x + 1]]
        if ids.size > MIN_SORTED_ROWS:
            ids[:] = ids[sort_stably(ids.astype(np.float64))]
        for n in range(1, ids.size):
            moved, k = ids[n], n
            while k > 0 and ids[k - 1] > moved:
                ids[k] = ids[k - 1]
                k -= 1
            ids[k] = moved
        for n in range(ids.size):
            if n == 0 or ids[n] != sorted_right[count - 1]:
                # Not behind where it is read: what is kept moves forward.
                sorted_left[count], sorted_right[count] = x, ids[n]
                count += 1
    # Copied, since up to half of the pairs are repeated ones, whose memory would be kept.
    return sorted_left[:count].copy(), sorted_right[:count].copy()


@jit_cached()
def _find_rows(
    start: OffsetArray, table_right: IntArray, left: OffsetArray, right: OffsetArray
) -> OffsetArray:
    rows = np.empty(left.size, dtype=np.int64)
    for n in range(left.size):
        rows[n] = -1
        if left[n] < start.size - 1:
            end = start[left[n] + 1]
            row = find_first(table_right, start[left[n]], end, right[n])
            if row < end and table_right[row] == right[n]:
                rows[n] = row
    return rows


@jit_cached()
def _sort_rows(entity: IntArray, start: OffsetArray) -> OffsetArray:
    """Sort the rows by entity: a counting sort, since the offsets are known."""
    order = np.empty(entity.size, dtype=np.int64)
    # Rows of one entity stay in order, so that the first one wins a tie from either side.
    place = start.copy()
    for row in range(entity.size):
        order[place[entity[row]]] = row
        place[entity[row]] += 1
    return order


def rank_competitors(
    table: CandidateTable, score: FloatArray, side: int, entities: OffsetArray | None = None
) -> FloatArray:
    """Compare the score of each row with its competitors: the other rows of the same entity.

    Args:
        table: The candidates.
        score: A score for each.
        side: LEFT to compare the candidates of a left entity, RIGHT those of a right one.
        entities: Entities whose rows are wanted, the others are left open; by default all.

    Returns:
        For each row the best score of another row (BEST_OTHER), its share of the sum (SHARE), the
        number of better rows (RANK), and the number of rows (COUNT).

    Example:
        >>> pairs = np.array([0, 0, 1]), np.array([0, 1, 1])
        >>> table = CandidateTable.from_pairs(*pairs, (2, 2))
        >>> rank_competitors(table, np.array([3, 1, 2], dtype=np.float32), LEFT).tolist()
        [[1.0, 0.75, 0.0, 2.0], [3.0, 0.25, 1.0, 2.0], [0.0, 1.0, 0.0, 1.0]]
    """
    out = np.empty((len(score), 4), dtype=np.float32)
    groups = _group_rows(table, side)
    _rank_rows(_list_entities(groups, entities), *groups, score, out)
    return out


def mark_best(table: CandidateTable, score: FloatArray, side: int) -> BoolArray:
    """Mark the best row of each entity; of equal ones, the first.

    Args:
        table: The candidates.
        score: A score for each.
        side: LEFT to look at the candidates of a left entity, RIGHT at those of a right one.

    Returns:
        A mask over the rows; one row for each entity that has any.
    """
    out = np.zeros(len(score), dtype=np.bool_)
    _mark_best_rows(*_group_rows(table, side), score, out)
    return out


def find_best_other(
    table: CandidateTable, score: FloatArray, side: int, entities: OffsetArray | None = None
) -> FloatArray:
    """Find the best score among the competitors of each row.

    Args:
        table: The candidates.
        score: A score for each.
        side: LEFT to look at the candidates of a left entity, RIGHT at those of a right one.
        entities: Entities whose rows are wanted; by default all.

    Returns:
        For each row the best score of another row of its entity; 0 where it is alone or not
        wanted.
    """
    out = np.zeros(len(score), dtype=np.float32)
    groups = _group_rows(table, side)
    _fill_best_other(_list_entities(groups, entities), *groups, score, out)
    return out


def _list_entities(
    groups: tuple[OffsetArray, OffsetArray], entities: OffsetArray | None
) -> OffsetArray:
    return np.arange(len(groups[0]) - 1) if entities is None else entities


def _group_rows(table: CandidateTable, side: int) -> tuple[OffsetArray, OffsetArray]:
    if side == LEFT:
        return table.left_start, np.arange(len(table.left))
    return table.right_start, table.right_order


@jit_cached()
def _mark_best_rows(
    start: OffsetArray, order: OffsetArray, score: FloatArray, out: BoolArray
) -> None:
    for entity in range(start.size - 1):
        best = -1
        for row in order[start[entity] : start[entity + 1]]:
            if best < 0 or score[row] > score[best]:
                best = row
        if best >= 0:
            out[best] = True


@jit_cached()
def _fill_best_other(
    entities: OffsetArray,
    start: OffsetArray,
    order: OffsetArray,
    score: FloatArray,
    out: FloatArray,
) -> None:
    for entity in entities:
        rows = order[start[entity] : start[entity + 1]]
        # Scores may be negative (rarity is), so that 0 would not do as a start.
        best, second = -np.inf, -np.inf
        for row in rows:
            if score[row] > best:
                best, second = score[row], best
            elif score[row] > second:
                second = score[row]
        for row in rows:
            # With two equal best scores, `second` equals `best`.
            other = second if score[row] == best else best
            out[row] = other if rows.size > 1 else 0


@jit_cached()
def _rank_rows(
    entities: OffsetArray,
    start: OffsetArray,
    order: OffsetArray,
    score: FloatArray,
    out: FloatArray,
) -> None:
    # The scores of one entity follow each other here: its rows may be anywhere.
    of_rows = np.empty(find_most(start), dtype=np.float32)
    for entity in entities:
        rows = order[start[entity] : start[entity + 1]]
        scores = of_rows[: rows.size]
        total = np.float32(0)
        first, second = -1, -1
        for n in range(rows.size):
            scores[n] = score[rows[n]]
            total += scores[n]
            if first < 0 or scores[n] > scores[first]:
                first, second = n, first
            elif second < 0 or scores[n] > scores[second]:
                second = n
        _fill_ranks(rows, scores, out)
        # Of the best row the second best is the best other one, of all others the best.
        for n in range(rows.size):
            other = second if n == first else first
            row = rows[n]
            out[row, BEST_OTHER] = scores[other] if other >= 0 else 0
            out[row, SHARE] = scores[n] / total if total != 0 else 0
            out[row, COUNT] = rows.size


@jit_cached()
def find_most(start: OffsetArray) -> int:
    """Find how many values an entity has at most.

    Args:
        start: The values of entity n are those from `start[n]` to `start[n + 1]`.

    Returns:
        The greatest number of values.
    """
    most = 0
    for n in range(start.size - 1):
        most = max(most, start[n + 1] - start[n])
    return most


@jit_cached()
def _fill_ranks(rows: OffsetArray, scores: FloatArray, out: FloatArray) -> None:
    """Rank by score. Equal ones have the same rank: only ids tell them apart, and say nothing."""
    if rows.size > MIN_SORTED_ROWS:
        ranked = sort_stably(-scores.astype(np.float64))
        out[rows[ranked[0]], RANK] = 0
        for rank in range(1, rows.size):
            row, before = ranked[rank], ranked[rank - 1]
            is_equal = scores[row] == scores[before]
            out[rows[row], RANK] = out[rows[before], RANK] if is_equal else rank
        return
    for n in range(rows.size):
        better = 0
        for other in range(rows.size):
            better += scores[other] > scores[n]
        out[rows[n], RANK] = better


def share_out(
    probability: FloatArray,
    totals: Sequence[NDArray[Any]],
    cardinality: Cardinality,
) -> NDArray[np.float64]:
    """Share the probability of an entity out over its pairs, if it has one counterpart at most.

    Args:
        probability: Match probability of each pair.
        totals: For each pair, the sum over all pairs of its left and of its right entity.
        cardinality: On which sides the pairs of an entity exclude each other.

    Returns:
        The probabilities, of which those of an entity of a unique side sum to 1 at most.

    Example:
        >>> totals = np.array([1.6, 1.6]), np.array([0.8, 0.8])
        >>> share_out(np.array([0.8, 0.8]), totals, Cardinality.ONE_TO_MANY).tolist()
        [0.8, 0.8]
        >>> share_out(np.array([0.8, 0.8]), totals, Cardinality.MANY_TO_ONE).tolist()
        [0.5, 0.5]
    """
    unique = cardinality.unique_sides
    limits = [total for total, is_unique in zip(totals, unique, strict=True) if is_unique]
    return probability / np.maximum(1, reduce(np.maximum, limits, np.ones(len(probability))))


def select_pairs(
    table: CandidateTable,
    score: FloatArray,
    cardinality: Cardinality = Cardinality.ONE_TO_ONE,
) -> NDArray[np.int64]:
    """Select rows greedily: the best pair, then the best of what is still possible, and so on.

    Args:
        table: The candidates.
        score: A score for each; of equal ones, the first row wins.
        cardinality: What the selected pairs have to satisfy.

    Returns:
        The selected rows in order; each entity of a unique side is in one of them at most.
    """
    if not any(cardinality.unique_sides):
        return np.arange(len(score))
    # The row number as second key makes the order of equal scores certain.
    order = np.lexsort((np.arange(len(score)), -score))
    unique = cardinality.unique_sides
    return np.sort(_take_greedily(table.left, table.right, order, *table.sizes, *unique))


@jit_cached()
def _take_greedily(
    left: IntArray,
    right: IntArray,
    order: OffsetArray,
    left_count: int,
    right_count: int,
    unique_left: bool,
    unique_right: bool,
) -> OffsetArray:
    left_free = np.ones(left_count, dtype=np.bool_)
    right_free = np.ones(right_count, dtype=np.bool_)
    selected = np.empty(order.size, dtype=np.int64)
    count = 0
    for row in order:
        if left_free[left[row]] and right_free[right[row]]:
            left_free[left[row]] = not unique_left
            right_free[right[row]] = not unique_right
            selected[count] = row
            count += 1
    return selected[:count]
