"""The state directory, opened for reading or for writing."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Self

from everalign._platform import sync_directory
from everalign.errors import StateDamagedError, StateError
from everalign.state.catalogue import Catalogue, DeltaRow
from everalign.state.database import create_database, open_database
from everalign.state.decision_table import DecisionChanges, EntityOfSide
from everalign.state.decisions import DecisionKind
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
    Array,
    LazyMapping,
    StateLayout,
    hold_lock,
    map_arrays,
    read_arrays,
    remove_folder,
    write_arrays,
    write_bundle,
)
from everalign.state.folding import DecisionPlan, DecisionPlanner
from everalign.state.inbox import DecisionInbox, create_inbox, open_inbox
from everalign.state.intervals import LinkInterval, PairStatus, build_link_set
from everalign.state.ledger import LedgerEvent
from everalign.state.link_table import PAGE_SIZE, LinkTable
from everalign.state.links import (
    LinkSet,
    Pair,
    ScoredPair,
)
from everalign.state.method_output import MethodOutput, read_proposals
from everalign.state.names import StoredNames

logger = logging.getLogger(__name__)

# So many changes of a method are merged to one.
MERGED_CHANGES = 8


class StateStore:
    """All that is known about one alignment: settings, names, deltas, versions and link events.

    An update has two steps: `journal_delta` stores what came in, `commit_version` what became of
    it. Each takes effect whole or not at all, also if the process is killed in the middle of it.
    Nothing that was committed is ever changed or removed.

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
        self._layout = layout
        self._catalogue = catalogue
        self._resources = resources
        self._write = write
        self._latest_links: tuple[int, LinkSet] | None = None

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
        layout.root.mkdir(parents=True, exist_ok=True)
        with ExitStack() as resources:
            resources.enter_context(hold_lock(layout.lock))
            _check_unused(layout)  # again: another process may have been faster
            for folder in layout.folders:
                folder.mkdir(exist_ok=True)
            # The name of the directory itself is listed in its parent.
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
        files, method_state = self._write_method(method, number)
        self._catalogue.insert_version(
            self.inbox, files, method_state, events, info, decisions or DecisionChanges()
        )
        logger.info("version %d committed, %d link events", number, len(events))
        return number

    def _write_method(
        self, method: MethodOutput, number: int
    ) -> tuple[dict[str, str], MethodState]:
        folder = self._layout.version_folder(number)
        if method.arrays is not None:
            return write_arrays(folder, method.arrays), MethodState(number, number)
        before = self.find_method_state(method.same_as)
        if method.changes is None:
            return {}, before
        changes, merged = dict(method.changes), list(before.changes)
        level = 0
        # Eight of one level become one of the next: what has to be read grows with the logarithm
        # of the number of updates.
        while len(merged) >= MERGED_CHANGES - 1 and all(
            entry[1] == level for entry in merged[1 - MERGED_CHANGES :]
        ):
            parts = [self._read_changes(entry[0]) for entry in merged[1 - MERGED_CHANGES :]]
            changes = dict(method.merge([*parts, changes]))
            merged, level = merged[: 1 - MERGED_CHANGES], level + 1
        return write_bundle(folder, changes), MethodState(
            number, before.base, (*merged, (number, level))
        )

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
            The versions; none before the first version.
        """
        number = self._catalogue.last_version if version is None else version
        found = self._catalogue.read_version(number)
        return MethodState() if found is None else found.method_state

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
            StateError: The method has stored nothing yet.
            StateDamagedError: A file is missing or has changed.
        """
        state = self.find_method_state(version)
        if state.base is None:
            raise StateError(f"{self._layout.root} has nothing that a method has stored")
        files = self._catalogue.read_files(state.base)
        arrays = map_arrays(self._layout.version_folder(state.base), files)
        return arrays, [self._read_changes(number) for number, _ in state.changes]

    def _read_changes(self, version: int) -> Mapping[str, Array]:
        folder = self._layout.version_folder(version)
        return read_arrays(folder, self._catalogue.read_files(version))

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
        if self.find_method_state(version).base is None:
            return []
        arrays, changes = self.load_method(version)
        return read_proposals(arrays, changes)

    def read_events(
        self, left: int | None = None, right: int | None = None, since: int = 0
    ) -> list[LedgerEvent]:
        """Read link events, oldest first.

        Args:
            left: A left entity; None stands for any.
            right: A right entity; None stands for any.
            since: The first version.

        Returns:
            The events.
        """
        rows = self._catalogue.read_events(since, self._catalogue.last_version, left, right)
        return [event for _, event in rows]

    def iterate_events(self, first: int, last: int) -> Iterator[LedgerEvent]:
        """Iterate over the link events of a range of versions, oldest first.

        Args:
            first: The first version.
            last: The last version.

        Yields:
            The events; one page of them is in memory.
        """
        after = 0
        while page := self._catalogue.read_events(first, last, after=after, limit=PAGE_SIZE):
            yield from (event for _, event in page)
            after, first = page[-1][0], page[-1][1].version

    def count_links(self, version: int | None = None) -> tuple[int, int, int]:
        """Count links without reading them.

        Args:
            version: The version; the last one by default.

        Returns:
            The numbers of given links, found links and rejected pairs.

        Raises:
            StateError: There is no such version.
        """
        number = self._resolve_version(version)
        row = self._catalogue.read_version(number)
        return (0, 0, 0) if row is None else row.counts

    def read_links(self, version: int | None = None) -> LinkSet:
        """Read all links in force and all rejected pairs.

        Args:
            version: The version; the last one by default.

        Returns:
            The links in force at that version.

        Raises:
            StateError: There is no such version.
            StateDamagedError: A row has changed or is missing.
        """
        number = self._resolve_version(version)
        if self._latest_links is not None and self._latest_links[0] == number:
            return self._latest_links[1]
        links = build_link_set(self._catalogue.links.iterate(number))
        count = len(links.links) + len(links.rejected_pairs)
        if count != sum(self.count_links(version)):
            raise StateDamagedError(f"{self._layout.database} lacks links of version {number}")
        # One command asks for the latest links several times: they are read once.
        if number == self._catalogue.last_version:
            self._latest_links = number, links
        return links

    def read_links_of(
        self, lefts: Collection[int], rights: Collection[int], version: int | None = None
    ) -> LinkSet:
        """Read the links in force and the rejected pairs of some entities.

        Args:
            lefts: Left entities.
            rights: Right entities.
            version: The version; the last one by default.

        Returns:
            The links that have one of these entities.

        Raises:
            StateError: There is no such version.
        """
        number = self._resolve_version(version)
        return build_link_set(self._catalogue.links.read_of_entities(lefts, rights, number))

    def read_link_page(
        self,
        version: int | None = None,
        after: LinkInterval | None = None,
        limit: int = PAGE_SIZE,
        status: PairStatus | None = None,
    ) -> list[LinkInterval]:
        """Read a page of the links in force and the rejected pairs, in the order of left ids.

        Args:
            version: The version; the last one by default.
            after: The last row of the page before; None for the first page.
            limit: The most rows to read.
            status: Only pairs with this status; any if None.

        Returns:
            At most `limit` rows; fewer at the end.

        Raises:
            StateError: There is no such version.
        """
        number = self._resolve_version(version)
        return self._catalogue.links.read_page(number, after, limit, status)

    def iterate_links(
        self, status: PairStatus, version: int | None = None
    ) -> Iterator[LinkInterval]:
        """Iterate over the pairs with a status, best first.

        Args:
            status: Given, found or rejected.
            version: The version; the last one by default.

        Returns:
            The pairs by descending score, then by left id. At the last version, one page of them
            is in memory.

        Raises:
            StateError: There is no such version.
        """
        number = self._resolve_version(version)
        if number == self._catalogue.last_version and status is not PairStatus.REJECTED:
            return self._catalogue.links.iterate_best(number, status)
        if status is PairStatus.REJECTED:
            # A left entity may have several: they have no order but that of their ids.
            return self._catalogue.links.iterate(number, status)
        # The index has the links of now; those of then are sorted here.
        rows = self._catalogue.links.iterate(number, status)
        return iter(sorted(rows, key=lambda row: (-row.score, row.left)))

    @property
    def links(self) -> LinkTable:
        """The links by version, for range reads."""
        return self._catalogue.links

    def newest_version(self) -> int | None:
        """Find the last version, also if it came after the store was opened for reading.

        Returns:
            The number, or None before the first version.
        """
        newest = self._catalogue.read_newest_version()
        return None if newest < 0 else newest

    def read_link_changes(
        self, start: int, end: int
    ) -> tuple[list[LinkInterval], list[LinkInterval]]:
        """Read what differs between two versions.

        Args:
            start: A version.
            end: The same or a later version.

        Returns:
            What was in force at `start` and ended since, and what is in force at `end` and began
            since. A pair may be in both, even with the same score.

        Raises:
            StateError: There is no such version.
        """
        self._check_exists(start)
        self._check_exists(end)
        return self._catalogue.links.read_changed(start, end)

    def read_decisions(self, version: int | None = None) -> dict[Pair, DecisionKind]:
        """Read all decisions in force.

        Args:
            version: The version; the last one by default.

        Returns:
            The kind of each decision, oldest first.

        Raises:
            StateError: There is no such version.
        """
        number = self._resolve_version(version)
        return {row.pair: row.kind for row in self._catalogue.decisions.read_all(number)}

    def read_decisions_of(
        self, lefts: Collection[int], rights: Collection[int], version: int | None = None
    ) -> dict[Pair, DecisionKind]:
        """Read the decisions in force about some entities.

        Args:
            lefts: Left entities.
            rights: Right entities.
            version: The version; the last one by default.

        Returns:
            The kind of each decision, oldest first.

        Raises:
            StateError: There is no such version.
        """
        number = self._resolve_version(version)
        rows = self._catalogue.decisions.read_of_entities(lefts, rights, number)
        return {row.pair: row.kind for row in rows}

    def list_decided_pairs(self, start: int, end: int) -> set[Pair]:
        """List the pairs about which decisions began or ended between two versions.

        Args:
            start: A version.
            end: A later version.

        Returns:
            Pairs of ids.
        """
        return self._catalogue.decisions.list_changed_pairs(start, end)

    def was_decided(self, pair: Pair) -> bool:
        """Tell whether there ever was a decision about a pair, also one that is waiting.

        Args:
            pair: Two ids.

        Returns:
            Whether there was, also if it was withdrawn.
        """
        return self._catalogue.decisions.was_decided(pair) or any(
            row.pair == pair and row.kind is not DecisionKind.UNSURE
            for row in self.inbox.read_of_entity(*pair)
        )

    def read_removed_entities(self) -> set[EntityOfSide]:
        """Read the entities that have no facts at the last version.

        Returns:
            Side and id of each.
        """
        return self._catalogue.decisions.read_removed(self._catalogue.last_version)

    def plan_decisions(self) -> DecisionPlanner:
        """Prepare to plan the decisions of the next version.

        Returns:
            A planner that reads what it needs from this store.
        """
        return DecisionPlanner(
            self._catalogue.links, self._catalogue.decisions, self.next_version()
        )

    @cached_property
    def inbox(self) -> DecisionInbox:
        """The decision inbox; it can be written to also if the store is open for reading."""
        return self._resources.enter_context(open_inbox(self._layout))

    def inbox_upto(self) -> int:
        """Return the number of the last decision that the last version has taken up.

        Returns:
            The number; those after it are waiting.
        """
        row = self._catalogue.read_version(self._catalogue.last_version)
        return 0 if row is None else row.inbox_upto

    def find_folding_version(self, decision: int) -> int | None:
        """Find the version that has taken up a decision of the inbox.

        Args:
            decision: The number of the decision.

        Returns:
            The version, or None if the decision is waiting.
        """
        return self._catalogue.find_folding_version(decision)

    def compute_digest_of(self, version: int) -> str:
        """Compute the digest of a version again, from its rows.

        Args:
            version: The version.

        Returns:
            The digest, which equals that of `list_versions` if nothing has changed.

        Raises:
            StateError: There is no such version.
            StateDamagedError: A row is not as it was written.
        """
        self._check_exists(version)
        return self._catalogue.compute_digest_of(version, self.inbox)

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
        )

    def _remove_leftovers(self) -> None:
        # A writer that was killed before its transaction left files of the next number, and no
        # others.
        remove_folder(self._layout.delta_folder(self._catalogue.next_delta_number()))
        remove_folder(self._layout.version_folder(self.next_version()))

    def _check_writable(self) -> None:
        if not self._write:
            raise StateError(f"{self._layout.root} is open for reading only")

    def _resolve_version(self, version: int | None) -> int:
        if version is not None:
            self._check_exists(version)
        return self._catalogue.last_version if version is None else version

    def _check_exists(self, version: int) -> None:
        if not 0 <= version <= self._catalogue.last_version:
            raise StateError(f"{self._layout.root} has no version {version}")


def _check_unused(layout: StateLayout) -> None:
    if layout.database.exists():
        raise StateError(f"{layout.root} is already an EverAlign state directory")
    if other_files := layout.find_other_files():
        raise StateError(f"{layout.root} is not empty: it contains {other_files[0].name}")
