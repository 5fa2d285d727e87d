"""Verification: everything that a state directory holds is compared with what it should be.

Files and rows are compared with their checksums, the digest of each version with its rows
and the digest before it, ids with the numbers of names, the intervals of links with a replay of
all events. Nothing is changed here; `repair` mends what can be derived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from everalign._progress import Progress, no_progress
from everalign.errors import StateDamagedError, StateError, StateLockedError
from everalign.state.array_format import Array
from everalign.state.catalogue import Catalogue, DeltaRow
from everalign.state.checksums import check_rows
from everalign.state.database import SCHEMA, Database, build_tables, open_database
from everalign.state.decisions import DecisionKind
from everalign.state.deltas import IRI_NAME_ARRAYS, NAME_LISTS, MethodState, NameList
from everalign.state.digests import compute_names_digest
from everalign.state.files import StateLayout, check_file, read_arrays
from everalign.state.inbox import INBOX_SCHEMA, DecisionInbox, open_inbox
from everalign.state.interval_replay import IntervalReplay, group_by_version
from everalign.state.intervals import FOREVER, LinkInterval
from everalign.state.ledger import LedgerEvent
from everalign.state.link_table import PAGE_SIZE
from everalign.state.names import check_hashes
from everalign.state.snapshots import (
    FACT_KINDS,
    REVERT_ARRAY,
    SIDES,
    get_added_array_name,
    get_removed_array_name,
)

# Messages of SQLite's own check that are listed; thousands of them say no more than the first.
MAX_MESSAGES = 20


class Remedy(Enum):
    """How damage can be repaired: what is derived is derived again."""

    REINDEX = "indexes are built again"
    REBUILD_LINKS = "intervals of links are derived from the events"
    DROP_METHOD = "the method's files are removed; the next update trains it again"
    REMOVE_FILE = "the file is removed"


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be.

    Attributes:
        place: The file or table.
        problem: What is wrong with it.
        remedy: How it can be repaired; None if it cannot.
        version: The version whose files it concerns, if there is one.
    """

    place: str
    problem: str
    remedy: Remedy | None = None
    version: int | None = None

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


def verify_state(directory: str | Path, progress: Progress = no_progress) -> list[Finding]:
    """Verify a state directory. It may be in use.

    Args:
        directory: The state directory.
        progress: Called at each step.

    Returns:
        What is wrong; nothing if all is well.

    Raises:
        StateError: It is not a state directory, or is being created.
    """
    layout = StateLayout(Path(directory))
    layout.check_links()
    if not layout.database.is_file():
        raise StateError(f"{layout.root} is not an EverAlign state directory")
    with ExitStack() as resources:
        try:
            database = resources.enter_context(open_database(layout, write=False))
            inbox = resources.enter_context(open_inbox(layout))
            verifier = _Verifier(layout, database, inbox)
            return list(verifier.find_all(progress))
        except StateLockedError:
            raise
        except StateError as error:
            # What cannot even be opened is the only thing to say.
            return [Finding(layout.root.name, str(error))]


