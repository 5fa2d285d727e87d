"""Translations of texts, from a file of ``left-text TAB right-text``."""

from __future__ import annotations

from pathlib import Path

from everalign.errors import InputError
from everalign.literals.folding import folded
from everalign.rdf.opening import text_blocks


def read_translations(path: str | Path) -> dict[str, str]:
    """What each left text is on the right, both in their folded form. Empty lines are skipped.

    Where a text is translated twice, the first translation counts.
    """
    path = Path(path)
    found: dict[str, str] = {}
    for block in text_blocks(path):
        for number, line in block.lines():
            if not line.strip():
                continue
            columns = line.split("\t")
            if len(columns) != 2 or not columns[0].strip() or not columns[1].strip():
                problem = f"expected left-text TAB right-text, found {len(columns)} columns"
                if len(columns) == 2:
                    problem = "expected left-text TAB right-text, found an empty text"
                raise InputError(problem, path=path, line=number)
            found.setdefault(folded(columns[0]), folded(columns[1]))
    return found
