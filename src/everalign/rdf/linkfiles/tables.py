"""Links as tables: tab-separated, JSON lines and Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from everalign.errors import ConfigError, InputError
from everalign.rdf.linkfiles.rows import LinkRow, Style
from everalign.rdf.links import LinkLine
from everalign.rdf.names import shortened, without_brackets
from everalign.rdf.opening import text_blocks
from everalign.rdf.parquet import texts_of

_PAIR = ("left", "right")


def write_tsv(rows: Sequence[LinkRow], _style: Style) -> Iterator[bytes]:
    """Left, right and score."""
    for row in rows:
        yield f"{_cell(row.left)}\t{_cell(row.right)}\t{float(row.score)!r}\n".encode()


def write_jsonl(rows: Sequence[LinkRow], _style: Style) -> Iterator[bytes]:
    """An object a line: left, right, score, since and origin."""
    for row in rows:
        yield json_line(row._asdict())


def json_line(value: dict[str, object]) -> bytes:
    """One object as a line."""
    return f"{json.dumps(value, ensure_ascii=False)}\n".encode()


def read_jsonl(path: Path) -> Iterator[LinkLine]:
    """The links of JSON lines; what else an object says is passed over."""
    for block in text_blocks(path):
        for number, line in block.lines():
            if line.strip():
                value = _object(line, path, number)
                left, right = (_string(value, key, path, number) for key in ("left", "right"))
                yield LinkLine(left, right, number)


def write_parquet(rows: Sequence[LinkRow], _style: Style) -> Iterator[bytes]:
    """One column for each of left, right, score, since and origin."""
    arrow = _pyarrow()
    types = (arrow.string(), arrow.string(), arrow.float64(), arrow.int64(), arrow.string())
    schema = arrow.schema(list(zip(LinkRow._fields, types, strict=True)))
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    arrays = [arrow.array(*each) for each in zip(columns, types, strict=True)]
    stream = BytesIO()
    arrow.parquet.write_table(arrow.Table.from_arrays(arrays, schema=schema), stream)
    yield stream.getvalue()


def read_parquet(path: Path) -> Iterator[LinkLine]:
    """The links in the columns left and right; their lines are the numbers of the rows."""
    arrow = _pyarrow()
    number = 0
    try:
        with arrow.parquet.ParquetFile(path) as file:
            _check_columns(arrow, file.schema_arrow, path)
        for rows in texts_of(_PAIR, path):
            for row in rows:
                number += 1
                said = dict(zip(_PAIR, row, strict=True))
                left, right = (_string(said, key, path, number) for key in _PAIR)
                yield LinkLine(left, right, number)
    except arrow.ArrowException as error:
        raise InputError(f"is no Parquet file that can be read ({error})", path=path) from None
    except OSError as error:
        problem = "does not exist" if isinstance(error, FileNotFoundError) else str(error)
        raise InputError(problem, path=path) from None


def _cell(name: str) -> str:
    breaks_line = not name or "\t" in name or "\n" in name or name.startswith("\ufeff")
    if breaks_line or without_brackets(name) != name:
        raise InputError(f"{shortened(name)} cannot stand in a tab-separated file")
    return name


def _object(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        problem = f"not a line of JSON ({error}): {shortened(line)}"
        raise InputError(problem, path=path, line=number) from None
    if not isinstance(value, dict):
        problem = f"expected an object with left and right, found {shortened(line)}"
        raise InputError(problem, path=path, line=number)
    return value


def _string(value: dict[str, Any], key: str, path: Path, number: int) -> str:
    name = value.get(key)
    if not isinstance(name, str) or not name:
        found = "nothing" if name is None else shortened(str(name))
        raise InputError(f"expected a name as {key!r}, found {found}", path=path, line=number)
    return name


def _check_columns(arrow: Any, schema: Any, path: Path) -> None:
    for name in ("left", "right"):
        if name not in schema.names:
            found = ", ".join(schema.names)
            raise InputError(f"has no column {name!r}, only {shortened(found)}", path=path)
        kind = schema.field(name).type
        if arrow.types.is_dictionary(kind):
            kind = kind.value_type
        if not (arrow.types.is_string(kind) or arrow.types.is_large_string(kind)):
            raise InputError(f"the column {name!r} is not text but {kind}", path=path)


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"Parquet needs {error.name}: pip install 'everalign[parquet]'"
        ) from error
    return pyarrow
