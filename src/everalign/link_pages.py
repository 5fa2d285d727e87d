"""Pages of links: range reads of one version, with the waiting decisions on top (internal)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import inf, isnan
from typing import NamedTuple

from everalign.decide import WaitingView, rank_link
from everalign.errors import ConfigError
from everalign.search import EntityKey, LabelIndex
from everalign.select import iterate_free_proposals
from everalign.session import AlignmentSession
from everalign.state.intervals import LinkInterval, PairStatus
from everalign.state.ledger import Pair
from everalign.state.link_table import list_entities

ORIGINS = ("given", "found", "proposed", "rejected")
IN_FORCE = ("given", "found")
_STATUS = {
    "given": PairStatus.GIVEN,
    "found": PairStatus.FOUND,
    "rejected": PairStatus.REJECTED,
}
# Entities that match a text: up to so many, their links are read instead of all links.
FEW_ENTITIES = 1000
# Links that are compared with a text at a time.
BATCH_SIZE = 500


class PagedLink(NamedTuple):
    """A row of a page.

    Attributes:
        left: The left entity.
        right: The right entity.
        score: Its score.
        since: The version that put it in force.
        origin: One of `ORIGINS`.
    """

    left: int
    right: int
    score: float
    since: int
    origin: str

    @property
    def rank(self) -> tuple[int, float, int, int]:
        """The key that pages are sorted by."""
        return ORIGINS.index(self.origin), -self.score, self.left, self.right

    @property
    def cursor(self) -> str:
        """Where a page ends, as a text."""
        # `repr` of a float is exact.
        return f"{self.origin} {self.score!r} {self.left} {self.right}"


@dataclass(frozen=True)
class LinkFilter:
    """Which links to list.

    Args:
        origin: "given", "found", "proposed" or "rejected"; None for the links in force.
        min_confidence: Leave out links with a lower score.
        max_confidence: Leave out links with a higher score.
        text: Only links with an entity whose label contains this; empty for all.

    Raises:
        ConfigError: There is no such origin.
    """

    origin: str | None = None
    min_confidence: float = -inf
    max_confidence: float = inf
    text: str = ""

    def __post_init__(self) -> None:
        if self.origin is not None and self.origin not in ORIGINS:
            raise ConfigError(f"origin must be one of {', '.join(ORIGINS)}, not {self.origin!r}")

    @property
    def origins(self) -> Sequence[str]:
        """The origins to list, in order."""
        return IN_FORCE if self.origin is None else (self.origin,)

    def admits_score(self, score: float) -> bool:
        """Tell whether a score is in the range.

        Args:
            score: Any score.

        Returns:
            Whether links with this score are listed.
        """
        return self.min_confidence <= score <= self.max_confidence


class LinkPager:
    """Reads the links of the last version of an open alignment.

    Args:
        session: The open alignment.
        waiting: What the waiting decisions do to the links.
        get_labels: Gives the index of labels; called if a filter has a text.
    """

    def __init__(
        self,
        session: AlignmentSession,
        waiting: WaitingView,
        get_labels: Callable[[], LabelIndex],
    ) -> None:
        self._session = session
        self._table = session.store.links
        self._version = session.store.next_version() - 1
        self._waiting = waiting
        self._get_labels = get_labels
        # Proposals and rejected pairs have no index by score: they are sorted once.
        self._lists: dict[str, list[PagedLink]] = {}

    def read_page(
        self, wanted: LinkFilter, after: str | None, limit: int
    ) -> tuple[list[PagedLink], str | None]:
        """Read a page.

        Args:
            wanted: Which links to list.
            after: The cursor of the page before; None for the first page.
            limit: The most links to read.

        Returns:
            The links, best first, and the cursor for the next page; None at the end.

        Raises:
            ConfigError: `after` is no cursor, or the limit is less than 1.
        """
        if limit < 1:
            raise ConfigError(f"limit must be at least 1, not {limit}")
        rows = list(islice(self.iterate(wanted, parse_cursor(after), limit + 1), limit + 1))
        return rows[:limit], rows[limit - 1].cursor if len(rows) > limit else None

    def iterate(
        self, wanted: LinkFilter, after: PagedLink | None = None, page_size: int = BATCH_SIZE
    ) -> Iterator[PagedLink]:
        """Iterate over links, best first.

        Args:
            wanted: Which links to list.
            after: The last link before; None to begin with the first.
            page_size: How many links to read at a time.

        Returns:
            The links.
        """
        if not wanted.text:
            return self._iterate_all(wanted, after, page_size)
        labels = self._get_labels()
        matching = labels.find_matching(wanted.text, FEW_ENTITIES)
        if matching is None:
            rows = self._iterate_all(wanted, after, BATCH_SIZE)
            return _select_matching(rows, labels, wanted.text)
        found = self._list_of_entities(wanted, set(matching))
        return iter(row for row in found if after is None or row.rank > after.rank)

    def count(self, wanted: LinkFilter) -> int:
        """Count links.

        Args:
            wanted: Which links to count.

        Returns:
            The number of links that all pages have together.
        """
        if wanted.text or wanted.origin not in (None, *IN_FORCE):
            return sum(1 for _ in self.iterate(wanted))
        scores = wanted.min_confidence, wanted.max_confidence
        statuses = [_STATUS[origin] for origin in wanted.origins]
        # To count in the database would go through all links of the range, for each page.
        columns = map(self._session.store.read_link_columns, statuses)
        count = sum(links.count_scores(*scores) for links in columns)
        hidden = [row for row in self._read_rows(self._waiting.hidden) if row.status in statuses]
        added = [row for row in self._waiting.rows if row.status in statuses]
        count += sum(wanted.admits_score(row.score) for row in added)
        return count - sum(wanted.admits_score(row.score) for row in hidden)

    def read_of_entities(self, lefts: Iterable[int], rights: Iterable[int]) -> list[PagedLink]:
        """Read the links in force of some entities.

        Args:
            lefts: Left entities.
            rights: Right entities.

        Returns:
            The links, best first.
        """
        keys = {EntityKey(0, left) for left in lefts} | {EntityKey(1, right) for right in rights}
        return self._list_of_entities(LinkFilter(), keys)

    def list_unlinked(self, side: int, first: int, last: int) -> list[int]:
        """List the entities of a range of ids that have no link.

        Args:
            side: 0 for left entities, 1 for right ones.
            first: The first id.
            last: The last id.

        Returns:
            Ids, ascending.
        """
        linked = set(self._table.list_linked(side, first, last, self._version))
        hidden = self._read_rows(self._waiting.hidden)
        linked -= {row.pair[side] for row in hidden if row.status != PairStatus.REJECTED}
        added = [row for row in self._waiting.rows if row.status != PairStatus.REJECTED]
        linked |= {row.pair[side] for row in added}
        return [entity for entity in range(first, last + 1) if entity not in linked]

    def _iterate_all(
        self, wanted: LinkFilter, after: PagedLink | None, page_size: int
    ) -> Iterator[PagedLink]:
        origins = list(wanted.origins)
        if after is not None:
            origins = origins[origins.index(after.origin) :] if after.origin in origins else []
        starts = [after, *[None] * len(origins)]
        return chain.from_iterable(
            self._iterate_origin(origin, wanted, start, page_size)
            for origin, start in zip(origins, starts, strict=False)
        )

    def _iterate_origin(
        self, origin: str, wanted: LinkFilter, after: PagedLink | None, page_size: int
    ) -> Iterator[PagedLink]:
        if origin not in IN_FORCE:
            rows = self._get_list(origin)
            first = (
                0 if after is None else bisect_right(rows, after.rank, key=lambda row: row.rank)
            )
            return (row for row in islice(rows, first, None) if wanted.admits_score(row.score))
        status = _STATUS[origin]
        added = [
            row
            for row in self._waiting.rows
            if row.status == status
            and wanted.admits_score(row.score)
            and (after is None or rank_link(row) > after.rank[1:])
        ]
        stored = self._iterate_stored(status, wanted, after, page_size)
        shown = replace(self._waiting, rows=tuple(added)).show(stored, status)
        return map(_convert_row, shown)

    def _iterate_stored(
        self, status: PairStatus, wanted: LinkFilter, after: PagedLink | None, page_size: int
    ) -> Iterator[LinkInterval]:
        key = None if wanted.max_confidence == inf else (wanted.max_confidence, -1, -1)
        if after is not None and (key is None or after.score <= key[0]):
            key = after.score, after.left, after.right
        minimum = wanted.min_confidence
        while True:
            page = self._table.read_best_page(self._version, status, key, page_size, minimum)
            yield from page
            if len(page) < page_size:
                return
            key = page[-1].score, *page[-1].pair

    def _get_list(self, origin: str) -> list[PagedLink]:
        if origin not in self._lists:
            rows = self._list_rejected() if origin == "rejected" else self._list_proposed()
            self._lists[origin] = sorted(rows, key=lambda row: row.rank)
        return self._lists[origin]

    def _list_proposed(self) -> list[PagedLink]:
        pairs = iterate_free_proposals(self._session, self._waiting)
        return [PagedLink(*pair, self._version, "proposed") for pair in pairs]

    def _list_rejected(self) -> list[PagedLink]:
        rows = self._table.iterate(self._version, PairStatus.REJECTED)
        return list(map(_convert_row, self._waiting.show(rows, PairStatus.REJECTED)))

    def _list_of_entities(self, wanted: LinkFilter, keys: set[EntityKey]) -> list[PagedLink]:
        """List the links of some entities, best first."""
        lefts = {key.entity for key in keys if key.side == 0}
        rights = {key.entity for key in keys if key.side == 1}
        rows: list[PagedLink] = []
        if wanted.origin == "proposed":
            rows = self._get_list("proposed")
        else:
            stored = self._table.read_of_entities(lefts, rights, self._version)
            kept = (row for row in stored if row.pair not in self._waiting.hidden)
            rows = [_convert_row(row) for row in (*kept, *self._waiting.rows)]
        chosen = (
            row
            for row in rows
            if (row.left in lefts or row.right in rights)
            and row.origin in wanted.origins
            and wanted.admits_score(row.score)
        )
        return sorted(chosen, key=lambda row: row.rank)

    def _read_rows(self, pairs: Iterable[Pair]) -> list[LinkInterval]:
        """Read the rows of some pairs."""
        wanted = set(pairs)
        rows = self._table.read_of_entities(*list_entities(wanted), self._version)
        return [row for row in rows if row.pair in wanted]


def _select_matching(
    rows: Iterator[PagedLink], labels: LabelIndex, text: str
) -> Iterator[PagedLink]:
    """Select the links with an entity whose label contains a text."""
    while batch := list(islice(rows, BATCH_SIZE)):
        left = labels.select_matching(text, 0, (row.left for row in batch))
        right = labels.select_matching(text, 1, (row.right for row in batch))
        yield from (row for row in batch if row.left in left or row.right in right)


def _convert_row(row: LinkInterval) -> PagedLink:
    origin = ORIGINS[3] if row.status == PairStatus.REJECTED else IN_FORCE[row.status]
    return PagedLink(row.left, row.right, row.score, row.born, origin)


def parse_cursor(cursor: str | None) -> PagedLink | None:
    """Find the link at which a page ends.

    Args:
        cursor: `PagedLink.cursor`; None for the first page.

    Returns:
        The link; None if there is no page before.

    Raises:
        ConfigError: It is not the end of a page.
    """
    if cursor is None:
        return None
    try:
        origin, score, left, right = cursor.split()
        link = PagedLink(int(left), int(right), float(score), 0, ORIGINS[ORIGINS.index(origin)])
    except ValueError as error:
        raise ConfigError(f"{cursor!r} is not the end of a page") from error
    # Beyond what the database can hold.
    if not all(0 <= number < 2**31 for number in (link.left, link.right)) or isnan(link.score):
        raise ConfigError(f"{cursor!r} is not the end of a page")
    return link
