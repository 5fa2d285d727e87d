"""SPARQL endpoints: a CONSTRUCT query, or the instances of a class, fetched page by page.

Endpoints limit how much one answer has, so a query is sent again and again with another OFFSET.
Pages need an order to be parts of one whole: a query without ORDER BY is ordered by the variables
of its template. Instances of a class are paged by instance, which is cheaper for the server than
to sort all their statements.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import IO, NamedTuple, TypeVar
from urllib.parse import urlencode

from everalign.errors import ConfigError, InputError
from everalign.io.encodings import open_as_utf8
from everalign.io.filters import ReadContext
from everalign.io.formats import FORMATS
from everalign.io.http_client import HttpClient, TemporaryError, get_media_type, iterate_body
from everalign.io.sources import RemoteOptions
from everalign.io.streams import prepend_bytes
from everalign.io.terms import Statements, is_absolute_iri, shorten_text

Answer = TypeVar("Answer")

# An instance has many statements, of which endpoints give ten thousand at most.
_MAX_INSTANCES_PER_PAGE = 1000
_MAX_PAGE_BYTES = 1 << 28
_MAX_QUERY_BYTES = 1 << 20
# Longer queries are posted: servers limit the length of a URL.
_MAX_URL_QUERY = 1500
# An answer may take longer as a whole than the server may be silent.
_TOTAL_TIMEOUT_FACTOR = 10
# The formats that are asked for, the one that is read fastest first.
_MEDIA_TYPES = ("application/n-triples", "text/turtle", "application/rdf+xml")
# Virtuoso says so when it cuts an answer off.
_CUT_OFF_HEADERS = ("X-SPARQL-MaxRows", "X-SQL-State")

_TOKEN = re.compile(
    r"""(?P<skip>\#[^\n]*|<[^<>"{}|^`\\\s]*>|\"{3}.*?\"{3}|'{3}.*?'{3}"""
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<open>\{)|(?P<close>\})|(?P<variable>[?$]\w+)|(?P<word>[\w:.-]+)""",
    re.DOTALL,
)


class PagedQuery(NamedTuple):
    """A query that is sent in pages."""

    before: str
    """The text before LIMIT and OFFSET."""

    after: str = ""
    """The text after them."""

    probe: str = ""
    """A SELECT query for the same solutions, to which LIMIT and OFFSET are added. It tells whether
    an empty page is the last one; without it an empty page always is."""

    page_size: int = 0
    """How many solutions a page has; 0 if the query has a LIMIT or OFFSET of its own."""

    by_instance: bool = False
    """Whether a solution is an instance, which has at least one statement."""

    def format_page(self, limit: int, offset: int) -> str:
        """Format the query for one page.

        Args:
            limit: The number of solutions.
            offset: The number of solutions on earlier pages.

        Returns:
            The query.
        """
        if not self.page_size:
            return self.before
        return f"{self.before}LIMIT {limit} OFFSET {offset}{self.after}"


def build_query(options: RemoteOptions) -> PagedQuery:
    """Build the query that is sent to an endpoint.

    Args:
        options: The file with a CONSTRUCT query, or the class.

    Returns:
        The query in pages.

    Raises:
        ConfigError: Neither or both are given, or the query is no CONSTRUCT query.
        InputError: The file with the query cannot be read.
    """
    if (options.query is None) == (options.class_iri is None):
        raise ConfigError("a SPARQL endpoint needs either --query FILE or --endpoint-class IRI")
    if options.class_iri is None:
        return split_query(_read_query(options.query or Path()), options.page_size)
    iri = options.class_iri.removeprefix("<").removesuffix(">")
    if not is_absolute_iri(iri):
        raise ConfigError(
            f"the class of a SPARQL endpoint must be an IRI, not {shorten_text(iri)}"
        )
    return PagedQuery(
        "CONSTRUCT { ?s ?p ?o } WHERE { { SELECT DISTINCT ?s WHERE { ?s a "
        f"<{iri}> }} ORDER BY ?s ",
        " } ?s ?p ?o }",
        page_size=min(options.page_size, _MAX_INSTANCES_PER_PAGE),
        by_instance=True,
    )


def split_query(text: str, page_size: int) -> PagedQuery:
    """Split a CONSTRUCT query where LIMIT and OFFSET belong.

    Args:
        text: The query.
        page_size: The number of solutions of a page.

    Returns:
        The query in pages, or as it is if it has a LIMIT or OFFSET of its own.

    Raises:
        ConfigError: It is no CONSTRUCT query.

    >>> split_query("CONSTRUCT WHERE { ?s a <urn:C> }", 10).format_page(10, 20)
    'CONSTRUCT WHERE { ?s a <urn:C> }\\nORDER BY ?s\\nLIMIT 10 OFFSET 20'
    """
    parts = _find_parts(text)
    if parts.construct is None or parts.template is None:
        raise ConfigError("expected a CONSTRUCT query for a SPARQL endpoint")
    if parts.keywords & {"limit", "offset"}:
        return PagedQuery(text)
    end = parts.values_start or len(text)
    variables = dict.fromkeys(re.findall(r"[?$]\w+", text[slice(*parts.template)]))
    order = "" if "order" in parts.keywords or not variables else "ORDER BY " + " ".join(variables)
    after = "\n" + text[end:] if parts.values_start else ""
    # A template in braces goes away; in the short form the template is the pattern.
    rest = text[parts.template[1] : end] if parts.has_template else text[parts.construct[1] : end]
    probe = f"{text[: parts.construct[0]]}SELECT * {rest}\n"
    return PagedQuery(
        f"{text[:end].rstrip()}\n{order}\n" if order else f"{text[:end].rstrip()}\n",
        after,
        # All variables cannot be selected from groups, nor before VALUES.
        "" if "group" in parts.keywords or parts.values_start else probe,
        page_size,
    )


def fetch_query(client: HttpClient, query: PagedQuery, file: IO[bytes]) -> int:
    """Fetch all pages of a query and write them as N-Triples.

    Args:
        client: The client of the endpoint.
        query: The query.
        file: Where to write.

    Returns:
        The number of statements.

    Raises:
        InputError: The endpoint does not answer as expected, cuts answers off, or has nothing.
    """
    count = offset = number = 0
    size = query.page_size
    was_short = False
    while True:
        page = _fetch_page(client, query.format_page(size, offset))
        if page.is_cut_off and size > 1:
            size //= 2
            continue
        if page.is_cut_off or (was_short and page.rows):
            problem = "the endpoint cuts its answers off: "
            hint = (
                "give a smaller --page-size" if size > 1 else "an entity has too many statements"
            )
            raise InputError(problem + hint, path=client.url)
        number += 1
        file.writelines(_format_rows(page.rows, number))
        count += len(page.rows)
        offset += size
        # An instance without a statement does not exist: fewer instances are the last page.
        was_short = query.by_instance and len({row[0] for row in page.rows}) < size
        if not query.page_size or (not page.rows and not _has_more(client, query, offset)):
            break
    if not count:
        raise InputError("the answer has no triples", path=client.url)
    return count


class _Page(NamedTuple):
    rows: list[tuple[str, str, str, bool]]
    """Head, relation, tail, and whether the tail is a literal."""

    is_cut_off: bool


class _QueryParts(NamedTuple):
    construct: tuple[int, int] | None
    template: tuple[int, int] | None
    has_template: bool
    keywords: frozenset[str]
    values_start: int | None


def _find_parts(text: str) -> _QueryParts:
    """Find the keywords outside of braces, and the first group in braces after CONSTRUCT."""
    depth, group_start = 0, 0
    construct = template = values_start = None
    has_template = True
    keywords = set()
    for token in _TOKEN.finditer(text):
        if token["open"]:
            group_start = token.start() if depth == 0 else group_start
            depth += 1
        elif token["close"]:
            depth -= 1
            if depth == 0 and construct and template is None:
                template = (group_start, token.end())
        elif token["word"] and depth == 0:
            word = token["word"].lower()
            keywords.add(word)
            if word == "construct":
                construct = token.span()
            elif word in ("where", "from") and template is None:
                has_template = False
            elif word == "values":
                values_start = token.start()
    return _QueryParts(construct, template, has_template, frozenset(keywords), values_start)


def _read_query(path: Path) -> str:
    try:
        raw = path.read_bytes()[: _MAX_QUERY_BYTES + 1]
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise InputError(f"cannot be read ({reason})", path=path) from None
    if len(raw) > _MAX_QUERY_BYTES:
        raise InputError("is longer than 1 MiB, expected a query", path=path)
    return text


def _fetch_page(client: HttpClient, query: str) -> _Page:
    def read(response: HTTPResponse) -> _Page:
        body = _read_body(client, response)
        media_type = get_media_type(response)
        found = next((known for known in FORMATS if known.media_type == media_type), None)
        if found is None or media_type not in (*_MEDIA_TYPES, "application/ld+json"):
            problem = f"the endpoint answered with {media_type or 'no media type'}, expected RDF"
            raise InputError(problem, path=client.url)
        stream = open_as_utf8(prepend_bytes(body, io.BufferedReader(io.BytesIO())), Path("answer"))
        try:
            rows = [
                row
                for batch in found.read(stream, ReadContext(Path("answer")))
                for row in _list_rows(batch)
            ]
        except InputError as error:
            # Most likely the answer broke off, which not every server notices.
            problem = f"line {error.line} of the answer: " if error.line else "the answer: "
            raise TemporaryError(problem + error.problem) from None
        return _Page(rows, any(name in response.headers for name in _CUT_OFF_HEADERS))

    quality = [f"{name};q={1 - index / 10:g}" for index, name in enumerate(_MEDIA_TYPES)]
    return _send_query(client, query, ", ".join(quality), read)


def _has_more(client: HttpClient, query: PagedQuery, offset: int) -> bool:
    """Ask whether there are solutions after those that gave no statement."""
    if not query.probe:
        return False

    def read(response: HTTPResponse) -> bool:
        try:
            return bool(json.loads(_read_body(client, response))["results"]["bindings"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise TemporaryError("the answer is not a result of SPARQL in JSON") from None

    text = f"{query.probe}LIMIT 1 OFFSET {offset}"
    return _send_query(client, text, "application/sparql-results+json", read)


def _send_query(
    client: HttpClient, query: str, accept: str, read: Callable[[HTTPResponse], Answer]
) -> Answer:
    form = urlencode({"query": query})
    if len(form) > _MAX_URL_QUERY:
        return client.request(accept, read, form.encode())
    mark = "&" if "?" in client.url else "?"
    return client.request(accept, read, url=f"{client.url}{mark}{form}")


def _read_body(client: HttpClient, response: HTTPResponse) -> bytes:
    chunks, size = [], 0
    for chunk in iterate_body(response, client.options.timeout * _TOTAL_TIMEOUT_FACTOR):
        chunks.append(chunk)
        size += len(chunk)
        if size > _MAX_PAGE_BYTES:
            problem = f"an answer is larger than {_MAX_PAGE_BYTES >> 20} MiB: "
            raise InputError(problem + "give a smaller --page-size", path=client.url)
    return b"".join(chunks)


def _list_rows(batch: Statements) -> Iterator[tuple[str, str, str, bool]]:
    yield from ((*row, False) for row in batch.triples)
    yield from ((*row, True) for row in batch.literals)


def _format_rows(rows: list[tuple[str, str, str, bool]], page: int) -> Iterator[bytes]:
    def format_name(name: str) -> str:
        # The same label on two pages is two nodes.
        return f"_:p{page}.{name[2:]}" if name.startswith("_:") else f"<{name}>"

    for head, relation, tail, is_literal in rows:
        value = tail if is_literal else format_name(tail)
        yield f"{format_name(head)} <{relation}> {value} .\n".encode()
