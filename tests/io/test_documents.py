"""Turtle, TriG, RDF/XML and JSON-LD: statements, and the line numbers of errors."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, serialize

from everalign.errors import InputError
from everalign.io import ReadOptions, SkippedLine, TripleReader, read_links, read_triples

Write = Callable[[str, str | bytes], Path]
Row = tuple[str, str, str]

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.org/"'
ADA = {
    "ada.ttl": '@prefix e: <http://e.org/> .\ne:Ada e:knows e:Bo ; e:name "Ada"@EN , "A." .\n',
    "ada.trig": "@prefix e: <http://e.org/> .\n"
    + 'e:g { e:Ada e:knows e:Bo ; e:name "Ada"@EN , "A." }\n',
    "ada.rdf": RDF + '>\n<rdf:Description rdf:about="http://e.org/Ada">\n'
    '<e:knows rdf:resource="http://e.org/Bo"/><e:name xml:lang="EN">Ada</e:name>\n'
    "<e:name>A.</e:name></rdf:Description></rdf:RDF>\n",
    "ada.jsonld": '{"@id": "e:Ada", "e:knows": {"@id": "e:Bo"}, "e:name": '
    '[{"@value": "Ada", "@language": "EN"}, "A."],\n "@context": {"e": "http://e.org/"}}',
    "ada.nq": "<http://e.org/Ada> <http://e.org/knows> <http://e.org/Bo> <urn:g> .\n"
    '<http://e.org/Ada> <http://e.org/name> "Ada"@EN <urn:g> .\n'
    '<http://e.org/Ada> <http://e.org/name> "A." .\n',
}


def everything(path: Path, **options: object) -> tuple[list[Row], list[Row]]:
    parts = list(TripleReader(path, **options).statements())  # type: ignore[arg-type]
    assert not any(part.removed for part in parts)
    return [r for part in parts for r in part.triples], [r for p in parts for r in p.literals]


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        list(read_triples(path))
    assert caught.value.path == str(path)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("name", ADA)
def test_every_format_gives_the_same_statements(write: Write, name: str) -> None:
    triples, literals = everything(write(name, ADA[name]))
    assert triples == [("http://e.org/Ada", "http://e.org/knows", "http://e.org/Bo")]
    name_of = ("http://e.org/Ada", "http://e.org/name")
    assert literals == [(*name_of, '"Ada"@en'), (*name_of, '"A."')]


@pytest.mark.parametrize("name", ["ada.ttl", "ada.rdf", "ada.jsonld"])
def test_the_content_tells_the_format_without_a_suffix(write: Write, name: str) -> None:
    assert everything(write("dump.2016", ADA[name])) == everything(write(name, ADA[name]))


@pytest.mark.parametrize("name", ADA)
def test_a_byte_order_mark_is_ignored(write: Write, name: str) -> None:
    marked = write(name, "\ufeff" + ADA[name])
    assert everything(marked) == everything(write(f"plain_{name}", ADA[name]))


def test_blank_nodes_have_the_same_names_each_time(write: Write) -> None:
    path = write("left.ttl", "_:b0 <urn:r> [ <urn:s> _:anon.1 , [] ] . _:b0 <urn:t> <urn:x> .")
    first = everything(path)
    assert first == everything(path)
    names = {name for head, _, tail in first[0] for name in (head, tail)}
    assert names == {"_:b0", "_:anon.1", "_:anon.2", "_:anon.3", "urn:x"}


def test_a_base_is_followed_and_without_one_names_stay_as_they_are(write: Write) -> None:
    based = write("based.ttl", "@base <http://e.org/x/> . <a> <../r> <#b> .")
    assert list(read_triples(based)) == [
        ("http://e.org/x/a", "http://e.org/r", "http://e.org/x/#b")
    ]
    assert list(read_triples(write("bare.ttl", "<a> <r> <100%> ."))) == [("a", "r", "100%")]


@pytest.mark.parametrize(
    ("name", "content", "line", "problem"),
    [
        ("a.ttl", "<urn:a> <urn:r> <urn:b> .\n<urn:a> <urn:r> bad .\n", 2, "not Turtle (bad is"),
        ("a.ttl", "<urn:a> <urn:r> <urn:b> .\n\n<urn:a> <urn:r> <urn:{}> .\n", 3, "not an IRI"),
        ("a.ttl", "\n<urn:a> <urn:r> <urn:b> {| <urn:s> 1 |} .\n", 2, "triples about triples"),
        ("a.ttl", b"<urn:a> <urn:r> <urn:b> .\n<urn:\xff> <urn:r> <urn:b> .", 2, "Invalid UTF-8"),
        ("a.ttl", "<urn:a> <urn:r>", 1, "not Turtle"),
        ("a.trig", "<urn:g> {\n<urn:a> <urn:r> }", 2, "not TriG"),
        ("a.nq", "\n<urn:a> <urn:r> <urn:b> <urn:g> <urn:h> .", 2, "not a line of N-Quads"),
        ("a.rdf", RDF + ">\n\n<rdf:Description></rdf:RDF>", 3, "not RDF/XML (mismatched tag)"),
        ("a.rdf", RDF + ">\n<rdf:Description>\n", 3, "not RDF/XML (no element found)"),
        ("a.rdf", RDF + ">\n<rdf:Description rdf:about='urn:a'>\n", 3, "no element found"),
        ("a.rdf", RDF + ">\n<rdf:li/>\n<rdf:Description/></rdf:RDF>", 2, "not RDF/XML"),
        ("a.rdf", RDF + ">\n<rdf:Description e:r='&no;'/></rdf:RDF>", 2, "undefined entity"),
        ("a.jsonld", '{"@id": "urn:a",\n"urn:r": {},}', 2, "not JSON-LD (Trailing commas"),
        ("a.jsonld", '{\n"@context": "http://e.org/c"}', 2, "the remote @context 'http"),
        ("a.jsonld", '{"@context": {"@import": "x:c"}}', 1, "remote @context is not fetched"),
    ],
)
def test_an_error_has_its_line_number_and_reason(
    write: Write, name: str, content: str | bytes, line: int, problem: str
) -> None:
    error = refusal(write(name, content))
    assert problem in error.problem
    assert error.line == line


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.ttl", "a.trig", "a.nq", "a.rdf"])
def test_an_error_far_into_a_file_has_its_line_number(write: Write, name: str) -> None:
    line = {"nq": "<urn:a> <urn:r> <urn:b> <urn:g> .", "rdf": "<rdf:Description e:r='x'/>"}
    good = line.get(name[2:], "<urn:a> <urn:r> <urn:b> .")
    start, end = (RDF + ">\n", "</rdf:RDF>") if name == "a.rdf" else ("", "")
    bad = (
        "<rdf:Description rdf:about='urn:{}' e:r='x'/>" if start else "<urn:{}> <urn:r> <urn:b> ."
    )
    content = start + f"{good}\n" * 5000 + f"{bad}\n" + f"{good}\n" * 5000 + end
    error = refusal(write(name, content))
    assert (error.line, error.problem) == (5001 + bool(start), "not an IRI: '<urn:{}>'")


@pytest.mark.parametrize("name", ["empty.ttl", "empty.trig", "empty.rdf", "empty.nq"])
def test_an_empty_document_is_refused(write: Write, name: str) -> None:
    assert refusal(write(name, " \n")).problem == "has no triples"


def test_invalid_statements_of_turtle_are_skipped(write: Write) -> None:
    path = write(
        "a.ttl",
        "<urn:a> <urn:r> <urn:b> .\n<urn:a> <urn:r> bad .\n<urn:c> <urn:r> <urn:d> .\n"
        '<urn:a> <urn:{}> "x" .\n<urn:e> <urn:r> <urn:f> .\n<urn:e> <urn:r>',
    )
    reader = TripleReader(path, skip_errors=True)
    assert [head for head, _, _ in reader] == ["urn:a", "urn:c", "urn:e"]
    assert [(skip.path, skip.line) for skip in reader.skipped] == [
        (str(path), 2),
        (str(path), 4),
        (str(path), 6),
    ]
    assert reader.skipped[1].reason == "not an IRI: '<urn:{}>'"


@pytest.mark.parametrize(
    ("name", "content"), [("a.rdf", RDF + ">\n<x"), ("a.jsonld", '{"@id": "urn:a",}')]
)
def test_some_formats_cannot_skip_errors(write: Write, name: str, content: str) -> None:
    with pytest.raises(InputError, match="cannot be read past an error"):
        list(TripleReader(write(name, content), skip_errors=True))


def test_invalid_lines_are_skipped_counted_and_listed(write: Write) -> None:
    content = b"<urn:a> <urn:r> <urn:b> .\nbroken\n<urn:\xff> <urn:r> <urn:b> .\n" * 200
    path = write("a.nt", content)
    reader = TripleReader(path, skip_errors=True)
    assert len(list(reader)) == 200
    assert (reader.skipped_count, len(reader.skipped)) == (400, 100)
    lines = sorted(skip.line or 0 for skip in reader.skipped)
    assert {line % 3 for line in lines} <= {0, 2}
    table = TripleReader(write("a.tsv", "a\tr\tb\na\tr\n\tr\tb\nc\tr\td\n"), skip_errors=True)
    assert [head for head, _, _ in table] == ["a", "c"]
    assert [skip.line for skip in table.skipped] == [2, 3]
    assert isinstance(table.skipped[0], SkippedLine)


def test_a_file_without_a_valid_line_is_counted_as_skipped(write: Write) -> None:
    reader = TripleReader(write("a.nt", "broken\n"), skip_errors=True)
    assert list(reader) == []
    assert reader.skipped_count == 1


@pytest.mark.parametrize("name", ["ada.trig", "ada.nq"])
def test_graphs_can_be_filtered(write: Write, name: str) -> None:
    path = write(name, ADA[name])
    graph = "http://e.org/g" if name == "ada.trig" else "urn:g"
    reader = TripleReader(path, options=ReadOptions(graphs=(graph,)))
    assert len(list(reader)) == 1
    assert reader.literals_read + reader.filtered_count == 2
    reader = TripleReader(path, options=ReadOptions(graphs=("",)))
    assert list(reader) == []
    assert reader.literals_read + reader.filtered_count == 3


# Hostile files: each would fill the memory or the stack of a parser that trusts it.


@pytest.fixture
def _little_memory() -> Iterator[None]:
    """Half a gibibyte more than now, and not a byte beyond."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 29), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def laughs(levels: int) -> str:
    entities = ["<!ENTITY l0 'ha'>"]
    entities += [f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, levels)]
    use = f"<rdf:Description e:r='&l{levels - 1};'/>"
    return f"<!DOCTYPE rdf:RDF [\n{''.join(entities)}]>\n{RDF}>{use}</rdf:RDF>"


