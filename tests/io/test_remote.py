"""URLs and SPARQL endpoints: fetched once, patiently, in pages; every failure is one line."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, Store
from tests.servers import LocalServer, run_server

from everalign.errors import ConfigError, EverAlignError, InputError
from everalign.io import RemoteOptions, SourceOptions, Table, TripleReader
from everalign.io.sparql import split_query

Write = Callable[[str, str | bytes], Path]

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
PEOPLE = "".join(
    f"<urn:p{i}> a <urn:Person> ; <urn:name> 'Person {i}'@en ; <urn:knows> <urn:p{(i + 1) % 25}>, "
    f"[ <urn:note> 'x' ] .\n"
    for i in range(25)
)
PEOPLE += "<urn:town> a <urn:Place> ; <urn:name> 'Town' .\n"


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with run_server() as running:
        store = Store()
        store.load(PEOPLE.encode(), RdfFormat.TURTLE)
        running.stores["/sparql"] = store
        running.files["/left.nt"] = ("text/plain", b"<urn:a> <urn:r> <urn:b> .\n")
        yield running


@pytest.fixture
def quick(tmp_path: Path) -> RemoteOptions:
    return RemoteOptions(
        cache=tmp_path / "cache", requests_per_second=1000, timeout=1, attempts=3, back_off=0.01
    )


def read(source: str, options: RemoteOptions) -> tuple[list[tuple[str, str, str]], TripleReader]:
    reader = TripleReader(source, opening=SourceOptions(remote=options))
    rows = [row for part in reader.statements() for row in (*part.triples, *part.literals)]
    return rows, reader


def refusal(source: str, options: RemoteOptions) -> str:
    with pytest.raises(EverAlignError) as caught:
        read(source, options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_is_fetched_once(server: LocalServer, quick: RemoteOptions) -> None:
    rows, reader = read(server.url("/left.nt"), quick)
    assert rows == [("urn:a", "urn:r", "urn:b")]
    assert "fetched into" in reader.notes[0]
    list(reader)
    assert len(server.requests) == 1
    assert server.requests[0].headers["User-Agent"].startswith("EverAlign/")
    server.files["/left.nt"] = ("text/plain", b"<urn:a> <urn:r> <urn:c> .\n")
    again, reader = read(server.url("/left.nt"), quick)
    assert again == rows
    assert "from the cache" in reader.notes[0]
    assert len(server.requests) == 1
    refreshed, reader = read(server.url("/left.nt"), replace(quick, refresh=True))
    list(reader)
    assert refreshed == [("urn:a", "urn:r", "urn:c")]
    assert len(server.requests) == 2
    assert len(list(quick.cache.iterdir())) == 1


def test_a_cached_file_is_read_without_the_server(quick: RemoteOptions) -> None:
    with run_server() as running:
        running.files["/left.nt"] = ("text/plain", b"<urn:a> <urn:r> <urn:b> .\n")
        source = running.url("/left.nt")
        rows, _ = read(source, quick)
    assert read(source, quick)[0] == rows


@pytest.mark.parametrize(
    ("path", "media_type", "body"),
    [
        # Without the time, which would be part of the name of the test.
        ("/left.ttl.gz", "application/gzip", gzip.compress(b"<urn:a> <urn:r> <urn:b> .", mtime=0)),
        ("/data", "text/turtle; charset=utf-8", b"<urn:a> <urn:r> <urn:b> ."),
        ("/data.php", "application/n-triples", b"<urn:a> <urn:r> <urn:b> .\n"),
        ("/left.nt?version=2", "text/plain", b"<urn:a> <urn:r> <urn:b> .\n"),
        ("/caf%C3%A9.nt", "text/plain", b"<urn:a> <urn:r> <urn:b> .\n"),
    ],
)
def test_the_format_is_told_by_the_url_or_the_server(
    server: LocalServer, quick: RemoteOptions, path: str, media_type: str, body: bytes
) -> None:
    server.files[path.partition("?")[0]] = (media_type, body)
    assert read(server.url(path.replace("%C3%A9", "é")), quick)[0] == [("urn:a", "urn:r", "urn:b")]


@pytest.mark.parametrize("fault", ["503", "429", "502", "break", "silence", "no length"])
@pytest.mark.parametrize("kind", ["file", "endpoint"])
def test_a_failure_that_passes_is_overcome(
    server: LocalServer, quick: RemoteOptions, fault: str, kind: str
) -> None:
    options = replace(quick, class_iri="urn:Person")
    source = server.url("/left.nt") if kind == "file" else server.endpoint()
    expected = 1 if kind == "file" else 100
    server.faults = [fault]
    assert len(read(source, options)[0]) == expected


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("503", ["503", "busy", "3 times in a row"]),
        ("break", ["broke off after", "3 times in a row"]),
        ("silence", ["no answer within 0.5 s"]),
        ("404", ["404"]),
        ("html", ["web page"]),
        ("redirect", ["404"]),
    ],
)
def test_a_failure_that_stays_is_one_line(
    server: LocalServer, quick: RemoteOptions, fault: str, words: list[str]
) -> None:
    server.files["/data"] = ("text/turtle", b"<urn:a> <urn:r> <urn:b> .")
    server.faults = [fault] * 3
    message = refusal(server.url("/data"), replace(quick, timeout=0.5))
    assert message.startswith(server.url("/data"))
    assert all(word in message for word in words)
    # Nothing is left in the cache that a later run would take for the file.
    assert list(quick.cache.iterdir()) == []


def test_a_server_that_is_not_there_is_one_line(quick: RemoteOptions) -> None:
    with run_server() as running:
        source = running.url("/left.nt")
    assert "cannot be reached (Connection refused), 3 times in a row" in refusal(source, quick)


@pytest.mark.parametrize(
    "url", ["http://", "https://[::1", "http://host:port/a.nt", "http://u:p@host/a", "http://a b/"]
)
def test_an_invalid_url_is_one_line(quick: RemoteOptions, url: str) -> None:
    assert "is not a URL that can be fetched" in refusal(url, quick)


def test_a_redirect_never_leads_to_a_file(
    server: LocalServer, quick: RemoteOptions, tmp_path: Path
) -> None:
    server.files["/moved"] = ("text/turtle", b"<urn:a> <urn:r> <urn:b> .")
    server.faults = ["redirect"]
    assert len(read(server.url("/data"), quick)[0]) == 1


@pytest.mark.parametrize("page_size", [1, 7, 25, 1000])
def test_a_class_is_fetched_in_pages(
    server: LocalServer, quick: RemoteOptions, page_size: int
) -> None:
    options = replace(quick, class_iri="urn:Person", page_size=page_size)
    rows, reader = read(server.endpoint(), options)
    assert len(rows) == 100
    assert {row[0] for row in rows} == {f"urn:p{i}" for i in range(25)}
    # The blank nodes of all pages are different nodes.
    assert len({tail for _, _, tail in rows if tail.startswith("_:")}) == 25
    assert "100 statements fetched into" in reader.notes[0]
    assert len(server.requests) == -(-25 // page_size) + 1


QUERIES = {
    "plain": "CONSTRUCT { ?s <urn:called> ?n } WHERE { ?s a <urn:Person> ; <urn:name> ?n }",
    "comment": "# LIMIT 3\nCONSTRUCT { ?s <urn:called> ?n }\n"
    "WHERE { ?s a <urn:Person> ; <urn:name> ?n . FILTER(?n != 'LIMIT {') } # OFFSET",
    "prefix": "PREFIX e: <urn:> CONSTRUCT { ?s e:called ?n } WHERE { ?s a e:Person ; e:name ?n }"
    " ORDER BY DESC(?n)",
    "short": "construct where { ?s <urn:name> ?n ; a <urn:Person> }",
    "values": "CONSTRUCT { ?s <urn:called> ?n } WHERE { ?s a ?c ; <urn:name> ?n } "
    "VALUES ?c { <urn:Person> }",
    "group": "CONSTRUCT { ?s <urn:called> ?m } WHERE { SELECT ?s (MAX(?n) AS ?m) WHERE "
    "{ ?s a <urn:Person> ; <urn:name> ?n } GROUP BY ?s }",
}


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("page_size", [4, 1000])
def test_a_query_gives_the_same_in_pages_and_as_a_whole(
    server: LocalServer, quick: RemoteOptions, write: Write, name: str, page_size: int
) -> None:
    whole = {
        (triple.subject, triple.predicate, triple.object)
        for triple in server.stores["/sparql"].query(QUERIES[name])  # type: ignore[union-attr]
    }
    path = write("query.rq", QUERIES[name])
    rows, _ = read(server.endpoint(), replace(quick, query=path, page_size=page_size))
    assert len(set(rows)) == len(rows) == len(whole)


def test_a_query_with_a_limit_is_sent_as_it_is(
    server: LocalServer, quick: RemoteOptions, write: Write
) -> None:
    path = write("query.rq", QUERIES["plain"] + " LIMIT 3")
    rows, _ = read(server.endpoint(), replace(quick, query=path))
    assert len(rows) == 3
    assert [request.query for request in server.requests] == [path.read_text()]


def test_an_empty_page_is_not_the_end_if_solutions_follow(
    server: LocalServer, quick: RemoteOptions, write: Write
) -> None:
    # Solutions without ?o come first, and give no statement.
    text = (
        "CONSTRUCT { ?s <urn:knows> ?o } WHERE { ?s <urn:name> ?n OPTIONAL { ?s <urn:knows> ?o "
        "FILTER(isIRI(?o) && STR(?s) > 'urn:p5') } } ORDER BY ?o"
    )
    rows, _ = read(server.endpoint(), replace(quick, query=write("query.rq", text), page_size=2))
    result = server.stores["/sparql"].query(text)
    assert len(rows) == len(list(result))  # type: ignore[arg-type]


def test_a_long_query_is_posted(server: LocalServer, quick: RemoteOptions, write: Write) -> None:
    path = write("query.rq", "#" * 3000 + "\n" + QUERIES["plain"])
    assert len(read(server.endpoint(), replace(quick, query=path))[0]) == 25


@pytest.mark.parametrize("announces_limit", [True, False])
def test_pages_that_the_endpoint_cuts_off_are_noticed(
    server: LocalServer, quick: RemoteOptions, announces_limit: bool
) -> None:
    server.max_triples, server.announces_limit = 30, announces_limit
    options = replace(quick, class_iri="urn:Person", page_size=10)
    if announces_limit:
        assert len(read(server.endpoint(), options)[0]) == 100
    else:
        assert "give a smaller --page-size" in refusal(server.endpoint(), options)


def test_an_answer_that_breaks_off_unnoticed_is_asked_for_again(
    server: LocalServer, quick: RemoteOptions
) -> None:
    server.faults = ["unnoticed break"]
    assert len(read(server.endpoint(), replace(quick, class_iri="urn:Person"))[0]) == 100


def test_an_answer_that_drips_is_given_up(server: LocalServer, quick: RemoteOptions) -> None:
    server.faults = ["drip"] * 2
    options = replace(quick, class_iri="urn:Person", timeout=0.06, attempts=2)
    assert "the answer took more than 0.6 s" in refusal(server.endpoint(), options)


def test_requests_are_not_sent_too_often(server: LocalServer, quick: RemoteOptions) -> None:
    options = replace(quick, class_iri="urn:Person", page_size=5, requests_per_second=20)
    read(server.endpoint(), options)
    times = [request.at for request in server.requests]
    gaps = [after - before for before, after in pairwise(times)]
    assert len(gaps) == 5
    assert min(gaps) > 0.04


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT * WHERE { ?s ?p ?o }", "expected a CONSTRUCT query"),
        ("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p }", "400"),
        ("", "expected a CONSTRUCT query"),
    ],
)
def test_a_wrong_query_is_one_line(
    server: LocalServer, quick: RemoteOptions, write: Write, query: str, words: str
) -> None:
    assert words in refusal(server.endpoint(), replace(quick, query=write("q.rq", query)))


def test_an_endpoint_needs_a_query_or_a_class(server: LocalServer, quick: RemoteOptions) -> None:
    assert "--query FILE or --endpoint-class IRI" in refusal(server.endpoint(), quick)
    assert "must be an IRI" in refusal(server.endpoint(), replace(quick, class_iri="a b"))
    server.faults = ["html"]
    message = refusal(server.endpoint(), replace(quick, class_iri="urn:C"))
    assert "text/html" in message


def test_a_class_without_instances_is_refused_and_not_kept(
    server: LocalServer, quick: RemoteOptions
) -> None:
    with pytest.raises(InputError, match="/sparql: the answer has no triples"):
        read(server.endpoint(), replace(quick, class_iri="urn:Nothing"))
    assert list(quick.cache.iterdir()) == []


def test_only_construct_queries_are_split() -> None:
    with pytest.raises(ConfigError):
        split_query("DESCRIBE <urn:a>", 10)


def test_the_cache_must_be_writable(
    server: LocalServer, quick: RemoteOptions, write: Write
) -> None:
    file = write("file", "")
    message = refusal(server.url("/left.nt"), replace(quick, cache=file / "cache"))
    assert "the cache cannot be written" in message


def test_commands_read_from_servers(server: LocalServer, tmp_path: Path) -> None:
    (tmp_path / "right.nt").write_text(
        "".join(f'<urn:q{i}> <urn:name> "Person {i}" .\n' for i in range(25))
        + "".join(f"<urn:q{i}> <urn:knows> <urn:q{(i + 1) % 25}> .\n" for i in range(25))
    )
    (tmp_path / "people.rq").write_text(QUERIES["plain"])
    command = [sys.executable, "-m", "everalign", "init", "my.state", "--right", "right.nt"]
    command += ["--left", server.endpoint(), "--requests-per-second", "100"]
    done = subprocess.run(
        [*command, "--query", "left=people.rq"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "25 statements fetched into my.state.cache/" in done.stderr
    failed = subprocess.run(
        [*command, "--endpoint-class", "nonsense"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert failed.returncode == 2
    assert len(failed.stderr.splitlines()) == 1


def test_a_table_at_a_url_is_read(server: LocalServer, quick: RemoteOptions) -> None:
    server.files["/people"] = ("text/csv", b"nr,name\n1,Ada\n")
    table = Table(server.url("/people"), id_column="nr")
    reader = TripleReader(table, opening=SourceOptions(remote=quick))
    assert [row for part in reader.statements() for row in part.literals] == [
        ("1", "name", '"Ada"')
    ]
    assert len(server.requests) == 1
    named = replace(table, base="http://example.org/{table}/")
    with pytest.raises(ConfigError, match="a URL is no name for"):
        list(TripleReader(named, opening=SourceOptions(remote=quick)))
