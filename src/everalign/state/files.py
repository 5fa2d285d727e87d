"""The files of a state directory: their paths, the lock of the writer, and array files.

An array file is written once and forced to the disk. Each of its arrays is compared with its
checksum when a process first reads it, and again once the file has changed in any way.
"""

from __future__ import annotations

import io
import json
import mmap
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

from everalign._platform import lock_file, sync_directory
from everalign.errors import StateDamagedError, StateError, StateLockedError
from everalign.state.array_format import (
    Array,
    check_bundle,
    read_table,
    view_array,
    write_bundle,
)

Key = TypeVar("Key")
Value = TypeVar("Value")

# The lock file quotes the command line of its holder; a line of a terminal is enough of it.
MAX_COMMAND_LENGTH = 60

BUNDLE_NAME = "arrays.bundle"

# A file that has changed less than this before it is read may change once more without another
# time of change, since clocks of file systems are coarse: it is compared again.
MIN_SETTLED_NANOSECONDS = 2_000_000_000
# So many files are remembered as whole: more than the versions that make up a method state.
MAX_REMEMBERED_FILES = 64

# Windows has no flag to refuse links, and lets only administrators make them; others have none for
# files that are not text.
_NO_LINK, _BINARY = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_BINARY", 0)


class LazyMapping(Mapping[Key, Value]):
    """A mapping whose values are read each time they are accessed.

    Args:
        keys: The keys, in order.
        read: Reads the value of a key.
    """

    def __init__(self, keys: Iterable[Key], read: Callable[[Key], Value]) -> None:
        self._keys = dict.fromkeys(keys)
        self._read = read

    def __getitem__(self, key: Key) -> Value:
        if key not in self._keys:
            raise KeyError(key)
        return self._read(key)

    def __contains__(self, key: object) -> bool:
        # By default, a mapping would read the value to find out.
        return key in self._keys

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


