"""What a disk may hold after a power cut, given the operations that a program made before it.

What was forced to the disk is there: the bytes and the size of a file by `fsync` or `fdatasync` of
it, the names in a directory by `fsync` of the directory. What was not forced may or may not be
there:

* Each sector of a file (512 or 4,096 bytes) has any of the contents that it had since the file was
  last forced to the disk, whatever other sectors have. So writes are dropped, torn and reordered;
  an older content never overwrites a newer one of the same sector. Bytes of a sector that no write
  has touched do not change.
* A file has any of the sizes that it had since then. Where it became longer and a sector was not
  written, there are zeros, or with `garbage` anything. After a file was cut off, what was cut off
  does not come back.
* Names that were added, removed or renamed: of each directory, the changes up to some point, as in
  a file system with a journal; with `reordered_names` any of the changes, those of one name in
  order. A rename happens whole or not at all.
* A directory that is forced to the disk is itself there only if its name in its parent is.

A disk that reports data as written before they are is not part of the model. Memory-mapped writes
are none: only the index of SQLite's write-ahead log is mapped for writing, and SQLite builds it
anew when the first process opens the database, so that it may hold anything.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

ROOT = 0
SECTOR_SIZES = (512, 4096)
# SQLite's index of a write-ahead log.
MAPPED_SUFFIX = "-shm"


class Write(NamedTuple):
    """Bytes are written to a file."""

    node: int
    offset: int
    data: bytes


class Resize(NamedTuple):
    """A file gets another size."""

    node: int
    size: int


class NameChange(NamedTuple):
    """Names of directories are set: directory, name, and the file or directory (None: removed)."""

    entries: tuple[tuple[int, str, int | None], ...]


class Sync(NamedTuple):
    """A file or directory is forced to the disk."""

    node: int


class Acknowledge(NamedTuple):
    """The program has told somebody that a step is done."""

    step: str


Operation: TypeAlias = Write | Resize | NameChange | Sync | Acknowledge


class Harshness(NamedTuple):
    """Which power cuts are simulated.

    Attributes:
        sector: The number of bytes that a disk writes whole or not at all.
        reordered_names: Whether changes of names in one directory may be reordered.
        garbage: Whether sectors that a file has gained and that were not written hold anything.
    """

    sector: int
    reordered_names: bool
    garbage: bool


class DiskState(NamedTuple):
    """What is on the disk.

    Attributes:
        names: Of each directory, the files and directories by name.
        contents: The bytes of each file; what has none is a directory.
    """

    names: dict[int, dict[str, int]]
    contents: dict[int, bytes]


def choose_harshness(rng: random.Random) -> Harshness:
    """Choose a kind of power cut.

    Args:
        rng: Random numbers.

    Returns:
        One of all kinds.
    """
    return Harshness(rng.choice(SECTOR_SIZES), rng.random() < 0.5, rng.random() < 0.5)


def list_acknowledged(operations: Iterable[Operation]) -> list[str]:
    """List the steps that were acknowledged.

    Args:
        operations: What a program did.

    Returns:
        The names of the steps, in order.
    """
    return [operation.step for operation in operations if isinstance(operation, Acknowledge)]


def simulate_cut(
    operations: Sequence[Operation], harshness: Harshness, rng: random.Random
) -> DiskState:
    """Choose what a disk holds if the power is cut after some operations.

    Args:
        operations: What the program did until then.
        harshness: What may happen.
        rng: Random numbers.

    Returns:
        One of the possible states.
    """
    synced = {op.node: place for place, op in enumerate(operations) if isinstance(op, Sync)}
    names = _choose_names(operations, synced, harshness, rng)
    histories = defaultdict[int, tuple[list[Write | Resize], list[Write | Resize]]](
        lambda: ([], [])
    )
    for place, op in enumerate(operations):
        if isinstance(op, Write | Resize):
            histories[op.node][place > synced.get(op.node, -1)].append(op)
    contents = {
        node: choose_content(durable, pending, harshness, rng)
        for node, (durable, pending) in histories.items()
    }
    return DiskState(names, contents)


def choose_content(
    durable: Sequence[Write | Resize],
    pending: Sequence[Write | Resize],
    harshness: Harshness,
    rng: random.Random,
) -> bytes:
    """Choose what a file holds after a power cut.

    Args:
        durable: What was forced to the disk.
        pending: What was not, in order.
        harshness: What may happen.
        rng: Random numbers.

    Returns:
        The bytes of the file.

    >>> found, harshness = set(), Harshness(512, reordered_names=False, garbage=False)
    >>> for seed in range(50):
    ...     found.add(choose_content([], [Write(1, 0, b"ab")], harshness, random.Random(seed)))
    >>> sorted(found)
    [b'', b'\\x00\\x00', b'ab']
    """
    image = bytearray()
    for op in durable:
        _apply(image, op)
    before, sizes = len(image), [len(image)]
    sizes += _list_sizes(before, pending)
    # Often the newest or the oldest: states in between are many, and most of them are alike.
    resized = rng.choice([0, len(pending), rng.randint(0, len(pending))])
    versions = _list_sector_versions(image, pending, resized, harshness.sector)
    size, sector = sizes[resized], harshness.sector
    share = rng.choice([0.0, 0.1, 0.5, 0.9, 1.0])
    result = bytearray(image[:size].ljust(size, b"\0"))
    for number, contents in versions.items():
        chosen = contents[-1] if rng.random() < share else rng.choice(contents)
        begin = number * sector
        if chosen is None:
            chosen = rng.randbytes(sector) if harshness.garbage else bytes(sector)
            kept = result[begin:before] if begin < before else b""
            chosen = bytes(kept) + chosen[len(kept) :]
        if begin < size:
            result[begin : begin + sector] = chosen[: size - begin]
    return bytes(result)


def write_state(state: DiskState, directory: Path, rng: random.Random, *, garbage: bool) -> None:
    """Write the files of a state.

    Args:
        state: What is on the simulated disk.
        directory: An empty directory.
        rng: Random numbers.
        garbage: Whether files that are mapped for writing hold anything.
    """
    waiting = [(ROOT, directory)]
    while waiting:
        node, path = waiting.pop()
        for name, child in state.names[node].items():
            content = state.contents.get(child)
            if content is None:
                (path / name).mkdir()
                waiting.append((child, path / name))
                continue
            if garbage and name.endswith(MAPPED_SUFFIX):
                content = rng.randbytes(len(content))
            (path / name).write_bytes(content)


def list_creation(directory: Path) -> list[Operation]:
    """List operations that make what is in a directory, all of it forced to the disk.

    Args:
        directory: The directory.

    Returns:
        The operations; files and directories are numbered from 1.
    """
    operations: list[Operation] = []
    nodes = {directory: ROOT}
    for path in sorted(directory.rglob("*")):
        node = nodes[path] = len(nodes)
        operations.append(NameChange(((nodes[path.parent], path.name, node),)))
        if path.is_file():
            operations.append(Write(node, 0, path.read_bytes()))
    return operations + [Sync(node) for node in nodes.values()]


def _choose_names(
    operations: Sequence[Operation],
    synced: dict[int, int],
    harshness: Harshness,
    rng: random.Random,
) -> dict[int, dict[str, int]]:
    names = defaultdict[int, dict[str, int]](dict)
    share = rng.choice([0.0, 0.5, 0.9, 1.0])
    # What comes after a change that is not there and that cannot be there without it.
    blocked = set[int | tuple[int, str]]()
    for place, op in enumerate(operations):
        if not isinstance(op, NameChange):
            continue
        keys: set[int | tuple[int, str]] = {
            (directory, name) if harshness.reordered_names else directory
            for directory, name, _ in op.entries
        }
        is_durable = any(place < synced.get(directory, -1) for directory, _, _ in op.entries)
        if is_durable or (rng.random() < share and not keys & blocked):
            _change_names(names, op)
        else:
            blocked |= keys
    return names


def _change_names(names: dict[int, dict[str, int]], change: NameChange) -> None:
    for directory, name, node in change.entries:
        if node is None:
            names[directory].pop(name, None)
        else:
            names[directory][name] = node


def _apply(image: bytearray, op: Write | Resize) -> None:
    if isinstance(op, Write):
        image.extend(bytes(max(0, op.offset - len(image))))
        image[op.offset : op.offset + len(op.data)] = op.data
    else:
        del image[op.size :]
        image.extend(bytes(op.size - len(image)))


def _list_sizes(size: int, pending: Iterable[Write | Resize]) -> Iterable[int]:
    for op in pending:
        size = max(size, op.offset + len(op.data)) if isinstance(op, Write) else op.size
        yield size


def _list_sector_versions(
    durable: bytearray, pending: Sequence[Write | Resize], resized: int, sector: int
) -> dict[int, list[bytes | None]]:
    """What each changed sector has been; None for what was there before a file became longer."""
    image, versions, limit = bytearray(durable), dict[int, list[bytes | None]](), float("inf")
    for place, op in enumerate(pending):
        if isinstance(op, Write):
            begin, end = op.offset, op.offset + len(op.data)
        else:
            begin, end = op.size, len(image)
            if begin < end and place >= resized:
                # The file was not cut off, so nothing is there that was written afterwards.
                limit = min(limit, begin // sector)
        _apply(image, op)
        for number in range(begin // sector, -(-end // sector)):
            if number >= limit:
                break
            span = slice(number * sector, (number + 1) * sector)
            known, content = bytes(durable[span]), bytes(image[span]).ljust(sector, b"\0")
            if isinstance(op, Resize):
                versions[number] = [content]
            else:
                before = known if len(known) == sector else None
                versions.setdefault(number, [before]).append(content)
    return versions
