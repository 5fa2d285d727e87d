"""The alignment as arrays: whole after a training, and only what has changed after an update.

Changes hold facts and candidates. Everything else (the right index, matches, relation sums, the
one-to-one selection) follows from them and is derived again when they are applied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everalign.graph import NO_TRIPLES, IntArray
from everalign.graph.growing import GrowingColumns, Offsets
from everalign.graph.id_sets import mark_members, subtract_ids, union_ids, unique_ids
from everalign.literals import LiteralMatches, merge_matches
from everalign.literals.index import LiteralIndex, NewLiterals
from everalign.matching import NO_PAIRS
from everalign.methods.base import StateArrays
from everalign.methods.evidence.adjacency_updates import (
    EDGE_COLUMNS,
    NODE_COLUMNS,
    GrowingAdjacency,
)
from everalign.methods.evidence.candidate_store import (
    LITERAL_ROW_COLUMNS,
    ROW_COLUMNS,
    CandidateStore,
    MatchStore,
    SideIndex,
)
from everalign.methods.evidence.categories import CategoryAlignment, CategoryInclusions
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.incremental_state import (
    LEFT,
    PAIR_BITS,
    RIGHT,
    FactChange,
    IncrementalState,
)
from everalign.methods.evidence.link_doubts import LinkDoubts
from everalign.methods.evidence.relation_sums import RelationSums, SumsChange
from everalign.methods.evidence.updates import (
    AlignmentChange,
    RowChanges,
    change_decisions,
    list_doubtful,
    list_saved_columns,
)

SIDES = ("left", "right")
PAIR_LISTS = ("anchors", "rejected")
ENTITY_LISTS = ("excluded_left", "excluded_right")
LITERAL_PREFIX = "literals."


def save_state(state: IncrementalState) -> dict[str, NDArray[Any]]:
    """Return the whole alignment as arrays.

    Args:
        state: The alignment; rows of it that are no longer in use are dropped.

    Returns:
        Arrays by name, some of them with free space.
    """
    state.drop_old_rows()
    arrays: dict[str, NDArray[Any]] = {}
    for side, graph in zip(SIDES, state.adjacency, strict=True):
        arrays |= graph.edges.save(f"{side}_edge")
        arrays |= {f"{side}_node_{name}": values for name, values in graph.nodes.items()}
        arrays[f"{side}_counts"] = np.array([graph.entity_count, graph.attribute_offset])
    store, matches = state.candidates, state.matches
    for prefix, columns, index in (
        ("candidate", store.rows, store.by_left),
        ("candidate_left", store.lefts, store.by_right),
        ("left_match", matches.left, matches.by_left),
        ("right_match", matches.right, matches.by_right),
    ):
        arrays |= columns.save(prefix)
        arrays |= {f"{prefix}_start": index.start, f"{prefix}_stop": index.stop}
    arrays |= {f"relation_{name}": values for name, values in state.sums._asdict().items()}
    if state.literals is not None:
        for name, array in state.literals.to_arrays().items():
            arrays[LITERAL_PREFIX + name] = array
    if state.categories is not None:
        for side, inclusions in zip(SIDES, state.categories, strict=True):
            for name, array in inclusions._asdict().items():
                arrays[f"{side}_category_{name}"] = array
    arrays |= {
        "doubted_links": state.doubts.pairs,
        "doubted_probability": state.doubts.probability,
    }
    return arrays | {name: _get_list(state, name) for name in (*PAIR_LISTS, *ENTITY_LISTS)}


def load_state(arrays: StateArrays, config: EvidenceParameters) -> IncrementalState:
    """Restore the whole alignment.

    Args:
        arrays: What `save_state` has returned, with free space; updates write to them.
        config: Settings and constants.

    Returns:
        The alignment.
    """

    def load_columns(prefix: str, names: Sequence[str]) -> tuple[GrowingColumns, SideIndex]:
        index = SideIndex(arrays[f"{prefix}_start"], arrays[f"{prefix}_stop"])
        return GrowingColumns.load(prefix, names, arrays), index

    graphs = []
    for side in SIDES:
        entity_count, attribute_offset = arrays[f"{side}_counts"].tolist()
        nodes = {
            name: arrays[f"{side}_node_{name}"]
            for name in (*NODE_COLUMNS, "relation_functionality")
        }
        edges = GrowingColumns.load(f"{side}_edge", EDGE_COLUMNS, arrays)
        graphs.append(GrowingAdjacency(edges, nodes, entity_count, attribute_offset, config))
    row_columns = [
        name for name in (*ROW_COLUMNS, *LITERAL_ROW_COLUMNS) if f"candidate_{name}" in arrays
    ]
    literals = _take_literal_arrays(arrays)
    return IncrementalState(
        config,
        (graphs[LEFT], graphs[RIGHT]),
        CandidateStore(
            *load_columns("candidate", ["right", *row_columns]),
            *load_columns("candidate_left", ["left"]),
        ),
        MatchStore(
            *load_columns("left_match", ["counterpart", "probability", "level"]),
            *load_columns("right_match", ["counterpart", "probability"]),
        ),
        RelationSums(*(arrays[f"relation_{name}"] for name in RelationSums._fields)),
        arrays["anchors"],
        arrays["rejected"],
        (arrays["excluded_left"], arrays["excluded_right"]),
        LiteralIndex.from_arrays(literals) if literals else None,
        _load_categories(arrays),
        LinkDoubts(arrays["doubted_links"], arrays["doubted_probability"]),
    )


def _load_categories(arrays: StateArrays) -> CategoryAlignment | None:
    if "left_category_key" not in arrays:
        return None
    left, right = (
        CategoryInclusions(
            *(arrays[f"{side}_category_{name}"] for name in CategoryInclusions._fields)
        )
        for side in SIDES
    )
    return CategoryAlignment(left, right)


@dataclass(frozen=True)
class SavedChanges:
    """What one or more updates have changed.

    Attributes:
        facts: Added and removed facts of the left and the right graph, in numbers of nodes.
        entity_counts: Numbers of left and right entities after the update.
        lists: Added and removed entries of trusted links, rejected pairs and excluded entities,
            each entry as one number.
        rows: Rows of (left, right): candidates that are new or have changed.
        columns: What is known of them, by name.
        dropped: Rows of (left, right) that are no longer candidates.
        literal_matches: Matches of new literals.
        literal_arrays: Arrays of the index of literals that have changed, by name.
        sums: By how much the relation sums have changed.
    """

    facts: tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]
    entity_counts: tuple[int, int]
    lists: Mapping[str, tuple[Offsets, Offsets]]
    rows: Offsets
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    dropped: Offsets = field(default_factory=lambda: NO_PAIRS.astype(np.int64))
    literal_matches: LiteralMatches = field(default_factory=LiteralMatches.empty)
    literal_arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    sums: SumsChange = field(default_factory=SumsChange.none)

    @staticmethod
    def from_update(
        state: IncrementalState,
        change: AlignmentChange,
        before: Mapping[str, IntArray],
        rows: RowChanges,
        literal_matches: LiteralMatches,
        sums_before: RelationSums,
    ) -> SavedChanges:
        """Collect what an update has changed.

        Args:
            state: The alignment after it.
            change: What the update brought.
            before: The lists of trusted links and decisions before it, by name.
            rows: The candidates that have changed.
            literal_matches: The matches of new literals.
            sums_before: The relation sums before it.

        Returns:
            The changes.
        """
        left, right = change.facts
        # There are many of them, and most updates add no literal.
        has_literals = any(len(new.ids) for new in change.literals)
        literal_arrays = _list_literal_arrays(state.literals, added=True) if has_literals else {}
        return SavedChanges(
            ((left.added, left.removed), (right.added, right.removed)),
            (left.entity_count, right.entity_count),
            {name: _diff_lists(values, _get_list(state, name)) for name, values in before.items()},
            np.stack([rows.pairs.left, rows.pairs.right], axis=1),
            {
                name: state.candidates.column(name)[rows.pairs.row]
                for name in list_saved_columns(state)
            },
            rows.dropped,
            literal_matches,
            literal_arrays,
            state.sums.subtract(sums_before),
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the changes as arrays.

        Returns:
            Arrays by name.
        """
        arrays: dict[str, NDArray[Any]] = {
            "changed_entity_counts": np.array(self.entity_counts),
            "changed_rows": self.rows.astype(np.int32),
            "dropped_rows": self.dropped.astype(np.int32),
        }
        for side, (added, removed) in zip(SIDES, self.facts, strict=True):
            arrays |= {f"added_{side}_facts": added, f"removed_{side}_facts": removed}
        for name, (more, less) in self.lists.items():
            arrays |= {f"added_{name}": more, f"removed_{name}": less}
        for name, values in self.literal_matches._asdict().items():
            arrays[f"literal_match_{name}"] = values
        arrays |= {f"{LITERAL_PREFIX}{name}": array for name, array in self.literal_arrays.items()}
        arrays |= {f"changed_sums_{name}": values for name, values in self.sums._asdict().items()}
        return arrays | {f"changed_{name}": values for name, values in self.columns.items()}

    @staticmethod
    def from_arrays(arrays: StateArrays) -> SavedChanges:
        """Restore changes.

        Args:
            arrays: What `to_arrays` has returned.

        Returns:
            The changes.
        """
        left, right = (
            (arrays[f"added_{side}_facts"], arrays[f"removed_{side}_facts"]) for side in SIDES
        )
        left_count, right_count = arrays["changed_entity_counts"].tolist()
        columns = [*ROW_COLUMNS, *LITERAL_ROW_COLUMNS]
        return SavedChanges(
            (left, right),
            (left_count, right_count),
            {
                name: (arrays[f"added_{name}"], arrays[f"removed_{name}"])
                for name in (*PAIR_LISTS, *ENTITY_LISTS)
            },
            arrays["changed_rows"].astype(np.int64),
            {name: arrays[f"changed_{name}"] for name in columns if f"changed_{name}" in arrays},
            arrays["dropped_rows"].astype(np.int64),
            LiteralMatches(*(arrays[f"literal_match_{name}"] for name in LiteralMatches._fields)),
            _take_literal_arrays(arrays),
            SumsChange(*(arrays[f"changed_sums_{name}"] for name in SumsChange._fields)),
        )

    def followed_by(self, later: SavedChanges) -> SavedChanges:
        """Merge these changes with those of the updates after them.

        Args:
            later: The later changes.

        Returns:
            Their net effect.
        """
        left, right = (
            _merge_facts(*first, *then)
            for first, then in zip(self.facts, later.facts, strict=True)
        )
        # Of a candidate that has changed twice, the later one counts.
        later_rows, later_dropped = _number(later.rows), _number(later.dropped)
        replaced = np.sort(np.concatenate([later_rows, later_dropped]))
        keep = ~mark_members(replaced, _number(self.rows))
        dropped = union_ids(subtract_ids(_number(self.dropped), later_rows), later_dropped)
        return SavedChanges(
            (left, right),
            later.entity_counts,
            {name: _merge_numbers(*self.lists[name], *later.lists[name]) for name in self.lists},
            np.concatenate([self.rows[keep], later.rows]),
            {
                name: np.concatenate([values[keep], later.columns[name]])
                for name, values in self.columns.items()
            },
            _split_numbers(dropped),
            merge_matches([self.literal_matches, later.literal_matches]),
            later.literal_arrays or self.literal_arrays,
            self.sums.followed_by(later.sums),
        )


