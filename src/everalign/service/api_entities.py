"""Entities: one in detail, those without a link, and search by label."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from everalign.service.alignment import ServedAlignment
from everalign.service.common import (
    READ_ERRORS,
    Alignment,
    Cursor,
    IriParameter,
    Limit,
    describe_events,
    describe_links,
    describe_mark,
    describe_rows,
)
from everalign.service.details import MAX_CANDIDATES, EntityDescriber
from everalign.service.models import (
    MAX_TEXT_LENGTH,
    EntityAnswer,
    SearchAnswer,
    SearchMatch,
    SideName,
    UnmatchedAnswer,
)
from everalign.service.naming import Namer
from everalign.service.tagged import TaggedRoute
from everalign.state.snapshots import SIDES
from everalign.version_reader import VersionReader

router = APIRouter(tags=["entities"], responses=READ_ERRORS, route_class=TaggedRoute)
MAX_EVENTS = 200


@router.get("/entity")
def describe_entity(
    alignment: Alignment, name: IriParameter, side: SideName | None = None
) -> EntityAnswer:
    """Describe an entity: its links, candidates, facts beside theirs, neighbours and history."""
    with alignment.reading() as reader:
        describer = EntityDescriber(alignment, reader, name, side)
        candidates = describer.list_candidates()[:MAX_CANDIDATES]
        others = [describer.get_other(row) for row in candidates]
        # A link that is none of the candidates, such as a given one, comes first.
        linked = [describer.get_other(link) for link in describer.details.links]
        columns = [*(other for other in linked if other not in others), *others]
        explanation = describer.explanation
        events = reader.list_events(name, 0, None, MAX_EVENTS).events
        return EntityAnswer(
            entity=describer.namer.get_entity(describer.side, name),
            links=describe_links(describer.namer, reader, describer.details.links),
            comparison=describer.describe_comparison(columns[:MAX_CANDIDATES]),
            candidates=describer.describe_candidates(candidates),
            neighbours=describer.describe_neighbours(),
            neighbour_count=describer.details.neighbour_count,
            literal_count=describer.details.literal_count,
            reason="" if explanation is None else explanation.reason,
            threshold=describer.threshold,
            history=describe_events(describer.namer, events),
            **describe_mark(reader),
        )


@router.get("/unmatched")
def list_unmatched(
    alignment: Alignment, side: SideName = "left", after: Cursor = None, limit: Limit = 50
) -> UnmatchedAnswer:
    """List the entities of a graph that have no link."""
    with alignment.reading() as reader:
        page = reader.list_dangling(side, after, limit)
        namer = Namer(alignment, reader)
        namer.load_names(side, (entity.name for entity in page.entities))
        return UnmatchedAnswer(
            entities=[namer.get_entity(side, entity.name) for entity in page.entities],
            count=count_unmatched(alignment, reader, side),
            next=page.next,
            **describe_mark(reader),
        )


@router.get("/search")
def search_entities(
    alignment: Alignment,
    text: Annotated[str, Query(min_length=1, max_length=MAX_TEXT_LENGTH)],
    side: SideName | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> SearchAnswer:
    """Search for entities by label: those that begin with the text, then those that contain it."""
    with alignment.reading() as reader:
        found = reader.search(text, side, limit)
        namer = Namer(alignment, reader)
        ids: dict[str, list[int]] = {"left": [], "right": []}
        for result in found:
            number = reader.names.find_entity(_get_side(result.entity.side), result.entity.name)
            ids[result.entity.side].append(-1 if number is None else number)
        rows = reader.pager.read_of_entities(ids["left"], ids["right"])
        links = describe_rows(namer, reader, rows)
        by_name = {
            (entity.side, entity.name): link
            for link in reversed(links)
            for entity in (link.left, link.right)
        }
        results = [
            SearchMatch(
                entity=namer.get_entity(_get_side(row.entity.side), row.entity.name),
                match=row.match,
                prefix=row.is_prefix,
                link=by_name.get((_get_side(row.entity.side), row.entity.name)),
            )
            for row in found
        ]
        return SearchAnswer(results=results, **describe_mark(reader))


def count_unmatched(alignment: ServedAlignment, reader: VersionReader, side: SideName) -> int:
    """Count the entities of a graph that have no link.

    Args:
        alignment: The alignment.
        reader: The version.
        side: The graph.

    Returns:
        The number of entities with facts and without a link, without waiting decisions.
    """
    index, count = SIDES.index(side), reader.names.count_entities(side)

    def compute() -> int:
        table = reader.session.store.links
        linked = set(table.list_linked(index, 0, count, reader.version))
        removed = {entity for name, entity in reader.removed if name == side}
        return count - len(linked | removed)

    return alignment.remember(f"unmatched {side}", reader.version, compute)


def _get_side(name: str) -> SideName:
    return "left" if name == "left" else "right"