class _Verifier:
    """Looks at each part of a state directory."""

    def __init__(self, layout: StateLayout, database: Database, inbox: DecisionInbox) -> None:
        self._layout = layout
        self._database = database
        self._inbox = inbox
        self._catalogue = Catalogue(database, write=False)

    def find_all(self, progress: Progress) -> Iterator[Finding]:
        """Look at everything, one part after the other."""
        steps: dict[str, Callable[[], Iterator[Finding]]] = {
            "checking databases": self._check_databases,
            "checking settings": self._check_settings,
            "checking names": self._check_names,
            "checking deltas": self._check_deltas,
            "checking events": self._check_events,
            "checking decisions": self._check_decisions,
            "checking versions": self._check_versions,
            "checking files": self._check_files,
        }
        for number, (title, check) in enumerate(steps.items()):
            progress(title, number, len(steps))
            found: list[Finding] = []
            try:
                # Kept if the check ends early: what it has found so far is still true.
                found.extend(check())
            except StateDamagedError as error:
                found.append(Finding("everalign.sqlite", str(error)))
            yield from found
        progress("checking files", len(steps), len(steps))

    def _check_databases(self) -> Iterator[Finding]:
        for database, schema in (
            (self._database, SCHEMA),
            (self._inbox.database, INBOX_SCHEMA),
        ):
            name = database.path.name
            if database.list_schema() != build_tables(schema):
                yield Finding(name, "its tables or triggers are not those that were created")
            messages = database.fetch_column(f"PRAGMA integrity_check({MAX_MESSAGES})")
            for message in messages:
                if message != "ok":
                    is_index = "index" in message and "btree" not in message.lower()
                    yield Finding(name, message, Remedy.REINDEX if is_index else None)
            for row in database.fetch_rows("PRAGMA foreign_key_check")[:MAX_MESSAGES]:
                yield Finding(name, f"a row of table {row[0]} refers to a missing row of {row[2]}")

    def _check_settings(self) -> Iterator[Finding]:
        self._catalogue.read_settings()
        yield from ()

    def _check_names(self) -> Iterator[Finding]:
        for name_list in NAME_LISTS:
            names = self._catalogue.open_names(name_list)
            problem = check_hashes(self._database, name_list, len(names))
            if problem:
                yield Finding("everalign.sqlite", f"{' '.join(name_list)} names: {problem}")

    def _check_deltas(self) -> Iterator[Finding]:
        pending = self._catalogue.read_pending_delta()
        rows = [*self._catalogue.read_applied_deltas(), *([pending] if pending else [])]
        for row in rows:
            names = {
                name_list: self._catalogue.read_delta_names(name_list, row.number)
                for name_list in NAME_LISTS
            }
            if compute_names_digest(names) != row.names_digest:
                yield Finding("everalign.sqlite", f"names of delta {row.number} have changed")
            yield from self._check_delta_files(row)

    def _check_delta_files(self, row: DeltaRow) -> Iterator[Finding]:
        folder = self._layout.delta_folder(row.number)
        for name in row.files:
            try:
                # All of it: what is between the arrays is never read otherwise.
                check_file(folder / name, row.files[name])
                arrays = read_arrays(folder, {name: row.files[name]})
                for title in arrays:
                    problem = self._check_ids(title, arrays[title], row.number)
                    if problem:
                        yield Finding(self._name(folder / name), problem)
            except StateDamagedError as error:
                yield Finding(self._name(folder / name), _shorten(error, folder / name))

    def _check_ids(self, name: str, rows: Array, delta: int) -> str | None:
        if name == REVERT_ARRAY:
            fits = rows.shape == (1, 1) and 0 <= rows[0, 0] <= self._catalogue.last_version
            return None if fits else "it reverts to a version that does not exist"
        lists = _list_columns(name)
        if not lists:
            return None
        if rows.ndim != 2 or rows.shape[1] != len(lists) or rows.dtype.kind not in "iu":
            return f"an array of shape {rows.shape} and type {rows.dtype} is not one of ids"
        for column, name_list in enumerate(lists):
            count = self._catalogue.count_names_with(name_list, delta)
            ids = rows[:, column]
            if len(ids) and (ids.min() < 0 or ids.max() >= count):
                return f"an id of {' '.join(name_list)} is beyond the {count} names"
        return None

    def _iterate_events(self) -> Iterator[LedgerEvent]:
        after, first, last = 0, 0, self._catalogue.last_version
        while page := self._catalogue.read_events(first, last, after=after, limit=PAGE_SIZE):
            yield from (event for _, event in page)
            after, first = page[-1][0], page[-1][1].version

    def _check_events(self) -> Iterator[Finding]:
        counts = self._count_entities()
        versions = {version.number: version.counts for version in self._catalogue.read_versions()}
        replay, last_counts = IntervalReplay(self._catalogue.cardinality), (0, 0, 0)
        events = dict(group_by_version(self._iterate_events()))
        for number, stored_counts in versions.items():
            of_version = events.get(number, [])
            for event in of_version:
                if not all(0 <= event.pair[side] < counts[side] for side in range(2)):
                    yield Finding("event", f"{event.pair} of version {number} is no pair of ids")
            replay.add_version(number, of_version)
            last_counts = replay.counts
            if stored_counts != last_counts:
                yield Finding("version", f"version {number} has other numbers of links")
        yield from self._compare_intervals(replay)

    def _compare_intervals(self, replay: IntervalReplay) -> Iterator[Finding]:
        wanted = set(replay.list_intervals())
        sql = """
            SELECT left_id, since, right_id, until, score, born, status, checksum FROM link
            WHERE since <= ?
        """
        last = self._catalogue.last_version
        try:
            rows = check_rows(self._database.iterate_rows(sql, last), "link")
            # What a writer has closed since this reader began was open then.
            found = {_reopen(LinkInterval(*row), last) for row in rows}
        except StateDamagedError as error:
            yield Finding("link", str(error), Remedy.REBUILD_LINKS)
            return
        if found != wanted:
            problem = f"{len(found ^ wanted)} intervals are not those of the events"
            yield Finding("link", problem, Remedy.REBUILD_LINKS)

    def _check_decisions(self) -> Iterator[Finding]:
        counts = self._count_entities()
        for pair in self._catalogue.decisions.iterate_pairs():
            if not all(-1 <= pair[side] < counts[side] for side in range(2)):
                yield Finding("decision", f"{pair} is no pair of ids")
        for side, entity in self._catalogue.decisions.iterate_removed():
            if not 0 <= entity < counts[SIDES.index(side)]:
                yield Finding("removed_entity", f"{entity} is no {side} entity")
        for decision in self._inbox.read_range(0):
            if not all(-1 <= decision.pair[side] < counts[side] for side in range(2)):
                yield Finding("inbox.sqlite", f"decision {decision.number} has unknown ids")

    def _check_versions(self) -> Iterator[Finding]:
        versions = self._catalogue.read_versions()
        if [version.number for version in versions] != list(range(len(versions))):
            yield Finding("version", "versions are missing")
            return
        for version in versions:
            try:
                digest = self._catalogue.compute_digest_of(version.number, self._inbox)
                problem = None if digest == version.digest else "its rows have another digest"
            except StateDamagedError as error:
                problem = str(error)
            if problem:
                yield Finding(f"version {version.number}", problem)
            if not _is_possible(version.method_state, version.number):
                yield Finding(f"version {version.number}", "its method state is impossible")

    def _check_files(self) -> Iterator[Finding]:
        dropped = set(self._catalogue.list_dropped())
        named = {self._layout.database, self._layout.lock, *self._layout.inbox_files}
        named |= {Path(f"{self._layout.database}-journal"), *self._layout.folders}
        for number, files in self._catalogue.iterate_files():
            folder = self._layout.version_folder(number)
            if number in dropped or not files:
                continue
            named |= {folder, *(folder / name for name in files)}
            for name, checksum in files.items():
                yield from self._check_version_file(number, folder / name, checksum)
        # Also those of the next numbers, where a writer may be at work.
        deltas = [*self._catalogue.read_applied_deltas(), self._catalogue.read_pending_delta()]
        for row in deltas:
            if row is not None:
                folder = self._layout.delta_folder(row.number)
                named |= {folder, *(folder / name for name in row.files)}
        yield from self._find_unnamed(named)

    def _check_version_file(self, number: int, path: Path, checksum: str) -> Iterator[Finding]:
        try:
            check_file(path, checksum)
        except StateDamagedError as error:
            # Superseded and removed while this ran.
            if not self._catalogue.find_dropped([number]):
                problem = _shorten(error, path)
                yield Finding(self._name(path), problem, Remedy.DROP_METHOD, number)

    def _find_unnamed(self, named: set[Path]) -> Iterator[Finding]:
        coming = {
            self._layout.delta_folder(self._catalogue.next_delta_number()),
            self._layout.version_folder(self._catalogue.last_version + 1),
        }
        for path in sorted(self._layout.root.rglob("*")):
            if path in named or path in coming or path.parent in coming:
                continue
            if path.is_relative_to(self._layout.cache):
                continue  # nothing depends on it
            if path.parent not in named and path.parent != self._layout.root:
                continue  # its folder is named in its place
            yield Finding(self._name(path), "no row names it", Remedy.REMOVE_FILE)

    def _count_entities(self) -> tuple[int, int]:
        left, right = (len(self._catalogue.open_names((side, "entity"))) for side in SIDES)
        return left, right

    def _name(self, path: Path) -> str:
        return path.relative_to(self._layout.root).as_posix()


def _reopen(interval: LinkInterval, last: int) -> LinkInterval:
    return interval._replace(until=FOREVER) if interval.until > last else interval


def _shorten(error: StateDamagedError, path: Path) -> str:
    return str(error).removeprefix(f"{path} ")


def _is_possible(state: MethodState, version: int) -> bool:
    numbers = state.list_versions()
    return numbers == sorted(set(numbers)) and all(0 <= number <= version for number in numbers)


def _list_columns(array_name: str) -> list[NameList]:
    """What the columns of an array of a delta are ids of; empty if that is not known."""
    for side, iri_names in zip(SIDES, IRI_NAME_ARRAYS, strict=True):
        triples, literals = (
            {naming(side, kind) for naming in (get_added_array_name, get_removed_array_name)}
            for kind in FACT_KINDS
        )
        if array_name in triples:
            return [(side, "entity"), (side, "relation"), (side, "entity")]
        if array_name in literals or array_name == iri_names:
            return [(side, "entity"), (side, "attribute"), (side, "literal")]
    if array_name in {kind.value for kind in DecisionKind}:
        return [("left", "entity"), ("right", "entity")]
    return []
