"""Links → bytes that :func:`~everalign.rdf.read_link_file` reads back: the formats by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, TypeAlias

from everalign.errors import ConfigError
from everalign.rdf.linkfiles.alignment import write_alignment
from everalign.rdf.linkfiles.rows import LinkRow, Style
from everalign.rdf.linkfiles.statements import write_nt, write_turtle
from everalign.rdf.linkfiles.tables import write_jsonl, write_parquet, write_tsv

Writer: TypeAlias = Callable[[Sequence[LinkRow], Style], Iterable[bytes]]
Writable: TypeAlias = tuple[str, str, float] | LinkRow

WRITERS: Mapping[str, Writer] = {
    "tsv": write_tsv,
    "nt": write_nt,
    "ttl": write_turtle,
    "jsonl": write_jsonl,
    "alignment": write_alignment,
    "parquet": write_parquet,
}
ANNOTATED = ("nt", "ttl")


def write_links(
    links: Iterable[Writable],
    stream: IO[bytes],
    format: str = "tsv",
    style: Style | None = None,
) -> None:
    """Write links, each with its score, in one of the formats of `WRITERS`.

    Where one of the links cannot be written, nothing is. SSSOM needs to know more of each link:
    see :func:`~everalign.rdf.linkfiles.write_sssom`.

    >>> from io import BytesIO
    >>> stream = BytesIO()
    >>> write_links([("Ada", "Q7259", 0.93)], stream, "tsv")
    >>> stream.getvalue()
    b'Ada\\tQ7259\\t0.93\\n'
    """
    style = style or Style()
    if format not in WRITERS:
        known = ", ".join(WRITERS)
        raise ConfigError(f"links cannot be written as {format!r}; the formats are {known}")
    if style.annotate and format not in ANNOTATED:
        raise ConfigError(f"{format} has no annotations: they are for {' and '.join(ANNOTATED)}")
    rows = [LinkRow(*link) for link in links]
    stream.writelines(list(WRITERS[format](rows, style)))
