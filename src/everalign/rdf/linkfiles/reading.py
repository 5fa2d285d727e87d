"""Files of links in any format that EverAlign writes → links, each with its line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from everalign.errors import InputError
from everalign.rdf.linkfiles.alignment import ALIGN, read_alignment
from everalign.rdf.linkfiles.sssom import read_sssom
from everalign.rdf.linkfiles.statements import read_nt, read_turtle
from everalign.rdf.linkfiles.tables import read_jsonl, read_parquet
from everalign.rdf.links import LinkLine, iterate_links
from everalign.rdf.opening import text_blocks

Reader = Callable[[Path], Iterator[LinkLine]]

_BY_SUFFIX: Mapping[str, Reader] = {
    ".nt": read_nt,
    ".ttl": read_turtle,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".parquet": read_parquet,
}
_SSSOM_STARTS = ("#curie_map", "#mapping_set", "#license", "#sssom_version", "subject_id\t")


def read_link_file(path: str | Path) -> list[LinkLine]:
    """The links of a file: a table, SSSOM, JSON lines, Parquet, the format of the Alignment API,
    or ``owl:sameAs`` in any format of RDF, with or without annotations.

    The name tells the format; a table is SSSOM if it begins like one. A link that stands there
    twice is given once, with its first line.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     file = Path(directory, "links.jsonl")
    ...     _ = file.write_text('{"left": "Ada", "right": "Q7259", "score": 0.93}')
    ...     read_link_file(file)
    [LinkLine(left='Ada', right='Q7259', line=1)]
    """
    path = Path(path)
    links: dict[tuple[str, str], LinkLine] = {}
    for link in _reader(path)(path):
        links.setdefault((link.left, link.right), link)
    if not links:
        raise InputError("has no links", path=path)
    return list(links.values())


def _reader(path: Path) -> Reader:
    name = path.name.lower()
    for packing in (".gz", ".bz2", ".zst"):
        name = name.removesuffix(packing)
    if name.endswith(".sssom.tsv"):
        return read_sssom
    if known := _BY_SUFFIX.get(Path(name).suffix):
        return known
    first = next(text_blocks(path), None)
    start = "" if first is None else first.text[:4000]
    # There may be spaces between the mark and the YAML.
    if start.replace("# ", "#").startswith(_SSSOM_STARTS):
        return read_sssom
    return read_alignment if ALIGN.rstrip("#") in start else iterate_links