def merge_changes(changes: Sequence[SavedChanges]) -> SavedChanges:
    """Merge the changes of consecutive updates.

    Args:
        changes: At least one, oldest first.

    Returns:
        Their net effect.
    """
    # From the last one back: the oldest changes are those of most updates, and are merged once.
    return reduce(lambda later, earlier: earlier.followed_by(later), reversed(changes))


def apply_saved_changes(state: IncrementalState, changes: SavedChanges) -> None:
    """Bring an alignment to the state after some updates.

    Args:
        state: The alignment before them; changed.
        changes: What they have changed.
    """
    lists = {
        name: _apply_diff(_get_list(state, name), *diff) for name, diff in changes.lists.items()
    }
    change = AlignmentChange(
        (
            FactChange(*changes.facts[LEFT], changes.entity_counts[LEFT]),
            FactChange(*changes.facts[RIGHT], changes.entity_counts[RIGHT]),
        ),
        lists["anchors"],
        lists["rejected"],
        (lists["excluded_left"], lists["excluded_right"]),
        # Known to the index already, which is replaced as it was.
        (NewLiterals.none(), NewLiterals.none()),
    )
    nodes = state.replace_facts(change.facts)
    doubtful = list_doubtful(state, nodes, change_decisions(state, change))
    if len(changes.literal_matches.left):
        state.add_literal_matches(changes.literal_matches)
    if state.literals is not None and changes.literal_arrays:
        kept = _list_literal_arrays(state.literals, added=False)
        state.literals = LiteralIndex.from_arrays({**kept, **changes.literal_arrays})
    state.update_searchable(doubtful)
    _replace_rows(state, changes)
    state.refresh_matches(
        np.concatenate([doubtful[LEFT], changes.rows[:, LEFT], changes.dropped[:, LEFT]]),
        np.concatenate([doubtful[RIGHT], changes.rows[:, RIGHT], changes.dropped[:, RIGHT]]),
    )
    state.restore_sums(changes.sums)
    state.candidates.history.collect()


