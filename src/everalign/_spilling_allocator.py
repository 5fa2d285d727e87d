"""An allocator that keeps large blocks in files when memory is short (internal).

Compiled functions with the signatures that NumPy (NEP 49) and CPython (`PyMem_SetAllocator`,
`PyObject_SetArenaAllocator`) expect of an allocator. Small blocks come from the C library. A large
block comes from it as long as the anonymous memory of the process stays below a limit; otherwise
it is a shared mapping of an unlinked file, whose pages the system writes to the disk when it needs
the memory.

No Python code runs in them: numba calls allocators without the interpreter lock. All that they
know is in one array of 64-bit words, the control block, whose address they are given. See
`everalign._memory_limit` for who fills it.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from typing import Any, TypeAlias, TypeVar

from numba import cfunc, njit, types

# Words of the control block.
ENABLED = 0  # whether large blocks may become files
LIMIT = 1  # bytes of anonymous memory of the whole process
BASE = 2  # bytes of anonymous memory that are not large blocks, at least
HELD_BYTES = 3  # large blocks in anonymous memory
MAPPED_BYTES = 4  # large blocks in files
PEAK_MAPPED_BYTES = 5
MAPPED_COUNT = 6
ERROR_CODE = 7  # errno of the last block that could not be had, 0 if none
MUTEX = 8  # pthread_mutex_t, which is 40 bytes on 64-bit Linux; zeros are an unlocked one
SELF_ADDRESS = 16  # of the control block
TEMPLATE_ADDRESS = 17  # path of a new file, for `mkstemp`
SUFFIX_ADDRESS = 18  # of the six characters in it that `mkstemp` replaces
STATM_DESCRIPTOR = 19  # /proc/self/statm, open
TEXT_END = 20  # where `strtoll` stopped
STATM_TEXT = 24  # 256 bytes
TABLE = 64  # pairs of words: address and size of each mapped block
# A process has 65,530 mappings at most, unless its administrator has changed that.
TABLE_SLOTS = 1 << 17
MAX_MAPPED_COUNT = 60_000
CONTROL_WORDS = TABLE + 2 * TABLE_SLOTS

# Smaller blocks are not worth a file. The C library is told to return blocks from this size on to
# the system as soon as they are free.
LARGE_BYTES = 1 << 20
# Blocks of this size leave a quarter of the memory to smaller ones, which are the arrays of chunks
# that live shortly and would be written to the disk for nothing.
HUGE_BYTES = 64 << 20
# As NumPy does for its own blocks: fewer page faults.
HUGE_PAGE_BYTES = 4 << 20

PAGE_BYTES = 4096
_PROT_READ_WRITE = 3
_MAP_SHARED = 1
_MAP_PRIVATE_ANONYMOUS = 0x22
_MADV_HUGEPAGE = 14
_EINTR = 4
_ENOMEM = 12

Control: TypeAlias = MutableSequence[int]
Function = TypeVar("Function", bound=Callable[..., Any])

_word = types.int64
_pointer_type: Any = types.CPointer
_block = _pointer_type(types.int64)


def _compile(function: Function) -> Function:
    compiled: Any = njit(function)
    typed: Function = compiled
    return typed


def _declare(name: str, argument_count: int, result: Any = _word) -> Callable[..., int]:
    # Pointers are passed as integers: both are the same on the systems that this is for.
    function: Callable[..., int] = types.ExternalFunction(name, result(*(_word,) * argument_count))
    return function


_malloc = _declare("malloc", 1)
_calloc = _declare("calloc", 2)
_realloc = _declare("realloc", 2)
_free = _declare("free", 1)
_usable_size = _declare("malloc_usable_size", 1)
_memcpy = _declare("memcpy", 3)
_memset = _declare("memset", 3)
_mmap = _declare("mmap", 6)
_munmap = _declare("munmap", 2)
_madvise = _declare("madvise", 3, types.int32)
_mkstemp = _declare("mkstemp", 1, types.int32)
_unlink = _declare("unlink", 1, types.int32)
_close = _declare("close", 1, types.int32)
_pread = _declare("pread", 4)
_fallocate = _declare("posix_fallocate", 3, types.int32)
_strtoll = _declare("strtoll", 3)
_lock = _declare("pthread_mutex_lock", 1, types.int32)
_unlock = _declare("pthread_mutex_unlock", 1, types.int32)
_errno_location: Any = _declare("__errno_location", 0, _pointer_type(types.int32))


@_compile
def _hash_address(address: int) -> int:
    return ((address >> 12) * 0x9E3779B1 >> 8) & (TABLE_SLOTS - 1)


@_compile
def _find_slot(control: Control, address: int) -> int:
    """Find the slot of an address, or the free slot where it belongs. The table is locked."""
    slot = _hash_address(address)
    while control[TABLE + 2 * slot] not in (0, address):
        slot = (slot + 1) & (TABLE_SLOTS - 1)
    return slot


@_compile
def _remove_slot(control: Control, slot: int) -> None:
    """Empty a slot, and move up those behind it that a search would not reach any more."""
    hole = slot
    while True:
        slot = (slot + 1) & (TABLE_SLOTS - 1)
        address = control[TABLE + 2 * slot]
        if address == 0:
            break
        wanted = _hash_address(address)
        if (slot - wanted) & (TABLE_SLOTS - 1) >= (slot - hole) & (TABLE_SLOTS - 1):
            control[TABLE + 2 * hole] = address
            control[TABLE + 2 * hole + 1] = control[TABLE + 2 * slot + 1]
            hole = slot
    control[TABLE + 2 * hole] = 0


@_compile
def _read_anonymous_bytes(control: Control) -> int:
    """Read the anonymous memory of the process. The control block is locked."""
    text = control[SELF_ADDRESS] + 8 * STATM_TEXT
    length = _pread(control[STATM_DESCRIPTOR], text, 255, 0)
    if length <= 0:
        return 0
    end = control[SELF_ADDRESS] + 8 * TEXT_END
    _memset(text + length, 0, 1)
    # Pages: size, resident, resident that belong to a file, …
    _strtoll(text, end, 10)
    resident = _strtoll(control[TEXT_END], end, 10)
    shared = _strtoll(control[TEXT_END], end, 10)
    return (resident - shared) * PAGE_BYTES


@_compile
def _must_map(control: Control, size: int) -> bool:
    """Tell whether a large block has to be a file. The control block is locked."""
    if not control[ENABLED] or control[MAPPED_COUNT] >= MAX_MAPPED_COUNT:
        return False
    # What was allocated and not yet written to is not in memory, but will be.
    expected = max(control[BASE] + control[HELD_BYTES], _read_anonymous_bytes(control))
    limit = control[LIMIT]
    if size >= HUGE_BYTES:
        limit -= (limit - control[BASE]) >> 2
    return expected + size > limit


@_compile
def _map_block(control: Control, size: int) -> int:
    """Map a new file of zeros; returns 0 if that fails. The control block is locked."""
    length = (size + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1)
    _memset(control[SUFFIX_ADDRESS], 88, 6)  # XXXXXX
    descriptor = _mkstemp(control[TEMPLATE_ADDRESS])
    if descriptor < 0:
        control[ERROR_CODE] = _errno_location()[0]
        return 0
    _unlink(control[TEMPLATE_ADDRESS])
    # Room on the disk is taken now: a page that cannot be written later would end the process.
    code = _fallocate(descriptor, 0, length)
    while code == _EINTR:
        code = _fallocate(descriptor, 0, length)
    address = -1
    if code == 0:
        address = _mmap(0, length, _PROT_READ_WRITE, _MAP_SHARED, descriptor, 0)
        code = _errno_location()[0]
    _close(descriptor)
    if address == -1:
        control[ERROR_CODE] = code
        return 0
    slot = _find_slot(control, address)
    control[TABLE + 2 * slot] = address
    control[TABLE + 2 * slot + 1] = length
    control[MAPPED_COUNT] += 1
    control[MAPPED_BYTES] += length
    control[PEAK_MAPPED_BYTES] = max(control[PEAK_MAPPED_BYTES], control[MAPPED_BYTES])
    return address


@_compile
def _get_mapped_size(control: Control, address: int) -> int:
    """Return the size of a mapped block, or 0 if the address is none."""
    if address & (PAGE_BYTES - 1) or control[MAPPED_COUNT] == 0:
        return 0
    mutex = control[SELF_ADDRESS] + 8 * MUTEX
    _lock(mutex)
    slot = _find_slot(control, address)
    size = control[TABLE + 2 * slot + 1] if control[TABLE + 2 * slot] == address else 0
    _unlock(mutex)
    return size


@_compile
def _unmap_block(control: Control, address: int, length: int) -> None:
    mutex = control[SELF_ADDRESS] + 8 * MUTEX
    _lock(mutex)
    # Before the address is free, and another thread is given it.
    _remove_slot(control, _find_slot(control, address))
    control[MAPPED_COUNT] -= 1
    control[MAPPED_BYTES] -= length
    _unlock(mutex)
    _munmap(address, length)


@_compile
def _count_held(control: Control, difference: int) -> None:
    mutex = control[SELF_ADDRESS] + 8 * MUTEX
    _lock(mutex)
    # Blocks from before this allocator was set are freed and were not counted.
    control[HELD_BYTES] = max(control[HELD_BYTES] + difference, 0)
    _unlock(mutex)


@_compile
def _allocate_large(control: Control, size: int, zeroed: bool) -> int:
    mutex = control[SELF_ADDRESS] + 8 * MUTEX
    _lock(mutex)
    if _must_map(control, size):
        address = _map_block(control, size)
        _unlock(mutex)
        return address
    # Counted before it is there: another thread may ask at the same time.
    control[HELD_BYTES] += size
    _unlock(mutex)
    address = _calloc(size, 1) if zeroed else _malloc(size)
    if address == 0:
        control[ERROR_CODE] = _ENOMEM
        _count_held(control, -size)
        return 0
    _count_held(control, _usable_size(address) - size)
    if size >= HUGE_PAGE_BYTES:
        first = (address + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1)
        _madvise(first, address + size - first, _MADV_HUGEPAGE)
    return address


@_compile
def _allocate(control: Control, size: int) -> int:
    if size < LARGE_BYTES:
        return _malloc(max(size, 1))
    return _allocate_large(control, size, False)


@_compile
def _release(control: Control, address: int) -> None:
    if address == 0:
        return
    length = _get_mapped_size(control, address)
    if length:
        _unmap_block(control, address, length)
        return
    usable = _usable_size(address)
    _free(address)
    if usable >= LARGE_BYTES:
        _count_held(control, -usable)


@_compile
def _resize_anonymous(control: Control, address: int, old_size: int, size: int) -> int:
    """Resize a block where it is, in anonymous memory; returns 0 if it has to be a file."""
    growth = size - (old_size if old_size >= LARGE_BYTES else 0)
    mutex = control[SELF_ADDRESS] + 8 * MUTEX
    _lock(mutex)
    must_map = growth > 0 and _must_map(control, growth)
    _unlock(mutex)
    if must_map:
        return 0
    moved = _realloc(address, size)
    if moved:
        _count_held(control, _usable_size(moved) - (size - growth))
    return moved


@_compile
def _resize(control: Control, address: int, size: int) -> int:
    if address == 0:
        return _allocate(control, size)
    length = _get_mapped_size(control, address)
    old_size = length or _usable_size(address)
    if length == 0 and max(size, old_size) < LARGE_BYTES:
        return _realloc(address, max(size, 1))
    if length == 0 and size >= LARGE_BYTES:
        moved = _resize_anonymous(control, address, old_size, size)
        if moved:
            return moved
    elif size <= length and 2 * size > length:
        return address
    moved = _allocate(control, size)
    if moved:
        _memcpy(moved, address, min(old_size, size))
        _release(control, address)
    return moved


@_compile
def _allocate_arena(control: Control, size: int) -> int:
    mutex = control[SELF_ADDRESS] + 8 * MUTEX
    _lock(mutex)
    if _must_map(control, size):
        address = _map_block(control, size)
    else:
        address = _mmap(0, size, _PROT_READ_WRITE, _MAP_PRIVATE_ANONYMOUS, -1, 0)
        if address == -1:
            control[ERROR_CODE] = _errno_location()[0]
            address = 0
        else:
            control[HELD_BYTES] += size
    _unlock(mutex)
    return address


@cfunc(_word(_block, _word), cache=True)
def allocate_arena(control: Control, size: int) -> int:
    """Allocate an arena, in which CPython has its small objects."""
    return _allocate_arena(control, size)


@cfunc(types.void(_block, _word, _word), cache=True)
def release_arena(control: Control, address: int, size: int) -> None:
    """Free an arena, also one from before this allocator was set."""
    length = _get_mapped_size(control, address)
    if length:
        _unmap_block(control, address, length)
    else:
        _munmap(address, size)
        _count_held(control, -size)


@cfunc(_word(_block, _word), cache=True)
def allocate(control: Control, size: int) -> int:
    """`malloc` of both protocols."""
    return 0 if size < 0 else _allocate(control, size)


@cfunc(_word(_block, _word, _word), cache=True)
def allocate_zeroed(control: Control, count: int, item_size: int) -> int:
    """`calloc` of both protocols."""
    if count < 0 or item_size < 0 or (item_size and count > (1 << 62) // item_size):
        return 0
    size = count * item_size
    if size < LARGE_BYTES:
        return _calloc(max(size, 1), 1)
    return _allocate_large(control, size, True)


@cfunc(_word(_block, _word, _word), cache=True)
def resize(control: Control, address: int, size: int) -> int:
    """`realloc` of both protocols."""
    return 0 if size < 0 else _resize(control, address, size)


@cfunc(types.void(_block, _word), cache=True)
def release(control: Control, address: int) -> None:
    """`free` of CPython."""
    _release(control, address)


@cfunc(types.void(_block, _word, _word), cache=True)
def release_sized(control: Control, address: int, size: int) -> None:  # noqa: ARG001
    """`free` of NumPy, which tells the size."""
    _release(control, address)
