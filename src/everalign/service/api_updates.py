"""Updates and reverts, which only curators start."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Depends, Request

from everalign.service.common import (
    READ_ERRORS,
    WRITE_ERRORS,
    Alignment,
    require_role,
)
from everalign.service.errors import ApiError
from everalign.service.models import RevertBody, UpdateAnswer, UpdateBody
from everalign.service.settings import Role
from everalign.service.updates import UpdateRequest, UpdateRunner, resolve_file

router = APIRouter(tags=["updates"])


async def get_runner(request: Request) -> UpdateRunner:
    """Find what runs updates.

    Args:
        request: The request.

    Returns:
        The runner of the server.
    """
    return cast(UpdateRunner, request.app.state.updates)


Runner = Annotated[UpdateRunner, Depends(get_runner)]
Curator = require_role(Role.CURATOR)


@router.get("/updates", responses=READ_ERRORS)
def read_update(runner: Runner) -> UpdateAnswer:
    """Tell how the update that this server runs, or ran last, is going."""
    return UpdateAnswer(update=runner.progress)


@router.post("/updates", status_code=202, responses=WRITE_ERRORS, dependencies=[Curator])
def start_update(alignment: Alignment, runner: Runner, body: UpdateBody) -> UpdateAnswer:
    """Start an update with files of the data directory, or with the waiting decisions alone."""
    settings = alignment.settings
    left, right, remove_left, remove_right = (
        resolve_file(name, settings.data)
        for name in (body.left, body.right, body.remove_left, body.remove_right)
    )
    request = UpdateRequest(
        str(settings.state), left, right, remove_left, remove_right, full=body.full
    )
    return UpdateAnswer(update=runner.start(request))


@router.post("/reverts", status_code=202, responses=WRITE_ERRORS, dependencies=[Curator])
def start_revert(alignment: Alignment, runner: Runner, body: RevertBody) -> UpdateAnswer:
    """Go back to an earlier version, in a new one."""
    if body.version > alignment.read_mark().version:
        raise ApiError(404, "not_found", f"there is no version {body.version}")
    request = UpdateRequest(str(alignment.settings.state), revert_to=body.version)
    return UpdateAnswer(update=runner.start(request))
