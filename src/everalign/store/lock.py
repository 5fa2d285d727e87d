"""One writer at a time. The kernel frees the lock when the process ends, however it ends."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO

from everalign.errors import StateError, StateLockedError

LONGEST_COMMAND = 60


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Hold the lock file for as long as the block runs."""
    with _open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateLockedError(_in_use(path.parent, file.read())) from None
        file.seek(0)
        file.truncate()
        json.dump({"pid": os.getpid(), "command": _command(), "since": _now()}, file)
        file.flush()
        yield


def _open(path: Path) -> IO[str]:
    try:
        # Append mode makes the file if need be and leaves another holder's words in it.
        file = path.open("a+", encoding="utf-8", errors="replace")
    except OSError as error:
        raise StateError(f"{path.parent} cannot be written to: {error.strerror}") from error
    file.seek(0)
    return file


def _in_use(directory: Path, words: str) -> str:
    try:
        holder = json.loads(words)
        return (
            f"{directory} is in use by process {holder['pid']}"
            f" ({holder['command']}, since {holder['since']})"
        )
    except (ValueError, KeyError, TypeError):
        return f"{directory} is in use by another process"


def _command() -> str:
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
    return command if len(command) <= LONGEST_COMMAND else command[: LONGEST_COMMAND - 1] + "…"


def _now() -> str:
    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S")
