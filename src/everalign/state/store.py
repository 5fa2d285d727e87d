"""The state directory, opened for reading or for writing."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from everalign._platform import sync_directory
from everalign.errors import StateError
from everalign.state.array_format import Array
from everalign.state.catalogue import Catalogue, DeltaRow
from everalign.state.database import create_database, open_database
from everalign.state.decision_table import DecisionChanges
from everalign.state.deltas import (
    NAME_LISTS,
    Delta,
    Json,
    MethodState,
    NameKind,
    Side,
    Version,
    compute_digest,
)
from everalign.state.files import (
    LazyMapping,
    StateLayout,
    create_directory,
    hold_lock,
    read_arrays,
    remove_folder,
    write_arrays,
)
from everalign.state.folding import DecisionPlan
from everalign.state.inbox import create_inbox
from everalign.state.ledger import LedgerEvent
from everalign.state.ledger_reader import LedgerReader
from everalign.state.links import (
    ScoredPair,
)
from everalign.state.method_files import MethodFiles
from everalign.state.method_output import MethodOutput
from everalign.state.names import StoredNames

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class CompactionResult:
    """What a compaction has done.

    Attributes:
        versions: The versions whose method state was removed.
        bytes_before: Size of the state directory on the disk before.
        bytes_after: Size after.
    """

    versions: tuple[int, ...]
    bytes_before: int
    bytes_after: int


class StateStore(LedgerReader):
    """All that is known about one alignment: settings, names, deltas, versions and link events.

    An update has two steps: `journal_delta` stores what came in, `commit_version` what became of
    it. Each takes effect whole or not at all, also if the process is killed in the middle of it.
    Nothing that was committed is ever changed. Only what a method remembers of old versions is
    removed.

    A store that is open for reading shows the version that was the last one when it was opened.
    Use `create` or `open` to get one, and close it or use it as a context manager.

    Args:
        layout: The paths of the state directory.
        catalogue: The queries of its database.
        resources: What `close` releases.
        write: Whether the store may be changed.
    """

    def __init__(
        self, layout: StateLayout, catalogue: Catalogue, resources: ExitStack, *, write: bool
    ) -> None:
        super().__init__(layout, catalogue, resources)
        self._method_files = MethodFiles(layout, catalogue)
        self._write = write

    @classmethod
    def create(cls, directory: str | Path, settings: Mapping[str, str]) -> Self:
        """Create a state directory and open it for writing.

        Args:
            directory: The directory. It may exist if it is empty.
            settings: Settings to store; they never change.

        Returns:
            The store.

        Raises:
            StateError: The directory is a state directory already, contains other files, or
                cannot be written to.
            StateLockedError: Another process is creating it.
        """
        layout = StateLayout(Path(directory))
        layout.check_links()
        _check_unused(layout)
        # Before the lock, which is a file in the directory.
        create_directory(layout.root)
        with ExitStack() as resources:
            resources.enter_context(hold_lock(layout.lock))
            _check_unused(layout)  # again: another process may have been faster
            for folder in layout.folders:
                folder.mkdir(exist_ok=True)
            # The name of the directory itself is listed in its parent, and may be there since a
            # creation that was interrupted before it was on the disk.
            sync_directory(layout.root.parent)
            create_inbox(layout)
            # Last: with its database, the directory counts as a state directory.
            create_database(layout, settings)
            return cls._open_layout(layout, resources, write=True)

    @staticmethod
    def exists(directory: str | Path) -> bool:
        """Check whether a directory is a state directory.

        Args:
            directory: The directory.

        Returns:
            Whether it has the database of a state directory.
        """
        return StateLayout(Path(directory)).database.is_file()

    @classmethod
    def open(cls, directory: str | Path, *, write: bool) -> Self:
        """Open a state directory.

        Args:
            directory: The state directory.
            write: Whether it may be changed: one process at a time can, any number can read.

        Returns:
            The store.

        Raises:
            StateError: The directory is not a state directory, or cannot be written to.
            StateFormatError: It has another format.
            StateLockedError: Another process has it open for writing.
        """
        layout = StateLayout(Path(directory))
        layout.check_links()
        if not layout.database.is_file():
            raise StateError(f"{layout.root} is not an EverAlign state directory")
        with ExitStack() as resources:
            # Readers need no lock: rows are only ever added, and a reader ignores what is newer.
            if write:
                resources.enter_context(hold_lock(layout.lock))
            return cls._open_layout(layout, resources, write=write)

    @classmethod
    def _open_layout(cls, layout: StateLayout, resources: ExitStack, *, write: bool) -> Self:
        database = resources.enter_context(open_database(layout, write=write))
        store = cls(layout, Catalogue(database, write=write), resources, write=write)
        if write:
            store._remove_leftovers()
        # Only now: until here the caller's `with` releases everything if something fails.
        store._resources = resources.pop_all()
        mode = "writing" if write else "reading"
        logger.info("%s opened for %s, last version %s", layout.root, mode, store.last_version())
        return store

    def close(self) -> None:
        """Close the database and release the lock."""
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def read_settings(self) -> dict[str, str]:
        """Read the settings that the state directory was created with.

        Returns:
            The values by name.
        """
        return self._catalogue.read_settings()

    def open_names(self, side: Side, kind: NameKind) -> StoredNames:
        """Open the names of one side and kind.

        Args:
            side: Left or right.
            kind: The kind of the names.

        Returns:
            The names that the last version has, to look up as they are needed.

        Raises:
            StateDamagedError: There are fewer or more names than were written.
        """
        return self._catalogue.open_names((side, kind))

    def count_names(self, side: Side, kind: NameKind, version: int) -> int:
        """Count the names of one side and kind that were known at a version.

        Args:
            side: Left or right.
            kind: The kind of the names.
            version: The version.

        Returns:
            The number of names.
        """
        return self._catalogue.count_names((side, kind), version)

    def journal_delta(self, delta: Delta) -> None:
        """Store a delta as pending; from here on it survives whatever happens to its update.

        Args:
            delta: The delta.

        Raises:
            StateError: There is a pending delta already, the store is open for reading only, or
                the disk is full.
        """
        self._check_writable()
        if self._catalogue.read_pending_delta() is not None:
            raise StateError(f"{self._layout.root} has another delta that is not yet applied")
        self._remove_leftovers()
        number = self._catalogue.next_delta_number()
        # Files first and then their row: a row never names a file that is not on the disk.
        files = write_arrays(self._layout.delta_folder(number), delta.arrays)
        self._catalogue.insert_delta(number, delta, files)
        sizes = ", ".join(f"{name} {len(rows)}" for name, rows in delta.arrays.items())
        logger.info("delta %d journalled: %s (%s)", number, delta.source, sizes)

    def pending_delta(self) -> Delta | None:
        """Return the delta that is journalled and not yet applied.

        Returns:
            The delta, or None if every delta is applied.
        """
        row = self._catalogue.read_pending_delta()
        return None if row is None else self._load_delta(row)

    def read_deltas(self) -> Iterator[Delta]:
        """Return the applied deltas.

        Returns:
            The deltas, oldest first.
        """
        return map(self._load_delta, self._catalogue.read_applied_deltas())

    def last_version(self) -> int | None:
        """Return the number of the last version.

        Returns:
            The number, or None before the first version.
        """
        last = self._catalogue.last_version
        return None if last < 0 else last

    def next_version(self) -> int:
        """Return the number that the next version will have.

        Returns:
            The number; the first version has 0.
        """
        return self._catalogue.last_version + 1

    def list_versions(self, first: int = 0) -> list[Version]:
        """Return versions.

        Args:
            first: The first of them.

        Returns:
            The versions from there on, oldest first.
        """
        return self._catalogue.read_versions(first)

    def read_version(self, number: int) -> Version:
        """Return one version.

        Args:
            number: Its number.

        Returns:
            The version, without the digest of its delta.

        Raises:
            StateError: There is no such version.
        """
        version = self._catalogue.read_version(number)
        if version is None:
            raise StateError(f"{self._layout.root} has no version {number}")
        return version

    def commit_version(
        self,
        method: MethodOutput,
        events: Iterable[LedgerEvent],
        info: Mapping[str, Json],
        decisions: DecisionChanges | None = None,
    ) -> int:
        """Add the next version, which applies the pending delta if there is one.

        Args:
            method: What the method stores.
            events: The link events of the version.
            info: Facts about the version, for people.
            decisions: How the decisions in force change; not at all if None.

        Returns:
            The number of the version.

        Raises:
            StateError: The store is open for reading only, or the disk is full.
            ValueError: An array has an invalid name, or an event another version.
        """
        self._check_writable()
        number, events = self.next_version(), list(events)
        if any(event.version != number for event in events):
            raise ValueError(f"every event must have version {number}")
        self._remove_leftovers()
        files, method_state = self._method_files.write(method, number)
        self._catalogue.insert_version(
            self.inbox, files, method_state, events, info, decisions or DecisionChanges()
        )
        logger.info("version %d committed, %d link events", number, len(events))
        self.remove_superseded()
        return number

    def remove_superseded(self, kept_versions: int = 2) -> list[int]:
        """Remove files of methods that no version needs; links, facts and decisions stay.

        Args:
            kept_versions: How many of the newest versions keep what makes up their method state.

        Returns:
            The versions whose files are removed.

        Raises:
            StateError: The store is open for reading only.
        """
        self._check_writable()
        numbers = self._method_files.list_superseded(kept_versions)
        self._method_files.drop(numbers, "superseded")
        return numbers

    def compact(self) -> CompactionResult:
        """Remove what only older versions need, and free pages of the database.

        Returns:
            The versions whose files are removed, and the sizes before and after.

        Raises:
            StateError: The store is open for reading only.
        """
        self._check_writable()
        before = self._layout.measure()
        numbers = self.remove_superseded(kept_versions=1)
        self._catalogue.free_pages()
        return CompactionResult(tuple(numbers), before, self._layout.measure())

    def commit_decisions(self, plan: DecisionPlan, info: Mapping[str, Json]) -> int:
        """Add a version that only takes up decisions. No delta may be pending.

        Args:
            plan: What the decisions do.
            info: Facts about the version, for people.

        Returns:
            The number of the version.

        Raises:
            StateError: The store is open for reading only, or has a pending delta.
        """
        self._check_writable()
        if self._catalogue.read_pending_delta() is not None:
            raise StateError(f"{self._layout.root} has a delta that is not yet applied")
        number = self.next_version()
        # Every version has a delta; this one has neither facts nor names.
        delta = Delta(
            compute_digest({}),
            str(info.get("source", "")),
            {},
            runs_method=False,
            inbox_upto=plan.changes.inbox_upto or 0,
        )
        self._catalogue.insert_version(
            self.inbox,
            {},
            self.find_method_state(),
            list(plan.events),
            info,
            plan.changes,
            delta,
        )
        logger.info("version %d committed, %d link events", number, len(plan.events))
        return number

    def find_method_state(self, version: int | None = None) -> MethodState:
        """Find which versions make up what the method remembers.

        Args:
            version: The version; the last one by default.

        Returns:
            The versions; none before the first version, or if their files were removed.
        """
        return self._method_files.find_state(version)

    def load_method(
        self, version: int | None = None
    ) -> tuple[Mapping[str, Array], list[Mapping[str, Array]]]:
        """Load what the method had stored at a version.

        Args:
            version: The version; the last one by default.

        Returns:
            All arrays of the last version that has stored everything, mapped into memory, and
            the changes of later versions, oldest first.

        Raises:
            StateError: The method has stored nothing yet, or its files were removed.
            StateDamagedError: A file is missing or has changed.
        """
        return self._method_files.load(version)

    def read_proposals(self, version: int) -> list[ScoredPair]:
        """Read the pairs that were proposed at a version.

        Args:
            version: The version.

        Returns:
            The pairs with their scores.

        Raises:
            StateError: There is no such version.
            StateDamagedError: A file is missing or has changed.
        """
        self._check_exists(version)
        return self._method_files.read_proposals(version)

    def _load_delta(self, row: DeltaRow) -> Delta:
        return Delta(
            row.digest,
            row.source,
            read_arrays(self._layout.delta_folder(row.number), row.files),
            LazyMapping(NAME_LISTS, partial(self._catalogue.read_delta_names, delta=row.number)),
            row.counts,
            row.rescore_all,
            row.runs_method,
            row.inbox_upto,
            row.prefixes,
        )

    def _remove_leftovers(self) -> None:
        # A writer that was killed before its transaction left files of the next number.
        remove_folder(self._layout.delta_folder(self._catalogue.next_delta_number()))
        remove_folder(self._layout.version_folder(self.next_version()))
        # One that was killed after its transaction left files that it would have removed.
        self.remove_superseded()

    def _check_writable(self) -> None:
        if not self._write:
            raise StateError(f"{self._layout.root} is open for reading only")


def _check_unused(layout: StateLayout) -> None:
    if layout.database.exists():
        raise StateError(f"{layout.root} is already an EverAlign state directory")
    if other_files := layout.find_other_files():
        raise StateError(f"{layout.root} is not empty: it contains {other_files[0].name}")
