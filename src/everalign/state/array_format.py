"""How arrays are laid out in files: one array in NumPy's format, or many in a bundle.

A state has hundreds of small arrays, and every command reads most of them. NumPy's own functions
take about a millisecond for each, which is longer than everything else that a small update does.

A bundle begins with the length of its table of contents (8 bytes, little-endian), followed by the
table in JSON, with data type, shape and place of each array, and by the arrays.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping
from functools import lru_cache
from io import BytesIO
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Buffer: TypeAlias = bytes | bytearray | mmap.mmap
Header: TypeAlias = tuple[tuple[int, ...], np.dtype[Any]]

ALIGNMENT = 64  # bytes; compiled code reads aligned arrays faster
_LENGTH_BYTES = 8
_NUMPY_PREFIX = 10  # bytes of version 1.0 before the header: magic, version, length
_NUMPY_MAGIC = b"\x93NUMPY\x01\x00"


def write_array(array: Array, used_rows: int, file: BinaryIO) -> None:
    """Write an array in NumPy's format.

    Args:
        array: The array, in C order.
        used_rows: Rows before those that are zero; the others are a hole in the file.
        file: Where to write.
    """
    np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
    used = array[:used_rows] if array.ndim else array
    file.write(used.tobytes() if used.ndim == 0 or not used.size else used.data)
    file.truncate(file.tell() + array.nbytes - used.nbytes)


def parse_array(content: Buffer) -> Array:
    """Look at the content of a file in NumPy's format as an array.

    Args:
        content: The whole content.

    Returns:
        The array, in the same memory; it can be changed if that memory can.

    Raises:
        ValueError: It is no such array.

    >>> file = BytesIO()
    >>> write_array(np.array([[1, 2], [3, 4]]), 2, file)
    >>> parse_array(file.getvalue()).tolist()
    [[1, 2], [3, 4]]
    """
    prefix = content[:_NUMPY_PREFIX]
    if not prefix.startswith(_NUMPY_MAGIC):
        raise ValueError("no array in NumPy's format")
    start = _NUMPY_PREFIX + int.from_bytes(prefix[-2:], "little")
    return _view_array(content, *_parse_header(bytes(content[:start])), start)


def write_bundle(arrays: Mapping[str, Array], file: BinaryIO) -> None:
    """Write arrays one after the other.

    Args:
        arrays: The arrays by name.
        file: Where to write.
    """
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    table, place = {}, 0
    for name, array in contiguous.items():
        table[name] = [np.lib.format.dtype_to_descr(array.dtype), list(array.shape), place]
        place += _round_up(array.nbytes)
    header = json.dumps(table).encode()
    # The arrays begin at a multiple of the alignment as well.
    header += b" " * (_round_up(_LENGTH_BYTES + len(header)) - _LENGTH_BYTES - len(header))
    file.write(len(header).to_bytes(_LENGTH_BYTES, "little") + header)
    for array in contiguous.values():
        file.write(array.tobytes() + bytes(_round_up(array.nbytes) - array.nbytes))


def parse_bundle(content: Buffer) -> dict[str, Array]:
    """Look at the content of a bundle as arrays.

    Args:
        content: The whole content.

    Returns:
        The arrays by name, in the same memory.

    Raises:
        ValueError: It is no bundle.

    >>> file = BytesIO()
    >>> write_bundle({"left": np.arange(3), "right": np.array(0.5)}, file)
    >>> arrays = parse_bundle(file.getvalue())
    >>> arrays["left"].tolist(), float(arrays["right"])
    ([0, 1, 2], 0.5)
    """
    start = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
    try:
        table = json.loads(bytes(content[_LENGTH_BYTES:start]))
        return {
            name: _view_array(content, tuple(shape), _parse_type(_freeze(code)), start + place)
            for name, (code, shape, place) in table.items()
        }
    except (AttributeError, TypeError) as error:
        raise ValueError(f"not the contents of a bundle: {error}") from None


def _round_up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


@lru_cache(maxsize=4096)
def _parse_header(header: bytes) -> Header:
    """The shape and type in the header of a file; equal headers are parsed once."""
    file = BytesIO(header)
    file.seek(len(_NUMPY_MAGIC))
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if is_fortran:
        raise ValueError("an array in another order")
    return shape, _check_type(dtype)


def _freeze(code: str | list[list[str]]) -> str | tuple[tuple[str, ...], ...]:
    # The fields of a row are lists in JSON; NumPy takes tuples only.
    return code if isinstance(code, str) else tuple(tuple(field) for field in code)


@lru_cache(maxsize=64)
def _parse_type(code: str | tuple[tuple[str, ...], ...]) -> np.dtype[Any]:
    return _check_type(np.dtype(code if isinstance(code, str) else list(code)))


def _check_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    # Objects would be pickles, and a pickle could run code when it is loaded.
    if dtype.hasobject:
        raise ValueError("an array of objects")
    return dtype


def _view_array(
    content: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any], start: int
) -> Array:
    # An array without entries needs no memory, and takes none of a file that may end here.
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, content, start)
