"""A limit of the anonymous memory of this process (internal).

    with limit_memory("4GB"):
        aligner.update(...)

Within, arrays that do not fit are mapped files (`everalign._spilling_allocator`). NumPy is given
the allocator by its own interface (NEP 49). Numba takes its memory from CPython, whose allocators
of large objects, and of the arenas in which small ones are, are replaced as well. Once set, the
latter stay for the life of the process, since blocks that they gave out are freed by them; after
the limit has ended, they make no more files.
"""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everalign._platform import (
    anonymous_memory_bytes,
    find_file_system,
    limit_arenas,
    return_free_blocks,
)
from everalign.errors import ConfigError, MemoryLimitError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

logger = logging.getLogger(__name__)

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)B?", re.IGNORECASE)

# Libraries that are loaded later, compiled code, and arrays that are too small for files.
MIN_WORKING_BYTES = 150 * 10**6
# What is not asked of the allocator, such as the buffers of a sort, or is there before it knows.
RESERVED_SHARE = 0.05
RESERVED_BYTES = 40 * 10**6
# What `init` holds at its peak: 4.2 GB with 10.7 million triples. Only a warning before hours are
# lost depends on it.
ARRAY_BYTES_PER_STATEMENT = 400
MAX_ARENAS = 2
MEMORY_FILE_SYSTEMS = ("tmpfs", "ramfs", "devtmpfs")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

# Entries of the table of NumPy's C API, and a domain of CPython's allocators (pymem.h).
_SET_HANDLER = 304
_RAW_DOMAIN = 0


def parse_byte_size(size: str | int) -> int:
    """Parse a size.

    Args:
        size: A number of bytes, or a text such as 4GB or 512MiB.

    Returns:
        The bytes.

    Raises:
        ConfigError: The text is not a size.

    Example:
        >>> parse_byte_size("4GB"), parse_byte_size("1KiB")
        (4000000000, 1024)
    """
    if isinstance(size, int):
        return size
    found = _SIZE.fullmatch(size.strip())
    if not found:
        raise ConfigError(f"expected a size such as 4GB, found {size!r}")
    number, unit, binary = found.groups()
    units = _BINARY_UNITS if binary and unit else _UNITS
    return round(float(number) * units[unit.upper()])


@contextmanager
def limit_memory(limit: str | int, scratch: str | Path = ".") -> Iterator[None]:
    """Hold a limit of anonymous memory: arrays that do not fit are files on the disk.

    Results are the same, bit by bit. Pages of these files are in the page cache as long as the
    system has memory for it, and do not count. The limit holds for the whole process; its child
    processes must not be forks that go on to use arrays. Linux only.

    Args:
        limit: Bytes, or a text such as "4GB": the most anonymous memory of this process (RssAnon
            in /proc/self/status).
        scratch: A directory on a disk for temporary files. They have no names, so that nothing
            is left when the process ends, however it ends.

    Raises:
        ConfigError: The limit is too small, the directory cannot be used, a limit holds already,
            or the system is not Linux.
        MemoryLimitError: The disk is full, or memory is exhausted all the same.

    Example:
        >>> with limit_memory("64GB"):
        ...     pass
    """
    allocator = _get_allocator(parse_byte_size(limit), Path(scratch))
    previous = allocator.start(parse_byte_size(limit), Path(scratch))
    try:
        yield
    except MemoryError as error:
        raise MemoryLimitError(allocator.describe_failure()) from error
    finally:
        allocator.stop(previous)


def check_scratch_room(statement_count: int) -> None:
    """Check that the files of arrays will have room, if a limit holds.

    Args:
        statement_count: Triples and literals of both graphs.

    Raises:
        MemoryLimitError: They will not, as far as can be told beforehand.
    """
    if _allocator is None or _allocator.scratch is None:
        return
    needed = statement_count * ARRAY_BYTES_PER_STATEMENT - _allocator.limit
    free = shutil.disk_usage(_allocator.scratch).free
    if needed > free:
        raise MemoryLimitError(
            f"{_allocator.scratch}: about {_format_size(needed)} are needed for arrays beyond "
            f"--memory, {_format_size(free)} are free; choose another directory with --scratch"
        )


