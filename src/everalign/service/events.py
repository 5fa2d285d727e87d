"""A stream of changes (server-sent events): new versions, decisions, progress of updates."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Request
from fastapi.responses import StreamingResponse

from everalign.decide import name_decision
from everalign.errors import EverAlignError
from everalign.pipeline import list_version_reports
from everalign.service.alignment import Mark, ServedAlignment
from everalign.service.common import READ_ERRORS, Alignment
from everalign.service.errors import ApiError
from everalign.service.models import UpdateProgress
from everalign.version_reader import VersionReader

router = APIRouter(tags=["events"], responses=READ_ERRORS)
log = logging.getLogger(__name__)

POLL_SECONDS = 0.25
KEEP_ALIVE_SECONDS = 15.0
# A client that does not read is dropped, and connects again.
QUEUE_SIZE = 200
MAX_CLIENTS = 100
# Decisions of one event; clients that want more read the activity.
MAX_DECISIONS = 50


class EventHub:
    """Looks for changes of an alignment, and tells clients about them.

    Args:
        alignment: The alignment.
    """

    def __init__(self, alignment: ServedAlignment) -> None:
        self._alignment = alignment
        self._queues: set[asyncio.Queue[str | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._mark = alignment.read_mark()
        self._task: asyncio.Task[None] | None = None

    @property
    def mark(self) -> Mark:
        """The last version and decision that clients were told about."""
        return self._mark

    def start(self) -> None:
        """Begin to look for changes; to be called in the event loop."""
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._watch())

    def stop(self) -> None:
        """End all streams."""
        if self._task is not None:
            self._task.cancel()
        for queue in list(self._queues):
            self._drop(queue)

    def notify_update(self, progress: UpdateProgress) -> None:
        """Tell clients about the progress of an update; other threads may call this.

        Args:
            progress: The progress.
        """
        if self._loop is not None and not self._loop.is_closed():
            event = self._format("update", progress.model_dump())
            self._loop.call_soon_threadsafe(self._publish, event)

    async def stream(self, first: dict[str, Any]) -> AsyncIterator[str]:
        """Send events to one client, until it leaves.

        Args:
            first: The data of the first event.

        Yields:
            Parts of the stream.
        """
        queue: asyncio.Queue[str | None] = asyncio.Queue(QUEUE_SIZE)
        self._queues.add(queue)
        try:
            yield self._format("hello", first)
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), KEEP_ALIVE_SECONDS)
                except TimeoutError:
                    yield ": keep-alive\n\n"
                    continue
                if event is None:
                    return
                yield event
        finally:
            self._queues.discard(queue)

    @property
    def is_full(self) -> bool:
        """Whether no more clients can listen."""
        return len(self._queues) >= MAX_CLIENTS

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                events = await asyncio.to_thread(self._find_changes)
            except EverAlignError as error:
                # The state may be moved or restored just now; requests answer 503 meanwhile.
                log.warning("cannot look for changes: %s", error)
                continue
            for event in events:
                self._publish(event)

    def _find_changes(self) -> list[str]:
        before, mark = self._mark, self._alignment.follow()
        if mark == before:
            return []
        self._mark = mark
        events = []
        with self._alignment.deciding() as reader:
            if mark.version != before.version:
                report = asdict(list_version_reports(reader.session)[-1])
                events.append(self._format("version", {"version": mark.version, "report": report}))
            if mark.decisions > before.decisions:
                data = {"decisions": _read_decisions(reader, before.decisions, mark.decisions)}
                events.append(self._format("decision", data))
        return events

    def _publish(self, event: str) -> None:
        for queue in list(self._queues):
            try:
                queue.put_nowait(event)
            except asyncio.QueueFull:
                self._drop(queue)

    def _drop(self, queue: asyncio.Queue[str | None]) -> None:
        self._queues.discard(queue)
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(None)

    def _format(self, name: str, data: dict[str, Any]) -> str:
        text = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode()
        return f"event: {name}\nid: {self._mark.version}.{self._mark.decisions}\ndata: {text}\n\n"


async def get_hub(request: Request) -> EventHub:
    """Find what tells clients about changes.

    Args:
        request: The request.

    Returns:
        The hub of the server.
    """
    return cast(EventHub, request.app.state.events)


@router.get("/events", response_class=StreamingResponse)
async def stream_events(
    request: Request, alignment: Alignment, hub: Annotated[EventHub, Depends(get_hub)]
) -> StreamingResponse:
    """Stream changes as server-sent events: hello, version, decision, update."""
    if hub.is_full:
        raise ApiError(429, "rate", "too many clients listen", {"Retry-After": "10"})
    mark = await asyncio.to_thread(alignment.read_mark)
    progress = request.app.state.updates.progress
    first = {
        "version": mark.version,
        "decisions": mark.decisions,
        "update": None if progress is None else progress.model_dump(),
    }
    # A proxy that waits for the end of an answer would never send it on.
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(hub.stream(first), media_type="text/event-stream", headers=headers)


def _read_decisions(reader: VersionReader, after: int, upto: int) -> list[dict[str, Any]]:
    names = reader.session.entity_names()
    first = max(after, upto - MAX_DECISIONS)
    rows = reader.session.store.inbox.read_range(first, upto)
    return [asdict(name_decision(row, *names)) for row in rows]
