"""Invalid link files and their error messages."""

from __future__ import annotations

import pytest
from tests.io.conftest import Write

from everalign.errors import InputError
from everalign.io import LinkLine, read_links

SAME_AS = "<http://www.w3.org/2002/07/owl#sameAs>"
SPACE = "http://knowledgeweb.semanticweb.org/heterogeneity/alignment#"
ALIGN = (
    f'<rdf:RDF xmlns="{SPACE}"\n'
    ' xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><Alignment>\n'
)
END = "</Alignment></rdf:RDF>\n"
NESTED = "<<( <urn:a> <urn:r> " * 50_000  # would overflow the stack of the parser
BOMB = (
    '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">\n<!ENTITY b "&a;&a;&a;&a;">]>\n'
    f'<r xmlns="{SPACE}">&b;</r>\n'
)


def cell(left: str, right: str, relation: str = "=") -> str:
    return (
        f'<map><Cell><entity1 rdf:resource="{left}"/><entity2 rdf:resource="{right}"/>\n'
        f"<measure>1.0</measure><relation>{relation}</relation></Cell></map>\n"
    )


def test_alignments_of_other_tools_are_read(write: Write) -> None:
    path = write("reference.rdf", ALIGN + cell("urn:a", "urn:b") + cell("urn:c", "urn:d") + END)
    assert read_links(path) == [LinkLine("urn:a", "urn:b", 3), LinkLine("urn:c", "urn:d", 5)]


def test_turtle_of_other_tools_is_read(write: Write) -> None:
    text = (
        "PREFIX owl: <http://www.w3.org/2002/07/owl#> # links\n"
        "<urn:a> owl:sameAs <urn:b>, <urn:c> .\n_:x owl:sameAs <urn:y> .\n"
    )
    found = [("urn:a", "urn:b", 2), ("urn:a", "urn:c", 2), ("_:x", "urn:y", 3)]
    assert read_links(write("links.ttl", text)) == found


def test_a_repeated_link_is_read_once(write: Write) -> None:
    line = '{"left": "a", "right": "b"}\n'
    assert read_links(write("links.jsonl", line * 2 + "\n")) == [LinkLine("a", "b", 1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content", "line", "problem"),
    [
        ("l.jsonl", '{"left": "a", "right": "b"}\nnone\n', 2, "not a line of JSON"),
        ("l.jsonl", '["a", "b"]\n', 1, "expected an object with left and right"),
        ("l.jsonl", '{"left": "a"}\n', 1, "expected a name as 'right', found nothing"),
        ("l.jsonl", '{"left": "a", "right": 3}\n', 1, "expected a name as 'right', found '3'"),
        ("l.jsonl", "[" * 100_000, 1, "not a line of JSON"),
        ("l.nt", f"<urn:a> {SAME_AS} <urn:b> .\n<urn:a> <urn:b>\n", 2, "not a line of N-Triples"),
        ("l.nt", f'<urn:a> {SAME_AS} "b" .\n', 1, "expected a link between entities"),
        ("l.nt", "<urn:a> <urn:near> <urn:b> .\n", 1, "owl:sameAs, found 'urn:near'"),
        ("l.nt", f"<urn:a b> {SAME_AS} <urn:b> .\n", 1, "not an IRI: '<urn:a b>'"),
        ("l.ttl", f"<urn:a> {SAME_AS} <urn:b> .\n<urn:a> ex:p <urn:b> .\n", 2, "not Turtle"),
        ("l.ttl", f'\n<urn:a> {SAME_AS} "b" .\n', 2, "expected a link between entities"),
        ("l.nt", "<urn:a> <urn:r> " + NESTED, 1, "triples about triples"),
        ("l.ttl", "<urn:a> <urn:r> " + NESTED, 1, "nested too deeply"),
        ("l.ttl", f"<urn:a> {SAME_AS} <urn:b> .\n" + "( " * 200_000, 2, "nested too deeply"),
        (
            "l.rdf",
            ALIGN + cell("urn:a", "urn:b", "&lt;"),
            4,
            "expected the relation '=', found '<'",
        ),
        ("l.rdf", ALIGN + "<map><Cell></Cell></map>" + END, 3, "no entity1"),
        ("l.rdf", ALIGN + "</Alignment>", 4, "not well-formed XML"),
        ("l.rdf", f"<rdf xmlns='{SPACE}'/>", None, "no Alignment element found"),
        ("l.xml", BOMB, 1, "the declaration of the entity 'a'"),
        ("l.rdf", ALIGN + END, None, "has no links"),
        ("l.parquet", b"PAR1 and no more", None, "cannot be read as Parquet"),
        ("l.sssom.tsv", "subject_id\tobject_id\n", 1, "has no column predicate_id"),
    ],
)
def test_an_invalid_link_file_is_refused(
    write: Write, name: str, content: str | bytes, line: int | None, problem: str
) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = write(name, content)
    with pytest.raises(InputError) as caught:
        read_links(path)
    assert problem in caught.value.problem
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["l.nt", "l.ttl", "l.rdf", "l.jsonl", "l.parquet", "l.tsv"])
def test_a_missing_file_is_an_error(write: Write, name: str) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match="does not exist"):
        read_links(write("other", "").with_name(name))


def test_parquet_needs_its_columns(write: Write) -> None:
    arrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    path = write("links.parquet", b"")
    arrow.parquet.write_table(arrow.table({"left": ["a"], "other": ["b"]}), path)
    with pytest.raises(InputError, match="has no column 'right', only 'left, other'"):
        read_links(path)
    arrow.parquet.write_table(arrow.table({"left": ["a"], "right": [1]}), path)
    with pytest.raises(InputError, match="the column 'right' is not text but int64"):
        read_links(path)
    arrow.parquet.write_table(arrow.table({"left": ["a", "b"], "right": ["A", None]}), path)
    with pytest.raises(InputError, match="parquet:2: expected a name as 'right', found nothing"):
        read_links(path)
