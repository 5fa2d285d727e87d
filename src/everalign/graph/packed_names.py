"""Names as one block of bytes, without a Python object for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Offsets: TypeAlias = NDArray[np.int64]

# Names that are decoded together while all are iterated over.
DECODED_BATCH = 10_000


class PackedNames(Sequence[str]):
    """Names one after the other in a heap of bytes; a name is decoded when it is asked for.

    It takes the bytes of the names and eight more for each. Both arrays can be sent to another
    process or mapped from a file.

    Args:
        heap: The names as UTF-8, without anything between them.
        offsets: Where each name begins in the heap, and where the last one ends.

    Example:
        >>> names = pack_names(["Rome", "Zürich"])
        >>> names[1], len(names), names.offsets.tolist()
        ('Zürich', 2, [0, 4, 11])
    """

    def __init__(self, heap: Bytes, offsets: Offsets) -> None:
        self.heap = heap
        self.offsets = offsets

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[str]: ...
    def __getitem__(self, number: int | slice) -> str | Sequence[str]:
        positions = range(len(self))[number]
        if isinstance(positions, int):
            return self.read_bytes(positions).decode()
        if positions.step != 1:
            return self.take_names(np.array(positions, dtype=np.int64))
        start, stop = positions.start, max(positions.start, positions.stop)
        first, last = self.offsets[start], self.offsets[stop]
        return PackedNames(self.heap[first:last], self.offsets[start : stop + 1] - first)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), DECODED_BATCH):
            yield from self._decode(start, min(start + DECODED_BATCH, len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"PackedNames({list(self[:3])!r}, …)" if len(self) > 3 else f"{list(self)!r}"

    __hash__ = None  # type: ignore[assignment]

    def read_bytes(self, number: int) -> bytes:
        """Read a name without decoding it.

        Args:
            number: Its position.

        Returns:
            The name as UTF-8.
        """
        return self.heap[self.offsets[number] : self.offsets[number + 1]].tobytes()

    def take_names(self, numbers: NDArray[np.integer]) -> list[str]:
        """Decode some of the names.

        Args:
            numbers: Their positions, in any order.

        Returns:
            The names in the order asked for.
        """
        heap = self.heap.data
        bounds = zip(
            self.offsets[numbers].tolist(), self.offsets[numbers + 1].tolist(), strict=True
        )
        return [str(heap[start:stop], "utf-8") for start, stop in bounds]

    def _decode(self, start: int, stop: int) -> list[str]:
        bounds = self.offsets[start : stop + 1]
        text = self.heap[bounds[0] : bounds[-1]].tobytes()
        places = (bounds - bounds[0]).tolist()
        pairs = pairwise(places)
        if text.isascii():
            # Characters and bytes have the same positions: one text is decoded, not thousands.
            characters = text.decode("ascii")
            return [characters[first:last] for first, last in pairs]
        return [text[first:last].decode() for first, last in pairs]


def pack_names(names: Sequence[str], errors: str = "strict") -> PackedNames:
    """Put names into a heap.

    Args:
        names: The names.
        errors: How surrogates are handled, which UTF-8 cannot hold; see `str.encode`.

    Returns:
        The same names, in the same order.
    """
    if isinstance(names, PackedNames):
        return names
    offsets = np.zeros(len(names) + 1, dtype=np.int64)
    joined = "".join(names)
    if joined.isascii():
        heap, lengths = joined.encode("ascii"), map(len, names)
    else:
        encoded = [name.encode("utf-8", errors) for name in names]
        heap, lengths = b"".join(encoded), map(len, encoded)
    np.cumsum(np.fromiter(lengths, np.int64, len(names)), out=offsets[1:])
    # A copy that can be written to: compiled code takes one type of array only.
    return PackedNames(np.frombuffer(heap, dtype=np.uint8).copy(), offsets)
