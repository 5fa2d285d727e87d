"""The facts of both graphs and the decisions at a version: deltas applied in order.

A delta that reverts undoes all deltas after an earlier version, so each version has its own list
of deltas in effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray, mark_known_rows
from everalign.graph.triples import NO_TRIPLES
from everalign.state.decisions import DecisionKind
from everalign.state.deltas import Delta, Side
from everalign.state.ledger import Pair

SIDES: tuple[Side, Side] = ("left", "right")
FACT_KINDS = ("triples", "literals")
REVERT_ARRAY = "revert"

Mask = NDArray[np.bool_]
BothSides = tuple[IntArray, IntArray]
DeltaInEffect = tuple[int, Delta]  # with the version that applied it


def get_added_array_name(side: Side, fact_kind: str) -> str:
    """Name the array of a delta that holds added facts.

    Args:
        side: The graph.
        fact_kind: "triples" or "literals".

    Returns:
        The name, such as "left_added_triples".
    """
    return f"{side}_added_{fact_kind}"


def get_removed_array_name(side: Side, fact_kind: str) -> str:
    """Name the array of a delta that holds removed facts.

    Args:
        side: The graph.
        fact_kind: "triples" or "literals".

    Returns:
        The name, such as "left_removed_triples".
    """
    return f"{side}_removed_{fact_kind}"


@dataclass(frozen=True)
class GraphSnapshot:
    """The facts of both graphs as rows of ids, and the last decision about each pair.

    Args:
        triples: Rows of (head, relation, tail) of the left and the right graph.
        literals: Rows of (entity, attribute, literal) of the left and the right graph.
        decisions: The last decision about each pair.
    """

    triples: BothSides = (NO_TRIPLES, NO_TRIPLES)
    literals: BothSides = (NO_TRIPLES, NO_TRIPLES)
    decisions: Mapping[Pair, DecisionKind] = field(default_factory=dict)

    def with_deltas(self, deltas: Iterable[Delta]) -> GraphSnapshot:
        """Apply the facts of deltas that are all in effect.

        Args:
            deltas: Deltas in the order of their versions.

        Returns:
            The snapshot with the facts after the last of them, and the same decisions.
        """
        arrays = [delta.arrays for delta in deltas]
        triples, literals = (
            tuple(
                _apply_facts(
                    rows,
                    arrays,
                    get_added_array_name(side, kind),
                    get_removed_array_name(side, kind),
                )
                for side, rows in zip(SIDES, facts, strict=True)
            )
            for kind, facts in zip(FACT_KINDS, (self.triples, self.literals), strict=True)
        )
        return GraphSnapshot((triples[0], triples[1]), (literals[0], literals[1]), self.decisions)

    def present_entities(self, side: int, entity_count: int) -> Mask:
        """Tell which entities have a fact; the others were removed.

        Args:
            side: 0 for the left graph, 1 for the right.
            entity_count: How many entities the graph has ever had.

        Returns:
            A mask over the ids of entities.
        """
        present = np.zeros(entity_count, dtype=np.bool_)
        present[self.triples[side][:, [0, 2]].ravel()] = True
        present[self.literals[side][:, 0]] = True
        return present

    def decided_pairs(self, *kinds: DecisionKind) -> IntArray:
        """List the pairs with one of these decisions.

        Args:
            *kinds: Kinds of decisions.

        Returns:
            Rows of (left, right), in the order in which pairs were first decided.
        """
        pairs = [pair for pair, kind in self.decisions.items() if kind in kinds]
        return np.array(pairs, dtype=np.int32).reshape(-1, 2)


def find_revert_target(delta: Delta) -> int | None:
    """Find the version that a delta reverts to.

    Args:
        delta: Any delta.

    Returns:
        The version, or None if the delta reverts nothing.
    """
    return int(delta.arrays[REVERT_ARRAY][0, 0]) if REVERT_ARRAY in delta.arrays else None


def list_deltas_in_effect(
    deltas: Sequence[Delta], version: int | None = None
) -> list[DeltaInEffect]:
    """List the deltas that make up the snapshot of a version.

    Args:
        deltas: All applied deltas; the position of a delta is the version that applied it.
        version: The version; the last one if None.

    Returns:
        Version and delta, oldest first. Deltas that revert are not among them.
    """
    in_effect: list[DeltaInEffect] = []
    current = len(deltas) - 1 if version is None else version
    # Backwards: a revert jumps to its target, so a revert of a revert needs no rule of its own.
    while current >= 0:
        target = find_revert_target(deltas[current])
        if target is None:
            in_effect.append((current, deltas[current]))
        current = current - 1 if target is None else target
    return in_effect[::-1]


def count_changes(before: IntArray, after: IntArray) -> tuple[int, int]:
    """Count the rows that were added and removed.

    Args:
        before: Distinct rows.
        after: Distinct rows.

    Returns:
        How many rows are only in `after`, and how many only in `before`.

    >>> count_changes(np.array([[0, 0, 1], [1, 0, 2]]), np.array([[1, 0, 2], [2, 0, 3]]))
    (1, 1)
    """
    # Most updates only append: comparing a prefix is much faster than sorting both.
    if len(before) <= len(after) and np.array_equal(after[: len(before)], before):
        return len(after) - len(before), 0
    kept = int(np.count_nonzero(mark_known_rows(after, before)))
    return len(after) - kept, len(before) - kept


def _apply_facts(
    facts: IntArray, deltas: Sequence[Mapping[str, IntArray]], added: str, removed: str
) -> IntArray:
    parts = [facts]
    for arrays in deltas:
        # Removals come before the additions of the same delta: a row in both stays. Only they need
        # all facts in one array.
        if removed in arrays:
            rows = np.concatenate(parts)
            parts = [rows[~mark_known_rows(rows, arrays[removed])]]
        if added in arrays:
            parts.append(arrays[added])
    # A single part is not copied: base graphs are large.
    parts = [part for part in parts if len(part)] or [NO_TRIPLES]
    rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
    # Snapshots, graphs and methods share this array.
    rows.setflags(write=False)
    return rows
