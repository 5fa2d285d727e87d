"""The candidates and matches of an alignment, in blocks that an update can rewrite.

The rows of a left entity are a block, sorted by right entity; an index has the left entities of
each right one. The matches that are evidence for others are derived from the match probabilities
and kept in the same way, by left and by right node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.cardinality import Cardinality
from everalign.graph import IntArray
from everalign.graph.growing import (
    GrowingColumns,
    Offsets,
    list_block_rows,
    pack_blocks,
    place_blocks,
    repeat_keys,
)
from everalign.graph.id_sets import mark_members, union_ids, unique_ids
from everalign.methods.evidence.adjacency import BoolArray, FloatArray, find_first
from everalign.methods.evidence.candidates import share_out
from everalign.methods.evidence.hashing import number_distinct
from everalign.methods.evidence.relations import Matches, MatchIndex

# What each group of features adds to the match probability, in the order of the groups; see
# `contributions`.
CONTRIBUTION_COLUMNS = ("neighbours_contribution", "names_contribution", "rivals_contribution")
# What is known of each candidate besides its two entities.
ROW_COLUMNS: Mapping[str, type[np.generic]] = {
    "probability": np.float32,  # match probability
    "support": np.float32,
    "joint_frequency_left": np.float32,
    "joint_frequency_right": np.float32,
    "dangling": np.float32,  # probability that one of the two is dangling, if half of all were
    "confidence": np.float32,
    "earlier_confidence": np.float32,  # before the last training; see `keep_earlier`
    "level": np.int32,  # how many steps of evidence lead to an anchor; see `grounding`
    "selected": np.bool_,  # by the cardinality of links
    **dict.fromkeys(CONTRIBUTION_COLUMNS, np.float32),
}
# What speaks for a candidate; it has lost evidence if one of these falls.
EVIDENCE_COLUMNS = ("support", "best_literal", "name_similarity")
# The same where the graphs have literals: what the features of competitors need.
LITERAL_ROW_COLUMNS: Mapping[str, type[np.generic]] = {
    "best_literal": np.float32,
    "name_similarity": np.float32,
    "word_cosine": np.float32,
    "code_overlap": np.float32,
    "rarest_word": np.float32,
    "right_explained": np.float32,
    "left_explained": np.float32,
}

Row = NDArray[np.int64]


class Pairs(NamedTuple):
    """Some rows of the store with their entities, sorted by left and then by right id."""

    row: Row
    left: Offsets
    right: Offsets


class SideIndex(NamedTuple):
    """Blocks by entity or node: the first row of each, and the row after the last one."""

    start: Offsets
    stop: Offsets

    @staticmethod
    def from_sorted(keys: NDArray[np.integer], key_count: int) -> SideIndex:
        """Index rows that are sorted by key.

        Args:
            keys: The key of each row.
            key_count: Number of keys that there is room for.

        Returns:
            The index.
        """
        end = np.cumsum(np.bincount(keys, minlength=key_count))
        return SideIndex(np.append(0, end[:-1]).astype(np.int64), end.astype(np.int64))

    def extend(self, key_count: int) -> SideIndex:
        """Make room for more keys.

        Args:
            key_count: Number of keys.

        Returns:
            A copy in which the blocks of new keys are empty.
        """
        zeros = np.zeros(key_count - len(self.start), dtype=np.int64)
        return SideIndex(np.append(self.start, zeros), np.append(self.stop, zeros))


class BlockHistory:
    """Where the blocks of keys were before they were first rewritten.

    Old rows stay where they were, so that what changed can be seen by comparing the two.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[Offsets, Offsets, Offsets]] = []

    def record(self, index: SideIndex, keys: Offsets) -> None:
        """Note where blocks are now, just before they are rewritten.

        Args:
            index: The blocks.
            keys: The keys whose blocks are rewritten.
        """
        self._parts.append((keys, index.start[keys], index.stop[keys]))

    def collect(self) -> tuple[Offsets, SideIndex]:
        """Collect what was recorded, and forget it.

        Returns:
            The keys, ascending and distinct, and the first places of their blocks.
        """
        nothing = np.empty(0, dtype=np.int64)
        parts = zip((nothing, nothing, nothing), *self._parts, strict=True)
        keys, start, stop = (np.concatenate(column) for column in parts)
        self._parts = []
        # The first record of a key has its oldest place.
        keys, first = np.unique(keys, return_index=True)
        return keys, SideIndex(start[first], stop[first])


