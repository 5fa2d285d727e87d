"""Parquet → triples and literals, by pyarrow, which is an extra."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from everalign.errors import ConfigError, InputError
from everalign.rdf.literals import with_literals
from everalign.rdf.names import Triple, shortened, without_brackets
from everalign.rdf.reading import Reading
from everalign.rdf.statements import Statements

ROWS = 4096
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
            for batch in file.iter_batches(ROWS, columns=list(columns)):
                values = [batch.column(name).to_pylist() for name in columns]
                yield with_literals(_rows(values, columns, number, reading))
                number += len(batch)
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"cannot be read as Parquet ({reason})", path=reading.path) from None


def _rows(
    values: list[list[str | None]], columns: tuple[str, ...], number: int, reading: Reading
) -> list[Triple]:
    rows = []
    for row, fields in enumerate(zip(*values, strict=True), number):
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
    groups = range(file.metadata.num_row_groups)
    largest = max((file.metadata.row_group(n).total_byte_size for n in groups), default=0)
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
