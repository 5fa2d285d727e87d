"""Every error that EverAlign raises on purpose.

    EverAlignError
    ├── InputError            a file, or a line in it, is not as expected
    │   └── SeedError         trusted links or decisions that contradict the graphs or each other
    ├── ConfigError           a setting that does not exist or cannot have this value
    ├── MemoryLimitError      a memory limit cannot be kept
    ├── EngineError           the engine that is to do the work cannot be reached or has failed
    └── StateError            the state directory cannot be used as asked
        ├── StateLockedError  another process is working on it
        ├── StateFormatError  it was written by another version of EverAlign
        └── StateDamagedError a file in it is missing or has changed

Each message is one line that a user can act on. The command line prints it and ends with
exit code 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class EverAlignError(Exception):
    """An error that the user can fix; its message is one line."""


class InputError(EverAlignError):
    """A file, or a line in it, is not as expected.

    Args:
        problem: What is wrong.
        path: The file, if there is one.
        line: The line, from 1.

    Example:
        >>> str(InputError("expected 3 columns, found 2", path="left.tsv", line=7))
        'left.tsv:7: expected 3 columns, found 2'
    """

    def __init__(
        self, problem: str, *, path: str | Path | None = None, line: int | None = None
    ) -> None:
        # Kept apart from the message, for callers that list problems or know the file and line
        # better.
        self.problem = problem
        self.path = None if path is None else str(path)
        self.line = line
        place = "" if path is None else f"{path}:{line}: " if line else f"{path}: "
        super().__init__(place + problem)


class SeedError(InputError):
    """Trusted links or decisions contradict the graphs or each other.

    Args:
        problem: What is wrong.
        path: The file, if there is one.
        line: The line, from 1.
        details: If several links are wrong, what is wrong with each: a line for each of the first
            hundred, with its place.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str | Path | None = None,
        line: int | None = None,
        details: Sequence[str] = (),
    ) -> None:
        super().__init__(problem, path=path, line=line)
        self.details = list(details)


class ConfigError(EverAlignError):
    """A setting that does not exist or cannot have this value."""


class EngineError(EverAlignError):
    """The engine that is to do the work cannot be reached or has failed."""


class MemoryLimitError(EverAlignError):
    """A memory limit cannot be kept: too little memory, or no room on the disk for the rest."""


class StateError(EverAlignError):
    """The state directory cannot be used as asked."""


class StateLockedError(StateError):
    """Another process is working on the state directory."""


class StateFormatError(StateError):
    """The state directory was written by another version of EverAlign."""


class StateDamagedError(StateError):
    """A file of the state directory is missing or has changed."""
