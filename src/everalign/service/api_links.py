"""Links: pages of them, and one pair in detail."""

from __future__ import annotations

from math import inf
from typing import Annotated

from fastapi import APIRouter, Query

from everalign.link_pages import LinkFilter
from everalign.service.common import (
    READ_ERRORS,
    Alignment,
    Cursor,
    IriParameter,
    Limit,
    describe_events,
    describe_mark,
    describe_rows,
)
from everalign.service.details import PairDescriber
from everalign.service.link_scan import LinkConditions, scan_links
from everalign.service.models import (
    MAX_IRI_LENGTH,
    MAX_TEXT_LENGTH,
    LinkAnswer,
    LinksAnswer,
    StateName,
)
from everalign.service.naming import Namer
from everalign.service.tagged import TaggedRoute

router = APIRouter(tags=["links"], responses=READ_ERRORS, route_class=TaggedRoute)
OptionalIri = Annotated[str | None, Query(min_length=1, max_length=MAX_IRI_LENGTH)]
OptionalVersion = Annotated[int | None, Query(ge=0, le=2**31)]
# All events of a pair are shown, up to so many.
MAX_EVENTS = 200


@router.get("/links")
def list_links(
    alignment: Alignment,
    state: StateName | None = None,
    min_confidence: Annotated[float | None, Query(ge=-1e9, le=1e9)] = None,
    max_confidence: Annotated[float | None, Query(ge=-1e9, le=1e9)] = None,
    since: OptionalVersion = None,
    until: OptionalVersion = None,
    relation: OptionalIri = None,
    class_name: Annotated[str | None, Query(alias="class", max_length=MAX_IRI_LENGTH)] = None,
    text: Annotated[str, Query(max_length=MAX_TEXT_LENGTH)] = "",
    after: Cursor = None,
    limit: Limit = 50,
) -> LinksAnswer:
    """List links, best first; those in force unless a state is given."""
    minimum = -inf if min_confidence is None else min_confidence
    maximum = inf if max_confidence is None else max_confidence
    wanted = LinkFilter(state, minimum, maximum, text.strip())
    conditions = LinkConditions(since, until, relation or None, class_name or None)
    with alignment.reading() as reader:
        if conditions.is_empty:
            rows, cursor = reader.pager.read_page(wanted, after, limit)
            # Which links have a text is known only when all are looked at.
            count = None if wanted.text else reader.pager.count(wanted)
        else:
            (rows, cursor), count = scan_links(reader, wanted, conditions, after, limit), None
        links = describe_rows(Namer(alignment, reader), reader, rows)
        return LinksAnswer(links=links, count=count, next=cursor, **describe_mark(reader))


@router.get("/link")
def describe_link(alignment: Alignment, left: IriParameter, right: IriParameter) -> LinkAnswer:
    """Describe a pair: both entities, the evidence, rivals, neighbours and history."""
    with alignment.reading() as reader:
        describer = PairDescriber(alignment, reader, left, right)
        events = reader.list_events(left, 0, None, MAX_EVENTS).events
        # A decision about the entity alone is about the pair as well.
        history = [event for event in events if event.right in (right, "")]
        return LinkAnswer(
            link=describer.describe_link(),
            comparison=describer.describe_comparison(),
            candidate=describer.describe_candidate(),
            rivals=describer.describe_rivals(),
            neighbours=describer.describe_neighbours(),
            history=describe_events(describer.namer, history),
            **describe_mark(reader),
        )