def _list_literal_arrays(literals: LiteralIndex | None, *, added: bool) -> dict[str, NDArray[Any]]:
    """The arrays of the index that additions change, or those that stay as they are."""
    if literals is None:
        return {}
    arrays = literals.to_arrays()
    return {name: array for name, array in arrays.items() if literals.is_added(name) == added}


def _take_literal_arrays(arrays: StateArrays) -> dict[str, NDArray[Any]]:
    return {
        name.removeprefix(LITERAL_PREFIX): arrays[name]
        for name in arrays
        if name.startswith(LITERAL_PREFIX)
    }


def _replace_rows(state: IncrementalState, changes: SavedChanges) -> None:
    store = state.candidates
    owners = unique_ids(np.concatenate([changes.rows[:, LEFT], changes.dropped[:, LEFT]]))
    old = store.list_pairs(owners)
    old_keys = old.left << PAIR_BITS | old.right
    replaced = np.sort(np.concatenate([_number(changes.rows), _number(changes.dropped)]))
    kept = np.flatnonzero(~mark_members(replaced, old_keys))
    keys = np.concatenate([old_keys[kept], _number(changes.rows)])
    order = np.argsort(keys)
    columns = {}
    for name in store.rows.names():
        if name == "right":
            continue
        values = store.rows[name][old.row[kept]]
        columns[name] = np.concatenate([values, changes.columns[name]])[order]
    left, right = keys[order] >> PAIR_BITS, keys[order] & ((1 << PAIR_BITS) - 1)
    store.replace_blocks(old, owners, left, right, columns)


