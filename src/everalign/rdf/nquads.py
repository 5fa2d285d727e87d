"""N-Quads → triples and literals of the graphs that are wanted.

As with N-Triples, a block is parsed as a whole, and line by line where that fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pyoxigraph import RdfFormat, parse

from everalign.errors import InputError
from everalign.rdf import ntriples
from everalign.rdf.names import Triple, shortened
from everalign.rdf.opening import Block
from everalign.rdf.reading import Reading
from everalign.rdf.statements import Statements, sorted_out
from everalign.rdf.terms import checked_name, graph_of, name_of, reason_of, refuse_nesting

GraphRow = tuple[Triple, str]


def statements_of(block: Block, reading: Reading, removed: bool = False) -> Statements:
    """What stands in a block of N-Quads."""
    if plain := ntriples.cut(block.text):
        return _of_default_graph(plain, reading, removed)
    rows = _parsed(block.text)
    if rows is None:
        rows = _line_by_line(block, reading)
    return sorted_out([row for row, graph in rows if reading.in_graph(graph)], removed)


def _of_default_graph(plain: Statements, reading: Reading, removed: bool) -> Statements:
    if reading.sieve.keeps_graph(""):
        return plain._replace(removed=removed)
    reading.tally.left_out += len(plain.triples) + len(plain.literals)
    return Statements([], [], removed)


def quads_in_line(line: str, path: Path, number: int) -> Iterator[GraphRow]:
    """The statement in a line, if there is one, and the name of its graph."""
    try:
        refuse_nesting(line)
        for quad in parse(line, format=RdfFormat.N_QUADS, lenient=True):
            head, tail = checked_name(quad.subject), checked_name(quad.object)
            yield (head, checked_name(quad.predicate), tail), graph_of(quad.graph_name)
    except SyntaxError as error:
        problem = f"not a line of N-Quads ({reason_of(error)}): {shortened(line)}"
        raise InputError(problem, path=path, line=number) from None
    except InputError as error:
        raise InputError(error.problem, path=path, line=number) from None


def _parsed(text: str) -> list[GraphRow] | None:
    if "<<" in text:
        return None
    try:
        return [
            (
                (name_of(quad.subject), quad.predicate.value, name_of(quad.object)),
                graph_of(quad.graph_name),
            )
            for quad in parse(text, format=RdfFormat.N_QUADS)
        ]
    except SyntaxError:
        return None


def _line_by_line(block: Block, reading: Reading) -> list[GraphRow]:
    rows: list[GraphRow] = []
    for number, line in block.lines():
        try:
            rows += quads_in_line(line, reading.path, number)
        except InputError as error:
            reading.fault(error)
    return rows
