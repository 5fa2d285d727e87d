"""SSSOM/TSV files, parsed: links read from them, and the files checked against the schema.

A file has two parts: a metadata block, which is YAML in comment lines, and a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from everalign.errors import InputError
from everalign.io.links import sssom
from everalign.io.links.records import SSSOM_PREFIXES, LinkLine
from everalign.io.streams import read_text_blocks
from everalign.io.terms import IRI_CHARACTER, is_absolute_iri, shorten_text

# Real metadata blocks have some kilobytes; YAML is parsed as a whole.
_MAX_METADATA_DEPTH = 100
_MAX_METADATA_CHARACTERS = 1 << 20
# A cell in quotes, with quotes doubled inside, or without any.
_CELL = re.compile(r'"([^"]*(?:""[^"]*)*)"|([^"\t]*)')
_PREFIX_NAME = re.compile(r"[^\W\d][\w.-]*")
_CURIE = re.compile(rf"([^\W\d][\w.-]*):(?!//){IRI_CHARACTER}+")
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

_NumberedLine: TypeAlias = tuple[int, str]
# Takes the value of a slot, and gives what is wrong with it, empty if it is valid.
_ValueCheck: TypeAlias = Callable[[str], str]


class Problem(NamedTuple):
    """What is wrong in a line of a file."""

    line: int
    """The line number, 0 for the file as a whole."""

    problem: str


def check_sssom(path: str | Path) -> list[Problem]:
    """Check an SSSOM file against the specification.

    Args:
        path: The file, optionally compressed.

    Returns:
        All problems, sorted by line number; none if the file is valid.

    Raises:
        InputError: The file cannot be read.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     file = Path(directory, "links.sssom.tsv")
    ...     _ = file.write_text("#mapping_set_id: https://example.org/set\\nsubject_id\\n")
    ...     for problem in check_sssom(file)[:2]:
    ...         print(problem.line, problem.problem)
    0 the metadata have no license, which is required
    0 the metadata have no curie_map, which is required
    """
    path = Path(path)
    block, table = _split_file(path)
    metadata, problems = _parse_metadata(block)
    # In a block that is not YAML all slots and prefixes would be missing: its own problem is
    # enough.
    if problems and not metadata.slots:
        return problems
    if _has_byte_order_mark(path):
        problems.append(Problem(1, "the file starts with a byte order mark, which is not allowed"))
    if block and not problems:
        problems += _check_metadata(metadata)
    if not block:
        problems.append(Problem(0, "there is no metadata block"))
    return sorted([*problems, *_check_table(table, metadata)], key=lambda problem: problem.line)


def read_sssom(path: Path) -> Iterator[LinkLine]:
    """Read the mappings of an SSSOM file that state identity; negated ones are ignored.

    Only what is needed to read the links is checked; see `check_sssom` for the rest.

    Args:
        path: The file, optionally compressed.

    Yields:
        Each link with its line number.

    Raises:
        InputError: The file is not SSSOM, or a mapping has another predicate.
    """
    for slots, prefixes, line in _iterate_mappings(path):
        # That an entity has no counterpart is no link either.
        is_absent = sssom.NO_TERM_FOUND in (slots["subject_id"], slots["object_id"])
        is_curated = slots.get("mapping_justification") in CURATED
        if slots.get("predicate_modifier") != sssom.NEGATED and not (is_absent and is_curated):
            yield _make_link(slots, prefixes, path, line)


def _iterate_mappings(path: Path) -> Iterator[tuple[dict[str, str], dict[str, str], int]]:
    """The slots of each mapping of a file, the prefixes of the file, and the line."""
    block, table = _split_file(path)
    metadata, problems = _parse_metadata(block)
    if problems:
        raise InputError(problems[0].problem, path=path, line=problems[0].line)
    # A slot that all mappings share may be in the metadata alone.
    shared = {name: metadata.get_text(name) for name in sssom.PROPAGATED_SLOTS}
    prefixes = {**SSSOM_PREFIXES, **metadata.prefixes}
    rows = _parse_rows(table)
    header = next(rows, None)
    columns = [] if header is None else header.cells
    for name in ("subject_id", "predicate_id", "object_id"):
        if name not in columns:
            line = None if header is None else header.line
            raise InputError(f"has no column {name}", path=path, line=line)
    for row in rows:
        if row.error or len(row.cells) != len(columns):
            problem = row.error or f"expected {len(columns)} cells, found {len(row.cells)}"
            raise InputError(problem, path=path, line=row.line)
        slots = {**shared, **dict(zip(columns, row.cells, strict=True))}
        yield slots, prefixes, row.line


class Curation(NamedTuple):
    """A mapping that a person has judged."""

    left: str
    """The subject; empty if the object has no counterpart."""

    right: str
    """The object; empty if the subject has no counterpart."""

    negated: bool
    reviewer: str
    """Who judged it: a CURIE, or a name; empty if the file does not tell."""

    date: str
    """ISO 8601; empty if the file does not tell."""

    comment: str
    line: int

    @property
    def has_counterpart(self) -> bool:
        """Whether it is about two entities."""
        return bool(self.left and self.right)


# Justifications of mappings that people have judged.
CURATED = ("semapv:ManualMappingCuration", "semapv:MappingReview")


def read_curations(path: Path) -> Iterator[Curation]:
    """Read the mappings of an SSSOM file that people have judged, negated ones as well.

    Args:
        path: The file, optionally compressed.

    Yields:
        Each of them, in the order of the file.

    Raises:
        InputError: The file is not SSSOM, or a mapping has another predicate.
    """
    for slots, prefixes, line in _iterate_mappings(path):
        if slots.get("mapping_justification") in CURATED:
            yield _make_curation(slots, prefixes, path, line)


def _make_curation(
    slots: Mapping[str, str], prefixes: Mapping[str, str], path: Path, line: int
) -> Curation:
    ends = slots["subject_id"], slots["object_id"]
    is_absent = [curie == sssom.NO_TERM_FOUND for curie in ends]
    if all(is_absent):
        raise InputError("has no entity", path=path, line=line)
    _check_predicate(slots, path, line)
    left, right = (
        "" if absent else _expand(curie, prefixes, path, line)
        for curie, absent in zip(ends, is_absent, strict=True)
    )
    reviewer = slots.get("reviewer_id") or slots.get("reviewer_label", "").replace("\\|", "|")
    return Curation(
        left,
        right,
        slots.get("predicate_modifier") == sssom.NEGATED,
        reviewer or slots.get("author_id") or slots.get("author_label") or "",
        slots.get("review_date") or slots.get("mapping_date") or "",
        slots.get("comment", ""),
        line,
    )


def _make_link(
    slots: Mapping[str, str], prefixes: Mapping[str, str], path: Path, line: int
) -> LinkLine:
    _check_predicate(slots, path, line)
    names = []
    for curie in (slots["subject_id"], slots["object_id"]):
        if curie == sssom.NO_TERM_FOUND:
            problem = f"expected an entity, found {sssom.NO_TERM_FOUND}"
            raise InputError(problem, path=path, line=line)
        names.append(_expand(curie, prefixes, path, line))
    return LinkLine(names[0], names[1], line)


def _check_predicate(slots: Mapping[str, str], path: Path, line: int) -> None:
    predicate = slots["predicate_id"]
    if predicate not in sssom.SAME_PREDICATES:
        problem = f"expected {' or '.join(sssom.SAME_PREDICATES)}, found {shorten_text(predicate)}"
        raise InputError(problem, path=path, line=line)


def _expand(curie: str, prefixes: Mapping[str, str], path: Path, line: int) -> str:
    """The IRI of a CURIE."""
    if problem := _make_curie_check(prefixes)(curie):
        raise InputError(problem, path=path, line=line)
    prefix, _, local_name = curie.partition(":")
    return prefixes[prefix] + local_name


# Parsing


class _Slot(NamedTuple):
    """The value of a slot in the metadata: a string, a list or a mapping."""

    value: Any
    line: int


@dataclass(frozen=True)
class _Metadata:
    slots: dict[str, _Slot] = field(default_factory=dict)

    @property
    def prefixes(self) -> dict[str, str]:
        """The entries of the CURIE map that are strings."""
        curie_map = self.slots["curie_map"].value if "curie_map" in self.slots else {}
        pairs = curie_map.items() if isinstance(curie_map, dict) else ()
        return {name: iri for name, iri in pairs if isinstance(iri, str)}

    def get_text(self, name: str) -> str:
        """Get the value of a slot if it is a string, the empty string otherwise."""
        value = self.slots[name].value if name in self.slots else ""
        return value if isinstance(value, str) else ""


class _Row(NamedTuple):
    line: int
    cells: list[str]
    error: str = ""
    """Why the row could not be split into cells."""


def _split_file(path: Path) -> tuple[list[_NumberedLine], Iterator[_NumberedLine]]:
    """Split a file into the lines of the metadata block, without "#", and those of the table.

    If the file has no metadata block, it is read from a file beside it.
    """
    lines = (line for block in read_text_blocks(path) for line in block.lines())
    block: list[_NumberedLine] = []
    size = 0
    for number, line in lines:
        if not line.startswith("#"):
            table = chain([(number, line)], lines)
            return (block or _read_external_metadata(path)), table
        size += len(line)
        if size > _MAX_METADATA_CHARACTERS:
            problem = f"the metadata block is longer than {_MAX_METADATA_CHARACTERS >> 20} MiB"
            raise InputError(problem, path=path, line=number)
        block.append((number, line[1:]))
    return block, iter(())


def _read_external_metadata(path: Path) -> list[_NumberedLine]:
    name = path.name.removesuffix(".gz").removesuffix(".tsv").removesuffix(".sssom")
    for suffix in (".sssom.yml", ".sssom.yaml", ".yml"):
        metadata_path = path.with_name(f"{name}{suffix}")
        if metadata_path.is_file() and metadata_path.stat().st_size <= _MAX_METADATA_CHARACTERS:
            return [line for block in read_text_blocks(metadata_path) for line in block.lines()]
    return []


def _parse_metadata(lines: list[_NumberedLine]) -> tuple[_Metadata, list[Problem]]:
    """Parse a metadata block; it has no slots if it is not YAML that SSSOM allows."""
    # Imported here, since only SSSOM needs it.
    import yaml

    text = "".join(f"{line}\n" for _, line in lines)

    def find_line(mark: Any) -> int:
        return lines[min(mark.line, len(lines) - 1)][0] if lines and mark else 0

    try:
        # Looked for before anything is built: nested aliases can fill the memory, and the time
        # for nested brackets grows with the square of their depth.
        depth = 0
        for event in yaml.parse(text, Loader=yaml.BaseLoader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            problem = ""
            if getattr(event, "anchor", None) or getattr(event, "tag", None):
                problem = "YAML anchors, aliases and tags are not allowed"
            elif depth > _MAX_METADATA_DEPTH:
                problem = "the metadata are nested too deeply"
            if problem:
                return _Metadata(), [Problem(find_line(event.start_mark), problem)]
        # `BaseLoader` leaves all scalars strings: a version or a date must not become a number.
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        reason = " ".join(str(error.problem).split())
        return _Metadata(), [Problem(find_line(error.problem_mark), f"not YAML ({reason})")]
    # `yaml` calls `chr` with whatever number an escape has.
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())
        return _Metadata(), [Problem(0, f"not YAML ({shorten_text(reason)})")]
    if root is None:
        return _Metadata(), []
    if not isinstance(root, yaml.MappingNode):
        line = find_line(root.start_mark)
        return _Metadata(), [Problem(line, "the metadata are not a YAML mapping")]
    return _collect_slots(root, find_line)


def _collect_slots(root: Any, find_line: Callable[[Any], int]) -> tuple[_Metadata, list[Problem]]:
    slots: dict[str, _Slot] = {}
    problems: list[Problem] = []
    for key, node in root.value:
        line = find_line(key.start_mark)
        name = str(key.value)
        if name in slots:
            problems.append(Problem(line, f"duplicate slot {shorten_text(name)}"))
        slots.setdefault(name, _Slot(_convert_node(node), line))
    return _Metadata(slots), problems


def _convert_node(node: Any) -> Any:
    if isinstance(node.value, str):
        return node.value
    if node.id == "sequence":
        return [_convert_node(item) for item in node.value]
    return {str(key.value): _convert_node(value) for key, value in node.value}


def _parse_rows(lines: Iterable[_NumberedLine]) -> Iterator[_Row]:
    """Split the table into rows; a cell in quotes may have tabs, line ends and doubled quotes."""
    lines = iter(lines)
    for number, line in lines:
        # Most rows have no quotes and need no more than a split.
        if '"' not in line:
            yield _Row(number, line.split("\t"))
            continue
        text = _join_quoted_lines(line, lines)
        cells = None if text is None else _split_cells(text)
        if text is None:
            yield _Row(number, [], "a quote is opened and never closed")
        elif cells is None:
            yield _Row(number, [], 'a cell with " must be quoted, with each " doubled')
        else:
            yield _Row(number, cells)


def _join_quoted_lines(line: str, following: Iterator[_NumberedLine]) -> str | None:
    """Add lines until the quotes are closed, None if they never are."""
    pieces, quotes = [line], line.count('"')
    # Quotes inside of a cell are doubled, so an odd number means that the cell goes on.
    while quotes % 2:
        numbered = next(following, None)
        if numbered is None:
            return None
        pieces.append(numbered[1])
        quotes += numbered[1].count('"')
    return "\n".join(pieces)


def _split_cells(text: str) -> list[str] | None:
    cells: list[str] = []
    position = 0
    while True:
        match = _CELL.match(text, position)
        assert match is not None, "a cell may be empty"
        quoted, plain = match.groups()
        cells.append(plain if quoted is None else quoted.replace('""', '"'))
        position = match.end()
        if position == len(text):
            return cells
        if text[position] != "\t":
            return None
        position += 1


def _has_byte_order_mark(path: Path) -> bool:
    # `open_stream` removes the mark, so the file itself is looked at.
    with path.open("rb") as file:
        return file.read(3) == b"\xef\xbb\xbf"


# Checking


def _check_metadata(metadata: _Metadata) -> Iterator[Problem]:
    slots = metadata.slots
    for name in (*sssom.REQUIRED_MAPPING_SET_SLOTS, "curie_map"):
        # The map is empty if the file uses only the prefixes of SSSOM itself.
        if name not in slots or not (slots[name].value or name == "curie_map"):
            yield Problem(0, f"the metadata have no {name}, which is required")
    known = _list_known_slots(metadata, sssom.MAPPING_SET_SLOTS, sssom.MAPPING_SET_SLOTS_1_1)
    checks = _make_checks(metadata)
    for name, slot in slots.items():
        if name not in known:
            yield Problem(slot.line, f"{shorten_text(name)} is not a slot of a mapping set")
        elif name == "curie_map":
            yield from _check_curie_map(slot.value, slot.line)
        elif name in checks:
            yield from _check_slot(name, slot, checks[name])


def _check_curie_map(value: object, line: int) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem(line, "the curie_map is not a mapping of prefixes to IRIs")
        return
    for name, iri in value.items():
        if not _PREFIX_NAME.fullmatch(name):
            yield Problem(line, f"invalid prefix name {shorten_text(name)}")
        if not isinstance(iri, str) or not is_absolute_iri(f"{iri}x"):
            shown = shorten_text(str(iri))
            yield Problem(line, f"the prefix {name!r} stands for {shown}: not an IRI")
        elif SSSOM_PREFIXES.get(name, iri) != iri:
            yield Problem(line, f"the prefix {name!r} must stand for {SSSOM_PREFIXES[name]}")


def _check_slot(name: str, slot: _Slot, check: _ValueCheck) -> Iterator[Problem]:
    is_list = isinstance(slot.value, list) and name in sssom.MULTIVALUED_SLOTS
    for value in slot.value if is_list else [slot.value]:
        if not isinstance(value, str):
            yield Problem(slot.line, f"{name}: expected a string")
        elif value and (problem := check(value)):
            yield Problem(slot.line, f"{name}: {problem}")


def _check_table(lines: Iterable[_NumberedLine], metadata: _Metadata) -> Iterator[Problem]:
    rows = _parse_rows(lines)
    header = next(rows, None)
    if header is None or header.cells == [""]:
        yield Problem(0 if header is None else header.line, "there is no row with column names")
        return
    columns = header.cells
    yield from _check_header(columns, header.line, metadata)
    checks = _make_checks(metadata)
    checked = [(index, name, checks[name]) for index, name in enumerate(columns) if name in checks]
    for row in rows:
        if problem := row.error or _check_row_shape(row.cells, columns):
            yield Problem(row.line, problem)
            continue
        yield from _check_required(columns, row, metadata)
        for index, name, check in checked:
            yield from _check_cell(name, row.cells[index], row.line, check)


def _check_row_shape(cells: list[str], columns: list[str]) -> str:
    if cells == [""]:
        return "the line is empty"
    if cells[0].startswith("#"):
        return "the metadata block must end before the column names"
    if len(cells) != len(columns):
        return f"expected {len(columns)} cells, found {len(cells)}"
    return ""


def _check_header(columns: list[str], line: int, metadata: _Metadata) -> Iterator[Problem]:
    known = _list_known_slots(metadata, sssom.MAPPING_SLOTS, sssom.MAPPING_SLOTS_1_1)
    seen: set[str] = set()
    for name in columns:
        if name in seen:
            yield Problem(line, f"duplicate column {shorten_text(name)}")
        elif name not in known:
            yield Problem(line, f"{shorten_text(name)} is not a slot of a mapping")
        seen.add(name)
    for name in sssom.REQUIRED_SLOTS:
        if name not in columns and not _may_be_literal(name, columns, metadata):
            yield Problem(line, f"there is no column {name}, which is required")


def _may_be_literal(name: str, columns: list[str], metadata: _Metadata) -> bool:
    """Tell whether an entity may be a literal, which has a label and no id."""
    slot = f"{name.removesuffix('_id')}_type"
    return name in ("subject_id", "object_id") and (slot in columns or slot in metadata.slots)


def _check_required(columns: list[str], row: _Row, metadata: _Metadata) -> Iterator[Problem]:
    slots = dict(zip(columns, row.cells, strict=True))
    for name in sssom.REQUIRED_SLOTS:
        side = name.removesuffix("_id")
        kind = slots.get(f"{side}_type") or metadata.get_text(f"{side}_type")
        required = f"{side}_label" if kind == "rdfs literal" else name
        if required in slots and not slots[required].strip():
            yield Problem(row.line, f"{required} is empty, which is not allowed")
        elif required != name and required not in slots:
            yield Problem(row.line, f"a literal needs a {required}")


def _check_cell(name: str, cell: str, line: int, check: _ValueCheck) -> Iterator[Problem]:
    for value in cell.split("|") if name in sssom.MULTIVALUED_SLOTS else [cell]:
        if value and (problem := check(value)):
            yield Problem(line, f"{name}: {problem}")


def _list_known_slots(
    metadata: _Metadata, slots: tuple[str, ...], slots_1_1: tuple[str, ...]
) -> set[str]:
    """List the slots of the version of the file, and those that the file itself defines."""
    known = {*slots, *slots_1_1} if metadata.get_text("sssom_version") == "1.1" else {*slots}
    extensions = metadata.slots.get("extension_definitions")
    for definition in (
        extensions.value if extensions and isinstance(extensions.value, list) else ()
    ):
        if isinstance(definition, dict) and isinstance(definition.get("slot_name"), str):
            known.add(definition["slot_name"])
    return known


def _make_checks(metadata: _Metadata) -> dict[str, _ValueCheck]:
    """Make the checks of all slots that have a type or a fixed set of values."""
    checks: dict[str, _ValueCheck] = {}
    checks |= dict.fromkeys(sssom.ENTITY_SLOTS, _make_curie_check(metadata.prefixes))
    checks |= dict.fromkeys(sssom.IRI_SLOTS, _check_iri)
    checks |= dict.fromkeys(sssom.DATE_SLOTS, _check_date)
    checks |= dict.fromkeys(sssom.PROBABILITY_SLOTS, _check_probability)
    # Last, since mapping_justification is also an entity.
    for name, values in sssom.ENUMERATED_SLOTS.items():
        checks[name] = _make_value_check(values)
    return checks


def _make_curie_check(prefixes: Mapping[str, str]) -> _ValueCheck:
    def check(value: str) -> str:
        match = _CURIE.fullmatch(value)
        if match is None:
            return f"{shorten_text(value)} is not a CURIE"
        if match[1] not in prefixes and match[1] not in SSSOM_PREFIXES:
            return f"the prefix {match[1]!r} of {shorten_text(value)} is not in the curie_map"
        return ""

    return check


def _make_value_check(values: frozenset[str]) -> _ValueCheck:
    def check(value: str) -> str:
        if value in values:
            return ""
        allowed = ", ".join(sorted(values))
        return f"{shorten_text(value)} is not one of: {allowed}"

    return check


def _check_iri(value: str) -> str:
    return "" if is_absolute_iri(value) else f"{shorten_text(value)} is not an IRI"


def _check_date(value: str) -> str:
    problem = f"{shorten_text(value)} is not a date such as 2026-01-31"
    if not _DATE.fullmatch(value):
        return problem
    try:
        date.fromisoformat(value)
    except ValueError:
        return problem
    return ""


def _check_probability(value: str) -> str:
    if not _NUMBER.fullmatch(value):
        return f"{shorten_text(value)} is not a number"
    return "" if 0 <= float(value) <= 1 else f"{shorten_text(value)} is not between 0 and 1"
