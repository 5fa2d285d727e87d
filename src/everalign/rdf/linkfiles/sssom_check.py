"""Whether a file is SSSOM/TSV as the specification has it: every problem, with its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path

from everalign.rdf.linkfiles import sssom_slots as spec
from everalign.rdf.linkfiles.prefixes import BUILT_IN
from everalign.rdf.linkfiles.sssom_parts import (
    Line,
    Metadata,
    Problem,
    metadata_of,
    parts,
    rows_of,
)
from everalign.rdf.names import NOT_IN_IRI, is_absolute_iri, shortened

_NCNAME = re.compile(r"[^\W\d][\w.-]*")
_LOCAL = f"(?!//)[^{re.escape(NOT_IN_IRI.decode())}]+"
_CURIE = re.compile(rf"([^\W\d][\w.-]*):{_LOCAL}")
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

# The value of a slot → what is wrong with it, or nothing.
Check = Callable[[str], str]


def check_sssom(path: str | Path) -> list[Problem]:
    """All that is wrong with an SSSOM file, in the order of its lines; nothing if it is right.

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
    block, table = parts(path)
    metadata, problems = metadata_of(block)
    if _has_byte_order_mark(path):
        problems.append(Problem(1, "the file starts with a byte order mark, which is not allowed"))
    if block and not problems:
        problems += _check_metadata(metadata)
    if not block:
        problems.append(Problem(0, "there is no metadata block"))
    return sorted([*problems, *_check_table(table, metadata)], key=lambda each: each.line)


def entity_check(prefixes: Mapping[str, str]) -> Check:
    """A check that a value is a CURIE whose prefix is known."""

    def check(value: str) -> str:
        match = _CURIE.fullmatch(value)
        if match is None:
            return f"{shortened(value)} is not a CURIE"
        if match[1] not in prefixes and match[1] not in BUILT_IN:
            return f"the prefix {match[1]!r} of {shortened(value)} is not in the curie_map"
        return ""

    return check


