"""Compiled kernels that come with the package, in one read-only file (internal).

A kernel is a function that numba compiles. `python -m everalign._kernel_build` compiles those
that `init` and `update` call and writes the archive; `_numba` looks here before it compiles. The
code is for a CPU that nearly all machines have, and is left aside on others.

An archive is a zip file. `target.json` says for which versions and which CPU the code is. Each
other member is one compiled function for one tuple of argument types; its name holds a hash of all
that the code was made from, so that a function that has changed is not found.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

import llvmlite.binding as llvm
import numpy as np
from numba.core import sigutils, types
from numba.core.dispatcher import Dispatcher

# One for each version of Python, as for bytecode: a checkout may be used by several.
ARCHIVE_PATH = Path(__file__).with_name(f"kernels.{sys.implementation.cache_tag}.zip")
TARGET_MEMBER = "target.json"
DIGITS = 32  # of a hash in a name

# x86-64-v3, which Intel has since 2013 and AMD since 2015. On two kernels, x86-64-v2 (without
# AVX2) costs time and serves machines that are older than that; they compile for themselves.
X86_64_CPU = "x86-64-v3"
X86_64_FEATURES = (
    *("64bit", "avx", "avx2", "bmi", "bmi2", "cmov", "cx16", "cx8", "f16c", "fma", "fxsr"),
    *("lzcnt", "mmx", "movbe", "popcnt", "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2"),
    *("ssse3", "xsave"),
)

# With one of these, somebody wants other code than the archive has.
COMPILER_SETTINGS = (
    *("NUMBA_BOUNDSCHECK", "NUMBA_CPU_FEATURES", "NUMBA_CPU_NAME", "NUMBA_DEBUGINFO"),
    *("NUMBA_ENABLE_AVX", "NUMBA_LOOP_VECTORIZE", "NUMBA_OPT", "NUMBA_SLP_VECTORIZE"),
)


@dataclass(frozen=True)
class KernelTarget:
    """Where compiled code can run.

    Args:
        python: Name and version of the interpreter, as in the names of bytecode files.
        numba: Version; both the code and its description depend on it.
        llvmlite: Version; it links the code.
        numpy: Version without the last part; numba chooses by it how to compile some functions.
        system: Operating system and architecture.
        cpu: What LLVM calls the CPU that the code is for.
        cpu_features: What the CPU must have.
    """

    python: str
    numba: str
    llvmlite: str
    numpy: str
    system: str
    cpu: str
    cpu_features: tuple[str, ...]

    @property
    def compiler_settings(self) -> dict[str, str]:
        """The environment variables with which numba compiles for this target."""
        features = ",".join(f"+{feature}" for feature in self.cpu_features)
        return {"NUMBA_CPU_NAME": self.cpu, "NUMBA_CPU_FEATURES": features}


def get_target() -> KernelTarget:
    """Return the target that archives are made for on a machine like this one.

    Returns:
        The target; the CPU of this machine may be older.
    """
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    return KernelTarget(
        python=sys.implementation.cache_tag or platform.python_version(),
        numba=version("numba"),
        llvmlite=version("llvmlite"),
        numpy=".".join(version("numpy").split(".")[:2]),
        system=f"{sys.platform}-{platform.machine().lower()}",
        # "generic" is what every machine of the architecture has.
        cpu=X86_64_CPU if is_x86 else "generic",
        cpu_features=X86_64_FEATURES if is_x86 else (),
    )


def list_cpu_features() -> set[str]:
    """List what the CPU of this machine has.

    Returns:
        Names of LLVM.
    """
    return {name for name, is_there in llvm.get_host_cpu_features().items() if is_there}


class KernelArchive:
    """Compiled kernels that can run here.

    Args:
        content: The archive. It is held in memory: a file that is open would be read at one
            common position by processes that were forked.
    """

    def __init__(self, content: bytes) -> None:
        self._members = ZipFile(io.BytesIO(content))
        self.names = set(self._members.namelist()) - {TARGET_MEMBER}
        self.target = read_target(self._members)

    def load(self, name: str) -> bytes | None:
        """Load a compiled kernel.

        Args:
            name: See `name_kernel`.

        Returns:
            What `write_archive` was given, or None if it is not there.
        """
        return self._members.read(name) if name in self.names else None


def read_target(members: ZipFile) -> KernelTarget:
    """Read for which target an archive is.

    Args:
        members: The archive.

    Returns:
        The target.
    """
    values = json.loads(members.read(TARGET_MEMBER))
    return KernelTarget(**values | {"cpu_features": tuple(values["cpu_features"])})


def write_archive(path: Path, target: KernelTarget, kernels: Mapping[str, bytes]) -> None:
    """Write an archive; the same content gives the same bytes.

    Args:
        path: Where to. A process that reads it at the same time sees the old or the new one.
        target: For which target the kernels were compiled.
        kernels: Compiled kernels by name.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    description = json.dumps(asdict(target), indent=1).encode()
    with ZipFile(part, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in sorted({**kernels, TARGET_MEMBER: description}.items()):
            # Without the time of writing.
            archive.writestr(ZipInfo(name), content, ZIP_DEFLATED, 9)
    part.replace(path)


@lru_cache(maxsize=1)
def open_archive(path: Path = ARCHIVE_PATH) -> KernelArchive | None:
    """Open the archive, if there is one that can be used here.

    Args:
        path: Where it is.

    Returns:
        The archive, or None: it is missing, was compiled for other versions, this CPU lacks
        something, or environment variables ask numba for other code.
    """
    try:
        archive = KernelArchive(path.read_bytes())
    except (OSError, BadZipFile, KeyError, TypeError, ValueError):
        return None
    settings = {name: os.environ[name] for name in COMPILER_SETTINGS if name in os.environ}
    # Whoever builds an archive has the settings of its target and takes over what is unchanged.
    is_wanted = not settings or settings == archive.target.compiler_settings
    can_run = set(archive.target.cpu_features) <= list_cpu_features()
    return archive if is_wanted and can_run and archive.target == get_target() else None


class UnknownDependencyError(TypeError):
    """A kernel depends on something of which it is unknown when it changes."""


def name_kernel(kernel: Dispatcher, signature: Any) -> str:
    """Name a kernel that is compiled for certain types of arguments.

    Numba's own cache compares the file of the function alone. This name follows from the function
    and from all that it uses, wherever that is defined: functions, constants, fields of tuples.

    Args:
        kernel: The kernel.
        signature: Types of the arguments, as numba passes them to its caches.

    Returns:
        A name that changes if the compiled code could change.

    Raises:
        UnknownDependencyError: The kernel uses something else.
    """
    names = "\n".join(map(str, get_argument_types(signature)))
    types_digest = hashlib.sha256(names.encode()).hexdigest()
    function = kernel.py_func
    digest = f"{hash_kernel(kernel)}-{types_digest[:DIGITS]}"
    return f"{function.__module__}.{function.__qualname__}-{digest}"


def get_argument_types(signature: Any) -> tuple[types.Type, ...]:
    """Return the types of the arguments of a call.

    Args:
        signature: What numba passes to its caches.

    Returns:
        The types.
    """
    normalise: Any = sigutils.normalize_signature
    return tuple(normalise(signature)[0])


@cache
def hash_kernel(kernel: Dispatcher) -> str:
    """Hash a kernel and all that it uses.

    Args:
        kernel: The kernel.

    Returns:
        Hexadecimal digits.

    Raises:
        UnknownDependencyError: The kernel uses something of which it is unknown when it changes.
    """
    digest = hashlib.sha256()
    for part in _describe(kernel, set()):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:DIGITS]


