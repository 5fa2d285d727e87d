"""The application: routes, middleware, and what lives as long as the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from threading import Thread
from typing import Any

from fastapi import FastAPI

from everalign import __version__
from everalign.service import (
    api_decisions,
    api_entities,
    api_links,
    api_overview,
    api_questions,
    api_relations,
    api_session,
    api_updates,
    events,
    pages,
    reconciliation,
)
from everalign.service.alignment import ServedAlignment
from everalign.service.errors import add_error_handlers
from everalign.service.events import EventHub
from everalign.service.identity import Identities
from everalign.service.security import SecurityMiddleware
from everalign.service.settings import ServiceSettings
from everalign.service.updates import UpdateRunner

API_PREFIX = "/api/v1"
API_ROUTERS = (
    api_session.router,
    api_overview.router,
    api_links.router,
    api_entities.router,
    api_relations.router,
    api_questions.router,
    api_decisions.router,
    api_updates.router,
    events.router,
)
DESCRIPTION = (
    "Links between two knowledge graphs, with evidence and history; questions, decisions and "
    "updates. Send a token as `Authorization: Bearer TOKEN`."
)


def create_app(
    settings: ServiceSettings,
    identities: Identities | None = None,
    on_loaded: Callable[[], None] = lambda: None,
) -> FastAPI:
    """Make the application that serves an alignment.

    Args:
        settings: What to serve, and to whom.
        identities: Recognises clients; made from the settings if None.
        on_loaded: Called when what the first answers need is loaded, or cannot be.

    Returns:
        An ASGI application.

    Raises:
        StateError: There is no alignment, or it has no version yet.
    """
    alignment = ServedAlignment(settings)
    known = identities or Identities(settings)
    hub = EventHub(alignment)

    def load() -> None:
        try:
            alignment.warm_up()
        finally:
            on_loaded()

    @asynccontextmanager
    async def live(_: FastAPI) -> AsyncIterator[None]:
        hub.start()
        # In a thread: the first page does not wait for it.
        Thread(target=load, daemon=True).start()
        yield
        hub.stop()
        alignment.close()

    app = FastAPI(
        title="EverAlign",
        version=__version__,
        description=DESCRIPTION,
        openapi_url=f"{API_PREFIX}/openapi.json",
        # Their pages load scripts from other servers.
        docs_url=None,
        redoc_url=None,
        lifespan=live,
    )
    app.state.alignment = alignment
    app.state.identities = known
    app.state.events = hub
    app.state.updates = UpdateRunner(hub.notify_update)
    add_error_handlers(app)
    for router in API_ROUTERS:
        app.include_router(router, prefix=API_PREFIX)
    app.include_router(reconciliation.router, prefix=f"/reconcile/{settings.capability}")
    app.include_router(pages.router)
    app.openapi = _declare_security(app, app.openapi)  # type: ignore[method-assign]
    app.add_middleware(SecurityMiddleware, settings=settings, identities=known)
    return app


def _declare_security(app: FastAPI, describe: Callable[[], dict[str, Any]]) -> Callable[[], Any]:
    """Say in the OpenAPI description that a token is needed; the middleware asks for it."""

    def describe_with_security() -> dict[str, Any]:
        is_new = app.openapi_schema is None
        schema = describe()
        if is_new:
            schemes = {"token": {"type": "http", "scheme": "bearer"}}
            schema.setdefault("components", {})["securitySchemes"] = schemes
            schema["security"] = [{"token": []}]
        return schema

    return describe_with_security