def _has_byte_order_mark(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(3) == b"\xef\xbb\xbf"


def _check_metadata(metadata: Metadata) -> Iterator[Problem]:
    slots = metadata.slots
    for name in (*spec.REQUIRED_OF_SET, "curie_map"):
        # A file whose prefixes are all built in has an empty map.
        if name not in slots or not (slots[name].value or name == "curie_map"):
            yield Problem(0, f"the metadata have no {name}, which is required")
    known = {*_of_version(metadata, spec.SET_SLOTS, spec.SET_SLOTS_1_1), *_extensions(metadata)}
    checks = _checks(metadata)
    for name, slot in slots.items():
        if name not in known:
            yield Problem(slot.line, f"{shortened(name)} is no slot of a mapping set")
        elif name == "curie_map":
            yield from _check_prefixes(slot.value, slot.line)
        elif name in checks:
            yield from _check_slot(name, slot.value, slot.line, checks[name])


def _check_prefixes(value: object, line: int) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem(line, "the curie_map is no mapping of prefixes to IRIs")
        return
    for name, iri in value.items():
        if not _NCNAME.fullmatch(name):
            yield Problem(line, f"{shortened(name)} cannot be the name of a prefix")
        if not isinstance(iri, str) or not is_absolute_iri(f"{iri}x"):
            yield Problem(line, f"the prefix {name!r} stands for {shortened(str(iri))}: no IRI")
        elif BUILT_IN.get(name, iri) != iri:
            yield Problem(line, f"the prefix {name!r} must stand for {BUILT_IN[name]}")


def _check_slot(name: str, value: object, line: int, check: Check) -> Iterator[Problem]:
    values = value if isinstance(value, list) and name in spec.MULTIVALUED else [value]
    for each in values:
        if not isinstance(each, str):
            yield Problem(line, f"{name} is not a text")
        elif each and (fault := check(each)):
            yield Problem(line, f"{name}: {fault}")


def _check_table(lines: Iterable[Line], metadata: Metadata) -> Iterator[Problem]:
    rows = rows_of(lines)
    header = next(rows, None)
    if header is None or header.cells == [""]:
        yield Problem(0 if header is None else header.line, "there is no row with column names")
        return
    yield from _check_header(header.cells, header.line, metadata)
    checks = _checks(metadata)
    checked = [(place, name, checks[name]) for place, name in enumerate(header.cells)
               if name in checks]  # fmt: skip
    for row in rows:
        if row.fault:
            yield Problem(row.line, row.fault)
        elif row.cells == [""]:
            yield Problem(row.line, "the line is empty")
        elif row.cells[0].startswith("#"):
            yield Problem(row.line, "the metadata block ends before the column names")
        elif len(row.cells) != len(header.cells):
            found = f"found {len(row.cells)}"
            yield Problem(row.line, f"expected {len(header.cells)} cells, {found}")
        else:
            yield from _check_required(header.cells, row.cells, row.line, metadata)
            for place, name, check in checked:
                yield from _check_cell(name, row.cells[place], row.line, check)


def _check_header(names: list[str], line: int, metadata: Metadata) -> Iterator[Problem]:
    known = {*_of_version(metadata, spec.SLOTS, spec.SLOTS_1_1), *_extensions(metadata)}
    for place, name in enumerate(names):
        if name in names[:place]:
            yield Problem(line, f"the column {shortened(name)} is there twice")
        elif name not in known:
            yield Problem(line, f"{shortened(name)} is no slot of a mapping")
    for name in spec.REQUIRED:
        # An entity that is nothing but its label has no id.
        if name not in names and not _may_be_literal(name, names, metadata):
            yield Problem(line, f"there is no column {name}, which is required")


def _check_required(
    names: list[str], cells: list[str], line: int, metadata: Metadata
) -> Iterator[Problem]:
    said = dict(zip(names, cells, strict=True))
    for name in spec.REQUIRED:
        side = name.removesuffix("_id")
        kind = said.get(f"{side}_type") or _text(metadata, f"{side}_type")
        wanted = f"{side}_label" if kind == "rdfs literal" else name
        if wanted in said and not said[wanted].strip():
            yield Problem(line, f"{wanted} is empty, which is not allowed")
        elif wanted != name and wanted not in said:
            yield Problem(line, f"a literal needs a {wanted}")


def _check_cell(name: str, cell: str, line: int, check: Check) -> Iterator[Problem]:
    values = cell.split("|") if name in spec.MULTIVALUED else [cell]
    for value in values:
        if value and (fault := check(value)):
            yield Problem(line, f"{name}: {fault}")


def _may_be_literal(name: str, names: list[str], metadata: Metadata) -> bool:
    slot = f"{name.removesuffix('_id')}_type"
    return name in ("subject_id", "object_id") and (slot in names or slot in metadata.slots)


def _text(metadata: Metadata, name: str) -> str:
    value = metadata.slots[name].value if name in metadata.slots else ""
    return value if isinstance(value, str) else ""


def _of_version(metadata: Metadata, old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    return old + new if _text(metadata, "sssom_version") == "1.1" else old


def _extensions(metadata: Metadata) -> Iterator[str]:
    """The slots that the file itself has defined."""
    found = metadata.slots.get("extension_definitions")
    for each in found.value if found and isinstance(found.value, list) else ():
        if isinstance(each, dict) and isinstance(each.get("slot_name"), str):
            yield each["slot_name"]


def _checks(metadata: Metadata) -> dict[str, Check]:
    """What each slot with a type or a vocabulary of its own may hold."""
    entity = entity_check(metadata.prefixes)
    checks: dict[str, Check] = dict.fromkeys(spec.ENTITIES, entity)
    checks |= dict.fromkeys(spec.IRIS, _iri)
    checks |= dict.fromkeys(spec.DATES, _date)
    checks |= dict.fromkeys(spec.SHARES, _share)
    # Not every CURIE is a justification.
    return checks | {name: _choice(values) for name, values in spec.CHOICES.items()}


def _iri(value: str) -> str:
    return "" if is_absolute_iri(value) else f"{shortened(value)} is not an IRI"


def _date(value: str) -> str:
    problem = f"{shortened(value)} is not a date such as 2026-01-31"
    if not _DATE.fullmatch(value):
        return problem
    try:
        date.fromisoformat(value)
    except ValueError:
        return problem
    return ""


def _share(value: str) -> str:
    if not _NUMBER.fullmatch(value):
        return f"{shortened(value)} is not a number"
    return "" if 0 <= float(value) <= 1 else f"{shortened(value)} does not lie between 0 and 1"


def _choice(values: frozenset[str]) -> Check:
    def check(value: str) -> str:
        if value in values:
            return ""
        allowed = ", ".join(sorted(values))
        return f"{shortened(value)} is not one of: {allowed}"

    return check
