"""Arrays in files that are written once, forced to the disk, and checked when they are read."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from everalign.errors import StateDamagedError, StateError

Array: TypeAlias = npt.NDArray[Any]

_FILE_NAME = re.compile(r"\w[\w.-]*")


def write_folder(folder: Path, arrays: Mapping[str, Array]) -> dict[str, str]:
    """Write each array to a file of a new folder; when this returns, they are on the disk.

    Gives the SHA-256 checksum of each file.
    """
    paths = {name: _path(folder, name) for name in arrays}
    try:
        folder.mkdir()
        checksums = {name: _write(paths[name], array) for name, array in arrays.items()}
        sync_folder(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise StateError(f"{folder} cannot be written: {error.strerror}") from error
    return checksums


def read_array(folder: Path, name: str, checksum: str) -> Array:
    """Read an array back, or say that its file is not what was written."""
    path = _path(folder, name)
    try:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != checksum:
                raise StateDamagedError(f"{path} has changed since it was written")
            file.seek(0)
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
            return array
    except FileNotFoundError:
        raise StateDamagedError(f"{path} is missing") from None


def discard_folder(folder: Path) -> None:
    """Remove what a crashed attempt left behind, if there is anything."""
    if folder.exists():
        shutil.rmtree(folder)


def sync_folder(folder: Path) -> None:
    """Force the names of a folder's files to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _path(folder: Path, name: str) -> Path:
    if not _FILE_NAME.fullmatch(name):
        raise ValueError(f"an array cannot be called {name!r}")
    return folder / f"{name}.npy"


def _write(path: Path, array: Array) -> str:
    with path.open("xb") as file:
        hashing = _HashingFile(file)
        np.lib.format.write_array(hashing, array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
        return hashing.checksum


class _HashingFile:
    """Passes on what is written, block by block, and keeps its checksum."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def write(self, block: bytes) -> int:
        self._hash.update(block)
        return self._file.write(block)

    @property
    def checksum(self) -> str:
        return self._hash.hexdigest()
