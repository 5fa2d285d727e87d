"""The formats of link files: which function reads and writes each of them.

`LINK_FORMATS` is the one place where formats of links are declared. SSSOM is written by
`everalign.io.links.sssom`, since it needs more than the links: the reasons for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TypeAlias

from everalign.errors import ConfigError
from everalign.io.filters import ReadContext
from everalign.io.formats import CSV, TABLE, open_file
from everalign.io.links import same_as, tables
from everalign.io.links.alignment_api import (
    ALIGNMENT_NAMESPACE,
    find_xml_problem,
    read_alignment,
    write_alignment,
)
from everalign.io.links.records import ExportStyle, LinkLine, LinkRow, find_rdf_problem
from everalign.io.links.sssom_check import read_sssom
from everalign.io.streams import COMPRESSION_SUFFIXES, read_text_blocks

ReadFunction: TypeAlias = Callable[[Path], Iterator[LinkLine]]
LinkWriter: TypeAlias = Callable[[list[LinkRow], ExportStyle], Iterable[bytes]]


@dataclass(frozen=True)
class LinkFormat:
    """A format of link files."""

    name: str
    """The name on the command line."""

    read: ReadFunction
    write: LinkWriter
    suffixes: tuple[str, ...] = ()
    """File name suffixes that tell the format; without them the content does."""

    has_annotations: bool = False
    """Whether links can be annotated with their confidence."""

    find_problem: Callable[[LinkRow], str | None] = lambda _: None
    """Tells why a link cannot be written; by default, every link can."""


def iterate_links(path: str | Path, context: ReadContext | None = None) -> Iterator[LinkLine]:
    """Read links from a table or an RDF file one by one, for files that do not fit into memory.

    Args:
        path: A table (left, right, optionally a score), or ``owl:sameAs`` statements in any RDF
            format, without annotations; optionally compressed.
        context: Where lines of a table that cannot be read are reported; by default, the first
            is an error.

    Yields:
        Each link with its line number, repeated links as well.

    Raises:
        InputError: The file cannot be read, or a line is not a link.
    """
    context = context or ReadContext(Path(path))
    with open_file(context.path, context.add_note) as file:
        if file.format is TABLE or file.format is CSV:
            yield from tables.read_link_table(file, context)
        else:
            yield from same_as.iterate_same_as(file)


LINK_FORMATS = {
    link_format.name: link_format
    for link_format in (
        LinkFormat("tsv", iterate_links, tables.write_tsv, find_problem=tables.find_tsv_problem),
        LinkFormat(
            "nt",
            same_as.read_nt,
            same_as.write_nt,
            (".nt",),
            has_annotations=True,
            find_problem=find_rdf_problem,
        ),
        LinkFormat(
            "ttl",
            same_as.read_turtle,
            same_as.write_turtle,
            (".ttl",),
            has_annotations=True,
            find_problem=find_rdf_problem,
        ),
        LinkFormat("jsonl", tables.read_jsonl, tables.write_jsonl, (".jsonl", ".ndjson")),
        LinkFormat("alignment", read_alignment, write_alignment, find_problem=find_xml_problem),
        LinkFormat("parquet", tables.read_parquet, tables.write_parquet, (".parquet",)),
    )
}
# How an SSSOM file begins: with its metadata, or with the names of its columns.
_SSSOM_STARTS = ("#curie_map", "#mapping_set", "#license", "#sssom_version", "subject_id\t")
# Enough to have the namespace declarations of an RDF/XML file.
_START_CHARACTERS = 4000


def write_links(
    links: Iterable[tuple[str, str, float] | LinkRow],
    stream: IO[bytes],
    format: str = "tsv",
    style: ExportStyle | None = None,
) -> None:
    """Write links in one of `LINK_FORMATS`; nothing is written if a link cannot be written.

    Args:
        links: Left, right and score of each link, or more as `LinkRow`.
        stream: Where to write.
        format: The name of the format.
        style: Prefixes, annotations and the like.

    Raises:
        ConfigError: The format is unknown, or has no annotations and they are asked for.
        InputError: The format cannot hold a name.

    >>> from io import BytesIO
    >>> stream = BytesIO()
    >>> write_links([("Ada", "Q7259", 0.93)], stream, "tsv")
    >>> stream.getvalue()
    b'Ada\\tQ7259\\t0.93\\n'
    """
    style = style or ExportStyle()
    if format not in LINK_FORMATS:
        known = ", ".join(LINK_FORMATS)
        raise ConfigError(f"links cannot be written as {format!r}; the formats are {known}")
    if (style.annotate or style.reify) and not LINK_FORMATS[format].has_annotations:
        annotated = [known.name for known in LINK_FORMATS.values() if known.has_annotations]
        raise ConfigError(f"{format} has no annotations: they are for {' and '.join(annotated)}")
    rows = [LinkRow(*link) for link in links]
    # The list is made first, so that an error leaves nothing in the stream.
    stream.writelines(list(LINK_FORMATS[format].write(rows, style)))


def choose_reader(path: Path, context: ReadContext) -> ReadFunction:
    """Choose the function that reads a file of links.

    Args:
        path: The file.
        context: Where lines of tables that cannot be read are reported, and what was recognised.

    Returns:
        A function from the path to the links, repeated ones as well.

    Raises:
        InputError: The file cannot be read.
    """
    name = path.name.lower()
    for suffix in COMPRESSION_SUFFIXES:
        name = name.removesuffix(suffix)
    if name.endswith(".sssom.tsv"):
        return read_sssom
    if name.endswith(".csv"):
        return partial(iterate_links, context=context)
    for link_format in LINK_FORMATS.values():
        if Path(name).suffix in link_format.suffixes:
            return link_format.read
    first_block = next(read_text_blocks(path), None)
    start = "" if first_block is None else first_block.text[:_START_CHARACTERS]
    # SSSOM allows a space between the comment mark and the YAML.
    if start.replace("# ", "#").startswith(_SSSOM_STARTS):
        return read_sssom
    if ALIGNMENT_NAMESPACE.rstrip("#") in start:
        return read_alignment
    return partial(iterate_links, context=context)
