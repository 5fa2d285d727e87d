"""A real HTTP server on this machine: files, and a SPARQL endpoint that can misbehave."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from pyoxigraph import (
    QueryResultsFormat,
    QuerySolutions,
    QueryTriples,
    RdfFormat,
    Store,
    serialize,
)

Faults = list[str]


@dataclass
class Request:
    path: str
    query: str
    at: float
    headers: dict[str, str]


@dataclass
class LocalServer:
    """What the server has, what it does wrong, and what it was asked."""

    port: int = 0
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """Media type and content by path."""

    stores: dict[str, Store] = field(default_factory=dict)
    """The graph of each endpoint by path."""

    faults: Faults = field(default_factory=list)
    """What goes wrong with the next requests, one after the other; "" is nothing."""

    max_triples: int | None = None
    """How many triples the endpoint gives at most, as Virtuoso does."""

    announces_limit: bool = True
    requests: list[Request] = field(default_factory=list)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def endpoint(self, path: str = "/sparql") -> str:
        return f"sparql+{self.url(path)}"


@contextmanager
def run_server() -> Iterator[LocalServer]:
    state = LocalServer()

    class Handler(_Handler):
        server_state = state

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server_state: LocalServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """The tests read `requests` instead."""

    def do_GET(self) -> None:
        self._answer(urlsplit(self.path).query)

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def _answer(self, form: str) -> None:
        state, path = self.server_state, urlsplit(self.path).path
        query = parse_qs(form).get("query", [""])[0]
        state.requests.append(Request(path, query, time.monotonic(), dict(self.headers)))
        fault = state.faults.pop(0) if state.faults else ""
        if fault.isdecimal():
            self._send(int(fault), "text/plain", b"busy\n", {"Retry-After": "0"})
        elif fault == "redirect":
            self._send(302, "text/plain", b"", {"Location": "/moved"})
        elif fault == "html":
            self._send(200, "text/html", b"<!doctype html><p>Please log in</p>")
        elif fault == "silence":
            time.sleep(1.5)
        elif path in state.stores:
            self._answer_query(state.stores[path], query, fault)
        elif path in state.files:
            self._send(200, *state.files[path], fault=fault)
        else:
            self._send(404, "text/plain", b"")

    def _answer_query(self, store: Store, query: str, fault: str) -> None:
        state = self.server_state
        try:
            result = store.query(query)
        except SyntaxError as error:
            self._send(400, "text/plain", f"{error}\n".encode())
            return
        if isinstance(result, QuerySolutions):
            body = result.serialize(format=QueryResultsFormat.JSON)
            self._send(200, "application/sparql-results+json", body, fault=fault)
            return
        assert isinstance(result, QueryTriples)
        triples = list(result)
        headers = {}
        if state.max_triples is not None and len(triples) > state.max_triples:
            triples = triples[: state.max_triples]
            headers = {"X-SPARQL-MaxRows": str(state.max_triples)} if state.announces_limit else {}
        body = serialize(triples, format=RdfFormat.N_TRIPLES)
        self._send(200, "application/n-triples", body, headers, fault)

    def _send(
        self,
        status: int,
        media_type: str,
        body: bytes | None,
        headers: dict[str, str] | None = None,
        fault: str = "",
    ) -> None:
        body = body or b""
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if fault in ("no length", "unnoticed break"):
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault in ("break", "unnoticed break"):
            body = body[: body.rindex(b" ", 0, len(body) - 30)]  # inside of a line
            self.close_connection = True
        if fault == "drip":
            self.close_connection = True
            for byte in body:
                self.wfile.write(bytes([byte]))
                time.sleep(0.05)
        self.wfile.write(body)
