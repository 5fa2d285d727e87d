"""The state directory, opened for reading or for writing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from everalign.errors import StateError
from everalign.ledger import Event, Link, View, fold
from everalign.store import database, lock, proposals, views
from everalign.store.arrays import (
    Array,
    discard_folder,
    read_array,
    sync_folder,
    write_folder,
)
from everalign.store.catalogue import Catalogue, DeltaRow
from everalign.store.layout import Layout
from everalign.store.records import Delta, Json, Lazy, Roll, Side, Sort, Version

_SIDES: tuple[Side, ...] = ("left", "right")
_SORTS: tuple[Sort, ...] = ("entity", "relation", "attribute", "literal")
_ROLLS: tuple[Roll, ...] = tuple((side, sort) for side in _SIDES for sort in _SORTS)


class Store:
    """Everything that is known about one alignment. It grows, and nothing in it is lost.

    An update has two steps: `journal` writes down what came in, `commit` what became of it.
    Each takes effect whole or not at all, also if the process is killed in the midst of it.

    A store opened for reading shows the version that was the last one when it was opened.
    """

    def __init__(
        self, layout: Layout, catalogue: Catalogue, closing: ExitStack, *, write: bool
    ) -> None:
        self._layout = layout
        self._catalogue = catalogue
        self._closing = closing
        self._write = write

    @classmethod
    def create(cls, directory: str | Path, settings: Mapping[str, str]) -> Self:
        """Make a state directory and open it for writing."""
        layout = Layout(Path(directory))
        _check_free(layout)
        layout.root.mkdir(parents=True, exist_ok=True)
        with ExitStack() as closing:
            closing.enter_context(lock.hold(layout.lock))
            _check_free(layout)  # again: another process may have been faster
            for folder in layout.folders:
                folder.mkdir(exist_ok=True)
            sync_folder(layout.root.parent)
            database.create(layout, settings)
            return cls._opened(layout, closing, write=True)

    @staticmethod
    def exists(directory: str | Path) -> bool:
        """Whether a directory is a state directory."""
        return Layout(Path(directory)).catalogue.is_file()

    @classmethod
    def open(cls, directory: str | Path, *, write: bool) -> Self:
        """Open a state directory: one process at a time for writing, any number for reading."""
        layout = Layout(Path(directory))
        if not layout.catalogue.is_file():
            raise StateError(f"{layout.root} is not an EverAlign state directory")
        with ExitStack() as closing:
            if write:
                closing.enter_context(lock.hold(layout.lock))
            return cls._opened(layout, closing, write=write)

    @classmethod
    def _opened(cls, layout: Layout, closing: ExitStack, *, write: bool) -> Self:
        opened = closing.enter_context(database.opened(layout, write=write))
        catalogue = Catalogue(opened, write=write)
        store = cls(layout, catalogue, closing, write=write)
        if write:
            store._discard_leftovers()
        store._closing = closing.pop_all()
        return store

    def close(self) -> None:
        """Let go of the directory."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def settings(self) -> dict[str, str]:
        """What was set when the state was made."""
        return self._catalogue.settings()

    def names(self, side: Side, sort: Sort) -> list[str]:
        """All names of one side and sort; the position of a name is its id."""
        return self._catalogue.names((side, sort))

    def count_names(self, side: Side, sort: Sort, version: int) -> int:
        """How many names of one side and sort were known at a version."""
        return self._catalogue.count_names((side, sort), version)

    def journal(self, delta: Delta) -> None:
        """Write down a delta. From here on it is not lost, whatever happens to its update."""
        self._check_writable()
        if self._catalogue.pending() is not None:
            raise StateError(f"{self._layout.root} has another delta that is not yet applied")
        if (version := self.applied(delta.digest)) is not None:
            raise StateError(f"{delta.source} was applied before, by version {version}")
        self._discard_leftovers()
        number = self._catalogue.next_delta()
        files = write_folder(self._layout.delta(number), delta.arrays)
        self._catalogue.add_delta(number, delta, files)

    def pending(self) -> Delta | None:
        """The delta that is written down but not yet applied."""
        row = self._catalogue.pending()
        return None if row is None else self._delta(row)

    def applied(self, digest: str) -> int | None:
        """The version that applied the delta with this content, if there is one."""
        return self._catalogue.applied(digest)

    def deltas(self) -> Iterator[Delta]:
        """The applied deltas, in the order they were applied."""
        return map(self._delta, self._catalogue.deltas())

    def last_version(self) -> int | None:
        """The number of the last version; None before the first."""
        last = self._catalogue.horizon
        return None if last < 0 else last

    def next_version(self) -> int:
        """The number that the next version will have; the first has 0."""
        return self._catalogue.horizon + 1

    def versions(self) -> list[Version]:
        """All versions, oldest first."""
        return self._catalogue.versions()

    def commit(
        self,
        arrays: Mapping[str, Array],
        events: Iterable[Event],
        info: Mapping[str, Json],
        proposed: Sequence[Link] | None = None,
    ) -> int:
        """Add the next version: it applies the pending delta, if there is one.

        A version that brings neither arrays nor proposals keeps those of the one before it.
        """
        self._check_writable()
        number, events = self.next_version(), list(events)
        if any(event.version != number for event in events):
            raise ValueError(f"an event of version {number} bears another number")
        self._discard_leftovers()
        kept = proposals.joined(arrays, proposed)
        files = write_folder(self._layout.version(number), kept) if kept else {}
        self._catalogue.add_version(files, self._keep_view(events), events, info)
        return number

    def arrays(self, version: int) -> dict[str, Array]:
        """What the method remembered at this version."""
        folder, files = self._version_files(version)
        return dict(_stored_arrays(folder, proposals.without(files)))

    def proposals(self, version: int) -> list[Link]:
        """The pairs that this version proposed; none if it is older than proposals are."""
        folder, files = self._version_files(version)
        rows = _stored_arrays(folder, files).get(proposals.NAME)
        return [] if rows is None else proposals.from_array(rows)

    def events(
        self, left: int | None = None, right: int | None = None, since: int = 0
    ) -> list[Event]:
        """What happened, oldest first: to any link or to those of an entity, from a version on."""
        return self._catalogue.events(since, self._catalogue.horizon, left, right)

    def links(self, version: int | None = None) -> View:
        """The links in force now, or at an earlier version."""
        last = self._catalogue.horizon if version is None else version
        if version is not None:
            self._check_known(version)
        kept = self._catalogue.view_files(last)
        if kept is None:
            return fold(self._catalogue.events(0, last))
        number, files = kept
        start = views.from_arrays(_stored_arrays(self._layout.view(number), files))
        return fold(self._catalogue.events(number + 1, last), start)

    def _version_files(self, version: int) -> tuple[Path, dict[str, str]]:
        self._check_known(version)
        number, files = self._catalogue.version_files(version) or (version, {})
        return self._layout.version(number), files

    def _keep_view(self, events: list[Event]) -> dict[str, str] | None:
        # A person's word changes a link or two: not worth a copy of all the others.
        pending = self._catalogue.pending()
        if pending is None or not pending.asks_method:
            return None
        view = fold(events, self.links())
        return write_folder(self._layout.view(self.next_version()), views.to_arrays(view))

    def _delta(self, row: DeltaRow) -> Delta:
        return Delta(
            row.digest,
            row.source,
            _stored_arrays(self._layout.delta(row.number), row.files),
            Lazy(_ROLLS, partial(self._catalogue.names_of_delta, delta=row.number)),
            row.counts,
            row.full,
            row.asks_method,
        )

    def _discard_leftovers(self) -> None:
        # Whoever was killed before its transaction left files of the next number, no others.
        discard_folder(self._layout.delta(self._catalogue.next_delta()))
        discard_folder(self._layout.version(self.next_version()))
        discard_folder(self._layout.view(self.next_version()))

    def _check_writable(self) -> None:
        if not self._write:
            raise StateError(f"{self._layout.root} is open for reading only")

    def _check_known(self, version: int) -> None:
        if not 0 <= version <= self._catalogue.horizon:
            raise StateError(f"{self._layout.root} has no version {version}")


def _check_free(layout: Layout) -> None:
    if layout.catalogue.exists():
        raise StateError(f"{layout.root} is an EverAlign state directory already")
    if foreign := layout.foreign():
        raise StateError(f"{layout.root} holds other files, such as {foreign[0].name}")


def _stored_arrays(folder: Path, files: Mapping[str, str]) -> Mapping[str, Array]:
    return Lazy(files, lambda name: read_array(folder, name, files[name]))
