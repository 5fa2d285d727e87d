"""Names and their ids in arrays: a heap of bytes and a hash table, no Python object for a name."""

from __future__ import annotations

import secrets

import numpy as np

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
from everalign.graph.packed_names import Bytes, Offsets, PackedNames, pack_names

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
        >>> table = NameTable()
        >>> table.add_names(pack_names(["Rome", "Oslo", "Rome"])).tolist(), len(table)
        ([0, 1, 0], 2)
        >>> table.find_names(pack_names(["Oslo", "Bern"])).tolist(), table.names[1]
        ([1, -1], 'Oslo')
    """

    def __init__(self) -> None:
        self._count = 0
        self._heap: Bytes = np.empty(_MIN_HEAP_BYTES, np.uint8)
        self._offsets: Offsets = np.zeros(_MIN_SLOTS + 1, np.int64)
        self._hashes: Hashes = np.empty(_MIN_SLOTS, np.uint64)
        self._slots: Hashes = np.zeros(_MIN_SLOTS, np.uint64)

    def __len__(self) -> int:
        return self._count

    @property
    def names(self) -> PackedNames:
        """All names in the order of their ids; valid until others are added."""
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
        appended = self.names[count:]
        assert isinstance(appended, PackedNames)
        order = sort_names(appended.heap, appended.offsets)
        start = self._offsets[count]
        heap, offsets = gather_names(
            appended.heap, appended.offsets[:-1][order], appended.offsets[1:][order]
        )
        self._heap[start : start + len(heap)] = heap
        self._offsets[count : self._count + 1] = offsets + start
        self._hashes[count : self._count] = self._hashes[count : self._count][order]
        self._slots[:] = 0
        fill_slots(self._slots, self._hashes, 0, self._count)
        new_ids = np.empty(len(order), np.int32)
        new_ids[order] = np.arange(count, self._count, dtype=np.int32)
        return new_ids

    def _make_room(self, count: int, heap_bytes: int) -> None:
        most, used = self._count + count, int(self._offsets[self._count])
        if most > MAX_NAMES:
            raise OverflowError(f"more than {MAX_NAMES} names")
        self._heap = _extend(self._heap, used, used + heap_bytes)
        self._offsets = _extend(self._offsets, self._count + 1, most + 1)
        self._hashes = _extend(self._hashes, self._count, most)
        if 5 * most > 3 * len(self._slots):
            size = len(self._slots)
            while 5 * most > 3 * size:
                size *= 2
            # The old slots are given back before the new ones are taken.
            self._slots = np.empty(0, np.uint64)
            self._slots = np.zeros(size, np.uint64)
            fill_slots(self._slots, self._hashes, 0, self._count)


def _extend(array: np.ndarray, used: int, wanted: int) -> np.ndarray:  # type: ignore[type-arg]
    """Make an array longer if it is too short, by a quarter at least."""
    if wanted <= len(array):
        return array
    larger = np.empty(max(wanted, len(array) + len(array) // 4), array.dtype)
    larger[:used] = array[:used]
    return larger
