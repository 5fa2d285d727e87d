"""The files of a state directory: their paths, the lock of the writer, and array files.

An array file is written once, forced to the disk, and compared with its checksum when it is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from everalign._platform import lock_file, sync_directory
from everalign.errors import StateDamagedError, StateError, StateLockedError

Array: TypeAlias = npt.NDArray[Any]

# The lock file quotes the command line of its holder; a line of a terminal is enough of it.
MAX_COMMAND_LENGTH = 60

# No path separators, and no leading dot that would hide the file.
_ARRAY_NAME = re.compile(r"\w[\w.-]*")


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


def write_arrays(folder: Path, arrays: Mapping[str, Array]) -> dict[str, str]:
    """Write arrays to a new folder; when this returns, they are on the disk.

    Args:
        folder: The folder to create.
        arrays: The arrays by name.

    Returns:
        The SHA-256 checksum of each file by the name of its array.

    Raises:
        StateError: The folder exists, or a file cannot be written.
        ValueError: A name cannot be the name of a file.
    """
    # Names are checked before the folder is made, so that an invalid one leaves nothing behind.
    paths = {name: _array_path(folder, name) for name in arrays}
    try:
        folder.mkdir()
        checksums = {name: _write_array(paths[name], array) for name, array in arrays.items()}
        # A file survives a power cut only if the folder that lists it is on the disk as well.
        sync_directory(folder)
        sync_directory(folder.parent)
    except OSError as error:
        raise StateError(f"{folder} cannot be written: {error.strerror}") from error
    return checksums


def read_array(folder: Path, name: str, checksum: str) -> Array:
    """Read an array and compare its file with the checksum.

    Args:
        folder: The folder of the array.
        name: The name of the array.
        checksum: The SHA-256 checksum of its file.

    Returns:
        The array.

    Raises:
        StateDamagedError: The file is missing or has changed.
        StateError: It is a symbolic link.
    """
    path = _array_path(folder, name)
    refuse_link(folder)
    refuse_link(path)
    try:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != checksum:
                raise StateDamagedError(f"{path} has changed since it was written")
            file.seek(0)
            # A pickle could run code when it is loaded.
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
            return array
    except FileNotFoundError:
        raise StateDamagedError(f"{path} is missing") from None


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
        # Whoever replaces the file by a link after the check is refused here. Windows has no flag
        # for it, and lets only administrators make links.
        return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)

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


def _array_path(folder: Path, name: str) -> Path:
    if not _ARRAY_NAME.fullmatch(name):
        raise ValueError(f"invalid array name: {name!r}")
    return folder / f"{name}.npy"


def _write_array(path: Path, array: Array) -> str:
    with path.open("xb") as file:
        hashing_file = _HashingFile(file)
        np.lib.format.write_array(hashing_file, array, allow_pickle=False)
        file.flush()
        # The database must never name a file that a power cut can still undo.
        os.fsync(file.fileno())
        return hashing_file.checksum


class _HashingFile:
    """Computes the checksum of what is written to a file, without reading it back."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def write(self, block: bytes) -> int:
        self._hash.update(block)
        return self._file.write(block)

    @property
    def checksum(self) -> str:
        return self._hash.hexdigest()
