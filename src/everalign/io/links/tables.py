"""Links as tables: tab-separated text, JSON lines and Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from everalign.errors import InputError
from everalign.io.links.records import ExportStyle, LinkLine, LinkRow
from everalign.io.streams import TextBlock, read_text_blocks
from everalign.io.tables import (
    check_fields,
    check_text_column,
    convert_parquet_errors,
    import_pyarrow,
    is_blank_line,
    read_columns,
)
from everalign.io.terms import shorten_text, strip_brackets

_COLUMNS = ("left", "right")


def write_tsv(rows: Sequence[LinkRow], _style: ExportStyle) -> Iterator[bytes]:
    """Format links as a tab-separated table: left, right, score.

    Args:
        rows: The links.
        _style: Not used.

    Yields:
        The lines of the file.

    Raises:
        InputError: A name cannot be written in a table.
    """
    for row in rows:
        left, right = _check_cell(row.left), _check_cell(row.right)
        # `repr` of a Python float reads back as the same number; that of numpy has its type in it.
        yield f"{left}\t{right}\t{float(row.score)!r}\n".encode()


def parse_tsv_block(block: TextBlock, path: Path) -> Iterator[LinkLine]:
    """Parse lines of a tab-separated table: left, right, and optionally a score.

    Args:
        block: Some lines of the file.
        path: The file, for error messages.

    Yields:
        Each link with its line number.

    Raises:
        InputError: A line does not have these columns.
    """
    for number, line in block.lines():
        if is_blank_line(line):
            continue
        fields = line.split("\t")
        if len(fields) == 3:
            _check_score(fields.pop(), path, number)
        left, right = check_fields(fields, _COLUMNS, path, number)
        yield LinkLine(left, right, number)


def write_jsonl(rows: Sequence[LinkRow], _style: ExportStyle) -> Iterator[bytes]:
    """Format links as JSON lines with the keys left, right, score, since and origin.

    Args:
        rows: The links.
        _style: Not used.

    Yields:
        The lines of the file.
    """
    for row in rows:
        yield format_json_line(row._asdict())


def format_json_line(value: dict[str, object]) -> bytes:
    """Format a JSON object as a line.

    Args:
        value: The object.

    Returns:
        The line with its line end, in UTF-8.
    """
    return f"{json.dumps(value, ensure_ascii=False)}\n".encode()


def read_jsonl(path: Path) -> Iterator[LinkLine]:
    """Read links from JSON lines; keys other than left and right are ignored.

    Args:
        path: The file, optionally compressed.

    Yields:
        Each link with its line number.

    Raises:
        InputError: A line is not an object with left and right.
    """
    for block in read_text_blocks(path):
        for number, line in block.lines():
            if line.strip():
                yield _make_link(_parse_json_line(line, path, number), path, number)


def write_parquet(rows: Sequence[LinkRow], _style: ExportStyle) -> Iterator[bytes]:
    """Format links as Parquet with the columns left, right, score, since and origin.

    Args:
        rows: The links.
        _style: Not used.

    Yields:
        The content of the file.

    Raises:
        ConfigError: pyarrow is not installed.
    """
    arrow = import_pyarrow()
    types = (arrow.string(), arrow.string(), arrow.float64(), arrow.int64(), arrow.string())
    schema = arrow.schema(list(zip(LinkRow._fields, types, strict=True)))
    # Without rows there is nothing to transpose, but a file still has its columns.
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    arrays = [arrow.array(values, kind) for values, kind in zip(columns, types, strict=True)]
    stream = BytesIO()
    arrow.parquet.write_table(arrow.Table.from_arrays(arrays, schema=schema), stream)
    yield stream.getvalue()


def read_parquet(path: Path) -> Iterator[LinkLine]:
    """Read links from the columns left and right of a Parquet file.

    Args:
        path: The file.

    Yields:
        Each link with the number of its row.

    Raises:
        InputError: The file is not Parquet, lacks the columns, or has empty fields.
        ConfigError: pyarrow is not installed.
    """
    arrow = import_pyarrow()
    number = 0
    with convert_parquet_errors(path):
        with arrow.parquet.ParquetFile(path) as file:
            _check_columns(file.schema_arrow, path)
        for rows in read_columns(_COLUMNS, path):
            for row in rows:
                number += 1
                yield _make_link(dict(zip(_COLUMNS, row, strict=True)), path, number)


def _check_cell(name: str) -> str:
    # A name that would read back as another one, or as two.
    breaks_line = not name or "\t" in name or "\n" in name or name.startswith("\ufeff")
    if breaks_line or strip_brackets(name) != name:
        raise InputError(f"{shorten_text(name)} cannot be written in a tab-separated file")
    return name


def _check_score(field: str, path: Path, number: int) -> None:
    # An integer is an id: then these are triples, not links.
    if field.isdigit() or not _is_number(field):
        expected = "expected 2 tab-separated columns (left, right) and optionally a score"
        problem = f"{expected} such as 0.93, found {shorten_text(field)} in column 3"
        raise InputError(problem, path=path, line=number)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _parse_json_line(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        problem = f"not a line of JSON ({error}): {shorten_text(line)}"
        raise InputError(problem, path=path, line=number) from None
    if not isinstance(value, dict):
        problem = f"expected an object with left and right, found {shorten_text(line)}"
        raise InputError(problem, path=path, line=number)
    return value


def _make_link(record: dict[str, Any], path: Path, number: int) -> LinkLine:
    for key in _COLUMNS:
        name = record.get(key)
        if not isinstance(name, str) or not name:
            found = "nothing" if name is None else shorten_text(str(name))
            problem = f"expected a name as {key!r}, found {found}"
            raise InputError(problem, path=path, line=number)
    return LinkLine(record["left"], record["right"], number)


def _check_columns(schema: Any, path: Path) -> None:
    for name in _COLUMNS:
        if name not in schema.names:
            found = shorten_text(", ".join(schema.names))
            raise InputError(f"has no column {name!r}, only {found}", path=path)
        check_text_column(schema, name, path)