class _NumPyAllocator(ctypes.Structure):
    """PyDataMem_Handler of NumPy's C API."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


class _PythonAllocator(ctypes.Structure):
    """PyMemAllocatorEx of CPython's C API."""

    _fields_ = (
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


class _ArenaAllocator(ctypes.Structure):
    """PyObjectArenaAllocator of CPython's C API."""

    _fields_ = (
        ("context", ctypes.c_void_p),
        ("alloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


class SpillingAllocator:
    """The allocator of this process. There is one, and it is never taken away."""

    def __init__(self) -> None:
        import numpy as np

        from everalign import _spilling_allocator as compiled

        self._words = compiled
        self.scratch: Path | None = None
        self.limit = 0
        control: NDArray[np.int64] = np.zeros(compiled.CONTROL_WORDS, np.int64)
        control[compiled.SELF_ADDRESS] = control.ctypes.data
        self.control = control
        functions = (
            compiled.allocate.address,
            compiled.allocate_zeroed.address,
            compiled.resize.address,
        )
        address = control.ctypes.data
        self._numpy = _NumPyAllocator(
            b"everalign", 1, address, *functions, compiled.release_sized.address
        )
        self._python = _PythonAllocator(address, *functions, compiled.release.address)
        ctypes.pythonapi.PyMem_SetAllocator(_RAW_DOMAIN, ctypes.byref(self._python))
        self._arenas = _ArenaAllocator(
            address, compiled.allocate_arena.address, compiled.release_arena.address
        )
        ctypes.pythonapi.PyObject_SetArenaAllocator(ctypes.byref(self._arenas))
        # Private modules, whose C interfaces are public.
        runtime: Any = import_module("numba.core.runtime._nrt_python")
        runtime.memsys_use_cpython_allocator()
        self._capsule = _make_capsule(ctypes.addressof(self._numpy), b"mem_handler")
        self._set_handler = _find_numpy_function(_SET_HANDLER)
        self._template = ctypes.create_string_buffer(1)
        # CPython frees blocks until its very end, when modules and what they hold are gone.
        for kept in (self, compiled.__dict__):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))

    def start(self, limit: int, scratch: Path) -> Any:
        """Hold a limit from now on.

        Args:
            limit: The bytes.
            scratch: The directory of files.

        Returns:
            NumPy's allocator before.
        """
        words, control = self._words, self.control
        return_free_blocks(words.LARGE_BYTES)
        limit_arenas(MAX_ARENAS)
        base = anonymous_memory_bytes()
        if limit < base + MIN_WORKING_BYTES:
            raise ConfigError(
                f"a memory limit of {_format_size(limit)} is too small: {_format_size(base)} are "
                f"in use before anything is read; give at least "
                f"{_format_size(base + MIN_WORKING_BYTES)}"
            )
        self.limit, self.scratch = limit, scratch
        self._template = ctypes.create_string_buffer(
            os.fsencode(scratch.resolve() / ".everalign-XXXXXX")
        )
        control[words.TEMPLATE_ADDRESS] = ctypes.addressof(self._template)
        control[words.SUFFIX_ADDRESS] = ctypes.addressof(self._template) + len(self._template) - 7
        control[words.STATM_DESCRIPTOR] = os.open("/proc/self/statm", os.O_RDONLY)
        control[words.LIMIT] = round(limit * (1 - RESERVED_SHARE)) - RESERVED_BYTES
        control[words.BASE] = max(base - int(control[words.HELD_BYTES]), 0)
        control[words.ERROR_CODE] = 0
        control[words.PEAK_MAPPED_BYTES] = control[words.MAPPED_BYTES]
        control[words.ENABLED] = 1
        return self._set_handler(self._capsule)

    def stop(self, previous: Any) -> None:
        """Hold no limit any more.

        Args:
            previous: What `start` returned.
        """
        words, control = self._words, self.control
        self._set_handler(previous)
        control[words.ENABLED] = 0
        os.close(int(control[words.STATM_DESCRIPTOR]))
        peak = int(control[words.PEAK_MAPPED_BYTES])
        logger.info("at most %s of arrays were in files in %s", _format_size(peak), self.scratch)
        self.scratch = None

    def describe_failure(self) -> str:
        """Describe why memory could not be had.

        Returns:
            One line.
        """
        words, control = self._words, self.control
        in_files = _format_size(int(control[words.PEAK_MAPPED_BYTES]))
        code = int(control[words.ERROR_CODE])
        if code in _FULL:
            return (
                f"{self.scratch}: the disk is full: {in_files} of arrays were there already; "
                "choose another directory with --scratch, or more memory with --memory"
            )
        if code and code != errno.ENOMEM:
            return f"{self.scratch}: no file for an array beyond --memory: {os.strerror(code)}"
        return f"memory is exhausted; {in_files} of arrays were in {self.scratch}"


_allocator: SpillingAllocator | None = None


def _get_allocator(limit: int, scratch: Path) -> SpillingAllocator:
    global _allocator  # noqa: PLW0603
    if sys.platform != "linux" or sys.maxsize < 2**32 or sys.byteorder != "little":
        raise ConfigError("a memory limit can be held on 64-bit Linux only")
    if os.environ.get("PYTHONMALLOC", "default") not in ("default", "pymalloc", "malloc"):
        raise ConfigError("a memory limit cannot be held with this value of PYTHONMALLOC")
    if sys.flags.dev_mode:
        raise ConfigError("a memory limit cannot be held in the development mode of Python")
    if _allocator is not None and _allocator.scratch is not None:
        raise ConfigError("a memory limit holds already")
    _check_scratch(scratch)
    if limit <= MIN_WORKING_BYTES:
        raise ConfigError(f"a memory limit of {_format_size(limit)} is too small")
    if _allocator is None:
        _allocator = SpillingAllocator()
    return _allocator


def _check_scratch(scratch: Path) -> None:
    if not scratch.is_dir():
        raise ConfigError(f"{scratch}: no such directory for the files of a memory limit")
    if not os.access(scratch, os.W_OK | os.X_OK):
        raise ConfigError(f"{scratch}: not writable, as the files of a memory limit need it")
    file_system = find_file_system(scratch)
    if file_system in MEMORY_FILE_SYSTEMS:
        raise ConfigError(
            f"{scratch}: files there are in memory ({file_system}); choose a directory on a disk "
            "with --scratch"
        )


def _make_capsule(address: int, name: bytes) -> Any:
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    # The capsule keeps the address of its name: a literal lives as long as this module.
    return make(address, name, None)


def _find_numpy_function(number: int) -> Any:
    core: Any = import_module("numpy._core._multiarray_umath")
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    table = get_pointer(core._ARRAY_API, None)
    address = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[number]
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address)


def _format_size(size: int) -> str:
    return f"{size / 10**9:.2f} GB"
