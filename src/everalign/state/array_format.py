"""How arrays are laid out in a file: one bundle holds many.

A state has hundreds of small arrays, and every command reads most of them. A file for each takes
longer to open than everything else that a small update does.

A bundle begins with a table of contents: its length (8 bytes, little-endian), then JSON with data
type, shape, place and checksum of each array. The arrays follow, each at a multiple of
`ALIGNMENT`. Whoever has the checksum of the table of contents can check everything else by it,
and an array that is not used need not be read for that.

Arrays are stored as they are in memory, to be mapped, or compressed, to be small.
"""

from __future__ import annotations

import json
import math
import mmap
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_128_hexdigest

Array: TypeAlias = npt.NDArray[Any]
Buffer: TypeAlias = bytes | bytearray | mmap.mmap
Bytes: TypeAlias = npt.NDArray[np.uint8]

ALIGNMENT = 64  # bytes; compiled code reads aligned arrays faster
# Free space at the end of an array is not written to the disk, if there may be enough of it.
MIN_HOLE_BYTES = 1 << 16
ZERO_BLOCK = 1 << 16  # bytes that are looked at together
# Small arrays are not compressed: it would save less than the alignment takes.
MIN_COMPRESSED_BYTES = 256
COMPRESSION_LEVEL = 1  # the others take more time than the disk space is worth
_LENGTH_BYTES = 8


