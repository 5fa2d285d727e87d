"""Checkpoints of a long computation: what was done before an interruption is not done again
(internal).

A method saves its arrays where a step is done, and asks for them when it begins. Who runs it says
where they are kept, if anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray

Arrays: TypeAlias = Mapping[str, NDArray[Any]]


class Checkpoints(Protocol):
    """Keeps the last checkpoint of a computation."""

    def load(self) -> Arrays | None:
        """Return the arrays of the last checkpoint, or None."""
        ...

    def save(self, arrays: Arrays) -> None:
        """Replace the last checkpoint, or leave it if too little time has passed since."""
        ...


_current: ContextVar[Checkpoints | None] = ContextVar("checkpoints", default=None)


@contextmanager
def use_checkpoints(checkpoints: Checkpoints | None) -> Iterator[None]:
    """Keep the checkpoints of what is called within.

    Args:
        checkpoints: Where they are kept; None if they are not.
    """
    token = _current.set(checkpoints)
    try:
        yield
    finally:
        _current.reset(token)


def load_checkpoint() -> Arrays | None:
    """Return what an interrupted computation with the same input has saved.

    Returns:
        The arrays by name; None if there is nothing, or nobody keeps checkpoints.
    """
    checkpoints = _current.get()
    return checkpoints.load() if checkpoints else None


def save_checkpoint(arrays: Arrays) -> None:
    """Save what a computation needs to go on from here.

    Args:
        arrays: The arrays by name.
    """
    checkpoints = _current.get()
    if checkpoints:
        checkpoints.save(arrays)
