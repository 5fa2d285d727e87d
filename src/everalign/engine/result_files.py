"""Results of tasks as Arrow files, which are mapped and not read.

A file has a record batch for each chunk: the pickled result, and the arrays of which it consists.
Arrays become views of the file; whoever writes to one gets a copy of that page.
"""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

# Where an array begins: no type of number needs more.
ALIGNMENT = 64


def write_results(path: Path, results: Iterable[tuple[int, Any]]) -> None:
    """Write results of chunks.

    Args:
        path: The file.
        results: The number of each chunk and its result, computed while they are written.
    """
    import pyarrow

    fields = [("chunk", pyarrow.int32()), ("size", pyarrow.int64())]
    schema = pyarrow.schema([*fields, ("content", pyarrow.large_binary())])
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, schema) as writer:
        for number, result in results:
            buffers: list[pickle.PickleBuffer] = []
            pickled = pickle.dumps(result, 5, buffer_callback=buffers.append)
            contents = [memoryview(pickled), *(buffer.raw() for buffer in buffers)]
            sizes = [content.nbytes for content in contents]
            padded = [
                b"".join([content, bytes(-content.nbytes % ALIGNMENT)]) for content in contents
            ]
            columns = [
                pyarrow.array([number] * len(sizes), pyarrow.int32()),
                pyarrow.array(sizes, pyarrow.int64()),
                pyarrow.array(padded, pyarrow.large_binary()),
            ]
            writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=schema))


def read_results(path: Path) -> Iterator[tuple[int, Any]]:
    """Read what `write_results` has written.

    Args:
        path: The file.

    Yields:
        The number of each chunk and its result.
    """
    import pyarrow

    with path.open("rb") as file:
        # Pages are copied when they are written to: arrays are as they are in this process,
        # where compiled functions tell those that cannot be written to from others.
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    whole = pyarrow.py_buffer(mapped)
    with pyarrow.ipc.open_file(whole) as reader:
        for place in range(reader.num_record_batches):
            batch = reader.get_batch(place)
            numbers, sizes, contents = batch.columns
            _, offsets, content = contents.buffers()
            first = content.address - whole.address
            starts = np.frombuffer(offsets, np.int64, len(sizes)) + first
            views = [
                mapped[start : start + size]
                for start, size in zip(starts.tolist(), sizes.to_pylist(), strict=True)
            ]
            yield numbers[0].as_py(), pickle.loads(views[0], buffers=views[1:])