class CandidateStore:
    """Candidate pairs with everything that is known of them.

    Args:
        rows: `right` and the columns of `ROW_COLUMNS`, in blocks by left entity.
        by_left: The blocks of left entities.
        lefts: The column `left`: the left entities of each right one, ascending.
        by_right: The blocks of right entities in `lefts`.
    """

    def __init__(
        self, rows: GrowingColumns, by_left: SideIndex, lefts: GrowingColumns, by_right: SideIndex
    ) -> None:
        self.rows = rows
        self.by_left = by_left
        self.lefts = lefts
        self.by_right = by_right
        self.history = BlockHistory()

    @staticmethod
    def from_columns(
        left: IntArray,
        right: IntArray,
        columns: Mapping[str, NDArray[Any]],
        capacities: tuple[int, int],
    ) -> CandidateStore:
        """Build the store of candidates that are sorted by left and then by right id.

        Args:
            left: Left entity of each.
            right: Right entity of each.
            columns: What is known of them, by name.
            capacities: Numbers of left and right entities to make room for.

        Returns:
            The store.
        """
        order = np.argsort(right, kind="stable")
        return CandidateStore(
            GrowingColumns.from_arrays({"right": right, **columns}),
            SideIndex.from_sorted(left, capacities[0]),
            GrowingColumns.from_arrays({"left": left[order]}),
            SideIndex.from_sorted(right, capacities[1]),
        )

    def pack(self) -> CandidateStore:
        """Build the store again without rows that are no longer in use.

        Returns:
            The same candidates.
        """
        rows, *by_left = pack_blocks(self.rows, *self.by_left)
        lefts, *by_right = pack_blocks(self.lefts, *self.by_right)
        return CandidateStore(rows, SideIndex(*by_left), lefts, SideIndex(*by_right))

    def column(self, name: str) -> NDArray[Any]:
        """Return a column; not valid after the next change of the store.

        Args:
            name: Name of the column.

        Returns:
            The values of all rows, those that are no longer in use among them.
        """
        return self.rows[name]

    def get_earlier_confidence(self, rows: Row) -> FloatArray:
        """Return the confidence of candidates before the last training.

        Args:
            rows: Rows of candidates.

        Returns:
            Their confidence; 0 for those that were none, or have lost evidence since.
        """
        if "earlier_confidence" not in self.rows.names():
            # A state of an earlier release.
            return np.zeros(len(rows), dtype=np.float32)
        return self.rows["earlier_confidence"][rows]

    def keep_earlier(
        self, before: CandidateStore, min_evidence: float, *, is_full: bool = False
    ) -> None:
        """Keep the confidence that candidates had before a training, unless they lost evidence.

        Args:
            before: The candidates before the training.
            min_evidence: Share of its earlier evidence that a candidate must still have.
            is_full: Whether this is a full pass, which takes the place of the last training: then
                it is the confidence before that one. So a second full pass changes nothing.
        """
        pairs = self.list_all()
        # Entities that have come since may have no place there.
        place = np.flatnonzero(pairs.left < len(before.by_left.start))
        rows = before.find_rows(pairs.left[place], pairs.right[place])
        known = rows >= 0
        old, new = rows[known], pairs.row[place[known]]
        has_kept = mark_kept_evidence((before, old), (self, new), min_evidence)
        was = before.get_earlier_confidence(old) if is_full else before.rows["confidence"][old]
        earlier = np.where(has_kept, was, np.float32(0))
        self.rows["earlier_confidence"][new] = earlier

    def get_contributions(self, rows: Row) -> FloatArray:
        """Return what each group of features adds to the match probability of candidates.

        Args:
            rows: Rows of candidates.

        Returns:
            A row for each.
        """
        return np.stack([self.rows[name][rows] for name in CONTRIBUTION_COLUMNS], axis=1)

    def set_contributions(self, rows: Row, values: FloatArray) -> None:
        """Keep what each group of features adds to the match probability of candidates.

        Args:
            rows: Rows of candidates.
            values: A row for each.
        """
        for name, column in zip(CONTRIBUTION_COLUMNS, values.T, strict=True):
            self.rows[name][rows] = column

    def set_unsupported(self, rows: Row) -> None:
        """Set the match probability of candidates to 0 that have no evidence.

        Args:
            rows: Rows of candidates, each once.
        """
        # No neighbour speaks for them: that is what takes their probability away.
        self.rows["neighbours_contribution"][rows] -= self.rows["probability"][rows]
        self.rows["probability"][rows] = 0

    def list_pairs(self, left: NDArray[np.integer]) -> Pairs:
        """List the candidates of left entities.

        Args:
            left: Left entities, ascending and distinct.

        Returns:
            Their candidates.
        """
        row = list_block_rows(*self.by_left, left)
        return Pairs(
            row, repeat_keys(*self.by_left, left), self.rows["right"][row].astype(np.int64)
        )

    def list_touching(self, left: NDArray[np.integer], right: NDArray[np.integer]) -> Pairs:
        """List the candidates of left and of right entities.

        Args:
            left: Left entities, ascending and distinct.
            right: Right entities, ascending and distinct.

        Returns:
            The candidates with one of them, each once; sorted by left and then by right id.
        """
        of_left = self.list_pairs(left)
        places = list_block_rows(*self.by_right, right)
        other_left = self.lefts["left"][places].astype(np.int64)
        other_right = repeat_keys(*self.by_right, right).astype(np.int64)
        is_other = ~mark_members(left, other_left)
        other_left, other_right = other_left[is_other], other_right[is_other]
        # Not all candidates of these left entities: a hub is a candidate of many.
        others = Pairs(self.find_rows(other_left, other_right), other_left, other_right)
        pairs = Pairs(*map(np.concatenate, zip(of_left, others, strict=True)))
        order = np.argsort(pairs.left * len(self.by_right.start) + pairs.right)
        return Pairs(*(column[order] for column in pairs))

    def list_likely(self, left: Offsets, right: Offsets, min_probability: float) -> Pairs:
        """List the likely candidates of left and of right entities.

        Args:
            left: Left entities, ascending and distinct.
            right: Right entities, ascending and distinct.
            min_probability: The least match probability.

        Returns:
            As `list_touching`, without those that are less likely.
        """
        pairs = Pairs(
            *_list_likely(
                *self.by_left,
                self.rows["right"],
                self.rows["probability"],
                *self.by_right,
                self.lefts["left"],
                left,
                right,
                min_probability,
            )
        )
        order = np.argsort(pairs.left * len(self.by_right.start) + pairs.right)
        return Pairs(*(column[order] for column in pairs))

    def list_all(self) -> Pairs:
        """List all candidates.

        Returns:
            The candidates.
        """
        return self.list_pairs(np.flatnonzero(self.by_left.stop > self.by_left.start))

    def find_lefts(self, right: NDArray[np.integer]) -> Offsets:
        """Find the left entities of which right ones are candidates.

        Args:
            right: Right entities.

        Returns:
            Left entities, ascending and distinct.
        """
        rows = list_block_rows(*self.by_right, right)
        return unique_ids(self.lefts["left"][rows]).astype(np.int64)

    def find_rows(self, left: NDArray[np.integer], right: NDArray[np.integer]) -> Row:
        """Find the rows of pairs.

        Args:
            left: Left entities.
            right: Right entities, as many.

        Returns:
            The row of each; -1 for pairs that are no candidates.
        """
        return _find_rows(
            *self.by_left, self.rows["right"], left.astype(np.int64), right.astype(np.int64)
        )

    def replace_blocks(
        self,
        old: Pairs,
        owners: Offsets,
        left: Offsets,
        right: Offsets,
        columns: Mapping[str, NDArray[Any]],
    ) -> Pairs:
        """Write the blocks of some left entities again.

        Args:
            old: All present candidates of these entities.
            owners: The left entities, ascending and distinct.
            left: Left entity of each new candidate; sorted by left and then by right id.
            right: Right entity of each.
            columns: What is known of them, by name.

        Returns:
            The new candidates.
        """
        self.history.record(self.by_left, owners)
        first = self.rows.reserve(len(left))
        new = slice(first, first + len(left))
        sizes = np.bincount(np.searchsorted(owners, left), minlength=len(owners))
        place_blocks(*self.by_left, owners, sizes, first)
        self.rows["right"][new] = right
        for name, values in columns.items():
            self.rows[name][new] = values
        width = len(self.by_right.start)
        self._replace_lefts(old.left * width + old.right, left * width + right, width)
        return Pairs(np.arange(new.start, new.stop), left, right)

    def rewrite_blocks(self, owners: Offsets) -> None:
        """Write blocks again as they are, so that their rows can be changed in place.

        Args:
            owners: Left entities, ascending and distinct.
        """
        pairs = self.list_pairs(owners)
        columns = {
            name: self.rows[name][pairs.row] for name in self.rows.names() if name != "right"
        }
        self.replace_blocks(pairs, owners, pairs.left, pairs.right, columns)

    def _replace_lefts(self, old_keys: Offsets, new_keys: Offsets, width: int) -> None:
        """Keep the index of right entities in line with pairs that come and go; keys ascend."""
        gone = old_keys[~mark_members(new_keys, old_keys)]
        came = new_keys[~mark_members(old_keys, new_keys)]
        owners = unique_ids(np.concatenate([gone, came]) % width)
        if not len(owners):
            return
        rows = list_block_rows(*self.by_right, owners)
        # From here on by right entity first.
        height = len(self.by_left.start)
        keys = repeat_keys(*self.by_right, owners) * height + self.lefts["left"][rows]
        gone, came = (keys % width * height + keys // width for keys in (gone, came))
        keys = union_ids(keys[~mark_members(np.sort(gone), keys)], came)
        first = self.lefts.reserve(len(keys))
        sizes = np.bincount(np.searchsorted(owners, keys // height), minlength=len(owners))
        place_blocks(*self.by_right, owners, sizes, first)
        self.lefts["left"][first : first + len(keys)] = keys % height


def mark_kept_evidence(
    before: tuple[CandidateStore, Row], after: tuple[CandidateStore, Row], min_evidence: float
) -> BoolArray:
    """Mark the candidates that have as much evidence as before.

    Args:
        before: A store, and the rows of the candidates in it.
        after: A store, perhaps the same one, and their rows now.
        min_evidence: Share of its earlier evidence that a candidate must still have.

    Returns:
        A mask over the candidates.
    """
    has_kept = np.ones(len(before[1]), dtype=np.bool_)
    for name in EVIDENCE_COLUMNS:
        if all(name in store.rows.names() for store, _ in (before, after)):
            was, now = (np.nan_to_num(store.rows[name][row]) for store, row in (before, after))
            has_kept &= now >= min_evidence * was
    return has_kept


class MatchStore:
    """The matches of the nodes of both sides, in blocks.

    Args:
        left: The columns `counterpart`, `probability` and `level` by left node.
        by_left: The blocks of left nodes.
        right: The columns `counterpart` and `probability` by right node.
        by_right: The blocks of right nodes.
    """

    def __init__(
        self, left: GrowingColumns, by_left: SideIndex, right: GrowingColumns, by_right: SideIndex
    ) -> None:
        self.left = left
        self.by_left = by_left
        self.right = right
        self.by_right = by_right
        self.left_history, self.right_history = BlockHistory(), BlockHistory()

    @staticmethod
    def from_index(
        matches: MatchIndex, level: NDArray[np.int32], node_capacities: tuple[int, int]
    ) -> MatchStore:
        """Make matches follow updates.

        Args:
            matches: The matches.
            level: The level of each match, in the order of left nodes.
            node_capacities: Numbers of left and right nodes to make room for.

        Returns:
            A copy with room for more.
        """
        left, right = matches
        return MatchStore(
            GrowingColumns.from_arrays(
                {"counterpart": left.counterpart, "probability": left.probability, "level": level}
            ),
            SideIndex(left.start, left.stop).extend(node_capacities[0]),
            GrowingColumns.from_arrays(
                {"counterpart": right.counterpart, "probability": right.probability}
            ),
            SideIndex(right.start, right.stop).extend(node_capacities[1]),
        )

    def pack(self) -> MatchStore:
        """Build the store again without rows that are no longer in use.

        Returns:
            The same matches.
        """
        left, *by_left = pack_blocks(self.left, *self.by_left)
        right, *by_right = pack_blocks(self.right, *self.by_right)
        return MatchStore(left, SideIndex(*by_left), right, SideIndex(*by_right))

    @property
    def view(self) -> MatchIndex:
        """The matches as they are now; not valid after the next change."""
        return MatchIndex(
            Matches(*self.by_left, self.left["counterpart"], self.left["probability"]),
            Matches(*self.by_right, self.right["counterpart"], self.right["probability"]),
        )

    def replace_left(self, nodes: Offsets, node: Offsets, columns: list[NDArray[Any]]) -> None:
        """Write the matches of left nodes again.

        Args:
            nodes: The nodes, ascending and distinct.
            node: The node of each match; sorted by node and then by counterpart.
            columns: Counterpart, probability and level of each.
        """
        _write_blocks(self.left, self.by_left, self.left_history, nodes, node, columns)

    def replace_right(self, nodes: Offsets, node: Offsets, columns: list[NDArray[Any]]) -> None:
        """Write the matches of right nodes again.

        Args:
            nodes: The nodes, ascending and distinct.
            node: The node of each match; sorted by node and then by counterpart.
            columns: Counterpart and probability of each.
        """
        _write_blocks(self.right, self.by_right, self.right_history, nodes, node, columns)


def _write_blocks(
    target: GrowingColumns,
    index: SideIndex,
    history: BlockHistory,
    keys: Offsets,
    key: Offsets,
    columns: list[NDArray[Any]],
) -> None:
    """Write the blocks that differ from those that are there."""
    place = np.searchsorted(keys, key)
    sizes = np.bincount(place, minlength=len(keys))
    is_changed = _mark_changed(target, index, keys, place, sizes, columns)
    kept = is_changed[place]
    keys, sizes = keys[is_changed], sizes[is_changed]
    history.record(index, keys)
    first = target.reserve(int(sizes.sum()))
    place_blocks(*index, keys, sizes, first)
    for name, values in zip(target.names(), columns, strict=True):
        target[name][first : target.length] = values[kept]


def _mark_changed(
    target: GrowingColumns,
    index: SideIndex,
    keys: Offsets,
    place: Offsets,
    sizes: Offsets,
    columns: list[NDArray[Any]],
) -> BoolArray:
    """Mark the keys whose new block, of so many rows, is not the one that is there."""
    is_changed: BoolArray = sizes != index.stop[keys] - index.start[keys]
    new = np.flatnonzero(~is_changed[place])
    old = list_block_rows(*index, keys[~is_changed])
    for name, values in zip(target.names(), columns, strict=True):
        # As they would be stored: equal numbers of another type can differ after rounding.
        differs = target[name][old] != values[new].astype(target[name].dtype)
        is_changed[place[new[differs]]] = True
    return is_changed


def derive_matches(
    store: CandidateStore,
    left: Offsets,
    right: Offsets,
    min_probability: float,
    searchable: tuple[BoolArray, BoolArray],
    cardinality: Cardinality = Cardinality.ONE_TO_ONE,
) -> tuple[tuple[Offsets, list[NDArray[Any]]], tuple[Offsets, list[NDArray[Any]]]]:
    """Derive the matches of some entities from the match probabilities of their candidates.

    Args:
        store: The candidates.
        left: Left entities, ascending and distinct.
        right: Right entities, ascending and distinct.
        min_probability: Match probability from which a pair is a match.
        searchable: Which left and right entities can have one.
        cardinality: On which sides the pairs of an entity exclude each other.

    Returns:
        For the left entities the entity of each match, with the columns counterpart, probability
        and level; for the right ones the same without level. The probabilities of one entity sum
        to 1 at most, if it has one link at most.
    """
    pairs = store.list_likely(left, right, min_probability)
    probability = store.column("probability")
    admitted = searchable[0][pairs.left] & searchable[1][pairs.right]
    pairs = Pairs(*(column[admitted] for column in pairs))
    totals = _sum_probabilities(
        *store.by_left,
        store.rows["right"],
        probability,
        *store.by_right,
        store.lefts["left"],
        searchable[0],
        searchable[1],
        min_probability,
        pairs.left,
        pairs.right,
    )
    shared = share_out(probability[pairs.row], totals, cardinality).astype(np.float32)
    of_left = np.flatnonzero(mark_members(left, pairs.left))
    of_right = np.flatnonzero(mark_members(right, pairs.right))
    of_right = of_right[np.lexsort((pairs.left[of_right], pairs.right[of_right]))]
    level = store.column("level")[pairs.row]
    return (
        (pairs.left[of_left], [pairs.right[of_left], shared[of_left], level[of_left]]),
        (pairs.right[of_right], [pairs.left[of_right], shared[of_right]]),
    )


@jit_cached()
def _find_rows(
    start: Offsets, stop: Offsets, right: IntArray, left_ids: Offsets, right_ids: Offsets
) -> Offsets:
    out = np.empty(left_ids.size, dtype=np.int64)
    for i in range(left_ids.size):
        end = stop[left_ids[i]]
        row = find_first(right, start[left_ids[i]], end, right_ids[i])
        out[i] = row if row < end and right[row] == right_ids[i] else -1
    return out


@jit_cached()
def _list_likely(
    left_start: Offsets,
    left_stop: Offsets,
    row_right: IntArray,
    probability: FloatArray,
    right_start: Offsets,
    right_stop: Offsets,
    row_left: IntArray,
    left_ids: Offsets,
    right_ids: Offsets,
    min_probability: float,
) -> tuple[Offsets, Offsets, Offsets]:
    room = 0
    for x in left_ids:
        room += left_stop[x] - left_start[x]
    for x2 in right_ids:
        room += right_stop[x2] - right_start[x2]
    rows = np.empty(room, dtype=np.int64)
    left, right = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    count = 0
    for x in left_ids:
        for row in range(left_start[x], left_stop[x]):
            if probability[row] >= min_probability:
                rows[count], left[count], right[count] = row, x, row_right[row]
                count += 1
    for x2 in right_ids:
        for k in range(right_start[x2], right_stop[x2]):
            x = row_left[k]
            row = find_first(row_right, left_start[x], left_stop[x], x2)
            if probability[row] >= min_probability:
                # Those of the left entities are listed already.
                place = np.searchsorted(left_ids, x)
                if place == left_ids.size or left_ids[place] != x:
                    rows[count], left[count], right[count] = row, x, x2
                    count += 1
    return rows[:count], left[:count], right[:count]


@jit_cached()
def _sum_probabilities(
    left_start: Offsets,
    left_stop: Offsets,
    row_right: IntArray,
    probability: FloatArray,
    right_start: Offsets,
    right_stop: Offsets,
    row_left: IntArray,
    left_searchable: BoolArray,
    right_searchable: BoolArray,
    min_probability: float,
    left_ids: Offsets,
    right_ids: Offsets,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each pair, the sum of the probabilities of its left and of its right entity."""
    # Each entity once: those of a hub are many, and each would go through all of them.
    lefts, left_number = number_distinct(left_ids)
    rights, right_number = number_distinct(right_ids)
    of_left, of_right = np.zeros(lefts.size), np.zeros(rights.size)
    for i in range(lefts.size):
        for row in range(left_start[lefts[i]], left_stop[lefts[i]]):
            if probability[row] >= min_probability and right_searchable[row_right[row]]:
                of_left[i] += probability[row]
    for i in range(rights.size):
        x2 = rights[i]
        for k in range(right_start[x2], right_stop[x2]):
            other = row_left[k]
            if left_searchable[other]:
                row = find_first(row_right, left_start[other], left_stop[other], x2)
                if probability[row] >= min_probability:
                    of_right[i] += probability[row]
    return of_left[left_number], of_right[right_number]
