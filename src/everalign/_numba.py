"""Functions compiled by numba: taken from the archive of the package, or cached (internal)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

# Its colours would end every command on a terminal with an escape sequence.
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")

from numba import njit
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from everalign._kernel_archive import (
    UnknownDependencyError,
    get_argument_types,
    name_kernel,
    open_archive,
    unpack_kernel,
)

Function = TypeVar("Function", bound=Callable[..., Any])

# While an archive is built: compiled kernels by name, as `write_archive` takes them.
recorded_kernels: dict[str, bytes] | None = None


def jit_cached(**options: Any) -> Callable[[Function], Function]:
    """Compile a function when it is first called; it runs without the interpreter lock.

    The code comes from the archive of the package if that has it for these argument types, else
    from numba's cache on disk, else from the compiler.

    Args:
        **options: Options of `numba.njit`.

    Returns:
        A decorator.
    """

    def decorate(function: Function) -> Function:
        try:
            compiled: Any = njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # a read-only installation: compile again in each process
            compiled = njit(nogil=True, **options)(function)
        # A private attribute of numba, as are those below. Code is only ever taken from an
        # archive that the installed version has made, so that they are as they were then.
        if hasattr(compiled, "_cache"):
            compiled._cache = _KernelCache(compiled, compiled._cache)
        result: Function = compiled
        return result

    return decorate


class _KernelCache:
    """What numba asks for a compiled function: the archive first, then numba's own cache."""

    def __init__(self, kernel: Any, written: Any) -> None:
        self._kernel = kernel
        self._written = written

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Load the function for the types of a call, or return None."""
        found = self._load_from_archive(signature, target_context)
        return found or self._written.load_overload(signature, target_context)

    def _load_from_archive(self, signature: Any, target_context: Any) -> Any:
        archive = open_archive()
        if archive is None:
            return None
        try:
            name = name_kernel(self._kernel, signature)
        except UnknownDependencyError:
            return None
        content = archive.load(name)
        if content is None:
            return None
        if recorded_kernels is not None:
            recorded_kernels[name] = content
        target_context.refresh()
        rebuild: Any = CompileResult._rebuild
        result = rebuild(target_context, *unpack_kernel(content))
        # The name is a hash of how the types are written, which need not tell all of them apart.
        is_same = tuple(result.signature.args) == get_argument_types(signature)
        return result if is_same else None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a function that was compiled."""
        if recorded_kernels is not None:
            pack: Any = dumps
            recorded_kernels[name_kernel(self._kernel, signature)] = pack(result._reduce())
        self._written.save_overload(signature, result)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._written, name)
