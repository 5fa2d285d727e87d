"""A memory limit: the allocator against plain memory, and what happens where it cannot be kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from everalign import Aligner, ConfigError, MemoryLimitError, limit_memory
from everalign._memory_limit import check_scratch_room, parse_byte_size
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from memory_limit import NO_LIMIT, measure_command, write_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a memory limit needs Linux")

# Small enough for files, which are what is tested; beyond what the tests have in memory by then.
PRELUDE = """
import ctypes, sys
import numpy as np
from numba import njit
import everalign.aligner
from everalign import limit_memory
from everalign import _memory_limit
from everalign import _spilling_allocator as words
from everalign._platform import anonymous_memory_bytes
LIMIT = anonymous_memory_bytes() + 230_000_000
def control():
    return _memory_limit._allocator.control
def check_nothing_is_left():
    # But for arenas, in which there may be small objects that live on.
    table = control()[words.TABLE :].reshape(-1, 2)
    sizes = table[table[:, 0] != 0, 1]
    assert len(sizes) == control()[words.MAPPED_COUNT], control()[:8]
    assert sizes.sum() == control()[words.MAPPED_BYTES], control()[:8]
    assert (sizes == 1 << 20).all(), sizes
"""


def run_script(text: str, *arguments: object, check: bool = True) -> str:
    """Run a script in a process of its own: the allocator stays for the life of a process."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + dedent(text), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_random_blocks_keep_their_content(tmp_path: Path) -> None:
    output = run_script(
        """
        from random import Random
        random, blocks = Random(1), []
        libc = ctypes.pythonapi
        for function in (libc.PyMem_RawMalloc, libc.PyMem_RawCalloc, libc.PyMem_RawRealloc):
            function.restype = ctypes.c_void_p
        libc.PyMem_RawFree.argtypes = [ctypes.c_void_p]
        libc.PyMem_RawRealloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        libc.PyMem_RawMalloc.argtypes = [ctypes.c_size_t]
        libc.PyMem_RawCalloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]

        def fill(address, size):
            value = random.randrange(256)
            ctypes.memset(address, value, size)
            return value

        def check(address, size, value):
            assert ctypes.string_at(address, size) == bytes([value]) * size

        with limit_memory(LIMIT, sys.argv[1]):
            # Held all the time, so that there is room for a few of the blocks only.
            ballast = [np.ones(30_000_000, np.uint8) for _ in range(8)]
            mapped_once = 0
            for _ in range(400):
                action = random.choice(["malloc", "calloc", "realloc", "free"])
                size = random.choice([0, 100, 1 << 15, 1 << 20, *random.sample(range(1 << 22), 4)])
                if action == "malloc" and len(blocks) < 30:
                    address = libc.PyMem_RawMalloc(size)
                    blocks.append((address, size, fill(address, size)))
                elif action == "calloc" and len(blocks) < 30:
                    address = libc.PyMem_RawCalloc(size, 1)
                    check(address, size, 0)
                    blocks.append((address, size, fill(address, size)))
                elif blocks:
                    address, old, value = blocks.pop(random.randrange(len(blocks)))
                    check(address, old, value)
                    if action == "realloc":
                        address = libc.PyMem_RawRealloc(address, size)
                        check(address, min(old, size), value)
                        blocks.append((address, size, fill(address, size)))
                    else:
                        libc.PyMem_RawFree(address)
                assert address % 16 == 0
                mapped_once = max(mapped_once, int(control()[words.MAPPED_COUNT]))
            assert mapped_once > 5, mapped_once
            for address, size, value in blocks:
                check(address, size, value)
                libc.PyMem_RawFree(address)
        del ballast
        check_nothing_is_left()
        print("done")
        """,
        tmp_path,
    )
    assert "done" in output


def test_arrays_of_numpy_threads_and_kernels_stay_below_the_limit(tmp_path: Path) -> None:
    output = run_script(
        """
        from everalign._parallel import map_parallel

        @njit(nogil=True)
        def count_up(size):
            values = np.empty(size, np.int64)
            for i in range(size):
                values[i] = i
            return values

        count_up(3)
        with limit_memory(LIMIT, sys.argv[1]):
            arrays = [np.arange(10_000_000) for _ in range(3)]
            arrays += [count_up(10_000_000) for _ in range(3)]
            arrays += map_parallel(lambda number: np.arange(10_000_000), 4)
            text = b"x" * 300_000_000
            grown = np.arange(5_000_000)
            grown.resize(10_000_000)
            assert anonymous_memory_bytes() < LIMIT
            assert control()[words.MAPPED_BYTES] > 900_000_000
            for array in arrays:
                assert (array == arrays[0]).all() and array.sum() == 49_999_995_000_000
            assert grown[:5_000_000].sum() == 12_499_997_500_000 and not grown[5_000_000:].any()
        # They live on, and are freed after the limit has ended.
        assert arrays[-1][-1] == 9_999_999 and text.count(b"x") == 300_000_000
        del arrays, array, text, grown
        check_nothing_is_left()
        print("done")
        """,
        tmp_path,
    )
    assert "done" in output
    assert list(tmp_path.iterdir()) == []


