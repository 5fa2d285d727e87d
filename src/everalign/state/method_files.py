"""The files of a method: written whole or as changes, and removed once no version needs them.

The newest two versions keep what makes up their method state. Older files are superseded. A row of
table `dropped_files` says that those of a version are gone, and is written before they go. A
version whose method state is gone has its facts, links and decisions; the next update of it trains
the method again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from everalign.errors import StateDamagedError, StateError
from everalign.state.catalogue import Catalogue
from everalign.state.deltas import MethodState
from everalign.state.files import (
    LazyMapping,
    StateLayout,
    list_numbered_folders,
    measure_folder,
    read_arrays,
    remove_folder,
    write_arrays,
)
from everalign.state.links import ScoredPair
from everalign.state.method_output import (
    PROPOSAL_ARRAYS,
    Arrays,
    MethodOutput,
    collect_proposals,
    read_proposals,
)

logger = logging.getLogger(__name__)

# So many changes of a method are merged to one.
MERGED_CHANGES = 8
# Everything is stored anew once changes, which are compressed, take more than this share of it.
# Each load applies them: with more of them updates get slower, with fewer more is written.
MAX_CHANGE_SHARE = 0.03
# Smaller ones count as so many bytes: a few changes of them are applied in no time.
MIN_BASE_BYTES = 1 << 26


class MethodFiles:
    """Writes, reads and removes what methods store.

    Args:
        layout: The paths of the state directory.
        catalogue: The queries of its database.
    """

    def __init__(self, layout: StateLayout, catalogue: Catalogue) -> None:
        self._layout = layout
        self._catalogue = catalogue

    def find_state(self, version: int | None = None) -> MethodState:
        """Find which versions make up what the method remembers.

        Args:
            version: The version; the last one by default.

        Returns:
            The versions; none before the first version, or if their files were removed.
        """
        state = self._read_state(self._catalogue.last_version if version is None else version)
        return MethodState() if self._catalogue.find_dropped(state.list_versions()) else state

    def write(self, method: MethodOutput, number: int) -> tuple[dict[str, str], MethodState]:
        """Write what a method stores at a version.

        Args:
            method: What it stores.
            number: The version.

        Returns:
            The checksums of the files by name, and the versions that make up what it remembers.
        """
        folder = self._layout.version_folder(number)
        if method.arrays is not None:
            return write_arrays(folder, method.arrays), MethodState(number, number)
        before = self.find_state(method.same_as)
        if method.changes is None:
            return {}, before
        if method.save_all is not None and self._has_many_changes(before, method.changes):
            proposals = collect_proposals(*self._load(before), method.changes)
            arrays = {**method.save_all(), **proposals}
            return write_arrays(folder, arrays), MethodState(number, number)
        changes, merged = dict(method.changes), list(before.changes)
        level = 0
        # Eight of one level become one of the next: what has to be read grows with the logarithm
        # of the number of updates.
        while len(merged) >= MERGED_CHANGES - 1 and all(
            entry[1] == level for entry in merged[1 - MERGED_CHANGES :]
        ):
            parts = [self._read_arrays(entry[0]) for entry in merged[1 - MERGED_CHANGES :]]
            changes = dict(method.merge([*parts, changes]))
            merged, level = merged[: 1 - MERGED_CHANGES], level + 1
        state = MethodState(number, before.base, (*merged, (number, level)))
        return write_arrays(folder, changes, compressed=True), state

    def load(self, version: int | None = None) -> tuple[Arrays, list[Arrays]]:
        """Load what the method had stored at a version.

        Args:
            version: The version; the last one by default.

        Returns:
            All arrays of the last version that has stored everything, mapped into memory, and
            the changes of later versions, oldest first.

        Raises:
            StateError: The method has stored nothing yet, or its files were removed.
            StateDamagedError: A file is missing or has changed.
        """
        arrays, changes = self._load(self._require_state(version))
        return _leave_out_proposals(arrays), [_leave_out_proposals(part) for part in changes]

    def read_proposals(self, version: int) -> list[ScoredPair]:
        """Read the pairs that were proposed at a version.

        Args:
            version: The version.

        Returns:
            The pairs with their scores.

        Raises:
            StateError: The files of the method were removed.
            StateDamagedError: A file is missing or has changed.
        """
        if self._read_state(version).base is None:
            return []
        return read_proposals(*self._load(self._require_state(version)))

    def list_superseded(self, kept_versions: int = 2) -> list[int]:
        """List the versions whose files are not needed.

        Args:
            kept_versions: How many of the newest versions keep what makes up their method state.

        Returns:
            The versions that have files, ascending.
        """
        last = self._catalogue.last_version
        states = [self._read_state(last - age) for age in range(kept_versions)]
        needed = {number for state in states for number in state.list_versions()}
        needed -= set(self._catalogue.find_dropped(needed))
        # Those on the disk and not all versions: the cost does not grow with the history.
        found = list_numbered_folders(self._layout.folders[1])
        return [number for number in found if number <= last and number not in needed]

    def drop(self, numbers: Collection[int], reason: str) -> None:
        """Remove the files of versions. Readers that have them open can go on.

        Args:
            numbers: The versions.
            reason: Why, for people.
        """
        if not numbers:
            return
        # First the row: whoever finds a file missing can tell that it is meant to be.
        self._catalogue.insert_dropped(numbers, reason)
        for number in numbers:
            remove_folder(self._layout.version_folder(number))
        logger.info("files of %d versions removed: %s", len(numbers), reason)

    def _read_state(self, version: int) -> MethodState:
        found = self._catalogue.read_version(version)
        return MethodState() if found is None else found.method_state

    def _require_state(self, version: int | None) -> MethodState:
        number = self._catalogue.last_version if version is None else version
        state = self._read_state(number)
        if state.base is None:
            raise StateError(
                f"{self._layout.root} has nothing that a method has stored: run `update`"
            )
        if self._catalogue.find_dropped(state.list_versions()):
            raise StateError(
                f"{self._layout.root} no longer has what the method stored at version {number};"
                " `update` trains it again"
            )
        return state

    def _load(self, state: MethodState) -> tuple[Arrays, list[Arrays]]:
        assert state.base is not None, "changes follow a version that has stored everything"
        numbers = state.base, *(number for number, _ in state.changes)
        arrays, *changes = map(self._read_arrays, numbers)
        return arrays, changes

    def _read_arrays(self, version: int) -> Arrays:
        folder, files = self._layout.version_folder(version), self._catalogue.read_files(version)
        try:
            return read_arrays(folder, files)
        except StateDamagedError:
            # A reader of an old version may be late, which is no damage.
            if not self._catalogue.find_dropped([version]):
                raise
            raise StateError(f"{folder} was removed by a newer version: try again") from None

    def _has_many_changes(self, state: MethodState, changes: Arrays) -> bool:
        assert state.base is not None, "changes follow a version that has stored everything"
        base, *rest = (
            measure_folder(self._layout.version_folder(number)) for number in state.list_versions()
        )
        size = sum(rest) + sum(array.nbytes for array in changes.values())
        return size > MAX_CHANGE_SHARE * max(base, MIN_BASE_BYTES)


def _leave_out_proposals(arrays: Arrays) -> Arrays:
    """A method gets back what it has saved, and no more."""
    names = [name for name in arrays if name not in PROPOSAL_ARRAYS]
    return LazyMapping(names, arrays.__getitem__)
