"""Checks of loaded arrays: what compiled code indexes by must be in range.

Compiled code does not check its indexes. A state directory whose checksums are right can still
hold anything, if it comes from somewhere else. Each check reads an array once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everalign.cardinality import Cardinality
from everalign.errors import StateDamagedError
from everalign.methods.base import StateArrays
from everalign.methods.evidence.adjacency_updates import EDGE_COLUMNS
from everalign.methods.evidence.candidate_store import LITERAL_ROW_COLUMNS, ROW_COLUMNS
from everalign.methods.evidence.link_rates import NO_RATES

SIDES = ("left", "right")
PAIR_BITS = 32
_CARDINALITIES = {cardinality.encode() for cardinality in Cardinality}


def check_saved_arrays(arrays: StateArrays) -> None:
    """Check what `AlignmentState.to_arrays` has returned.

    Args:
        arrays: All arrays by name.

    Raises:
        StateDamagedError: An array has another shape or type, or a value is out of range.
    """
    _require(arrays["cardinality"].tobytes() in _CARDINALITIES, "cardinality")
    for side in SIDES:
        _check_graph(arrays, side)
    nodes = [len(arrays[f"{side}_node_start"]) for side in SIDES]
    entities = [len(arrays[f"{side}_node_literal_start"]) for side in SIDES]
    columns = [name for name in (*ROW_COLUMNS, *LITERAL_ROW_COLUMNS) if _has(arrays, name)]
    _check_blocks(arrays, "candidate", ["right", *columns], entities[0])
    _check_ids(arrays, "candidate_right", entities[1], _length(arrays, "candidate"))
    _check_blocks(arrays, "candidate_left", ["left"], entities[1])
    _check_ids(arrays, "candidate_left_left", entities[0], _length(arrays, "candidate_left"))
    for index, side in enumerate(SIDES):
        prefix = f"{side}_match"
        _check_blocks(arrays, prefix, ["counterpart", "probability"], nodes[index])
        _check_ids(arrays, f"{prefix}_counterpart", nodes[1 - index], _length(arrays, prefix))
        _check_ids(arrays, f"excluded_{side}", entities[index])
    _require(len(arrays["left_match_level"]) >= _length(arrays, "left_match"), "left_match_level")
    for name in ("anchors", "rejected", "held_out_pairs", "doubted_links"):
        _check_pairs(arrays, name, entities)
    _require(
        arrays["doubted_probability"].shape == (len(arrays["doubted_links"]),),
        "doubted_probability",
    )
    sums = arrays["relation_key"], arrays["relation_cooccurrence"]
    _require(sums[0].shape == sums[1].shape and sums[0].ndim == 1, "relation_key")
    widths = [len(arrays[f"relation_{side}_comparable"]) for side in SIDES]
    _check_range(sums[0], widths[0] * widths[1], "relation_key")
    for side in SIDES:
        count = len(arrays[f"{side}_node_relation_idf"])
        _require(len(arrays[f"relation_{side}_comparable"]) >= count, f"{side}_comparable")
        _require(arrays[f"{side}_fact_counts"].ndim == 1, f"{side}_fact_counts")
        rates = arrays.get(f"{side}_relation_rates", NO_RATES)
        _require(rates.ndim == 1 and rates.dtype == np.float32, f"{side}_relation_rates")
    if "left_category_key" in arrays:
        for side, other in zip(SIDES, reversed(SIDES), strict=True):
            _check_categories(arrays, f"{side}_category", f"{other}_category")


def _check_categories(arrays: StateArrays, prefix: str, other_prefix: str) -> None:
    count, start = len(arrays[f"{prefix}_key"]), arrays[f"{prefix}_start"]
    counterpart, inclusion = arrays[f"{prefix}_counterpart"], arrays[f"{prefix}_inclusion"]
    _require(
        start.shape == (count + 1,)
        and start.dtype == np.int64
        and bool(np.all(np.diff(start) >= 0))
        and start[0] == 0
        and start[-1] == len(counterpart) == len(inclusion),
        f"{prefix}_start",
    )
    _check_range(counterpart, len(arrays[f"{other_prefix}_key"]), f"{prefix}_counterpart")
    for name in ("unseen", "best"):
        _require(arrays[f"{prefix}_{name}"].shape == (count,), f"{prefix}_{name}")


def check_change_arrays(changes: StateArrays, capacities: Sequence[tuple[int, int, int]]) -> None:
    """Check what `AlignmentState.changes_to_arrays` has returned.

    Args:
        changes: Arrays by name.
        capacities: For the left and the right graph, how many entities, nodes and relations there
            is room for.

    Raises:
        StateDamagedError: An array has another shape or type, or a value is out of range.
    """
    counts = changes["changed_entity_counts"]
    _require(counts.shape == (2,) and counts.dtype.kind == "i", "changed_entity_counts")
    entities = [capacity[0] for capacity in capacities]
    for index, side in enumerate(SIDES):
        _require(0 <= counts[index] <= entities[index], "changed_entity_counts")
        _, nodes, relations = capacities[index]
        for name in (f"added_{side}_facts", f"removed_{side}_facts"):
            rows = changes[name]
            _require(rows.ndim == 2 and rows.shape[1] == 3, name)
            _check_range(rows[:, [0, 2]], nodes, name)
            _check_range(rows[:, 1], relations, name)
        for name in (f"added_excluded_{side}", f"removed_excluded_{side}"):
            _check_ids(changes, name, entities[index])
    for name in ("changed_rows", "dropped_rows"):
        _check_pairs(changes, name, entities)
    for name in ("anchors", "rejected"):
        for numbers in (changes[f"added_{name}"], changes[f"removed_{name}"]):
            _require(numbers.ndim == 1 and numbers.dtype.kind == "i", name)
            _check_range(numbers >> PAIR_BITS, entities[0], name)
            _check_range(numbers & ((1 << PAIR_BITS) - 1), entities[1], name)
    for name in (*ROW_COLUMNS, *LITERAL_ROW_COLUMNS):
        if f"changed_{name}" in changes:
            column = changes[f"changed_{name}"]
            _require(column.shape == (len(changes["changed_rows"]),), f"changed_{name}")
    for index, side in enumerate(SIDES):
        name = f"literal_match_{side}"
        literals = capacities[index][1] - entities[index]
        _check_range(changes[name], max(literals, 0), name)


def _check_graph(arrays: StateArrays, side: str) -> None:
    prefix = f"{side}_edge"
    nodes = len(arrays[f"{side}_node_start"])
    relations = len(arrays[f"{side}_node_relation_idf"])
    _check_columns(arrays, prefix, EDGE_COLUMNS)
    length = _length(arrays, prefix)
    _check_index(arrays[f"{side}_node_start"], arrays[f"{side}_node_stop"], length, f"{side}_node")
    for name in ("relation", "sorted_relation"):
        _check_ids(arrays, f"{prefix}_{name}", relations, length)
    for name in ("neighbour", "sorted_neighbour"):
        _check_ids(arrays, f"{prefix}_{name}", nodes, length)
    _check_ids(arrays, f"{prefix}_group_end", length + 1, length)
    entities = len(arrays[f"{side}_node_literal_start"])
    _check_ids(arrays, f"{side}_node_literal_start", length + 1)
    _require(entities <= nodes, f"{side}_node_literal_start")
    _require(len(arrays[f"{side}_node_degree_discount"]) >= entities, f"{side}_degree_discount")
    _require(
        len(arrays[f"{side}_node_relation_functionality"]) >= relations,
        f"{side}_node_relation_functionality",
    )
    counts = arrays[f"{side}_counts"]
    _require(counts.shape == (2,) and counts.dtype.kind == "i", f"{side}_counts")
    _require(0 <= counts[0] <= entities and 0 <= 2 * counts[1] <= relations, f"{side}_counts")


def _check_blocks(arrays: StateArrays, prefix: str, names: Sequence[str], keys: int) -> None:
    _check_columns(arrays, prefix, names)
    start, stop = arrays[f"{prefix}_start"], arrays[f"{prefix}_stop"]
    _require(len(start) >= keys, f"{prefix}_start")
    _check_index(start, stop, _length(arrays, prefix), prefix)


def _check_columns(arrays: StateArrays, prefix: str, names: Sequence[str]) -> None:
    length = _length(arrays, prefix)
    for name in names:
        column = arrays[f"{prefix}_{name}"]
        _require(column.ndim == 1 and 0 <= length <= len(column), f"{prefix}_{name}")


def _check_index(start: NDArray[Any], stop: NDArray[Any], length: int, name: str) -> None:
    _require(start.shape == stop.shape and start.ndim == 1, f"{name}_start")
    _check_range(stop, length + 1, f"{name}_stop")
    _require(start.dtype == np.int64 and bool((start <= stop).all()), f"{name}_start")
    _require(not len(start) or int(start.min()) >= 0, f"{name}_start")


def _check_pairs(arrays: StateArrays, name: str, counts: Sequence[int]) -> None:
    rows = arrays[name]
    _require(rows.ndim == 2 and rows.shape[1] == 2, name)
    for column, count in enumerate(counts):
        _check_range(rows[:, column], count, name)


def _check_ids(arrays: StateArrays, name: str, count: int, length: int | None = None) -> None:
    ids = arrays[name]
    _require(ids.ndim == 1, name)
    _check_range(ids[:length], count, name)


def _check_range(ids: NDArray[Any], count: int, name: str) -> None:
    _require(ids.dtype in (np.int32, np.int64), name)
    # Without a sign, what is negative is larger than any count: one pass instead of two.
    unsigned = ids.view(np.dtype(f"u{ids.dtype.itemsize}"))
    _require(not ids.size or int(unsigned.max()) < count, name)


def _length(arrays: StateArrays, prefix: str) -> int:
    return int(arrays[f"{prefix}_length"])


def _has(arrays: StateArrays, name: str) -> bool:
    return f"candidate_{name}" in arrays


def _require(condition: bool, name: str) -> None:
    if not condition:
        raise StateDamagedError(f"what the method has stored is damaged: array {name}")
