"""Arrays in files: what was written is read again, and damage is told."""

from __future__ import annotations

import time
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from xxhash import xxh3_128_hexdigest

from everalign.errors import StateDamagedError, StateError
from everalign.state import files as state_files
from everalign.state.array_format import (
    Array,
    check_bundle,
    read_table,
    view_array,
    write_bundle,
)
from everalign.state.files import read_arrays, write_arrays

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


@given(st.dictionaries(st.text("ab", min_size=1), ARRAYS), st.booleans())
def test_a_bundle_gives_back_its_arrays(arrays: dict[str, Any], compressed: bool) -> None:
    file = BytesIO()
    checksum = write_bundle(arrays, file, compressed=compressed)
    check_bundle(file.getvalue(), checksum)
    table = read_table(file.getvalue(), checksum)
    assert list(table) == list(arrays)
    for name, array in arrays.items():
        check_equal(view_array(file.getvalue(), table[name]), array)


def write_sample() -> tuple[bytes, str]:
    file = BytesIO()
    checksum = write_bundle({"a": np.arange(10), "b": np.ones(3, "u1"), "c": np.empty(0)}, file)
    return file.getvalue(), checksum


@pytest.mark.parametrize("cut", [0, 5, 40, 100, -1])
def test_what_is_cut_off_is_told(cut: int) -> None:
    content, checksum = write_sample()
    with pytest.raises(ValueError, match="has changed"):
        check_bundle(content[:cut], checksum)


def test_a_flip_of_any_bit_is_told() -> None:
    content, checksum = write_sample()
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        with pytest.raises(ValueError, match="has changed"):
            check_bundle(flipped, checksum)


def test_compressed_arrays_are_small_and_can_be_changed(tmp_path: Path) -> None:
    arrays = {"a": np.zeros(1000), "b": np.arange(3)}
    files = write_arrays(tmp_path / "arrays", arrays, compressed=True)
    assert (tmp_path / "arrays" / "arrays.bundle").stat().st_size < 1000
    found = read_arrays(tmp_path / "arrays", files)
    found["a"][0] = 1
    assert (found["a"].sum(), found["b"].tolist()) == (1, [0, 1, 2])


def test_what_was_appended_is_told() -> None:
    content, checksum = write_sample()
    with pytest.raises(ValueError, match="has changed"):
        check_bundle(content + bytes(64), checksum)


def test_objects_are_refused() -> None:
    table = b'{"a": ["|O", [1], 0, 8, ""]}'
    header = len(table).to_bytes(8, "little") + table
    with pytest.raises(ValueError, match="objects"):
        read_table(header + bytes(8), xxh3_128_hexdigest(header))


def test_long_arrays_with_fields_and_free_space_are_stored(tmp_path: Path) -> None:
    pairs = np.zeros(10_000, np.dtype([("left", "<i8"), ("score", "<f8")]))
    pairs["score"][:7_000] = 0.5
    given_arrays = {"pairs": pairs, "none": np.empty((0, 3), np.int32), "one": np.array(4.0)}
    files = write_arrays(tmp_path / "arrays", given_arrays)
    mapped = read_arrays(tmp_path / "arrays", files)
    for name, array in given_arrays.items():
        check_equal(mapped[name], array)
    # A change stays with the process that makes it.
    mapped["pairs"]["left"][0] = 3
    assert read_arrays(tmp_path / "arrays", files)["pairs"]["left"][0] == 0


@pytest.mark.parametrize("content", [b"", b"x", b"x" * 1000])
def test_a_file_that_was_replaced_is_told(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "arrays"
    files = write_arrays(folder, {"a": np.arange(9)})
    (folder / "arrays.bundle").write_bytes(content)
    with pytest.raises(StateDamagedError, match="has changed"):
        read_arrays(folder, files)
    (folder / "arrays.bundle").unlink()
    with pytest.raises(StateDamagedError, match="is missing"):
        read_arrays(folder, files)


@pytest.mark.parametrize("settled_after", [0, state_files.MIN_SETTLED_NANOSECONDS])
def test_damage_is_told_also_by_a_process_that_has_read_the_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settled_after: int
) -> None:
    # Files that were written just now are never remembered as whole, which would take seconds to
    # wait for.
    monkeypatch.setattr(state_files, "MIN_SETTLED_NANOSECONDS", settled_after)
    folder, path = tmp_path / "arrays", tmp_path / "arrays" / "arrays.bundle"
    checksums = write_arrays(folder, {"a": np.arange(9), "b": np.ones(5)})
    for _ in range(2):
        assert read_arrays(folder, checksums)["a"].tolist() == list(range(9))
    time.sleep(0.05)  # longer than the clock of a file system takes to go on
    content = bytearray(path.read_bytes())
    content[content.index(np.arange(9).tobytes()) + 8] ^= 4
    path.write_bytes(content)
    arrays = read_arrays(folder, checksums)
    assert arrays["b"].tolist() == [1.0] * 5
    with pytest.raises(StateDamagedError, match="has changed"):
        _ = arrays["a"]


def test_a_file_that_was_written_just_now_may_still_change(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a")
    now = path.stat()
    assert not state_files.FileIdentity.from_stat(now).is_settled
    earlier = now.st_mtime_ns - 2 * state_files.MIN_SETTLED_NANOSECONDS
    identity = state_files.FileIdentity.from_stat(now)._replace(modified=earlier, changed=earlier)
    assert identity.is_settled
    # A change of either time counts: the time of modification can be set at will.
    assert not identity._replace(changed=now.st_ctime_ns).is_settled


def test_arrays_of_a_bundle_can_be_changed(tmp_path: Path) -> None:
    files = write_arrays(tmp_path / "bundle", {"a": np.arange(3), "b": np.ones(2)})
    arrays = read_arrays(tmp_path / "bundle", files)
    arrays["a"][0] = 5
    assert (arrays["a"].tolist(), arrays["b"].tolist()) == ([5, 1, 2], [1.0, 1.0])


def test_links_are_refused(tmp_path: Path) -> None:
    files = write_arrays(tmp_path / "arrays", {"a": np.arange(3)})
    path = tmp_path / "arrays" / "arrays.bundle"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError, match=r"arrays\.bundle is a symbolic link"):
        read_arrays(tmp_path / "arrays", files)
    (tmp_path / "linked").symlink_to(tmp_path / "arrays")
    with pytest.raises(StateError, match="linked is a symbolic link"):
        read_arrays(tmp_path / "linked", files)
