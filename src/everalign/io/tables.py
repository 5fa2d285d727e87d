"""Tab-separated text, Parquet (by pyarrow, an extra), and lists of entities."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from everalign.errors import ConfigError, InputError
from everalign.io.arrow_errors import convert_arrow_errors
from everalign.io.csv_files import TableText, read_table_text
from everalign.io.entity_tables import RowConverter, check_triple_rows
from everalign.io.filters import ReadContext
from everalign.io.line_ranges import Bound, cut_lines
from everalign.io.ntriples import is_statement_line
from everalign.io.streams import (
    MAX_COMPRESSION_RATIO,
    UNCHECKED_BYTES,
    TextBlock,
    read_text_blocks,
    split_blocks,
)
from everalign.io.table_source import TRIPLE_COLUMNS, check_header, find_triple_columns
from everalign.io.terms import (
    Statements,
    Triple,
    shorten_text,
    split_literals,
    strip_brackets,
)

Row: TypeAlias = tuple[Any, ...]

_COLUMNS = TRIPLE_COLUMNS[0]
# How many rows pyarrow decodes at once: fewer take more calls, more take more memory.
_PARQUET_BATCH_ROWS = 512
# pyarrow decodes a row group as a whole.
_MAX_ROW_GROUP_BYTES = 1 << 31
# A batch with more characters is split: repeated values make few bytes into many.
_MAX_HELD_CHARACTERS = 1 << 24

_LOOKS_LIKE_NTRIPLES = "looks like N-Triples, whose file name should end in .nt"
_STATEMENT_END = re.compile(r"<[^<>]*>\s*\.")


def read_table(stream: io.BufferedReader, context: ReadContext) -> Iterator[Statements]:
    """Read a table of entities with a header that has an id column, or of triples.

    Triples have the columns head, relation and tail, with or without a header. A tail in
    quotation marks that is a literal in N-Triples syntax is read as a literal.

    Args:
        stream: The bytes of the file.
        context: The file and where to report errors.

    Yields:
        The statements of each block of lines.

    Raises:
        InputError: A line does not have three names, and errors are not skipped.
    """
    text = TableText(stream, context)
    header = text.peek_header()
    if find_triple_columns(header, exact=True) or context.table.find_id_column(header):
        yield from read_table_text(text, context)
        return
    yield from read_triple_lines(text.stream, context)


def cut_table(stream: io.BufferedReader, context: ReadContext, slice_bytes: int) -> list[Bound]:
    """Cut a large table of triples without a header; others are read as a whole.

    Args:
        stream: The bytes of the file as UTF-8, decompressed.
        context: The file.
        slice_bytes: How many bytes a range has at least.

    Returns:
        See `cut_lines`.
    """
    text = TableText(stream, context)
    header = text.peek_header()
    if find_triple_columns(header, exact=True) or context.table.find_id_column(header):
        return []
    return cut_lines(text.stream, context, slice_bytes)


def read_triple_lines(stream: io.BufferedReader, context: ReadContext) -> Iterator[Statements]:
    """Read tab-separated triples without a header.

    Args:
        stream: The bytes of whole lines.
        context: The file and where to report errors.

    Yields:
        The statements of each block of lines.

    Raises:
        InputError: A line does not have three names, and errors are not skipped.
    """
    for block in split_blocks(stream, context.path, context.error_handler):
        rows = _parse_rows(block, context)
        yield split_literals(rows) if '"' in block.text else Statements(rows, [])


def read_entity_list(path: str | Path) -> Iterator[tuple[int, str]]:
    """Read a file with the name of an entity in each line.

    Args:
        path: The file, optionally compressed; IRIs may be in angle brackets.

    Yields:
        The line number and the name of each entity; blank lines are ignored.

    Raises:
        InputError: The file cannot be read.
    """
    for block in read_text_blocks(Path(path)):
        for number, line in block.lines():
            if not is_blank_line(line):
                yield number, strip_brackets(line.strip(" "))


def is_blank_line(line: str) -> bool:
    """Tell whether a line of a table is blank.

    Args:
        line: A line without its line end.

    Returns:
        Whether it has nothing but spaces; a tab is not blank, since it separates two columns.
    """
    return not line.strip(" ")


def check_fields(fields: list[str], columns: tuple[str, ...], path: Path, line: int) -> list[str]:
    """Check the fields of a line, and remove the angle brackets of IRIs.

    Args:
        fields: The fields of the line.
        columns: The names of the columns.
        path: The file, for the error message.
        line: The line number, for the error message.

    Returns:
        The names in the fields.

    Raises:
        InputError: A field is missing or empty, there are too many, or the line is a statement
            of N-Triples.
    """
    if len(fields) != len(columns) or "" in fields:
        _raise_column_error(fields, columns, path, line)
    if _STATEMENT_END.fullmatch(fields[-1]):
        problem = f"{_LOOKS_LIKE_NTRIPLES}: {shorten_text(fields[-1])}"
        raise InputError(problem, path=path, line=line)
    return [strip_brackets(field) for field in fields]


def _raise_column_error(
    fields: list[str], columns: tuple[str, ...], path: Path, line: int
) -> NoReturn:
    text = "\t".join(fields)
    if len(fields) == len(columns):
        problem = f"the {columns[fields.index('')]} (column {fields.index('') + 1}) is empty"
    else:
        expected = f"{len(columns)} tab-separated columns ({', '.join(columns)})"
        problem = f"expected {expected}, found {len(fields)}"
        if line == 1 and columns == _COLUMNS:
            problem = f"no column is named like an id (--id-column), and {problem}"
        if is_statement_line(text):
            problem = f"{_LOOKS_LIKE_NTRIPLES}; {problem}"
    raise InputError(f"{problem}: {shorten_text(text)}", path=path, line=line)


def _parse_rows(block: TextBlock, context: ReadContext) -> list[Triple]:
    rows = []
    has_brackets = "<" in block.text
    for number, line in block.lines():
        fields = line.split("\t")
        # Most lines are right and have no brackets, so the checks are not called for them.
        if has_brackets or len(fields) != 3 or "" in fields:
            if is_blank_line(line):
                continue
            try:
                fields = check_fields(fields, _COLUMNS, context.path, number)
            except InputError as error:
                context.report_error(error)
                continue
        head, relation, tail = fields
        rows.append((head, relation, tail))
    return rows


def read_parquet(_stream: io.BufferedReader, context: ReadContext) -> Iterator[Statements]:
    """Read a Parquet file: triples if it has their three columns, else a table of entities.

    Args:
        _stream: Not used: Parquet is read from its end, so pyarrow opens the file itself.
        context: The file, how its columns are read, and where to report errors.

    Yields:
        The statements of each batch of rows.

    Raises:
        InputError: The file is not Parquet, lacks the columns, or has empty fields.
        ConfigError: pyarrow is not installed.
    """
    arrow = import_pyarrow()
    with convert_arrow_errors(context.path):
        with arrow.parquet.ParquetFile(context.path, memory_map=False) as file:
            schema = file.schema_arrow
            _check_row_groups(file, context.path)
        check_header(schema.names, context.path)
        columns = find_triple_columns(schema.names)
        if columns is None:
            yield from _read_entities(schema.names, context)
        else:
            yield from _read_triples(schema, columns, context)


def cut_parquet(_stream: io.BufferedReader, context: ReadContext, slice_bytes: int) -> list[Bound]:
    """Cut a large Parquet file with triples at its row groups.

    Args:
        _stream: Not used, as in `read_parquet`.
        context: The file.
        slice_bytes: How many bytes a part has at least, before it is compressed.

    Returns:
        The number of the first row group of each part, and the one behind its last; nothing if
        there is one part, or a table of entities, whose rows are compared with each other.
    """
    with (
        convert_arrow_errors(context.path),
        import_pyarrow().parquet.ParquetFile(context.path) as file,
    ):
        _check_row_groups(file, context.path)
        if find_triple_columns(file.schema_arrow.names) is None:
            return []
        ends, held = [0], 0
        for number, group in enumerate(_list_row_groups(file), 1):
            held += group.total_byte_size
            if held >= slice_bytes or number == file.metadata.num_row_groups:
                ends.append(number)
                held = 0
    return list(pairwise(ends)) if len(ends) > 2 else []


def read_row_groups(context: ReadContext, start: int, stop: int) -> Iterator[Statements]:
    """Read some row groups of a Parquet file with triples.

    Args:
        context: The file and where to report errors.
        start: The number of the first row group.
        stop: The number of the row group behind the last.

    Yields:
        The statements of each batch of rows.

    Raises:
        InputError: The file is not Parquet, or has empty fields.
    """
    arrow = import_pyarrow()
    with convert_arrow_errors(context.path):
        with arrow.parquet.ParquetFile(context.path, memory_map=False) as file:
            schema = file.schema_arrow
            first_row = 1 + sum(group.num_rows for group in _list_row_groups(file)[:start])
        check_header(schema.names, context.path)
        columns = find_triple_columns(schema.names)
        assert columns is not None, "only triples are cut"
        yield from _read_triples(schema, columns, context, first_row, range(start, stop))


def read_parquet_header(_stream: io.BufferedReader, context: ReadContext) -> list[str]:
    """Read the names of the columns of a Parquet file.

    Args:
        _stream: Not used, as in `read_parquet`.
        context: The file.

    Returns:
        The names.

    Raises:
        InputError: The file is not Parquet.
        ConfigError: pyarrow is not installed.
    """
    arrow = import_pyarrow()
    with convert_arrow_errors(context.path):
        schema = arrow.parquet.read_schema(context.path)
        return list(schema.names)


def _read_triples(
    schema: Any,
    columns: tuple[str, ...],
    context: ReadContext,
    first_row: int = 1,
    row_groups: Sequence[int] | None = None,
) -> Iterator[Statements]:
    for name in columns:
        check_text_column(schema, name, context.path)
    for rows in read_columns(columns, context.path, row_groups):
        yield split_literals(check_triple_rows(_number(rows, first_row), columns, context))
        first_row += len(rows)
    context.add_note(f"read as triples ({', '.join(columns)})")


def _read_entities(header: list[str], context: ReadContext) -> Iterator[Statements]:
    if context.table.find_id_column(header) is None:
        expected = " or ".join(", ".join(names) for names in TRIPLE_COLUMNS)
        problem = f"expected the columns {expected}, or an id column (--id-column)"
        found = shorten_text(", ".join(header))
        raise InputError(f"{problem}, found {found}", path=context.path)
    converter = RowConverter(header, context)
    first_row = 1
    for rows in read_columns(header, context.path):
        if rows:
            places = range(first_row, first_row + len(rows))
            yield converter.convert(list(zip(*rows, strict=True)), places, is_text=False)
            first_row += len(rows)
    converter.finish("a table (Parquet)")


def _number(rows: list[Row], first: int) -> Iterator[tuple[Row, int]]:
    return zip(rows, range(first, first + len(rows)), strict=True)


def read_columns(
    columns: Sequence[str], path: Path, row_groups: Sequence[int] | None = None
) -> Iterator[list[Row]]:
    """Read some columns of a Parquet file in batches that fit into memory.

    Args:
        columns: The names of the columns.
        path: The file.
        row_groups: The numbers of the row groups to read; all by default.

    Yields:
        Some rows at a time, with None for null values.

    Raises:
        InputError: The data expands to more than `MAX_COMPRESSION_RATIO` times its size.
        ConfigError: pyarrow is not installed.
    """
    arrow = import_pyarrow()
    total, limit = 0, max(UNCHECKED_BYTES, MAX_COMPRESSION_RATIO * path.stat().st_size)
    schema = arrow.parquet.read_schema(path)
    texts = [name for name in columns if _is_text(schema.field(name).type)]
    # As dictionaries, repeated texts are held once.
    with arrow.parquet.ParquetFile(
        path, memory_map=False, read_dictionary=texts, pre_buffer=False
    ) as file:
        # What the file states is checked before anything is decoded, and what was decoded as well:
        # the statement may be false.
        if sum(group.total_byte_size for group in _list_row_groups(file)) > limit:
            raise _make_expansion_error(path)
        numbers = None if row_groups is None else list(row_groups)
        for batch in file.iter_batches(_choose_batch_rows(file), numbers, list(columns)):
            rows: list[Row] = []
            held = 0
            for row in zip(*(_decode_column(batch.column(name)) for name in columns), strict=True):
                rows.append(row)
                size = sum(len(value) for value in row if isinstance(value, str | bytes | list))
                held, total = held + size, total + size
                if total > limit:
                    raise _make_expansion_error(path)
                if held > _MAX_HELD_CHARACTERS:
                    yield rows
                    rows, held = [], 0
            yield rows


def check_text_column(schema: Any, name: str, path: Path) -> None:
    """Check that a column of a Parquet file has text.

    Args:
        schema: The Arrow schema of the file.
        name: The name of a column that the schema has.
        path: The file, for the error message.

    Raises:
        InputError: The column has another type.
    """
    kind = schema.field(name).type
    if not _is_text(kind):
        raise InputError(f"the column {name!r} is not text but {kind}", path=path)


def _is_text(kind: Any) -> bool:
    types = import_pyarrow().types
    value_kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(value_kind) or types.is_large_string(value_kind))


def import_pyarrow() -> Any:
    """Import pyarrow, which only Parquet needs.

    Returns:
        The module ``pyarrow``, with ``pyarrow.parquet`` loaded.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"Parquet needs {error.name}: pip install 'everalign[parquet]'"
        ) from error
    return pyarrow