class ArrayPlace(NamedTuple):
    """Where an array is in a bundle, and what it is.

    Attributes:
        dtype: Data type.
        shape: Shape.
        start: The first byte in the file.
        stored_bytes: How many there are in the file; fewer than in memory if it is compressed.
        checksum: XXH3 of the bytes in the file.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stored_bytes: int
    checksum: str

    @property
    def stop(self) -> int:
        """The byte after the last one in the file."""
        return self.start + self.stored_bytes

    @property
    def memory_bytes(self) -> int:
        """How many bytes the array takes in memory."""
        return math.prod(self.shape) * self.dtype.itemsize


def write_bundle(arrays: Mapping[str, Array], file: BinaryIO, *, compressed: bool = False) -> str:
    """Write arrays one after the other.

    Args:
        arrays: The arrays by name. Zeros at the end of a large one are a hole in the file.
        file: Where to write.
        compressed: Whether to compress them.

    Returns:
        The checksum of the table of contents.
    """
    contents, table, place = [], {}, 0
    for name, array in arrays.items():
        content = _view_bytes(array)
        if compressed and len(content) >= MIN_COMPRESSED_BYTES:
            content = _compress(content)
        contents.append(content)
        code = np.lib.format.dtype_to_descr(array.dtype)
        checksum = xxh3_128_hexdigest(content.data)
        table[name] = [code, list(array.shape), place, len(content), checksum]
        place += _round_up(len(content))
    header = json.dumps(table).encode()
    # The arrays begin at a multiple of the alignment as well.
    header += b" " * (_round_up(_LENGTH_BYTES + len(header)) - _LENGTH_BYTES - len(header))
    header = len(header).to_bytes(_LENGTH_BYTES, "little") + header
    file.write(header)
    for content in contents:
        used = _count_used_bytes(content)
        file.write(content[:used].data)
        file.seek(len(content) - used, 1)
        file.write(bytes(_round_up(len(content)) - len(content)))
    file.truncate()
    return xxh3_128_hexdigest(header)


def read_table(content: Buffer, checksum: str) -> dict[str, ArrayPlace]:
    """Read the table of contents of a bundle.

    Args:
        content: The whole content.
        checksum: What `write_bundle` has returned.

    Returns:
        The place of each array.

    Raises:
        ValueError: The table of contents is not the one that was written, or cannot be used.

    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> checksum = write_bundle({"left": np.arange(3), "right": np.array(0.5)}, file)
    >>> table = read_table(file.getvalue(), checksum)
    >>> view_array(file.getvalue(), table["left"]).tolist()
    [0, 1, 2]
    """
    stop = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
    # A length that was damaged may be that of a file that nobody has.
    header = bytes(content[: min(stop, len(content))])
    if xxh3_128_hexdigest(header) != checksum:
        raise ValueError("has changed since it was written")
    try:
        table = json.loads(header[_LENGTH_BYTES:])
        places = {
            name: ArrayPlace(_parse_type(_freeze(code)), tuple(shape), stop + place, size, digest)
            for name, (code, shape, place, size, digest) in table.items()
        }
    except (AttributeError, TypeError) as error:
        raise ValueError(f"is damaged: not the contents of a bundle: {error}") from None
    if any(place.stop > len(content) for place in places.values() if 0 not in place.shape):
        raise ValueError("has changed since it was written")
    return places


def view_array(content: Buffer, place: ArrayPlace, *, is_whole: bool = False) -> Array:
    """Look at a part of a bundle as an array.

    Args:
        content: The whole content.
        place: Where the array is.
        is_whole: Whether it was compared with its checksum before.

    Returns:
        The array, in the same memory; it can be changed if that memory can.

    Raises:
        ValueError: It is not the array that was written.
    """
    # An array without entries needs no memory, and takes none of a file that may end here.
    if 0 in place.shape:
        return np.empty(place.shape, place.dtype)
    stored = np.frombuffer(content, np.uint8, place.stored_bytes, place.start)
    if not is_whole and xxh3_128_hexdigest(stored.data) != place.checksum:
        raise ValueError("has changed since it was written")
    if place.stored_bytes == place.memory_bytes:
        return np.ndarray(place.shape, place.dtype, content, place.start)
    return np.ndarray(place.shape, place.dtype, _decompress(stored, place.memory_bytes))


def check_bundle(content: Buffer, checksum: str) -> None:
    """Check every byte of a bundle, those between the arrays as well.

    Args:
        content: The whole content.
        checksum: What `write_bundle` has returned.

    Raises:
        ValueError: Something has changed.
    """
    table = read_table(content, checksum)
    place = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
    for array in sorted(table.values(), key=lambda entry: (entry.start, entry.stop)):
        _check_gap(content, place, array.start)
        view_array(content, array)
        place = array.stop
    _check_gap(content, place, len(content))


def _check_gap(content: Buffer, start: int, stop: int) -> None:
    # Rounding leaves less than the alignment; more was put there by somebody else.
    if not 0 <= stop - start < ALIGNMENT or any(content[start:stop]):
        raise ValueError("has changed since it was written")


def _view_bytes(array: Array) -> Bytes:
    return np.asarray(array, order="C").reshape(-1).view(np.uint8)


def _compress(content: Bytes) -> Bytes:
    smaller = zlib.compress(content.data, COMPRESSION_LEVEL)
    return np.frombuffer(smaller, np.uint8) if len(smaller) < len(content) else content


def _decompress(stored: Bytes, size: int) -> bytearray:
    try:
        # No more than there should be: a few bytes can be made to fill the memory.
        content = bytearray(zlib.decompressobj().decompress(stored.data, size))
    except zlib.error as error:
        raise ValueError(f"is damaged: {error}") from None
    if len(content) != size:
        raise ValueError("is damaged: an array of another size")
    return content


def _count_used_bytes(content: Bytes) -> int:
    """The number of bytes up to the last one that is not zero, in whole blocks."""
    used = len(content)
    # From the end in blocks: the first one with anything else than zeros ends the search.
    while used >= MIN_HOLE_BYTES and not content[max(0, used - ZERO_BLOCK) : used].any():
        used = max(0, used - ZERO_BLOCK)
    return used


def _round_up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _freeze(code: str | list[list[str]]) -> str | tuple[tuple[str, ...], ...]:
    # The fields of a row are lists in JSON; NumPy takes tuples only.
    return code if isinstance(code, str) else tuple(tuple(field) for field in code)


@lru_cache(maxsize=64)
def _parse_type(code: str | tuple[tuple[str, ...], ...]) -> np.dtype[Any]:
    dtype = np.dtype(code if isinstance(code, str) else list(code))
    # Objects would be pickles, and a pickle could run code when it is loaded.
    if dtype.hasobject:
        raise ValueError("is damaged: an array of objects")
    return dtype
