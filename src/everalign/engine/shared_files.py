"""Work as files that other processes can read: a pickle, and the arrays that it refers to.

Arrays are stored by their content: one that several steps refer to is stored once, and a step that
is the same in another run has the same name.
"""

from __future__ import annotations

import importlib
import io
import os
import pickle
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray
from xxhash import xxh3_128

from everalign.errors import EngineError

# Smaller arrays are part of the pickle.
MIN_ARRAY_BYTES = 4096


class SharedFiles:
    """A directory of pickles and arrays that all workers can read.

    Args:
        directory: Made if it is not there.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def store_work(self, work: Callable[..., Any]) -> Path:
        """Store a function with all that it refers to.

        Args:
            work: The function.

        Returns:
            The path of its pickle; the name follows from the content.
        """
        from pyspark.cloudpickle import Pickler

        files = self

        class WorkPickler(Pickler):
            def persistent_id(self, obj: Any) -> Any:
                if isinstance(obj, np.ndarray) and obj.nbytes >= MIN_ARRAY_BYTES:
                    return files.store_array(obj), obj.dtype.str, obj.shape
                return None

            def reducer_override(self, obj: Any) -> Any:
                if isinstance(obj, Dispatcher):
                    return _import_function, (obj.py_func.__module__, obj.py_func.__qualname__)
                return super().reducer_override(obj)  # type: ignore[no-untyped-call]

        buffer = io.BytesIO()
        pickler: Any = WorkPickler(buffer, pickle.HIGHEST_PROTOCOL)  # type: ignore[no-untyped-call]
        pickler.dump(work)
        content = buffer.getvalue()
        return self._store(f"{xxh3_128(content).hexdigest()}.pickle", memoryview(content))

    def store_array(self, array: NDArray[Any]) -> str:
        """Store an array, if it is not there.

        Args:
            array: Any array of numbers.

        Returns:
            The name of its file.
        """
        values = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        name = f"{xxh3_128(values.data).hexdigest()}.array"
        self._store(name, values.data)
        return name

    def _store(self, name: str, content: memoryview) -> Path:
        path = self._directory / name
        if not path.exists():
            # Under another name first: a file that is there is whole.
            part = path.with_name(f"{name}.{os.getpid()}.part")
            try:
                part.write_bytes(content)
                part.replace(path)
            except OSError as error:
                part.unlink(missing_ok=True)
                problem = f"cannot be written ({error.strerror})"
                raise EngineError(f"{self._directory}: {problem}") from error
        return path


def _import_function(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


class _WorkUnpickler(pickle.Unpickler):
    def __init__(self, path: Path) -> None:
        super().__init__(io.BytesIO(path.read_bytes()))
        self._directory = path.parent

    def persistent_load(self, pid: Any) -> NDArray[Any]:
        name, dtype, shape = pid
        # Mapped: all workers of a machine share the memory. Not as an array that cannot be
        # written to: compiled functions have other types for these, and would be compiled anew.
        array = np.memmap(self._directory / name, np.dtype(dtype), "c", shape=shape)
        return array.view(np.ndarray)


@lru_cache(maxsize=2)
def load_work(path: str) -> Callable[[int, int], Any]:
    """Load a function that was stored; the last ones are kept.

    Args:
        path: The path of its pickle.

    Returns:
        The function. Its arrays are read when they are needed.

    Raises:
        EngineError: The file is not there.
    """
    try:
        return cast(Callable[[int, int], Any], _WorkUnpickler(Path(path)).load())
    except FileNotFoundError as error:
        host = os.uname().nodename
        raise EngineError(
            f"the worker on {host} has no file {error.filename}: the directory of the engine must "
            "be one that all workers share under the same path"
        ) from error
