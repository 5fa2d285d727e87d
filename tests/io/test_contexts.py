"""Remote contexts of JSON-LD: schema.org is known, others are files, nothing is fetched."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from everalign.errors import InputError
from everalign.io import SourceOptions, TripleReader

Write = Callable[[str, str | bytes], Path]
Row = tuple[str, str, str]

PERSON = {
    "@id": "urn:ada",
    "@type": "Person",
    "name": "Ada Lovelace",
    "sameAs": "http://www.wikidata.org/entity/Q7259",
    "worksFor": {"@type": "Organization", "name": "Analytical Engines"},
}
SCHEMA = "http://schema.org/"


def read(path: Path, contexts: dict[str, Path] | None = None) -> list[Row]:
    reader = TripleReader(path, opening=SourceOptions(contexts=contexts or {}))
    return sorted(row for part in reader.statements() for row in (*part.triples, *part.literals))


def refusal(path: Path, contexts: dict[str, Path] | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read(path, contexts)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://schema.org",
        "http://schema.org/",
        "https://www.schema.org/",
        "https://schema.org/docs/jsonldcontext.jsonld",
    ],
)
def test_schema_org_is_known(write: Write, url: str) -> None:
    rows = read(write("a.jsonld", json.dumps({"@context": url, **PERSON})))
    assert ("urn:ada", f"{SCHEMA}name", '"Ada Lovelace"') in rows
    assert ("urn:ada", f"{SCHEMA}sameAs", "http://www.wikidata.org/entity/Q7259") in rows
    assert ("urn:ada", f"{SCHEMA}worksFor", "_:anon.1") in rows
    assert len(rows) == 6


def test_contexts_in_lists_terms_and_scripts(write: Write) -> None:
    document = [
        {
            "@context": ["https://schema.org", {"e": "urn:e:"}],
            "@id": "urn:a",
            "name": "A",
            "e:x": 1,
        },
        {
            "@context": {"@vocab": "urn:v:", "works": {"@id": "urn:w", "@context": SCHEMA}},
            "@id": "urn:b",
            "name": '"@context": "http://e.org/not-a-context"',
            "works": {"@id": "urn:c", "name": "C"},
        },
    ]
    assert read(write("a.json", json.dumps(document, indent=1))) == [
        ("urn:a", "http://schema.org/name", '"A"'),
        ("urn:a", "urn:e:x", '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'),
        ("urn:b", "urn:v:name", '"\\"@context\\": \\"http://e.org/not-a-context\\""'),
        ("urn:b", "urn:w", "urn:c"),
        ("urn:c", "http://schema.org/name", '"C"'),
    ]


def test_an_unknown_context_names_the_option(write: Write) -> None:
    path = write("a.jsonld", '{\n"@context": "http://e.org/c", "@id": "urn:a", "name": "A"}')
    assert refusal(path) == (
        f"{path}:2: the remote @context 'http://e.org/c' is not fetched: "
        "give it by --context URL=FILE"
    )
    own = write("own.json", '{"@context": {"name": "urn:name"}}')
    assert read(path, {"http://e.org/c": own}) == [("urn:a", "urn:name", '"A"')]
    assert read(path, {"": own}) == [("urn:a", "urn:name", '"A"')]
    assert "is not fetched" in refusal(path, {"http://e.org/other": own})


def test_contexts_that_name_each_other_are_refused(write: Write) -> None:
    path = write("a.jsonld", '{"@context": "http://e.org/c", "@id": "urn:a", "name": "A"}')
    own = write("own.json", '{"@context": ["http://e.org/c", "http://e.org/c"]}')
    assert "name each other" in refusal(path, {"http://e.org/c": own})


@pytest.mark.parametrize("content", ["[]", "{", "\xff", '"x"', "[" * 100_000])
def test_a_file_that_is_no_context_is_one_line(write: Write, content: str) -> None:
    path = write("a.jsonld", '{"@context": "http://e.org/c", "@id": "urn:a", "name": "A"}')
    own = write("own.json", content)
    assert f"the context {own} is not" in refusal(path, {"": own})
    assert "cannot be read" in refusal(path, {"": own.with_name("none")})


def test_lines_after_a_context_keep_their_numbers(write: Write) -> None:
    path = write(
        "a.jsonld", '{"@context": [\n"https://schema.org"\n],\n"@id": "urn:a",\n"name": }'
    )
    assert refusal(path).startswith(f"{path}:5: ")


def test_large_documents_have_a_context_in_each_object(write: Write) -> None:
    entry = ',\n{"@context": "https://schema.org", "@id": "urn:%d", "name": "' + "x" * 500 + '"}'
    body = "".join(entry % number for number in range(17_000))
    assert len(body) > 1 << 23
    rows = read(write("a.jsonld", f"[{body[1:]}]"))
    assert len(rows) == 17_000
    assert {row[1] for row in rows} == {"http://schema.org/name"}


@pytest.mark.parametrize("size", range(65_490, 65_560, 3))
def test_a_context_may_be_anywhere_between_blocks(write: Write, size: int) -> None:
    text = '{"@id": "urn:a", "@context" : "https://schema.org", "name": "A"}'
    assert len(read(write("a.jsonld", " " * (size - 30) + text))) == 1


def test_keys_without_an_iri_are_left_out_and_told(write: Write) -> None:
    path = write(
        "a.jsonld", '{"@context": {"name": "urn:n"}, "@id": "urn:a", "name": "A", "x": 1}'
    )
    reader = TripleReader(path)
    rows = [row for batch in reader.statements() for row in batch.literals]
    assert rows == [("urn:a", "urn:n", '"A"')]
    assert reader.notes == [f"{path}: keys that no @context gives an IRI are left out: 'x'"]
    plain = write("a.json", '[{"id": 1, "name": "Ada"}]')
    assert refusal(plain).endswith("no key has an IRI, as by an @context: 'id, name'")
