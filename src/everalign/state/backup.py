"""Copies of a state directory: consistent while others write to it, and verified.

Databases are copied by SQLite as they are at one moment: first the catalogue and then the inbox,
which only ever grows. The files that the copied catalogue names never change, so they can be
copied afterwards. A copy is made under another name and appears whole or not at all.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from everalign._platform import sync_directory
from everalign._progress import Progress, no_progress
from everalign.errors import StateDamagedError, StateError
from everalign.state.catalogue import Catalogue
from everalign.state.database import open_database
from everalign.state.files import StateLayout, check_file, create_directory, refuse_link
from everalign.state.inbox import open_inbox
from everalign.state.verify import verify_state

# Pages of 4 KiB: other processes wait for no more than these.
PAGES_AT_ONCE = 8192
CHUNK_BYTES = 1 << 16
# An update that ends while a copy is made may remove files that the copied catalogue names.
ATTEMPTS = 5


def copy_state(source: str | Path, target: str | Path, progress: Progress = no_progress) -> bool:
    """Copy a state directory and verify the copy.

    Args:
        source: The state directory; it may be in use.
        target: The directory to create.
        progress: Called now and then.

    Returns:
        False if the target was there already and equals the source.

    Raises:
        StateError: The target is something else, or cannot be written.
        StateDamagedError: The source is damaged.
    """
    origin, goal = StateLayout(Path(source)), StateLayout(Path(target))
    origin.check_links()
    if not origin.database.is_file():
        raise StateError(f"{origin.root} is not an EverAlign state directory")
    if goal.database.is_file() and _identify(goal) == _identify(origin):
        return False
    if goal.root.exists() and (not goal.root.is_dir() or any(goal.root.iterdir())):
        raise StateError(f"{goal.root} exists already and is not overwritten")
    refuse_link(goal.root)
    partial = StateLayout(goal.root.parent / f"{goal.root.name}.partial")
    try:
        create_directory(goal.root.parent)
        _copy_with_retries(origin, partial, progress)
        _check_copy(partial, progress)
        if goal.root.exists():
            goal.root.rmdir()
        partial.root.rename(goal.root)
        sync_directory(goal.root.parent)
    except OSError as error:
        raise StateError(f"{goal.root} cannot be written: {error.strerror}") from error
    return True


def _identify(layout: StateLayout) -> tuple[object, ...]:
    """What tells two states apart: the last digest, the pending delta and the last decision."""
    with open_database(layout, write=False) as database, open_inbox(layout) as inbox:
        catalogue = Catalogue(database, write=False)
        version = catalogue.read_version(catalogue.last_version)
        pending = catalogue.read_pending_delta()
        settings = tuple(sorted(catalogue.read_settings().items()))
        return settings, version and version.digest, pending, inbox.read_range(0)[-1:]


def _copy_with_retries(origin: StateLayout, partial: StateLayout, progress: Progress) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        if partial.root.exists():
            refuse_link(partial.root)
            # What an interrupted copy left behind.
            shutil.rmtree(partial.root)
        partial.root.mkdir()
        try:
            _copy_once(origin, partial, progress)
            return
        except StateDamagedError:
            if attempt == ATTEMPTS or not _has_moved_on(origin, partial):
                raise


def _has_moved_on(origin: StateLayout, partial: StateLayout) -> bool:
    """Whether versions were added since the catalogue was copied."""
    if not partial.database.is_file():
        return False
    last = []
    for layout in (origin, partial):
        with open_database(layout, write=False) as database:
            last.append(Catalogue(database, write=False).last_version)
    return last[0] > last[1]


def _copy_once(origin: StateLayout, partial: StateLayout, progress: Progress) -> None:
    progress("copying databases", 0, 2)
    with open_database(origin, write=False) as database:
        database.copy_to(partial.database, PAGES_AT_ONCE)
    progress("copying databases", 1, 2)
    with open_inbox(origin) as inbox:
        inbox.database.copy_to(partial.inbox)
    for folder in partial.folders:
        folder.mkdir()
    with open_database(partial, write=False) as database:
        files = list(_list_files(Catalogue(database, write=False), partial))
    for number, (path, checksum) in enumerate(files):
        progress("copying files", number, len(files))
        path.parent.mkdir(exist_ok=True)
        _copy_file(origin.root / path.relative_to(partial.root), path)
        check_file(path, checksum)
    for path in (partial.database, partial.inbox):
        with path.open("rb") as file:
            os.fsync(file.fileno())
    for folder in {path.parent for path, _ in files} | {*partial.folders, partial.root}:
        sync_directory(folder)


def _list_files(catalogue: Catalogue, layout: StateLayout) -> Iterator[tuple[Path, str]]:
    """The files that a catalogue names, with their checksums."""
    pending = catalogue.read_pending_delta()
    for row in [*catalogue.read_applied_deltas(), *([pending] if pending else [])]:
        for name, checksum in row.files.items():
            yield layout.delta_folder(row.number) / name, checksum
    dropped = set(catalogue.list_dropped())
    for number, files in catalogue.iterate_files():
        if number not in dropped:
            for name, checksum in files.items():
                yield layout.version_folder(number) / name, checksum


def _copy_file(source: Path, target: Path) -> None:
    refuse_link(source.parent)
    refuse_link(source)
    if not source.is_file():
        raise StateDamagedError(f"{source} is missing")
    with source.open("rb") as reader, target.open("xb") as writer:
        _copy_sparse(reader, writer)
        writer.flush()
        os.fsync(writer.fileno())


def _copy_sparse(reader: BinaryIO, writer: BinaryIO) -> None:
    zeros = bytes(CHUNK_BYTES)
    while chunk := reader.read(CHUNK_BYTES):
        # A hole reads as zeros, and takes no space in the copy either.
        if chunk == zeros[: len(chunk)]:
            writer.seek(len(chunk), os.SEEK_CUR)
        else:
            writer.write(chunk)
    writer.truncate(writer.tell())


def _check_copy(partial: StateLayout, progress: Progress) -> None:
    findings = verify_state(partial.root, progress)
    if findings:
        raise StateDamagedError(
            f"the copy is not made, since it would be damaged: {findings[0]}"
            + (f" and {len(findings) - 1} more" if len(findings) > 1 else "")
        )
