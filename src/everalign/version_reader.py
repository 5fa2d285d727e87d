"""Everything that a view shows of one version (internal)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain, islice

import numpy as np

from everalign._progress import Progress
from everalign.decide import WaitingView, read_waiting_view
from everalign.errors import ConfigError, InputError
from everalign.explain import Explainer
from everalign.graph import IntArray
from everalign.history import describe_status, iterate_link_events
from everalign.link_pages import LinkFilter, LinkPager, PagedLink
from everalign.methods import ExplainableMethod, Method
from everalign.review.questions import QuestionReader, align_relations
from everalign.review.queue import QuestionQueue
from everalign.search import LabelIndex
from everalign.session import AlignmentSession
from everalign.state import Side
from everalign.state.name_reader import NameReader
from everalign.state.snapshots import SIDES
from everalign.types import (
    AlignmentStatus,
    Candidate,
    EntityDetails,
    EntityPage,
    EventPage,
    LabelledEntity,
    Link,
    LinkEvent,
    LinkPage,
    LiteralFact,
    Neighbour,
    SearchResult,
)

# Ids of entities that are looked at together in search of those without a link.
RANGE_SIZE = 1000


class VersionReader:
    """Reads one version; what it has loaded stays loaded.

    Args:
        session: An open alignment that has a version; the reader closes it.
        progress: Called while the index of labels is built.
        before: The reader of an earlier version, whose method is used if it still holds.
    """

    def __init__(
        self, session: AlignmentSession, progress: Progress, before: VersionReader | None = None
    ) -> None:
        session.check_started()
        self.session = session
        self.names = NameReader(session.store)
        self.version = session.store.next_version() - 1
        # Decisions that are given later are not shown: pages must fit each other.
        self.decision_count = session.store.inbox.last_number()
        self._progress = progress
        if before is not None and before.holds_method_of(session):
            # To load it again would cost more than anything else.
            session.last_method = before.method

    def take_decisions(self, decision_count: int) -> None:
        """Go on to decisions that were recorded since.

        Args:
            decision_count: Number of the last one that counts.
        """
        self.decision_count = decision_count
        for name in ("waiting", "pager"):
            self.__dict__.pop(name, None)

    def close(self) -> None:
        """Close the alignment and the index of labels."""
        if "labels" in self.__dict__:
            self.labels.close()
        self.session.close()

    @cached_property
    def digest(self) -> str:
        """The digest of the version: a restored state may have another one of the same number."""
        return self.session.store.read_version(self.version).digest

    @property
    def method(self) -> Method:
        """The method as the version left it."""
        # Without it, an error says why: its files may have been removed.
        return self.session.last_method or self.session.load_method()

    def holds_method_of(self, session: AlignmentSession) -> bool:
        """Tell whether the method is loaded, and is as another version left it.

        Args:
            session: The same alignment, opened again.

        Returns:
            Whether `method` can be used for it.
        """
        is_loaded = "last_method" in self.session.__dict__
        state = self.session.store.find_method_state()
        return is_loaded and session.store.find_method_state() == state

    @cached_property
    def explainer(self) -> Explainer:
        """Explains links of the version."""
        return Explainer(self.session, self.names, self.method)

    @property
    def questions(self) -> QuestionReader:
        """Describes the questions of the version, with all decisions that count."""
        queue = self._questions.queue
        last = queue.judgements.last_number
        if last < self.decision_count:
            queue.advance(self.session.store.inbox.read_range(last, self.decision_count))
        return self._questions

    @cached_property
    def _questions(self) -> QuestionReader:
        queue = QuestionQueue(self.session, self.method, self.decision_count)
        relations = align_relations(self.session, self.method)
        return QuestionReader(self.session, self.names, self.label_entities, queue, relations)

    @cached_property
    def labels(self) -> LabelIndex:
        """The index of labels."""
        return LabelIndex.open(self.session, self._progress)

    @cached_property
    def waiting(self) -> WaitingView:
        """What the waiting decisions do to the links."""
        return read_waiting_view(self.session, self.decision_count)

    @cached_property
    def pager(self) -> LinkPager:
        """The links of the version, page by page."""
        return LinkPager(self.session, self.waiting, lambda: self.labels)

    @cached_property
    def removed(self) -> frozenset[tuple[str, int]]:
        """Side and id of entities that have no facts."""
        return frozenset(self.session.store.read_removed_entities())

    def list_links(self, wanted: LinkFilter, after: str | None, limit: int) -> LinkPage:
        """List a page of links.

        Args:
            wanted: Which links to list.
            after: The cursor of the page before; None for the first page.
            limit: The most links to list.

        Returns:
            The page.
        """
        rows, cursor = self.pager.read_page(wanted, after, limit)
        return LinkPage(tuple(self.name_links(rows)), cursor)

    def name_links(self, rows: Iterable[PagedLink]) -> list[Link]:
        """Give links their names.

        Args:
            rows: Links.

        Returns:
            The same links for people.
        """
        rows = list(rows)
        left = self.names.read("left", "entity", (row.left for row in rows))
        right = self.names.read("right", "entity", (row.right for row in rows))
        return [
            Link(left[row.left], right[row.right], row.score, row.since, row.origin)
            for row in rows
        ]

    def find_entity(self, name: str, side: Side | None) -> tuple[int, int]:
        """Find an entity.

        Args:
            name: Its name.
            side: The graph; None for the one that has it, the left one if both do.

        Returns:
            0 or 1 for the graph, and its id.

        Raises:
            InputError: The graph does not have it.
        """
        for index, candidate in enumerate(SIDES):
            if side in (None, candidate):
                number = self.names.find_entity(candidate, name)
                if number is not None:
                    return index, number
        where = "neither of the two graphs" if side is None else f"no entity of the {side} graph"
        raise InputError(f"{name!r} is {'in ' if side is None else ''}{where}")

    def label_entities(self, side: int, entities: Iterable[int]) -> dict[int, LabelledEntity]:
        """Give entities names and labels.

        Args:
            side: 0 for the left graph, 1 for the right.
            entities: Ids of entities.

        Returns:
            The entities by id.
        """
        ids = sorted(set(entities))
        names = self.names.read(SIDES[side], "entity", ids)
        labels = self.labels.read_labels(side, ids)
        return {
            number: LabelledEntity(SIDES[side], names[number], labels.get(number, names[number]))
            for number in ids
        }

    def describe_entity(
        self, name: str, side: Side | None, limit: int, *, with_candidates: bool = True
    ) -> EntityDetails:
        """Describe an entity.

        Args:
            name: Its name.
            side: The graph; None for the one that has it.
            limit: The most literals and the most neighbours to list.
            with_candidates: Whether to list its candidates, which costs most.

        Returns:
            Label, links, facts and candidates.
        """
        index, entity = self.find_entity(name, side)
        triples, literals = self.session.facts.list_all_facts(index, [entity])
        own = self.label_entities(index, [entity])[entity]
        rows = self.pager.read_of_entities(*([entity], [])[:: 1 if index == 0 else -1])
        others = [(row.right, row.left)[index] for row in rows]
        labelled = self.label_entities(1 - index, others)
        return EntityDetails(
            own,
            tuple(self.name_links(rows)),
            tuple(labelled[other] for other in others),
            self._describe_literals(index, literals[:limit]),
            self._describe_neighbours(index, entity, triples[:limit]),
            len(literals),
            len(triples),
            self._list_candidates(index, entity) if with_candidates else (),
        )

    def list_candidates(self, name: str, side: Side | None) -> tuple[Candidate, ...]:
        """List the candidates of an entity.

        Args:
            name: Its name.
            side: The graph; None for the one that has it.

        Returns:
            Candidates, best first.
        """
        # A method that cannot tell is an error here.
        _ = self.explainer
        return self._list_candidates(*self.find_entity(name, side))

    def search(self, text: str, side: Side | None, limit: int) -> list[SearchResult]:
        """Search for entities by label.

        Args:
            text: What a label begins with or contains.
            side: The graph; None for both.
            limit: The most results.

        Returns:
            Entities, those whose label begins with the text first.
        """
        found: dict[tuple[int, int], tuple[str, bool]] = {}
        index = None if side is None else SIDES.index(side)
        counts = [self.names.count_entities(name) for name in SIDES]
        # Some more: an entity may be found twice, be removed, or be newer than this version.
        for match in self.labels.search(text, index, 2 * limit + 20):
            number, entity = match.key
            if entity < counts[number] and (SIDES[number], entity) not in self.removed:
                found.setdefault(match.key, (match.text, match.is_prefix))
            if len(found) == limit:
                break
        entities = [
            self.label_entities(number, (key[1] for key in found if key[0] == number))
            for number in range(2)
        ]
        return [
            SearchResult(entities[number][entity], *match)
            for (number, entity), match in found.items()
        ]

    def list_dangling(self, side: Side, after: str | None, limit: int) -> EntityPage:
        """List entities without a link.

        Args:
            side: The graph.
            after: The cursor of the page before; None for the first page.
            limit: The most entities to list.

        Returns:
            The page, in the order of ids.
        """
        index, count = SIDES.index(side), self.names.count_entities(side)
        found: list[int] = []
        first = _parse_number(after) + 1
        while first < count and len(found) <= limit:
            last = min(first + RANGE_SIZE, count) - 1
            unlinked = self.pager.list_unlinked(index, first, last)
            found += [entity for entity in unlinked if (side, entity) not in self.removed]
            first = last + 1
        entities = self.label_entities(index, found[:limit])
        cursor = str(found[limit - 1]) if len(found) > limit else None
        return EntityPage(tuple(entities[entity] for entity in found[:limit]), cursor)

    def list_events(
        self, entity: str | None, since: int, after: str | None, limit: int
    ) -> EventPage:
        """List a page of link events.

        Args:
            entity: Name of an entity of either graph; all links if None.
            since: The first version to list.
            after: The cursor of the page before; None for the first page.
            limit: The most events to list.

        Returns:
            The page, oldest first.
        """
        # A cursor is a version and the number of its events that were listed.
        first, skipped = (since, 0) if after is None else _parse_event_cursor(after)
        events = iterate_link_events(self.session, entity, first, self.decision_count)
        shown = list(islice(events, skipped, skipped + limit + 1))
        if len(shown) <= limit:
            return EventPage(tuple(shown), None)
        page = shown[:limit]
        place = self._place_event(shown[limit])
        listed = sum(1 for event in page if self._place_event(event) == place)
        listed += skipped if place == first else 0
        return EventPage(tuple(page), f"{place} {listed}")

    def describe_status(self) -> AlignmentStatus:
        """Describe the alignment.

        Returns:
            Settings, sizes and a report of each version.
        """
        return describe_status(self.session)

    def _place_event(self, event: LinkEvent) -> int:
        # Decisions that are waiting come after the last version.
        return self.version + 1 if event.version is None else event.version

    def _list_candidates(self, side: int, entity: int) -> tuple[Candidate, ...]:
        if not isinstance(self.method, ExplainableMethod):
            return ()
        rows = self.explainer.list_candidates(SIDES[side], entity)
        others = [(row.right, row.left)[side] for row in rows]
        entities = self.label_entities(1 - side, others)
        return tuple(
            Candidate(entities[other], row.confidence, row.support)
            for other, row in zip(others, rows, strict=True)
        )

    def _describe_literals(self, side: int, rows: IntArray) -> tuple[LiteralFact, ...]:
        attributes = self.names.read(SIDES[side], "attribute", rows[:, 1].tolist())
        literals = self.names.read(SIDES[side], "literal", rows[:, 2].tolist())
        return tuple(
            LiteralFact(attributes[attribute], literals[literal])
            for _, attribute, literal in rows.tolist()
        )

    def _describe_neighbours(
        self, side: int, entity: int, rows: IntArray
    ) -> tuple[Neighbour, ...]:
        relations = self.names.read(SIDES[side], "relation", rows[:, 1].tolist())
        inverse = rows[:, 0] != entity
        ids = np.where(inverse, rows[:, 0], rows[:, 2]).tolist()
        entities, linked = self.label_entities(side, ids), self._find_counterparts(side, ids)
        return tuple(
            Neighbour(relations[relation], is_inverse, entities[other], linked.get(other, ()))
            for relation, is_inverse, other in zip(
                rows[:, 1].tolist(), inverse.tolist(), ids, strict=True
            )
        )

    def _find_counterparts(
        self, side: int, entities: Iterable[int]
    ) -> Mapping[int, tuple[LabelledEntity, ...]]:
        """The entities of the other graph that entities are linked with, best first."""
        sides: list[Iterable[int]] = [(), ()]
        sides[side] = entities
        rows = self.pager.read_of_entities(*sides)
        others = defaultdict(list)
        for row in rows:
            others[(row.left, row.right)[side]].append((row.right, row.left)[side])
        labelled = self.label_entities(1 - side, chain.from_iterable(others.values()))
        return {
            entity: tuple(labelled[other] for other in linked) for entity, linked in others.items()
        }


def _parse_number(cursor: str | None) -> int:
    if cursor is None:
        return -1
    try:
        return int(cursor)
    except ValueError as error:
        raise ConfigError(f"{cursor!r} is not the end of a page") from error


def _parse_event_cursor(cursor: str) -> tuple[int, int]:
    try:
        version, listed = map(int, cursor.split())
    except ValueError as error:
        raise ConfigError(f"{cursor!r} is not the end of a page") from error
    return version, listed
