"""Names and their ids in arrays: a heap of bytes and a hash table, no Python object for a name."""

from __future__ import annotations

import secrets
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from everalign.graph.name_kernels import (
    Hashes,
    Ids,
    add_names,
    fill_slots,
    find_names,
    gather_names,
    hash_names,
    sort_names,
)
from everalign.graph.packed_names import Bytes, Offsets, PackedNames

Number = TypeVar("Number", bound=np.generic)

# Whoever chooses names cannot choose them so that all have the same hash. Ids do not depend on it.
HASH_KEY = np.uint64(secrets.randbits(64))
# Ids are 32-bit integers.
MAX_NAMES = 2**31 - 1
_MIN_SLOTS = 1 << 10
_MIN_HEAP_BYTES = 1 << 16


class NameTable:
    """Distinct names in the order in which they were added; the position of a name is its id.

    Beside its bytes, a name takes 30 to 43 bytes.

    Example:
        >>> from everalign.graph.packed_names import pack_names
        >>> table = NameTable()
        >>> table.add_names(pack_names(["Rome", "Oslo", "Rome"])).tolist(), len(table)
        ([0, 1, 0], 2)
        >>> table.find_names(pack_names(["Oslo", "Bern"])).tolist(), table.names[1]
        ([1, -1], 'Oslo')
    """

    def __init__(self) -> None:
        self._count = 0
        # Whether others refer to the arrays, which must stay where they are then.
        self._is_shared = False
        self._heap: Bytes = np.empty(_MIN_HEAP_BYTES, np.uint8)
        self._offsets: Offsets = np.zeros(_MIN_SLOTS + 1, np.int64)
        self._hashes: Hashes = np.empty(_MIN_SLOTS, np.uint64)
        self._slots: Hashes = np.zeros(_MIN_SLOTS, np.uint64)

    def __len__(self) -> int:
        return self._count

    @property
    def names(self) -> PackedNames:
        """All names in the order of their ids, as long as they are not sorted anew."""
        self._is_shared = True
        offsets = self._offsets[: self._count + 1]
        return PackedNames(self._heap[: offsets[-1]], offsets)

    def add_names(self, names: PackedNames, hashes: Hashes | None = None) -> Ids:
        """Return the ids of names; those never seen before are appended.

        Args:
            names: The names, with or without duplicates.
            hashes: Their hashes with `HASH_KEY`, if they are known.

        Returns:
            Their ids.

        Raises:
            OverflowError: There are more names than ids.
        """
        if hashes is None:
            hashes = hash_names(names.heap, names.offsets, HASH_KEY)
        self._make_room(len(names), len(names.heap))
        ids, self._count, _ = add_names(
            self._slots,
            self._heap,
            self._offsets,
            self._hashes,
            self._count,
            names.heap,
            names.offsets,
            hashes,
        )
        return ids

    def find_names(self, names: PackedNames) -> Ids:
        """Look names up without adding them.

        Args:
            names: The names, with or without duplicates.

        Returns:
            Their ids; −1 for a name that was never seen.
        """
        hashes = hash_names(names.heap, names.offsets, HASH_KEY)
        return find_names(
            self._slots, self._heap, self._offsets, names.heap, names.offsets, hashes
        )

    def sort_names_after(self, count: int) -> Ids:
        """Number the names behind the first `count` anew, in sorted order.

        Args:
            count: The number of names that keep their ids.

        Returns:
            The new id of each of these names, in the order of their old ids.
        """
        bounds = self._offsets[count : self._count + 1]
        start = int(bounds[0])
        # Taken again when they are needed, after the most memory was.
        self._slots = np.empty(0, np.uint64)
        order = sort_names(self._heap, bounds)
        heap, offsets = gather_names(self._heap, bounds[:-1][order], bounds[1:][order])
        self._heap = np.concatenate([self._heap[:start], heap]) if start else heap
        self._offsets = np.concatenate([self._offsets[:count], offsets + start])
        self._hashes = np.concatenate(
            [self._hashes[:count], self._hashes[count : self._count][order]]
        )
        self._is_shared = False
        self._slots = self._build_slots(self._count)
        new_ids = np.empty(len(order), np.int32)
        new_ids[order] = np.arange(count, self._count, dtype=np.int32)
        return new_ids

    def _make_room(self, count: int, heap_bytes: int) -> None:
        most, used = self._count + count, int(self._offsets[self._count])
        if most > MAX_NAMES:
            raise OverflowError(f"more than {MAX_NAMES} names")
        self._heap = self._extend(self._heap, used, used + heap_bytes)
        self._offsets = self._extend(self._offsets, self._count + 1, most + 1)
        self._hashes = self._extend(self._hashes, self._count, most)
        if 5 * most > 3 * len(self._slots):
            # The old slots are given back before the new ones are taken.
            self._slots = np.empty(0, np.uint64)
            self._slots = self._build_slots(most)

    def _build_slots(self, count: int) -> Hashes:
        """Make slots for so many names, and enter those that are there."""
        size = _MIN_SLOTS
        while 5 * count > 3 * size:
            size *= 2
        slots = np.zeros(size, np.uint64)
        fill_slots(slots, self._hashes, 0, self._count)
        return slots

    def _extend(self, array: NDArray[Number], used: int, wanted: int) -> NDArray[Number]:
        """Make an array longer if it is too short, by a quarter at least."""
        if wanted <= len(array):
            return array
        size = max(wanted, len(array) + len(array) // 4)
        if array.flags.owndata and not self._is_shared:
            # Where the system can, the array grows in its place.
            array.resize(size, refcheck=False)
            return array
        larger = np.empty(size, array.dtype)
        larger[:used] = array[:used]
        return larger
