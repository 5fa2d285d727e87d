"""SSSOM/TSV 1.0: the slots of the schema, and links written in the canonical form."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import IO, NamedTuple

from everalign.errors import ConfigError, InputError
from everalign.io.links.records import (
    LINK_PREDICATES,
    SSSOM,
    SSSOM_PREFIXES,
    Prefixes,
    check_iri,
    suggest_namespace,
)
from everalign.io.terms import is_absolute_iri, shorten_text

# The licence of mapping sets for which none was chosen.
NO_LICENSE = "https://w3id.org/sssom/license/unspecified"
# Text that YAML reads as a string without quotes, whatever follows.
_PLAIN_SCALAR = re.compile(r"[A-Za-z][A-Za-z0-9_./:#%+=~-]*")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_YAML_WORDS = frozenset(["true", "false", "null", "yes", "no", "on", "off", "y", "n"])
# Characters that JSON leaves as they are and YAML does not allow in a string.
_ESCAPED_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NEEDS_QUOTES = re.compile('["\t\n\r]')


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# The schema, from https://w3id.org/sssom/spec: the slots, their types and their values.

SAME_PREDICATES = tuple(LINK_PREDICATES)
# Prefixes that a predicate needs and SSSOM does not have.
_PREDICATE_PREFIXES = {"schema": "http://schema.org/"}
MAX_LISTED_PREFIXES = 20
NEGATED = "Not"
NO_TERM_FOUND = "sssom:NoTermFound"
NO_TERM_IRI = f"{SSSOM}NoTermFound"
# Identifiers of people, whose prefix nobody has to give.
WELL_KNOWN_REVIEWERS = {"orcid": "https://orcid.org/"}
_REVIEWER = re.compile(r"[A-Za-z][\w.-]*:[\w.-]+")

# Slots of a mapping set, allowed in the metadata block, in the order of the schema.
MAPPING_SET_SLOTS = _split_names("""
    curie_map mapping_set_id mapping_set_version mapping_set_source mapping_set_title
    mapping_set_description creator_id creator_label license subject_type subject_source
    subject_source_version object_type object_source object_source_version mapping_provider
    mapping_tool mapping_tool_version mapping_date publication_date subject_match_field
    object_match_field subject_preprocessing object_preprocessing see_also issue_tracker other
    comment extension_definitions
""")
MAPPING_SET_SLOTS_1_1 = _split_names("""
    sssom_version mapping_set_confidence predicate_type cardinality_scope mapping_tool_id
    similarity_measure curation_rule curation_rule_text
""")
REQUIRED_MAPPING_SET_SLOTS = ("mapping_set_id", "license")

# Slots of a mapping, each a column, in the order of the schema.
MAPPING_SLOTS = _split_names("""
    subject_id subject_label subject_category predicate_id predicate_label predicate_modifier
    object_id object_label object_category mapping_justification author_id author_label
    reviewer_id reviewer_label creator_id creator_label license subject_type subject_source
    subject_source_version object_type object_source object_source_version mapping_provider
    mapping_source mapping_cardinality mapping_tool mapping_tool_version mapping_date
    publication_date confidence curation_rule curation_rule_text subject_match_field
    object_match_field match_string subject_preprocessing object_preprocessing similarity_score
    similarity_measure see_also issue_tracker_item other comment
""")
MAPPING_SLOTS_1_1 = (
    "record_id", "predicate_type", "cardinality_scope", "mapping_tool_id", "review_date",
)  # fmt: skip
REQUIRED_SLOTS = ("subject_id", "predicate_id", "object_id", "mapping_justification")

# Slots that move to the metadata block if all mappings have the same value.
PROPAGATED_SLOTS = _split_names("""
    mapping_date mapping_provider mapping_tool mapping_tool_version object_match_field
    object_preprocessing object_source object_source_version object_type subject_match_field
    subject_preprocessing subject_source subject_source_version subject_type
