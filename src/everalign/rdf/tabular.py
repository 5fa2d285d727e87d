"""Tab-separated lines → rows of names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

from everalign.errors import InputError
from everalign.rdf.formats import looks_like_statement
from everalign.rdf.literals import with_literals
from everalign.rdf.names import Triple, shortened, without_brackets
from everalign.rdf.opening import Block
from everalign.rdf.reading import Reading
from everalign.rdf.statements import Statements

_NAME_IT_NT = "looks like N-Triples, whose file name should end in .nt"
_STATEMENT_END = re.compile(r"<[^<>]*>\s*\.")


def statements_of(block: Block, reading: Reading) -> Statements:
    """What stands in a block whose lines are ``head<TAB>relation<TAB>tail``.

    A tail in quotation marks, written as a literal of N-Triples, is a literal.
    """
    rows = _rows_of(block, reading)
    if '"' not in block.text:
        return Statements(rows, [])
    return with_literals(rows)


def _rows_of(block: Block, reading: Reading) -> list[Triple]:
    rows = []
    bracketed = "<" in block.text
    for number, line in block.lines():
        fields = line.split("\t")
        if bracketed or len(fields) != 3 or "" in fields:
            if is_blank(line):
                continue
            try:
                fields = _checked(fields, reading.path, number)
            except InputError as error:
                reading.fault(error)
                continue
        head, relation, tail = fields
        rows.append((head, relation, tail))
    return rows


def _checked(fields: list[str], path: Path, number: int) -> list[str]:
    if len(fields) != 3 or "" in fields:
        refuse_fields(fields, ("head", "relation", "tail"), path, number)
    return names_of(fields, path, number)


def is_blank(line: str) -> bool:
    """Whether nothing but spaces stands in the line."""
    return not line.strip(" ")


def names_of(fields: list[str], path: Path, line: int) -> list[str]:
    """The fields without angle brackets."""
    if _STATEMENT_END.fullmatch(fields[-1]):
        raise InputError(f"{_NAME_IT_NT}: {shortened(fields[-1])}", path=path, line=line)
    return [without_brackets(field) for field in fields]


def refuse_fields(
    fields: list[str], columns: tuple[str, ...], path: Path, number: int
) -> NoReturn:
    """Say what is wrong with a line that does not have a name in each of these columns."""
    line = "\t".join(fields)
    if len(fields) == len(columns):
        problem = f"the {columns[fields.index('')]} (column {fields.index('') + 1}) is empty"
    else:
        expected = f"{len(columns)} tab-separated columns ({', '.join(columns)})"
        problem = f"expected {expected}, found {len(fields)}"
        if looks_like_statement(line):
            problem = f"{_NAME_IT_NT}; {problem}"
    raise InputError(f"{problem}: {shortened(line)}", path=path, line=number)
