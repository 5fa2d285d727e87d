"""Answers that follow from the version and the last decision: tagged, and kept while they hold."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from everalign.service.common import get_alignment, get_identity

PRIVATE = "private, no-cache"
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class TaggedRoute(APIRoute):
    """A route whose GET answers have an `ETag`, of version and last decision.

    A client that has the answer already gets a 304. An answer that was computed for the same tag,
    author and address is sent again; all else that answers depend on stays as it is while the
    server runs.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, _write_json(endpoint), **options)

    def get_route_handler(self) -> Handler:
        """Make what answers requests.

        Returns:
            The handler of the route, with tags if it reads.
        """
        compute = super().get_route_handler()
        if self.methods != {"GET"}:
            return compute

        async def answer(request: Request) -> Response:
            return await _answer(request, compute)

        return answer


def _write_json(endpoint: Callable[..., BaseModel]) -> Callable[..., Response]:
    """Let a route write its model as JSON at once: FastAPI would check and convert it before."""

    @wraps(endpoint)
    def run(*arguments: Any, **parameters: Any) -> Response:
        body = endpoint(*arguments, **parameters).model_dump_json(by_alias=True)
        return Response(body, media_type="application/json")

    return run


async def _answer(request: Request, compute: Handler) -> Response:
    alignment = get_alignment(request)
    # Read before the answer is computed: a tag may be older than its answer, never newer.
    tag = (await run_in_threadpool(alignment.find_mark)).tag
    headers = {"ETag": tag, "Cache-Control": PRIVATE, "Vary": "Cookie, Authorization"}
    known = request.headers.get("if-none-match", "")
    if tag in (value.strip() for value in known.split(",")):
        return Response(status_code=304, headers=headers)
    key = tag, get_identity(request).author, request.url.path, request.url.query
    kept = alignment.answers.get(key)
    if kept is None:
        # Only one reads at a time anyway. Those who wait here take no thread, are served in the
        # order in which they came, and find what others have asked for meanwhile.
        async with alignment.turn:
            kept = alignment.answers.get(key)
            if kept is None:
                response = await compute(request)
                if response.status_code == 200:
                    response.headers.update(headers)
                    alignment.answers.put(key, bytes(response.body))
                return response
    return Response(kept, headers=headers, media_type="application/json")
