"""Exports of an alignment: every format, and for each link the reasons it rests on."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest
from tests import toy as toys
from tests.ledgers import LEFT, RIGHT, Step, aligner_of

from everalign import Aligner, Config
from everalign.errors import ConfigError, InputError
from everalign.export import EXPORT_FORMATS
from everalign.io import ExportStyle, Prefixes, check_sssom, read_links
from everalign.io.links.sssom import MAPPING_SLOTS
from everalign.state.ledger import EventKind

STYLE = ExportStyle(Prefixes({"l": "http://left.org/", "r": "http://right.org/"}))
STORY: list[list[Step]] = [
    [
        (EventKind.CONFIRMED, 0, 0, 1.0),
        (EventKind.ADDED, 1, 1, 0.8),
        (EventKind.ADDED, 2, 2, 0.61234),
    ],
    [(EventKind.CONFIRMED, 1, 1, 1.0), (EventKind.REJECTED, 3, 4, 0.0)],
]
ENDINGS = {"alignment": "rdf", "sssom": "sssom.tsv"}


@pytest.fixture
def story(tmp_path: Path) -> Aligner:
    return aligner_of(tmp_path / "state", STORY)


def exported(
    aligner: Aligner, format: str, style: ExportStyle = STYLE, **options: object
) -> bytes:
    stream = BytesIO()
    aligner.export(stream, format, style, **options)  # type: ignore[arg-type]
    return stream.getvalue()


def sssom(content: bytes) -> tuple[list[str], list[dict[str, str]]]:
    """The metadata block, and the rows of the table."""
    lines = content.decode().splitlines()
    block = [line for line in lines if line.startswith("#")]
    header, *rows = (line.split("\t") for line in lines[len(block) :])
    return block, [dict(zip(header, row, strict=True)) for row in rows]


@pytest.mark.parametrize("format", EXPORT_FORMATS)
def test_every_format_reads_back_to_the_links(story: Aligner, tmp_path: Path, format: str) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"links.{ENDINGS.get(format, format)}"
    path.write_bytes(exported(story, format))
    found = {(link.left, link.right) for link in read_links(path)}
    assert found == {(LEFT[n], RIGHT[n]) for n in range(3)}


def test_sssom_has_a_row_for_each_reason_and_for_what_was_rejected(story: Aligner) -> None:
    _, rows = sssom(exported(story, "sssom"))
    told = [
        (row["subject_id"], row["predicate_modifier"], row["object_id"],
         row["mapping_justification"], row["confidence"], row["mapping_tool"])
        for row in rows
    ]  # fmt: skip
    by_hand, found = "semapv:ManualMappingCuration", "semapv:CompositeMatching"
    assert told == [
        ("l:0", "", "r:0", by_hand, "1", ""),
        ("l:1", "", "r:1", found, "0.8", "EverAlign (evidence)"),
        ("l:1", "", "r:1", by_hand, "1", ""),
        ("l:2", "", "r:2", found, "0.612", "EverAlign (evidence)"),
        ("l:3", "Not", "r:4", by_hand, "1", ""),
    ]
    assert {row["predicate_id"] for row in rows} == {"owl:sameAs"}
    assert rows[2]["comment"] == "as said in version 1"
    places = [MAPPING_SLOTS.index(name) for name in rows[0]]
    assert places == sorted(places), "the columns are in the order of the schema"


def test_sssom_passes_its_own_check(story: Aligner, tmp_path: Path) -> None:
    style = ExportStyle(
        Prefixes({"l": "http://left.org/", "r": "http://right.org/", "no": "http://no.org/"}),
        left_source="http://left.org/graph",
        right_source="http://right.org/graph",
        mapping_set_id="https://example.org/links",
        license="https://creativecommons.org/publicdomain/zero/1.0/",
    )
    path = tmp_path / "links.sssom.tsv"
    path.write_bytes(exported(story, "sssom", style))
    assert check_sssom(path) == []
    block, _ = sssom(path.read_bytes())
    date = block[-1].removeprefix("#mapping_date: ")
    assert block == [
        "#curie_map:",
        "#  l: http://left.org/",
        "#  r: http://right.org/",
        "#mapping_set_id: https://example.org/links",
        '#mapping_set_version: "1"',
        "#license: https://creativecommons.org/publicdomain/zero/1.0/",
        "#subject_source: l:graph",
        "#object_source: r:graph",
        f"#mapping_date: {date}",
    ]
    assert len(date) == 10


def test_sssom_of_an_earlier_version_knows_nothing_of_later_ones(story: Aligner) -> None:
    block, rows = sssom(exported(story, "sssom", at=0))
    assert '#mapping_set_version: "0"' in block
    assert [row["subject_id"] for row in rows] == ["l:0", "l:1", "l:2"]
    assert "predicate_modifier" not in rows[0]
    _, rows = sssom(exported(story, "sssom", found_only=True))
    assert [row["subject_id"] for row in rows] == ["l:2"]


def test_a_score_that_is_no_probability_is_no_confidence(tmp_path: Path) -> None:
    steps: list[list[Step]] = [[(EventKind.ADDED, 0, 0, 0.4), (EventKind.ADDED, 1, 1, 1.7)]]
    aligner = aligner_of(tmp_path / "state", steps, method="contea")
    _, (first, second) = sssom(exported(aligner, "sssom"))
    assert "confidence" not in first
    assert first["mapping_justification"] == "semapv:SemanticSimilarityThresholdMatching"
    assert (first["similarity_score"], second["similarity_score"]) == ("0.4", "")
    assert second["comment"].startswith("score 1.7; ")
    assert b"similarity_score 0.4 |}" in exported(aligner, "ttl", ExportStyle(annotate=True))


def test_links_of_an_unknown_method_can_be_exported(tmp_path: Path) -> None:
    aligner = aligner_of(tmp_path / "state", [[(EventKind.ADDED, 0, 0, 0.4)]], method="forgotten")
    _, (row,) = sssom(exported(aligner, "sssom"))
    assert row["mapping_justification"] == "semapv:UnspecifiedMatching"


def test_an_iri_without_a_prefix_is_named(story: Aligner) -> None:
    stream = BytesIO()
    with pytest.raises(InputError) as caught:
        story.export(stream, "sssom")
    # Four right entities, since one pair was rejected, and as many left ones.
    assert str(caught.value) == (
        "8 IRIs have no prefix, which SSSOM requires: "
        "give --prefix ns1=http://left.org/ --prefix ns2=http://right.org/"
    )
    assert stream.getvalue() == b""


@pytest.mark.parametrize(
    ("format", "style", "problem"),
    [
        ("docx", ExportStyle(), "'docx'; the formats are tsv, nt, ttl,"),
        ("sssom", ExportStyle(annotate=True), "needs no annotations"),
        (
            "sssom",
            ExportStyle(Prefixes({"owl": "urn:owl:"})),
            "'owl' must stand for http://www.w3",
        ),
        (
            "sssom",
            ExportStyle(mapping_set_id="mine"),
            "id of a mapping set must be an IRI, not 'mine'",
        ),
        ("sssom", ExportStyle(license="mine"), "license of a mapping set must be an IRI"),
    ],
)
def test_what_cannot_be_exported(
    story: Aligner, format: str, style: ExportStyle, problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        exported(story, format, style)
    assert problem in str(caught.value)


def test_the_links_are_chosen_as_for_links(story: Aligner) -> None:
    lines = exported(story, "jsonl", min_score=0.7).splitlines()
    assert [json.loads(line) for line in lines] == [
        {"left": LEFT[n], "right": RIGHT[n], "score": 1.0, "since": 0, "origin": "given"}
        for n in range(2)
    ]
    stream = BytesIO()
    assert story.export(stream, found_only=True).written == 1
    assert stream.getvalue().decode() == f"{LEFT[2]}\t{RIGHT[2]}\t0.61234\n"


def test_proposals_are_marked_as_such(tmp_path: Path, toy: Config) -> None:
    left, right = (
        [tuple(f"urn:{side}:{name}" for name in triple) for triple in triples]
        for side, triples in (("l", toys.LEFT), ("r", toys.RIGHT))
    )
    seeds = [(f"urn:l:{a}", f"urn:r:{b}") for a, b in toys.SEEDS]
    aligner = Aligner.create(tmp_path / "state", left, right, seeds, config=toy)  # type: ignore[arg-type]
    style = ExportStyle(Prefixes({"l": "urn:l:", "r": "urn:r:"}))
    _, rows = sssom(exported(aligner, "sssom", style, min_confidence=0.2))
    proposed = {row["subject_id"]: row for row in rows if row["comment"].startswith("proposed")}
    assert proposed["l:Rome"]["confidence"] == "0.25"
    assert "l:Oslo" not in proposed
    assert len({row["subject_id"] for row in rows}) == len(rows)