""")
MULTIVALUED_SLOTS = _split_names("""
    creator_id creator_label author_id author_label reviewer_id reviewer_label see_also
    mapping_set_source subject_match_field object_match_field match_string subject_preprocessing
    object_preprocessing curation_rule curation_rule_text cardinality_scope
""")

# Slots by the type of their values.
ENTITY_SLOTS = _split_names("""
    subject_id predicate_id object_id mapping_justification author_id reviewer_id creator_id
    subject_source object_source mapping_source curation_rule subject_match_field
    object_match_field subject_preprocessing object_preprocessing issue_tracker_item
    mapping_tool_id record_id
""")
IRI_SLOTS = (
    "mapping_set_id", "mapping_set_source", "license", "mapping_provider", "see_also",
    "issue_tracker",
)  # fmt: skip
DATE_SLOTS = ("mapping_date", "publication_date", "review_date")
PROBABILITY_SLOTS = ("confidence", "similarity_score", "mapping_set_confidence")

_ENTITY_TYPES = frozenset(
    {
        "owl class", "owl object property", "owl data property", "owl annotation property",
        "owl named individual", "skos concept", "rdfs resource", "rdfs class", "rdfs literal",
        "rdfs datatype", "rdf property", "composed entity expression",
    }
)  # fmt: skip
_JUSTIFICATIONS = _split_names("""
    MappingReview ManualMappingCuration LogicalReasoning LexicalMatching CompositeMatching
    UnspecifiedMatching SemanticSimilarityThresholdMatching LexicalSimilarityThresholdMatching
    MappingChaining MappingInversion StructuralMatching InstanceBasedMatching
    BackgroundKnowledgeBasedMatching
