"""The process of an update that the service runs: a request on standard input, progress out.

Each line of standard output is a JSON object: a step, or at the end the state and a message.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from everalign.aligner import Aligner
from everalign.changeset import ChangeSet
from everalign.errors import EverAlignError
from everalign.service.updates import UpdateRequest
from everalign.types import UpdateResult

SECONDS_BETWEEN_REPORTS = 0.25


class ProgressWriter:
    """Writes progress now and then, for as long as somebody reads it."""

    def __init__(self) -> None:
        self._written_at = 0.0
        self._step = ""

    def __call__(self, step: str, done: int, total: int, /) -> None:
        """Report progress.

        Args:
            step: Name of the current step.
            done: How much of it is done.
            total: How much there is; 0 if that is not known.
        """
        now = time.monotonic()
        if step != self._step or now - self._written_at >= SECONDS_BETWEEN_REPORTS:
            self._step, self._written_at = step, now
            write_line({"step": step, "done": done, "total": total or None})


def write_line(report: dict[str, Any]) -> None:
    """Write a line for the server.

    Args:
        report: What to write.
    """
    try:
        sys.stdout.write(json.dumps(report) + "\n")
        sys.stdout.flush()
    except OSError:
        # The server is gone. The update goes on all the same: a new server shows its version.
        pass


def run_update(request: UpdateRequest) -> UpdateResult:
    """Update or revert an alignment.

    Args:
        request: What to do.

    Returns:
        What came of it.
    """
    aligner, progress = Aligner.open(request.state), ProgressWriter()
    if request.revert_to is not None:
        return aligner.revert(request.revert_to, progress)
    change = ChangeSet(
        request.left,
        request.right,
        removed_left=request.remove_left,
        removed_right=request.remove_right,
    )
    return aligner.update(change=change, progress=progress, full=request.full)


def main() -> None:
    """Run the update that standard input asks for."""
    request = UpdateRequest(**json.loads(sys.stdin.readline()))
    try:
        result = run_update(request)
    except EverAlignError as error:
        write_line({"state": "failed", "message": " ".join(str(error).split())})
        return
    except Exception as error:
        write_line({"state": "failed", "message": f"unexpected error: {type(error).__name__}"})
        raise
    version = result.reports[-1].version if result.reports else None
    write_line({"state": "done", "step": "", "message": result.message, "version": version})


if __name__ == "__main__":
    main()
