"""Compiled kernels come from the archive if it fits, and are compiled if it does not."""

from __future__ import annotations

import gc
import importlib
import pickle
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import everalign
from everalign import _kernel_archive, _numba
from everalign._kernel_archive import (
    COMPILER_SETTINGS,
    KernelArchive,
    KernelTarget,
    UnknownDependencyError,
    get_target,
    hash_kernel,
    open_archive,
    write_archive,
)
from everalign._numba import jit_cached

NUMBERS = np.arange(4.0)
# What this machine can run, whatever its CPU.
TARGET = replace(get_target(), cpu="generic", cpu_features=())


@pytest.fixture(autouse=True)
def _fresh_archive(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in COMPILER_SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_kernel_archive, "get_target", lambda: TARGET)
    open_archive.cache_clear()
    yield
    open_archive.cache_clear()


def make_kernel(factor: float) -> Any:
    """Make a kernel that uses another one and a constant, as if it were from a new process."""

    @jit_cached()
    def scale(value: float) -> float:
        return value * factor

    @jit_cached()
    def sum_up(values: Any) -> float:
        total = 0.0
        for value in values:
            total += scale(value)
        return total

    # Numba's own cache would have it after the first test.
    kernels: tuple[Any, ...] = (scale, sum_up)
    for kernel in kernels:
        kernel._cache._written.disable()
    return sum_up


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive with the kernel that multiplies by two."""
    recorded: dict[str, bytes] = {}
    with monkeypatch.context() as patch:
        patch.setattr(_numba, "recorded_kernels", recorded)
        patch.setattr(_numba, "open_archive", lambda: None)
        assert make_kernel(2.0)(NUMBERS) == 12.0
    path = tmp_path / "kernels.zip"
    write_archive(path, TARGET, recorded)
    return path


def use_archive(path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelArchive | None:
    archive = open_archive(path)
    monkeypatch.setattr(_numba, "open_archive", lambda: archive)
    return archive


def count_compiled(kernel: Any) -> int:
    return sum(kernel.stats.cache_misses.values())


def test_a_kernel_in_the_archive_is_not_compiled(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert use_archive(archive, monkeypatch)
    kernel = make_kernel(2.0)
    assert kernel(NUMBERS) == 12.0
    assert count_compiled(kernel) == 0


def test_other_argument_types_are_compiled(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert use_archive(archive, monkeypatch)
    kernel = make_kernel(2.0)
    assert kernel(NUMBERS.astype(np.float32)) == 12.0
    assert count_compiled(kernel) == 1


def test_a_change_in_what_a_kernel_uses_is_noticed(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert use_archive(archive, monkeypatch)
    kernel = make_kernel(3.0)  # of the function that it calls
    assert kernel(NUMBERS) == 18.0
    assert count_compiled(kernel) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"numba": "0.1"},
        {"llvmlite": "0.1"},
        {"numpy": "1.0"},
        {"python": "cpython-39"},
        {"system": "beos-x86_64"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_an_archive_for_another_target_is_left_aside(tmp_path: Path, other: Any) -> None:
    path = tmp_path / "kernels.zip"
    write_archive(path, replace(TARGET, **other), {})
    assert open_archive(path) is None
    write_archive(path, TARGET, {})
    open_archive.cache_clear()
    assert open_archive(path) is not None


def test_an_older_cpu_compiles_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = replace(TARGET, cpu_features=("avx2", "sse2"))
    monkeypatch.setattr(_kernel_archive, "get_target", lambda: target)
    path = tmp_path / "kernels.zip"
    write_archive(path, target, {})
    monkeypatch.setattr(_kernel_archive, "list_cpu_features", lambda: {"sse2"})
    assert open_archive(path) is None
    monkeypatch.setattr(_kernel_archive, "list_cpu_features", lambda: {"sse2", "avx2", "sha"})
    open_archive.cache_clear()
    assert open_archive(path) is not None


def test_settings_of_numba_are_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kernels.zip"
    write_archive(path, TARGET, {})
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert open_archive(path) is None


@pytest.mark.parametrize("content", [None, b"", b"PK\3\4 and no more"])
def test_a_missing_or_damaged_archive_is_left_aside(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "kernels.zip"
    if content is not None:
        path.write_bytes(content)
    assert open_archive(path) is None


def test_the_same_kernels_give_the_same_archive(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_archive(tmp_path / name, TARGET, {"b": b"2", "a": b"1"})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_an_archive_can_be_used_by_other_processes(archive: Path) -> None:
    """It says of itself where it can run, and its kernels are found by name alone."""
    read = KernelArchive(archive.read_bytes())
    assert isinstance(read.target, KernelTarget)
    assert len(read.names) == 2
    content = read.load(min(read.names))
    assert content is not None
    assert pickle.loads(content)


class Pair(NamedTuple):
    first: int


def test_it_is_known_when_kernels_change() -> None:
    """No kernel of the package uses anything of which that is unknown."""
    for module in pkgutil.walk_packages(everalign.__path__, "everalign."):
        if "evidence" in module.name or "literals" in module.name:
            importlib.import_module(module.name)
    # By its type alone: objects of other packages may answer `isinstance` with a warning.
    kernels: list[Any] = [
        found for found in gc.get_objects() if issubclass(type(found), Dispatcher)
    ]
    ours = [kernel for kernel in kernels if kernel.py_func.__module__.startswith("everalign.")]
    assert len({hash_kernel(kernel) for kernel in ours}) > 100


def test_a_kernel_with_an_unknown_dependency_is_refused() -> None:
    listed = [1]

    @jit_cached()
    def use_list() -> int:
        return listed[0]

    @jit_cached()
    def use_pair(pair: Pair) -> Pair:
        return Pair(pair.first)

    with pytest.raises(UnknownDependencyError):
        hash_kernel(use_list)
    assert hash_kernel(use_pair)