""")
# Slots with a fixed set of values.
ENUMERATED_SLOTS = {
    "predicate_modifier": frozenset({NEGATED}),
    "mapping_justification": frozenset(f"semapv:{name}" for name in _JUSTIFICATIONS),
    "mapping_cardinality": frozenset({"1:1", "1:n", "n:1", "n:n", "1:0", "0:1", "0:0"}),
    "subject_type": _ENTITY_TYPES,
    "object_type": _ENTITY_TYPES,
    "predicate_type": _ENTITY_TYPES,
    "sssom_version": frozenset({"1.0", "1.1"}),
}


class JustifiedMapping(NamedTuple):
    """A pair of entities and one reason for it: a row of an SSSOM file."""

    left: str
    right: str
    justification: str
    """A CURIE of the Semantic Mapping Vocabulary."""

    confidence: float | None = None
    """A probability."""

    negated: bool = False
    """Whether the reason is one against the pair."""

    similarity: float | None = None
    """A score from 0 to 1 that is not a probability."""

    tool: str = ""
    tool_version: str = ""
    date: str = ""
    comment: str = ""
    left_label: str = ""
    right_label: str = ""
    reviewer: str = ""
    """Who decided: a CURIE, an IRI or any name."""

    review_date: str = ""


@dataclass(frozen=True)
class MappingSet:
    """The metadata of an SSSOM file.

    Raises:
        ConfigError: The id or the licence is not an IRI, or a prefix contradicts SSSOM.
    """

    id: str
    license: str = NO_LICENSE
    version: str = ""
    prefixes: Prefixes = field(default_factory=Prefixes)
    left_source: str | None = None
    right_source: str | None = None
    predicate: str = SAME_PREDICATES[0]

    def __post_init__(self) -> None:
        for name in ("id", "license"):
            if not is_absolute_iri(value := getattr(self, name)):
                raise ConfigError(
                    f"the {name} of a mapping set must be an IRI, not {shorten_text(value)}"
                )
        for name, iri in self.prefixes.names.items():
            if SSSOM_PREFIXES.get(name, iri) != iri:
                raise ConfigError(
                    f"in SSSOM the prefix {name!r} must stand for {SSSOM_PREFIXES[name]}"
                )


def write_sssom(rows: Iterable[JustifiedMapping], stream: IO[bytes], about: MappingSet) -> None:
    """Write a mapping set in the canonical form; nothing is written if an IRI has no prefix.

    Args:
        rows: The mappings.
        stream: Where to write.
        about: The metadata.

    Raises:
        InputError: A name is not an absolute IRI, or some have no prefix.

    >>> from io import BytesIO
    >>> stream = BytesIO()
    >>> about = MappingSet("urn:my:set", prefixes=Prefixes({"a": "urn:a/", "b": "urn:b/"}))
    >>> row = JustifiedMapping("urn:a/1", "urn:b/1", "semapv:CompositeMatching", 0.93)
    >>> write_sssom([row], stream, about)
    >>> print(stream.getvalue().decode().splitlines()[-1].split("\\t"))
    ['a:1', 'owl:sameAs', 'b:1', 'semapv:CompositeMatching', '0.93']
    """
    rows = list(rows)
    _check_prefixes(rows, about)
    about = _add_reviewer_prefixes(rows, about)
    table = [_make_slots(row, about) for row in rows]
    # The canonical order: by the values of the slots in the order of the schema.
    table.sort(key=lambda row: tuple(row.values()))
    shared = _find_shared_slots(table)
    columns = [
        name
        for name in (table[0] if table else REQUIRED_SLOTS)
        if name in REQUIRED_SLOTS or (name not in shared and any(row[name] for row in table))
    ]
    lines = [*_format_metadata(table, shared, about), "\t".join(columns)]
    lines += ["\t".join([_quote_cell(row[name]) for name in columns]) for row in table]
    stream.writelines([f"{line}\n".encode() for line in lines])


def _make_slots(row: JustifiedMapping, about: MappingSet) -> dict[str, str]:
    """Convert a mapping to slots, in the order of the schema."""
    return {
        "subject_id": _make_curie(row.left, about),
        "subject_label": row.left_label,
        "predicate_id": about.predicate,
        "predicate_modifier": NEGATED if row.negated else "",
        "object_id": _make_curie(row.right, about),
        "object_label": row.right_label,
        "mapping_justification": row.justification,
        **_make_reviewer_slots(row.reviewer, about),
        "subject_source": _make_curie(about.left_source, about) if about.left_source else "",
        "object_source": _make_curie(about.right_source, about) if about.right_source else "",
        "mapping_tool": row.tool,
        "mapping_tool_version": row.tool_version,
        "mapping_date": row.date,
        "review_date": row.review_date,
        "confidence": _format_score(row.confidence),
        "similarity_score": _format_score(row.similarity),
        "comment": row.comment,
    }


def _check_prefixes(rows: Sequence[JustifiedMapping], about: MappingSet) -> None:
    """Check that there is a prefix for every IRI, and name all that are missing."""
    sources = [source for source in (about.left_source, about.right_source) if source]
    iris = {*sources, *(iri for row in rows for iri in (row.left, row.right))}
    iris.discard(NO_TERM_IRI)
    missing = Counter(
        suggest_namespace(iri)
        for iri in iris
        if about.prefixes.format_curie(check_iri(iri, "SSSOM")) is None
    )
    if missing:
        # By name among those of equal number, so that the message is the same in every run.
        ranked = sorted(missing, key=lambda namespace: (-missing[namespace], namespace))
        listed = ranked[:MAX_LISTED_PREFIXES]
        names = [f"--prefix ns{number}={iri}" for number, iri in enumerate(listed, 1)]
        more = len(missing) - len(names)
        rest = f" and {more} more" if more else ""
        raise InputError(
            f"{missing.total()} IRIs have no prefix, which SSSOM requires: "
            f"give {' '.join(names)}{rest}"
        )


def _add_reviewer_prefixes(rows: Sequence[JustifiedMapping], about: MappingSet) -> MappingSet:
    """Declare the prefix of people's identifiers, if it is used and not declared."""
    known = {**WELL_KNOWN_REVIEWERS, **about.prefixes.names}
    is_used = any(row.reviewer.startswith(tuple(_list_starts(known))) for row in rows)
    return replace(about, prefixes=Prefixes(known)) if is_used else about