NESTED = {
    "laughs.rdf": (laughs(10), "the entity 'l1' is too long"),
    "large_entity.rdf": (
        f"<!DOCTYPE rdf:RDF [<!ENTITY l '{'x' * 100_000}'>]>{RDF}/>",
        "the entity 'l' is too long",
    ),
    "many_references.rdf": (
        f'<!DOCTYPE rdf:RDF [<!ENTITY l "{"x" * 1000}">]>{RDF}>'
        f"<rdf:Description e:r='{'&l;' * 100_000}'/></rdf:RDF>",
        "longer than 16 MiB",
    ),
    "outside.rdf": (
        f"<!DOCTYPE rdf:RDF [<!ENTITY l SYSTEM 'file:///etc/passwd'>]>{RDF}/>",
        "is external",
    ),
    "parameter.rdf": (
        f"<!DOCTYPE rdf:RDF [<!ENTITY % l 'x'>]>{RDF}/>",
        "is external",
    ),
    "deep.rdf": (RDF + ">" + "<rdf:Description e:n='x'><e:r>" * 50_000, "nested too deeply"),
    "attributes.rdf": (
        RDF + "><rdf:Description" + "".join(f" e:a{n}='b'" for n in range(100_000)) + "/>",
        "more than 5000 attributes",
    ),
    "deep.jsonld": ('{"urn:r":' * 500_000, "nested too deeply"),
    "contexts.jsonld": (
        '{"@context":{"@vocab":"urn:"},"r":' * 5000 + "1" + "}" * 5000,
        "nested too deeply",
    ),
    "lists.ttl": ("<urn:a> <urn:r> " + "( " * 2_000_000, "nested too deeply"),
    "brackets.ttl": ("<urn:a> <urn:r> " + "[ <urn:r> " * 500_000, "nested too deeply"),
    "triples.ttl": ("<urn:a> <urn:r> " + "<<( <urn:a> <urn:r> " * 100_000, "nested too deeply"),
    "triples.nt": ("<urn:a> <urn:r> " + "<<( <urn:a> <urn:r> " * 100_000, "triples about triples"),
    "triples.nq": ("<urn:a> <urn:r> " + "<<( <urn:a> <urn:r> " * 100_000, "triples about triples"),
    "literal.ttl": ('<urn:a> <urn:r> """' + "x\n" * (1 << 23), "longer than 16 MiB"),
}


