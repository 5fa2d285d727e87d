"""What every request passes before it is answered: host, token, origin, size, rate; then headers.

These are plain ASGI and not FastAPI's dependencies, so that no route can be without them.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everalign.service.errors import build_error
from everalign.service.identity import Identities, Identity, read_bearer
from everalign.service.settings import Role, ServiceSettings

API_PATH = "/api/"
LOGIN_PATH = "/api/v1/login"
RECONCILE_PATH = "/reconcile/"
# They hold nothing of the alignment.
OPEN_PATHS = ("/healthz", "/static/", "/signin/", LOGIN_PATH)
MAX_BODY_BYTES = 1_000_000
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
# What a person who mistypes needs; a program that guesses is stopped.
FAILED_LOGINS = 10
SECONDS_PER_FAILURE = 6.0
# Addresses and tokens to remember at most, for limits.
MAX_REMEMBERED = 10_000

CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


@dataclass
class _Allowance:
    """What is left of a limit, and when that was computed."""

    left: float
    at: float


class RateLimit:
    """A limit on how often something may happen: a bucket that fills at a constant rate.

    Args:
        rate: How often a second; 0 for no limit.
        burst: How often at once.
    """

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._allowances: dict[str, _Allowance] = {}

    def take(self, key: str, count: float = 1.0) -> float:
        """Count something, if the limit allows it.

        Args:
            key: Whose limit it is.
            count: How much to count; 0 to ask only.

        Returns:
            0, or the seconds to wait until the limit allows it.
        """
        if not self._rate:
            return 0.0
        now = time.monotonic()
        if key not in self._allowances and len(self._allowances) >= MAX_REMEMBERED:
            self._allowances.pop(next(iter(self._allowances)))
        row = self._allowances.setdefault(key, _Allowance(self._burst, now))
        row.left = min(self._burst, row.left + (now - row.at) * self._rate)
        row.at = now
        if row.left < max(count, 1.0):
            return (max(count, 1.0) - row.left) / self._rate
        row.left -= count
        return 0.0


class SecurityMiddleware:
    """Lets requests pass that may, and adds the headers of every answer.

    Args:
        app: The application.
        settings: Hosts, tokens and limits.
        identities: Recognises who sends a request.
    """

    def __init__(self, app: ASGIApp, settings: ServiceSettings, identities: Identities) -> None:
        self._app = app
        self._settings = settings
        self._identities = identities
        self._requests = RateLimit(settings.rate_limit, 2 * settings.rate_limit)
        self._failures = RateLimit(1 / SECONDS_PER_FAILURE, FAILED_LOGINS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request.

        Args:
            scope: The connection.
            receive: Gives what the client sends.
            send: Takes what it is sent.
        """
        if scope["type"] != "http":
            # There are no web sockets here.
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        request = Request(scope)
        refusal = self._check_request(request)
        if refusal is None:
            body = await _read_body(request, receive)
            if body is not None:
                await self._answer(scope, _replay(body, receive), answer)
                return
            refusal = build_error(413, "too_large", f"a body has {MAX_BODY_BYTES:,} bytes at most")
        await refusal(scope, receive, answer.send)

    async def _answer(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        try:
            await self._app(scope, receive, answer.send)
        except asyncio.CancelledError:
            # The server ends and waits no longer. No traceback: nothing is wrong.
            if not answer.is_begun:
                ending = build_error(503, "state", "the server is ending", {"Retry-After": "5"})
                await ending(scope, receive, answer.send)

    def _check_request(self, request: Request) -> ASGIApp | None:
        """Answer a request that may not pass; None if it may."""
        if not self._is_allowed_host(request.headers.get("host", "")):
            message = "this name is not one of the server; `everalign serve --allow-host` adds it"
            return build_error(421, "host", message)
        path = request.scope["path"]
        if path.startswith(RECONCILE_PATH):
            return self._check_capability(request, path)
        if path.startswith(OPEN_PATHS):
            return self._check_write(request, None) or self._check_guesses(request, path)
        return self._check_identity(request, path)

    def _is_allowed_host(self, value: str) -> bool:
        name, port = split_host(value)
        if name in self._settings.allowed_hosts:
            return True
        return name in self._settings.own_names and port in ("", str(self._settings.port))

    def _check_capability(self, request: Request, path: str) -> ASGIApp | None:
        given = path.removeprefix(RECONCILE_PATH).partition("/")[0]
        own = self._settings.capability
        if not hmac.compare_digest(given.encode("utf-8", "replace"), own.encode()):
            return build_error(404, "not_found", "there is no such service")
        request.scope.setdefault("state", {})["identity"] = Identity("reconcile", Role.READER)
        return self._check_rate("reconcile")

    def _check_guesses(self, request: Request, path: str) -> ASGIApp | None:
        if path != LOGIN_PATH:
            return None
        # Counted here and given back by nobody: a person signs in once.
        return _refuse_rate(self._failures.take(_get_address(request)))

    def _check_identity(self, request: Request, path: str) -> ASGIApp | None:
        address = _get_address(request)
        if read_bearer(request) is not None and (wait := self._failures.take(address, 0)):
            return _refuse_rate(wait)
        identity = self._identities.identify(request, name_cookie(self._settings))
        request.scope.setdefault("state", {})["identity"] = identity
        if identity is not None:
            return self._check_rate(identity.holder) or self._check_write(request, identity)
        if not path.startswith(API_PATH):
            # The page asks for a token, and its address may have a code for it.
            wait = self._failures.take(address) if request.query_params.get("token") else 0.0
            return _refuse_rate(wait)
        if read_bearer(request) is not None:
            self._failures.take(address)
        headers = {"WWW-Authenticate": "Bearer"}
        return build_error(401, "token", "a valid token is needed", headers)

    def _check_rate(self, holder: str) -> ASGIApp | None:
        return _refuse_rate(self._requests.take(holder))

    def _check_write(self, request: Request, identity: Identity | None) -> ASGIApp | None:
        """Refuse what another page makes a browser send, and bodies that a form can send."""
        site = request.headers.get("sec-fetch-site")
        is_api = request.scope["path"].startswith(API_PATH)
        if request.method in SAFE_METHODS:
            if is_api and site not in (None, "same-origin", "none"):
                return build_error(403, "origin", "other pages may not read this")
            return None
        origin = request.headers.get("origin")
        is_ambient = identity is None or identity.is_ambient
        if (
            (site is not None and site != "same-origin")
            or (origin is not None and not _is_own_origin(origin, request))
            or (is_ambient and site is None and origin is None)
        ):
            return build_error(403, "origin", "a browser may write only from our own page")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if is_api and kind != "application/json":
            return build_error(415, "content_type", "the body must be application/json")
        return None


def name_cookie(settings: ServiceSettings) -> str:
    """Name the cookie of a server: a browser shares cookies among the ports of a host.

    Args:
        settings: The settings of the server.

    Returns:
        The name.
    """
    return f"everalign_{settings.port}"


def split_host(value: str) -> tuple[str, str]:
    """Split a header `Host`.

    Args:
        value: Such as "localhost:8000" or "[::1]:8000".

    Returns:
        The name in lower case, and the port or an empty text.

    Example:
        >>> split_host("LocalHost:80"), split_host("[::1]:80"), split_host("example.org")
        (('localhost', '80'), ('[::1]', '80'), ('example.org', ''))
    """
    value = value.strip().lower()
    bracket = value.find("]")
    name, _, port = value[bracket + 1 :].rpartition(":")
    if not _:
        return value, ""
    return value[: bracket + 1] + name, port


def _is_own_origin(origin: str, request: Request) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    own = request.headers.get("host", "").strip().lower()
    return parts.scheme in ("http", "https") and parts.netloc.lower() == own


def _get_address(request: Request) -> str:
    return request.client.host if request.client else ""


def _refuse_rate(seconds: float) -> ASGIApp | None:
    if not seconds:
        return None
    headers = {"Retry-After": str(int(seconds) + 1)}
    return build_error(429, "rate", "too many requests; wait a little", headers)


async def _read_body(request: Request, receive: Receive) -> bytes | None:
    """Read the body of a request; None if it is too large."""
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MAX_BODY_BYTES:
        return None
    if request.method in SAFE_METHODS and "transfer-encoding" not in request.headers:
        return b""
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            return None
        chunks.append(chunk)
        if not message.get("more_body"):
            return b"".join(chunks)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give the application a body that was read already, then what comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_next() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_next


class _Answer:
    """Adds the headers of every answer, and knows whether one has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_begun = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            _remove(headers, ("server",))
        await self._send(message)


def _remove(headers: MutableHeaders, names: Iterable[str]) -> None:
    for name in names:
        if name in headers:
            del headers[name]
