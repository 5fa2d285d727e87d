"""Functions compiled by numba, cached on disk where possible (internal)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

# Its colours would end every command on a terminal with an escape sequence.
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def jit_cached(**options: Any) -> Callable[[Function], Function]:
    """Compile a function when it is first called; it runs without the interpreter lock.

    Args:
        **options: Options of `numba.njit`.

    Returns:
        A decorator.
    """

    def decorate(function: Function) -> Function:
        try:
            compiled: Function = njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # a read-only installation: compile again in each process
            compiled = njit(nogil=True, **options)(function)
        return compiled

    return decorate
