"""Scoring again: the candidates of some entities are searched, compared and classified.

The same computation as in a training, for few entities: features of a candidate depend on its
competitors, so that all candidates that share an entity with it are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.graph.growing import Offsets, list_block_rows, repeat_keys
from everalign.graph.id_sets import mark_members, union_ids, unique_ids
from everalign.methods.evidence.adjacency import Adjacency, BoolArray, FloatArray
from everalign.methods.evidence.candidate_store import (
    EVIDENCE_COLUMNS,
    LITERAL_ROW_COLUMNS,
    ROW_COLUMNS,
    Pairs,
)
from everalign.methods.evidence.candidates import CandidateTable
from everalign.methods.evidence.categories import CATEGORY_COLUMNS, compare_categories
from everalign.methods.evidence.classifier import TrainedModels
from everalign.methods.evidence.features import (
    STORED_LITERAL_COLUMNS,
    TEXT_COLUMNS,
    FeatureInputs,
    compare_vectors,
    count_edges,
)
from everalign.methods.evidence.grounding import NO_LEVEL
from everalign.methods.evidence.incremental_state import (
    LEFT,
    RIGHT,
    EntityIds,
    IncrementalState,
)
from everalign.methods.evidence.neighbourhood import (
    JOINT_FREQUENCY,
    LITERAL_WEIGHT,
    NEIGHBOUR_COLUMNS,
    SUPPORT,
    compare_literals,
    compare_neighbourhoods,
)
from everalign.methods.evidence.propagation import Vectors
from everalign.methods.evidence.relations import Matches, RelationInclusions
from everalign.methods.evidence.support import drop_weak, search_candidates


class ScoredRows(NamedTuple):
    """Candidates after a round, with their match probabilities before and after it."""

    pairs: Pairs
    before: FloatArray
    after: FloatArray


@dataclass(frozen=True)
class Rescoring:
    """Scores candidates again under one relation alignment.

    Attributes:
        state: The alignment.
        models: The trained models.
        inclusions: The relation alignment.
        renamed: Left and right entities whose literals have changed.
        vectors: Unit vectors of the entities, if there are any.
    """

    state: IncrementalState
    models: TrainedModels
    inclusions: RelationInclusions
    renamed: EntityIds
    vectors: Vectors | None = None

    def score_again(self, affected: EntityIds) -> ScoredRows:
        """Search, compare and score the candidates of entities.

        Args:
            affected: Left and right entities.

        Returns:
            All candidates of the left entities that were looked at. Of the affected ones, old
            candidates that are not found again stay if they are at all probable.
        """
        store, config = self.state.candidates, self.state.config
        found = self._search_both_sides(affected)
        width = len(store.by_right.start)
        owners = unique_ids(
            np.concatenate([affected[LEFT], store.find_lefts(affected[RIGHT]), found // width])
        )
        old = store.list_pairs(owners)
        probability = store.column("probability")[old.row]
        # The search keeps few candidates for each entity. One that is probable must not be lost
        # because others have gained support: the classifier decides between them.
        is_hit = mark_members(affected[LEFT], old.left) | mark_members(affected[RIGHT], old.right)
        keep = ~is_hit | (probability >= config.forget_probability)
        old_keys = old.left * width + old.right
        keys = union_ids(old_keys[keep], found)
        left, right = np.divmod(keys, width)
        is_old = mark_members(old_keys, keys)
        fresh = np.flatnonzero(
            mark_members(affected[LEFT], left) | mark_members(affected[RIGHT], right) | ~is_old
        )
        columns = self._take_columns(old.row[np.searchsorted(old_keys, keys[is_old])], is_old)
        compared = self._compare(left[fresh], right[fresh], columns, fresh, is_old[fresh])
        new = store.replace_blocks(old, owners, left, right, columns)
        features = self._compute_features(left[fresh], right[fresh], compared)
        before = columns["probability"]
        after = before.copy()
        after[fresh] = self.models.classifier.predict_matches(features)
        store.column("probability")[new.row] = after
        store.set_contributions(
            new.row[fresh], self.models.classifier.compute_contributions(features)
        )
        # Without any evidence: the classifier has never been trained on such pairs.
        unsupported = fresh[~compared.has_evidence]
        after[unsupported] = 0
        store.set_unsupported(new.row[unsupported])
        store.column("dangling")[new.row[fresh]] = self.models.dangling_classifier.predict(
            features
        )
        self._refresh_matches(new, before, after)
        return ScoredRows(new, before, after)

    def _refresh_matches(self, pairs: Pairs, before: FloatArray, after: FloatArray) -> None:
        min_probability = self.state.config.min_match_probability
        begins = (before < min_probability) & (after >= min_probability)
        self.state.candidates.column("level")[pairs.row[begins]] = NO_LEVEL
        changed = (np.maximum(before, after) >= min_probability) & (before != after)
        self.state.refresh_matches(pairs.left[changed], pairs.right[changed])

    def _search_both_sides(self, affected: EntityIds) -> Offsets:
        """Search the candidates of entities; returns pairs as numbers, ascending."""
        state = self.state
        graphs, matches, config = state.graphs, state.matches.view, state.config
        wanted = [
            ids[state.searchable[side][ids]].astype(np.int32) for side, ids in enumerate(affected)
        ]
        limits = config.max_candidates, config.min_evidence_weight
        from_left = search_candidates(
            graphs.left, graphs.right, matches.left, self.inclusions.left, wanted[LEFT],
            state.searchable[RIGHT], _index_rejected(state, LEFT), *limits,
        )  # fmt: skip
        from_right = search_candidates(
            graphs.right, graphs.left, matches.right, self.inclusions.right, wanted[RIGHT],
            state.searchable[LEFT], _index_rejected(state, RIGHT), *limits,
        )  # fmt: skip
        left, right, _ = drop_weak(from_left, config.min_support_share)
        right2, left2, _ = drop_weak(from_right, config.min_support_share)
        width = len(state.candidates.by_right.start)
        keys = np.concatenate([left, left2]).astype(np.int64) * width
        return unique_ids(keys + np.concatenate([right, right2]))

    def _take_columns(self, rows: Offsets, is_old: BoolArray) -> dict[str, NDArray[Any]]:
        """What is known of old candidates, and zeros for new ones."""
        store = self.state.candidates
        columns = {}
        for name, dtype in {**ROW_COLUMNS, **LITERAL_ROW_COLUMNS}.items():
            if name in store.rows.names():
                columns[name] = np.zeros(len(is_old), dtype=dtype)
                columns[name][is_old] = store.column(name)[rows]
        columns["level"][~is_old] = NO_LEVEL
        return columns

    def _compare(
        self,
        left: Offsets,
        right: Offsets,
        columns: dict[str, NDArray[Any]],
        fresh: Offsets,
        is_old: BoolArray,
    ) -> _ComparedPairs:
        """Compare pairs, and keep in the columns of candidates what is kept of it."""
        left_ids, right_ids = left.astype(np.int32), right.astype(np.int32)
        graphs, matches = self.state.graphs, self.state.matches.view
        sides = compare_neighbourhoods(graphs, matches, self.inclusions, left_ids, right_ids)
        before = {name: columns[name][fresh] for name in EVIDENCE_COLUMNS if name in columns}
        columns["support"][fresh] = sides[LEFT][:, SUPPORT]
        columns["joint_frequency_left"][fresh] = sides[LEFT][:, JOINT_FREQUENCY]
        columns["joint_frequency_right"][fresh] = sides[RIGHT][:, JOINT_FREQUENCY]
        if self.state.literals is None:
            self._forget_earlier(columns, fresh, before)
            return _ComparedPairs(sides, None)
        known = {name: columns[name][fresh] for name in STORED_LITERAL_COLUMNS}
        is_known = (
            is_old
            & ~mark_members(self.renamed[LEFT], left)
            & ~mark_members(self.renamed[RIGHT], right)
        )
        texts = self._compare_texts(left_ids, right_ids, known, is_known)
        weights = compare_literals(graphs, matches, self.inclusions, left_ids, right_ids)
        literals = np.concatenate([weights, texts], axis=1)
        for name, column in STORED_LITERAL_COLUMNS.items():
            columns[name][fresh] = literals[:, column]
        self._forget_earlier(columns, fresh, before)
        return _ComparedPairs(sides, literals)

    def _forget_earlier(
        self, columns: dict[str, NDArray[Any]], fresh: Offsets, before: dict[str, FloatArray]
    ) -> None:
        """Forget the earlier confidence of candidates that have lost evidence."""
        if "earlier_confidence" not in columns:
            return
        for name, was in before.items():
            least = self.state.config.min_kept_evidence * np.nan_to_num(was)
            has_lost = np.nan_to_num(columns[name][fresh]) < least
            columns["earlier_confidence"][fresh[has_lost]] = 0

    def _compare_texts(
        self,
        left: IntArray,
        right: IntArray,
        known: dict[str, FloatArray],
        is_known: BoolArray,
    ) -> FloatArray:
        """The comparison of texts, which is the same as before where no literal has changed."""
        assert self.state.literals is not None
        out = np.stack([known[name] for name in TEXT_COLUMNS], axis=1)
        new = np.flatnonzero(~is_known)
        graphs = self.state.graphs
        out[new] = self.state.literals.compare_entities(
            left[new],
            right[new],
            _list_literals(graphs.left, unique_ids(left[new])),
            _list_literals(graphs.right, unique_ids(right[new])),
        )
        return out

    def _compute_features(
        self, left: Offsets, right: Offsets, compared: _ComparedPairs
    ) -> FloatArray:
        """Compute the features of candidates from all that share an entity with them."""
        store, graphs = self.state.candidates, self.state.graphs
        pairs = store.list_touching(unique_ids(left), unique_ids(right))
        width = len(store.by_right.start)
        chosen = np.searchsorted(pairs.left * width + pairs.right, left * width + right)
        # Numbered anew in the same order, so that ties break alike.
        left_ids, local_left = np.unique(pairs.left, return_inverse=True)
        right_ids, local_right = np.unique(pairs.right, return_inverse=True)
        sides = []
        for side, name in ((LEFT, "joint_frequency_left"), (RIGHT, "joint_frequency_right")):
            rows = np.zeros((len(pairs.row), len(NEIGHBOUR_COLUMNS)), dtype=np.float32)
            rows[:, SUPPORT] = store.column("support")[pairs.row]
            rows[:, JOINT_FREQUENCY] = store.column(name)[pairs.row]
            rows[chosen] = compared.sides[side]
            sides.append(rows)
        literals = None
        if compared.literals is not None:
            literals = np.zeros((len(pairs.row), compared.literals.shape[1]), dtype=np.float32)
            for name, column in STORED_LITERAL_COLUMNS.items():
                literals[:, column] = store.column(name)[pairs.row]
            literals[chosen] = compared.literals
        categories = None
        if self.state.categories is not None:
            categories = np.full((len(pairs.row), len(CATEGORY_COLUMNS)), np.nan, dtype=np.float32)
            categories[chosen] = compare_categories(
                (graphs.left, graphs.right), self.state.categories, left, right
            )
        inputs = FeatureInputs(
            CandidateTable.from_pairs(local_left, local_right, (len(left_ids), len(right_ids))),
            (sides[LEFT], sides[RIGHT]),
            store.column("probability")[pairs.row],
            (count_edges(graphs.left, pairs.left), count_edges(graphs.right, pairs.right)),
            literals,
            None
            if self.vectors is None
            else compare_vectors(self.vectors, pairs.left, pairs.right),
            categories,
        )
        return inputs.compute_features(chosen)


class _ComparedPairs(NamedTuple):
    """Rows of NEIGHBOUR_COLUMNS from both sides, and of the comparison of literals."""

    sides: tuple[FloatArray, FloatArray]
    literals: FloatArray | None

    @property
    def has_evidence(self) -> BoolArray:
        """Which pairs have any evidence."""
        supported: BoolArray = self.sides[LEFT][:, SUPPORT] > 0
        if self.literals is not None:
            supported |= self.literals[:, LITERAL_WEIGHT] > 0
        return supported


def _list_literals(adjacency: Adjacency, entities: IntArray) -> IntArray:
    """The attribute triples of entities."""
    start, stop = adjacency.literal_start, adjacency.stop[: adjacency.literal_offset]
    rows = list_block_rows(start, stop, entities)
    columns = (
        repeat_keys(start, stop, entities),
        (adjacency.relation[rows] >> 1) - adjacency.attribute_offset,
        adjacency.neighbour[rows] - adjacency.literal_offset,
    )
    return np.stack(columns, axis=1).astype(np.int32)


def _index_rejected(state: IncrementalState, side: int) -> Matches:
    """The rejected counterparts of the nodes of one side, and those that are certain already."""
    barred = state.graphs.barred
    pairs = barred[np.argsort(barred[:, side], kind="stable")]
    # Zeros that nobody looks at cost nothing.
    start, stop = (np.zeros(len(state.searchable[side]), dtype=np.int64) for _ in range(2))
    ids, first, count = np.unique(pairs[:, side], return_index=True, return_counts=True)
    start[ids], stop[ids] = first, first + count
    counterpart = np.ascontiguousarray(pairs[:, 1 - side], dtype=np.int32)
    return Matches(start, stop, counterpart, np.ones(len(pairs), dtype=np.float32))
