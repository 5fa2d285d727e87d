"""RDF Patch → statements that a graph gains and loses, in the order of the file.

Rows begin with a letter or two: ``H`` header, ``TX`` a transaction begins, ``TC`` it holds,
``TA`` it never happened, ``PA`` and ``PD`` a prefix is added or dropped, ``A`` and ``D`` a
statement is added or dropped. What stands in a transaction waits for its end, on disk if it is
long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import NamedTuple

from everalign.errors import InputError
from everalign.rdf import nquads
from everalign.rdf.literals import PLAIN_LITERAL
from everalign.rdf.names import IN_IRI, shortened
from everalign.rdf.opening import Block
from everalign.rdf.reading import Reading
from everalign.rdf.statements import Statements

LINES = 500
_HELD_BYTES = 1 << 24

_CODE = re.compile(r"\s*(H|TX|TC|TA|PA|PD|A|D)(?=[\s.<_\"]|$)")
_PREFIX = re.compile(rf'(?:"([^"\s:]*):?"|([^"\s:]*):?)\s+(?:<({IN_IRI}+)>|"({IN_IRI}+)")\s*\.?')
_DROPPED_PREFIX = re.compile(r'(?:"([^"\s:]*):?"|([^"\s:]*):?)\s*\.?')
_HEADER = re.compile(r"\S+\s+\S.*")
# A statement in which nothing is to be replaced.
_PLAIN = re.compile(rf"(?:<(?!_:){IN_IRI}+> ){{2}}(?:<(?!_:){IN_IRI}+>|{PLAIN_LITERAL}) \.")
# What may stand in a statement: of these, prefixed names are the only ones to be replaced.
_TOKEN = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*"(?:@[A-Za-z0-9-]+)?|<(_:[^<>\s]+)>|<[^<>]*>|_:[^\s<>"]+'
    r"|([^\s<>\"^:]*):([^\s<>\"^]*)(?<!\.)"
)


class _Row(NamedTuple):
    code: str
    rest: str
    line: int


def statements_of(blocks: Iterator[Block], reading: Reading) -> Iterator[Statements]:
    """What a patch adds and removes."""
    return _Patch(reading).statements(_rows(blocks, reading))


def _rows(blocks: Iterator[Block], reading: Reading) -> Iterator[_Row]:
    for block in blocks:
        for number, line in block.lines():
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            if match := _CODE.match(line):
                yield _Row(match[1], line[match.end() :].strip(), number)
            else:
                problem = f"not a row of RDF Patch: {shortened(line)}"
                reading.fault(InputError(problem, path=reading.path, line=number))


class _Patch:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._prefixes: dict[str, str] = {}

    def statements(self, rows: Iterator[_Row]) -> Iterator[Statements]:
        return _in_blocks(self._changes(self._lasting(rows)), self._reading)

    def _lasting(self, rows: Iterator[_Row]) -> Iterator[_Row]:
        """The rows without those of transactions that were given up."""
        for row in rows:
            if row.code == "TX":
                yield from self._transaction(row, rows)
            elif row.code in ("TC", "TA"):
                self._fault(f"{row.code} without TX before it", row.line)
            else:
                yield row

    def _transaction(self, begin: _Row, rows: Iterator[_Row]) -> Iterator[_Row]:
        with SpooledTemporaryFile(_HELD_BYTES, "w+", encoding="utf-8", newline="\n") as held:
            for row in rows:
                if row.code == "TA":
                    return
                if row.code == "TC":
                    break
                if row.code == "TX":
                    self._fault("TX inside of a transaction", row.line)
                    continue
                held.write(f"{row.code}\t{row.line}\t{row.rest}\n")
            else:
                problem = "the transaction that begins here has no end: is the file cut off?"
                raise InputError(problem, path=self._reading.path, line=begin.line)
            held.seek(0)
            for text in held:
                code, line, rest = text[:-1].split("\t", 2)
                yield _Row(code, rest, int(line))

    def _changes(self, rows: Iterator[_Row]) -> Iterator[_Row]:
        """The rows that change a statement, with all names written out."""
        for row in rows:
            try:
                if row.code in ("A", "D"):
                    yield _Row(row.code, self._written_out(row.rest), row.line)
                else:
                    self._note(row)
            except InputError as error:
                self._fault(error.problem, row.line)

    def _note(self, row: _Row) -> None:
        if row.code == "PA" and (match := _PREFIX.fullmatch(row.rest)):
            self._prefixes[match[1] or match[2] or ""] = match[3] or match[4]
        elif row.code == "PD" and (match := _DROPPED_PREFIX.fullmatch(row.rest)):
            self._prefixes.pop(match[1] or match[2] or "", None)
        elif row.code != "H" or not _HEADER.fullmatch(row.rest):
            shown = shortened(f"{row.code} {row.rest}")
            raise InputError(f"not a row of RDF Patch: {shown}")

    def _written_out(self, rest: str) -> str:
        return rest if _PLAIN.fullmatch(rest) else _TOKEN.sub(self._token, rest)

    def _token(self, match: re.Match[str]) -> str:
        blank, prefix, local = match.groups()
        if blank is not None:
            return blank
        if prefix is None:
            return match[0]
        if prefix not in self._prefixes:
            raise InputError(f"the prefix {prefix + ':'!r} is not declared by a row PA")
        return f"<{self._prefixes[prefix]}{local}>"

    def _fault(self, problem: str, line: int) -> None:
        self._reading.fault(InputError(problem, path=self._reading.path, line=line))


def _in_blocks(rows: Iterator[_Row], reading: Reading) -> Iterator[Statements]:
    """Rows of the same kind that follow each other are read together."""
    run: list[_Row] = []
    for row in rows:
        if run and (row.code != run[0].code or row.line != run[-1].line + 1 or len(run) == LINES):
            yield _read(run, reading)
            run = []
        run.append(row)
    if run:
        yield _read(run, reading)


def _read(run: list[_Row], reading: Reading) -> Statements:
    text = "".join(f"{row.rest}\n" for row in run)
    return nquads.statements_of(Block(text, run[0].line), reading, run[0].code == "D")