@pytest.mark.slow
@pytest.mark.timeout(20)
@pytest.mark.usefixtures("_little_memory")
@pytest.mark.parametrize("name", NESTED)
def test_malicious_files_are_refused(write: Write, name: str) -> None:
    content, problem = NESTED[name]
    assert problem in refusal(write(name, content)).problem


@pytest.mark.timeout(20)
def test_brackets_in_json_strings_are_not_counted(write: Write) -> None:
    labels = [
        r"{[\\" * 40,
        r"\"{" * 5000,
        r"\\" * 10_000 + r"\"" + "{" * 300,
        "}" * 300,
        "[" * 300,
    ]
    told = ",".join(f'{{"@id":"urn:a","urn:r":"{label}"}}' for label in labels * 100)
    path = write("a.jsonld", f"[{told}]")
    assert {label for _, _, label in everything(path)[1]} == {f'"{label}"' for label in labels}


def test_short_entities_are_expanded(write: Write) -> None:
    path = write(
        "a.owl",
        f'<!DOCTYPE rdf:RDF [<!ENTITY e "http://e.org/">]>\n{RDF}>'
        "<rdf:Description rdf:about='&e;a'><e:r rdf:resource='&e;b'/></rdf:Description></rdf:RDF>",
    )
    assert list(read_triples(path)) == [("http://e.org/a", "http://e.org/r", "http://e.org/b")]


