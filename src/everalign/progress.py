"""How long work says how far it is."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called now and then with the name of the step, and how much of it is done.

    A total of 0 means that nobody knows how much there is.
    """

    def __call__(self, step: str, done: int, total: int, /) -> None: ...


def silent(step: str, done: int, total: int, /) -> None:
    """Says nothing."""
