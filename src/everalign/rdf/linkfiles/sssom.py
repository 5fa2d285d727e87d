"""Links as SSSOM/TSV 1.0: written in its canonical form, and read back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import IO, NamedTuple

from everalign.errors import ConfigError, InputError
from everalign.rdf.linkfiles import sssom_slots as spec
from everalign.rdf.linkfiles.prefixes import BUILT_IN, Prefixes, suggested
from everalign.rdf.linkfiles.rows import as_iri
from everalign.rdf.linkfiles.sssom_check import entity_check
from everalign.rdf.linkfiles.sssom_parts import metadata_of, parts, rows_of
from everalign.rdf.links import LinkLine
from everalign.rdf.names import is_absolute_iri, shortened

# What those say who share mappings without having chosen a licence.
NO_LICENSE = "https://w3id.org/sssom/license/unspecified"
_PLAIN_SCALAR = re.compile(r"[A-Za-z][A-Za-z0-9_./:#%+=~-]*")
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NEEDS_QUOTES = re.compile('["\t\n\r]')
_READ_AS_OTHER = frozenset(["true", "false", "null", "yes", "no", "on", "off", "y", "n"])


class Justified(NamedTuple):
    """A pair and one reason for it; `negated` where the reason says that it is wrong.

    A `confidence` is a probability, a `similarity` any other score from 0 to 1.
    """

    left: str
    right: str
    justification: str
    confidence: float | None = None
    negated: bool = False
    similarity: float | None = None
    tool: str = ""
    tool_version: str = ""
    date: str = ""
    comment: str = ""


@dataclass(frozen=True)
class MappingSet:
    """What is said of all mappings together."""

    id: str
    license: str = NO_LICENSE
    version: str = ""
    prefixes: Prefixes = field(default_factory=Prefixes)
    left_source: str | None = None
    right_source: str | None = None

    def __post_init__(self) -> None:
        for name in ("id", "license"):
            if not is_absolute_iri(value := getattr(self, name)):
                what = f"the {name} of a mapping set"
                raise ConfigError(f"{what} must be an IRI, not {shortened(value)}")
        for name, iri in self.prefixes.names.items():
            if BUILT_IN.get(name, iri) != iri:
                raise ConfigError(f"in SSSOM the prefix {name!r} must stand for {BUILT_IN[name]}")


def write_sssom(rows: Iterable[Justified], stream: IO[bytes], about: MappingSet) -> None:
    """Write a mapping set. Where an IRI has no prefix, nothing is written.

    >>> from io import BytesIO
    >>> stream = BytesIO()
    >>> about = MappingSet("urn:my:set", prefixes=Prefixes({"a": "urn:a/", "b": "urn:b/"}))
    >>> row = Justified("urn:a/1", "urn:b/1", "semapv:CompositeMatching", 0.93)
    >>> write_sssom([row], stream, about)
    >>> print(stream.getvalue().decode().splitlines()[-1].split("\\t"))
    ['a:1', 'owl:sameAs', 'b:1', 'semapv:CompositeMatching', '0.93']
    """
    table = [_slots(row, about) for row in rows]
    table.sort(key=lambda row: tuple(row.values()))  # the slots are in the order of the schema
    shared = _shared(table)
    columns = [
        name
        for name in (table[0] if table else spec.REQUIRED)
        if name in spec.REQUIRED or (name not in shared and any(row[name] for row in table))
    ]
    lines = [*_metadata(table, shared, about), "\t".join(columns)]
    lines += ["\t".join([_quoted(row[name]) for name in columns]) for row in table]
    stream.writelines([f"{line}\n".encode() for line in lines])


def read_sssom(path: Path) -> Iterator[LinkLine]:
    """The mappings that say that two entities are the same; negated ones are passed over."""
    block, table = parts(path)
    metadata, problems = metadata_of(block)
    if problems:
        raise InputError(problems[0].problem, path=path, line=problems[0].line)
    prefixes = {**BUILT_IN, **metadata.prefixes}
    rows = rows_of(table)
    header = next(rows, None)
    names = [] if header is None else header.cells
    for name in spec.REQUIRED[:3]:
        if name not in names:
            line = None if header is None else header.line
            raise InputError(f"has no column {name}", path=path, line=line)
    for row in rows:
        if row.fault or len(row.cells) != len(names):
            fault = row.fault or f"expected {len(names)} cells, found {len(row.cells)}"
            raise InputError(fault, path=path, line=row.line)
        said = dict(zip(names, row.cells, strict=True))
        if said.get("predicate_modifier") != spec.NOT:
            yield _link(said, prefixes, path, row.line)


def _link(said: Mapping[str, str], prefixes: Mapping[str, str], path: Path, line: int) -> LinkLine:
    if said["predicate_id"] not in spec.SAME:
        problem = f"expected {' or '.join(spec.SAME)}, found {shortened(said['predicate_id'])}"
        raise InputError(problem, path=path, line=line)
    check = entity_check(prefixes)
    pair = said["subject_id"], said["object_id"]
    for curie in pair:
        if curie == spec.NO_TERM:
            raise InputError("a mapping to nothing is no link", path=path, line=line)
        if fault := check(curie):
            raise InputError(fault, path=path, line=line)
    left, right = (_expanded(curie, prefixes) for curie in pair)
    return LinkLine(left, right, line)


def _expanded(curie: str, prefixes: Mapping[str, str]) -> str:
    prefix, _, local = curie.partition(":")
    return prefixes[prefix] + local


def _slots(row: Justified, about: MappingSet) -> dict[str, str]:
    return {
        "subject_id": _curie(row.left, about),
        "predicate_id": spec.SAME[0],
        "predicate_modifier": spec.NOT if row.negated else "",
        "object_id": _curie(row.right, about),
        "mapping_justification": row.justification,
        "subject_source": _curie(about.left_source, about) if about.left_source else "",
        "object_source": _curie(about.right_source, about) if about.right_source else "",
        "mapping_tool": row.tool,
        "mapping_tool_version": row.tool_version,
        "mapping_date": row.date,
        "confidence": _rounded(row.confidence),
        "similarity_score": _rounded(row.similarity),
        "comment": row.comment,
    }


def _curie(iri: str, about: MappingSet) -> str:
    curie = about.prefixes.curie(as_iri(iri, "SSSOM"))
    if curie is None:
        hint = f"give one, such as --prefix {suggested(iri)}"
        raise InputError(f"no prefix covers {shortened(iri, 200)}: {hint}")
    return curie


def _rounded(score: float | None) -> str:
    """With up to three digits after the point, as the canonical form wants it.

    >>> _rounded(0.93), _rounded(1.0), _rounded(0.12345), _rounded(None)
    ('0.93', '1', '0.123', '')
    """
    if score is None:
        return ""
    exact = Decimal(repr(float(score))).quantize(Decimal("0.001"), ROUND_HALF_UP)
    return f"{exact:f}".rstrip("0").rstrip(".")


def _shared(table: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The slots that have one value in all rows, and may be said once for all of them."""
    shared: dict[str, str] = {}
    for name in spec.PROPAGATED:
        values = {row[name] for row in table if name in row}
        if len(values) == 1 and (value := values.pop()):
            shared[name] = value
    return shared


