"""What a method stores at a version: everything, or only what has changed.

Pairs that the method proposes are stored with it. After a small update these are the proposals of
the entities that it concerns; they replace earlier ones of the same entities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from everalign.state.array_format import Array
from everalign.state.links import ScoredPair, pairs_from_array, pairs_to_array

Arrays: TypeAlias = Mapping[str, Array]

# Names of arrays that are not the method's own.
PROPOSALS_ARRAY = "everalign-proposals"
LEFT_ARRAY, RIGHT_ARRAY = f"{PROPOSALS_ARRAY}-left", f"{PROPOSALS_ARRAY}-right"
PROPOSAL_ARRAYS = (PROPOSALS_ARRAY, LEFT_ARRAY, RIGHT_ARRAY)


@dataclass(frozen=True)
class MethodOutput:
    """What a method stores at a version.

    Attributes:
        arrays: Everything that it remembers; None if that is not stored again.
        changes: What has changed; None if nothing has.
        merge: Merges changes of consecutive versions.
        same_as: The version that the method goes back to; by default the last one.
        save_all: Returns everything that the method remembers, for when there are many changes.
    """

    arrays: Arrays | None = None
    changes: Arrays | None = None
    merge: Callable[[Sequence[Arrays]], Arrays] = lambda changes: changes[-1]
    same_as: int | None = None
    save_all: Callable[[], Arrays] | None = None

    @staticmethod
    def from_all(arrays: Arrays, proposed: Iterable[ScoredPair]) -> MethodOutput:
        """Store everything.

        Args:
            arrays: What the method remembers.
            proposed: All pairs that it proposes.

        Returns:
            What is stored.
        """
        return MethodOutput({**arrays, PROPOSALS_ARRAY: pairs_to_array(proposed)})

    @staticmethod
    def from_changes(
        changes: Arrays,
        entities: tuple[Array, Array],
        proposed: Iterable[ScoredPair],
        merge: Callable[[Sequence[Arrays]], Arrays],
        save_all: Callable[[], Arrays] | None = None,
    ) -> MethodOutput:
        """Store what has changed.

        Args:
            changes: What the method has changed.
            entities: Left and right entities whose proposals are replaced.
            proposed: The pairs that it proposes for them.
            merge: Merges what the method has changed in consecutive versions.
            save_all: Returns everything that it remembers.

        Returns:
            What is stored.
        """
        arrays = {
            **changes,
            PROPOSALS_ARRAY: pairs_to_array(proposed),
            LEFT_ARRAY: entities[0].astype("<i8"),
            RIGHT_ARRAY: entities[1].astype("<i8"),
        }
        return MethodOutput(
            changes=arrays,
            merge=lambda parts: {**merge(parts), **_merge_proposals(parts)},
            save_all=save_all,
        )


def read_proposals(arrays: Arrays, changes: Sequence[Arrays]) -> list[ScoredPair]:
    """Read the pairs that a method proposes.

    Args:
        arrays: What it has stored as a whole.
        changes: What it has stored as changes since, oldest first.

    Returns:
        The pairs with their scores.
    """
    records = arrays[PROPOSALS_ARRAY] if PROPOSALS_ARRAY in arrays else pairs_to_array([])
    for part in changes:
        records = _replace_records(records, part)
    return pairs_from_array(records)


def collect_proposals(arrays: Arrays, changes: Sequence[Arrays], last: Arrays) -> dict[str, Array]:
    """Collect all pairs that a method proposes, to be stored with everything else.

    Args:
        arrays: What it has stored as a whole.
        changes: What it has stored as changes since, oldest first.
        last: What the last update has changed.

    Returns:
        The array of the pairs by its name.
    """
    return {PROPOSALS_ARRAY: pairs_to_array(read_proposals(arrays, [*changes, last]))}


def _merge_proposals(parts: Sequence[Arrays]) -> dict[str, Array]:
    records = parts[0][PROPOSALS_ARRAY]
    for part in parts[1:]:
        records = _replace_records(records, part)
    return {
        PROPOSALS_ARRAY: records,
        LEFT_ARRAY: np.unique(np.concatenate([part[LEFT_ARRAY] for part in parts])),
        RIGHT_ARRAY: np.unique(np.concatenate([part[RIGHT_ARRAY] for part in parts])),
    }


def _replace_records(records: Array, part: Arrays) -> Array:
    is_replaced = np.isin(records["left"], part[LEFT_ARRAY])
    is_replaced |= np.isin(records["right"], part[RIGHT_ARRAY])
    return np.concatenate([records[~is_replaced], part[PROPOSALS_ARRAY]])
