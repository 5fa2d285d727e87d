"""Dumps of Wikidata: direct claims, labels and descriptions are kept, the rest is left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from everalign.io import ReadOptions, SourceOptions, TripleReader

Write = Callable[[str, str | bytes], Path]

WD = "http://www.wikidata.org/entity/"
WDT = "http://www.wikidata.org/prop/direct/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
PREF = "http://www.w3.org/2004/02/skos/core#prefLabel"
ALT = "http://www.w3.org/2004/02/skos/core#altLabel"
SCHEMA = "http://schema.org/"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
WIKIBASE = "http://wikiba.se/ontology#"
DATA = "https://www.wikidata.org/wiki/Special:EntityData/Q42"
STATEMENT = f"{WD}statement/Q42-F078E5B3"

KEPT = f"""\
<{WD}Q42> <{LABEL}> "Douglas Adams"@en .
<{WD}Q42> <{LABEL}> "Douglas Adams"@fr .
<{WD}Q42> <{LABEL}> "Douglas Adams"@mul .
<{WD}Q42> <{SCHEMA}description> "English writer"@en .
<{WD}Q42> <{ALT}> "Douglas Noel Adams"@en .
<{WD}Q42> <{WDT}P31> <{WD}Q5> .
<{WD}Q42> <{WDT}P569> "1952-03-11T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
<{WD}Q43> <{SCHEMA}name> "a name without a label"@en .
<urn:my> <{SCHEMA}name> "what is not of Wikidata" .
<urn:my> <{SCHEMA}about> <{WD}Q42> .
"""
LEFT_OUT = f"""\
<{DATA}> <{TYPE}> <{SCHEMA}Dataset> .
<{DATA}> <{SCHEMA}about> <{WD}Q42> .
<{DATA}> <{SCHEMA}version> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
<{WD}Q42> <{TYPE}> <{WIKIBASE}Item> .
<{WD}Q42> <{WIKIBASE}sitelinks> "9"^^<http://www.w3.org/2001/XMLSchema#integer> .
<{WD}Q42> <{PREF}> "Douglas Adams"@en .
<{WD}Q42> <{SCHEMA}name> "Douglas Adams"@en .
<{WD}Q42> <http://www.wikidata.org/prop/P31> <{STATEMENT}> .
<{WD}Q42> <http://www.wikidata.org/prop/direct-normalized/P214> <http://viaf.org/viaf/113> .
<{STATEMENT}> <http://www.wikidata.org/prop/statement/P31> <{WD}Q5> .
<{STATEMENT}> <http://www.w3.org/ns/prov#wasDerivedFrom> <http://www.wikidata.org/reference/a> .
<http://www.wikidata.org/reference/a> <{TYPE}> <{WIKIBASE}Reference> .
<http://www.wikidata.org/value/b> <{WIKIBASE}timeValue> "x" .
<https://en.wikipedia.org/wiki/Douglas_Adams> <{SCHEMA}about> <{WD}Q42> .
<https://en.wikipedia.org/wiki/Douglas_Adams> <{SCHEMA}name> "Douglas Adams"@en .
<https://en.wikipedia.org/wiki/Douglas_Adams> <{SCHEMA}inLanguage> "en" .
<https://en.wikipedia.org/> <{WIKIBASE}wikiGroup> "wikipedia" .
<{WD}P31> <{LABEL}> "instance of"@en .
<{WD}P31> <{WDT}P1629> <{WD}Q21503252> .
<{WD}P31> <{WIKIBASE}directClaim> <{WDT}P31> .
"""


def read(reader: TripleReader) -> list[tuple[str, str, str]]:
    return sorted(row for part in reader.statements() for row in (*part.triples, *part.literals))


def mix() -> str:
    """Labels first, as in a dump, then the rest."""
    kept, left_out = KEPT.splitlines(), LEFT_OUT.splitlines()
    return "\n".join([*kept[:3], *left_out, *kept[3:]]) + "\n"


@pytest.mark.parametrize("suffix", ["nt", "ttl"])
def test_a_dump_is_reduced_and_told(write: Write, suffix: str) -> None:
    reader = TripleReader(write(f"latest-truthy.{suffix}", mix()))
    assert read(reader) == read(TripleReader(write("kept.nt", KEPT)))
    assert "read as a dump of Wikidata" in reader.notes[0]
    assert reader.filtered_count == len(LEFT_OUT.splitlines())


def test_everything_is_kept_if_asked_for(write: Write) -> None:
    opening = SourceOptions(reduce_wikidata=False)
    reader = TripleReader(write("latest-truthy.nt", mix()), opening=opening)
    assert len(read(reader)) == len(mix().splitlines())
    assert reader.notes == []


def test_labels_in_other_languages_are_left_out(write: Write) -> None:
    options = ReadOptions(languages=("en", "mul", ""))
    rows = read(TripleReader(write("latest-truthy.nt", mix()), options=options))
    labels = [row[2] for row in rows if row[1] == LABEL]
    assert labels == ['"Douglas Adams"@en', '"Douglas Adams"@mul']


def test_a_graph_that_mentions_wikidata_is_no_dump(write: Write) -> None:
    text = (
        f"<urn:a> <http://www.w3.org/2002/07/owl#sameAs> <{WD}Q42> .\n"
        f'<{WD}Q42> <{LABEL}> "Adams" .\n<{WD}Q42> <{PREF}> "Adams" .\n'
    )
    reader = TripleReader(write("mine.nt", text))
    assert len(read(reader)) == 3
    assert reader.notes == []