def _list_starts(prefixes: Mapping[str, str]) -> Iterator[str]:
    for name in WELL_KNOWN_REVIEWERS:
        yield from (f"{name}:", prefixes[name])


def _make_reviewer_slots(reviewer: str, about: MappingSet) -> dict[str, str]:
    """An identifier of a person as `reviewer_id`, any other name as `reviewer_label`."""
    prefix = reviewer.partition(":")[0]
    curie = about.prefixes.format_curie(reviewer) if is_absolute_iri(reviewer) else None
    if curie is None and prefix in about.prefixes.names and _REVIEWER.fullmatch(reviewer):
        curie = reviewer
    # Several values of a cell are separated by bars.
    label = "" if curie else reviewer.replace("|", "\\|")
    return {"reviewer_id": curie or "", "reviewer_label": label}


def _make_curie(iri: str, about: MappingSet) -> str:
    if iri == NO_TERM_IRI:
        return NO_TERM_FOUND
    curie = about.prefixes.format_curie(iri)
    assert curie is not None, "prefixes are checked before"
    return curie


def _format_score(score: float | None) -> str:
    """Format a score with up to three decimals, as the canonical form requires.

    >>> _format_score(0.93), _format_score(1.0), _format_score(0.12345), _format_score(None)
    ('0.93', '1', '0.123', '')
    """
    if score is None:
        return ""
    rounded = Decimal(repr(float(score))).quantize(Decimal("0.001"), ROUND_HALF_UP)
    return f"{rounded:f}".rstrip("0").rstrip(".")


def _find_shared_slots(table: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Find the propagatable slots with one value in all rows, which go into the metadata."""
    shared: dict[str, str] = {}
    for name in PROPAGATED_SLOTS:
        values = {row[name] for row in table if name in row}
        if len(values) == 1 and (value := values.pop()):
            shared[name] = value
    return shared


def _format_metadata(
    table: Sequence[Mapping[str, str]], shared: Mapping[str, str], about: MappingSet
) -> Iterator[str]:
    entity_slots = [name for name in ENTITY_SLOTS if table and name in table[0]]
    used = {row[name].partition(":")[0] for row in table for name in entity_slots}
    declared = {**_PREDICATE_PREFIXES, **about.prefixes.names}
    prefixes = {
        name: iri
        for name, iri in sorted(declared.items())
        if name in used and name not in SSSOM_PREFIXES
    }
    if any(row["review_date"] for row in table):
        # `review_date` came with this version of the schema.
        yield '#sssom_version: "1.1"'
    yield "#curie_map:" if prefixes else "#curie_map: {}"
    for name, iri in prefixes.items():
        yield f"#  {name}: {_format_scalar(iri)}"
    slots = {
        **shared,
        "mapping_set_id": about.id,
        "mapping_set_version": about.version,
        "license": about.license,
    }
    for name in MAPPING_SET_SLOTS:
        if value := slots.get(name, ""):
            yield f"#{name}: {_format_scalar(value)}"


def _format_scalar(value: str) -> str:
    """Format a string for YAML: plain, or in quotes where it could be read as something else."""
    is_plain = _PLAIN_SCALAR.fullmatch(value) and not value.endswith(":") and ":#" not in value
    if (is_plain and value.lower() not in _YAML_WORDS) or _DATE.fullmatch(value):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return _ESCAPED_IN_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _quote_cell(value: str) -> str:
    if not _NEEDS_QUOTES.search(value):
        return value
    doubled = value.replace('"', '""')
    return f'"{doubled}"'