def _get_list(state: IncrementalState, name: str) -> IntArray:
    lists: dict[str, Callable[[], IntArray]] = {
        "anchors": lambda: state.anchors,
        "rejected": lambda: state.rejected,
        "excluded_left": lambda: state.excluded[LEFT],
        "excluded_right": lambda: state.excluded[RIGHT],
    }
    return lists[name]()


def list_decisions(state: IncrementalState) -> dict[str, IntArray]:
    """Return trusted links, rejected pairs and excluded entities.

    Args:
        state: The alignment.

    Returns:
        The lists by name.
    """
    return {name: _get_list(state, name) for name in (*PAIR_LISTS, *ENTITY_LISTS)}


def _number(values: NDArray[np.integer]) -> Offsets:
    """Each pair, or each id, as one number."""
    if values.ndim == 1:
        return values.astype(np.int64)
    return values[:, 0].astype(np.int64) << PAIR_BITS | values[:, 1].astype(np.int64)


def _split_numbers(numbers: Offsets) -> Offsets:
    """Pairs that `_number` has made one number of."""
    return np.stack([numbers >> PAIR_BITS, numbers & ((1 << PAIR_BITS) - 1)], axis=1)


def _diff_lists(before: IntArray, after: IntArray) -> tuple[Offsets, Offsets]:
    if after is before:
        return _number(before[:0]), _number(before[:0])
    new, old = _number(after), _number(before)
    return subtract_ids(new, old), subtract_ids(old, new)


def _apply_diff(values: IntArray, added: Offsets, removed: Offsets) -> IntArray:
    if not len(added) and not len(removed):
        return values
    kept = values[~np.isin(_number(values), removed)]
    new = added
    if values.ndim == 2:
        new = _split_numbers(added)
    return np.concatenate([kept, new]).astype(np.int32)


def _merge_numbers(
    added: Offsets, removed: Offsets, later_added: Offsets, later_removed: Offsets
) -> tuple[Offsets, Offsets]:
    """The net effect of two changes of a set."""
    # Most updates bring no decisions.
    if not len(later_added) and not len(later_removed):
        return added, removed
    if not len(added) and not len(removed):
        return later_added, later_removed
    return (
        union_ids(subtract_ids(added, later_removed), subtract_ids(later_added, removed)),
        union_ids(subtract_ids(removed, later_added), subtract_ids(later_removed, added)),
    )


def _merge_facts(
    added: IntArray, removed: IntArray, later_added: IntArray, later_removed: IntArray
) -> tuple[IntArray, IntArray]:
    parts = [added, removed, later_added, later_removed]
    rows = np.concatenate(parts)
    if not len(rows):
        return NO_TRIPLES, NO_TRIPLES
    # As numbers of the distinct rows, facts are merged like any other set.
    order = np.lexsort(rows.T)
    is_new = np.any(np.diff(rows[order], axis=0, prepend=-1) != 0, axis=1)
    number = np.empty(len(rows), dtype=np.int64)
    number[order] = np.cumsum(is_new) - 1
    distinct = rows[order[is_new]]
    ends = np.cumsum([len(part) for part in parts])
    net_added, net_removed = _merge_numbers(*np.split(number, ends[:-1]))
    return distinct[net_added], distinct[net_removed]
