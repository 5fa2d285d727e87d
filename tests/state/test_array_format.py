"""Arrays in files: what was written is read again, and damage is told."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from everalign.errors import StateDamagedError, StateError
from everalign.state.array_format import (
    Array,
    parse_array,
    parse_bundle,
    write_array,
    write_bundle,
)
from everalign.state.files import map_arrays, read_arrays, write_arrays
from everalign.state.files import write_bundle as write_bundle_folder

ARRAYS = arrays_of.arrays(
    st.sampled_from(
        [np.dtype(name) for name in ("<i8", "<f4", "|u1", "|b1", "<U3")]
        + [np.dtype([("left", "<i8"), ("score", "<f8")])]
    ),
    arrays_of.array_shapes(min_dims=0, min_side=0, max_side=4),
)


def check_equal(found: Array, expected: Array) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


@given(ARRAYS)
def test_an_array_is_read_as_numpy_reads_it(array: Array) -> None:
    file = BytesIO()
    write_array(array, len(array) if array.ndim else 0, file)
    check_equal(parse_array(file.getvalue()), array)
    file.seek(0)
    check_equal(np.load(file), array)


@given(st.dictionaries(st.text("ab", min_size=1), ARRAYS))
def test_a_bundle_gives_back_its_arrays(arrays: dict[str, Any]) -> None:
    file = BytesIO()
    write_bundle(arrays, file)
    found = parse_bundle(file.getvalue())
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        check_equal(found[name], array)


@pytest.mark.parametrize("cut", [0, 5, 40, 100, -1])
def test_what_is_cut_off_is_told(cut: int) -> None:
    file = BytesIO()
    write_bundle({"a": np.arange(100), "b": np.ones(200)}, file)
    with pytest.raises(ValueError, match=r"."):
        parse_bundle(file.getvalue()[:cut])


def test_objects_are_refused() -> None:
    file = BytesIO()
    np.save(file, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="objects"):
        parse_array(file.getvalue())


def test_long_arrays_with_fields_and_free_space_are_stored(tmp_path: Path) -> None:
    pairs = np.zeros(10_000, np.dtype([("left", "<i8"), ("score", "<f8")]))
    pairs["score"][:7_000] = 0.5
    given_arrays = {"pairs": pairs, "none": np.empty((0, 3), np.int32), "one": np.array(4.0)}
    files = write_arrays(tmp_path / "arrays", given_arrays)
    mapped = map_arrays(tmp_path / "arrays", files)
    for name, array in given_arrays.items():
        check_equal(mapped[name], array)
    # A change stays with the process that makes it.
    mapped["pairs"]["left"][0] = 3
    assert read_arrays(tmp_path / "arrays", files)["pairs"]["left"][0] == 0


@pytest.mark.parametrize("content", [b"", b"x", b"x" * 1000])
def test_a_file_that_was_replaced_is_told(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "arrays"
    files = write_arrays(folder, {"a": np.arange(9)})
    (folder / "a.npy").write_bytes(content)
    for read in (map_arrays, read_arrays):
        with pytest.raises(StateDamagedError, match="has changed"):
            read(folder, files)["a"]
    (folder / "a.npy").unlink()
    with pytest.raises(StateDamagedError, match="is missing"):
        map_arrays(folder, files)["a"]


def test_arrays_of_a_bundle_can_be_changed(tmp_path: Path) -> None:
    files = write_bundle_folder(tmp_path / "bundle", {"a": np.arange(3), "b": np.ones(2)})
    arrays = read_arrays(tmp_path / "bundle", files)
    arrays["a"][0] = 5
    assert (arrays["a"].tolist(), arrays["b"].tolist()) == ([5, 1, 2], [1.0, 1.0])


def test_links_are_refused(tmp_path: Path) -> None:
    files = write_arrays(tmp_path / "arrays", {"a": np.arange(3)})
    (tmp_path / "arrays" / "a.npy").rename(tmp_path / "elsewhere")
    (tmp_path / "arrays" / "a.npy").symlink_to(tmp_path / "elsewhere")
    for read in (map_arrays, read_arrays):
        with pytest.raises(StateError, match=r"a\.npy is a symbolic link"):
            read(tmp_path / "arrays", files)["a"]
    (tmp_path / "linked").symlink_to(tmp_path / "arrays")
    with pytest.raises(StateError, match="linked is a symbolic link"):
        map_arrays(tmp_path / "linked", files)
