"""Names of entities, relations, attributes and literals, and their ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from everalign.graph.packed_names import PackedNames, pack_names
from everalign.graph.triples import IntArray

if TYPE_CHECKING:
    from everalign.graph.name_table import NameTable

# All stored names are loaded where there are no more than these, …
FEW_NAMES = 64
# … or once more than one in so many was looked up: from there on, one pass over all of them is
# faster than further queries.
LOOKUP_SHARE = 6


class NameSource(Protocol):
    """Stored names that can be looked up a few at a time; their ids are 0, 1, …"""

    def __len__(self) -> int: ...

    def find_ids(self, names: Sequence[str]) -> Mapping[str, int]:
        """Look up names.

        Args:
            names: Distinct names.

        Returns:
            The ids of those that are stored.
        """

    def read_names(self, ids: Sequence[int]) -> Mapping[int, str]:
        """Read names.

        Args:
            ids: Distinct ids of stored names.

        Returns:
            The name of each id.
        """

    def read_range(self, start: int, stop: int) -> list[str]:
        """Read consecutive names.

        Args:
            start: The first id.
            stop: One more than the last id.

        Returns:
            The names in the order of their ids.
        """


class NameIndex(Sequence[str]):
    """Names in the order in which they were added; the position of a name is its id.

    Names are only ever appended, so a stored id stays the same for the life of an alignment. Names
    that are stored elsewhere come first. They are looked up as they are needed and not loaded.
    Where many names come at once and none is stored, they are kept as bytes in a `NameTable`.

    >>> names = NameIndex(["Rome"])
    >>> names.get_or_add_id("Oslo"), names.get_or_add_id("Rome"), names[1], len(names)
    (1, 0, 'Oslo', 2)

    Args:
        known: Names to append, without duplicates, in the order of their ids.
        stored: Names that are stored already.
    """

    def __init__(self, known: Iterable[str] = (), stored: NameSource | None = None) -> None:
        self._stored = stored
        self._stored_count = 0 if stored is None else len(stored)
        self._lookup_count = 0
        # The new names, and those of the stored ones that were looked up.
        self._ids: dict[str, int] = {}
        self._has_all_ids = self._stored_count == 0
        self._stored_names: list[str] | None = None
        self._new_names: list[str] = []
        self._loaded: dict[int, str] = {}
        # Once there is a table, it has all names, and the dictionary and the list have none.
        self._table: NameTable | None = None
        self.get_or_add_ids(list(known))

    def get_or_add_id(self, name: str) -> int:
        """Return the id of a name; a name never seen before is appended.

        Args:
            name: The name to look up or append.

        Returns:
            Its id.
        """
        return int(self.get_or_add_ids([name])[0])

    def get_or_add_ids(self, names: Sequence[str]) -> IntArray:
        """Return the ids of names; those never seen before are appended.

        Args:
            names: The names to look up or append, with or without duplicates.

        Returns:
            Their ids.
        """
        if self._table is not None:
            return self._table.add_names(pack_names(names))
        ids = self._ids
        if self._has_all_ids:
            # One lookup, whether a name is known or new: the next free id is the number of names.
            known_count = len(ids)
            found = [ids.setdefault(name, len(ids)) for name in names]
            # A dict keeps the order of insertion, so the new ones are its last.
            self._new_names += [*islice(reversed(ids), len(ids) - known_count)][::-1]
        else:
            unknown = self._look_up(names)
            ids.update(zip(unknown, range(len(self), len(self) + len(unknown)), strict=True))
            self._new_names += unknown
            found = [ids[name] for name in names]
        return np.array(found, dtype=np.int32)

    def get_or_add_packed(
        self, names: PackedNames, hashes: NDArray[np.uint64] | None = None
    ) -> IntArray:
        """Return the ids of many names; those never seen before are appended.

        Args:
            names: The names to look up or append, with or without duplicates.
            hashes: Their hashes, if they are known, see `NameTable`.

        Returns:
            Their ids.
        """
        if self._stored_count:
            return self.get_or_add_ids(list(names))
        if self._table is None:
            # Imported here: it takes longer than to encode a small file.
            from everalign.graph.name_table import NameTable

            self._table = NameTable()
            self._table.add_names(pack_names(self._new_names))
            self._ids, self._new_names = {}, []
        return self._table.add_names(names, hashes)

    def find(self, name: str) -> int | None:
        """Look up a name without adding it.

        Args:
            name: The name to look up.

        Returns:
            Its id, or None if it was never seen.
        """
        number = int(self.find_ids([name])[0])
        return None if number < 0 else number

    def find_ids(self, names: Sequence[str]) -> IntArray:
        """Look up names without adding them.

        Args:
            names: The names to look up.

        Returns:
            Their ids; −1 for a name that was never seen.
        """
        if self._table is not None:
            return self._table.find_names(pack_names(names, errors="surrogatepass"))
        self._look_up(names)
        ids = self._ids
        return np.fromiter((ids.get(name, -1) for name in names), np.int32, len(names))

    def map_names(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the names of some ids.

        Args:
            ids: The ids, with or without duplicates.

        Returns:
            The name of each id.
        """
        distinct = dict.fromkeys(ids)
        if self._table is not None:
            numbers = np.fromiter(distinct, np.int64, len(distinct))
            return dict(zip(distinct, self._table.names.take_names(numbers), strict=True))
        stored = self._read_stored([number for number in distinct if number < self._stored_count])
        new, count = self._new_names, self._stored_count
        return {
            number: stored[number] if number < count else new[number - count]
            for number in distinct
        }

    def load(self, ids: Iterable[int]) -> None:
        """Read names at once that will be asked for one by one, and forget others read before.

        Args:
            ids: The ids, with or without duplicates.
        """
        self._loaded = self.map_names(ids)

    def list_names_after(self, count: int) -> Sequence[str]:
        """Return the names that were appended after the first `count`.

        Args:
            count: The number of names to skip.

        Returns:
            The names with the ids `count`, `count + 1`, …
        """
        if self._table is not None:
            return self._table.names[count:]
        if count >= self._stored_count:
            return self._new_names[count - self._stored_count :]
        return self._load_names()[count:] + self._new_names

    def sort_names_after(self, count: int) -> IntArray:
        """Number the names that were appended after the first `count` anew, in sorted order.

        What is computed from ids then does not depend on the order in which names came.

        Args:
            count: The number of names that keep their ids, all stored ones among them.

        Returns:
            The new id of each of these names, in the order of their old ids.

        Example:
            >>> names = NameIndex(["Rome", "Oslo", "Bern"])
            >>> names.sort_names_after(1).tolist(), list(names)
            ([2, 1], ['Rome', 'Bern', 'Oslo'])
        """
        self._loaded = {}
        if self._table is not None:
            return self._table.sort_names_after(count)
        first = count - self._stored_count
        assert first >= 0, "stored names keep their ids"
        appended = self._new_names[first:]
        order = sorted(range(len(appended)), key=appended.__getitem__)
        new_ids = np.empty(len(appended), dtype=np.int32)
        new_ids[np.array(order, dtype=np.int64)] = np.arange(count, len(self))
        self._new_names[first:] = [appended[position] for position in order]
        self._ids.update(zip(self._new_names[first:], range(count, len(self)), strict=True))
        return new_ids

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...
    def __getitem__(self, number: int | slice) -> str | list[str]:
        positions = range(len(self))[number]
        if isinstance(positions, range):
            return list(self.map_names(positions).values())
        if positions in self._loaded:
            return self._loaded[positions]
        if self._table is not None:
            return self._table.names[positions]
        if positions >= self._stored_count:
            return self._new_names[positions - self._stored_count]
        return self._read_stored([positions])[positions]

    def __iter__(self) -> Iterator[str]:
        return iter(self.list_names_after(0))

    def __len__(self) -> int:
        if self._table is not None:
            return len(self._table)
        return self._stored_count + len(self._new_names)

    def _look_up(self, names: Sequence[str]) -> list[str]:
        """Remember the ids of stored names, and list the names that are unknown, each once."""
        unknown = [name for name in dict.fromkeys(names) if name not in self._ids]
        if not unknown or self._has_all_ids:
            return unknown
        if self._should_load(len(unknown)):
            self._ids.update(zip(self._load_names(), range(self._stored_count), strict=True))
            self._has_all_ids = True
        else:
            assert self._stored is not None
            self._ids.update(self._stored.find_ids(unknown))
        return [name for name in unknown if name not in self._ids]

    def _read_stored(self, ids: Sequence[int]) -> Mapping[int, str] | Sequence[str]:
        """Read stored names by id, or all of them."""
        if not ids or self._stored is None:
            return {}
        if self._stored_names is not None or self._should_load(len(ids)):
            return self._load_names()
        return self._stored.read_names(ids)

    def _should_load(self, lookup_count: int) -> bool:
        self._lookup_count += lookup_count
        return self._stored_count <= max(FEW_NAMES, LOOKUP_SHARE * self._lookup_count)

    def _load_names(self) -> list[str]:
        if self._stored_names is None:
            assert self._stored is not None
            self._stored_names = self._stored.read_range(0, self._stored_count)
        return self._stored_names


@dataclass
class Vocabulary:
    """The names of one graph, with separate ids for each of four kinds.

    Attributes:
        entities: IRIs and blank nodes that occur as subject or object.
        relations: Predicates whose object is an entity.
        attributes: Predicates whose object is a literal.
        literals: Literals as N-Triples writes them, with language tag or datatype.
    """

    entities: NameIndex = field(default_factory=NameIndex)
    relations: NameIndex = field(default_factory=NameIndex)
    attributes: NameIndex = field(default_factory=NameIndex)
    literals: NameIndex = field(default_factory=NameIndex)

    def list_indexes(self) -> tuple[NameIndex, NameIndex, NameIndex, NameIndex]:
        """List the names of all kinds.

        Returns:
            Those of entities, relations, attributes and literals.
        """
        return self.entities, self.relations, self.attributes, self.literals
