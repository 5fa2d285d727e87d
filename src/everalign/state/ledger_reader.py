"""What a state directory knows about links and decisions, read by ranges of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack
from functools import cached_property

from everalign.errors import StateDamagedError, StateError
from everalign.state.catalogue import Catalogue
from everalign.state.decision_table import EntityOfSide, StoredDecision
from everalign.state.decisions import DecisionKind
from everalign.state.files import StateLayout
from everalign.state.folding import DecisionPlanner
from everalign.state.inbox import DecisionInbox, open_inbox
from everalign.state.intervals import LinkInterval, PairStatus, build_link_set
from everalign.state.ledger import LedgerEvent
from everalign.state.link_table import PAGE_SIZE, LinkColumns, LinkTable
from everalign.state.links import LinkSet, Pair


class LedgerReader:
    """The part of a store that reads links, events and decisions.

    Args:
        layout: The paths of the state directory.
        catalogue: The queries of its database.
        resources: What is to be closed with the store.
    """

    def __init__(self, layout: StateLayout, catalogue: Catalogue, resources: ExitStack) -> None:
        self._layout = layout
        self._catalogue = catalogue
        self._resources = resources
        self._latest_links: tuple[int, LinkSet] | None = None
        self._link_columns: dict[PairStatus, tuple[int, LinkColumns]] = {}

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

        Raises:
            StateDamagedError: An event is missing or has changed.
        """
        after, start = 0, first
        while page := self._catalogue.read_events(start, last, after=after, limit=PAGE_SIZE):
            # Numbers have no gaps: a damaged index must not hide an event.
            numbers = [number for number, _ in page]
            before = after or self._catalogue.find_last_event(first - 1)
            if numbers != list(range(before + 1, before + 1 + len(page))):
                raise StateDamagedError(f"{self._layout.database} is damaged: events are missing")
            yield from (event for _, event in page)
            after, start = numbers[-1], page[-1][1].version
        if (after or self._catalogue.find_last_event(first - 1)) != (
            self._catalogue.find_last_event(last)
        ):
            raise StateDamagedError(f"{self._layout.database} is damaged: events are missing")

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
        rows = self._catalogue.links.iterate(number)
        links = build_link_set(rows, self._catalogue.cardinality)
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
        rows = self._catalogue.links.read_of_entities(lefts, rights, number)
        return build_link_set(rows, self._catalogue.cardinality)

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

    def read_link_columns(self, status: PairStatus) -> LinkColumns:
        """Read all links of the last version with a status; they are kept for the next time.

        Args:
            status: Given or found.

        Returns:
            The links, best first.
        """
        version = self._catalogue.last_version
        if status not in self._link_columns or self._link_columns[status][0] != version:
            columns = self._catalogue.links.read_columns(version, status)
            self._link_columns[status] = version, columns
        return self._link_columns[status][1]

    def iterate_links(
        self, status: PairStatus, version: int | None = None
    ) -> Iterator[LinkInterval]:
        """Iterate over the pairs with a status, best first.

        Args:
            status: Given, found or rejected.
            version: The version; the last one by default.

        Returns:
            The pairs by descending score, then by left and right id. At the last version, one
            page of them is in memory.

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
        return iter(sorted(rows, key=lambda row: (-row.score, *row.pair)))

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

    def read_stored_decisions(self, version: int | None = None) -> list[StoredDecision]:
        """Read all decisions in force, with the numbers that they have in the inbox.

        Args:
            version: The version; the last one by default.

        Returns:
            The decisions, oldest first.

        Raises:
            StateError: There is no such version.
        """
        return self._catalogue.decisions.read_all(self._resolve_version(version))

    def read_decision_starts(self) -> dict[Pair, int]:
        """Read since when each decision of the last version is in force.

        Returns:
            The first version of each decision, oldest first.
        """
        rows = self._catalogue.decisions.read_all(self._catalogue.last_version)
        return {row.pair: row.since for row in rows}

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
            self._catalogue.links,
            self._catalogue.decisions,
            self._catalogue.last_version + 1,
            self._catalogue.cardinality,
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

    def _resolve_version(self, version: int | None) -> int:
        if version is not None:
            self._check_exists(version)
        return self._catalogue.last_version if version is None else version

    def _check_exists(self, version: int) -> None:
        if not 0 <= version <= self._catalogue.last_version:
            raise StateError(f"{self._layout.root} has no version {version}")
