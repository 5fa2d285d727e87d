"""Compiled loops: numba, with its results kept on disk where there is a place for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[Loop], Loop]:
    """Compile a loop when it is first called, without the interpreter's lock."""

    def decorate(loop: Loop) -> Loop:
        try:
            made: Loop = njit(cache=True, nogil=True, **options)(loop)
        except RuntimeError:  # a read-only installation: compile anew in each process
            made = njit(nogil=True, **options)(loop)
        return made

    return decorate