@dataclass(frozen=True)
class StateLayout:
    """The paths of a state directory.

    >>> StateLayout(Path("state")).delta_folder(7).as_posix()
    'state/deltas/000007'

    Attributes:
        root: The state directory.
    """

    root: Path

    @property
    def database(self) -> Path:
        """The SQLite database; a directory is a state directory once this file exists."""
        return self.root / "everalign.sqlite"

    @property
    def new_database(self) -> Path:
        """The database while it is being created."""
        return self.root / "everalign.sqlite.new"

    @property
    def new_database_journal(self) -> Path:
        """SQLite's rollback journal of the database that is being created."""
        return self.root / "everalign.sqlite.new-journal"

    @property
    def inbox(self) -> Path:
        """The SQLite database of the decision inbox."""
        return self.root / "inbox.sqlite"

    @property
    def inbox_files(self) -> tuple[Path, ...]:
        """The inbox and what SQLite keeps beside it while it is open."""
        return (self.inbox, *(Path(f"{self.inbox}{end}") for end in ("-wal", "-shm", "-journal")))

    @property
    def cache(self) -> Path:
        """The folder of what readers derive, such as the index of labels; it may be deleted."""
        return self.root / "cache"

    @property
    def lock(self) -> Path:
        """The file that a writer locks."""
        return self.root / "lock"

    @property
    def folders(self) -> tuple[Path, Path]:
        """The folders that hold the array folders of deltas and versions."""
        return self.root / "deltas", self.root / "versions"

    def delta_folder(self, number: int) -> Path:
        """Return the folder with the arrays of a delta.

        Args:
            number: The number of the delta.

        Returns:
            The path of the folder.
        """
        # Padded, so that a listing of the directory is in the order of the numbers.
        return self.root / "deltas" / f"{number:06d}"

    def version_folder(self, number: int) -> Path:
        """Return the folder with the arrays of a version: what its method has stored.

        Args:
            number: The number of the version.

        Returns:
            The path of the folder.
        """
        return self.root / "versions" / f"{number:06d}"

    def check_links(self) -> None:
        """Check that nothing in the state directory leads out of it.

        Raises:
            StateError: A file or folder is a symbolic link.
        """
        entries = self.lock, self.database, self.new_database, *self.inbox_files, *self.folders
        for entry in entries:
            refuse_link(entry)

    def measure(self) -> int:
        """Measure the state directory.

        Returns:
            How many bytes its files take on the disk; holes take none.
        """
        return sum(_measure_file(path) for path in self.root.rglob("*") if path.is_file())

    def find_other_files(self) -> list[Path]:
        """Find files that are not those of an interrupted creation of a state directory.

        Returns:
            Their paths, sorted.
        """
        leftovers = {
            self.new_database,
            self.new_database_journal,
            self.lock,
            *self.inbox_files,
            *self.folders,
        }
        found = {path for folder in (self.root, *self.folders) for path in folder.glob("*")}
        return sorted(found - leftovers)


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a state directory for as long as the block runs.

    The operating system releases the lock when the process ends, however it ends.

    Args:
        path: The lock file.

    Yields:
        Nothing: the lock is held inside of the block.

    Raises:
        StateLockedError: Another process holds the lock.
        StateError: The file cannot be written.
    """
    with _open_lock_file(path) as file:
        try:
            lock_file(file)
        except BlockingIOError:
            raise StateLockedError(_describe_holder(path.parent, file.read())) from None
        # Only with the lock: until then the file tells who else holds it.
        file.seek(0)
        file.truncate()
        since = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S")
        json.dump({"pid": os.getpid(), "command": _command_line(), "since": since}, file)
        file.flush()
        yield


def write_arrays(
    folder: Path, arrays: Mapping[str, Array], *, compressed: bool = False
) -> dict[str, str]:
    """Write arrays to a new folder; when this returns, they are on the disk.

    Args:
        folder: The folder to create.
        arrays: The arrays by name. Zeros at the end of one take no space.
        compressed: Whether to compress them; if not, they can be mapped.

    Returns:
        The checksum of the file by its name; nothing is written without arrays.

    Raises:
        StateError: The folder exists, or the file cannot be written.
    """
    if not arrays:
        return {}
    with _create_folder(folder), (folder / BUNDLE_NAME).open("x+b") as file:
        checksum = write_bundle(arrays, file, compressed=compressed)
        file.flush()
        # The database must never name a file that a power cut can still undo.
        os.fsync(file.fileno())
    return {BUNDLE_NAME: checksum}


def read_arrays(folder: Path, files: Mapping[str, str]) -> Mapping[str, Array]:
    """Map the arrays of a folder into memory.

    Args:
        folder: The folder.
        files: The checksum of each file by its name.

    Returns:
        Arrays by name, each compared with its checksum when this process first uses it. Changes
        of them are not written to the file.

    Raises:
        StateDamagedError: The file is missing, or its table of contents has changed.
    """
    if not files:
        return {}
    refuse_link(folder)
    path = folder / BUNDLE_NAME
    with _convert_damage(path):
        if list(files) != [BUNDLE_NAME]:
            raise ValueError("is not among the files of this version or delta")
        # Changes go to pages of this process: compiled code takes one type of array only.
        content, identity = _map_file(path, mmap.ACCESS_COPY)
        table = read_table(content, files[BUNDLE_NAME])
    whole = _recall_whole_arrays(identity, files[BUNDLE_NAME])

    def read_array(name: str) -> Array:
        with _convert_damage(path):
            array = view_array(content, table[name], is_whole=name in whole)
        whole.add(name)
        return array

    return LazyMapping(table, lru_cache(maxsize=None)(read_array))


def check_file(path: Path, checksum: str) -> None:
    """Compare a whole file with its checksum.

    Args:
        path: The file.
        checksum: What it was when the file was written.

    Raises:
        StateDamagedError: It is missing or has changed.
    """
    with _convert_damage(path):
        check_bundle(_map_file(path, mmap.ACCESS_READ)[0], checksum)


class FileIdentity(NamedTuple):
    """What a file has in common with itself as long as nobody has written to it."""

    device: int
    number: int
    size: int
    modified: int
    changed: int

    @staticmethod
    def from_stat(stat: os.stat_result) -> FileIdentity:
        """Take the identity from what the system tells of a file."""
        return FileIdentity(
            stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
        )

    @property
    def is_settled(self) -> bool:
        """Whether any later change would give it another time."""
        age = time.time_ns() - max(self.modified, self.changed)
        return age >= MIN_SETTLED_NANOSECONDS


@lru_cache(maxsize=MAX_REMEMBERED_FILES)
def _remember_whole_arrays(identity: FileIdentity, checksum: str) -> set[str]:  # noqa: ARG001
    return set()


def _recall_whole_arrays(identity: FileIdentity, checksum: str) -> set[str]:
    """The arrays of a file that this process has compared with their checksums; it adds others."""
    return _remember_whole_arrays(identity, checksum) if identity.is_settled else set()


def _map_file(path: Path, access: int) -> tuple[mmap.mmap, FileIdentity]:
    with _open_plain(path) as file:
        stat = os.fstat(file.fileno())
        # An empty file cannot be mapped, and none is ever written.
        if not stat.st_size:
            raise ValueError("has changed since it was written")
        content = mmap.mmap(file.fileno(), 0, access=access)
        return content, FileIdentity.from_stat(stat)


@contextmanager
def _convert_damage(path: Path) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise StateDamagedError(f"{path} {error}") from error


def _open_plain(path: Path) -> io.FileIO:
    try:
        return io.FileIO(os.open(path, os.O_RDONLY | _BINARY | _NO_LINK))
    except FileNotFoundError:
        raise StateDamagedError(f"{path} is missing") from None
    except OSError:
        # A link, unless it is something else that cannot be opened.
        refuse_link(path)
        raise


@contextmanager
def _create_folder(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir()
        yield
        # A file survives a power cut only if the folder that lists it is on the disk as well.
        sync_directory(folder)
        sync_directory(folder.parent)
    except OSError as error:
        raise StateError(f"{folder} cannot be written: {error.strerror}") from error


def create_directory(directory: Path) -> None:
    """Create a directory and its parents where they are missing; they survive a power cut.

    Args:
        directory: The directory.
    """
    if not directory.is_dir():
        create_directory(directory.parent)
        directory.mkdir(exist_ok=True)
        sync_directory(directory.parent)


def remove_folder(folder: Path) -> None:
    """Remove the folder that an interrupted write left behind, if there is one.

    Args:
        folder: The folder to remove.

    Raises:
        StateError: It is a symbolic link.
    """
    refuse_link(folder)
    if folder.exists():
        shutil.rmtree(folder)


def list_numbered_folders(folder: Path) -> list[int]:
    """List the numbers of the folders of deltas or of versions.

    Args:
        folder: The folder that holds them.

    Returns:
        The numbers, ascending.
    """
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())


def measure_folder(folder: Path) -> int:
    """Measure the files of a folder.

    Args:
        folder: A folder without folders in it.

    Returns:
        How many bytes they take on the disk; holes take none.
    """
    return sum(map(_measure_file, folder.iterdir()))


def _measure_file(path: Path) -> int:
    stat = path.stat()
    # Where the system does not count blocks, files have no holes either.
    blocks: int = getattr(stat, "st_blocks", stat.st_size // 512 + 1)
    return 512 * blocks


def refuse_link(path: Path) -> None:
    """Refuse a symbolic link: it could lead to files that are not ours.

    Args:
        path: A path inside of a state directory.

    Raises:
        StateError: It is a symbolic link.
    """
    if path.is_symlink():
        raise StateError(f"{path} is a symbolic link: a state directory must not contain any")


def _open_lock_file(path: Path) -> IO[str]:
    def open_plain_file(name: str, flags: int) -> int:
        # Whoever replaces the file by a link after the check is refused here.
        return os.open(name, flags | _NO_LINK, 0o666)

    refuse_link(path)
    try:
        # Append mode creates the file if need be and keeps what another holder has written.
        file = open(  # noqa: SIM115 (the caller closes it)
            path, "a+", encoding="utf-8", errors="replace", opener=open_plain_file
        )
    except OSError as error:
        raise StateError(f"{path.parent} cannot be written to: {error.strerror}") from error
    file.seek(0)
    return file


def _describe_holder(directory: Path, lock_content: str) -> str:
    try:
        holder = json.loads(lock_content)
        return (
            f"{directory} is in use by process {holder['pid']}"
            f" ({holder['command']}, since {holder['since']})"
        )
    except (ValueError, KeyError, TypeError):
        # The holder has the lock and has not yet written who it is.
        return f"{directory} is in use by another process"


def _command_line() -> str:
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
    if len(command) <= MAX_COMMAND_LENGTH:
        return command
    return command[: MAX_COMMAND_LENGTH - 1] + "…"
