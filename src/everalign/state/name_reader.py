"""Reads the names of a version a few at a time, and keeps those that were read last."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from everalign._cache import LimitedCache
from everalign.state.deltas import NameKind, Side
from everalign.state.names import StoredNames
from everalign.state.store import StateStore

# Of each kind of each graph. An answer shows some hundred, those of hubs and relations always
# again; names of 100 characters take some megabytes.
MAX_KEPT_NAMES = 20_000


class NameReader:
    """The names of both graphs, for readers who ask for few names again and again.

    A name never gets another id, so what was read once stays right.

    Args:
        store: The open state directory.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._lists: dict[tuple[Side, NameKind], StoredNames] = {}
        self._names: dict[tuple[Side, NameKind], LimitedCache[int, str]] = {}
        self._ids: dict[Side, LimitedCache[str, int]] = {
            side: LimitedCache(MAX_KEPT_NAMES) for side in ("left", "right")
        }

    def find_entity(self, side: Side, name: str) -> int | None:
        """Look up an entity.

        Args:
            side: The graph.
            name: Its name.

        Returns:
            Its id, or None if the graph has never had it.
        """
        return self.find_entities(side, [name]).get(name)

    def find_entities(self, side: Side, names: Iterable[str]) -> dict[str, int]:
        """Look up entities in one query.

        Args:
            side: The graph.
            names: Their names, with or without duplicates.

        Returns:
            The ids of those that the graph has ever had.
        """
        return self._ids[side].read_many(names, self._open(side, "entity").find_ids)

    def read(self, side: Side, kind: NameKind, ids: Iterable[int]) -> dict[int, str]:
        """Read names in one query.

        Args:
            side: The graph.
            kind: The kind of the names.
            ids: Their ids, with or without duplicates.

        Returns:
            The name of each id.
        """
        if (side, kind) not in self._names:
            self._names[side, kind] = LimitedCache(MAX_KEPT_NAMES)
        return self._names[side, kind].read_many(ids, partial(self._read_stored, side, kind))

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

    def _read_stored(self, side: Side, kind: NameKind, ids: list[int]) -> dict[int, str]:
        found = self._open(side, kind).read_names(sorted(ids))
        if kind == "entity":
            # Whoever shows an entity asks for its id by its name soon after.
            for number, name in found.items():
                self._ids[side].put(name, number)
        return found
