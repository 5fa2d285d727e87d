"""Reads the names of a version a few at a time and keeps none of them."""

from __future__ import annotations

from collections.abc import Iterable

from everalign.state.deltas import NameKind, Side
from everalign.state.names import StoredNames
from everalign.state.store import StateStore


class NameReader:
    """The names of both graphs, for readers who ask for few names again and again.

    Args:
        store: The open state directory.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._lists: dict[tuple[Side, NameKind], StoredNames] = {}

    def find_entity(self, side: Side, name: str) -> int | None:
        """Look up an entity.

        Args:
            side: The graph.
            name: Its name.

        Returns:
            Its id, or None if the graph has never had it.
        """
        return self._open(side, "entity").find_ids([name]).get(name)

    def read(self, side: Side, kind: NameKind, ids: Iterable[int]) -> dict[int, str]:
        """Read names in one query.

        Args:
            side: The graph.
            kind: The kind of the names.
            ids: Their ids, with or without duplicates.

        Returns:
            The name of each id.
        """
        return self._open(side, kind).read_names(sorted(set(ids)))

    def count_entities(self, side: Side) -> int:
        """Count the entities that a graph has ever had.

        Args:
            side: The graph.

        Returns:
            The number of them; ids are less than it.
        """
        return len(self._open(side, "entity"))

    def _open(self, side: Side, kind: NameKind) -> StoredNames:
        if (side, kind) not in self._lists:
            self._lists[side, kind] = self._store.open_names(side, kind)
        return self._lists[side, kind]
