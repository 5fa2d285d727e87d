"""Checkpoints of the method while a version is made, in the cache of the state directory."""

from __future__ import annotations

import logging
from pathlib import Path
from time import perf_counter

from xxhash import xxh3_128_hexdigest

from everalign.errors import StateError
from everalign.state.files import (
    BUNDLE_NAME,
    StateLayout,
    read_arrays,
    remove_folder,
    write_arrays,
)
from everalign.state.method_output import Arrays

logger = logging.getLogger(__name__)

PREFIX = "checkpoint-"
UNFINISHED = "unfinished"
# What takes less time is done again rather than written.
MIN_SECONDS = 60.0


class FolderCheckpoints:
    """Keeps one checkpoint, for one input.

    Args:
        layout: The paths of the state directory.
        key: Names the input and the settings: with others, nothing is found.
    """

    def __init__(self, layout: StateLayout, key: str) -> None:
        self._cache = layout.cache
        self._folder = layout.cache / f"{PREFIX}{xxh3_128_hexdigest(key.encode())}"
        self._saved_at = perf_counter()

    def load(self) -> Arrays | None:
        """Return the arrays of the last checkpoint.

        Returns:
            The arrays; None if there are none, or they are damaged.
        """
        for folder in self._list_saved():
            try:
                # All of them now: what is damaged is not used at all.
                arrays = dict(read_arrays(folder, {BUNDLE_NAME: folder.name}))
            except StateError as error:
                logger.warning("not used: %s", error)
                continue
            logger.info("going on from the checkpoint %s", folder)
            return arrays
        return None

    def save(self, arrays: Arrays) -> None:
        """Replace the last checkpoint, if enough time has passed.

        Args:
            arrays: The arrays.
        """
        if perf_counter() - self._saved_at < MIN_SECONDS:
            return
        before, part = self._list_saved(), self._folder / UNFINISHED
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            remove_folder(part)
            checksum = write_arrays(part, arrays)[BUNDLE_NAME]
            # A folder has the name of its checksum once it is whole.
            part.replace(self._folder / checksum)
        except (OSError, StateError) as error:
            # A full disk costs the checkpoint, not the alignment.
            remove_folder(part)
            logger.warning("no checkpoint in %s: %s", self._folder, error)
            return
        for folder in before:
            if folder.name != checksum:
                remove_folder(folder)
        self._saved_at = perf_counter()

    def _list_saved(self) -> list[Path]:
        return [folder for folder in self._folder.glob("*") if folder.name != UNFINISHED]

    def remove_all(self) -> None:
        """Remove the checkpoints of this and of any other input."""
        for folder in self._cache.glob(f"{PREFIX}*"):
            remove_folder(folder)
