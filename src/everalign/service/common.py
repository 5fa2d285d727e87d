"""What the routes of the API share: the alignment, who asks, tags, and pairs for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, cast

from fastapi import Depends, Query, Request

from everalign.link_pages import PagedLink
from everalign.service.alignment import Mark, ServedAlignment, get_mark
from everalign.service.errors import ApiError
from everalign.service.identity import Identity
from everalign.service.models import (
    MAX_IRI_LENGTH,
    MAX_PAGE,
    Entity,
    ErrorAnswer,
    Event,
    LinkModel,
)
from everalign.service.naming import Namer
from everalign.service.settings import Role
from everalign.types import Link, LinkEvent
from everalign.version_reader import VersionReader

READ_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer} for status in (400, 401, 403, 404, 405, 421, 422, 429, 503)
}
WRITE_ERRORS: dict[int | str, dict[str, Any]] = {
    **READ_ERRORS,
    **{status: {"model": ErrorAnswer} for status in (409, 413, 415)},
}


def get_alignment(request: Request) -> ServedAlignment:
    """Find the alignment that is served.

    Args:
        request: The request.

    Returns:
        The alignment.
    """
    return cast(ServedAlignment, request.app.state.alignment)


def get_identity(request: Request) -> Identity:
    """Tell who sends a request.

    Args:
        request: The request; the middleware has looked at it.

    Returns:
        Who it is.
    """
    return cast(Identity, request.state.identity)


async def provide_alignment(request: Request) -> ServedAlignment:
    """Give a route the alignment that is served.

    Args:
        request: The request.

    Returns:
        The alignment.
    """
    # Not a plain function: each of those that a route depends on takes a thread of its own.
    return get_alignment(request)


async def provide_identity(request: Request) -> Identity:
    """Give a route who sends the request.

    Args:
        request: The request.

    Returns:
        Who it is.
    """
    return get_identity(request)


def require_role(role: Role) -> Any:
    """Make a dependency that refuses those who may not.

    Args:
        role: The least role.

    Returns:
        The dependency.
    """

    async def check_role(request: Request) -> None:
        if get_identity(request).role >= role:
            return
        if get_alignment(request).settings.read_only:
            raise ApiError(403, "read_only", "this server is read-only")
        raise ApiError(403, "role", f"only a {role.name.lower()} may do this")

    return Depends(check_role)


Alignment = Annotated[ServedAlignment, Depends(provide_alignment)]
Sender = Annotated[Identity, Depends(provide_identity)]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]
Cursor = Annotated[str | None, Query(max_length=500)]
IriParameter = Annotated[str, Query(min_length=1, max_length=MAX_IRI_LENGTH)]
Fraction = Annotated[float, Query(ge=0, le=1)]


def describe_mark(reader: VersionReader) -> dict[str, int]:
    """Give the members that every answer has.

    Args:
        reader: The version that the answer shows.

    Returns:
        Its version, and the number of the last decision.
    """
    mark: Mark = get_mark(reader)
    return {"version": mark.version, "decisions": mark.decisions}


def describe_rows(
    namer: Namer, reader: VersionReader, rows: Iterable[PagedLink]
) -> list[LinkModel]:
    """Describe links of a page.

    Args:
        namer: Gives labels.
        reader: The version.
        rows: Links with ids.

    Returns:
        The links, in the same order.
    """
    rows = list(rows)
    left = namer.load_ids("left", (row.left for row in rows))
    right = namer.load_ids("right", (row.right for row in rows))
    waiting = {row.pair for row in reader.waiting.rows}
    return [
        LinkModel(
            left=left[row.left],
            right=right[row.right],
            confidence=row.score,
            state=row.origin,
            since=row.since,
            waiting=(row.left, row.right) in waiting,
        )
        for row in rows
    ]


def describe_links(namer: Namer, reader: VersionReader, links: Iterable[Link]) -> list[LinkModel]:
    """Describe links that have names.

    Args:
        namer: Gives labels.
        reader: The version.
        links: Links.

    Returns:
        The links, in the same order.
    """
    links = list(links)
    namer.load_names("left", (link.left for link in links))
    namer.load_names("right", (link.right for link in links))
    changed = {row.pair for row in reader.waiting.rows}

    def is_waiting(link: Link) -> bool:
        find = reader.names.find_entity
        return bool(changed) and (find("left", link.left), find("right", link.right)) in changed

    return [
        LinkModel(
            left=namer.get_entity("left", link.left),
            right=namer.get_entity("right", link.right),
            confidence=link.score,
            state=link.origin,
            since=link.since,
            waiting=is_waiting(link),
        )
        for link in links
    ]


def describe_events(namer: Namer, events: Iterable[LinkEvent]) -> list[Event]:
    """Describe what happened to links.

    Args:
        namer: Gives labels.
        events: Events.

    Returns:
        The events, in the same order.
    """
    events = list(events)
    namer.load_names("left", (event.left for event in events if event.left))
    namer.load_names("right", (event.right for event in events if event.right))

    def describe(event: LinkEvent) -> Event:
        left: Entity | None = namer.get_entity("left", event.left) if event.left else None
        right: Entity | None = namer.get_entity("right", event.right) if event.right else None
        return Event(
            version=event.version,
            kind=event.kind,
            left=left,
            right=right,
            confidence=event.score,
            reason=event.reason,
            author=event.author,
            decided_at=event.decided_at,
            comment=event.comment,
            waiting=event.waiting,
            cause=event.cause,
        )

    return [describe(event) for event in events]
