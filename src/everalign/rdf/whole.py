"""A file that appears when all of it is written, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: str | Path) -> Iterator[IO[bytes]]:
    """A stream into a file; an error leaves what was there before as it was.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     with whole_file(Path(directory, "links.tsv")) as stream:
    ...         _ = stream.write(b"a\\tA\\n")
    ...     Path(directory, "links.tsv").read_text()
    'a\\tA\\n'
    """
    # Behind a link that leads elsewhere, the file is written where it is.
    path = Path(path).resolve()
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:  # a device or a pipe, which nothing may replace
            yield stream
        return
    unfinished = path.with_name(f".{path.name[:200]}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(path)
    except OSError as error:
        # Nobody has asked for the file that is not finished.
        if error.filename == str(unfinished):
            error.filename = str(path)
        raise
    finally:
        unfinished.unlink(missing_ok=True)