def test_small_objects_stay_below_the_limit(tmp_path: Path) -> None:
    output = run_script(
        """
        with limit_memory(LIMIT, sys.argv[1]):
            names = [f"a name that is not like any other {number}" for number in range(5_000_000)]
            assert anonymous_memory_bytes() < LIMIT
            assert control()[words.MAPPED_BYTES] > 100_000_000
            assert len(set(names[::1000])) == 5000
        del names
        print("done")
        """,
        tmp_path,
    )
    assert "done" in output


def test_threads_allocate_and_free_at_once(tmp_path: Path) -> None:
    output = run_script(
        """
        from everalign._parallel import map_parallel
        from random import Random

        def work(number):
            random, total = Random(number), 0
            for _ in range(25):
                array = np.full(random.randrange(1 << 16, 1 << 18), number)
                array = np.concatenate([array, array])
                assert (array == number).all()
            return number

        import os
        os.environ["EVERALIGN_THREADS"] = "4"
        with limit_memory(LIMIT, sys.argv[1]):
            ballast = [np.ones(30_000_000, np.uint8) for _ in range(8)]
            assert map_parallel(work, 8) == list(range(8))
        del ballast
        check_nothing_is_left()
        assert control()[words.PEAK_MAPPED_BYTES] > 0
        print("done")
        """,
        tmp_path,
    )
    assert "done" in output


def test_limits_that_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="too small"), limit_memory("50MB", tmp_path):
        pass
    with pytest.raises(ConfigError, match="no such directory"), limit_memory("64GB", "no/such"):
        pass
    if Path("/dev/shm").is_dir():
        with pytest.raises(ConfigError, match="in memory"), limit_memory("64GB", "/dev/shm"):
            pass
    with pytest.raises(ConfigError, match="expected a size"), limit_memory("much", tmp_path):
        pass
    assert "give at least" in run_script(
        "with limit_memory(LIMIT - 100_000_000, sys.argv[1]): pass", tmp_path, check=False
    )


def test_disk_without_room(tmp_path: Path) -> None:
    with (
        pytest.raises(MemoryLimitError, match="--scratch"),
        limit_memory("64GB", tmp_path),
    ):
        check_scratch_room(10**13)
    check_scratch_room(10**13)  # no limit holds


def test_array_for_which_there_is_no_room(tmp_path: Path) -> None:
    # More than a file system of a test machine can have, and less than the address space.
    with (
        pytest.raises(MemoryLimitError, match=r"full|exhausted"),
        limit_memory("64GB", tmp_path),
    ):
        np.empty(10**13, np.int64)
    assert list(tmp_path.iterdir()) == []


def test_full_disk(tmp_path: Path) -> None:
    output = run_script(
        """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        with limit_memory(LIMIT, sys.argv[1]):
            arrays = [np.empty(80_000_000, np.uint8) for _ in range(5)]
        """,
        tmp_path,
        check=False,
    )
    assert "MemoryLimitError" in output
    assert "the disk is full" in output


@pytest.mark.slow
def test_broken_off_update_leaves_the_version_before(tmp_path: Path) -> None:
    sample = generate_sample(SampleConfig(triples=20_000, snapshots=2))
    state, scratch = tmp_path / "my.state", tmp_path / "scratch"
    aligner = Aligner.create(state, sample.left(0), sample.right(0), sample.seeds)
    before = list(aligner.links())
    (tmp_path / "more.tsv").write_text(
        "".join("\t".join(triple) + "\n" for triple in sample.left(1)), encoding="utf-8"
    )
    scratch.mkdir()
    output = run_script(
        """
        import shutil
        from everalign import Aligner
        with limit_memory(LIMIT, sys.argv[2]):
            shutil.rmtree(sys.argv[2])
            small = words.LARGE_BYTES + 1
            arrays = []

            def progress(*_):
                # Takes all memory that is left as soon as the update has begun.
                arrays.append(np.empty(small, np.uint8))
                while control()[words.HELD_BYTES] < LIMIT:
                    arrays.append(np.empty(small, np.uint8))

            Aligner.open(sys.argv[1]).update(left=sys.argv[3], progress=progress, full=True)
        """,
        state,
        scratch,
        tmp_path / "more.tsv",
        check=False,
    )
    assert "MemoryLimitError" in output
    assert "no file for an array" in output
    assert list(aligner.links()) == before
    aligner.update(left=tmp_path / "more.tsv")
    assert aligner.status().reports[-1].version == 1
    assert aligner.verify().findings == ()


@pytest.mark.slow
def test_same_links_below_the_limit(tmp_path: Path) -> None:
    write_files(tmp_path, 300_000, seed=0, labels=False)
    rows = [measure_command(tmp_path, limit) for limit in (NO_LIMIT, "280MB")]
    assert rows[0]["digest"] == rows[1]["digest"]
    assert rows[0]["peak_anonymous_mb"] * 2**20 > 280e6, "nothing to limit"
    assert rows[1]["peak_anonymous_mb"] * 2**20 < 280e6


def test_sizes() -> None:
    assert parse_byte_size("1.5 GB") == 1_500_000_000
    assert parse_byte_size("512MiB") == 512 << 20
    assert parse_byte_size(12) == 12
