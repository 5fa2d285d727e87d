"""Who the client is, what is served, and how to sign in."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Depends, Request, Response

from everalign.select import is_calibrated
from everalign.service.api_updates import Runner
from everalign.service.common import (
    READ_ERRORS,
    WRITE_ERRORS,
    Alignment,
    Sender,
    describe_mark,
)
from everalign.service.errors import ApiError
from everalign.service.identity import COOKIE_SECONDS, Identities
from everalign.service.models import LoginBody, Permissions, SessionAnswer
from everalign.service.security import name_cookie
from everalign.service.settings import Role, ServiceSettings, Token

router = APIRouter(tags=["session"])


async def get_identities(request: Request) -> Identities:
    """Find what recognises clients.

    Args:
        request: The request.

    Returns:
        The identities of the server.
    """
    return cast(Identities, request.app.state.identities)


@router.get("/session", responses=READ_ERRORS)
def describe_session(alignment: Alignment, sender: Sender, runner: Runner) -> SessionAnswer:
    """Tell who the client is, and what is served."""
    settings = alignment.settings
    with alignment.reading() as reader:
        config = reader.session.config
        return SessionAnswer.model_validate(
            {
                "role": sender.role.name.lower(),
                "author": sender.author,
                "author_fixed": bool(sender.author),
                "read_only": settings.read_only,
                "method": config.method,
                "calibrated": is_calibrated(reader.session),
                "cardinality": config.cardinality.value,
                "name": settings.state.name,
                "update": runner.progress,
                "reconciliation": f"/reconcile/{settings.capability}",
                "can": Permissions(
                    decide=sender.role >= Role.REVIEWER, update=sender.role >= Role.CURATOR
                ),
                **describe_mark(reader),
            }
        )


@router.post("/login", status_code=204, responses=WRITE_ERRORS)
def log_in(
    request: Request,
    alignment: Alignment,
    identities: Annotated[Identities, Depends(get_identities)],
    body: LoginBody,
) -> Response:
    """Exchange a token for a cookie."""
    token = identities.find_token(body.token)
    if token is None:
        raise ApiError(401, "token", "this token is not valid")
    response = Response(status_code=204)
    set_cookie(request, response, alignment.settings, identities, token)
    return response


def set_cookie(
    request: Request,
    response: Response,
    settings: ServiceSettings,
    identities: Identities,
    token: Token,
) -> None:
    """Give a browser the cookie of a token.

    Args:
        request: The request.
        response: The answer to it.
        settings: The settings of the server.
        identities: Makes the cookie.
        token: The token.
    """
    peer = request.client.host if request.client else ""
    is_secure = request.headers.get("x-forwarded-proto") == "https" and settings.trusts_proxy(peer)
    response.set_cookie(
        name_cookie(settings),
        identities.make_cookie(token),
        max_age=COOKIE_SECONDS,
        httponly=True,
        samesite="strict",
        secure=is_secure,
    )
