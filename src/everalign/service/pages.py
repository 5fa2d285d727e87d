"""The files of the page, and the way in: an address that signs in once, or a token by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse
from starlette.routing import Match

from everalign.service.api_session import get_identities, set_cookie
from everalign.service.common import Alignment
from everalign.service.errors import ApiError
from everalign.service.identity import Identities

router = APIRouter(include_in_schema=False)
PACKAGE = Path(__file__).parent
STATIC = PACKAGE / "static"
SIGN_IN = PACKAGE / "signin"
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
# Paths of other things: what is missing there is an error and not the page.
RESERVED = ("api", "static", "signin", "reconcile", "healthz")
# Not a redirect: a browser would not send the cookie along if another site led here.
WELCOME = (
    "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
    "<meta http-equiv='refresh' content='0;url=/'><title>EverAlign</title></head>"
    "<body><p><a href='/'>Open the alignment</a></p></body></html>"
)


@router.get("/healthz")
def check_health() -> PlainTextResponse:
    """Tell that the server answers."""
    return PlainTextResponse("ok")


@router.get("/static/{name:path}")
def read_static(name: str) -> Response:
    """Read a file of the page."""
    return _send(STATIC, name)


@router.get("/signin/{name:path}")
def read_sign_in(name: str) -> Response:
    """Read a file of the page that asks for a token."""
    return _send(SIGN_IN, name)


@router.get("/{path:path}")
def open_page(
    request: Request,
    alignment: Alignment,
    identities: Annotated[Identities, Depends(get_identities)],
    path: str,
    token: str = "",
) -> Response:
    """Open the page, whatever part of it the address names."""
    if path.partition("/")[0] in RESERVED:
        raise _build_missing(request)
    if token:
        found = identities.use_login_code(token)
        if found is not None:
            response = HTMLResponse(WELCOME)
            set_cookie(request, response, alignment.settings, identities, found)
            return response
    if cast(object, request.state.identity) is None:
        return _send(SIGN_IN, "index.html", 401)
    return _send(STATIC, "index.html")


def _build_missing(request: Request) -> ApiError:
    """Tell a path that takes another method from one that is not there."""
    posted = {**request.scope, "method": "POST"}
    if any(route.matches(posted)[0] is Match.FULL for route in request.app.router.routes):
        return ApiError(405, "method", "use POST here", {"Allow": "POST"})
    return ApiError(404, "not_found", "there is no such page")


def _send(folder: Path, name: str, status: int = 200) -> Response:
    # Only names that are there: no path can lead out of the folder.
    files = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.is_file() and path.suffix in MEDIA_TYPES
    }
    if name not in files:
        raise ApiError(404, "not_found", "there is no such file")
    path = files[name]
    headers = {"Cache-Control": "no-cache"}
    return FileResponse(path, status, headers, MEDIA_TYPES[path.suffix])
