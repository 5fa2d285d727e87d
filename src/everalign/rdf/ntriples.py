"""N-Triples → triples of names, at three speeds with one result.

Most blocks of a dump hold nothing but lines of the plain form ``<head> <relation> <tail> .``,
some with a blank node or a literal: these are cut at their brackets and quotation marks, and
pyoxigraph sees only the literals with escapes. A block with anything else in it (comments,
other spacing) is parsed by pyoxigraph as a whole. Where that fails, the block
is read line by line, which finds the line in fault. Reading line by line is slow, and it alone
decides what is accepted: the two faster ways give up rather than differ from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pyoxigraph import NamedNode, RdfFormat, parse

from everalign.errors import InputError
from everalign.rdf.literals import PLAIN_LITERAL
from everalign.rdf.names import IN_IRI, NOT_IN_IRI, Triple, shortened
from everalign.rdf.opening import Block
from everalign.rdf.reading import Reading
from everalign.rdf.statements import Statements, sorted_out
from everalign.rdf.terms import checked_name, name_of, reason_of, refuse_nesting

_BLANK_NODE = re.compile(r"_:[A-Za-z0-9]+(?= )")
_ESCAPE = re.compile(r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}")
# <head> <relation> <tail> . and its line end: the characters outside of the three names
# that are forbidden inside of them.
_MARKS_PER_LINE = 10
_NAME = f"<((?!_:){IN_IRI}+)>"
_LITERAL_LINE = re.compile(rf"^{_NAME}[ \t]{_NAME}[ \t]({PLAIN_LITERAL})[ \t]\.$", re.MULTILINE)


def statements_of(block: Block, reading: Reading) -> Statements:
    """What stands in a block of N-Triples."""
    return cut(block.text) or _parsed(block.text) or _line_by_line(block, reading)


def statements_in_line(line: str, path: Path, number: int) -> Iterator[Triple]:
    """The statement in a line, if there is one; its tail may be a literal."""
    try:
        refuse_nesting(line)
        # Lenient, since names are only compared: what N-Triples itself forbids is checked
        # here, and dumps with a stray "%" in an IRI can be read.
        for quad in parse(line, format=RdfFormat.N_TRIPLES, lenient=True):
            yield (
                checked_name(quad.subject),
                checked_name(quad.predicate),
                checked_name(quad.object),
            )
    except SyntaxError as error:
        problem = f"not a line of N-Triples ({reason_of(error)}): {shortened(line)}"
        raise InputError(problem, path=path, line=number) from None
    except InputError as error:
        raise InputError(error.problem, path=path, line=number) from None


def cut(text: str) -> Statements | None:
    """What stands in lines of the plain form, nothing if there are any others."""
    literal_lines: list[str] = []
    if '"' in text:
        lines = text.split("\n")
        literal_lines = [line for line in lines if '"' in line]
        text = "\n".join([line for line in lines if '"' not in line])
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    if "\\" in text or "<_:" in text:
        return None
    if "\t" in text:
        text = text.replace("\t", " ")
    triples = _cut_plain_lines(text)
    if triples is None:
        triples = _cut_lines_with_blank_nodes(text)
    literals = None if triples is None else _cut_literals(literal_lines)
    return None if triples is None or literals is None else Statements(triples, literals)


def _unescaped(escape: re.Match[str]) -> str:
    """The character, unless it may not stand in a name: then the escape stays."""
    code = int(escape[0][2:], 16)
    is_name = 0x20 < code < 0xD800 or 0xDFFF < code <= 0x10FFFF
    return chr(code) if is_name and code not in NOT_IN_IRI else escape[0]


def _cut_plain_lines(text: str) -> list[Triple] | None:
    """The triples of a text in which each line has the plain form, None for any other text."""
    if not text:
        return []
    if text.count("<") != 3 * text.count("\n"):
        return None
    names = text[1:-4].replace("> .\n<", "> <").split("> <")
    triples = list(zip(names[::3], names[1::3], names[2::3], strict=False))
    # Only the plain form gives back the same text when it is put together again.
    same_text = "<" + "> .\n<".join(map("> <".join, triples)) + "> .\n" == text
    raw = text.encode()
    marks = len(raw) - len(raw.translate(None, NOT_IN_IRI))
    is_plain = same_text and all(names) and marks == _MARKS_PER_LINE * len(triples)
    return triples if is_plain else None


def _cut_lines_with_blank_nodes(text: str) -> list[Triple] | None:
    if "_:" not in text:
        return None
    triples = _cut_plain_lines(_BLANK_NODE.sub(r"<\g<0>>", text))
    if triples is None or any(relation.startswith("_:") for _, relation, _ in triples):
        return None
    return triples


def _cut_literals(lines: list[str]) -> list[Triple] | None:
    """The literals of lines that each have one, None for any other lines."""
    literals: list[Triple] = _LITERAL_LINE.findall("\n".join(lines))
    if len(literals) == len(lines):
        return literals
    others = [line for line in lines if not _LITERAL_LINE.match(line)]
    parsed = _parsed("\n".join(others))
    if parsed is None or len(parsed.literals) != len(others):
        return None
    return literals + parsed.literals


def _parsed(text: str) -> Statements | None:
    rows: list[Triple] = []
    if "<<" in text:
        return None
    try:
        for quad in parse(text, format=RdfFormat.N_TRIPLES):
            head, tail = quad.subject, quad.object
            if type(head) is NamedNode and type(tail) is NamedNode:
                rows.append((head.value, quad.predicate.value, tail.value))
            else:
                rows.append((name_of(head), quad.predicate.value, name_of(tail)))
    except (SyntaxError, InputError):
        return None
    return sorted_out(rows)


def _line_by_line(block: Block, reading: Reading) -> Statements:
    rows: list[Triple] = []
    for number, line in block.lines():
        try:
            rows += statements_in_line(line, reading.path, number)
        except InputError as error:
            reading.fault(error)
    return sorted_out(rows)
