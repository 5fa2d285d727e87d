"""Files of links → links, each with the line it stands in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from everalign.errors import InputError
from everalign.rdf import documents, nquads
from everalign.rdf.formats import Format, Opened, opened
from everalign.rdf.names import Triple, shortened
from everalign.rdf.ntriples import statements_in_line
from everalign.rdf.opening import blocks_of
from everalign.rdf.reading import Reading
from everalign.rdf.tabular import is_blank, names_of, refuse_fields

SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"


class LinkLine(NamedTuple):
    """A link and the number of the line in which it was found."""

    left: str
    right: str
    line: int


def read_links(path: str | Path) -> list[LinkLine]:
    """The links of a file: tab-separated, or ``owl:sameAs`` in a format of RDF.

    A link that stands there twice is given once, with its first line.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     file = Path(directory, "seeds.tsv")
    ...     _ = file.write_text("Ada\\tQ7259\\nCharles\\tQ46633\\n")
    ...     read_links(file)
    [LinkLine(left='Ada', right='Q7259', line=1), LinkLine(left='Charles', right='Q46633', line=2)]
    """
    links: dict[tuple[str, str], LinkLine] = {}
    for link in iterate_links(path):
        links.setdefault((link.left, link.right), link)
    if not links:
        raise InputError("has no links", path=path)
    return list(links.values())


def iterate_links(path: str | Path) -> Iterator[LinkLine]:
    """The links of a file one by one, also those that stand there twice; none are held."""
    with opened(Path(path)) as file:
        if file.format is Format.TABULAR:
            yield from _pairs(file)
        else:
            for row, line in _rows(file):
                yield _same_as(row, file.path, line)


def _pairs(file: Opened) -> Iterator[LinkLine]:
    for block in blocks_of(file.stream, file.path):
        for number, line in block.lines():
            yield from _pair(line, file.path, number)


def _rows(file: Opened) -> Iterator[tuple[Triple, int]]:
    """The statements of a file of RDF; a line of 0 is not known."""
    if file.format in (Format.PARQUET, Format.RDF_PATCH):
        raise InputError(f"links are not read from {file.format.value}", path=file.path)
    if file.format not in (Format.N_TRIPLES, Format.N_QUADS):
        rows = documents.rows_of(file.stream, Reading(file.path), file.format, by_line=True)
        yield from ((row, line or 0) for row, line in rows)
        return
    for block in blocks_of(file.stream, file.path):
        for number, line in block.lines():
            if file.format is Format.N_TRIPLES:
                yield from ((row, number) for row in statements_in_line(line, file.path, number))
            else:
                found = nquads.quads_in_line(line, file.path, number)
                yield from ((row, number) for row, _ in found)


def _pair(line: str, path: Path, number: int) -> Iterator[LinkLine]:
    if is_blank(line):
        return
    fields = line.split("\t")
    if len(fields) == 3:
        _check_score(fields.pop(), path, number)
    if len(fields) != 2 or "" in fields:
        refuse_fields(fields, ("left", "right"), path, number)
    left, right = names_of(fields, path, number)
    yield LinkLine(left, right, number)


def _check_score(field: str, path: Path, number: int) -> None:
    if not _is_score(field):
        expected = "expected 2 tab-separated columns (left, right) and at most a score"
        problem = f"{expected} such as 0.93, found {shortened(field)} as the third"
        raise InputError(problem, path=path, line=number)


def _is_score(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    # A whole number is an id: these are triples, not links.
    return not field.isdigit()


def _same_as(row: Triple, path: Path, number: int) -> LinkLine:
    left, relation, right = row
    if relation != SAME_AS:
        problem = f"expected a link by owl:sameAs, found {shortened(relation)}"
        raise InputError(problem, path=path, line=number)
    if right.startswith('"'):
        problem = f"expected a link to an entity, found a literal: {shortened(right)}"
        raise InputError(problem, path=path, line=number)
    return LinkLine(left, right, number)
