"""An SSSOM file in its two parts: the metadata block, which is YAML, and the table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from everalign.errors import InputError
from everalign.rdf.names import shortened
from everalign.rdf.opening import text_blocks

LONGEST_METADATA = 1 << 20  # characters
_CELL = re.compile(r'"([^"]*(?:""[^"]*)*)"|([^"\t]*)')

Line: TypeAlias = tuple[int, str]


class Problem(NamedTuple):
    """What is wrong in a line of a file; 0 is the file as a whole."""

    line: int
    problem: str


class Slot(NamedTuple):
    """What the metadata say under one name: a text, a list or a mapping, and in which line."""

    value: Any
    line: int


@dataclass(frozen=True)
class Metadata:
    """The metadata block, slot by slot."""

    slots: dict[str, Slot] = field(default_factory=dict)

    @property
    def prefixes(self) -> dict[str, str]:
        """The CURIE map, as far as it is one."""
        found = self.slots["curie_map"].value if "curie_map" in self.slots else {}
        pairs = found.items() if isinstance(found, dict) else ()
        return {name: iri for name, iri in pairs if isinstance(iri, str)}


class Row(NamedTuple):
    """The cells of a row of the table, or why it is none."""

    line: int
    cells: list[str]
    fault: str = ""


def parts(path: Path) -> tuple[list[Line], Iterator[Line]]:
    """The lines of the metadata block without their marks, and those of the table.

    Where the file has no such block, it is looked for in a file of its own beside it.
    """
    lines = (line for block in text_blocks(path) for line in block.lines())
    block: list[Line] = []
    size = 0
    for number, line in lines:
        if not line.startswith("#"):
            rest = _chained((number, line), lines)
            return (block or _external(path)), rest
        size += len(line)
        if size > LONGEST_METADATA:
            problem = f"the metadata block is longer than {LONGEST_METADATA >> 20} MiB"
            raise InputError(problem, path=path, line=number)
        block.append((number, line[1:]))
    return block, iter(())


def metadata_of(lines: list[Line]) -> tuple[Metadata, list[Problem]]:
    """What a metadata block says; no slots if it is not YAML as SSSOM wants it."""
    import yaml

    text = "".join(f"{line}\n" for _, line in lines)

    def line_of(mark: Any) -> int:
        return lines[min(mark.line, len(lines) - 1)][0] if lines and mark else 0

    try:
        forbidden = [
            Problem(line_of(event.start_mark), "YAML anchors, aliases and tags are not allowed")
            for event in yaml.parse(text, Loader=yaml.BaseLoader)
            if getattr(event, "anchor", None) or getattr(event, "tag", None)
        ]
        if forbidden:
            return Metadata(), forbidden[:1]
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        reason = " ".join(str(error.problem).split())
        return Metadata(), [Problem(line_of(error.problem_mark), f"not YAML ({reason})")]
    except (yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split())
        return Metadata(), [Problem(line_of(None), f"not YAML ({shortened(reason)})")]
    if root is None:
        return Metadata(), []
    if not isinstance(root, yaml.MappingNode):
        return Metadata(), [Problem(line_of(root.start_mark), "the metadata are no YAML mapping")]
    return _slots(root, line_of)


def rows_of(lines: Iterable[Line]) -> Iterator[Row]:
    """The rows of the table. A cell in quotes may hold tabs, line ends and doubled quotes."""
    lines = iter(lines)
    for number, line in lines:
        if '"' not in line:
            yield Row(number, line.split("\t"))
            continue
        text = _to_closing_quote(line, lines)
        cells = None if text is None else _cells(text)
        if text is None:
            yield Row(number, [], "a quote is opened and never closed")
        elif cells is None:
            yield Row(number, [], 'a cell with a " in it must stand in quotes, and double it')
        else:
            yield Row(number, cells)


def _chained(first: Line, rest: Iterator[Line]) -> Iterator[Line]:
    yield first
    yield from rest


def _external(path: Path) -> list[Line]:
    name = path.name.removesuffix(".gz").removesuffix(".tsv").removesuffix(".sssom")
    for ending in (".sssom.yml", ".sssom.yaml", ".yml"):
        beside = path.with_name(f"{name}{ending}")
        if beside.is_file() and beside.stat().st_size <= LONGEST_METADATA:
            return [line for block in text_blocks(beside) for line in block.lines()]
    return []


def _slots(root: Any, line_of: Any) -> tuple[Metadata, list[Problem]]:
    slots: dict[str, Slot] = {}
    problems: list[Problem] = []
    for key, node in root.value:
        line = line_of(key.start_mark)
        name = str(key.value)
        if name in slots:
            problems.append(Problem(line, f"{shortened(name)} is said twice"))
        slots.setdefault(name, Slot(_plain(node), line))
    return Metadata(slots), problems


def _plain(node: Any) -> Any:
    if isinstance(node.value, str):
        return node.value
    if node.id == "sequence":
        return [_plain(each) for each in node.value]
    return {str(key.value): _plain(each) for key, each in node.value}


def _to_closing_quote(line: str, following: Iterator[Line]) -> str | None:
    pieces, quotes = [line], line.count('"')
    while quotes % 2:
        more = next(following, None)
        if more is None:
            return None
        pieces.append(more[1])
        quotes += more[1].count('"')
    return "\n".join(pieces)


def _cells(text: str) -> list[str] | None:
    cells: list[str] = []
    place = 0
    while True:
        match = _CELL.match(text, place)
        assert match is not None, "a cell may be empty"
        quoted, plain = match.groups()
        cells.append(plain if quoted is None else quoted.replace('""', '"'))
        place = match.end()
        if place == len(text):
            return cells
        if text[place] != "\t":
            return None
        place += 1
