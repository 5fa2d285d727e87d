"""RDF Patch: statements that a graph gains and loses, in file order.

A row begins with its code: ``H`` header, ``TX`` begin of a transaction, ``TC`` commit, ``TA``
abort, ``PA`` and ``PD`` add and delete a prefix, ``A`` and ``D`` add and delete a statement. The
rows of a transaction are kept, on disk if they are many, until it is committed.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import NamedTuple

from everalign.errors import InputError
from everalign.io.filters import ReadContext
from everalign.io.ntriples import parse_nquads_block
from everalign.io.streams import TextBlock, split_blocks
from everalign.io.terms import (
    CANONICAL_LITERAL,
    IRI_CHARACTER,
    UNICODE_ESCAPE,
    Statements,
    shorten_text,
)

# As many lines as a block of N-Quads has on average.
_MAX_ROWS_PER_BATCH = 500
# A longer transaction is kept on disk.
_MAX_HELD_BYTES = 1 << 24

_CODE = re.compile(r"\s*(H|TX|TC|TA|PA|PD|A|D)(?=[\s.<_\"]|$)")
_NAMESPACE = f"((?:{IRI_CHARACTER}|{UNICODE_ESCAPE})+)"
# Patches in the wild write prefixes with and without quotes and colon.
_PREFIX = re.compile(rf'(?:"([^"\s:]*):?"|([^"\s:]*):?)\s+(?:<{_NAMESPACE}>|"{_NAMESPACE}")\s*\.?')
_DELETED_PREFIX = re.compile(r'(?:"([^"\s:]*):?"|([^"\s:]*):?)\s*\.?')
_HEADER = re.compile(r"\S+\s+\S.*")
# A statement in which nothing is to be replaced.
_PLAIN_STATEMENT = re.compile(
    rf"(?:<(?!_:){IRI_CHARACTER}+> ){{2}}(?:<(?!_:){IRI_CHARACTER}+>|{CANONICAL_LITERAL}) \."
)
# The tokens of a statement: literals, <_:label>, IRIs, blank nodes and prefixed names. Only the
# second and the last have groups, since only they are replaced. A prefix is looked for at the
# beginning of a word only: a long word without a colon would be searched from each of its letters.
_TOKEN = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*"(?:@[A-Za-z0-9-]+)?|<(_:[^<>\s]+)>|<[^<>]*>|_:[^\s<>"]+'
    r"|(?<![^\s<>\"^:])([^\s<>\"^:]*+):([^\s<>\"^]*)(?<!\.)"
)


class _Row(NamedTuple):
    code: str
    text: str
    line: int


def read_rdf_patch(stream: io.BufferedReader, context: ReadContext) -> Iterator[Statements]:
    """Read an RDF Patch.

    Args:
        stream: The bytes of the file.
        context: The file, the filter and where to report errors.

    Yields:
        Batches of statements that are either all added or all removed, in file order.

    Raises:
        InputError: A row is not RDF Patch and errors are not skipped, or the last transaction
            has no end.
    """
    rows = _drop_aborted(_read_rows(stream, context), context)
    yield from _parse_batches(_expand_prefixes(rows, context), context)


def _read_rows(stream: io.BufferedReader, context: ReadContext) -> Iterator[_Row]:
    for block in split_blocks(stream, context.path, context.error_handler):
        for number, line in block.lines():
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            if match := _CODE.match(line):
                yield _Row(match[1], line[match.end() :].strip(), number)
            else:
                _report_error(f"not a row of RDF Patch: {shorten_text(line)}", number, context)


def _drop_aborted(rows: Iterator[_Row], context: ReadContext) -> Iterator[_Row]:
    """Remove the rows of aborted transactions."""
    for row in rows:
        if row.code == "TX":
            yield from _read_transaction(row, rows, context)
        elif row.code in ("TC", "TA"):
            _report_error(f"{row.code} without TX before it", row.line, context)
        else:
            yield row


def _read_transaction(begin: _Row, rows: Iterator[_Row], context: ReadContext) -> Iterator[_Row]:
    with SpooledTemporaryFile(_MAX_HELD_BYTES, "w+", encoding="utf-8", newline="\n") as held:
        for row in rows:
            if row.code == "TA":
                return
            if row.code == "TC":
                break
            if row.code == "TX":
                _report_error("TX inside of a transaction", row.line, context)
                continue
            held.write(f"{row.code}\t{row.line}\t{row.text}\n")
        else:
            # Half a transaction must not be applied, even if errors are skipped.
            problem = "the transaction that begins here has no end (truncated file?)"
            raise InputError(problem, path=context.path, line=begin.line)
        held.seek(0)
        for held_row in held:
            code, line, text = held_row[:-1].split("\t", 2)
            yield _Row(code, text, int(line))


def _expand_prefixes(rows: Iterator[_Row], context: ReadContext) -> Iterator[_Row]:
    """Convert the rows that add or delete a statement to N-Quads."""
    prefixes: dict[str, str] = {}
    for row in rows:
        try:
            if row.code in ("A", "D"):
                yield _Row(row.code, _expand_statement(row.text, prefixes), row.line)
            else:
                _apply_prefix_row(row, prefixes)
        except InputError as error:
            _report_error(error.problem, row.line, context)


def _apply_prefix_row(row: _Row, prefixes: dict[str, str]) -> None:
    if row.code == "PA" and (match := _PREFIX.fullmatch(row.text)):
        prefixes[match[1] or match[2] or ""] = match[3] or match[4]
    elif row.code == "PD" and (match := _DELETED_PREFIX.fullmatch(row.text)):
        prefixes.pop(match[1] or match[2] or "", None)
    elif row.code != "H" or not _HEADER.fullmatch(row.text):
        raise InputError(f"not a row of RDF Patch: {shorten_text(f'{row.code} {row.text}')}")


def _expand_statement(text: str, prefixes: dict[str, str]) -> str:
    if _PLAIN_STATEMENT.fullmatch(text):
        return text

    def expand_token(match: re.Match[str]) -> str:
        blank_node, prefix, local = match.groups()
        if blank_node is not None:
            return blank_node
        if prefix is None:
            return match[0]
        if prefix not in prefixes:
            raise InputError(
                f"the prefix {shorten_text(f'{prefix}:')} is not declared by a row PA"
            )
        return f"<{prefixes[prefix]}{local}>"

    return _TOKEN.sub(expand_token, text)


def _parse_batches(rows: Iterator[_Row], context: ReadContext) -> Iterator[Statements]:
    """Parse rows with the same code and consecutive line numbers together."""
    batch: list[_Row] = []
    for row in rows:
        if batch and (
            row.code != batch[0].code
            or row.line != batch[-1].line + 1
            or len(batch) == _MAX_ROWS_PER_BATCH
        ):
            yield _parse_batch(batch, context)
            batch = []
        batch.append(row)
    if batch:
        yield _parse_batch(batch, context)


def _parse_batch(batch: list[_Row], context: ReadContext) -> Statements:
    text = "".join(f"{row.text}\n" for row in batch)
    removed = batch[0].code == "D"
    return parse_nquads_block(TextBlock(text, batch[0].line), context, removed)


def _report_error(problem: str, line: int, context: ReadContext) -> None:
    context.report_error(InputError(problem, path=context.path, line=line))
