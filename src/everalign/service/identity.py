"""Who sends a request: by a token, a cookie that a token was exchanged for, or a trusted proxy."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from starlette.requests import HTTPConnection

from everalign.service.settings import Role, ServiceSettings, Token

# A week of work; then the address of the page is to be opened again.
COOKIE_SECONDS = 7 * 24 * 3600
MAX_AUTHOR_LENGTH = 200


@dataclass(frozen=True)
class Identity:
    """Who sends a request.

    Args:
        holder: A name for the one who is counted and limited.
        role: What they may do.
        author: Who they are; empty if their decisions say so.
        is_ambient: Whether a browser proves it by itself, as with a cookie: then a write must
            come from our own page.
    """

    holder: str
    role: Role
    author: str = ""
    is_ambient: bool = False


class Identities:
    """Recognises who sends a request.

    Args:
        settings: Tokens and proxies.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        # Opens the page once; it is not the token itself, which a history might keep.
        self._login_codes = {secrets.token_urlsafe(32): token for token in settings.tokens}

    @property
    def login_codes(self) -> dict[str, Token]:
        """Codes that can each be exchanged for a cookie once, and the tokens they stand for."""
        return dict(self._login_codes)

    def use_login_code(self, code: str) -> Token | None:
        """Exchange a code of the printed address for its token; the code is void then.

        Args:
            code: Any text.

        Returns:
            The token, or None if there is no such code.
        """
        found = next((own for own in self._login_codes if _is_equal(own, code)), None)
        return None if found is None else self._login_codes.pop(found)

    def find_token(self, secret: str) -> Token | None:
        """Find a token by what a client shows.

        Args:
            secret: Any text.

        Returns:
            The token, or None if there is no such token.
        """
        # All are compared, so that the time tells nothing.
        matches = [token for token in self._settings.tokens if _is_equal(token.secret, secret)]
        return matches[0] if matches else None

    def make_cookie(self, token: Token) -> str:
        """Make the value of a cookie that stands for a token.

        Args:
            token: The token.

        Returns:
            Its holder, the time when it ends, and a signature that the token makes.
        """
        return self._sign(token, int(time.time()) + COOKIE_SECONDS)

    def identify(self, request: HTTPConnection, cookie_name: str) -> Identity | None:
        """Recognise who sends a request.

        Args:
            request: The request.
            cookie_name: The name of our cookie.

        Returns:
            Who it is; None if the request shows nothing that is right.
        """
        user = request.headers.get(self._settings.user_header, "")
        peer = request.client.host if request.client else ""
        if user and self._settings.trusts_proxy(peer):
            return self._identify_user(user)
        secret = read_bearer(request)
        if secret is not None:
            token = self.find_token(secret)
            return None if token is None else self._identify_token(token, is_ambient=False)
        token = self._find_cookie(_read_cookie(request, cookie_name))
        return None if token is None else self._identify_token(token, is_ambient=True)

    def _identify_user(self, user: str) -> Identity:
        # Headers are Latin-1 by the standard, and UTF-8 in practice.
        name = user.encode("latin-1", "replace").decode("utf-8", "replace")[:MAX_AUTHOR_LENGTH]
        is_curator = any(name == curator for curator in self._settings.curators)
        role = Role.CURATOR if is_curator else Role.REVIEWER
        return Identity(f"user {name}", self._limit(role), name, is_ambient=True)

    def _identify_token(self, token: Token, *, is_ambient: bool) -> Identity:
        holder = f"token {_name_token(token)}"
        return Identity(holder, self._limit(token.role), token.author, is_ambient)

    def _limit(self, role: Role) -> Role:
        return Role.READER if self._settings.read_only else role

    def _find_cookie(self, value: str) -> Token | None:
        name, _, rest = value.partition(".")
        end = rest.partition(".")[0]
        if not end.isascii() or not end.isdigit() or len(end) > 12:
            return None
        token = next((own for own in self._settings.tokens if _name_token(own) == name), None)
        if token is None or not _is_equal(self._sign(token, int(end)), value):
            return None
        return token if time.time() < int(end) else None

    @staticmethod
    def _sign(token: Token, end: int) -> str:
        text = f"{_name_token(token)}.{end}"
        return f"{text}.{_hash(token, text)}"


def read_bearer(request: HTTPConnection) -> str | None:
    """Read the token of a request.

    Args:
        request: The request.

    Returns:
        The token of its header `Authorization`; None if it has none.
    """
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def _read_cookie(request: HTTPConnection, name: str) -> str:
    try:
        cookies = SimpleCookie(request.headers.get("cookie", ""))
    except CookieError:
        return ""
    return cookies[name].value if name in cookies else ""


def _name_token(token: Token) -> str:
    """A name that tells tokens apart and tells nothing about them."""
    return _hash(token, "name")[:16]


def _hash(token: Token, text: str) -> str:
    return hmac.new(token.secret.encode(), text.encode(), hashlib.sha256).hexdigest()


def _is_equal(first: str, second: str) -> bool:
    return hmac.compare_digest(first.encode(), second.encode("utf-8", "replace"))