def _list_row_groups(file: Any) -> list[Any]:
    return [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]


def _make_expansion_error(path: Path) -> InputError:
    problem = f"the Parquet data expands to more than {MAX_COMPRESSION_RATIO} times its size"
    return InputError(problem, path=path)


def _choose_batch_rows(file: Any) -> int:
    """Choose how many rows to decode at once: fewer where they are long."""
    lengths = [group.total_byte_size // max(1, group.num_rows) for group in _list_row_groups(file)]
    longest = int(max([1, *lengths]))
    return max(1, min(_PARQUET_BATCH_ROWS, _MAX_HELD_CHARACTERS // longest))


def _decode_column(column: Any) -> list[Any]:
    if not hasattr(column, "dictionary"):
        values: list[Any] = column.to_pylist()
        return values
    # A value that many rows share becomes one string.
    values = column.dictionary.to_pylist()
    return [None if index is None else values[index] for index in column.indices.to_pylist()]


def _check_row_groups(file: Any, path: Path) -> None:
    largest = max((group.total_byte_size for group in _list_row_groups(file)), default=0)
    if largest > _MAX_ROW_GROUP_BYTES:
        limit = f"{_MAX_ROW_GROUP_BYTES >> 30} GiB"
        raise InputError(f"a row group is larger than {limit}: write smaller ones", path=path)