@pytest.mark.parametrize("name", ["a.nt", "a.ttl", "a.nq", "a.tsv"])
def test_a_label_of_a_megabyte_is_read(write: Write, name: str) -> None:
    label = '"' + "Zoë " * (1 << 18) + '"'
    row = ["a", "r", label] if name == "a.tsv" else ["<a>", "<r>", label]
    content = "\t".join(row) + "\n" if name == "a.tsv" else " ".join([*row, ".\n"])
    assert everything(write(name, content)) == ([], [("a", "r", label)])


@pytest.mark.slow
def test_json_of_any_size_is_read_if_its_context_comes_first(write: Write) -> None:
    text = "x" * 5000
    people = ",\n".join(f'{{"@id": "e:{n}", "e:r": "{text}"}}' for n in range(1800))
    context = '"@context": {"e": "http://e.org/"}'
    path = write("large.jsonld", f'{{{context}, "@graph": [{people}]}}')
    assert len(everything(path)[1]) == 1800
    error = refusal(write("late.jsonld", f'{{"@graph": [{people}], {context}}}'))
    assert "files larger than 8 MiB are streamed" in error.problem


# What another tool writes.
iris = st.sampled_from(["http://e.org/a", "http://e.org/Zoë#x", "urn:x:y", "http://e.org/p/q"])
entities = st.builds(NamedNode, iris) | st.builds(BlankNode, st.sampled_from(["a", "b0"]))
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]))
literals = (
    st.builds(Literal, texts)
    | st.builds(lambda text: Literal(text, language="en-gb"), texts)
    | st.builds(Literal, st.integers() | st.booleans())
)
quads = st.builds(Quad, entities, st.builds(NamedNode, iris), entities | literals)


@pytest.mark.slow
@given(
    st.lists(quads, min_size=1, unique=True),
    st.sampled_from(["nt", "nq", "ttl", "trig", "rdf", "jsonld"]),
)
def test_what_pyoxigraph_writes_is_read(statements: list[Quad], suffix: str) -> None:
    stream = BytesIO()
    written_as = RdfFormat.from_extension(suffix)
    assert written_as is not None
    rows = statements if suffix not in ("nt", "ttl", "rdf") else [q.triple for q in statements]
    serialize(rows, stream, format=written_as)
    with TemporaryDirectory() as directory:
        path = Path(directory, f"left.{suffix}")
        path.write_bytes(stream.getvalue())
        triples, found = everything(path)
    expected = [
        tuple(term.value if isinstance(term, NamedNode) else str(term) for term in quad.triple)
        for quad in statements
    ]
    assert sorted(triples + found) == sorted(expected)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "s.ttl",
            "@prefix o: <http://www.w3.org/2002/07/owl#> .\n<urn:a> o:sameAs <urn:x> .\n",
        ),
        ("s.nq", "\n<urn:a> <http://www.w3.org/2002/07/owl#sameAs> <urn:x> <urn:g> .\n"),
        (
            "s.rdf",
            RDF
            + ' xmlns:owl="http://www.w3.org/2002/07/owl#">\n<rdf:Description rdf:about="urn:a">'
            '<owl:sameAs rdf:resource="urn:x"/></rdf:Description>\n</rdf:RDF>',
        ),
    ],
)
def test_links_are_read_with_their_line_number(write: Write, name: str, content: str) -> None:
    assert read_links(write(name, content)) == [("urn:a", "urn:x", 2)]
