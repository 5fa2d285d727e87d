"""How the files of a graph are found and opened, as far as a user can choose it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class RemoteOptions:
    """How a URL or a SPARQL endpoint is read."""

    query: Path | None = None
    """A file with the CONSTRUCT query for a SPARQL endpoint."""

    class_iri: str | None = None
    """The class whose instances are read from a SPARQL endpoint, if there is no query."""

    cache: Path = Path("everalign-cache")
    """The directory where answers are kept as files."""

    refresh: bool = False
    """Whether to fetch again what the cache has."""

    requests_per_second: float = 2.0
    """How often a server is asked at most."""

    timeout: float = 60.0
    """How many seconds a server may be silent; an answer of an endpoint may take ten times as
    long as a whole."""

    page_size: int = 10_000
    """How many solutions of a query, or instances of a class, one request asks for."""

    attempts: int = 6
    """How often a request is tried before it fails."""

    back_off: float = 1.0
    """How many seconds to wait before the second attempt; each later one waits twice as long."""


@dataclass(frozen=True)
class SourceOptions:
    """How files are opened, where they do not say it themselves."""

    encoding: str | None = None
    """The encoding of text that is not UTF-8 and does not say what it is."""

    contexts: Mapping[str, Path] = field(default_factory=dict)
    """Files with remote contexts of JSON-LD, by their URL; the empty string stands for any."""

    reduce_wikidata: bool = True
    """Whether dumps of Wikidata are reduced to direct claims, labels and descriptions."""

    remote: RemoteOptions = field(default_factory=RemoteOptions)
    """How URLs and SPARQL endpoints are read."""