def _metadata(
    table: Sequence[Mapping[str, str]], shared: Mapping[str, str], about: MappingSet
) -> Iterator[str]:
    written = [name for name in spec.ENTITIES if table and name in table[0]]
    used = {row[name].partition(":")[0] for row in table for name in written}
    prefixes = {
        name: iri
        for name, iri in sorted(about.prefixes.names.items())
        if name in used and name not in BUILT_IN
    }
    yield "#curie_map:" if prefixes else "#curie_map: {}"
    for name, iri in prefixes.items():
        yield f"#  {name}: {_scalar(iri)}"
    own = {
        "mapping_set_id": about.id,
        "mapping_set_version": about.version,
        "license": about.license,
    }
    said = {**shared, **own}
    for name in spec.SET_SLOTS:
        if value := said.get(name, ""):
            yield f"#{name}: {_scalar(value)}"


def _scalar(value: str) -> str:
    """A text as YAML has it: plain, or in quotes where it could be taken for something else."""
    plain = _PLAIN_SCALAR.fullmatch(value) and not value.endswith(":") and ":#" not in value
    if plain and value.lower() not in _READ_AS_OTHER:
        return value
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return _NOT_IN_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _quoted(value: str) -> str:
    if not _NEEDS_QUOTES.search(value):
        return value
    doubled = value.replace('"', '""')
    return f'"{doubled}"'
