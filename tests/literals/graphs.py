"""Small graphs of literals, one entity each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from everalign.graph import AttributeTriples, IntArray
from everalign.literals import LiteralSettings, ParsedLiterals, match_literals

XSD = "http://www.w3.org/2001/XMLSchema#"
NONE: IntArray = np.empty((0, 2), dtype=np.int32)


def values(literals: Sequence[str]) -> ParsedLiterals:
    """An entity for each literal."""
    ids = np.arange(len(literals), dtype=np.int32)
    rows = np.stack([ids, np.zeros_like(ids), ids], axis=1)
    return ParsedLiterals(AttributeTriples(rows, ["label"], literals))


def texts(*names: str) -> ParsedLiterals:
    return values([quoted(name) for name in names])


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def typed(text: str, datatype: str) -> str:
    return f'"{text}"^^<{XSD}{datatype}>'


def probability(left: str, right: str, settings: LiteralSettings | None = None) -> float:
    """How far two literals say the same; 0 where the pair is not listed."""
    found = match_literals(values([left]), values([right]), settings or LiteralSettings())
    return found.to_rows()[0][2] if len(found.left) else 0.0


def best(left: ParsedLiterals, right: ParsedLiterals, seeds: IntArray = NONE) -> dict[int, int]:
    """The likeliest partner of each left literal that has one."""
    rows = sorted(match_literals(left, right, seeds=seeds).to_rows(), key=lambda row: row[2])
    return {one: two for one, two, _ in rows}
