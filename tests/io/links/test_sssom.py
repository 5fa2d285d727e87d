"""The check of SSSOM files: valid files pass, each problem has its line number."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from tests.io.conftest import Write

from everalign.errors import InputError
from everalign.io import Prefixes, check_sssom, read_links
from everalign.io.links import JustifiedMapping, MappingSet, write_sssom

META = (
    "#curie_map:\n"
    "#  fr: http://fr.dbpedia.org/resource/\n"
    "#  dbr: http://dbpedia.org/resource/\n"
    "#mapping_set_id: https://example.org/fr-en\n"
    "#license: https://creativecommons.org/publicdomain/zero/1.0/\n"
)
HEADER = "subject_id\tpredicate_id\tobject_id\tmapping_justification\tconfidence\tcomment\n"
ROW = "fr:Paris\towl:sameAs\tdbr:Paris\tsemapv:CompositeMatching\t0.9\t\n"
GOOD = META + HEADER + ROW


def problems(path: Path) -> list[tuple[int, str]]:
    return [(line, problem) for line, problem in check_sssom(path)]


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        META + HEADER,
        GOOD.replace("#", "# "),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("0.9\t\n", '0.9\t"a ""quote"",\ta tab\nand a line"\n') + ROW,
        GOOD.replace("0.9", "1").replace("dbr:Paris", "dbr:Paris_(ville)%20é本"),
        META + "#creator_id:\n#  - fr:Me\n#  - dbr:You\n#mapping_date: 2026-01-31\n" + HEADER,
        META + "#creator_id: fr:Me\n#comment: >\n#  folded\n#  text\n" + HEADER + ROW,
        META + HEADER + ROW.replace("dbr:Paris", "sssom:NoTermFound"),
        META + '#sssom_version: "1.1"\n#mapping_tool_id: fr:EverAlign\n' + HEADER + ROW,
        META + "#extension_definitions:\n#  - slot_name: mood\n"
        + HEADER.replace("comment", "mood") + ROW,
        META + "subject_label\tsubject_type\tpredicate_id\tobject_id\tmapping_justification\n"
        "Paris\trdfs literal\tskos:exactMatch\tdbr:Paris\tsemapv:LexicalMatching\n",
    ],
)  # fmt: skip
def test_a_valid_file_has_no_problems(write: Write, content: str) -> None:
    assert problems(write("links.sssom.tsv", content)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("#license", "#licence", 5, "'licence' is not a slot of a mapping set"),
        ("#license: https", "#license: h ttps", 5, "license: 'h ttps"),
        ("https://example.org/fr-en", "fr-en", 4, "mapping_set_id: 'fr-en' is not an IRI"),
        ("#mapping_set_id: https://example.org/fr-en\n", "", 0, "have no mapping_set_id"),
        ("#  fr:", "#  1fr:", 1, "invalid prefix name '1fr'"),
        ("http://fr.", "fr.", 1, "the prefix 'fr' stands for 'fr.dbpedia.org/resource/'"),
        ("#  fr:", "#  owl:", 1, "the prefix 'owl' must stand for http://www.w3.org/2002/07/owl#"),
        ("#curie_map:", "#curie_map: &map", 1, "anchors, aliases and tags are not allowed"),
        ("#curie_map:", "#curie_map: !!map", 1, "anchors, aliases and tags are not allowed"),
        ("#curie_map:", "#Some remark\n#curie_map:", 2, "not YAML"),
        ("#license", "#mapping_set_id: urn:a\n#license", 5, "duplicate slot 'mapping_set_id'"),
        ("#license", "#mapping_date: 2026-W05-6\n#license", 5, "is not a date such as"),
        ("#license", "#mapping_date: 2026-02-30\n#license", 5, "is not a date such as"),
        ("#license", "#sssom_version: 3\n#license", 5, "'sssom_version' is not a slot"),
        ("#license", "#creator_id:\n#  - a b\n#license", 5, "creator_id: 'a b' is not a CURIE"),
        ("#license", "#subject_type: town\n#license", 5, "subject_type: 'town' is not one of"),
        ("confidence\t", "certainty\t", 6, "'certainty' is not a slot of a mapping"),
        ("confidence\t", "comment\t", 6, "duplicate column 'comment'"),
        ("object_id", "object_name", 6, "there is no column object_id, which is required"),
        ("dbr:Paris\t", "\t", 7, "object_id is empty, which is not allowed"),
        ("dbr:Paris\t", "  \t", 7, "object_id is empty, which is not allowed"),
        ("dbr:Paris\t", "wd:Q90\t", 7, "the prefix 'wd' of 'wd:Q90' is not in the curie_map"),
        ("dbr:Paris\t", "http://dbpedia.org/resource/Paris\t", 7, "is not a CURIE"),
        ("dbr:Paris\t", "Paris\t", 7, "object_id: 'Paris' is not a CURIE"),
        ("dbr:Paris\t", "dbr:Paris France\t", 7, "'dbr:Paris France' is not a CURIE"),
        ("semapv:CompositeMatching", "semapv:Guess", 7, "'semapv:Guess' is not one of: semapv:B"),
        ("semapv:CompositeMatching", "", 7, "mapping_justification is empty"),
        ("0.9", "1.2", 7, "confidence: '1.2' is not between 0 and 1"),
        ("0.9", "nan", 7, "confidence: 'nan' is not a number"),
        ("0.9", "0_9", 7, "confidence: '0_9' is not a number"),
        ("0.9\t\n", "0.9\n", 7, "expected 6 cells, found 5"),
        ("0.9\t\n", "0.9\ta\tb\n", 7, "expected 6 cells, found 7"),
        ("0.9\t\n", '0.9\tsome "quote"\n', 7, 'a cell with " must be quoted'),
        ("0.9\t\n", '0.9\t"open\n', 7, "a quote is opened and never closed"),
        ("0.9\t\n", "0.9\t\n\n", 8, "the line is empty"),
        ("0.9\t\n", "0.9\t\n#comment: late\n", 8, "the metadata block must end before"),
        (META, "", 0, "there is no metadata block"),
        (GOOD, META, 0, "there is no row with column names"),
        ("#curie_map", "\ufeff#curie_map", 1, "starts with a byte order mark"),
        ("#license", "#" + "[" * 5000 + "\n#license", 5, "not YAML"),
    ],
)  # fmt: skip
def test_each_problem_is_reported(
    write: Write, old: str, new: str, line: int, problem: str
) -> None:
    assert old in GOOD
    found = problems(write("links.sssom.tsv", GOOD.replace(old, new, 1)))
    assert any(problem in each and number == line for number, each in found), found
    assert all("\n" not in each for _, each in found)


def test_modifier_and_cardinality_have_fixed_values(write: Write) -> None:
    header = HEADER.replace("confidence\tcomment", "predicate_modifier\tmapping_cardinality")
    row = ROW.replace("0.9\t\n", "not\t1:many\n")
    assert [line for line, _ in problems(write("l.sssom.tsv", META + header + row))] == [7, 7]
    right = ROW.replace("0.9\t\n", "Not\t1:n\n")
    assert problems(write("l.sssom.tsv", META + header + right)) == []


def test_problems_are_sorted_by_line_number(write: Write) -> None:
    rows = ROW.replace("0.9", "2") + ROW + ROW.replace("fr:Paris", "de:Paris")
    found = problems(write("links.sssom.tsv", META + HEADER + rows))
    assert [line for line, _ in found] == [7, 9]


def test_the_metadata_may_be_in_a_separate_file(write: Write) -> None:
    write("links.sssom.yml", META.replace("#", ""))
    path = write("links.sssom.tsv", HEADER + ROW)
    assert problems(path) == []
    assert read_links(path)[0].left == "http://fr.dbpedia.org/resource/Paris"


def test_negated_mappings_are_ignored(write: Write) -> None:
    header = HEADER.replace("confidence", "predicate_modifier")
    rows = ROW.replace("0.9", "Not") + ROW.replace("0.9", "").replace("Paris", "Lyon")
    (link,) = read_links(write("links.tsv", META + header + rows))
    assert (link.left, link.line) == ("http://fr.dbpedia.org/resource/Lyon", 8)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("dbr:Paris", "wd:Q90", "the prefix 'wd' of 'wd:Q90' is not in the curie_map"),
        ("owl:sameAs", "skos:broadMatch", "or schema:sameAs, found 'skos:broadMatch'"),
        ("dbr:Paris", "sssom:NoTermFound", "expected an entity, found sssom:NoTermFound"),
        ("\t0.9", "", "expected 6 cells, found 5"),
    ],
)
def test_a_line_that_is_not_a_link_is_refused(
    write: Write, old: str, new: str, problem: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_links(write("links.sssom.tsv", GOOD.replace(old, new)))
    assert problem in caught.value.problem
    assert caught.value.line == 7


def test_a_long_metadata_block_is_refused(write: Write) -> None:
    with pytest.raises(InputError, match="the metadata block is longer than 1 MiB"):
        check_sssom(
            write("links.sssom.tsv", "#" + "x" * 80 + "\n" + ("#" + "x" * 80 + "\n") * 20_000)
        )


def test_text_that_yaml_would_misread_is_quoted(write: Write) -> None:
    prefixes = Prefixes({"a": "urn:a#b", "b": "urn:é\u2028本:"})
    stream = BytesIO()
    row = JustifiedMapping(
        "urn:a#bx", "urn:é\u2028本:y", "semapv:CompositeMatching", tool="no", date=""
    )
    write_sssom([row], stream, MappingSet("urn:set", prefixes=prefixes, version="1.10"))
    path = write("links.sssom.tsv", stream.getvalue())
    assert check_sssom(path) == []
    (link,) = read_links(path)
    assert (link.left, link.right) == (row.left, row.right)
    text = stream.getvalue().decode()
    assert '#mapping_set_version: "1.10"\n' in text
    assert '#mapping_tool: "no"\n' in text


def test_the_longest_matching_prefix_is_used() -> None:
    prefixes = Prefixes({"a": "http://a.org/", "ab": "http://a.org/b/"})
    assert prefixes.format_curie("http://a.org/b/c") == "ab:c"
    assert prefixes.format_curie("http://a.org/b/") == "a:b/"
    assert prefixes.format_curie("http://a.org/") is None
    assert prefixes.format_curie("http://a.org/b///c") == "a:b///c"  # not ab://c
