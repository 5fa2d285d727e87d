"""URLs and SPARQL endpoints as files: fetched once, kept in a cache, read like any other file.

What the cache has is never asked for again, so that a run can be repeated without a network.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from everalign.errors import InputError
from everalign.io.encodings import Tell, ignore_note
from everalign.io.formats import FORMATS, is_known_name
from everalign.io.sources import RemoteOptions
from everalign.io.streams import write_atomically

if TYPE_CHECKING:
    from http.client import HTTPResponse

    from everalign.io.http_client import HttpClient

SPARQL_PREFIX = "sparql+"

_REMOTE = re.compile(r"(?:sparql\+)?https?://", re.IGNORECASE)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_DIGEST_LENGTH = 16


def is_remote(source: object) -> bool:
    """Tell whether a source is a URL or a SPARQL endpoint.

    Args:
        source: A source as it is given.

    Returns:
        Whether it is text that begins with ``http://`` or ``https://``, or with ``sparql+`` and
        one of these.

    >>> is_remote("sparql+https://example.org/sparql"), is_remote("left.nt")
    (True, False)
    """
    return isinstance(source, str) and _REMOTE.match(source) is not None


def is_storage(source: object) -> bool:
    """Tell whether a source is a URL of a storage, which an engine may be able to read.

    Args:
        source: A source as it is given.

    Returns:
        Whether it is text that begins with a scheme such as ``file://``, ``hdfs://`` or
        ``s3a://``, and is not fetched by `fetch_source`.

    >>> is_storage("hdfs://host/left.nt"), is_storage("https://example.org/left.nt")
    (True, False)
    """
    return isinstance(source, str) and bool(_SCHEME.match(source)) and not is_remote(source)


def find_local_path(source: str) -> Path | None:
    """Find the path of a ``file://`` URL.

    Args:
        source: The URL of a storage.

    Returns:
        The path, None if it has another scheme.

    >>> find_local_path("file:///data/left%20graph.nt").name
    'left graph.nt'
    """
    parts = urlsplit(source)
    return Path(unquote(parts.path)) if parts.scheme.lower() == "file" else None


def fetch_source(source: str, options: RemoteOptions, tell: Tell = ignore_note) -> Path:
    """Get a file with what a server has, from the cache if it is there.

    Args:
        source: The URL of a file, or a SPARQL endpoint.
        options: How the server is asked, and where answers are kept.
        tell: Called with a note that says where the file comes from.

    Returns:
        The file in the cache.

    Raises:
        InputError: The server does not answer as expected, or the cache cannot be written.
        ConfigError: A SPARQL endpoint has no query and no class.
    """
    # Imported here, since they take long and few commands need them.
    from everalign.io.http_client import HttpClient
    from everalign.io.sparql import build_query, fetch_query

    is_endpoint = source.lower().startswith(SPARQL_PREFIX)
    url = source[len(SPARQL_PREFIX) :] if is_endpoint else source
    query = build_query(options) if is_endpoint else None
    digest = _compute_digest(url if query is None else f"{url}\n{query}")
    cached = None if options.refresh else _find_cached(options.cache, digest)
    if cached is not None:
        made = time.strftime("%Y-%m-%d %H:%M", time.localtime(cached.stat().st_mtime))
        tell(f"{source}: from the cache, fetched {made} (--refresh fetches it again)")
        return cached
    client = HttpClient(url, options)
    with _convert_write_errors(options.cache):
        options.cache.mkdir(parents=True, exist_ok=True)
        if query is None:
            path = _download(client, options.cache, digest)
            tell(f"{source}: fetched into {path}")
        else:
            path = options.cache / _name_file(url, digest, ".nt")
            with write_atomically(path) as file:
                count = fetch_query(client, query, file)
            tell(f"{source}: {count} statements fetched into {path}")
    return path


def _download(client: HttpClient, cache: Path, digest: str) -> Path:
    from everalign.io.http_client import get_media_type, iterate_body

    def save(response: HTTPResponse) -> Path:
        media_type = get_media_type(response)
        path = cache / _name_file(client.url, digest, _find_suffix(media_type))
        if media_type == "text/html" and not is_known_name(path):
            raise InputError("is a web page, expected a file with triples", path=client.url)
        with write_atomically(path) as file:
            for chunk in iterate_body(response):
                file.write(chunk)
        return path

    accept = ", ".join(known.media_type for known in FORMATS)
    return client.request(f"{accept}, */*;q=0.1", save)


def _find_suffix(media_type: str) -> str:
    return next((known.suffixes[0] for known in FORMATS if known.media_type == media_type), "")


def _compute_digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:_DIGEST_LENGTH]


def _name_file(url: str, digest: str, suffix: str) -> str:
    """Name a file of the cache so that people and `open_files` recognise it."""
    parts = urlsplit(url)
    name = PurePosixPath(unquote(parts.path)).name
    shown = re.sub(r"[^\w.-]", "_", f"{parts.hostname}-{name}" if name else f"{parts.hostname}")
    # The suffix of the URL tells more than the server, which often says "text/plain".
    ending = "" if is_known_name(Path(name)) else suffix
    return f"{digest}-{shown[-100:]}{ending}"


def _find_cached(cache: Path, digest: str) -> Path | None:
    return next(iter(sorted(cache.glob(f"{digest}-*"))), None)


@contextmanager
def _convert_write_errors(cache: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = f"the cache cannot be written ({error.strerror or error})"
        raise InputError(problem, path=cache) from None
