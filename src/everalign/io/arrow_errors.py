"""Errors of pyarrow, which has many kinds with several lines each, as one line about the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from everalign.errors import InputError


@contextmanager
def convert_arrow_errors(path: Path) -> Iterator[None]:
    """Convert what pyarrow raises for a file that is not as it should be.

    Args:
        path: The file.

    Yields:
        Nothing.

    Raises:
        InputError: The file does not exist, cannot be read, or is not Parquet.
    """
    # Imported already by whoever reads Parquet.
    import pyarrow

    try:
        yield
    except FileNotFoundError:
        raise InputError("does not exist", path=path) from None
    # Damaged text, lengths and dictionaries end in errors of Python.
    except (
        pyarrow.ArrowException,
        OSError,
        ValueError,
        OverflowError,
        MemoryError,
        IndexError,
    ) as error:
        lines = [" ".join(line.split()) for line in str(error).splitlines() if line.strip()]
        reason = (lines[0] if lines else type(error).__name__)[:200]
        raise InputError(f"cannot be read as Parquet ({reason})", path=path) from None
