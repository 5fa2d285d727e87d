"""How long-running work reports progress."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A function that is called now and then while work goes on.

    Example:
        >>> def show(step: str, done: int, total: int, /) -> None:
        ...     print(f"{step}: {done} of {total or 'unknown'}")
        >>> show("reading", 10, 0)
        reading: 10 of unknown
    """

    def __call__(self, step: str, done: int, total: int, /) -> None:
        """Report progress.

        Args:
            step: Name of the current step.
            done: How much of it is done.
            total: How much there is; 0 if that is not known.
        """
        ...


def no_progress(step: str, done: int, total: int, /) -> None:
    """Report nothing.

    Args:
        step: Not used.
        done: Not used.
        total: Not used.
    """
