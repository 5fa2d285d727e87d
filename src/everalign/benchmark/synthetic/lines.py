"""The lines of the files of a sample, formatted as blocks of bytes.

A line is a template with gaps of equal width for the codes of entities. A block of lines is a
table of bytes: a row is copied from the template of its relation, the codes are put into the
gaps, and the bytes that pad short templates are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from everalign.benchmark.synthetic.world import Ids

EntityCodes = NDArray[np.uint32]
Bytes = NDArray[np.uint8]

# 16^8 codes are enough for distinct random IRIs in samples of many millions of triples.
CODE_DIGITS = 8
# Lines that are formatted at once: some ten megabytes.
_BLOCK_LINES = 1 << 16


class TripleFormat(Enum):
    """A file format of triples, by what stands before, between and after the three names."""

    TSV = "tsv"
    N_TRIPLES = "nt"

    @property
    def file_suffix(self) -> str:
        """The ending of file names; a table of the ContEA layout has none."""
        return ".nt" if self is TripleFormat.N_TRIPLES else ""

    @property
    def punctuation(self) -> tuple[str, str, str]:
        """What stands before the first name, between two names, and after the last one."""
        return ("<", "> <", "> .\n") if self is TripleFormat.N_TRIPLES else ("", "\t", "\n")


@dataclass(frozen=True, eq=False, repr=False)
class TripleLines:
    """Formats triples of ids.

    >>> lines = TripleLines("x/", np.array([10, 255], np.uint32), ["near"], TripleFormat.TSV)
    >>> b"".join(lines.format_blocks(np.array([[0, 0, 1]]))).decode()
    'x/0000000a\\tnear\\tx/000000ff\\n'
    """

    entity_prefix: str
    """What stands before the code in the name of an entity."""
    codes: EntityCodes
    """The codes of the entities by id."""
    relations: Sequence[str]
    """The names of the relations by id."""
    file_format: TripleFormat

    def format_blocks(self, triples: Ids) -> Iterator[bytes]:
        """Format triples as lines.

        Args:
            triples: Rows of head, relation and tail.

        Yields:
            Blocks of lines.
        """
        digits = spell_codes(self.codes)
        templates, is_used = self._templates
        head_end = self._head_start + CODE_DIGITS
        tail_end = templates.shape[1] - len(self.file_format.punctuation[2])
        for start in range(0, len(triples), _BLOCK_LINES):
            heads, relations, tails = triples[start : start + _BLOCK_LINES].T
            lines = templates[relations]
            lines[:, self._head_start : head_end] = digits[heads]
            lines[:, tail_end - CODE_DIGITS : tail_end] = digits[tails]
            yield lines[is_used[relations]].tobytes()

    @property
    def _head_start(self) -> int:
        return len(self.file_format.punctuation[0]) + len(self.entity_prefix)

    @cached_property
    def _templates(self) -> tuple[Bytes, NDArray[np.bool_]]:
        """A line for each relation, and which of its bytes are not padding."""
        before, between, after = self.file_format.punctuation
        gap = "0" * CODE_DIGITS
        start = f"{before}{self.entity_prefix}{gap}{between}"
        end = f"{between}{self.entity_prefix}{gap}{after}"
        width = max(map(len, self.relations))
        # The padding follows the relation, so that both gaps are at the same place in all lines.
        rows = [f"{start}{name:\0<{width}}{end}".encode("ascii") for name in self.relations]
        templates = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
        return templates, templates != 0


def format_link_blocks(
    pairs: Ids, prefixes: tuple[str, str], codes: tuple[EntityCodes, EntityCodes]
) -> Iterator[bytes]:
    """Format links as lines of a tab-separated table.

    Args:
        pairs: Rows of a left and a right entity.
        prefixes: What stands before the code in the name of a left and of a right entity.
        codes: The codes of the left and of the right entities by id.

    Yields:
        Blocks of lines.

    >>> codes = np.array([16], np.uint32), np.array([7], np.uint32)
    >>> b"".join(format_link_blocks(np.array([[0, 0]]), ("l/", "r/"), codes)).decode()
    'l/00000010\\tr/00000007\\n'
    """
    gap = "0" * CODE_DIGITS
    template = f"{prefixes[0]}{gap}\t{prefixes[1]}{gap}\n".encode("ascii")
    left_start = len(prefixes[0])
    for start in range(0, len(pairs), _BLOCK_LINES):
        left, right = pairs[start : start + _BLOCK_LINES].T
        lines = np.tile(np.frombuffer(template, np.uint8), (len(left), 1))
        lines[:, left_start : left_start + CODE_DIGITS] = spell_codes(codes[0][left])
        lines[:, -1 - CODE_DIGITS : -1] = spell_codes(codes[1][right])
        yield lines.tobytes()


def spell_codes(codes: EntityCodes) -> Bytes:
    """Write codes as hexadecimal digits.

    Args:
        codes: The codes.

    Returns:
        A row of digits for each code.

    >>> spell_codes(np.array([2748], np.uint32)).tobytes()
    b'00000abc'
    """
    hexadecimal = np.frombuffer(b"0123456789abcdef", np.uint8)
    digits = np.empty((len(codes), CODE_DIGITS), dtype=np.uint8)
    for column in range(CODE_DIGITS):
        digits[:, column] = hexadecimal[(codes >> (4 * (CODE_DIGITS - 1 - column))) & 15]
    return digits
