"""What differs between operating systems: CPU affinity, file locks, peak memory, directory sync.

Each function uses what the system offers and does without where it offers nothing. Private: no
other module asks on which system it runs.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any

# Windows locks ranges of bytes, and a locked range cannot be read by others. One byte far behind
# the end is locked, so that whoever finds the file locked can still read who holds it.
LOCKED_BYTE = 1 << 30
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # of malloc.h


def _optional_module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


fcntl = _optional_module("fcntl")
msvcrt = _optional_module("msvcrt")
resource = _optional_module("resource")


def available_cpus() -> list[int]:
    """List the CPUs that this process may use.

    Returns:
        Their numbers, ascending.

    >>> len(available_cpus()) >= 1
    True
    """
    # A container or `taskset` may allow fewer CPUs than `os.cpu_count` counts.
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def limit_arenas(count: int) -> None:
    """Let all threads together use few heaps. By default, the C library of Linux has eight for
    each core, and memory that is free in one of them is not used by another.

    Args:
        count: The largest number of heaps.
    """
    _set_allocation_options({_M_ARENA_MAX: count})


def return_free_blocks(size: int) -> None:
    """Let the C library of Linux return large blocks to the system as soon as they are free. By
    default, it learns to keep ever larger ones, up to 32 MB each.

    Args:
        size: The bytes of a large block.
    """
    _set_allocation_options({_M_MMAP_THRESHOLD: size, _M_TRIM_THRESHOLD: 2 * size})


def _set_allocation_options(options: dict[int, int]) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        for option, value in options.items():
            mallopt(option, value)


def anonymous_memory_bytes() -> int:
    """Measure the anonymous memory of this process: what it holds beyond files that are mapped.

    Returns:
        The bytes; 0 where the system does not tell.

    >>> anonymous_memory_bytes() >= 0
    True
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def find_file_system(directory: Path) -> str:
    """Find out which file system a directory is on.

    Args:
        directory: A directory that exists.

    Returns:
        Its name, such as "ext4"; an empty string where the system does not tell.
    """
    device = directory.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}" if hasattr(os, "major") else ""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    for line in mounts.splitlines():
        # Fields of the mount, a dash, and fields of the file system.
        mount, _, file_system = line.partition(" - ")
        if mount.split()[2] == number:
            return file_system.split()[0]
    return ""


@contextmanager
def restrict_cpus(cpus: set[int]) -> Iterator[None]:
    """Use only these CPUs inside the block; processes started there inherit it.

    Does nothing where the system has no CPU affinity.

    Args:
        cpus: Numbers of CPUs.

    Yields:
        Nothing: the restriction holds inside of the block.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def lock_file(file: IO[Any]) -> None:
    """Lock an open file until it is closed, without waiting.

    A system with neither `fcntl` nor `msvcrt` has no second process to keep out.

    Args:
        file: The open file.

    Raises:
        BlockingIOError: Another process holds the lock.
    """
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    elif msvcrt is not None:
        os.lseek(file.fileno(), LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(*error.args) from error
        finally:
            # The caller reads or writes the file from its beginning.
            os.lseek(file.fileno(), 0, os.SEEK_SET)


def sync_directory(directory: Path) -> None:
    """Force the names of a directory's files to the disk.

    Does nothing on Windows, where a directory cannot be opened and NTFS journals names itself.

    Args:
        directory: The directory.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def peak_memory_mb() -> float:
    """Measure the most memory that this process has held at once.

    Returns:
        The peak in MB; 0 where the system does not tell.

    >>> peak_memory_mb() >= 0
    True
    """
    if resource is not None:
        peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # macOS counts bytes, the others kilobytes.
        return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)
    if hasattr(ctypes, "WinDLL"):
        return round(_peak_working_set(ctypes) / (1 << 20), 1)
    return 0.0


def total_memory_bytes() -> int:
    """Measure the memory that this process could use at most.

    Returns:
        The memory of the machine, or of the container if that has less; 0 where the system does
        not tell.

    >>> total_memory_bytes() >= 0
    True
    """
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return total
    return min(total, int(limit)) if limit.isdecimal() else total


class _MemoryCounters(ctypes.Structure):
    """PROCESS_MEMORY_COUNTERS of the Windows API."""

    # Windows fills in the whole structure, so all fields have to be there.
    _fields_ = (
        ("cb", ctypes.c_uint32),
        ("PageFaultCount", ctypes.c_uint32),
        ("PeakWorkingSetSize", ctypes.c_size_t),
        ("WorkingSetSize", ctypes.c_size_t),
        ("QuotaPeakPagedPoolUsage", ctypes.c_size_t),
        ("QuotaPagedPoolUsage", ctypes.c_size_t),
        ("QuotaPeakNonPagedPoolUsage", ctypes.c_size_t),
        ("QuotaNonPagedPoolUsage", ctypes.c_size_t),
        ("PagefileUsage", ctypes.c_size_t),
        ("PeakPagefileUsage", ctypes.c_size_t),
    )


def _peak_working_set(library: Any) -> int:
    kernel = library.WinDLL("kernel32")
    # The default result type, a 32-bit integer, would truncate the handle.
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    kernel.K32GetProcessMemoryInfo.argtypes = (
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_uint32,
    )
    counters = _MemoryCounters(cb=ctypes.sizeof(_MemoryCounters))
    process = kernel.GetCurrentProcess()
    if not kernel.K32GetProcessMemoryInfo(process, ctypes.byref(counters), counters.cb):
        return 0
    return int(counters.PeakWorkingSetSize)
