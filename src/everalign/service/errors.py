"""Errors of the API: one JSON shape for all of them, and never a traceback."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from everalign.errors import (
    ConfigError,
    EverAlignError,
    InputError,
    SeedError,
    StateError,
)

log = logging.getLogger(__name__)

# The codes of answers that nothing more is known about.
CODES = {
    400: "bad_request",
    401: "token",
    403: "role",
    404: "not_found",
    405: "method",
    409: "conflict",
    413: "too_large",
    415: "content_type",
    421: "host",
    422: "invalid",
    429: "rate",
    503: "state",
}
MAX_DETAILS = 20


class ApiError(Exception):
    """An answer that is an error.

    Args:
        status: The HTTP status.
        code: A word for programs.
        message: A line for people.
        headers: Headers of the answer.
    """

    def __init__(
        self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers


def build_error(
    status: int,
    code: str,
    message: str,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> JSONResponse:
    """Build the answer to a request that failed.

    Args:
        status: The HTTP status.
        code: A word for programs.
        message: A line for people.
        headers: Headers of the answer.
        more: More members of the error.

    Returns:
        The answer.
    """
    error = {"code": code, "message": _clean_text(message), **more}
    return JSONResponse({"error": error}, status, dict(headers or {}))


def classify_error(error: EverAlignError) -> tuple[int, str]:
    """Choose the status and code of an error.

    Args:
        error: An error that was raised on purpose.

    Returns:
        The HTTP status, and a word for programs.
    """
    if isinstance(error, SeedError):
        return 409, "conflict"
    if isinstance(error, InputError):
        return 404, "not_found"
    if isinstance(error, ConfigError):
        return 400, "bad_request"
    return 503, "state"


def add_error_handlers(app: FastAPI) -> None:
    """Let an application answer each error in the shape of the API.

    Args:
        app: The application.
    """

    @app.exception_handler(ApiError)
    def answer_api_error(_: Request, error: ApiError) -> Response:
        return build_error(error.status, error.code, str(error), error.headers)

    @app.exception_handler(EverAlignError)
    def answer_known_error(_: Request, error: EverAlignError) -> Response:
        headers = {"Retry-After": "1"} if isinstance(error, StateError) else None
        return build_error(*classify_error(error), str(error), headers)

    @app.exception_handler(RequestValidationError)
    def answer_invalid(_: Request, error: RequestValidationError) -> Response:
        details = [
            {
                "where": _clean_text(".".join(map(str, row["loc"]))),
                "message": _clean_text(row["msg"]),
            }
            for row in error.errors()[:MAX_DETAILS]
        ]
        message = "; ".join(f"{row['where']}: {row['message']}" for row in details[:3])
        return build_error(422, "invalid", message, details=details)

    @app.exception_handler(HTTPException)
    def answer_http_error(_: Request, error: HTTPException) -> Response:
        code = CODES.get(error.status_code, "bad_request")
        return build_error(error.status_code, code, str(error.detail), error.headers)

    @app.exception_handler(Exception)
    def answer_unexpected(_: Request, error: Exception) -> Response:
        log.error("unexpected error", exc_info=error)
        return build_error(500, "unexpected", "unexpected error; the log of the server says more")


def _clean_text(text: str) -> str:
    # What came with the request may hold half a character, which UTF-8 cannot.
    return " ".join(text.encode("utf-8", "replace").decode().split())