# How to describe what never changes while versions of packages stay the same.
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype, types.Type)


def _describe(value: Any, seen: set[str]) -> Iterator[str]:
    if isinstance(value, Dispatcher):
        yield from _describe_function(value.py_func, seen)
        yield repr(sorted(value.targetoptions.items()))
    elif isinstance(value, _PLAIN):
        yield f"{type(value).__qualname__} {value!r}"
    elif isinstance(value, tuple | frozenset):
        yield f"{type(value).__qualname__} {len(value)}"
        for item in sorted(value, key=repr) if isinstance(value, frozenset) else value:
            yield from _describe(item, seen)
    elif isinstance(value, np.ndarray):
        yield f"array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    elif isinstance(value, CodeType):
        yield from _describe_code(value, {}, seen)
    elif isinstance(value, FunctionType) and _is_ours(value.__module__):
        yield from _describe_function(value, seen)
    elif isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        yield f"{value.__module__}.{value.__qualname__} {value._fields}"
    elif isinstance(value, ModuleType) and not _is_ours(value.__name__):
        yield f"module {value.__name__}"
    elif isinstance(value, FunctionType | BuiltinFunctionType | type | np.ufunc) and not _is_ours(
        str(getattr(value, "__module__", ""))
    ):
        yield f"{getattr(value, '__module__', '')}.{value.__name__}"
    else:
        raise UnknownDependencyError(f"a kernel uses {value!r}")


def _describe_function(function: FunctionType, seen: set[str]) -> Iterator[str]:
    name = f"{function.__module__}.{function.__qualname__}"
    yield name
    if name in seen:  # described before; perhaps it calls itself
        return
    seen.add(name)
    yield from _describe(function.__defaults__ or (), seen)
    for cell in function.__closure__ or ():
        yield from _describe(cell.cell_contents, seen)
    yield from _describe_code(function.__code__, function.__globals__, seen)


def _describe_code(code: CodeType, names: Mapping[str, Any], seen: set[str]) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr((code.co_argcount, code.co_names, code.co_varnames, code.co_freevars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _describe_code(constant, names, seen)
        else:
            yield from _describe(constant, seen)
    for name in code.co_names:  # of globals, and of attributes, which are looked up in vain
        if name in names:
            yield from _describe(names[name], seen)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == __name__.partition(".")[0]


def unpack_kernel(content: bytes) -> tuple[Any, ...]:
    """Unpack what `numba.core.serialize.dumps` has packed.

    Args:
        content: A member of an archive. It is code of this package, as trusted as its modules.

    Returns:
        The parts of a compile result.
    """
    parts: tuple[Any, ...] = pickle.loads(content)
    return parts
