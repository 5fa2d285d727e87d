"""Updates that the service runs: each in a process of its own, so that readers go on."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from everalign.errors import ConfigError
from everalign.service.errors import ApiError
from everalign.service.models import UpdateProgress

LINE_LIMIT = 10_000


@dataclass(frozen=True)
class UpdateRequest:
    """What the process of an update is told.

    Args:
        state: The state directory.
        left: A file with triples that the left graph gains.
        right: The same for the right graph.
        remove_left: A file with triples that the left graph loses.
        remove_right: The same for the right graph.
        full: Whether to look at everything again.
        revert_to: The version to go back to, instead of an update.
    """

    state: str
    left: str | None = None
    right: str | None = None
    remove_left: str | None = None
    remove_right: str | None = None
    full: bool = False
    revert_to: int | None = None


def resolve_file(name: str | None, data: Path | None) -> str | None:
    """Find a file of an update.

    Args:
        name: What a client asks for, relative to the data directory; None for no file.
        data: The data directory; None if no files may be read.

    Returns:
        The path of the file.

    Raises:
        ConfigError: The file is not in the data directory, or there is no such directory.
    """
    if name is None:
        return None
    if data is None:
        raise ConfigError("to read files, start the server with `--data DIRECTORY`")
    root = data.resolve()
    try:
        path = (root / name).resolve()
        is_inside = path.is_relative_to(root) and path.is_file()
    except (OSError, ValueError):
        is_inside = False
    # A climbing path, a link out of the directory, and a missing file look alike from outside.
    if not is_inside:
        raise ConfigError("there is no such file in the data directory")
    return str(path)


class UpdateRunner:
    """Runs one update at a time.

    Args:
        notify: Called with the progress of the update whenever there is some.
    """

    def __init__(self, notify: Callable[[UpdateProgress], None]) -> None:
        self._notify = notify
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self.progress: UpdateProgress | None = None

    def start(self, request: UpdateRequest) -> UpdateProgress:
        """Start an update.

        Args:
            request: What to do.

        Returns:
            Its progress.

        Raises:
            ApiError: Another one is running.
        """
        with self._lock:
            if self.progress is not None and self.progress.state == "running":
                raise ApiError(409, "update_running", "an update is running already")
            self.progress = UpdateProgress(
                id=uuid.uuid4().hex,
                kind="update" if request.revert_to is None else "revert",
                state="running",
                step="starting",
                done=0,
                total=None,
                started_at=_get_time(),
                finished_at=None,
                message="",
                version=None,
            )
            command = [sys.executable, "-m", "everalign.service.update_process"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        Thread(target=self._follow, args=(self._process, request), daemon=True).start()
        self._notify(self.progress)
        return self.progress

    def _follow(self, process: subprocess.Popen[bytes], request: UpdateRequest) -> None:
        assert process.stdin is not None, "it is a pipe"
        assert process.stdout is not None, "it is a pipe"
        last: dict[str, Any] = {"state": "failed", "message": "the update ended unexpectedly"}
        try:
            process.stdin.write(json.dumps(vars(request)).encode() + b"\n")
            process.stdin.close()
        except OSError:
            pass
        # Closes the pipe and waits for the process.
        with process:
            output = process.stdout
            for line in iter(lambda: output.readline(LINE_LIMIT), b""):
                try:
                    report = json.loads(line)
                except ValueError:
                    # Something that a library has printed.
                    continue
                if "state" in report:
                    last = report
                else:
                    self._set(**report)
        self._set(**last, finished_at=_get_time())

    def _set(self, **changes: Any) -> None:
        assert self.progress is not None, "an update was started"
        self.progress = self.progress.model_copy(update=changes)
        self._notify(self.progress)


def _get_time() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
