"""Parquet → triples and literals, by pyarrow, which is an extra."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from everalign.errors import ConfigError, InputError
from everalign.rdf.compression import HARMLESS_BYTES, MOST_TIMES_LARGER
from everalign.rdf.literals import with_literals
from everalign.rdf.names import Triple, shortened, without_brackets
from everalign.rdf.reading import Reading
from everalign.rdf.statements import Statements

ROWS = 512
_HELD_CHARACTERS = 1 << 24
Texts: TypeAlias = tuple[str | None, ...]

COLUMNS = (("head", "relation", "tail"), ("subject", "predicate", "object"))
# A part of the file that is read at once.
LARGEST_GROUP_BYTES = 1 << 31


def statements_of(reading: Reading) -> Iterator[Statements]:
    """What stands in three columns of a Parquet file, as it would in a table."""
    arrow = _pyarrow()
    number = 1
    try:
        with arrow.parquet.ParquetFile(reading.path, memory_map=False) as file:
            columns = _columns(arrow, file, reading.path)
        for rows in texts_of(columns, reading.path):
            yield with_literals(_rows(rows, columns, number, reading))
            number += len(rows)
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"cannot be read as Parquet ({reason})", path=reading.path) from None


def texts_of(columns: Sequence[str], path: Path) -> Iterator[list[Texts]]:
    """The rows of some columns of text, as many at a time as can be held.

    A few bytes can stand for very many: a text that is repeated is held once, and a file that
    swells without measure is refused, as packed ones are.
    """
    arrow = _pyarrow()
    given, most = 0, max(HARMLESS_BYTES, MOST_TIMES_LARGER * path.stat().st_size)
    with arrow.parquet.ParquetFile(
        path, memory_map=False, read_dictionary=list(columns), pre_buffer=False
    ) as file:
        if _unpacked(file) > most:
            raise _swollen(path)
        for batch in file.iter_batches(_at_once(file), columns=list(columns)):
            rows: list[Texts] = []
            held = 0
            for row in zip(*(_texts(batch.column(name)) for name in columns), strict=True):
                rows.append(row)
                size = sum(len(text or "") for text in row)
                held, given = held + size, given + size
                if given > most:
                    raise _swollen(path)
                if held > _HELD_CHARACTERS:
                    yield rows
                    rows, held = [], 0
            yield rows


def _groups(file: Any) -> list[Any]:
    return [file.metadata.row_group(n) for n in range(file.metadata.num_row_groups)]


def _unpacked(file: Any) -> int:
    """How many bytes the file says it has when it is unpacked."""
    return sum(group.total_byte_size for group in _groups(file))


def _swollen(path: Path) -> InputError:
    problem = f"the Parquet data swells to more than {MOST_TIMES_LARGER} times its size"
    return InputError(f"{problem}: this is no graph", path=path)


def _at_once(file: Any) -> int:
    """How many rows to read at once: fewer where they are long."""
    lengths = [group.total_byte_size // max(1, group.num_rows) for group in _groups(file)]
    longest = int(max([1, *lengths]))
    return max(1, min(ROWS, _HELD_CHARACTERS // longest))


def _texts(column: Any) -> list[str | None]:
    if not hasattr(column, "dictionary"):
        texts: list[str | None] = column.to_pylist()
        return texts
    # A text that many rows share is made once.
    values = column.dictionary.to_pylist()
    return [None if place is None else values[place] for place in column.indices.to_pylist()]


def _rows(
    texts: list[Texts], columns: tuple[str, ...], number: int, reading: Reading
) -> list[Triple]:
    rows = []
    for row, fields in enumerate(texts, number):
        head, relation, tail = fields
        if head and relation and tail:
            names = without_brackets(head), without_brackets(relation), without_brackets(tail)
            rows.append(names)
        else:
            empty = columns[[bool(field) for field in fields].index(False)]
            reading.fault(InputError(f"row {row}: the {empty} is empty", path=reading.path))
    return rows


def _columns(arrow: Any, file: Any, path: Path) -> tuple[str, ...]:
    schema = file.schema_arrow
    columns = next((names for names in COLUMNS if set(names) <= set(schema.names)), None)
    if columns is None:
        expected = " or ".join(", ".join(names) for names in COLUMNS)
        found = shortened(", ".join(schema.names))
        raise InputError(f"expected the columns {expected}, found {found}", path=path)
    for name in columns:
        if not _is_text(arrow, schema.field(name).type):
            problem = f"the column {name!r} is not text but {schema.field(name).type}"
            raise InputError(problem, path=path)
    largest = max((group.total_byte_size for group in _groups(file)), default=0)
    if largest > LARGEST_GROUP_BYTES:
        problem = f"a row group has more than {LARGEST_GROUP_BYTES >> 30} GiB: write smaller ones"
        raise InputError(problem, path=path)
    return columns


def _is_text(arrow: Any, kind: Any) -> bool:
    if arrow.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(arrow.types.is_string(kind) or arrow.types.is_large_string(kind))


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"Parquet needs {error.name}: pip install 'everalign[parquet]'"
        ) from error
    return pyarrow
