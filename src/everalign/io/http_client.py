"""Requests to one server: not too often, with time-outs, and again when it is busy."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from everalign.errors import ConfigError, InputError
from everalign.io.sources import RemoteOptions

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

USER_AGENT = "EverAlign/0.1 (+https://github.com/everalign/everalign)"

_CHUNK_BYTES = 1 << 16
# A server that is busy, or a gateway that does not reach it.
_RETRIED_STATUSES = frozenset([408, 425, 429, 500, 502, 503, 504])
# A server may ask for a long pause, but not for any.
_MAX_PAUSE_SECONDS = 120.0


class TemporaryError(Exception):
    """A request failed, and another attempt may succeed.

    Args:
        problem: What went wrong.
        retry_after: How many seconds the server asks to wait.
    """

    def __init__(self, problem: str, retry_after: float = 0.0) -> None:
        super().__init__(problem)
        self.retry_after = retry_after


class HttpClient:
    """Asks one server.

    Args:
        url: The URL of a file or an endpoint.
        options: How often and how long it is tried.

    Raises:
        InputError: The URL is not valid.
        ConfigError: An option is out of range.
    """

    def __init__(self, url: str, options: RemoteOptions) -> None:
        numbers = (options.requests_per_second, options.timeout, options.page_size)
        if min(*numbers, options.attempts) <= 0:
            raise ConfigError("rate, time-out, page size and attempts must be greater than 0")
        self.url = url
        self.options = options
        try:
            parts = urlsplit(url)
            is_valid = bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
        except ValueError:
            is_valid = False
        if not is_valid or not url.isprintable() or " " in url:
            raise InputError("is not a URL that can be fetched", path=url)
        self._last_request = -float("inf")
        self._opener = _make_opener()

    def request(
        self,
        accept: str,
        read: Callable[[HTTPResponse], Answer],
        form: bytes | None = None,
        url: str | None = None,
    ) -> Answer:
        """Ask the server until it gives an answer that can be read.

        Args:
            accept: The media types that are understood.
            read: Reads the answer; called again if it raises `TemporaryError`.
            form: A form to post; without it the URL is fetched.
            url: The URL to ask, if it is another one of the same server.

        Returns:
            What was read.

        Raises:
            InputError: The server refuses, or all attempts fail.
        """
        pause, attempt = self.options.back_off, 1
        while True:
            self._wait_for_turn()
            try:
                return self._request_once(accept, read, form, url or self.url)
            except TemporaryError as error:
                if attempt >= self.options.attempts:
                    problem = f"{error}, {attempt} times in a row" if attempt > 1 else str(error)
                    raise InputError(problem, path=self.url) from None
                wait = min(_MAX_PAUSE_SECONDS, max(pause, error.retry_after))
                logger.info("%s: %s, trying again in %.1f s", self.url, error, wait)
                time.sleep(wait)
                pause, attempt = pause * 2, attempt + 1

    def _wait_for_turn(self) -> None:
        due = self._last_request + 1 / self.options.requests_per_second
        time.sleep(max(0.0, due - time.monotonic()))
        self._last_request = time.monotonic()

    def _request_once(
        self, accept: str, read: Callable[[HTTPResponse], Answer], form: bytes | None, url: str
    ) -> Answer:
        # Letters beyond ASCII, as browsers show them, are quoted.
        address = quote(url, safe="/:?#[]!$&'()*+,;=%~")
        request = Request(address, form, {"Accept": accept, "User-Agent": USER_AGENT})
        try:
            with self._opener.open(request, timeout=self.options.timeout) as response:
                return read(response)
        except HTTPError as error:
            raise self._convert_status(error) from None
        except URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise self._make_timeout_error() from None
            raise TemporaryError(f"cannot be reached ({_describe(error.reason)})") from None
        except TimeoutError:
            raise self._make_timeout_error() from None
        except (HTTPException, ConnectionError) as error:
            raise TemporaryError(f"the answer broke off ({_describe(error)})") from None
        except UnicodeError:
            raise InputError("is not a URL that can be fetched", path=self.url) from None

    def _convert_status(self, error: HTTPError) -> InputError | TemporaryError:
        with error:
            problem = f"the server answered {error.code} {error.reason}{_read_reason(error)}"
            if error.code in _RETRIED_STATUSES:
                return TemporaryError(problem, _parse_retry_after(error.headers))
            return InputError(problem, path=self.url)

    def _make_timeout_error(self) -> TemporaryError:
        return TemporaryError(f"no answer within {self.options.timeout:g} s")


def iterate_body(response: HTTPResponse, seconds: float | None = None) -> Iterator[bytes]:
    """Read the body of an answer in pieces.

    Args:
        response: The answer.
        seconds: How long it may take as a whole.

    Yields:
        The pieces.

    Raises:
        TemporaryError: The answer is shorter than the server said, or takes too long.
    """
    started, length = time.monotonic(), 0
    while chunk := response.read1(_CHUNK_BYTES):
        length += len(chunk)
        if seconds is not None and time.monotonic() - started > seconds:
            raise TemporaryError(f"the answer took more than {seconds:g} s")
        yield chunk
    # `read1` does not complain about an answer that ends too early.
    expected = response.headers.get("Content-Length", "")
    if expected.isdecimal() and length != int(expected):
        raise TemporaryError(f"the answer broke off after {length} of {expected} bytes")


def get_media_type(response: HTTPResponse) -> str:
    """Get the media type of an answer.

    Args:
        response: The answer.

    Returns:
        The media type in lower case without parameters, empty if the server does not say it.
    """
    return str(response.headers.get("Content-Type", "")).partition(";")[0].strip().lower()


def _make_opener() -> OpenerDirector:
    opener = OpenerDirector()
    # Not `build_opener`, which also opens files of this machine.
    for handler in (
        ProxyHandler,
        HTTPHandler,
        HTTPSHandler,
        HTTPDefaultErrorHandler,
        HTTPRedirectHandler,
        HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener


def _parse_retry_after(headers: Any) -> float:
    """Parse seconds or a date; 0 if there is neither."""
    text = str(headers.get("Retry-After", "")).strip()
    if text.isdecimal():
        return float(text[:6])
    try:
        due = parsedate_to_datetime(text)
        return max(0.0, (due.astimezone(UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _read_reason(error: HTTPError) -> str:
    """Read the first line of text that explains an error, such as a syntax error of a query."""
    if not str(error.headers.get("Content-Type", "")).startswith("text/plain"):
        return ""
    try:
        text = error.read(2000).decode("utf-8", "replace")
    except (OSError, HTTPException):
        return ""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    shown = "".join(c for c in lines[0][:200] if c.isprintable()) if lines else ""
    return f" ({shown})" if shown else ""


def _describe(error: object) -> str:
    reason = getattr(error, "strerror", None) or error
    return " ".join(str(reason).split())[:200] or type(error).__name__
