"""Links → bytes that :func:`~everalign.rdf.read_links` reads back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from everalign.errors import ConfigError, InputError
from everalign.rdf.links import SAME_AS
from everalign.rdf.names import is_absolute_iri, shortened, without_brackets


def write_links(
    links: Iterable[tuple[str, str, float]], stream: IO[bytes], format: str = "tsv"
) -> None:
    """Write links as ``tsv`` (left, right, score) or as ``nt`` (``owl:sameAs``).

    Where one of the links cannot be written, nothing is.

    >>> from io import BytesIO
    >>> stream = BytesIO()
    >>> write_links([("Ada", "Q7259", 0.93)], stream, "tsv")
    >>> stream.getvalue()
    b'Ada\\tQ7259\\t0.93\\n'
    """
    if format not in _LINE_BY_FORMAT:
        known = " and ".join(_LINE_BY_FORMAT)
        raise ConfigError(f"links cannot be written as {format!r}; the formats are {known}")
    line = _LINE_BY_FORMAT[format]
    stream.writelines([line(*link).encode() for link in links])


def _tsv_line(left: str, right: str, score: float) -> str:
    return f"{_cell(left)}\t{_cell(right)}\t{float(score)!r}\n"


def _cell(name: str) -> str:
    breaks_line = not name or "\t" in name or "\n" in name or name.startswith("\ufeff")
    if breaks_line or without_brackets(name) != name:
        raise InputError(f"{shortened(name)} cannot stand in a tab-separated file")
    return name


def _nt_line(left: str, right: str, _score: float) -> str:
    return f"<{as_iri(left)}> <{SAME_AS}> <{as_iri(right)}> .\n"


def as_iri(name: str) -> str:
    if not is_absolute_iri(name):
        raise InputError(f"{shortened(name)} is not an absolute IRI, so N-Triples cannot hold it")
    return name


_LINE_BY_FORMAT = {"tsv": _tsv_line, "nt": _nt_line}
